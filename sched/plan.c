/* Building and destroying plans: arrays with an owner, nothing else. */
#include "sched/plan.h"

#include <stdio.h>
#include <string.h>

const char *kvs_op_kind_name(kvs_op_kind kind)
{
    static const char *const names[] = {
#define KVS_OP_KIND_NAME(id, name) name,
        KVS_OP_KIND_MAP(KVS_OP_KIND_NAME)
#undef KVS_OP_KIND_NAME
    };
    return (unsigned)kind < KVS_COUNT_OF(names) ? names[kind] : "?";
}

const char *kvs_tag_name(kvs_tag tag)
{
    static const char *const names[] = {
#define KVS_TAG_NAME(id, name) name,
        KVS_TAG_MAP(KVS_TAG_NAME)
#undef KVS_TAG_NAME
    };
    return (unsigned)tag < KVS_COUNT_OF(names) ? names[tag] : "?";
}

kvs_status kvs_plan_create(const char *policy, uint16_t n_devices, struct kvs_plan **out,
                           struct kvs_error *err)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(1, sizeof(struct kvs_plan), &memory, err));
    struct kvs_plan *plan = memory;
    snprintf(plan->policy, sizeof plan->policy, "%s", policy);
    plan->n_devices = n_devices;
    uint16_t host;
    kvs_status status = kvs_plan_add_queue(plan, KVS_HOST_DEVICE, "host", &host, err);
    if (status != KVS_OK) {
        kvs_plan_destroy(plan);
        return status;
    }
    *out = plan;
    return KVS_OK;
}

void kvs_plan_destroy(struct kvs_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->segments.n; i++) {
        KVS_ARRAY_FREE(&plan->segments.items[i].ops);
        KVS_ARRAY_FREE(&plan->segments.items[i].accesses);
        KVS_ARRAY_FREE(&plan->segments.items[i].deps);
    }
    KVS_ARRAY_FREE(&plan->segments);
    KVS_ARRAY_FREE(&plan->queues);
    KVS_ARRAY_FREE(&plan->buffers);
    KVS_ARRAY_FREE(&plan->rings);
    KVS_ARRAY_FREE(&plan->setup);
    kvs_mem_free(plan);
}

kvs_status kvs_plan_add_queue(struct kvs_plan *plan, uint16_t device, const char *name,
                              uint16_t *out_queue, struct kvs_error *err)
{
    if (plan->queues.n >= UINT16_MAX)
        return kvs_error_set(err, KVS_ERANGE, "plan: more than %u queues", UINT16_MAX);
    struct kvs_queue queue = {.device = device};
    snprintf(queue.name, sizeof queue.name, "%s", name);
    *out_queue = (uint16_t)plan->queues.n;
    return KVS_ARRAY_PUSH(&plan->queues, queue, err);
}

kvs_status kvs_plan_add_buffer(struct kvs_plan *plan, const struct kvs_buffer *buffer,
                               uint32_t *out_buffer, struct kvs_error *err)
{
    if (plan->buffers.n > UINT16_MAX)
        return kvs_error_set(err, KVS_ERANGE, "plan: more than %u buffers", UINT16_MAX + 1u);
    *out_buffer = (uint32_t)plan->buffers.n;
    return KVS_ARRAY_PUSH(&plan->buffers, *buffer, err);
}

kvs_status kvs_plan_add_setup(struct kvs_plan *plan, const struct kvs_range *source,
                              const struct kvs_range *target, struct kvs_error *err)
{
    struct kvs_range read = *source, write = *target;
    read.mode = KVS_ACCESS_READ;
    write.mode = KVS_ACCESS_WRITE;
    KVS_TRY(KVS_ARRAY_PUSH(&plan->setup, read, err));
    return KVS_ARRAY_PUSH(&plan->setup, write, err);
}

kvs_status kvs_plan_add_segment(struct kvs_plan *plan, uint32_t n_tokens, bool has_barrier,
                                struct kvs_error *err)
{
    struct kvs_segment segment = {
        .n_tokens = n_tokens, .period = 1, .has_barrier = has_barrier};
    return KVS_ARRAY_PUSH(&plan->segments, segment, err);
}

static struct kvs_segment *plan_last_segment(struct kvs_plan *plan)
{
    KVS_ASSERT(plan->segments.n > 0);
    return &plan->segments.items[plan->segments.n - 1];
}

kvs_status kvs_plan_add_op(struct kvs_plan *plan, const struct kvs_op *op, kvs_op_id *out_op,
                           struct kvs_error *err)
{
    struct kvs_segment *segment = plan_last_segment(plan);
    struct kvs_op added = *op;
    added.first_access = (uint32_t)segment->accesses.n;
    added.first_dep = (uint32_t)segment->deps.n;
    added.n_access = 0;
    added.n_dep = 0;
    if (out_op)
        *out_op = (kvs_op_id)segment->ops.n;
    return KVS_ARRAY_PUSH(&segment->ops, added, err);
}

kvs_status kvs_plan_add_dep(struct kvs_plan *plan, kvs_op_id op, uint16_t distance,
                            kvs_dep_kind kind, struct kvs_error *err)
{
    struct kvs_segment *segment = plan_last_segment(plan);
    struct kvs_op *last = &segment->ops.items[segment->ops.n - 1];
    struct kvs_dep dep = {.op = op, .distance = distance, .kind = (uint16_t)kind};
    KVS_TRY(KVS_ARRAY_PUSH(&segment->deps, dep, err));
    last->n_dep++;
    return KVS_OK;
}

kvs_status kvs_plan_add_access(struct kvs_plan *plan, const struct kvs_range *range,
                               kvs_access_mode mode, struct kvs_error *err)
{
    struct kvs_segment *segment = plan_last_segment(plan);
    struct kvs_op *last = &segment->ops.items[segment->ops.n - 1];
    if (last->n_access == UINT16_MAX)
        return kvs_error_set(err, KVS_ERANGE, "plan: more than %u accesses of one operation",
                             UINT16_MAX);
    struct kvs_range access = *range;
    access.mode = (unsigned)mode & 7u;
    KVS_TRY(KVS_ARRAY_PUSH(&segment->accesses, access, err));
    last->n_access++;
    return KVS_OK;
}

uint32_t kvs_plan_n_tokens(const struct kvs_plan *plan)
{
    uint32_t n_tokens = 0;
    for (size_t i = 0; i < plan->segments.n; i++)
        n_tokens += plan->segments.items[i].n_tokens;
    return n_tokens;
}

uint64_t kvs_plan_size_bytes(const struct kvs_plan *plan)
{
    uint64_t size = sizeof *plan + plan->queues.n * sizeof *plan->queues.items +
                    plan->setup.n * sizeof *plan->setup.items +
                    plan->buffers.n * sizeof *plan->buffers.items;
    for (size_t i = 0; i < plan->segments.n; i++) {
        const struct kvs_segment *s = &plan->segments.items[i];
        size += sizeof *s + s->ops.n * sizeof *s->ops.items +
                s->accesses.n * sizeof *s->accesses.items + s->deps.n * sizeof *s->deps.items;
    }
    return size;
}
