/* What does not change during a run: operations, queues and their orders, engines. */
#include "sim/sim.h"

static void bind_devices(struct sim *sim)
{
    for (uint32_t d = 0; d < sim->n_devices; d++) {
        struct sim_device *device = &sim->devices[d];
        device->cost = sim->cost.devices[d];
        device->heavy = SIM_NONE;
        device->path_ps_per_byte = (double)KVS_PS_PER_S / device->cost.path_Bps[KVS_H2D];
        device->stretch = device->speed = 1.0; /* nothing is copied at a pace of 0 */
    }
}

static void bind_engines(struct sim *sim)
{
    uint32_t n = 0;
    for (uint32_t d = 0; d < sim->n_devices; d++) {
        bool is_single = sim->machine->devices[d].engines.n_engines == 1;
        for (unsigned dir = 0; dir < KVS_N_DIRS; dir++) {
            if (dir == KVS_D2H && is_single) {
                sim->devices[d].engine[dir] = sim->devices[d].engine[KVS_H2D];
                continue;
            }
            sim->engines[n] =
                (struct sim_engine){.device = d,
                                    .on = &sim->devices[d],
                                    .totals = &sim->run->devices[d],
                                    .dir = (kvs_dir)dir,
                                    .running = SIM_NONE,
                                    .current = SIM_NONE,
                                    .reserved = SIM_NONE,
                                    .may_hold = sim->machine->devices[d].engines.first_turn ==
                                                KVS_FIRST_TURN_CHAINED,
                                    .end_ps = -1,
                                    .flow = SIM_NONE};
            sim->devices[d].engine[dir] = n++;
        }
    }
    sim->n_engines = n;
}

/* Room in every engine's list for each queue of its device. */
static kvs_status bind_waiting(struct sim *sim)
{
    void *memory;
    uint32_t *count, *at;
    KVS_TRY(kvs_mem_alloc(sim->n_devices, sizeof *count, &memory, sim->err));
    count = memory;
    kvs_status status = KVS_OK;
    for (uint32_t q = 1; q < sim->n_queues && status == KVS_OK; q++)
        if (++count[sim->queues[q].device] > KVS_PLAN_MAX_QUEUES_PER_DEVICE)
            status =
                kvs_error_set(sim->err, KVS_ERANGE, "plan: more than %u queues on device %u",
                              KVS_PLAN_MAX_QUEUES_PER_DEVICE, sim->queues[q].device);
    if (status == KVS_OK)
        status =
            kvs_mem_alloc(2 * (size_t)sim->n_queues, sizeof *sim->waiting, &memory, sim->err);
    if (status == KVS_OK) {
        sim->waiting = at = memory;
        for (uint32_t e = 0; e < sim->n_engines; e++) {
            sim->engines[e].waiting = at;
            at += count[sim->engines[e].device];
        }
    }
    kvs_mem_free(count);
    return status;
}

/* Bytes as if at token 0 and their growth; a kernel may have several pairs. */
static kvs_status bind_copy_bytes(const struct sim *sim, const struct kvs_segment *plan,
                                  const struct kvs_op *op, uint32_t first_token,
                                  struct sim_op *out)
{
    double step = 0.0;
    out->bytes = 0.0;
    for (uint32_t a = 0; a < op->n_access; a += 2) {
        const struct kvs_range *r = &plan->accesses.items[op->first_access + a];
        if (r->rows_step != 0 && r->width_step != 0)
            return kvs_error_set(sim->err, KVS_EUNSUPPORTED,
                                 "plan: a copy may grow by rows or by width, not by both");
        out->bytes += (double)kvs_range_bytes(r);
        step +=
            (double)r->rows_step * (double)r->width + (double)r->rows * (double)r->width_step;
    }
    if (step > INT32_MAX || step < INT32_MIN)
        return kvs_error_set(sim->err, KVS_ERANGE,
                             "plan: a copy grows by more than 2 GiB a token");
    out->bytes_step = (int32_t)step;
    out->bytes -= step * first_token;
    return KVS_OK;
}

