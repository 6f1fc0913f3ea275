/* What operations may be made of: accesses by kind and place, members of collectives. */
#include <inttypes.h>
#include <stdlib.h>

#include "sched/plan_check_parts.h"

static kvs_status shape_range(const struct kvs_plan *plan, struct kvs_op_ref ref,
                              const struct kvs_range *range, struct kvs_error *err)
{
    if (range->mode > KVS_ACCESS_CELLS)
        return kvs_plan_fault(plan, ref, err, "has an access of unknown mode");
    if (range->buffer >= plan->buffers.n)
        return kvs_plan_fault(plan, ref, err, "%s buffer %" PRIu32 " of %zu",
                              kvs_access_verb(range->mode), (uint32_t)range->buffer,
                              plan->buffers.n);
    return KVS_OK;
}

/* A device reaches its own memory and the host's. */
static kvs_status shape_reach(const struct kvs_plan *plan, struct kvs_op_ref ref,
                              const struct kvs_range *range, struct kvs_error *err)
{
    const struct kvs_buffer *buffer = &plan->buffers.items[range->buffer];
    const struct kvs_queue *queue = &plan->queues.items[kvs_op_ref_op(plan, ref)->queue];
    bool is_touched = range->mode == KVS_ACCESS_READ || range->mode == KVS_ACCESS_WRITE;
    if (!is_touched || queue->device == KVS_HOST_DEVICE || buffer->place != KVS_PLACE_DEVICE ||
        buffer->device == queue->device)
        return KVS_OK;
    return kvs_plan_fault(plan, ref, err,
                          "%s %s, a buffer of device %u, and its queue %s is on device %u",
                          kvs_access_verb(range->mode), buffer->name, (unsigned)buffer->device,
                          queue->name, (unsigned)queue->device);
}

/* One side of a copy: its mode, and host or device memory as the direction says. */
static kvs_status shape_copy_side(const struct kvs_plan *plan, struct kvs_op_ref ref,
                                  const struct kvs_range *range, bool is_source,
                                  struct kvs_error *err)
{
    const struct kvs_op *op = kvs_op_ref_op(plan, ref);
    const struct kvs_buffer *buffer = &plan->buffers.items[range->buffer];
    bool is_d2h = op->flags & KVS_OP_D2H;
    bool is_on_device = buffer->place == KVS_PLACE_DEVICE;
    if (range->mode != (is_source ? KVS_ACCESS_READ : KVS_ACCESS_WRITE))
        return kvs_plan_fault(plan, ref, err, "is a copy and must read, then write");
    if (is_on_device == (is_d2h == is_source))
        return KVS_OK;
    kvs_status status =
        kvs_plan_fault(plan, ref, err, "is a copy %s on queue %s, but %s %s, a buffer %s",
                       is_d2h ? "from device to host" : "from host to device",
                       plan->queues.items[op->queue].name, kvs_access_verb(range->mode),
                       buffer->name, is_on_device ? "of the device" : "of the host");
    kvs_error_hint(err, "a copy goes from host to device, with d2h from device to host");
    return status;
}

kvs_status kvs_plan_check_shape(const struct kvs_plan *plan, struct kvs_op_ref ref,
                                struct kvs_error *err)
{
    const struct kvs_op *op = kvs_op_ref_op(plan, ref);
    const struct kvs_range *ranges =
        kvs_segment_accesses(&plan->segments.items[ref.segment], op);
    bool is_copy = op->kind == KVS_OP_COPY;
    for (uint32_t i = 0; i < op->n_access; i++)
        KVS_TRY(shape_range(plan, ref, &ranges[i], err));
    if (is_copy && (op->n_access == 0 || op->n_access % 2 != 0))
        return kvs_plan_fault(plan, ref, err,
                              "is a copy with %u accesses: it needs pairs of a "
                              "source and a destination",
                              (unsigned)op->n_access);
    for (uint32_t i = 0; i < op->n_access; i++) {
        if (is_copy)
            KVS_TRY(shape_copy_side(plan, ref, &ranges[i], i % 2 == 0, err));
        KVS_TRY(shape_reach(plan, ref, &ranges[i], err));
        if (ranges[i].mode == KVS_ACCESS_EXPECT &&
            (i == 0 || ranges[i - 1].mode != KVS_ACCESS_READ))
            return kvs_plan_fault(plan, ref, err, "expects bytes without a read before");
        if (ranges[i].mode == KVS_ACCESS_CELLS &&
            (i == 0 ||
             (ranges[i - 1].mode != KVS_ACCESS_READ && ranges[i - 1].mode != KVS_ACCESS_WRITE &&
              ranges[i - 1].mode != KVS_ACCESS_CELLS)))
            return kvs_plan_fault(plan, ref, err,
                                  "says cells without a read or a write before");
    }
    return KVS_OK;
}

