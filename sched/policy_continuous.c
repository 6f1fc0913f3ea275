/*
 * Continuous: nothing in a token waits for the host. Deliveries run ahead as pipelined's do, and
 * across the token boundary: behind the last stages of a token come those of the first stages of
 * the next one. That takes rows which no longer change, so the last rows of every stage stay on
 * the devices (kvs_case_tail_first), where compute writes and reads them; nothing is late. A
 * kernel stores new rows in mapped host memory. Constants stay on the devices, inputs and hidden
 * states are moved by kernels. The host issues a whole token, waits for its last compute, samples.
 *
 * Deliveries are then all that a copy engine does, so one stream for them is served in order of
 * need, whatever engines favour.
 *
 * Slots. A stage has the same slot in every token, so that tokens have one structure. Its stages
 * are dealt to the slots in runs: 0 1 2 0 1 0 1 2 0 1 2 for eleven stages and three slots. Runs
 * are as even as they can be, the shorter ones in the middle of a token: the ring is whole where
 * compute waits for sampling.
 *
 * Segments. While the window is the same, so is what deliveries bring. The last token of a window
 * is a segment of its own: its deliveries for the next token bring that one's rows, and the first
 * of them waits until those have been stored.
 */
#include <stdio.h>

#include "sched/build.h"

struct continuous_stage {
    uint32_t stage; /* of the graph */
    uint32_t slot;
    int32_t before;      /* the stage that had the slot before; below 0: n_stages further on, of
                            the token before */
    int32_t after;       /* delivered once this stage's compute is enqueued; likewise */
    kvs_op_id attention; /* in the open segment */
    kvs_op_id delivery;
};

struct continuous_device {
    struct continuous_stage *stages; /* owned, [n_stages] that it holds */
    uint32_t n_stages;
    uint32_t n_slots;
    uint32_t n_seen; /* stages whose compute is enqueued in this token */
    uint16_t q_transfer;
    bool has_crossed; /* a delivery for the next token is issued in this one */
};

struct continuous {
    struct kvs_build *b;
    struct continuous_device *devices; /* owned, [n_devices] */
    struct kvs_build_input *inputs;    /* owned, [n_devices] of the piece at hand */
    uint64_t first_now;                /* rows that deliveries for this token bring */
    uint64_t first_next;               /* for the next one */
};

/* Stages in runs of at most n_slots, even, the longer ones at both ends. */
static void continuous_deal_slots(struct continuous_device *device, uint32_t n_slots)
{
    uint32_t n = device->n_stages, n_runs = (n + n_slots - 1) / n_slots;
    uint32_t shorter = n / n_runs, n_longer = n % n_runs, at = 0;
    for (uint32_t run = 0; run < n_runs; run++) {
        bool is_longer = run < n_longer / 2 || run >= n_runs - (n_longer - n_longer / 2);
        uint32_t length = shorter + is_longer;
        for (uint32_t k = 0; k < length; k++)
            device->stages[at++].slot = k;
        device->n_slots = length > device->n_slots ? length : device->n_slots;
    }
}

static struct continuous_stage *continuous_at(const struct continuous_device *device, int32_t k)
{
    return &device->stages[k < 0 ? k + (int32_t)device->n_stages : k];
}

/* A stage's slot was its own in the token before, if nobody else's since. */
static void continuous_find_before(struct continuous_device *device)
{
    for (int32_t k = 0; k < (int32_t)device->n_stages; k++) {
        struct continuous_stage *s = &device->stages[k];
        s->before = k - 1;
        while (continuous_at(device, s->before)->slot != s->slot)
            s->before--;
    }
}

/* Stage k is delivered look-ahead + 1 stages ahead, once its slot is free, and behind those before
 * it. */
static void continuous_find_after(struct continuous_device *device, uint32_t lookahead)
{
    int32_t n = (int32_t)device->n_stages;
    for (int32_t k = 0; k < n; k++) {
        int32_t after = -n;
        for (int32_t h = k; h > k - n; h--) {
            int32_t ahead = h - (int32_t)lookahead - 1;
            int32_t before = continuous_at(device, h)->before - (h < 0 ? n : 0);
            after = ahead > after ? ahead : after;
            after = before > after ? before : after;
        }
        device->stages[k].after = after;
    }
}

