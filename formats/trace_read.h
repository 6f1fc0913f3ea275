/*
 * Traces read back: what `--trace` wrote (formats/perfetto.h), as totals, and two of them put
 * side by side in one.
 */
#ifndef KVS_FORMATS_TRACE_READ_H
#define KVS_FORMATS_TRACE_READ_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/text.h"

/* Operations of one kind and tag on one device. Strings belong to the arena of the totals. */
struct kvs_trace_total {
    const char *process; /* "host", "gpu0: RTX 4070", as the trace has it */
    const char *kind;    /* "copy" */
    const char *tag;     /* "deliver" */
    uint64_t n;
    uint64_t bytes;
    double us; /* on engines, from start to end */
};

/* Zero-initialise; release with kvs_trace_totals_fini. */
struct kvs_trace_totals {
    KVS_ARRAY(struct kvs_trace_total) items; /* in the order in which each comes first */
    struct kvs_arena arena;
    uint64_t n_tokens;
    double end_us; /* of the last operation */
};

/* True for a document that begins like a trace. */
bool kvs_is_trace(const char *bytes, size_t n);
/* Errors: KVS_ESYNTAX, KVS_EINVAL with the file. */
kvs_status kvs_trace_read(const char *name, const char *bytes, size_t n,
                          struct kvs_trace_totals *out, struct kvs_error *err) KVS_MUST_USE;
void kvs_trace_totals_fini(struct kvs_trace_totals *totals);
/* The total of that process, kind and tag, or NULL. */
const struct kvs_trace_total *kvs_trace_find(const struct kvs_trace_totals *totals,
                                             const char *process, const char *kind,
                                             const char *tag);

/* A trace as written, and what stands before the names of its processes. Borrowed. */
struct kvs_trace_file {
    const char *name; /* of the file */
    const char *label;
    const char *bytes;
    size_t n;
};
/* Appends one trace with the processes of both, those of the second numbered on. Only traces as
 * kvsim writes them: an event a line. */
kvs_status kvs_trace_merge(const struct kvs_trace_file files[2], struct kvs_text *out,
                           struct kvs_error *err) KVS_MUST_USE;

#endif
