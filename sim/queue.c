/* Queues of devices: when their heads can start, and what ending means. */
#include "sim/sim.h"

/* From the end of an operation to the moment at which the head, which waited for it, sees that. */
static kvs_time queue_hop_ps(const struct sim *sim, const struct sim_queue *q,
                             const struct sim_op *on)
{
    kvs_time hop = sim->cost.hop_ps;
    if (KVS_UNLIKELY(sim->has_handoffs) && sim->queues[on->queue].device == q->device)
        hop += kvs_op_handoff_ps(&sim->cost, q->device, (kvs_op_class)on->cls,
                                 (kvs_op_class)q->op->cls);
    return hop;
}

/* Registers the queue with the first dependency that is not met; false when all are. */
static bool queue_is_blocked(struct sim *sim, uint32_t queue)
{
    struct sim_queue *q = &sim->queues[queue];
    const struct kvs_dep *deps = q->segment->deps;
    for (; q->next_dep < q->op->n_dep; q->next_dep++) {
        const struct kvs_dep *dep = &deps[q->op->first_dep + q->next_dep];
        struct sim_op *on = sim_dep_op(sim, q->segment, q->head_token, dep);
        if (!on || on->queue == KVS_HOST_QUEUE)
            continue; /* over when this was issued */
        uint32_t token = q->head_token - dep->distance;
        if (on->done_before > token) {
            /* done_ps is the latest instance's; of an older one the hop is over */
            bool is_latest = on->done_before - token <= q->segment->period;
            kvs_time seen =
                is_latest && on->queue != queue ? on->done_ps + queue_hop_ps(sim, q, on) : 0;
            q->ready_ps = seen > q->ready_ps ? seen : q->ready_ps;
            continue;
        }
        if (q->head != SIM_HEAD_BLOCKED)
            q->blocked_since_ps = sim->now_ps;
        q->head = SIM_HEAD_BLOCKED;
        q->next_waiter = on->waiters;
        on->waiters = queue;
        return true;
    }
    return false;
}

/* A delivery was held back by a slot: count the time its engine had nothing else to do. */
static void queue_account_ring_wait(struct sim *sim, struct sim_queue *q)
{
    if (q->op->tag != KVS_TAG_DELIVER)
        return;
    const struct sim_engine *engine = sim_engine_of(q);
    kvs_time since =
        engine->end_ps > q->blocked_since_ps ? engine->end_ps : q->blocked_since_ps;
    if (engine->running == SIM_NONE && sim->now_ps > since)
        q->totals->ring_wait_ps += sim->now_ps - since;
}

static void queue_start_head(struct sim *sim, uint32_t queue)
{
    struct sim_queue *q = &sim->queues[queue];
    switch ((kvs_op_class)q->op->cls) {
    case KVS_CLASS_HEAVY:
        sim_compute_start(sim, queue);
        return;
    case KVS_CLASS_LIGHT:
        sim_run_until(sim, queue, sim->now_ps + q->op->work_ps);
        return;
    case KVS_CLASS_MEMBER:
        sim_member_arrive(sim, queue);
        return;
    case KVS_CLASS_ENGINE_COPY:
        sim_copy_enqueue(sim, queue);
        return;
    case KVS_CLASS_KERNEL_COPY:
        sim_kernel_copy_start(sim, queue);
        return;
    case KVS_CLASS_HOST_WORK:
    case KVS_CLASS_HOST_WAIT:
    case KVS_CLASS_COUNT:
        break;
    }
    KVS_ASSERT(false && "an operation of the host on a device queue");
}

/* The operation before on the same queue has to be handed on as well, where kinds differ. */
static void queue_follow(const struct sim *sim, struct sim_queue *q)
{
    kvs_time handoff = kvs_op_handoff_ps(&sim->cost, q->device, (kvs_op_class)q->last_op->cls,
                                         (kvs_op_class)q->op->cls);
    if (handoff > 0 && q->last_op->done_ps + handoff > q->ready_ps)
        q->ready_ps = q->last_op->done_ps + handoff;
}

