/* The table of cache types behind models/kv_type.h. */
#include "models/kv_type.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

static const struct {
    const char *name;
    uint32_t block_values;
    uint32_t block_bytes;
} kv_types[KVS_KV_TYPE_COUNT] = {
#define KV_TYPE_ROW(id, name, values, bytes) {name, values, bytes},
    KVS_KV_TYPE_MAP(KV_TYPE_ROW)
#undef KV_TYPE_ROW
};

static const char *const kv_type_names[KVS_KV_TYPE_COUNT] = {
#define KV_TYPE_NAME(id, name, values, bytes) name,
    KVS_KV_TYPE_MAP(KV_TYPE_NAME)
#undef KV_TYPE_NAME
};

static bool kv_type_is_valid(kvs_kv_type type)
{
    return (unsigned)type < KVS_KV_TYPE_COUNT;
}

const char *kvs_kv_type_name(kvs_kv_type type)
{
    KVS_ASSERT(kv_type_is_valid(type));
    return kv_types[type].name;
}

uint32_t kvs_kv_type_block_values(kvs_kv_type type)
{
    KVS_ASSERT(kv_type_is_valid(type));
    return kv_types[type].block_values;
}

uint32_t kvs_kv_type_block_bytes(kvs_kv_type type)
{
    KVS_ASSERT(kv_type_is_valid(type));
    return kv_types[type].block_bytes;
}

kvs_status kvs_kv_type_parse(const char *name, kvs_kv_type *out, struct kvs_error *err)
{
    for (unsigned i = 0; i < KVS_KV_TYPE_COUNT; i++) {
        if (strcmp(name, kv_type_names[i]) == 0) {
            *out = (kvs_kv_type)i;
            return KVS_OK;
        }
    }
#define KV_TYPE_LISTED(id, name, values, bytes) " " name
    (void)kvs_error_set(err, KVS_ENOTFOUND,
                        "unknown KV type \"%.40s\"; known:" KVS_KV_TYPE_MAP(KV_TYPE_LISTED),
                        name);
#undef KV_TYPE_LISTED
    const char *nearest = kvs_nearest(name, kv_type_names, KVS_KV_TYPE_COUNT);
    if (nearest != NULL)
        kvs_error_hint(err, "did you mean %s?", nearest);
    return KVS_ENOTFOUND;
}

uint64_t kvs_kv_type_bytes(kvs_kv_type type, uint64_t n_values)
{
    KVS_ASSERT(kv_type_is_valid(type));
    const uint64_t block = kv_types[type].block_values;
    const uint64_t n_blocks = n_values / block + (n_values % block != 0);
    return n_blocks * kv_types[type].block_bytes;
}
