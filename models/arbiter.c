/* The two arbitration rules of a copy engine. */
#include "models/arbiter.h"

static int arbiter_is_older(const struct kvs_arbiter_candidate *a,
                            const struct kvs_arbiter_candidate *b, kvs_arbitration rule)
{
    if (rule == KVS_ARB_STICKY && a->ready_ps != b->ready_ps)
        return a->ready_ps < b->ready_ps;
    return a->issue_ps < b->issue_ps;
}

uint32_t kvs_arbiter_choose(kvs_arbitration rule, kvs_time lead_ps, uint32_t current_stream,
                            kvs_time end_ps, const struct kvs_arbiter_candidate *candidates,
                            uint32_t n)
{
    uint32_t oldest = KVS_ARBITER_NONE;
    uint32_t own = KVS_ARBITER_NONE;
    for (uint32_t i = 0; i < n; i++) {
        if (rule == KVS_ARB_STICKY && candidates[i].stream == current_stream) {
            if (candidates[i].ready_ps + lead_ps <= end_ps)
                return i;
            own = i;
            continue;
        }
        if (oldest == KVS_ARBITER_NONE ||
            arbiter_is_older(&candidates[i], &candidates[oldest], rule))
            oldest = i;
    }
    return oldest != KVS_ARBITER_NONE ? oldest : own;
}
