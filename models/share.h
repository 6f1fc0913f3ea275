/*
 * Max-min fair sharing of capacities by flows: pure, used in virtual and in real time.
 *
 * The allocation in which no flow can gain without a smaller one losing. Progressive filling
 * (Bertsekas and Gallager, Data Networks, section 6.5.2): raise all flows together, freeze
 * those at their own limit and those on a full resource, repeat.
 */
#ifndef KVS_MODELS_SHARE_H
#define KVS_MODELS_SHARE_H

#include <stdint.h>

#define KVS_SHARE_MAX_PATH 16

struct kvs_share_flow {
    double limit_Bps;                  /* what the flow could use alone; > 0 */
    uint32_t n_path;                   /* resources it crosses */
    uint32_t path[KVS_SHARE_MAX_PATH]; /* indices into capacity */
};

/*
 * Rates of the flows.
 * Shape: flows [n_flows], capacity [n_resources] in B/s (> 0), out_Bps [n_flows];
 *        scratch_left [n_resources] and scratch_count [n_resources] are overwritten.
 * Guarantees: the sum over a resource never exceeds its capacity by more than rounding, and
 * every flow is at its limit or crosses a full resource on which no flow is faster.
 */
void kvs_share_rates(const struct kvs_share_flow *flows, uint32_t n_flows,
                     const double *capacity, uint32_t n_resources, double *scratch_left,
                     uint32_t *scratch_count, double *out_Bps);

#endif
