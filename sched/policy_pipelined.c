/*
 * Pipelined: a ring of look-ahead + 2 slots per device. Early bytes of the next layers travel
 * on a transfer stream while earlier layers compute; the host issues them after enqueuing a
 * layer, the late rest goes on the consumer's own stream. Options: a transfer stream per slot,
 * a yield between deliveries, late bytes read by a kernel.
 */
#include <stdio.h>

#include "sched/build.h"

struct pipelined {
    struct kvs_build *b;
    uint16_t (
        *q_transfer)[KVS_RING_MAX_SLOTS]; /* [n_devices][n_slots]; all equal for one stream */
    bool *is_on;                          /* [n_devices] a ring was accepted in this segment */
    uint32_t *n_slots;                    /* [n_devices] */
    uint32_t *n_issued;                   /* [n_devices] deliveries issued in this token */
    uint32_t *n_consumed;                 /* [n_devices] */
    kvs_op_id *ready;         /* [n_devices][KVS_RING_MAX_SLOTS]: last delivery into the slot */
    kvs_op_id *release;       /* [n_devices][KVS_RING_MAX_SLOTS]: last compute that read it */
    kvs_op_id *last_transfer; /* [n_devices] */
    struct kvs_build_input *inputs; /* [n_devices] of the piece at hand */
    bool *has_queues;               /* [n_devices] */
};

/* Stages that device d holds, in order: number k of them, KVS_NO_STAGE past the end. */
static uint32_t pipelined_stage_of(const struct kvs_build *b, uint32_t d, uint32_t k)
{
    for (uint32_t s = 0; s < b->graph->stages.n; s++)
        if (kvs_build_holds(b, s, d) && k-- == 0)
            return s;
    return KVS_NO_STAGE;
}

static kvs_status pipelined_yield(struct pipelined *p, uint32_t d, uint32_t slot,
                                  uint32_t stage)
{
    struct kvs_op op = {.kind = KVS_OP_COMPUTE,
                        .tag = KVS_TAG_YIELD,
                        .flags = KVS_OP_LIGHT,
                        .queue = p->q_transfer[d][slot],
                        .layer = (uint16_t)p->b->graph->stages.items[stage].layer,
                        .compute = {.n_kernels = 1, .n_queries = 1}};
    return kvs_plan_add_op(p->b->plan, &op, NULL, p->b->err);
}

/* Early bytes of device d's k-th stage into its slot. */
static kvs_status pipelined_deliver(struct pipelined *p, uint32_t d, uint32_t stage)
{
    struct kvs_build *b = p->b;
    const struct kvs_transport *t = &b->c->transport;
    uint32_t slot = p->n_issued[d] % p->n_slots[d];
    kvs_op_id *release = &p->release[d * KVS_RING_MAX_SLOTS + slot];
    kvs_op_id *ready = &p->ready[d * KVS_RING_MAX_SLOTS + slot];
    bool is_chained = t->streams == KVS_STREAMS_PER_SLOT && p->last_transfer[d] != KVS_NO_OP;
    kvs_op_id last = KVS_NO_OP;
    for (unsigned side = KVS_KV_SIDE_K; side <= KVS_KV_SIDE_V; side++) {
        kvs_op_id end;
        struct kvs_build_copy copy = {.stage = stage,
                                      .device = d,
                                      .slot = slot,
                                      .side = (kvs_kv_side)side,
                                      .part = KVS_PART_EARLY,
                                      .queue = p->q_transfer[d][slot],
                                      .tag = KVS_TAG_DELIVER};
        if (last == KVS_NO_OP)
            kvs_build_copy_after(&copy, *release, 0, KVS_DEP_HAZARD);
        if (last == KVS_NO_OP && is_chained)
            kvs_build_copy_after(&copy, p->last_transfer[d], 0, KVS_DEP_PACING);
        KVS_TRY(kvs_build_window_copy(b, &copy, &end));
        if (end == KVS_NO_OP)
            continue;
        last = end;
        if (t->yield == KVS_YIELD_KV && side == KVS_KV_SIDE_K)
            KVS_TRY(pipelined_yield(p, d, slot, stage));
    }
    *ready = last;
    if (last != KVS_NO_OP)
        p->last_transfer[d] = last;
    p->n_issued[d]++;
    return t->yield == KVS_YIELD_NONE ? KVS_OK : pipelined_yield(p, d, slot, stage);
}

