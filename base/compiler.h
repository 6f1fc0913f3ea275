/* Attributes and small macros that hide compiler extensions; the only file that names them. */
#ifndef KVS_BASE_COMPILER_H
#define KVS_BASE_COMPILER_H

#define KVS_MUST_USE      __attribute__((warn_unused_result))
#define KVS_PRINTF(f, a)  __attribute__((format(printf, f, a)))
#define KVS_NORETURN      __attribute__((noreturn))
#define KVS_LIKELY(x)     __builtin_expect(!!(x), 1)
#define KVS_UNLIKELY(x)   __builtin_expect(!!(x), 0)
#define KVS_COUNT_OF(arr) (sizeof(arr) / sizeof((arr)[0]))

#endif