static bool bind_is_steady(const struct kvs_segment *segment)
{
    for (size_t i = 0; i < segment->ops.n; i++) {
        const struct kvs_op *op = &segment->ops.items[i];
        for (uint32_t a = 0; op->kind == KVS_OP_COPY && a < op->n_access; a++) {
            const struct kvs_range *range = &segment->accesses.items[op->first_access + a];
            if (range->rows_step != 0 || range->width_step != 0)
                return false;
        }
    }
    return true;
}

static bool bind_is_queued_only(const struct kvs_costs *cost, const struct kvs_op *op)
{
    kvs_op_class cls = kvs_op_class_of(op);
    return cls != KVS_CLASS_HOST_WORK && cls != KVS_CLASS_HOST_WAIT &&
           !(cls == KVS_CLASS_HEAVY && cost->submits_kernels) &&
           kvs_op_more_ps(cost, op) == 0 && !(op->flags & (KVS_OP_BLOCKS | KVS_OP_PAGEABLE));
}

static kvs_status bind_op(struct sim *sim, const struct kvs_segment *plan,
                          const struct kvs_op *op, uint32_t first_token, struct sim_op *out)
{
    *out = (struct sim_op){.work_ps =
                               kvs_op_work_ps(&sim->cost, op, sim->queues[op->queue].device),
                           .call_ps = kvs_op_call_ps(&sim->cost, op),
                           .done_ps = -1,
                           .waiters = SIM_NONE,
                           .first_dep = op->first_dep,
                           .n_dep = op->n_dep,
                           .queue = op->queue,
                           .cls = (unsigned)kvs_op_class_of(op) & 0x7u,
                           .is_queued_only = bind_is_queued_only(&sim->cost, op),
                           .tag = (unsigned)op->tag & 0x1fu,
                           .flags = (unsigned)op->flags & 0x7fu,
                           .phase = op->phase};
    if (op->kind == KVS_OP_COMPUTE)
        out->n_kernels = op->compute.n_kernels;
    if (op->kind == KVS_OP_COLLECTIVE) {
        out->group = op->collective.group;
        if (op->collective.group >= sim->n_groups)
            sim->n_groups = op->collective.group + 1;
    }
    if (op->kind != KVS_OP_COPY)
        return KVS_OK;
    sim->has_kernel_copies |= out->cls == KVS_CLASS_KERNEL_COPY;
    out->ps_per_byte =
        (double)KVS_PS_PER_S / kvs_op_copy_Bps(&sim->cost, op, kvs_segment_accesses(plan, op),
                                               sim->queues[op->queue].device);
    return bind_copy_bytes(sim, plan, op, first_token, out);
}

static kvs_status bind_segment(struct sim *sim, uint32_t s, uint32_t first_token)
{
    const struct kvs_segment *plan = &sim->plan->segments.items[s];
    struct sim_segment *segment = &sim->segments[s];
    void *memory;
    KVS_TRY(kvs_mem_alloc(plan->ops.n, sizeof *segment->ops, &memory, sim->err));
    *segment = (struct sim_segment){.plan = plan,
                                    .deps = plan->deps.items,
                                    .ops = memory,
                                    .n_ops = (uint32_t)plan->ops.n,
                                    .period = plan->period,
                                    .first_token = first_token,
                                    .end_token = first_token + plan->n_tokens,
                                    .is_steady = bind_is_steady(plan)};
    for (size_t i = 0; i < plan->deps.n; i++)
        if (plan->deps.items[i].distance > segment->longest_distance)
            segment->longest_distance = plan->deps.items[i].distance;
    for (size_t i = 0; i < plan->ops.n; i++)
        KVS_TRY(bind_op(sim, plan, &plan->ops.items[i], first_token, &segment->ops[i]));
    bool runs_on = s + 1 < sim->n_segments && !plan[1].has_barrier;
    if (runs_on && plan->n_tokens % plan->period != 0)
        return kvs_error_set(
            sim->err, KVS_EUNSUPPORTED,
            "plan: segment %u runs on into the next one after %u tokens, which "
            "must be whole periods of %u",
            s, plan->n_tokens, plan->period);
    return KVS_OK;
}

static void bind_groups(struct sim *sim, const struct kvs_segment *plan)
{
    for (size_t i = plan->ops.n; i-- > 0;) {
        const struct kvs_op *op = &plan->ops.items[i];
        if (op->kind == KVS_OP_COLLECTIVE)
            sim->groups[op->collective.group] = (struct sim_group){
                .n_members = op->collective.n_members, .first = (kvs_op_id)i};
    }
}