static void queue_look(struct sim *sim, uint32_t queue)
{
    struct sim_queue *q = &sim->queues[queue];
    if (q->n_done == q->n_issued)
        return;
    if (q->head == SIM_HEAD_NONE) {
        q->ready_ps = sim_head_issue_ps(q);
        q->next_dep = 0;
        if (KVS_UNLIKELY(sim->has_handoffs) && q->last_op)
            queue_follow(sim, q);
    } else if (q->head != SIM_HEAD_BLOCKED) {
        return;
    }
    if (q->op->n_dep > 0 || KVS_UNLIKELY(sim->has_handoffs)) {
        bool was_blocked = q->head == SIM_HEAD_BLOCKED;
        if (queue_is_blocked(sim, queue))
            return;
        if (was_blocked)
            queue_account_ring_wait(sim, q);
        if (q->ready_ps > sim->now_ps) {
            q->head = SIM_HEAD_DELAYED;
            kvs_event_tree_set(&sim->events, queue, q->ready_ps);
            return;
        }
    }
    queue_start_head(sim, queue);
}

void sim_settle(struct sim *sim)
{
    do {
        for (uint32_t i = 0; i < sim->n_dirty_queues; i++) {
            uint32_t queue = sim->dirty_queues[i];
            sim->queues[queue].is_dirty = false;
            queue_look(sim, queue);
        }
        sim->n_dirty_queues = 0;
        for (uint32_t i = 0; i < sim->n_dirty_engines; i++) {
            struct sim_engine *engine = sim->dirty_engines[i];
            engine->is_dirty = false;
            sim_engine_look(sim, engine);
        }
        sim->n_dirty_engines = 0;
    } while (sim->n_dirty_queues > 0);
}

static void queue_grow_ring(struct sim *sim, struct sim_queue *q)
{
    uint32_t n = q->issue_mask + 1;
    void *memory;
    sim->status = kvs_mem_alloc(2 * (size_t)n, sizeof *q->issue_ps, &memory, sim->err);
    if (sim->status != KVS_OK)
        return;
    kvs_time *bigger = memory;
    for (uint64_t i = q->n_done; i < q->n_issued; i++)
        bigger[i & (2 * n - 1)] = q->issue_ps[i & q->issue_mask];
    kvs_mem_free(q->issue_ps);
    q->issue_ps = bigger;
    q->issue_mask = 2 * n - 1;
}

void sim_queue_issue(struct sim *sim, uint32_t queue)
{
    struct sim_queue *q = &sim->queues[queue];
    bool was_idle = q->n_issued == q->n_done;
    if (KVS_UNLIKELY(q->n_issued - q->n_done > q->issue_mask)) {
        queue_grow_ring(sim, q);
        if (sim->status != KVS_OK)
            return;
    }
    q->issue_ps[q->n_issued++ & q->issue_mask] = sim->now_ps;
    if (!was_idle)
        return;
    q->bypasses = true;
    sim_mark_queue(sim, queue);
}

static void queue_record(struct sim *sim, uint32_t queue, kvs_time start_ps)
{
    const struct sim_queue *q = &sim->queues[queue];
    struct kvs_span span = {.token = q->head_token,
                            .segment = (uint32_t)(q->segment - sim->segments),
                            .op = q->order[q->head_index],
                            .queue = (uint16_t)queue,
                            .issue_ps = sim_head_issue_ps(q),
                            .ready_ps = q->ready_ps,
                            .start_ps = start_ps,
                            .end_ps = sim->now_ps};
    if (sim->status == KVS_OK)
        sim->status = KVS_ARRAY_PUSH(&sim->timeline->spans, span, sim->err);
}

static void queue_wake_waiters(struct sim *sim, struct sim_op *op)
{
    uint32_t queue = op->waiters;
    op->waiters = SIM_NONE;
    while (queue != SIM_NONE) {
        uint32_t next = sim->queues[queue].next_waiter;
        sim_mark_queue(sim, queue);
        queue = next;
    }
}

