/*
 * Status codes and errors.
 *
 * A fallible function returns kvs_status and takes a trailing `struct kvs_error *err` (may be
 * NULL). The error is filled once, where the fault is known, and passed up unchanged. Readers
 * of human-written files collect every semantic error of a file in `struct kvs_diags` instead.
 */
#ifndef KVS_BASE_STATUS_H
#define KVS_BASE_STATUS_H

#include <stddef.h>
#include <stdio.h>

#include "base/compiler.h"

/* code, text; the order is stable, values are never reused */
#define KVS_STATUS_MAP(X)                                                                      \
    X(OK, "ok")                                                                                \
    X(ENOMEM, "out of memory")                                                                 \
    X(EIO, "input/output error")                                                               \
    X(ESYNTAX, "syntax error")                                                                 \
    X(EINVAL, "invalid value")                                                                 \
    X(ERANGE, "value out of range")                                                            \
    X(ENOTFOUND, "not found")                                                                  \
    X(EUNSUPPORTED, "not supported")                                                           \
    X(EPLAN, "plan refused")                                                                   \
    X(ENOFIT, "does not fit in memory")                                                        \
    X(ENUMERIC, "numerical failure")                                                           \
    X(ESTOPPED, "stopped")                                                                     \
    X(EDEVICE, "device failure")                                                               \
    X(ENODEVICE, "no device")

typedef enum kvs_status {
#define KVS_STATUS_ENUM(name, text) KVS_##name,
    KVS_STATUS_MAP(KVS_STATUS_ENUM)
#undef KVS_STATUS_ENUM
} kvs_status;

/* Where a fault is and what it says. Plain data, copied by assignment, owns nothing. */
struct kvs_error {
    kvs_status status;
    unsigned line;   /* 1-based; 0 when there is no line */
    unsigned column; /* 1-based; 0 when there is no column */
    char file[256];  /* file name, flag or "" */
    char path[128];  /* field path such as devices[1].link, or "" */
    char text[512];  /* what, found, expected: one line */
    char hint[512];  /* what to try, or "" */
};

const char *kvs_status_name(kvs_status status); /* "KVS_EINVAL" */
const char *kvs_status_text(kvs_status status);

/* Fills *err (when not NULL) with status and text, clearing place and hint; returns status. */
kvs_status kvs_error_set(struct kvs_error *err, kvs_status status, const char *fmt, ...)
    KVS_PRINTF(3, 4);
/* The same with a place. file may be NULL. */
kvs_status kvs_error_at(struct kvs_error *err, kvs_status status, const char *file,
                        unsigned line, unsigned column, const char *fmt, ...) KVS_PRINTF(6, 7);
void kvs_error_hint(struct kvs_error *err, const char *fmt, ...) KVS_PRINTF(2, 3);

/* Prints `file:line:col: path: text` and, when there is one, `  hint: ...` on a line of its
 * own. */
void kvs_error_print(const struct kvs_error *err, FILE *out);

/*
 * All errors and warnings of one input, in the order found; errors are capped at
 * KVS_DIAGS_MAX (the rest is counted). Usage: init, add ..., print, fini.
 */
#define KVS_DIAGS_MAX 100
struct kvs_diags {
    struct kvs_error *errors; /* owned, [n_errors] */
    size_t n_errors;
    size_t n_dropped; /* errors beyond the cap */
    size_t capacity;
};

void kvs_diags_init(struct kvs_diags *diags);
void kvs_diags_fini(struct kvs_diags *diags);
void kvs_diags_add(struct kvs_diags *diags, const struct kvs_error *err);
void kvs_diags_print(const struct kvs_diags *diags, FILE *out);
/* KVS_OK when empty, else the status of the first error, which is copied to *err. */
kvs_status kvs_diags_status(const struct kvs_diags *diags, struct kvs_error *err);

/* KVS_TRY returns on failure; KVS_TRY_GOTO needs `kvs_status status` in scope and a label. */
#define KVS_TRY(call)                                                                          \
    do {                                                                                       \
        kvs_status kvs_try_status_ = (call);                                                   \
        if (KVS_UNLIKELY(kvs_try_status_ != KVS_OK))                                           \
            return kvs_try_status_;                                                            \
    } while (0)
#define KVS_TRY_GOTO(call, label)                                                              \
    do {                                                                                       \
        status = (call);                                                                       \
        if (KVS_UNLIKELY(status != KVS_OK))                                                    \
            goto label;                                                                        \
    } while (0)

/* For our own broken invariants; stays on in release builds; user input never trips it. */
#define KVS_ASSERT(cond)                                                                       \
    do {                                                                                       \
        if (KVS_UNLIKELY(!(cond)))                                                             \
            kvs_assert_fail(#cond, __FILE__, __LINE__);                                        \
    } while (0)
KVS_NORETURN void kvs_assert_fail(const char *cond, const char *file, int line);

#endif