/* Operations phase by phase, those of a phase in issue order: a counting sort. [n_ops] to caller. */
static kvs_status bind_by_phase(const struct kvs_segment *plan, uint32_t **out,
                                struct kvs_error *err)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(plan->ops.n + plan->period + 1, sizeof **out, &memory, err));
    uint32_t *sorted = memory;
    uint32_t *next = sorted + plan->ops.n; /* [period + 1] where a phase goes on */
    for (size_t i = 0; i < plan->ops.n; i++)
        next[plan->ops.items[i].phase + 1]++;
    for (uint32_t phase = 0; phase < plan->period; phase++)
        next[phase + 1] += next[phase];
    for (size_t i = 0; i < plan->ops.n; i++)
        sorted[next[plan->ops.items[i].phase]++] = (uint32_t)i;
    *out = sorted;
    return KVS_OK;
}

/* A queue meets the operations of a period phase by phase. */
static kvs_status bind_order(struct sim *sim, const struct kvs_segment *plan, uint32_t first)
{
    uint32_t *sorted;
    KVS_TRY(bind_by_phase(plan, &sorted, sim->err));
    for (size_t k = 0; k < plan->ops.n; k++) {
        uint32_t i = sorted[k];
        struct sim_queue *q = &sim->queues[plan->ops.items[i].queue];
        sim->order[(uint32_t)(q->order - sim->order) + q->n_order] = i;
        q->n_order++;
    }
    kvs_mem_free(sorted);
    for (uint32_t q = 0; q < sim->n_queues; q++) {
        struct sim_queue *queue = &sim->queues[q];
        if (queue->n_order == 0)
            continue;
        queue->op = &sim->segments[first].ops[queue->order[0]];
        queue->head_token = sim->group_token + queue->op->phase;
        queue->period_end = sim->group_token + queue->segment->period;
    }
    return KVS_OK;
}

kvs_status sim_bind_group(struct sim *sim, uint32_t first)
{
    const struct kvs_segment *plan = sim->segments[first].plan;
    uint32_t end = first + 1;
    while (end < sim->n_segments && !sim->segments[end].plan->has_barrier)
        end++;
    sim->group_first = first;
    sim->group_end = end;
    sim->group_token = sim->segments[first].first_token;
    void *memory = sim->order;
    KVS_TRY(kvs_mem_resize(&memory, plan->ops.n, sizeof *sim->order, sim->err));
    sim->order = memory;
    for (uint32_t q = 0; q < sim->n_queues; q++) {
        sim->queues[q].n_order = 0;
        sim->queues[q].n_issued = sim->queues[q].n_done = 0;
        sim->queues[q].segment = &sim->segments[first];
        sim->queues[q].head_index = 0;
    }
    for (size_t i = 0; i < plan->ops.n; i++)
        sim->queues[plan->ops.items[i].queue].n_order++;
    uint32_t at = 0;
    for (uint32_t q = 0; q < sim->n_queues; q++) {
        sim->queues[q].order = sim->order + at;
        at += sim->queues[q].n_order;
        sim->queues[q].n_order = 0;
    }
    KVS_TRY(bind_order(sim, plan, first));
    bind_groups(sim, plan);
    return KVS_OK;
}

static kvs_status bind_queues(struct sim *sim)
{
    for (uint32_t q = 0; q < sim->n_queues; q++) {
        struct sim_queue *queue = &sim->queues[q];
        queue->device = sim->plan->queues.items[q].device;
        queue->next_waiter = SIM_NONE;
        queue->issue_mask = SIM_ISSUE_RING - 1;
        if (q > 0 && queue->device >= sim->n_devices)
            return kvs_error_set(
                sim->err, KVS_EINVAL, "plan: queue %s is on device %u, the machine has %u",
                sim->plan->queues.items[q].name, queue->device, sim->n_devices);
        void *memory;
        KVS_TRY(kvs_mem_alloc(SIM_ISSUE_RING, sizeof *queue->issue_ps, &memory, sim->err));
        queue->issue_ps = memory;
        if (q == KVS_HOST_QUEUE)
            continue;
        queue->on = &sim->devices[queue->device];
        queue->totals = &sim->run->devices[queue->device];
        for (unsigned dir = 0; dir < KVS_N_DIRS; dir++)
            queue->engine[dir] = &sim->engines[queue->on->engine[dir]];
    }
    return KVS_OK;
}