/* The head moves on: to the next operation of the period, perhaps of the next token or segment.
 */
static void queue_pop(struct sim *sim, struct sim_queue *q)
{
    struct sim_segment *s = q->segment;
    q->n_done++;
    q->head = SIM_HEAD_NONE;
    q->bypasses = false;
    if (++q->head_index < q->n_order) {
        q->op = &s->ops[q->order[q->head_index]];
        q->head_token = q->period_end - s->period + q->op->phase;
        return;
    }
    q->head_index = 0;
    q->head_token = q->period_end + s->ops[q->order[0]].phase;
    while (q->head_token >= s->end_token && s + 1 < sim->segments + sim->group_end)
        s = ++q->segment;
    q->period_end += s->period;
    q->op = &s->ops[q->order[0]];
}

static void queue_finish(struct sim *sim, uint32_t queue, kvs_time start_ps)
{
    struct sim_queue *q = &sim->queues[queue];
    struct sim_op *op = q->op;
    sim->n_dispatched++;
    op->done_ps = sim->now_ps;
    op->done_before = q->period_end;
    if (sim->timeline)
        queue_record(sim, queue, start_ps);
    if (q->is_on_engine)
        sim_copy_end(sim, queue);
    else if (op->cls == KVS_CLASS_MEMBER)
        q->totals->collective_ps += sim->now_ps - start_ps;
    else if (op->cls == KVS_CLASS_HEAVY)
        sim_compute_end(sim, queue, start_ps);
    else if (op->cls == KVS_CLASS_KERNEL_COPY)
        sim_kernel_copy_end(sim, queue);
    if (KVS_UNLIKELY(sim->has_handoffs))
        q->last_op = op;
    queue_pop(sim, q);
    if (q->n_done != q->n_issued)
        sim_mark_queue(sim, queue);
    if (op->waiters != SIM_NONE)
        queue_wake_waiters(sim, op);
    if (sim->host.state == SIM_HOST_BLOCKED &&
        (sim->host.blocked_on == op || !sim->host.blocked_on))
        sim_host_wake(sim);
}

/* All members end together, in the order of the plan. */
static void queue_finish_collective(struct sim *sim, uint32_t leader)
{
    const struct sim_queue *lead = &sim->queues[leader];
    const struct sim_group *group = &sim->groups[lead->op->group];
    const struct sim_op *first = &lead->segment->ops[group->first];
    kvs_time start = lead->start_ps;
    for (uint32_t i = 0; i < group->n_members; i++)
        queue_finish(sim, first[i].queue, start);
}

/* The head's event: false when it only now learns of what delays its end. */
static bool queue_is_over(struct sim *sim, uint32_t queue)
{
    kvs_op_class cls = (kvs_op_class)sim->queues[queue].op->cls;
    if (cls == KVS_CLASS_HEAVY)
        return sim_compute_is_over(sim, queue);
    return !KVS_UNLIKELY(sim->has_kernel_copies) || cls != KVS_CLASS_ENGINE_COPY ||
           sim_copy_is_over(sim, queue);
}

void sim_queue_event(struct sim *sim, uint32_t queue)
{
    struct sim_queue *q = &sim->queues[queue];
    switch ((sim_head)q->head) {
    case SIM_HEAD_RUNNING:
        if (q->op->cls == KVS_CLASS_MEMBER)
            queue_finish_collective(sim, queue);
        else if (queue_is_over(sim, queue))
            queue_finish(sim, queue, q->start_ps);
        return;
    case SIM_HEAD_TRIP:
        sim_member_next_trip(sim, queue);
        return;
    case SIM_HEAD_DELAYED:
        queue_start_head(sim, queue);
        return;
    case SIM_HEAD_OVERHEAD:
        q->head = SIM_HEAD_RUNNING;
        sim_flow_start(sim, sim_engine_of(q));
        return;
    case SIM_HEAD_NONE:
    case SIM_HEAD_BLOCKED:
    case SIM_HEAD_WAITING:
        break;
    }
    KVS_ASSERT(false && "an event of a queue that has none");
}
