/*
 * A plan by hand in which deliveries run on across tokens: two stages a token, a ring of three
 * slots, hence a period of three tokens. The host never waits, unless has_sampling: then it
 * waits for the token's last compute and works, and deliveries go on under that.
 *
 * Stage g = 2 t + o is attended in token t. Its slot was used by stage g - 3, of token t - 1
 * for o = 1 and of token t - 2 for o = 0 (2 t - 3 = 2 (t - 2) + 1).
 */
#ifndef KVS_TESTS_SIM_RING_PLAN_H
#define KVS_TESTS_SIM_RING_PLAN_H

#include "tests/sim/toy.h"

enum { RING_MAX_STAGES = 1024, RING_PERIOD = 3 };

struct ring_plan {
    uint32_t copy_ns, compute_ns;
    uint32_t n_segments, n_tokens; /* tokens per segment, a multiple of the period */
    bool has_sampling;
    uint32_t n_stages;
    kvs_op_id deliver[6], attend[6]; /* by stage mod 6 */
};

static inline void ring_plan_token(struct ring_plan *ring, struct toy *t, uint16_t phase,
                                   const uint16_t queues[2], kvs_op_id base)
{
    kvs_op_id per_token = ring->has_sampling ? 6 : 4;
    for (uint32_t o = 0; o < 2; o++) {
        uint32_t s = 2u * phase + o;
        ring->deliver[s] = base + phase * per_token + o;
        ring->attend[s] = base + phase * per_token + 2 + o;
    }
    for (uint32_t o = 0; o < 2; o++) {
        uint32_t released = (2u * phase + o + 3) % 6; /* stage g - 3, mod 6 */
        kvs_op_id id = toy_copy(t, queues[0], ring->copy_ns, 0);
        uint32_t its_phase = released / 2;
        toy_dep(t, base + its_phase * per_token + 2 + released % 2, o == 0 ? 2 : 1);
        t->plan->segments.items[t->plan->segments.n - 1].ops.items[id].phase = phase;
    }
    for (uint32_t o = 0; o < 2; o++) {
        kvs_op_id id = toy_compute(t, queues[1], ring->compute_ns, 1);
        toy_dep(t, ring->deliver[2u * phase + o], 0);
        t->plan->segments.items[t->plan->segments.n - 1].ops.items[id].phase = phase;
    }
    if (!ring->has_sampling)
        return;
    kvs_op_id wait = toy_wait(t, ring->attend[2u * phase + 1]);
    kvs_op_id work = toy_host(t, 1);
    t->plan->segments.items[t->plan->segments.n - 1].ops.items[wait].phase = phase;
    t->plan->segments.items[t->plan->segments.n - 1].ops.items[work].phase = phase;
}

static inline void ring_plan_build(struct ring_plan *ring, struct toy *t)
{
    toy_new_plan(t);
    const uint16_t queues[2] = {toy_queue(t, 0, "transfer"), toy_queue(t, 0, "compute")};
    for (uint32_t s = 0; s < ring->n_segments; s++) {
        struct kvs_segment *segment = toy_segment(t, ring->n_tokens, false);
        segment->period = RING_PERIOD;
        for (uint16_t phase = 0; phase < RING_PERIOD; phase++)
            ring_plan_token(ring, t, phase, queues, 0);
    }
    ring->n_stages = 2 * ring->n_segments * ring->n_tokens;
}

#endif
