/*
 * Growing arrays. KVS_ARRAY(T) declares an anonymous struct {T *items; size_t n, capacity;};
 * zero-initialise it, push with KVS_ARRAY_PUSH, release with KVS_ARRAY_FREE.
 *
 *     KVS_ARRAY(int) ids = {0};
 *     KVS_TRY(KVS_ARRAY_PUSH(&ids, 7, err));
 *     KVS_ARRAY_FREE(&ids);
 */
#ifndef KVS_BASE_ARRAY_H
#define KVS_BASE_ARRAY_H

#include "base/mem.h"

#define KVS_ARRAY(type)                                                                        \
    struct {                                                                                   \
        type *items;                                                                           \
        size_t n;                                                                              \
        size_t capacity;                                                                       \
    }

/* Makes room for at least `want` items (amortised doubling). */
#define KVS_ARRAY_RESERVE(arr, want, err)                                                      \
    kvs_array_reserve(&(arr)->items, &(arr)->capacity, (want), sizeof(*(arr)->items), (err))
#define KVS_ARRAY_PUSH(arr, value, err)                                                        \
    (KVS_ARRAY_RESERVE((arr), (arr)->n + 1, (err)) == KVS_OK                                   \
         ? ((arr)->items[(arr)->n++] = (value), KVS_OK)                                        \
         : KVS_ENOMEM)
#define KVS_ARRAY_FREE(arr)                                                                    \
    do {                                                                                       \
        kvs_mem_free((arr)->items);                                                            \
        (arr)->items = NULL;                                                                   \
        (arr)->n = (arr)->capacity = 0;                                                        \
    } while (0)

/* items: address of the pointer to the items. Called through the macros. */
kvs_status kvs_array_reserve(void *items, size_t *capacity, size_t want, size_t item_bytes,
                             struct kvs_error *err);

#endif
