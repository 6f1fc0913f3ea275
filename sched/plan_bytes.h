/*
 * Races: of two operations that touch a byte, one of them writing, one must end before the
 * other starts. Private to the checker.
 *
 * Each buffer keeps the accesses that an operation still to come could run into. An access
 * leaves when the host has waited for it, since everything later is issued after that, or when
 * a later write covers it. Reads and writes are kept apart, so that many readers of a buffer
 * cost one another nothing.
 */
#ifndef KVS_SCHED_PLAN_BYTES_H
#define KVS_SCHED_PLAN_BYTES_H

#include "sched/plan_check_area.h"
#include "sched/plan_hb.h"

struct kvs_touch {
    struct kvs_area area;
    struct kvs_op_ref ref;
    uint32_t index; /* in its queue */
    uint32_t queue;
};

struct kvs_touch_list {
    KVS_ARRAY(struct kvs_touch) items;
    uint64_t lo, hi; /* all items lie in [lo, hi) */
    size_t prune_at; /* look for accesses to drop at this many */
};

struct kvs_bytes_buffer {
    struct kvs_touch_list reads;
    struct kvs_touch_list writes;
};

struct kvs_bytes {
    const struct kvs_plan *plan;      /* borrowed */
    struct kvs_bytes_buffer *buffers; /* owned, [plan->buffers.n] */
    uint64_t n_visited;               /* accesses looked at so far: the work done */
};

/* Even after a failure kvs_bytes_fini is due. */
kvs_status kvs_bytes_init(struct kvs_bytes *bytes, const struct kvs_plan *plan,
                          struct kvs_error *err) KVS_MUST_USE;
void kvs_bytes_fini(struct kvs_bytes *bytes);

/* hb's present operation touches area. KVS_EPLAN names the operation that it may run into. */
kvs_status kvs_bytes_touch(struct kvs_bytes *bytes, const struct kvs_hb *hb,
                           const struct kvs_area *area, bool is_write,
                           struct kvs_error *err) KVS_MUST_USE;

uint64_t kvs_bytes_size_bytes(const struct kvs_bytes *bytes);

#endif
