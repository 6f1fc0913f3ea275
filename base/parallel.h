/*
 * Independent pieces of work on several threads, their results taken in order on one.
 */
#ifndef KVS_BASE_PARALLEL_H
#define KVS_BASE_PARALLEL_H

#include <stddef.h>

#include "base/status.h"

#define KVS_PARALLEL_MAX_THREADS 256u

struct kvs_parallel {
    size_t n;           /* pieces */
    unsigned n_threads; /* at most KVS_PARALLEL_MAX_THREADS; 0: one per processor, up to 16 */
    void *context;      /* borrowed, handed to both functions */
    /* Piece i, on any thread, at the same time as others. */
    kvs_status (*work)(void *context, size_t i, struct kvs_error *err);
    /* Takes the result of piece i: on the calling thread, i ascending. *err is work's. A status
     * other than KVS_OK ends it all, and becomes that of kvs_parallel_run. */
    kvs_status (*take)(void *context, size_t i, kvs_status status, struct kvs_error *err);
};

/* Returns when no piece is being worked on any more. Pieces after one that ended it all may
 * have been worked on; they are not taken. Where no thread can be made, the calling one works. */
kvs_status kvs_parallel_run(const struct kvs_parallel *parallel,
                            struct kvs_error *err) KVS_MUST_USE;

#endif
