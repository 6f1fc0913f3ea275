/* Cache bytes from layer shapes: exact integer arithmetic. */
#include "models/kv.h"

static bool kv_owns_rows(const struct kvs_llm_layer *layer)
{
    const bool has_attention = layer->kind == KVS_LAYER_FULL || layer->kind == KVS_LAYER_SWA;
    return has_attention && layer->kv_source < 0;
}

static uint64_t kv_row_bytes(const struct kvs_llm_layer *layer, uint32_t dim, kvs_kv_type type)
{
    if (!kv_owns_rows(layer))
        return 0;
    return kvs_kv_type_bytes(type, (uint64_t)layer->n_head_kv * dim);
}

uint64_t kvs_kv_k_row_bytes(const struct kvs_llm_layer *layer, kvs_kv_type type)
{
    return kv_row_bytes(layer, layer->k_dim, type);
}

uint64_t kvs_kv_v_row_bytes(const struct kvs_llm_layer *layer, kvs_kv_type type)
{
    return kv_row_bytes(layer, layer->v_dim, type);
}

uint64_t kvs_kv_head_bytes(uint32_t dim, kvs_kv_type type)
{
    return kvs_kv_type_bytes(type, dim);
}

uint64_t kvs_kv_pad(uint64_t n_rows, uint32_t pad_rows)
{
    KVS_ASSERT(pad_rows >= 1);
    return (n_rows / pad_rows + (n_rows % pad_rows != 0)) * pad_rows;
}

uint64_t kvs_kv_window_rows(uint64_t used, uint64_t n_ctx, uint32_t pad_rows)
{
    const uint64_t rows = kvs_kv_pad(used > 0 ? used : 1, pad_rows);
    return rows < n_ctx ? rows : n_ctx;
}

uint64_t kvs_kv_swa_cells(uint64_t n_ctx, uint32_t swa_window, uint32_t n_seq_unified,
                          uint32_t n_ubatch)
{
    const uint64_t wanted = (uint64_t)swa_window * n_seq_unified + n_ubatch;
    return kvs_kv_pad(wanted < n_ctx ? wanted : n_ctx, KVS_KV_PAD_ROWS);
}

/* K and V bytes of one row, summed over the layers of a kind. */
static uint64_t kv_sum_rows(const struct kvs_llm *llm, kvs_layer_kind kind, kvs_kv_type type_k,
                            kvs_kv_type type_v)
{
    uint64_t sum_bytes = 0;
    for (uint32_t i = 0; i < llm->n_layer; i++) {
        const struct kvs_llm_layer *layer = &llm->layers[i];
        if (layer->kind == kind)
            sum_bytes += kvs_kv_k_row_bytes(layer, type_k) + kvs_kv_v_row_bytes(layer, type_v);
    }
    return sum_bytes;
}

uint64_t kvs_kv_growing_bytes_per_token(const struct kvs_llm *llm, kvs_kv_type type_k,
                                        kvs_kv_type type_v)
{
    return kv_sum_rows(llm, KVS_LAYER_FULL, type_k, type_v);
}

uint64_t kvs_kv_swa_bytes_per_cell(const struct kvs_llm *llm, kvs_kv_type type_k,
                                   kvs_kv_type type_v)
{
    return kv_sum_rows(llm, KVS_LAYER_SWA, type_k, type_v);
}

uint64_t kvs_kv_cache_bytes(const struct kvs_llm *llm, kvs_kv_type type_k, kvs_kv_type type_v,
                            uint64_t n_ctx, uint64_t swa_cells, uint32_t n_streams)
{
    const uint64_t stream_bytes = kvs_kv_growing_bytes_per_token(llm, type_k, type_v) * n_ctx +
                                  kvs_kv_swa_bytes_per_cell(llm, type_k, type_v) * swa_cells;
    return stream_bytes * n_streams;
}
