/*
 * A hand-made plan like the pipelined transport's, small enough to follow on paper: one device,
 * four staged layers, look-ahead 1, a ring of three slots, a window of 8 rows of 16 bytes for
 * each of K and V. Token t has 4 + t early rows and stores row 4 + t; four tokens, so late
 * shrinks from 4 rows to 1.
 *
 * A token in issue order: boundary wait, deliveries of layers 0 and 1, first compute; then for
 * each layer o the consumer wait, the store, late K and V, attention, the deliveries of layer o
 * + 2; at the end the wait for compute and the sampling.
 */
#ifndef KVS_TESTS_SCHED_PLAN_FIXTURE_H
#define KVS_TESTS_SCHED_PLAN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "sched/plan.h"

enum {
    FIXTURE_LAYERS = 4,
    FIXTURE_ROW = 16, /* bytes of a K row and of a V row */
    FIXTURE_WINDOW = 8,
    FIXTURE_EARLY = 4, /* rows at token 0 */
    FIXTURE_TOKENS = 4,
    FIXTURE_HALF = FIXTURE_WINDOW * FIXTURE_ROW /* bytes of K in a slot */
};

struct fixture {
    struct kvs_plan *plan;
    uint16_t q_compute, q_transfer, q_blocking;
    uint32_t cache[2][FIXTURE_LAYERS]; /* K, V */
    uint32_t slots[8];
    uint32_t n_slots;
    uint32_t fresh, staging, logits;
    kvs_op_id attention[FIXTURE_LAYERS];
    kvs_op_id ready[FIXTURE_LAYERS]; /* the delivery of V */
    kvs_op_id last_transfer, last_compute;
};