static kvs_status pipelined_issue(struct pipelined *p, uint32_t d)
{
    while (p->is_on[d] && p->n_issued[d] <= p->n_consumed[d] + p->b->c->transport.lookahead) {
        uint32_t stage = pipelined_stage_of(p->b, d, p->n_issued[d]);
        if (stage == KVS_NO_STAGE)
            break;
        KVS_TRY(pipelined_deliver(p, d, stage));
    }
    return KVS_OK;
}

/*
 * Cursors start anew, and the next token finds everything at rest: the host waits for the
 * transfer streams, then for the consumers. Written at the end of a token, where it comes to
 * the same.
 */
static kvs_status pipelined_boundary(struct pipelined *p)
{
    struct kvs_build *b = p->b;
    for (unsigned which = 0; which < 2; which++) {
        struct kvs_op op = {.kind = KVS_OP_WAIT,
                            .tag = KVS_TAG_BOUNDARY,
                            .queue = KVS_HOST_QUEUE,
                            .layer = KVS_NO_LAYER};
        KVS_TRY(kvs_plan_add_op(b->plan, &op, NULL, b->err));
        for (uint32_t d = 0; d < b->graph->n_devices; d++) {
            kvs_op_id last = which == 0 ? p->last_transfer[d] : b->devices[d].last_compute;
            if (last != KVS_NO_OP)
                KVS_TRY(kvs_plan_add_dep(b->plan, last, 0, KVS_DEP_PACING, b->err));
        }
    }
    return KVS_OK;
}

static void pipelined_reset_cursors(struct pipelined *p)
{
    for (uint32_t d = 0; d < p->b->graph->n_devices; d++) {
        p->n_issued[d] = p->n_consumed[d] = 0;
        p->last_transfer[d] = KVS_NO_OP;
        for (uint32_t i = 0; i < KVS_RING_MAX_SLOTS; i++)
            p->ready[d * KVS_RING_MAX_SLOTS + i] = p->release[d * KVS_RING_MAX_SLOTS + i] =
                KVS_NO_OP;
    }
}

/* Inputs of a staged piece: late bytes where there is a ring, else the whole window, blocking.
 */
static kvs_status pipelined_late(struct pipelined *p, uint32_t stage)
{
    struct kvs_build *b = p->b;
    bool is_kernel = b->c->transport.late == KVS_LATE_KERNEL;
    for (unsigned side = KVS_KV_SIDE_K; side <= KVS_KV_SIDE_V; side++) {
        for (uint32_t d = 0; d < b->graph->n_devices; d++) {
            if (!kvs_build_holds(b, stage, d))
                continue;
            bool is_on = p->is_on[d];
            p->inputs[d].slot = is_on ? p->n_consumed[d] % p->n_slots[d] : 0;
            if (is_on && is_kernel) {
                if (side == KVS_KV_SIDE_K)
                    KVS_TRY(kvs_build_late_kernel(b, stage, d, p->inputs[d].slot));
                continue;
            }
            struct kvs_build_copy copy = {.stage = stage,
                                          .device = d,
                                          .slot = p->inputs[d].slot,
                                          .side = (kvs_kv_side)side,
                                          .part = is_on ? KVS_PART_LATE : KVS_PART_WHOLE,
                                          .queue = is_on ? b->devices[d].q_compute
                                                         : b->devices[d].q_blocking,
                                          .tag = is_on ? KVS_TAG_LATE : KVS_TAG_WINDOW,
                                          .flags = is_on ? 0 : KVS_OP_BLOCKS};
            KVS_TRY(kvs_build_window_copy(b, &copy, NULL));
        }
    }
    return KVS_OK;
}

