/* Attributes and small macros that hide compiler extensions; the only file that names them. */
#ifndef KVS_BASE_COMPILER_H
#define KVS_BASE_COMPILER_H

#define KVS_MUST_USE      __attribute__((warn_unused_result))
#define KVS_PRINTF(f, a)  __attribute__((format(printf, f, a)))
#define KVS_NORETURN      __attribute__((noreturn))
#define KVS_LIKELY(x)     __builtin_expect(!!(x), 1)
#define KVS_UNLIKELY(x)   __builtin_expect(!!(x), 0)
#define KVS_COUNT_OF(arr) (sizeof(arr) / sizeof((arr)[0]))

/* Around an assignment to a bit-field whose range was checked: the compilers cannot see that.
 */
#define KVS_NARROWING_BEGIN                                                                    \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wconversion\"")
#define KVS_NARROWING_END _Pragma("GCC diagnostic pop")

#endif
