/* The growing half of base/array.h; the pointer is copied as bytes, since its type varies. */
#include "base/array.h"

#include <string.h>

kvs_status kvs_array_reserve(void *items, size_t *capacity, size_t want, size_t item_bytes,
                             struct kvs_error *err)
{
    if (want <= *capacity)
        return KVS_OK;
    size_t grown = *capacity <= SIZE_MAX / 2 ? *capacity * 2 : SIZE_MAX;
    if (grown < 8)
        grown = 8;
    if (grown < want)
        grown = want;
    void *ptr;
    memcpy(&ptr, items, sizeof(ptr));
    KVS_TRY(kvs_mem_resize(&ptr, grown, item_bytes, err));
    memcpy(items, &ptr, sizeof(ptr));
    *capacity = grown;
    return KVS_OK;
}
