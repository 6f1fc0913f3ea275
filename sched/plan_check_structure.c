/* The checks of a plan that need no unrolling. */
#include "sched/plan_check_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sched/plan_check_area.h"

uint16_t kvs_segment_longest(const struct kvs_segment *segment)
{
    uint16_t longest = 0;
    for (size_t i = 0; i < segment->deps.n; i++)
        if (segment->deps.items[i].distance > longest)
            longest = segment->deps.items[i].distance;
    return longest;
}

static int structure_compare(const void *a, const void *b)
{
    const char *const *left = a, *const *right = b;
    return strcmp(*left, *right);
}

/* names: [n], sorted here. */
static kvs_status structure_unique(const char **names, size_t n, const char *what,
                                   struct kvs_error *err)
{
    qsort(names, n, sizeof *names, structure_compare);
    for (size_t i = 1; i < n; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return kvs_error_set(err, KVS_EPLAN, "plan: two %ss are called \"%s\"", what,
                                 names[i]);
    return KVS_OK;
}

static kvs_status structure_names(const struct kvs_plan *plan, struct kvs_error *err)
{
    size_t n = plan->queues.n > plan->buffers.n ? plan->queues.n : plan->buffers.n;
    void *memory = NULL;
    KVS_TRY(kvs_mem_alloc(n, sizeof(const char *), &memory, err));
    const char **names = memory;
    for (size_t i = 0; i < plan->queues.n; i++)
        names[i] = plan->queues.items[i].name;
    kvs_status status = structure_unique(names, plan->queues.n, "queue", err);
    for (size_t i = 0; i < plan->buffers.n; i++)
        names[i] = plan->buffers.items[i].name;
    if (status == KVS_OK)
        status = structure_unique(names, plan->buffers.n, "buffer", err);
    kvs_mem_free(memory);
    return status;
}

static kvs_status structure_queues(const struct kvs_plan *plan, struct kvs_error *err)
{
    void *memory = NULL;
    KVS_TRY(kvs_mem_alloc(plan->n_devices, sizeof(uint32_t), &memory, err));
    uint32_t *n_queues = memory;
    kvs_status status = KVS_OK;
    for (size_t i = 1; i < plan->queues.n && status == KVS_OK; i++) {
        uint16_t device = plan->queues.items[i].device;
        if (++n_queues[device] > KVS_PLAN_MAX_QUEUES_PER_DEVICE)
            status = kvs_error_set(
                err, KVS_EPLAN, "plan: queue %s is one too many on device %u: at most %u",
                plan->queues.items[i].name, (unsigned)device, KVS_PLAN_MAX_QUEUES_PER_DEVICE);
    }
    kvs_mem_free(memory);
    return status;
}

/* Copies before the first token: read and write in turn, inside their buffers, of equal size. */
static kvs_status structure_setup(const struct kvs_plan *plan, struct kvs_error *err)
{
    for (size_t i = 0; i < plan->setup.n; i++) {
        const struct kvs_range *range = &plan->setup.items[i];
        bool is_source = i % 2 == 0;
        if (range->mode != (is_source ? KVS_ACCESS_READ : KVS_ACCESS_WRITE) ||
            (is_source && i + 1 == plan->setup.n))
            return kvs_error_set(
                err, KVS_EPLAN, "plan: setup: access %zu: it needs pairs of a read and a write",
                i);
        if (range->buffer >= plan->buffers.n ||
            kvs_area_fault(range, 0, plan->buffers.items[range->buffer].size_bytes) !=
                KVS_AREA_GOOD)
            return kvs_error_set(err, KVS_EPLAN,
                                 "plan: setup: access %zu is outside its buffer", i);
        if (!is_source && kvs_range_bytes(range) != kvs_range_bytes(range - 1))
            return kvs_error_set(err, KVS_EPLAN,
                                 "plan: setup: access %zu writes %" PRIu64
                                 " bytes, the one before reads %" PRIu64,
                                 i, kvs_range_bytes(range), kvs_range_bytes(range - 1));
    }
    return KVS_OK;
}

static kvs_status structure_places(const struct kvs_plan *plan, struct kvs_error *err)
{
    if (plan->queues.n == 0 || plan->queues.items[0].device != KVS_HOST_DEVICE)
        return kvs_error_set(err, KVS_EPLAN, "plan: queue 0 must be the host's");
    for (size_t i = 1; i < plan->queues.n; i++)
        if (plan->queues.items[i].device >= plan->n_devices)
            return kvs_error_set(err, KVS_EPLAN, "plan: queue %s is on device %u of %u",
                                 plan->queues.items[i].name,
                                 (unsigned)plan->queues.items[i].device,
                                 (unsigned)plan->n_devices);
    for (size_t i = 0; i < plan->buffers.n; i++) {
        const struct kvs_buffer *buffer = &plan->buffers.items[i];
        if (buffer->place == KVS_PLACE_DEVICE && buffer->device >= plan->n_devices)
            return kvs_error_set(err, KVS_EPLAN, "plan: buffer %s is on device %u of %u",
                                 buffer->name, (unsigned)buffer->device,
                                 (unsigned)plan->n_devices);
        if (buffer->valid_bytes > buffer->size_bytes)
            return kvs_error_set(err, KVS_EPLAN,
                                 "plan: buffer %s has %" PRIu64 " valid bytes of %" PRIu64,
                                 buffer->name, buffer->valid_bytes, buffer->size_bytes);
        if (buffer->filled_bytes > buffer->run_bytes || buffer->run_bytes > buffer->valid_bytes)
            return kvs_error_set(
                err, KVS_EPLAN,
                "plan: buffer %s has %" PRIu64 " filled bytes in runs of %" PRIu64
                ", with %" PRIu64 " valid ones",
                buffer->name, buffer->filled_bytes, buffer->run_bytes, buffer->valid_bytes);
    }
    KVS_TRY(structure_queues(plan, err));
    KVS_TRY(structure_setup(plan, err));
    return structure_names(plan, err);
}

static kvs_status structure_op(const struct kvs_plan *plan, struct kvs_op_ref ref,
                               struct kvs_error *err)
{
    const struct kvs_segment *segment = &plan->segments.items[ref.segment];
    const struct kvs_op *op = &segment->ops.items[ref.op];
    if (op->kind >= KVS_OP_KIND_COUNT || op->tag >= KVS_TAG_COUNT)
        return kvs_plan_fault(plan, ref, err, "has an unknown kind or tag");
    if (op->queue >= plan->queues.n)
        return kvs_plan_fault(plan, ref, err, "is on queue %u of %zu", (unsigned)op->queue,
                              plan->queues.n);
    bool is_host = op->kind == KVS_OP_HOST || op->kind == KVS_OP_WAIT;
    if (is_host != (op->queue == KVS_HOST_QUEUE))
        return kvs_plan_fault(plan, ref, err, "must %sbe on the host's queue",
                              is_host ? "" : "not ");
    if (op->phase >= segment->period)
        return kvs_plan_fault(plan, ref, err, "has phase %u, the segment's period is %u",
                              (unsigned)op->phase, (unsigned)segment->period);
    if (op->kind == KVS_OP_COLLECTIVE && op->collective.n_members == 0)
        return kvs_plan_fault(plan, ref, err, "is a member of a collective of none");
    if (op->first_access > segment->accesses.n ||
        op->n_access > segment->accesses.n - op->first_access ||
        op->first_dep > segment->deps.n || op->n_dep > segment->deps.n - op->first_dep)
        return kvs_plan_fault(plan, ref, err,
                              "has accesses or dependencies beyond the segment's");
    return KVS_OK;
}

static kvs_status structure_deps(const struct kvs_plan *plan, struct kvs_op_ref ref,
                                 struct kvs_error *err)
{
    const struct kvs_segment *segment = &plan->segments.items[ref.segment];
    const struct kvs_op *op = &segment->ops.items[ref.op];
    for (uint32_t i = op->first_dep; i < op->first_dep + op->n_dep; i++) {
        const struct kvs_dep *dep = &segment->deps.items[i];
        if (dep->op >= segment->ops.n)
            return kvs_plan_fault(plan, ref, err, "waits for op %u of %zu", (unsigned)dep->op,
                                  segment->ops.n);
        if (dep->distance == 0 && dep->op == ref.op)
            return kvs_plan_fault(plan, ref, err, "waits for itself (cycle)");
        struct kvs_op_ref on = {.segment = ref.segment, .token = ref.token, .op = dep->op};
        unsigned period = segment->period;
        unsigned phase = (op->phase + period - dep->distance % period) % period;
        bool is_later = dep->distance == 0 && dep->op > ref.op;
        if (!is_later && segment->ops.items[dep->op].phase == phase)
            continue;
        char text[KVS_OP_TEXT_BYTES];
        kvs_op_ref_print(plan, on, false, text);
        if (is_later)
            return kvs_plan_fault(plan, ref, err, "waits for %s, which is issued later (cycle)",
                                  text);
        return kvs_plan_fault(
            plan, ref, err, "waits at distance %u for %s, which runs in phase %u, not %u",
            (unsigned)dep->distance, text, (unsigned)segment->ops.items[dep->op].phase, phase);
    }
    return KVS_OK;
}

static kvs_status structure_range(const struct kvs_plan *plan, struct kvs_op_ref ref,
                                  const struct kvs_range *range, struct kvs_error *err)
{
    const struct kvs_buffer *buffer = &plan->buffers.items[range->buffer];
    const char *why = "";
    switch (kvs_area_fault(range, ref.token, buffer->size_bytes)) {
    case KVS_AREA_GOOD:
        return KVS_OK;
    case KVS_AREA_NEGATIVE:
        why = "a step takes its offset, width or rows below zero or beyond their type";
        break;
    case KVS_AREA_PITCH:
        why = "its rows overlap: the pitch is below the width";
        break;
    case KVS_AREA_OUTSIDE:
        return kvs_plan_fault(
            plan, ref, err,
            "%s %s outside its %" PRIu64 " bytes: offset %" PRIu64 " %+" PRId64
            " a token, %" PRIu32 " rows of %" PRIu32 ", pitch %" PRIu32,
            kvs_access_verb(range->mode), buffer->name, buffer->size_bytes, range->offset,
            (int64_t)range->offset_step, range->rows, range->width, range->pitch);
    }
    return kvs_plan_fault(plan, ref, err, "%s %s: %s", kvs_access_verb(range->mode),
                          buffer->name, why);
}

static kvs_status structure_same_size(const struct kvs_plan *plan, struct kvs_op_ref ref,
                                      const struct kvs_range *range, const char *first,
                                      const char *second, struct kvs_error *err)
{
    struct kvs_area a = kvs_area_at(range, ref.token), b = kvs_area_at(range + 1, ref.token);
    if (kvs_area_bytes(&a) == kvs_area_bytes(&b))
        return KVS_OK;
    return kvs_plan_fault(plan, ref, err,
                          "%s %" PRIu64 " bytes of %s and %s %" PRIu64 " bytes of %s", first,
                          kvs_area_bytes(&a), plan->buffers.items[a.buffer].name, second,
                          kvs_area_bytes(&b), plan->buffers.items[b.buffer].name);
}

/* The cells that stand behind an access are as many bytes. */
static kvs_status structure_cells(const struct kvs_plan *plan, struct kvs_op_ref ref,
                                  struct kvs_error *err)
{
    const struct kvs_segment *segment = &plan->segments.items[ref.segment];
    const struct kvs_op *op = &segment->ops.items[ref.op];
    const struct kvs_range *ranges = kvs_segment_accesses(segment, op);
    for (uint32_t i = 0; i < op->n_access;) {
        struct kvs_area area = kvs_area_at(&ranges[i], ref.token);
        uint64_t bytes = 0;
        uint32_t end = i + 1;
        for (; end < op->n_access && ranges[end].mode == KVS_ACCESS_CELLS; end++) {
            struct kvs_area cells = kvs_area_at(&ranges[end], ref.token);
            bytes += kvs_area_bytes(&cells);
        }
        if (end > i + 1 && bytes != kvs_area_bytes(&area))
            return kvs_plan_fault(
                plan, ref, err,
                "touches %" PRIu64 " bytes of %s and says %" PRIu64 " bytes of cells",
                kvs_area_bytes(&area), plan->buffers.items[area.buffer].name, bytes);
        i = end;
    }
    return KVS_OK;
}

/* All accesses of an operation at one token: inside their buffers, and equal where they must be.
 */
static kvs_status structure_accesses(const struct kvs_plan *plan, struct kvs_op_ref ref,
                                     struct kvs_error *err)
{
    const struct kvs_segment *segment = &plan->segments.items[ref.segment];
    const struct kvs_op *op = &segment->ops.items[ref.op];
    const struct kvs_range *ranges = kvs_segment_accesses(segment, op);
    for (uint32_t i = 0; i < op->n_access; i++)
        KVS_TRY(structure_range(plan, ref, &ranges[i], err));
    KVS_TRY(structure_cells(plan, ref, err));
    for (uint32_t i = 0; i < op->n_access; i++) {
        if (op->kind == KVS_OP_COPY && i % 2 == 0)
            KVS_TRY(structure_same_size(plan, ref, &ranges[i], "reads", "writes", err));
        if (ranges[i].mode == KVS_ACCESS_EXPECT)
            KVS_TRY(structure_same_size(plan, ref, &ranges[i - 1], "reads", "expects", err));
    }
    return KVS_OK;
}

static kvs_status structure_segment(const struct kvs_plan *plan, uint32_t s,
                                    struct kvs_error *err)
{
    const struct kvs_segment *segment = &plan->segments.items[s];
    if (segment->n_tokens == 0 || segment->period == 0)
        return kvs_error_set(err, KVS_EPLAN, "plan: segment %u has %u tokens and period %u",
                             (unsigned)s, (unsigned)segment->n_tokens,
                             (unsigned)segment->period);
    for (size_t i = 0; i < segment->ops.n; i++) {
        struct kvs_op_ref ref = {.segment = s, .op = (kvs_op_id)i};
        KVS_TRY(structure_op(plan, ref, err));
        ref.token = segment->ops.items[i].phase;
        KVS_TRY(kvs_plan_check_shape(plan, ref, err));
        uint32_t first, last;
        if (!kvs_segment_phase_tokens(segment, segment->ops.items[i].phase, &first, &last))
            continue;
        ref.token = first;
        KVS_TRY(structure_deps(plan, ref, err));
        KVS_TRY(structure_accesses(plan, ref, err));
        ref.token = last;
        KVS_TRY(structure_accesses(plan, ref, err));
    }
    return kvs_plan_check_groups(plan, s, err);
}

/* Without a barrier a segment has the operations of the one before it. */
static kvs_status structure_follows(const struct kvs_plan *plan, uint32_t s,
                                    struct kvs_error *err)
{
    const struct kvs_segment *now = &plan->segments.items[s], *before = now - 1;
    if (now->ops.n != before->ops.n)
        return kvs_error_set(
            err, KVS_EPLAN,
            "plan: segment %u has no barrier, but %zu operations and not %zu as "
            "the segment before",
            (unsigned)s, now->ops.n, before->ops.n);
    if (now->period != before->period)
        return kvs_error_set(err, KVS_EPLAN,
                             "plan: segment %u has no barrier, but period %u and not %u as the "
                             "segment before",
                             (unsigned)s, (unsigned)now->period, (unsigned)before->period);
    for (size_t i = 0; i < now->ops.n; i++) {
        const struct kvs_op *a = &now->ops.items[i], *b = &before->ops.items[i];
        struct kvs_op_ref ref = {.segment = s, .op = (kvs_op_id)i};
        bool is_other_group =
            a->kind == KVS_OP_COLLECTIVE && a->collective.group != b->collective.group;
        if (a->kind != b->kind || a->tag != b->tag || a->queue != b->queue ||
            a->layer != b->layer || a->phase != b->phase || is_other_group)
            return kvs_plan_fault(plan, ref, err,
                                  "differs from the op of the segment before, and the segment "
                                  "has no barrier");
    }
    return KVS_OK;
}

kvs_status kvs_plan_check_structure(const struct kvs_plan *plan, struct kvs_error *err)
{
    KVS_TRY(structure_places(plan, err));
    for (uint32_t s = 0; s < plan->segments.n; s++) {
        KVS_TRY(structure_segment(plan, s, err));
        if (s > 0 && !plan->segments.items[s].has_barrier)
            KVS_TRY(structure_follows(plan, s, err));
    }
    return KVS_OK;
}
