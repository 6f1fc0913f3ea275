/* Many small allocations with one lifetime. Zero-initialise, release with kvs_arena_fini. */
#ifndef KVS_BASE_ARENA_H
#define KVS_BASE_ARENA_H

#include <stddef.h>

#include "base/status.h"

struct kvs_arena_chunk;

struct kvs_arena {
    struct kvs_arena_chunk *chunks; /* owned, newest first */
    size_t left_bytes;              /* free in the newest */
};

/* Zeroed and aligned for any type; valid until kvs_arena_fini. */
kvs_status kvs_arena_alloc(struct kvs_arena *arena, size_t n, size_t size_bytes, void **out,
                           struct kvs_error *err) KVS_MUST_USE;
/* A terminated copy of bytes[0..n). */
kvs_status kvs_arena_copy(struct kvs_arena *arena, const char *bytes, size_t n,
                          const char **out, struct kvs_error *err) KVS_MUST_USE;
void kvs_arena_fini(struct kvs_arena *arena);

#endif
