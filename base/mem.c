/* Allocation with a size header per block, for live and peak counters and injected failures. */
#include "base/mem.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct mem_block {
    alignas(max_align_t) size_t size_bytes; /* payload, which follows the header */
};

static atomic_uint_fast64_t mem_live_bytes;
static atomic_uint_fast64_t mem_peak_bytes;
static atomic_uint_fast64_t mem_fail_countdown;

/* True once, when the countdown reaches the allocation chosen by kvs_mem_fail_after. */
static bool mem_is_doomed(void)
{
    uint_fast64_t left = atomic_load(&mem_fail_countdown);
    while (left != 0)
        if (atomic_compare_exchange_weak(&mem_fail_countdown, &left, left - 1))
            return left == 1;
    return false;
}

static void mem_count(size_t freed_bytes, size_t taken_bytes)
{
    if (freed_bytes > 0)
        atomic_fetch_sub(&mem_live_bytes, freed_bytes);
    uint_fast64_t live = atomic_fetch_add(&mem_live_bytes, taken_bytes) + taken_bytes;
    uint_fast64_t peak = atomic_load(&mem_peak_bytes);
    while (live > peak && !atomic_compare_exchange_weak(&mem_peak_bytes, &peak, live))
        continue;
}

static struct mem_block *mem_block_of(void *ptr)
{
    return ptr == NULL ? NULL : (struct mem_block *)ptr - 1;
}

static kvs_status mem_size(size_t n, size_t size_bytes, size_t *out_bytes,
                           struct kvs_error *err)
{
    const size_t max_bytes = PTRDIFF_MAX - sizeof(struct mem_block);
    if (size_bytes != 0 && n > max_bytes / size_bytes)
        return kvs_error_set(err, KVS_ENOMEM, "cannot allocate %zu items of %zu bytes", n,
                             size_bytes);
    *out_bytes = n * size_bytes;
    return KVS_OK;
}

kvs_status kvs_mem_resize(void **ptr, size_t n, size_t size_bytes, struct kvs_error *err)
{
    size_t want_bytes = 0;
    KVS_TRY(mem_size(n, size_bytes, &want_bytes, err));
    struct mem_block *old = mem_block_of(*ptr);
    size_t had_bytes = old != NULL ? old->size_bytes : 0;
    struct mem_block *block = NULL;
    if (!mem_is_doomed())
        block = old != NULL ? realloc(old, sizeof(*block) + want_bytes)
                            : calloc(1, sizeof(*block) + want_bytes);
    if (block == NULL)
        return kvs_error_set(err, KVS_ENOMEM, "out of memory: %zu bytes wanted", want_bytes);
    block->size_bytes = want_bytes;
    *ptr = block + 1;
    if (old != NULL && want_bytes > had_bytes)
        memset((char *)*ptr + had_bytes, 0, want_bytes - had_bytes);
    mem_count(had_bytes, want_bytes);
    return KVS_OK;
}

kvs_status kvs_mem_alloc(size_t n, size_t size_bytes, void **out, struct kvs_error *err)
{
    void *ptr = NULL;
    KVS_TRY(kvs_mem_resize(&ptr, n, size_bytes, err));
    *out = ptr;
    return KVS_OK;
}

kvs_status kvs_mem_strdup(const char *text, char **out, struct kvs_error *err)
{
    size_t n = strlen(text) + 1;
    void *copy;
    KVS_TRY(kvs_mem_alloc(n, 1, &copy, err));
    memcpy(copy, text, n);
    *out = copy;
    return KVS_OK;
}

void kvs_mem_free(void *ptr)
{
    struct mem_block *block = mem_block_of(ptr);
    if (block == NULL)
        return;
    atomic_fetch_sub(&mem_live_bytes, block->size_bytes);
    free(block);
}

void kvs_mem_fail_after(uint64_t n)
{
    atomic_store(&mem_fail_countdown, n);
}

uint64_t kvs_mem_live_bytes(void)
{
    return atomic_load(&mem_live_bytes);
}

uint64_t kvs_mem_peak_bytes(void)
{
    return atomic_load(&mem_peak_bytes);
}

void kvs_mem_peak_reset(void)
{
    atomic_store(&mem_peak_bytes, atomic_load(&mem_live_bytes));
}
