/* Cases for digests: policies, splits and streams on a small machine. */
#ifndef KVS_TESTS_REAL_DIGEST_CASE_H
#define KVS_TESTS_REAL_DIGEST_CASE_H

#include "tests/sim/toy.h"

static struct toy toy;

enum {
    DIGEST_LAYERS = 5,
    DIGEST_DEPTH = 253,
    DIGEST_N_GEN = 9
}; /* the window grows from 256 to 512 rows */

struct digest_option {
    const struct kvs_policy *policy;
    struct kvs_transport transport;
};

#define DIGEST_PIPELINED(n, s, y, l)                                                           \
    {                                                                                          \
        &kvs_policy_pipelined,                                                                 \
        {                                                                                      \
            .lookahead = (n), .budget_bytes = UINT64_MAX, .streams = KVS_STREAMS_##s,          \
            .yield = KVS_YIELD_##y, .late = KVS_LATE_##l                                       \
        }                                                                                      \
    }

static const struct digest_option digest_options[] = {
    {&kvs_policy_ordered, {.budget_bytes = UINT64_MAX}},
    {&kvs_policy_pipelined, {.lookahead = 1, .budget_bytes = 1}},
    DIGEST_PIPELINED(1, ONE, NONE, COPY),
    DIGEST_PIPELINED(2, PER_SLOT, NONE, KERNEL),
    DIGEST_PIPELINED(4, ONE, KV, COPY),
};

struct digest_streams {
    uint32_t n_parallel, n_rows;
    bool is_unified, is_pinned;
};
static const struct digest_streams digest_streams[] = {
    {1, 1, false, true}, {3, 1, false, true}, {2, 1, true, false}, {2, 3, false, true}};

static inline void digest_plan(uint32_t n_devices, kvs_split_mode mode,
                               const struct digest_option *o, const struct digest_streams *s)
{
    kvs_plan_destroy(toy.plan);
    toy_init(&toy, n_devices);
    toy_set_layers(&toy, DIGEST_LAYERS);
    toy.llm.hidden = 8;
    toy.c.workload.depth = DIGEST_DEPTH;
    toy.c.workload.n_gen = DIGEST_N_GEN;
    toy.c.workload.n_parallel = s->n_parallel;
    toy.c.workload.n_rows = s->n_rows;
    toy.c.workload.is_unified = s->is_unified;
    toy.c.workload.is_pinned = s->is_pinned;
    toy.c.placement.mode = mode;
    toy.c.transport = o->transport;
    TOY_OK(o->policy->plan(&toy.c, NULL, &toy.plan, err));
    TOY_OK(kvs_plan_check(toy.plan, NULL, NULL, err));
}

#endif
