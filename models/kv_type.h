/*
 * Storage types of a KV cache: block length and block bytes.
 * Source: ggml block layouts; 32 values per block for every quantised type.
 */
#ifndef KVS_MODELS_KV_TYPE_H
#define KVS_MODELS_KV_TYPE_H

#include <stdint.h>

#include "base/status.h"

/* enum, name, values per block, bytes per block */
#define KVS_KV_TYPE_MAP(X)                                                                     \
    X(F32, "f32", 1, 4)                                                                        \
    X(F16, "f16", 1, 2)                                                                        \
    X(BF16, "bf16", 1, 2)                                                                      \
    X(Q8_0, "q8_0", 32, 34)                                                                    \
    X(Q6_1, "q6_1", 32, 28)                                                                    \
    X(Q6_0, "q6_0", 32, 26)                                                                    \
    X(Q5_1, "q5_1", 32, 24)                                                                    \
    X(Q5_0, "q5_0", 32, 22)                                                                    \
    X(Q4_1, "q4_1", 32, 20)                                                                    \
    X(Q4_0, "q4_0", 32, 18)                                                                    \
    X(IQ4_NL, "iq4_nl", 32, 18)

typedef enum kvs_kv_type {
#define KVS_KV_TYPE_ENUM(id, name, values, bytes) KVS_KV_##id,
    KVS_KV_TYPE_MAP(KVS_KV_TYPE_ENUM)
#undef KVS_KV_TYPE_ENUM
        KVS_KV_TYPE_COUNT
} kvs_kv_type;

const char *kvs_kv_type_name(kvs_kv_type type);
uint32_t kvs_kv_type_block_values(kvs_kv_type type);
uint32_t kvs_kv_type_block_bytes(kvs_kv_type type);
/* "q8_0" -> KVS_KV_Q8_0; KVS_ENOTFOUND with the nearest name. */
kvs_status kvs_kv_type_parse(const char *name, kvs_kv_type *out,
                             struct kvs_error *err) KVS_MUST_USE;
/* Bytes of n_values values (rounded up to whole blocks). */
uint64_t kvs_kv_type_bytes(kvs_kv_type type, uint64_t n_values);

#endif
