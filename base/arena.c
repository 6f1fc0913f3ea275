/* A list of chunks, each filled from its end downwards. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

struct kvs_arena_chunk {
    alignas(max_align_t) struct kvs_arena_chunk *next;
};

enum { ARENA_CHUNK_BYTES = 16384 };

kvs_status kvs_arena_alloc(struct kvs_arena *arena, size_t n, size_t size_bytes, void **out,
                           struct kvs_error *err)
{
    const size_t align = alignof(max_align_t);
    if (size_bytes != 0 && n > PTRDIFF_MAX / 2 / size_bytes)
        return kvs_error_set(err, KVS_ENOMEM, "cannot allocate %zu items of %zu bytes", n,
                             size_bytes);
    size_t want_bytes = (n * size_bytes + align - 1) / align * align;
    if (arena->chunks == NULL || want_bytes > arena->left_bytes) {
        size_t chunk_bytes = want_bytes > ARENA_CHUNK_BYTES ? want_bytes : ARENA_CHUNK_BYTES;
        void *fresh = NULL;
        KVS_TRY(kvs_mem_alloc(1, sizeof(struct kvs_arena_chunk) + chunk_bytes, &fresh, err));
        struct kvs_arena_chunk *chunk = fresh;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->left_bytes = chunk_bytes;
    }
    arena->left_bytes -= want_bytes;
    *out = (char *)(arena->chunks + 1) + arena->left_bytes;
    return KVS_OK;
}

kvs_status kvs_arena_copy(struct kvs_arena *arena, const char *bytes, size_t n,
                          const char **out, struct kvs_error *err)
{
    void *copy = NULL;
    KVS_TRY(kvs_arena_alloc(arena, n + 1, 1, &copy, err));
    if (n > 0)
        memcpy(copy, bytes, n);
    *out = copy;
    return KVS_OK;
}

void kvs_arena_fini(struct kvs_arena *arena)
{
    for (struct kvs_arena_chunk *chunk = arena->chunks; chunk != NULL;) {
        struct kvs_arena_chunk *next = chunk->next;
        kvs_mem_free(chunk);
        chunk = next;
    }
    *arena = (struct kvs_arena){0};
}