/* The first member of a collective. */
struct shape_group {
    uint32_t group;
    kvs_op_id op;
};

static int shape_compare(const void *a, const void *b)
{
    const struct shape_group *left = a, *right = b;
    if (left->group != right->group)
        return left->group < right->group ? -1 : 1;
    return left->op < right->op ? -1 : left->op > right->op;
}

/* first names a collective: the members from there on, which share its number, in *n. */
static kvs_status shape_members(const struct kvs_plan *plan, struct kvs_op_ref first, size_t *n,
                                struct kvs_error *err)
{
    const struct kvs_segment *segment = &plan->segments.items[first.segment];
    const struct kvs_op *op = kvs_op_ref_op(plan, first);
    *n = 0;
    for (struct kvs_op_ref at = first; at.op < segment->ops.n; at.op++, ++*n) {
        const struct kvs_op *member = kvs_op_ref_op(plan, at);
        if (member->kind != KVS_OP_COLLECTIVE ||
            member->collective.group != op->collective.group)
            break;
        at.token = member->phase;
        if (member->phase != op->phase)
            return kvs_plan_fault(plan, at, err,
                                  "is a member of collective %u in phase %u, op %u in phase %u",
                                  (unsigned)op->collective.group, (unsigned)member->phase,
                                  (unsigned)first.op, (unsigned)op->phase);
        if (member->collective.n_members != op->collective.n_members)
            return kvs_plan_fault(
                plan, at, err,
                "is a member of collective %u and says it has %u members, op %u says %u",
                (unsigned)op->collective.group, (unsigned)member->collective.n_members,
                (unsigned)first.op, (unsigned)op->collective.n_members);
    }
    if (*n == op->collective.n_members)
        return KVS_OK;
    return kvs_plan_fault(plan, first, err,
                          "is a member of collective %u, which has %u members, but %zu stand%s "
                          "here: they must follow one another, each collective with a number "
                          "of its own",
                          (unsigned)op->collective.group, (unsigned)op->collective.n_members,
                          *n, *n == 1 ? "s" : "");
}

static kvs_status shape_unique(const struct kvs_plan *plan, struct kvs_op_ref ref,
                               struct shape_group *groups, size_t n, struct kvs_error *err)
{
    if (n > 1)
        qsort(groups, n, sizeof *groups, shape_compare);
    for (size_t i = 1; i < n; i++) {
        if (groups[i].group != groups[i - 1].group)
            continue;
        ref.op = groups[i].op;
        ref.token = kvs_op_ref_op(plan, ref)->phase;
        return kvs_plan_fault(plan, ref, err,
                              "begins another collective %u in this segment, after op %u: each "
                              "needs a number of its own",
                              (unsigned)groups[i].group, (unsigned)groups[i - 1].op);
    }
    return KVS_OK;
}

kvs_status kvs_plan_check_groups(const struct kvs_plan *plan, uint32_t segment,
                                 struct kvs_error *err)
{
    const struct kvs_segment *s = &plan->segments.items[segment];
    KVS_ARRAY(struct shape_group) groups = {0};
    struct kvs_op_ref ref = {.segment = segment};
    kvs_status status = KVS_OK;
    for (size_t n = 1; status == KVS_OK && ref.op < s->ops.n; ref.op += (kvs_op_id)n) {
        const struct kvs_op *op = &s->ops.items[ref.op];
        n = 1;
        if (op->kind != KVS_OP_COLLECTIVE)
            continue;
        struct shape_group group = {.group = op->collective.group, .op = ref.op};
        ref.token = op->phase;
        status = shape_members(plan, ref, &n, err);
        if (status == KVS_OK)
            status = KVS_ARRAY_PUSH(&groups, group, err);
    }
    if (status == KVS_OK)
        status = shape_unique(plan, ref, groups.items, groups.n, err);
    KVS_ARRAY_FREE(&groups);
    return status;
}