static kvs_status bind_alloc(struct sim *sim)
{
    const struct {
        void **array;
        size_t n, bytes;
    } arrays[] = {
        {(void **)&sim->queues, sim->n_queues, sizeof *sim->queues},
        {(void **)&sim->devices, sim->n_devices, sizeof *sim->devices},
        {(void **)&sim->engines, 2 * (size_t)sim->n_devices, sizeof *sim->engines},
        {(void **)&sim->segments, sim->n_segments, sizeof *sim->segments},
        {(void **)&sim->dirty_queues, sim->n_queues, sizeof *sim->dirty_queues},
        {(void **)&sim->dirty_engines, 2 * (size_t)sim->n_devices, sizeof *sim->dirty_engines},
        {(void **)&sim->run->devices, sim->n_devices, sizeof *sim->run->devices},
        {(void **)&sim->run->busy_factors, sim->n_devices, sizeof *sim->run->busy_factors},
        {(void **)&sim->run->links, sim->machine->n_links, sizeof *sim->run->links},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(arrays); i++)
        KVS_TRY(kvs_mem_alloc(arrays[i].n, arrays[i].bytes, arrays[i].array, sim->err));
    return kvs_event_tree_init(&sim->events, sim->n_queues, sim->err);
}

kvs_status sim_bind(struct sim *sim)
{
    sim->n_queues = (uint32_t)sim->plan->queues.n;
    sim->n_devices = sim->machine->n_devices;
    sim->n_segments = (uint32_t)sim->plan->segments.n;
    sim->run->n_devices = (uint16_t)sim->n_devices;
    sim->run->n_links = sim->machine->n_links;
    sim->has_handoffs = sim->cost.longest_handoff_ps > 0;
    if (sim->n_segments == 0)
        return kvs_error_set(sim->err, KVS_EINVAL, "plan: no segment");
    KVS_TRY(bind_alloc(sim));
    bind_devices(sim);
    bind_engines(sim);
    KVS_TRY(bind_queues(sim));
    KVS_TRY(bind_waiting(sim));
    KVS_TRY(sim_flow_bind(sim));
    uint32_t token = 0;
    for (uint32_t s = 0; s < sim->n_segments; s++) {
        KVS_TRY(bind_segment(sim, s, token));
        token += sim->plan->segments.items[s].n_tokens;
    }
    sim->run->n_tokens = token;
    void *memory;
    KVS_TRY(kvs_mem_alloc(sim->n_groups, sizeof *sim->groups, &memory, sim->err));
    sim->groups = memory;
    return sim_bind_group(sim, 0);
}

void sim_unbind(struct sim *sim)
{
    for (uint32_t q = 0; sim->queues && q < sim->n_queues; q++)
        kvs_mem_free(sim->queues[q].issue_ps);
    for (uint32_t d = 0; sim->devices && d < sim->n_devices; d++) {
        KVS_ARRAY_FREE(&sim->devices[d].heavy_waiting);
        KVS_ARRAY_FREE(&sim->devices[d].reading);
    }
    for (uint32_t s = 0; sim->segments && s < sim->n_segments; s++)
        kvs_mem_free(sim->segments[s].ops);
    void *const arrays[] = {
        sim->queues,        sim->devices,       sim->engines,        sim->waiting,
        sim->segments,      sim->order,         sim->groups,         sim->dirty_queues,
        sim->dirty_engines, sim->flows,         sim->capacity,       sim->capacity_opposite,
        sim->opposite,      sim->n_moving,      sim->domains,        sim->moving,
        sim->local_id,      sim->local_stamp,   sim->local_capacity, sim->scratch_left,
        sim->scratch_count, sim->scratch_flows, sim->scratch_rates,  sim->scratch_index};
    for (size_t i = 0; i < KVS_COUNT_OF(arrays); i++)
        kvs_mem_free(arrays[i]);
    kvs_event_tree_fini(&sim->events);
}
