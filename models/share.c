/* Progressive filling. */
#include "models/share.h"

#include <stdbool.h>

/* The lowest level at which something binds: a resource's even share, or a flow's own limit. */
static double share_level(const struct kvs_share_flow *flows, uint32_t n_flows,
                          const double *left, const uint32_t *count, const double *rates)
{
    double level = -1.0;
    for (uint32_t f = 0; f < n_flows; f++) {
        if (rates[f] >= 0.0)
            continue;
        if (level < 0.0 || flows[f].limit_Bps < level)
            level = flows[f].limit_Bps;
        for (uint32_t k = 0; k < flows[f].n_path; k++) {
            uint32_t r = flows[f].path[k];
            double even = left[r] / (double)count[r];
            if (even < level)
                level = even;
        }
    }
    return level;
}

static bool share_binds(const struct kvs_share_flow *flow, double level, const double *left,
                        const uint32_t *count)
{
    if (flow->limit_Bps <= level)
        return true;
    for (uint32_t k = 0; k < flow->n_path; k++)
        if (left[flow->path[k]] / (double)count[flow->path[k]] <= level)
            return true;
    return false;
}

void kvs_share_rates(const struct kvs_share_flow *flows, uint32_t n_flows,
                     const double *capacity, uint32_t n_resources, double *scratch_left,
                     uint32_t *scratch_count, double *out_Bps)
{
    for (uint32_t r = 0; r < n_resources; r++) {
        scratch_left[r] = capacity[r];
        scratch_count[r] = 0;
    }
    for (uint32_t f = 0; f < n_flows; f++) {
        out_Bps[f] = -1.0; /* not frozen yet */
        for (uint32_t k = 0; k < flows[f].n_path; k++)
            scratch_count[flows[f].path[k]]++;
    }
    for (uint32_t n_frozen = 0; n_frozen < n_flows;) {
        double level = share_level(flows, n_flows, scratch_left, scratch_count, out_Bps);
        /* Decide first, then subtract: freezing one flow must not change the test of the next.
         */
        for (uint32_t f = 0; f < n_flows; f++)
            if (out_Bps[f] == -1.0 &&
                share_binds(&flows[f], level, scratch_left, scratch_count))
                out_Bps[f] = -2.0;
        for (uint32_t f = 0; f < n_flows; f++) {
            if (out_Bps[f] != -2.0)
                continue;
            out_Bps[f] = level;
            n_frozen++;
            for (uint32_t k = 0; k < flows[f].n_path; k++) {
                scratch_left[flows[f].path[k]] -= level;
                scratch_count[flows[f].path[k]]--;
            }
        }
    }
}
