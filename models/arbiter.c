/* The two arbitration rules of a copy engine. */
#include "models/arbiter.h"

static int arbiter_is_older(const struct kvs_arbiter_candidate *a,
                            const struct kvs_arbiter_candidate *b, kvs_arbitration rule)
{
    if (rule == KVS_ARB_STICKY && a->ready_ps != b->ready_ps)
        return a->ready_ps < b->ready_ps;
    return a->issue_ps < b->issue_ps;
}

/* Oldest of the candidates that are ready by latest_ps; KVS_ARBITER_NONE when there is none. */
static uint32_t arbiter_oldest(kvs_arbitration rule, kvs_time latest_ps,
                               const struct kvs_arbiter_candidate *candidates, uint32_t n)
{
    uint32_t oldest = KVS_ARBITER_NONE;
    for (uint32_t i = 0; i < n; i++) {
        if (candidates[i].ready_ps > latest_ps)
            continue;
        if (oldest == KVS_ARBITER_NONE ||
            arbiter_is_older(&candidates[i], &candidates[oldest], rule))
            oldest = i;
    }
    return oldest;
}

uint32_t kvs_arbiter_choose(kvs_arbitration rule, kvs_time lead_ps, uint32_t current_stream,
                            kvs_time end_ps, const struct kvs_arbiter_candidate *candidates,
                            uint32_t n)
{
    if (rule == KVS_ARB_FIFO)
        return arbiter_oldest(rule, INT64_MAX, candidates, n);
    for (uint32_t i = 0; i < n; i++)
        if (candidates[i].stream == current_stream &&
            candidates[i].ready_ps <= end_ps - lead_ps)
            return i;
    uint32_t committed = arbiter_oldest(rule, end_ps - lead_ps, candidates, n);
    return committed != KVS_ARBITER_NONE ? committed
                                         : arbiter_oldest(rule, INT64_MAX, candidates, n);
}
