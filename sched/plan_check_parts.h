/* What the files of the checker share with one another. */
#ifndef KVS_SCHED_PLAN_CHECK_PARTS_H
#define KVS_SCHED_PLAN_CHECK_PARTS_H

#include "sched/plan_check.h"
#include "sched/plan_check_text.h"

/*
 * Everything that can be said without unrolling: ids, names, queues and kinds, dependencies on
 * operations that are issued later, copies against their direction, buffers of other devices,
 * collectives in pieces, copies of unequal sizes, ranges outside their buffers at the first and
 * the last token (ranges are affine, so between them too). Operations are looked at in issue
 * order. The other parts of the checker rely on it.
 */
kvs_status kvs_plan_check_structure(const struct kvs_plan *plan,
                                    struct kvs_error *err) KVS_MUST_USE;

/* What the accesses of an operation may be, whatever the token: known buffers and modes, pairs
 * of a copy, where the buffers lie. ref's token is only named. */
kvs_status kvs_plan_check_shape(const struct kvs_plan *plan, struct kvs_op_ref ref,
                                struct kvs_error *err) KVS_MUST_USE;

/* The members of a collective stand together, as many as they say, in one phase, and no other
 * collective of the segment has their number. The operations must have passed their checks. */
kvs_status kvs_plan_check_groups(const struct kvs_plan *plan, uint32_t segment,
                                 struct kvs_error *err) KVS_MUST_USE;

/* The longest distance of any dependency of the segment. */
uint16_t kvs_segment_longest(const struct kvs_segment *segment);

/* The first and the last token in which an operation of this phase runs; false when none. */
static inline bool kvs_segment_phase_tokens(const struct kvs_segment *segment, uint16_t phase,
                                            uint32_t *first, uint32_t *last)
{
    if (phase >= segment->n_tokens)
        return false;
    *first = phase;
    *last = segment->n_tokens - 1 - (segment->n_tokens - 1 - phase) % segment->period;
    return true;
}

#endif
