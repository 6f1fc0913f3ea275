/*
 * Plans by hand with real bytes: every operation has bytes of its own, so that what the plan's order
 * does not protect does not meet.
 */
#ifndef KVS_TESTS_REAL_BY_HAND_H
#define KVS_TESTS_REAL_BY_HAND_H

#include "tests/sim/toy.h"

enum { BY_HAND_BYTES = 1 << 20 };

struct by_hand {
    uint32_t host, device; /* buffers */
    uint32_t used_bytes;   /* of both */
};

/* A new plan for the toy's machine, with an open segment. */
static inline struct by_hand by_hand_begin(struct toy *t, uint32_t n_tokens)
{
    struct by_hand b = {0};
    struct kvs_buffer host = {.name = "host", .size_bytes = BY_HAND_BYTES};
    struct kvs_buffer device = {
        .name = "device", .size_bytes = BY_HAND_BYTES, .place = KVS_PLACE_DEVICE};
    toy_new_plan(t);
    TOY_OK(kvs_plan_add_buffer(t->plan, &host, &b.host, err));
    TOY_OK(kvs_plan_add_buffer(t->plan, &device, &b.device, err));
    toy_segment(t, n_tokens, false);
    return b;
}

static inline kvs_op_id by_hand_copy(struct by_hand *b, struct toy *t, uint16_t queue,
                                     uint32_t bytes, uint8_t flags)
{
    struct kvs_range range = {
        .offset = b->used_bytes, .width = bytes, .pitch = bytes, .rows = 1};
    kvs_op_id id = toy_op(
        t, (struct kvs_op){
               .kind = KVS_OP_COPY, .tag = KVS_TAG_DELIVER, .flags = flags, .queue = queue});
    uint32_t from = flags & KVS_OP_D2H ? b->device : b->host;
    b->used_bytes += bytes;
    KVS_ASSERT(b->used_bytes <= BY_HAND_BYTES);
    range.buffer = (uint16_t)from;
    TOY_OK(kvs_plan_add_access(t->plan, &range, KVS_ACCESS_READ, err));
    range.buffer = (uint16_t)(b->host + b->device - from);
    TOY_OK(kvs_plan_add_access(t->plan, &range, KVS_ACCESS_WRITE, err));
    return id;
}

#endif
