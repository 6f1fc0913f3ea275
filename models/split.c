/* The head-split rules of models/split.h. */
#include "models/split.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/machine.h"

#define SPLIT_SHARE_MAX 1e12 /* products with value counts stay far from overflow */

static const char *const split_rule_names[] = {"llama-meta-2026-08", "even", "explicit"};

const char *kvs_split_rule_name(kvs_split_rule rule)
{
    KVS_ASSERT((unsigned)rule < KVS_COUNT_OF(split_rule_names));
    return split_rule_names[rule];
}

kvs_status kvs_split_rule_parse(const char *name, kvs_split_rule *out, struct kvs_error *err)
{
    const size_t n = KVS_COUNT_OF(split_rule_names);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(name, split_rule_names[i]) == 0) {
            *out = (kvs_split_rule)i;
            return KVS_OK;
        }
    }
    (void)kvs_error_set(err, KVS_ENOTFOUND, "unknown split rule \"%.40s\"; known: %s %s %s",
                        name, split_rule_names[0], split_rule_names[1], split_rule_names[2]);
    const char *nearest = kvs_nearest(name, split_rule_names, n);
    if (nearest != NULL)
        kvs_error_hint(err, "did you mean %s?", nearest);
    return KVS_ENOTFOUND;
}

static uint64_t split_lcm(uint64_t a, uint64_t b)
{
    uint64_t x = a;
    uint64_t y = b;
    while (y != 0) {
        const uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

uint32_t kvs_split_granularity_heads(const struct kvs_llm_layer *layer, uint32_t weight_block,
                                     uint32_t n_devices)
{
    KVS_ASSERT(weight_block >= 1);
    if (layer->n_head_kv == 0 || layer->k_dim == 0)
        return 1;
    const uint64_t n_gqa = layer->n_head / layer->n_head_kv;
    const uint64_t group_values = (n_gqa > 0 ? n_gqa : 1) * layer->k_dim;
    uint64_t block = weight_block;
    while (block < 128 && block * n_devices < group_values)
        block *= 2;
    /* The common multiple holds whole groups, and a group is one KV head. */
    return (uint32_t)(split_lcm(group_values, block) / group_values);
}

/* Device j of the rotated order gets the heads between boundaries j and j + 1. */
static void split_llama_meta(const struct kvs_llm_layer *layer, uint32_t granularity,
                             const double *shares, uint32_t n_devices, uint32_t *out_heads,
                             uint32_t *out_first)
{
    const uint64_t n_values = (uint64_t)layer->n_head_kv * layer->k_dim;
    const uint64_t step_values = (uint64_t)granularity * layer->k_dim;
    const uint32_t turn = layer->kind_index % n_devices;
    /* Summed in the order of use, so that the last share ends at the total exactly. */
    double total = 0.0;
    for (uint32_t j = 0; j < n_devices; j++)
        total += shares[(j + turn) % n_devices];
    double cumulative = 0.0;
    uint32_t first = 0;
    for (uint32_t j = 0; j < n_devices; j++) {
        const uint32_t device = (j + turn) % n_devices;
        uint32_t end = layer->n_head_kv;
        cumulative += shares[device];
        if (j + 1 < n_devices && step_values > 0) {
            const uint64_t boundary = (uint64_t)((double)n_values * cumulative / total);
            const uint64_t heads = boundary / step_values * granularity;
            end = heads < end ? (uint32_t)heads : end;
        }
        out_heads[device] = end - first;
        if (out_first != NULL)
            out_first[device] = first;
        first = end;
    }
}

static void split_fill_first(const uint32_t *heads, uint32_t n_devices, uint32_t *out_first)
{
    uint32_t first = 0;
    for (uint32_t i = 0; out_first != NULL && i < n_devices; i++) {
        out_first[i] = first;
        first += heads[i];
    }
}

/* Whole quotas first; what is left goes by largest remainder, ties to the earlier device. */
static void split_even(uint32_t n_head_kv, const double *shares, double total,
                       uint32_t n_devices, uint32_t *out_heads)
{
    uint32_t left = n_head_kv;
    for (uint32_t i = 0; i < n_devices; i++) {
        const uint32_t quota = (uint32_t)((double)n_head_kv * shares[i] / total);
        out_heads[i] = quota < left ? quota : left;
        left -= out_heads[i];
    }
    while (left > 0) {
        uint32_t best = 0;
        double best_rest = -HUGE_VAL;
        for (uint32_t i = 0; i < n_devices; i++) {
            /* A device that has had its extra head has a negative remainder. */
            const double rest = (double)n_head_kv * shares[i] - (double)out_heads[i] * total;
            if (rest > best_rest) {
                best = i;
                best_rest = rest;
            }
        }
        out_heads[best]++;
        left--;
    }
}

static kvs_status split_explicit(uint32_t n_head_kv, const double *shares, double total,
                                 uint32_t n_devices, uint32_t *out_heads, struct kvs_error *err)
{
    if (total != (double)n_head_kv)
        return kvs_error_set(
            err, KVS_EINVAL,
            "explicit split: the heads add up to %g, the layer has %u KV heads", total,
            n_head_kv);
    for (uint32_t i = 0; i < n_devices; i++) {
        if (shares[i] != floor(shares[i]))
            return kvs_error_set(err, KVS_EINVAL,
                                 "explicit split: device %u must get whole heads, got %g", i,
                                 shares[i]);
        out_heads[i] = (uint32_t)shares[i];
    }
    return KVS_OK;
}

static kvs_status split_check_shares(const double *shares, uint32_t n_devices,
                                     double *out_total, struct kvs_error *err)
{
    if (n_devices < 1 || n_devices > KVS_MACHINE_MAX_DEVICES)
        return kvs_error_set(err, KVS_EINVAL, "a split needs 1 to %d devices, got %u",
                             KVS_MACHINE_MAX_DEVICES, n_devices);
    double total = 0.0;
    for (uint32_t i = 0; i < n_devices; i++) {
        if (!(shares[i] >= 0.0 && shares[i] <= SPLIT_SHARE_MAX))
            return kvs_error_set(err, KVS_EINVAL,
                                 "the share of device %u must be from 0 to %g, got %g", i,
                                 SPLIT_SHARE_MAX, shares[i]);
        total += shares[i];
    }
    if (total <= 0.0)
        return kvs_error_set(err, KVS_EINVAL,
                             "the shares of %u devices must have a positive sum, got %g",
                             n_devices, total);
    *out_total = total;
    return KVS_OK;
}

kvs_status kvs_split_heads(kvs_split_rule rule, const struct kvs_llm_layer *layer,
                           uint32_t weight_block, const double *shares, uint32_t n_devices,
                           uint32_t *out_heads, uint32_t *out_first, struct kvs_error *err)
{
    double total = 0.0;
    KVS_TRY(split_check_shares(shares, n_devices, &total, err));
    switch (rule) {
    case KVS_SPLIT_LLAMA_META_2026_08:
        split_llama_meta(layer, kvs_split_granularity_heads(layer, weight_block, n_devices),
                         shares, n_devices, out_heads, out_first);
        return KVS_OK;
    case KVS_SPLIT_EVEN:
        split_even(layer->n_head_kv, shares, total, n_devices, out_heads);
        break;
    case KVS_SPLIT_EXPLICIT:
        KVS_TRY(split_explicit(layer->n_head_kv, shares, total, n_devices, out_heads, err));
        break;
    }
    split_fill_first(out_heads, n_devices, out_first);
    return KVS_OK;
}