static kvs_status pipelined_staged_piece(struct pipelined *p, uint32_t piece, uint32_t stage)
{
    struct kvs_build *b = p->b;
    KVS_TRY(kvs_build_store(b, stage));
    KVS_TRY(pipelined_late(p, stage));
    for (uint32_t d = 0; d < b->graph->n_devices; d++)
        p->inputs[d].ready = p->is_on[d] && kvs_build_holds(b, stage, d)
                                 ? p->ready[d * KVS_RING_MAX_SLOTS + p->inputs[d].slot]
                                 : KVS_NO_OP;
    return kvs_build_piece(b, piece, p->inputs);
}

/* After the whole split is enqueued: release the slot, then issue what the look-ahead allows.
 */
static kvs_status pipelined_after_split(struct pipelined *p, uint32_t stage)
{
    for (uint32_t d = 0; d < p->b->graph->n_devices; d++) {
        if (!kvs_build_holds(p->b, stage, d) || !p->is_on[d])
            continue;
        p->release[d * KVS_RING_MAX_SLOTS + p->inputs[d].slot] = p->b->devices[d].last_compute;
        p->n_consumed[d]++;
    }
    for (uint32_t d = 0; d < p->b->graph->n_devices; d++)
        KVS_TRY(pipelined_issue(p, d));
    return KVS_OK;
}

/* Does piece i begin another split than the open one? Splits end at stages and at device
 * changes. */
static bool pipelined_split_ends(const struct kvs_graph *g, size_t i)
{
    return g->pieces.items[i].stage != KVS_NO_STAGE ||
           g->pieces.items[i].device != g->pieces.items[i - 1].device;
}

static kvs_status pipelined_token(struct pipelined *p)
{
    struct kvs_build *b = p->b;
    const struct kvs_graph *g = b->graph;
    uint32_t open = KVS_NO_STAGE; /* stage whose split is being enqueued */
    pipelined_reset_cursors(p);
    for (uint32_t d = 0; d < g->n_devices; d++)
        KVS_TRY(pipelined_issue(p, d));
    KVS_TRY(kvs_build_inputs(b, b->c->transport.late));
    for (uint32_t i = 0; i < g->pieces.n; i++) {
        uint32_t stage = g->pieces.items[i].stage;
        if (open != KVS_NO_STAGE && pipelined_split_ends(g, i)) {
            KVS_TRY(pipelined_after_split(p, open));
            open = KVS_NO_STAGE;
        }
        if (stage == KVS_NO_STAGE) {
            KVS_TRY(kvs_build_piece(b, i, NULL));
            continue;
        }
        KVS_TRY(pipelined_staged_piece(p, i, stage));
        open = stage;
    }
    if (open != KVS_NO_STAGE)
        KVS_TRY(pipelined_after_split(p, open));
    KVS_TRY(kvs_build_sample(b));
    return pipelined_boundary(p);
}

/* Transfer queues of a device, made when it first runs a ring. */
static kvs_status pipelined_queues(struct pipelined *p, uint32_t d, uint32_t n_slots)
{
    bool is_per_slot = p->b->c->transport.streams == KVS_STREAMS_PER_SLOT;
    for (uint32_t i = 0; i < n_slots; i++) {
        if (!is_per_slot && i > 0) {
            p->q_transfer[d][i] = p->q_transfer[d][0];
            continue;
        }
        char name[24];
        snprintf(name, sizeof name, is_per_slot ? "d%u.transfer%u" : "d%u.transfer", d, i);
        KVS_TRY(
            kvs_plan_add_queue(p->b->plan, (uint16_t)d, name, &p->q_transfer[d][i], p->b->err));
    }
    p->has_queues[d] = true;
    return KVS_OK;
}