/* Rows of a stage into its slot, for this token or for the next one. */
static kvs_status continuous_deliver(struct continuous *p, uint32_t d,
                                     struct continuous_stage *s, bool is_next)
{
    struct kvs_build *b = p->b;
    struct continuous_device *device = &p->devices[d];
    int32_t before = s->before + (is_next ? (int32_t)device->n_stages : 0);
    bool brings_stored = is_next && !device->has_crossed && p->first_next > p->first_now &&
                         p->first_next > kvs_case_used_rows(b->c, 0);
    for (unsigned side = KVS_KV_SIDE_K; side <= KVS_KV_SIDE_V; side++) {
        kvs_op_id last;
        struct kvs_build_copy copy = {.stage = s->stage,
                                      .device = d,
                                      .slot = s->slot,
                                      .side = (kvs_kv_side)side,
                                      .part = KVS_PART_FIRST,
                                      .n_rows = is_next ? p->first_next : p->first_now,
                                      .queue = device->q_transfer,
                                      .tag = KVS_TAG_DELIVER};
        /* computes of the token before are over: the host has waited for them */
        if (side == KVS_KV_SIDE_K && before >= 0 && p->first_now > 0)
            kvs_build_copy_after(&copy, device->stages[before].attention, 0, KVS_DEP_HAZARD);
        if (side == KVS_KV_SIDE_K && brings_stored && !kvs_build_rewrites(b))
            kvs_build_copy_after(&copy, b->devices[d].last_store, 1, KVS_DEP_HAZARD);
        KVS_TRY(kvs_build_window_copy(b, &copy, &last));
        s->delivery = last != KVS_NO_OP ? last : s->delivery;
    }
    device->has_crossed |= is_next;
    return KVS_OK;
}

/* What may leave once the compute of the device's k-th stage is enqueued. */
static kvs_status continuous_issue(struct continuous *p, uint32_t d, int32_t k)
{
    struct continuous_device *device = &p->devices[d];
    for (unsigned is_next = 0; is_next < 2; is_next++)
        for (uint32_t i = 0; i < device->n_stages; i++)
            if (device->stages[i].after + (int32_t)(is_next * device->n_stages) == k)
                KVS_TRY(continuous_deliver(p, d, &device->stages[i], is_next > 0));
    return KVS_OK;
}

static void continuous_set_input(struct continuous *p, uint32_t d)
{
    const struct continuous_device *device = &p->devices[d];
    const struct continuous_stage *s = &device->stages[device->n_seen];
    p->inputs[d] = (struct kvs_build_input){.slot = s->slot, .ready = KVS_NO_OP};
    if (p->first_now == 0)
        return;
    if (s->after >= 0)
        p->inputs[d].ready = s->delivery;
    else
        p->inputs[d].ready_at = &s->delivery;
}

static kvs_status continuous_piece(struct continuous *p, uint32_t index)
{
    struct kvs_build *b = p->b;
    const struct kvs_piece *piece = &b->graph->pieces.items[index];
    uint32_t stage = piece->stage;
    for (uint32_t d = 0; d < b->graph->n_devices; d++) {
        p->inputs[d] = (struct kvs_build_input){.ready = KVS_NO_OP};
        if (stage != KVS_NO_STAGE && kvs_build_holds(b, stage, d))
            continuous_set_input(p, d);
    }
    KVS_TRY(kvs_build_piece(b, index, p->inputs));
    if (piece->before_stage != KVS_NO_STAGE)
        KVS_TRY(kvs_build_tail_store(b, piece->before_stage));
    for (uint32_t d = 0; stage != KVS_NO_STAGE && d < b->graph->n_devices; d++) {
        struct continuous_device *device = &p->devices[d];
        if (!kvs_build_holds(b, stage, d))
            continue;
        device->stages[device->n_seen].attention = b->devices[d].last_attention;
        KVS_TRY(continuous_issue(p, d, (int32_t)device->n_seen++));
    }
    return KVS_OK;
}

static kvs_status continuous_token(struct continuous *p)
{
    for (uint32_t d = 0; d < p->b->graph->n_devices; d++) {
        p->devices[d].n_seen = 0;
        p->devices[d].has_crossed = false;
    }
    KVS_TRY(kvs_build_tail_inputs(p->b));
    for (uint32_t i = 0; i < p->b->graph->pieces.n; i++)
        KVS_TRY(continuous_piece(p, i));
    KVS_TRY(kvs_build_sample(p->b));
    kvs_build_settle(p->b);
    return KVS_OK;
}

static kvs_status continuous_segments(struct continuous *p, uint32_t *n_segments)
{
    const struct kvs_case *c = p->b->c;
    for (uint32_t step = 0; step < c->workload.n_gen; ++*n_segments) {
        uint32_t n = kvs_build_tail_steps(p->b, step);
        p->first_now = p->first_next = kvs_case_tail_first(c, step);
        if (step + n < c->workload.n_gen)
            p->first_next = kvs_case_tail_first(c, step + n);
        if (p->first_next != p->first_now && n > 1) { /* all but the last of the window */
            n--;
            p->first_next = p->first_now;
        }
        KVS_TRY(kvs_build_begin_segment(p->b, step, n, false));
        KVS_TRY(continuous_token(p));
        step += n;
    }
    return KVS_OK;
}

