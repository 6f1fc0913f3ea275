/*
 * From a model's shape to cache bytes: rows, windows, cells.
 *
 * A row is what one layer stores for one position: n_head_kv x dim values in the cache type.
 * The window a layer reads is the highest used cell + 1, rounded up to `pad_rows` (llama.cpp:
 * 256) and capped at the cache size. All exact integers.
 */
#ifndef KVS_MODELS_KV_H
#define KVS_MODELS_KV_H

#include "models/kv_type.h"
#include "models/llm.h"

#define KVS_KV_PAD_ROWS 256u /* llama.cpp pads the attention window to 256 rows */

/* Bytes of one K (V) row that a layer stores; 0 where it stores none: recurrent layers, V with
 * MLA, layers that read another layer's cache (ask layer kv_source for the rows they read). */
uint64_t kvs_kv_k_row_bytes(const struct kvs_llm_layer *layer, kvs_kv_type type);
uint64_t kvs_kv_v_row_bytes(const struct kvs_llm_layer *layer, kvs_kv_type type);
/* Bytes of one head's run inside a row. */
uint64_t kvs_kv_head_bytes(uint32_t dim, kvs_kv_type type);

/* n rounded up to a multiple of pad_rows (pad_rows >= 1). */
uint64_t kvs_kv_pad(uint64_t n_rows, uint32_t pad_rows);
/* Window of a layer with full attention when `used` cells are filled, in rows. */
uint64_t kvs_kv_window_rows(uint64_t used, uint64_t n_ctx, uint32_t pad_rows);
/* Cells llama.cpp allocates for sliding-window layers: pad256(min(n_ctx, window x
 * n_seq_if_unified
 * + n_ubatch)). */
uint64_t kvs_kv_swa_cells(uint64_t n_ctx, uint32_t swa_window, uint32_t n_seq_unified,
                          uint32_t n_ubatch);

/* Bytes per token of context over the full-attention layers that own a cache. */
uint64_t kvs_kv_growing_bytes_per_token(const struct kvs_llm *llm, kvs_kv_type type_k,
                                        kvs_kv_type type_v);
/* Bytes per window cell over the sliding-window layers that own a cache. */
uint64_t kvs_kv_swa_bytes_per_cell(const struct kvs_llm *llm, kvs_kv_type type_k,
                                   kvs_kv_type type_v);
/* Whole cache: n_ctx rows in full layers, swa_cells in sliding-window layers, per stream x
 * n_streams. */
uint64_t kvs_kv_cache_bytes(const struct kvs_llm *llm, kvs_kv_type type_k, kvs_kv_type type_v,
                            uint64_t n_ctx, uint64_t swa_cells, uint32_t n_streams);

#endif