#define FIXTURE_OK(call)                                                                       \
    do {                                                                                       \
        struct kvs_error *fixture_err_ = &(struct kvs_error){0};                               \
        struct kvs_error *err = fixture_err_;                                                  \
        if ((call) != KVS_OK)                                                                  \
            fail_msg("%s: %s", #call, fixture_err_->text);                                     \
    } while (0)

static inline struct kvs_range fixture_range(uint32_t buffer, uint64_t offset, uint64_t bytes)
{
    return (struct kvs_range){.buffer = (uint16_t)buffer,
                              .offset = offset,
                              .width = (uint32_t)bytes,
                              .pitch = (uint32_t)bytes,
                              .rows = 1};
}

/* rows x 16 bytes from row `first`; both may move with the token. */
static inline struct kvs_range fixture_rows(uint32_t buffer, uint64_t base, uint32_t first,
                                            int first_step, uint32_t rows, int rows_step)
{
    return (struct kvs_range){.buffer = (uint16_t)buffer,
                              .offset = base + first * (uint64_t)FIXTURE_ROW,
                              .offset_step = first_step * FIXTURE_ROW,
                              .width = FIXTURE_ROW,
                              .pitch = FIXTURE_ROW,
                              .rows = rows,
                              .rows_step = (int16_t)rows_step};
}

static inline void fixture_access(struct fixture *f, struct kvs_range range,
                                  kvs_access_mode mode)
{
    FIXTURE_OK(kvs_plan_add_access(f->plan, &range, mode, err));
}

static inline void fixture_dep(struct fixture *f, kvs_op_id op, uint16_t distance)
{
    FIXTURE_OK(kvs_plan_add_dep(f->plan, op, distance, KVS_DEP_HAZARD, err));
}

static inline kvs_op_id fixture_op(struct fixture *f, kvs_op_kind kind, kvs_tag tag,
                                   uint16_t queue, uint16_t layer, uint8_t flags)
{
    struct kvs_op op = {.kind = (uint8_t)kind,
                        .tag = (uint8_t)tag,
                        .flags = flags,
                        .queue = queue,
                        .layer = layer};
    kvs_op_id id = 0;
    FIXTURE_OK(kvs_plan_add_op(f->plan, &op, &id, err));
    return id;
}

static inline uint32_t fixture_buffer(struct fixture *f, kvs_place place, uint64_t size_bytes,
                                      uint64_t valid_bytes, const char *stem, int number)
{
    struct kvs_buffer buffer = {.size_bytes = size_bytes,
                                .valid_bytes = valid_bytes,
                                .place = (uint16_t)place,
                                .device = place == KVS_PLACE_DEVICE ? 0 : KVS_HOST_DEVICE};
    uint32_t id = 0;
    if (number < 0)
        snprintf(buffer.name, sizeof buffer.name, "%s", stem);
    else
        snprintf(buffer.name, sizeof buffer.name, "%s%d", stem, number);
    FIXTURE_OK(kvs_plan_add_buffer(f->plan, &buffer, &id, err));
    return id;
}

static inline void fixture_deliver(struct fixture *f, uint16_t layer, bool has_release)
{
    for (unsigned side = 0; side < 2; side++) {
        kvs_op_id id = fixture_op(f, KVS_OP_COPY, KVS_TAG_DELIVER, f->q_transfer, layer, 0);
        if (side == 0 && has_release && layer >= f->n_slots)
            fixture_dep(f, f->attention[layer - f->n_slots], 0);
        fixture_access(f, fixture_rows(f->cache[side][layer], 0, 0, 0, FIXTURE_EARLY, 1),
                       KVS_ACCESS_READ);
        fixture_access(f,
                       fixture_rows(f->slots[layer % f->n_slots], side * FIXTURE_HALF, 0, 0,
                                    FIXTURE_EARLY, 1),
                       KVS_ACCESS_WRITE);
        f->ready[layer] = f->last_transfer = id;
    }
}

static inline void fixture_store(struct fixture *f, uint16_t layer)
{
    fixture_op(f, KVS_OP_WAIT, KVS_TAG_CONSUMER, KVS_HOST_QUEUE, layer, 0);
    fixture_dep(f, f->last_compute, 0);
    fixture_op(f, KVS_OP_COPY, KVS_TAG_STORE, f->q_blocking, layer, KVS_OP_BLOCKS | KVS_OP_D2H);
    fixture_access(f, fixture_range(f->fresh, 0, 2 * FIXTURE_ROW), KVS_ACCESS_READ);
    fixture_access(f, fixture_range(f->staging, 0, 2 * FIXTURE_ROW), KVS_ACCESS_WRITE);
    fixture_op(f, KVS_OP_HOST, KVS_TAG_STORE, KVS_HOST_QUEUE, layer, 0);
    fixture_access(f, fixture_range(f->staging, 0, 2 * FIXTURE_ROW), KVS_ACCESS_READ);
    for (unsigned side = 0; side < 2; side++)
        fixture_access(f, fixture_rows(f->cache[side][layer], 0, FIXTURE_EARLY, 1, 1, 0),
                       KVS_ACCESS_WRITE);
}

static inline void fixture_attention(struct fixture *f, uint16_t layer)
{
    uint32_t slot = f->slots[layer % f->n_slots];
    for (unsigned side = 0; side < 2; side++) {
        uint32_t cache = f->cache[side][layer];
        uint64_t base = side * FIXTURE_HALF;
        uint32_t late = FIXTURE_WINDOW - FIXTURE_EARLY;
        fixture_op(f, KVS_OP_COPY, KVS_TAG_LATE, f->q_compute, layer, 0);
        fixture_access(f, fixture_rows(cache, 0, FIXTURE_EARLY, 1, late, -1), KVS_ACCESS_READ);
        fixture_access(f, fixture_rows(slot, base, FIXTURE_EARLY, 1, late, -1),
                       KVS_ACCESS_WRITE);
    }
    kvs_op_id id = fixture_op(f, KVS_OP_COMPUTE, KVS_TAG_ATTENTION, f->q_compute, layer, 0);
    fixture_dep(f, f->ready[layer], 0);
    for (unsigned side = 0; side < 2; side++) {
        uint32_t cache = f->cache[side][layer];
        fixture_access(f, fixture_range(slot, side * FIXTURE_HALF, FIXTURE_HALF),
                       KVS_ACCESS_READ);
        fixture_access(f, fixture_range(cache, 0, FIXTURE_HALF), KVS_ACCESS_EXPECT);
        fixture_access(f, fixture_rows(cache, 0, FIXTURE_EARLY, 1, 1, 0), KVS_ACCESS_FRESH);
    }
    if (layer + 1 < FIXTURE_LAYERS)
        fixture_access(f, fixture_range(f->fresh, 0, 2 * FIXTURE_ROW), KVS_ACCESS_WRITE);
    else
        fixture_access(f, fixture_range(f->logits, 0, 4), KVS_ACCESS_WRITE);
    f->attention[layer] = f->last_compute = id;
}

static inline void fixture_segment(struct fixture *f, bool has_release)
{
    kvs_op_id boundary =
        fixture_op(f, KVS_OP_WAIT, KVS_TAG_BOUNDARY, KVS_HOST_QUEUE, KVS_NO_LAYER, 0);
    fixture_deliver(f, 0, has_release);
    fixture_deliver(f, 1, has_release);
    f->last_compute =
        fixture_op(f, KVS_OP_COMPUTE, KVS_TAG_FIRST, f->q_compute, KVS_NO_LAYER, 0);
    fixture_access(f, fixture_range(f->fresh, 0, 2 * FIXTURE_ROW), KVS_ACCESS_WRITE);
    for (uint16_t layer = 0; layer < FIXTURE_LAYERS; layer++) {
        fixture_store(f, layer);
        fixture_attention(f, layer);
        if (layer + 2 < FIXTURE_LAYERS)
            fixture_deliver(f, (uint16_t)(layer + 2), has_release);
    }
    fixture_op(f, KVS_OP_WAIT, KVS_TAG_SAMPLE, KVS_HOST_QUEUE, KVS_NO_LAYER, 0);
    fixture_dep(f, f->last_compute, 0);
    fixture_op(f, KVS_OP_HOST, KVS_TAG_SAMPLE, KVS_HOST_QUEUE, KVS_NO_LAYER, 0);
    fixture_access(f, fixture_range(f->logits, 0, 4), KVS_ACCESS_READ);

    /* The boundary names operations that stand behind it: its dependencies go at the end. */
    struct kvs_segment *s = &f->plan->segments.items[f->plan->segments.n - 1];
    struct kvs_dep deps[2] = {{.op = f->last_transfer, .distance = 1},
                              {.op = f->last_compute, .distance = 1}};
    s->ops.items[boundary].first_dep = (uint32_t)s->deps.n;
    s->ops.items[boundary].n_dep = 2;
    for (unsigned i = 0; i < 2; i++)
        FIXTURE_OK(KVS_ARRAY_PUSH(&s->deps, deps[i], err));
}

/* Without a segment. Free with kvs_plan_destroy(f.plan). */
static inline struct fixture fixture_empty(uint32_t n_slots)
{
    struct fixture f = {.n_slots = n_slots};
    FIXTURE_OK(kvs_plan_create("pipelined", 1, &f.plan, err));
    FIXTURE_OK(kvs_plan_add_queue(f.plan, 0, "d0.compute", &f.q_compute, err));
    FIXTURE_OK(kvs_plan_add_queue(f.plan, 0, "d0.transfer", &f.q_transfer, err));
    FIXTURE_OK(kvs_plan_add_queue(f.plan, 0, "d0.blocking", &f.q_blocking, err));
    for (int i = 0; i < FIXTURE_LAYERS; i++) {
        f.cache[0][i] = fixture_buffer(&f, KVS_PLACE_HOST_PINNED, 2 * FIXTURE_HALF,
                                       FIXTURE_HALF, "cache.k.", i);
        f.cache[1][i] = fixture_buffer(&f, KVS_PLACE_HOST_PINNED, 2 * FIXTURE_HALF,
                                       FIXTURE_HALF, "cache.v.", i);
    }
    for (uint32_t i = 0; i < n_slots; i++)
        f.slots[i] =
            fixture_buffer(&f, KVS_PLACE_DEVICE, 2 * FIXTURE_HALF, 0, "d0.slot", (int)i);
    f.fresh = fixture_buffer(&f, KVS_PLACE_DEVICE, 2 * FIXTURE_ROW, 0, "d0.new", -1);
    f.staging = fixture_buffer(&f, KVS_PLACE_HOST_PAGEABLE, 2 * FIXTURE_ROW, 0, "staging", -1);
    f.logits = fixture_buffer(&f, KVS_PLACE_DEVICE, 4, 0, "d0.logits", -1);
    return f;
}

static inline struct fixture fixture_good(void)
{
    struct fixture f = fixture_empty(3);
    FIXTURE_OK(kvs_plan_add_segment(f.plan, FIXTURE_TOKENS, false, err));
    fixture_segment(&f, true);
    return f;
}

static inline struct kvs_segment *fixture_last(const struct fixture *f)
{
    return &f->plan->segments.items[f->plan->segments.n - 1];
}

/* The nth operation of this kind, tag and layer. */
static inline kvs_op_id fixture_find(const struct fixture *f, kvs_op_kind kind, kvs_tag tag,
                                     uint16_t layer, unsigned nth)
{
    const struct kvs_segment *s = fixture_last(f);
    for (kvs_op_id id = 0; id < s->ops.n; id++) {
        const struct kvs_op *op = &s->ops.items[id];
        if (op->kind == kind && op->tag == tag && op->layer == layer && nth-- == 0)
            return id;
    }
    fail_msg("no such operation");
    return 0;
}

static inline struct kvs_op *fixture_at(const struct fixture *f, kvs_op_id id)
{
    return &fixture_last(f)->ops.items[id];
}

static inline struct kvs_range *fixture_access_of(const struct fixture *f, kvs_op_id id,
                                                  unsigned i)
{
    return &fixture_last(f)->accesses.items[fixture_at(f, id)->first_access + i];
}

#endif
