/*
 * What compute costs: from a measured profile of the device for the model, from what a synthetic
 * program asks for, or from a roofline over the card's datasheet. The cost of an operation is
 * linear in what it reads:
 *
 *     seconds = params x s_per_param
 *             + kv_bytes x (s_per_kv_byte + (n_queries - 1) x s_per_query_byte)
 *             + n_kernels x s_per_kernel + s_per_operation
 *
 * A profile gives s_per_param = fixed / (active parameters x head_share) and
 * s_per_kv_byte = per_row / (growing bytes per token x head_share). The roofline gives both
 * from memory_rate x memory_efficiency, and never less than 2 flop per parameter and query at
 * `flops`. Both have kernel_gap for each kernel, and nothing for the operation.
 *
 * Where kvsim's own kernels read the weights in a model's place, the device's figures for these
 * give all four, and s_beside: struct kvs_stream_kernels.
 */
#ifndef KVS_MODELS_COMPUTE_H
#define KVS_MODELS_COMPUTE_H

#include "models/llm.h"
#include "models/machine.h"

/* What computes. */
typedef enum kvs_compute_kind {
    KVS_COMPUTE_MODELLED, /* the model's own kernels, or others that take their time */
    KVS_COMPUTE_STREAMED  /* kvsim's kernels, which read the weights and fold K and V */
} kvs_compute_kind;
extern const char *const kvs_compute_kind_names[]; /* by kind: "modelled", "streamed" */

struct kvs_compute_cost {
    double s_per_param;
    double s_per_kv_byte;
    double s_per_query_byte;
    double flop_s_per_param; /* per query: the compute side of the roofline */
    double s_per_kernel;
    double s_per_operation;
    double s_beside;  /* of an operation that starts while the h2d link is busy */
    bool is_streamed; /* kvsim's kernels: cells are folded before and after the weights */
    double copy_slowdown_frac; /* slower by this while the h2d link runs at full rate */
    double busy_slowdown_frac; /* slower by this per unit of busy share above the threshold */
    double busy_threshold_frac;
    bool is_measured;                          /* false: roofline */
    const struct kvs_compute_profile *profile; /* borrowed from device or model, or NULL */
};

/*
 * Picks the profile of the device for the model's name: of the same KV type if there is one,
 * else of another (weights cost the same, and attention the same per row: where that was
 * measured it is bound by the cores, not by the bytes); among these the one whose head_share is
 * nearest to head_share. Without a profile: the program's time, else the roofline. Streamed: the
 * device's figures for that, else as modelled. Never fails for a loaded
 * machine: a device with neither a profile nor a memory rate is refused by the loader.
 */
struct kvs_compute_cost kvs_compute_cost_of(const struct kvs_device *device,
                                            const struct kvs_llm *llm, kvs_kv_type type_k,
                                            kvs_kv_type type_v, double head_share,
                                            kvs_compute_kind kind);

/* Has the device figures for KVS_COMPUTE_STREAMED? */
bool kvs_compute_knows_streaming(const struct kvs_device *device);

/* Seconds of one operation at full speed, kernels not included. */
double kvs_compute_s(const struct kvs_compute_cost *cost, uint64_t params, uint64_t kv_bytes,
                     uint32_t n_queries);

#endif
