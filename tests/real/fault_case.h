/*
 * Plans with one thing wrong, on a small machine: what a checker must refuse, and a digest must
 * catch when they are run all the same.
 */
#ifndef KVS_TESTS_REAL_FAULT_CASE_H
#define KVS_TESTS_REAL_FAULT_CASE_H

#include "tests/sim/toy.h"

enum fault {
    FAULT_NONE,
    FAULT_NO_READY,   /* compute does not wait for its delivery */
    FAULT_NO_RELEASE, /* a delivery does not wait for the compute that reads its slot */
    FAULT_SHIFTED,    /* a delivery begins one row further on */
    FAULT_NO_LATE,    /* the late rows are not copied */
    FAULT_EARLY_REUSE /* the ring is one slot short */
};
enum { N_FAULTS = FAULT_EARLY_REUSE + 1, FAULT_LAYERS = 6, FAULT_TOKENS = 3 };

static const char *const fault_names[N_FAULTS] = {"none",
                                                  "no ready wait",
                                                  "no release wait",
                                                  "delivery shifted by a row",
                                                  "late bytes left out",
                                                  "ring one slot short"};

/* Is it one that shows when copies are the longer side? The others show when compute is. */
static inline bool fault_is_of_copies(enum fault fault)
{
    return fault != FAULT_EARLY_REUSE && fault != FAULT_NO_RELEASE;
}

static inline bool fault_is_attention(const struct kvs_op *op)
{
    return op->kind == KVS_OP_COMPUTE && op->tag == KVS_TAG_ATTENTION;
}

static inline void fault_drop_waits(struct kvs_segment *s, struct kvs_op *op, kvs_tag on_tag)
{
    for (uint32_t k = 0; k < op->n_dep;) {
        struct kvs_dep *dep = &s->deps.items[op->first_dep + k];
        const struct kvs_op *on = &s->ops.items[dep->op];
        if (on->tag == on_tag)
            *dep = s->deps.items[op->first_dep + --op->n_dep];
        else
            k++;
    }
}

/* Layer o in slot o mod 2 instead of o mod 3: filled again while its compute still reads it. */
static inline void fault_shrink_ring(const struct kvs_plan *plan, struct kvs_segment *s,
                                     const struct kvs_op *op)
{
    uint16_t slots[3] = {0};
    for (uint16_t b = 0; b < plan->buffers.n; b++)
        for (unsigned k = 0; k < 3; k++)
            if (plan->buffers.items[b].name[0] == 'd' &&
                strstr(plan->buffers.items[b].name, ".slot") &&
                plan->buffers.items[b].name[7] == (char)('0' + k))
                slots[k] = b;
    for (uint32_t a = op->first_access; a < op->first_access + op->n_access; a++)
        for (unsigned k = 0; k < 3; k++)
            if (op->layer != KVS_NO_LAYER && s->accesses.items[a].buffer == slots[k]) {
                s->accesses.items[a].buffer = slots[op->layer % 2];
                break;
            }
}

static inline void fault_empty(struct kvs_segment *s, struct kvs_op *op)
{
    for (uint32_t a = op->first_access; a < op->first_access + op->n_access; a++)
        s->accesses.items[a].rows = 0, s->accesses.items[a].rows_step = 0;
}

static inline void fault_apply(struct kvs_plan *plan, enum fault fault)
{
    struct kvs_segment *s = &plan->segments.items[0];
    for (size_t i = 0; i < s->ops.n; i++) {
        struct kvs_op *op = &s->ops.items[i];
        bool is_delivery = op->kind == KVS_OP_COPY && op->tag == KVS_TAG_DELIVER;
        if (fault == FAULT_NO_READY && fault_is_attention(op))
            fault_drop_waits(s, op, KVS_TAG_DELIVER);
        if (fault == FAULT_NO_RELEASE && is_delivery)
            fault_drop_waits(s, op, KVS_TAG_ATTENTION);
        if (fault == FAULT_EARLY_REUSE)
            fault_shrink_ring(plan, s, op);
        if (fault == FAULT_NO_LATE && op->tag == KVS_TAG_LATE)
            fault_empty(s, op);
        if (fault == FAULT_SHIFTED && is_delivery && op->layer == FAULT_LAYERS / 2)
            s->accesses.items[op->first_access].offset +=
                s->accesses.items[op->first_access].pitch;
    }
}

/*
 * A plan with look-ahead 1 over `rows` rows of four heads for each of K and V; a layer's compute
 * takes compute_ns. Pipelined, with two exceptions, since two of its waits are implied by others.
 * Late rows are read by a kernel where the ready wait is to be left out: late copies queue behind the
 * deliveries on a sticky engine, so they would wait for them anyway. And it is continuous that has to
 * do without release waits: pipelined's host waits before every store for the compute before it.
 */
static inline void fault_plan(struct toy *toy, enum fault fault, uint64_t rows,
                              uint32_t head_dim, uint64_t compute_ns)
{
    kvs_plan_destroy(toy->plan);
    toy_init(toy, 1);
    toy_set_layers(toy, FAULT_LAYERS);
    for (uint32_t l = 0; l < FAULT_LAYERS; l++) {
        toy->layers[l].k_dim = toy->layers[l].v_dim = head_dim;
        toy->layers[l].pre_params = compute_ns / 4;
        toy->layers[l].post_params = compute_ns - compute_ns / 4;
    }
    toy_price_weights(toy);
    toy->c.workload.depth = rows - FAULT_TOKENS - 60;
    toy->c.workload.n_gen = FAULT_TOKENS;
    toy->c.transport.lookahead = 1;
    toy->c.transport.late = fault == FAULT_NO_READY ? KVS_LATE_KERNEL : KVS_LATE_COPY;
    toy->c.transport.budget_bytes = UINT64_MAX;
    const struct kvs_policy *policy =
        fault == FAULT_NO_RELEASE ? &kvs_policy_continuous : &kvs_policy_pipelined;
    TOY_OK(policy->plan(&toy->c, NULL, &toy->plan, err));
}

#endif