/* The stages of a device, its ring, and what is there before the first token. */
static kvs_status continuous_add_device(struct continuous *p, uint32_t d,
                                        const struct kvs_ring_choice *choice)
{
    struct kvs_build *b = p->b;
    struct continuous_device *device = &p->devices[d];
    void *memory;
    KVS_TRY(kvs_mem_alloc(b->graph->stages.n, sizeof *device->stages, &memory, b->err));
    device->stages = memory;
    for (uint32_t s = 0; s < b->graph->stages.n; s++)
        if (kvs_build_holds(b, s, d))
            device->stages[device->n_stages++].stage = s;
    if (device->n_stages == 0)
        return KVS_OK;
    continuous_deal_slots(device, choice->n_slots);
    continuous_find_before(device);
    continuous_find_after(device, b->c->transport.lookahead);
    char name[24];
    (void)snprintf(name, sizeof name, "d%u.transfer", d);
    KVS_TRY(kvs_plan_add_queue(b->plan, (uint16_t)d, name, &device->q_transfer, b->err));
    KVS_TRY(kvs_build_slots(b, d, device->n_slots, choice->slot_bytes));
    for (uint32_t i = 0; i < device->n_stages; i++)
        if (device->stages[i].after < 0)
            KVS_TRY(
                kvs_build_tail_prime(b, device->stages[i].stage, d, device->stages[i].slot));
    struct kvs_ring ring = {.device = (uint16_t)d,
                            .n_slots = (uint16_t)device->n_slots,
                            .slot_bytes = choice->slot_bytes};
    return KVS_ARRAY_PUSH(&b->plan->rings, ring, b->err);
}

/* Rings have one size for all windows, that of the last. Declines when a device does. */
static kvs_status continuous_decide(const struct kvs_case *c, struct kvs_ring_choice *choices,
                                    uint32_t n_devices, struct kvs_decision *decision,
                                    bool *is_on, struct kvs_error *err)
{
    *is_on = false;
    for (uint32_t d = 0; d < n_devices; d++) {
        KVS_TRY(kvs_case_ring(c, d, c->workload.n_gen - 1, &choices[d], err));
        kvs_decline decline = choices[d].decline;
        decision->n_declined += decline != KVS_DECLINE_NONE && decline != KVS_DECLINE_NO_STAGE;
        *is_on |= decline == KVS_DECLINE_NONE;
        if (decision->ring.decline == KVS_DECLINE_NONE || decision->ring.n_slots == 0)
            decision->ring = choices[d];
    }
    *is_on = *is_on && decision->n_declined == 0;
    return KVS_OK;
}

static void continuous_fini(struct continuous *p, uint32_t n_devices)
{
    for (uint32_t d = 0; p->devices && d < n_devices; d++)
        kvs_mem_free(p->devices[d].stages);
    kvs_mem_free(p->devices);
    kvs_mem_free(p->inputs);
}

static kvs_status continuous_build(const struct kvs_case *c,
                                   const struct kvs_ring_choice *choices, uint32_t n_devices,
                                   uint32_t *n_segments, struct kvs_plan **out,
                                   struct kvs_error *err)
{
    struct continuous p = {0};
    void *memory;
    kvs_status status;
    KVS_TRY(kvs_build_create(c, "continuous", &p.b, err));
    KVS_TRY_GOTO(kvs_mem_alloc(n_devices, sizeof *p.devices, &memory, err), out);
    p.devices = memory;
    KVS_TRY_GOTO(kvs_mem_alloc(n_devices, sizeof *p.inputs, &memory, err), out);
    p.inputs = memory;
    KVS_TRY_GOTO(kvs_build_keep_tail(p.b), out);
    for (uint32_t d = 0; d < n_devices; d++)
        KVS_TRY_GOTO(continuous_add_device(&p, d, &choices[d]), out);
    KVS_TRY_GOTO(continuous_segments(&p, n_segments), out);
out:
    continuous_fini(&p, n_devices);
    if (status != KVS_OK) {
        kvs_build_destroy(p.b);
        return status;
    }
    *out = kvs_build_finish(p.b);
    return KVS_OK;
}

static kvs_status continuous_plan(const struct kvs_case *c, struct kvs_decision *decision,
                                  struct kvs_plan **out, struct kvs_error *err)
{
    struct kvs_case kept = *c;
    struct kvs_decision made = {0}, ordered = {0};
    uint32_t n_devices = c->placement.mode == KVS_SPLIT_NONE ? 1 : c->machine->n_devices;
    bool is_on;
    void *memory;
    kept.transport.keeps_tail = true;
    KVS_TRY(kvs_case_check(c, err));
    KVS_TRY(kvs_mem_alloc(n_devices, sizeof(struct kvs_ring_choice), &memory, err));
    struct kvs_ring_choice *choices = memory;
    kvs_status status = continuous_decide(&kept, choices, n_devices, &made, &is_on, err);
    if (status == KVS_OK && is_on) {
        status = continuous_build(&kept, choices, n_devices, &made.n_segments, out, err);
    } else if (status == KVS_OK) {
        status = kvs_policy_plan_ordered(c, "continuous", &ordered, out, err);
        made.n_segments = ordered.n_segments;
        made.n_declined = made.n_declined > 0 ? ordered.n_segments : 0;
    }
    kvs_mem_free(choices);
    if (status == KVS_OK && decision)
        *decision = made;
    return status;
}

const struct kvs_policy kvs_policy_continuous = {
    .abi_version = KVS_POLICY_ABI,
    .name = "continuous",
    .summary = "no host wait in a token; deliveries run on into the next one",
    .source = "kvsim's own; option: look-ahead",
    .plan = continuous_plan,
};
