/*
 * How the KV heads of a layer are divided over devices: named rules, pure functions.
 *
 * llama-meta-2026-08: the tensor-split rule of llama.cpp as of 2026-08. Boundary j of the
 * devices is floor(n x cumulative share), lowered to a multiple of the granularity g; the last
 * device takes the rest; the device order rotates by the layer's index among layers of its
 * kind. g in KV values is lcm(n_gqa x head_dim, blk) / n_gqa, n_gqa = query heads per KV head,
 * blk starting at the weight's block length and doubling while it is < 128 and blk x n_devices
 * < n_gqa x head_dim.
 *
 * even: largest-remainder division of whole heads by share, ties to the earlier device; no
 * rotation.
 *
 * explicit: heads per device as given.
 */
#ifndef KVS_MODELS_SPLIT_H
#define KVS_MODELS_SPLIT_H

#include <stdint.h>

#include "base/status.h"
#include "models/llm.h"

typedef enum kvs_split_rule {
    KVS_SPLIT_LLAMA_META_2026_08,
    KVS_SPLIT_EVEN,
    KVS_SPLIT_EXPLICIT
} kvs_split_rule;

const char *kvs_split_rule_name(kvs_split_rule rule);
kvs_status kvs_split_rule_parse(const char *name, kvs_split_rule *out,
                                struct kvs_error *err) KVS_MUST_USE;

/*
 * Heads of one layer per device.
 * Shape:  shares [n_devices], 0 to 1e12, positive sum (explicit: whole heads that add up to
 *         n_head_kv); out_heads [n_devices] counts; out_first [n_devices] first heads, or NULL.
 * Errors: KVS_EINVAL for bad shares, or explicit counts that do not add up.
 * A device may get 0 heads.
 */
kvs_status kvs_split_heads(kvs_split_rule rule, const struct kvs_llm_layer *layer,
                           uint32_t weight_block, const double *shares, uint32_t n_devices,
                           uint32_t *out_heads, uint32_t *out_first,
                           struct kvs_error *err) KVS_MUST_USE;
/* Granularity of the llama rule in whole KV heads (rounded up when not whole). */
uint32_t kvs_split_granularity_heads(const struct kvs_llm_layer *layer, uint32_t weight_block,
                                     uint32_t n_devices);

#endif