/* Rings of the open segment; the decision keeps the first decline, else the last choice. */
static kvs_status pipelined_rings(struct pipelined *p, uint32_t step,
                                  struct kvs_decision *decision)
{
    struct kvs_build *b = p->b;
    bool has_declined = false;
    b->plan->rings.n = 0;
    for (uint32_t d = 0; d < b->graph->n_devices; d++) {
        struct kvs_ring_choice choice;
        KVS_TRY(kvs_case_ring(b->c, d, step, &choice, b->err));
        p->is_on[d] = choice.decline == KVS_DECLINE_NONE;
        p->n_slots[d] = p->is_on[d] ? choice.n_slots : 1;
        if (!p->is_on[d]) {
            has_declined |= choice.decline != KVS_DECLINE_NO_STAGE;
            KVS_TRY(kvs_build_slots(b, d, 1, choice.full_need_bytes));
        } else {
            struct kvs_ring ring = {.device = (uint16_t)d,
                                    .n_slots = (uint16_t)choice.n_slots,
                                    .slot_bytes = choice.slot_bytes};
            if (!p->has_queues[d])
                KVS_TRY(pipelined_queues(p, d, choice.n_slots));
            KVS_TRY(kvs_build_slots(b, d, choice.n_slots, choice.slot_bytes));
            KVS_TRY(KVS_ARRAY_PUSH(&b->plan->rings, ring, b->err));
        }
        if (decision->ring.decline == KVS_DECLINE_NONE || decision->ring.n_slots == 0)
            decision->ring = choice;
    }
    decision->n_segments++;
    decision->n_declined += has_declined;
    return KVS_OK;
}

static kvs_status pipelined_alloc(struct pipelined *p)
{
    uint32_t n = p->b->graph->n_devices;
    struct kvs_error *err = p->b->err;
    const struct {
        void **slot;
        size_t bytes;
    } arrays[] = {
        {(void **)&p->q_transfer, sizeof *p->q_transfer},
        {(void **)&p->is_on, sizeof *p->is_on},
        {(void **)&p->has_queues, sizeof *p->has_queues},
        {(void **)&p->n_slots, sizeof *p->n_slots},
        {(void **)&p->n_issued, sizeof *p->n_issued},
        {(void **)&p->n_consumed, sizeof *p->n_consumed},
        {(void **)&p->ready, KVS_RING_MAX_SLOTS * sizeof *p->ready},
        {(void **)&p->release, KVS_RING_MAX_SLOTS * sizeof *p->release},
        {(void **)&p->last_transfer, sizeof *p->last_transfer},
        {(void **)&p->inputs, sizeof *p->inputs},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(arrays); i++)
        KVS_TRY(kvs_mem_alloc(n, arrays[i].bytes, arrays[i].slot, err));
    return KVS_OK;
}

static void pipelined_fini(struct pipelined *p)
{
    kvs_mem_free(p->q_transfer);
    kvs_mem_free(p->is_on);
    kvs_mem_free(p->has_queues);
    kvs_mem_free(p->n_slots);
    kvs_mem_free(p->n_issued);
    kvs_mem_free(p->n_consumed);
    kvs_mem_free(p->ready);
    kvs_mem_free(p->release);
    kvs_mem_free(p->last_transfer);
    kvs_mem_free(p->inputs);
}

static kvs_status pipelined_plan(const struct kvs_case *c, struct kvs_decision *decision,
                                 struct kvs_plan **out, struct kvs_error *err)
{
    struct pipelined p = {0};
    struct kvs_decision made = {0};
    kvs_status status;
    KVS_TRY(kvs_build_create(c, "pipelined", &p.b, err));
    KVS_TRY_GOTO(pipelined_alloc(&p), out);
    for (uint32_t step = 0; step < c->workload.n_gen;) {
        uint32_t n = kvs_case_steps_with_same_window(c, step);
        KVS_TRY_GOTO(kvs_build_begin_segment(p.b, step, n, step > 0), out);
        KVS_TRY_GOTO(pipelined_rings(&p, step, &made), out);
        KVS_TRY_GOTO(pipelined_token(&p), out);
        step += n;
    }
    if (decision)
        *decision = made;
out:
    pipelined_fini(&p);
    if (status != KVS_OK) {
        kvs_build_destroy(p.b);
        return status;
    }
    *out = kvs_build_finish(p.b);
    return KVS_OK;
}

const struct kvs_policy kvs_policy_pipelined = {
    .abi_version = KVS_POLICY_ABI,
    .name = "pipelined",
    .summary = "early bytes of the next layers travel while earlier layers compute",
    .source = "llama.cpp fork, pull requests 39 and 92; options: streams, yield, late",
    .plan = pipelined_plan,
};
