/* Queues of devices: when their heads can start, and what ending means. */
#include "real/host_paced.h"

#define QUEUE_RING 8u /* instances in flight to begin with; a power of two */

bool paced_dep(const struct paced *p, const struct paced_instance *instance,
               const struct kvs_dep *dep, struct paced_instance *on)
{
    if (instance->token < p->group_token + dep->distance)
        return false;
    *on = (struct paced_instance){
        .segment = instance->segment, .token = instance->token - dep->distance, .op = dep->op};
    while (on->token < p->segments[on->segment].first_token)
        on->segment--;
    return paced_plan_op(p, on)->queue != KVS_HOST_QUEUE; /* the host comes to it afterwards */
}

void paced_mark_queue(struct paced *p, uint32_t queue)
{
    if (p->queues[queue].is_dirty)
        return;
    p->queues[queue].is_dirty = true;
    p->dirty_queues[p->n_dirty_queues++] = queue;
}

/* Of the head; false while one is not met, and then the queue is marked again when it is. */
static bool queue_deps_are_met(struct paced *p, uint32_t queue)
{
    struct paced_queue *q = &p->queues[queue];
    const struct paced_instance *head = paced_head_of(q);
    const struct kvs_op *op = paced_plan_op(p, head);
    const struct kvs_dep *deps = p->segments[head->segment].plan->deps.items;
    for (; q->next_dep < op->n_dep; q->next_dep++) {
        struct paced_instance on;
        if (!paced_dep(p, head, &deps[op->first_dep + q->next_dep], &on))
            continue;
        struct paced_op *done = paced_op_of(p, &on);
        if (done->done_before <= on.token) {
            q->next_waiter = done->waiters;
            done->waiters = queue;
            return false;
        }
        /* done_ps is the latest instance's; of an older one the hop is over */
        bool is_latest =
            done->done_before - on.token <= p->segments[head->segment].plan->period;
        const struct paced_queue *from = &p->queues[paced_plan_op(p, &on)->queue];
        kvs_time hop_ps = p->costs.hop_ps;
        if (from->device == q->device)
            hop_ps +=
                kvs_op_handoff_ps(&p->costs, q->device, done->cls, paced_op_of(p, head)->cls);
        kvs_time seen_ps = is_latest && from != q ? done->done_ps + hop_ps : 0;
        q->ready_ps = seen_ps > q->ready_ps ? seen_ps : q->ready_ps;
    }
    return true;
}

/* A delivery was held back by a slot: count the time its engine had nothing else to do. */
static void queue_count_ring_wait(struct paced *p, const struct paced_queue *q)
{
    const struct kvs_op *op = paced_plan_op(p, paced_head_of(q));
    if (op->tag != KVS_TAG_DELIVER)
        return;
    const struct paced_engine *engine = &p->engines[paced_engine_of(p, q, op)];
    kvs_time since_ps =
        engine->end_ps > q->blocked_since_ps ? engine->end_ps : q->blocked_since_ps;
    if (engine->running == PACED_NONE && p->time_ps > since_ps)
        p->run->devices[q->device].ring_wait_ps += p->time_ps - since_ps;
}

/* The thread that will carry the head. */
static paced_lane queue_lane(const struct paced *p, const struct paced_queue *q)
{
    const struct paced_instance *head = paced_head_of(q);
    kvs_op_class cls = paced_op_of(p, head)->cls;
    if (cls == KVS_CLASS_ENGINE_COPY)
        return p->engines[paced_engine_of(p, q, paced_plan_op(p, head))].dir == KVS_H2D
                   ? PACED_LANE_H2D
                   : PACED_LANE_D2H;
    return cls == KVS_CLASS_HEAVY || cls == KVS_CLASS_MEMBER ? PACED_LANE_COMPUTE
                                                             : PACED_LANE_BESIDE;
}

static void queue_start_light(struct paced *p, struct paced_queue *q)
{
    const struct paced_op *op = paced_op_of(p, paced_head_of(q));
    paced_begin(p, q, PACED_LANE_BESIDE, op->has_steps);
    paced_set_deadline(p, q, p->time_ps + op->work_ps);
}

static void queue_start_head(struct paced *p, uint32_t queue)
{
    struct paced_queue *q = &p->queues[queue];
    switch (paced_op_of(p, paced_head_of(q))->cls) {
    case KVS_CLASS_HEAVY:
        paced_compute_start(p, queue);
        return;
    case KVS_CLASS_LIGHT:
        queue_start_light(p, q);
        return;
    case KVS_CLASS_MEMBER:
        paced_member_arrive(p, queue);
        return;
    case KVS_CLASS_ENGINE_COPY:
        paced_copy_enqueue(p, queue);
        return;
    case KVS_CLASS_KERNEL_COPY:
        paced_kernel_copy_start(p, queue);
        return;
    case KVS_CLASS_HOST_WORK:
    case KVS_CLASS_HOST_WAIT:
    case KVS_CLASS_COUNT:
        break;
    }
    KVS_ASSERT(false && "an operation of the host on a device queue");
}

static void queue_look(struct paced *p, uint32_t queue)
{
    struct paced_queue *q = &p->queues[queue];
    bool was_blocked = q->head == PACED_HEAD_BLOCKED;
    if (q->n_done == q->n_issued || (q->head != PACED_HEAD_NONE && !was_blocked))
        return;
    if (!was_blocked) {
        const struct paced_instance *head = paced_head_of(q);
        kvs_time handoff_ps =
            kvs_op_handoff_ps(&p->costs, q->device, q->last_cls, paced_op_of(p, head)->cls);
        bool is_handed_on = handoff_ps > 0 && q->n_done > 0;
        q->ready_ps = head->issue_ps;
        if (is_handed_on && q->last_done_ps + handoff_ps > q->ready_ps)
            q->ready_ps = q->last_done_ps + handoff_ps;
        q->next_dep = 0;
    }
    if (!queue_deps_are_met(p, queue)) {
        if (!was_blocked)
            q->blocked_since_ps = p->time_ps;
        q->head = PACED_HEAD_BLOCKED;
        return;
    }
    if (was_blocked)
        queue_count_ring_wait(p, q);
    if (q->ready_ps > p->time_ps) {
        q->head = PACED_HEAD_DELAYED;
        q->worker = paced_worker(p, q->device, queue_lane(p, q));
        paced_set_event(p, q, q->ready_ps);
        return;
    }
    queue_start_head(p, queue);
}

void paced_settle(struct paced *p)
{
    for (uint32_t i = 0; i < p->n_dirty_queues; i++) {
        uint32_t queue = p->dirty_queues[i];
        p->queues[queue].is_dirty = false;
        queue_look(p, queue);
    }
    p->n_dirty_queues = 0;
    for (uint32_t i = 0; i < p->n_dirty_engines; i++) {
        uint32_t engine = p->dirty_engines[i];
        p->engines[engine].is_dirty = false;
        paced_engine_look(p, engine);
    }
    p->n_dirty_engines = 0;
}

static kvs_status queue_grow(struct paced *p, struct paced_queue *q)
{
    uint32_t n = q->instances ? q->mask + 1 : 0, bigger_n = n > 0 ? 2 * n : QUEUE_RING;
    void *memory;
    KVS_TRY(kvs_mem_alloc(bigger_n, sizeof *q->instances, &memory, p->err));
    struct paced_instance *bigger = memory;
    for (uint64_t i = q->n_done; i < q->n_issued; i++)
        bigger[i & (bigger_n - 1)] = q->instances[i & q->mask];
    kvs_mem_free(q->instances);
    q->instances = bigger;
    q->mask = bigger_n - 1;
    return KVS_OK;
}

void paced_issue(struct paced *p, uint32_t queue, const struct paced_instance *instance)
{
    struct paced_queue *q = &p->queues[queue];
    if (!q->instances || q->n_issued - q->n_done > q->mask) {
        kvs_status status = queue_grow(p, q);
        if (status != KVS_OK) {
            paced_fail(p, status);
            return;
        }
    }
    struct paced_instance *last = &q->instances[q->n_issued & q->mask];
    *last = *instance;
    last->was_idle = q->n_issued == q->n_done;
    last->issue_ps = p->time_ps;
    q->n_issued++;
    if (last->was_idle)
        paced_mark_queue(p, queue);
}

bool paced_is_idle(const struct paced *p)
{
    for (uint32_t i = 1; i < p->n_queues; i++)
        if (p->queues[i].n_done != p->queues[i].n_issued)
            return false;
    return true;
}

static void queue_record(struct paced *p, uint32_t queue, kvs_time start_ps)
{
    const struct paced_queue *q = &p->queues[queue];
    const struct paced_instance *head = paced_head_of(q);
    struct kvs_span span = {.token = head->token,
                            .segment = head->segment,
                            .op = head->op,
                            .queue = (uint16_t)queue,
                            .issue_ps = head->issue_ps,
                            .ready_ps = q->ready_ps,
                            .start_ps = start_ps,
                            .end_ps = p->time_ps};
    kvs_status status = KVS_ARRAY_PUSH(&p->timeline->spans, span, p->err);
    if (status != KVS_OK)
        paced_fail(p, status);
}

static void queue_wake_waiters(struct paced *p, struct paced_op *op)
{
    uint32_t queue = op->waiters;
    op->waiters = PACED_NONE;
    for (; queue != PACED_NONE; queue = p->queues[queue].next_waiter)
        paced_mark_queue(p, queue);
}

static void queue_finish(struct paced *p, uint32_t queue, kvs_time start_ps)
{
    struct paced_queue *q = &p->queues[queue];
    struct paced_instance head = *paced_head_of(q);
    struct paced_op *op = paced_op_of(p, &head);
    const struct kvs_segment *plan = p->segments[head.segment].plan;
    p->run->n_dispatched++;
    op->done_ps = p->time_ps;
    op->done_before = head.token - plan->ops.items[head.op].phase + plan->period;
    if (q->bytes == PACED_BYTES_MOVED)
        paced_count_late(p, q->moved_ps - q->deadline_ps);
    if (p->timeline)
        queue_record(p, queue, start_ps);
    if (q->is_on_engine)
        paced_copy_end(p, queue);
    else if (op->cls == KVS_CLASS_MEMBER)
        p->run->devices[q->device].collective_ps += p->time_ps - start_ps;
    else if (op->cls == KVS_CLASS_HEAVY)
        paced_compute_end(p, queue, start_ps);
    else if (op->cls == KVS_CLASS_KERNEL_COPY)
        paced_kernel_copy_end(p, queue);
    q->last_done_ps = p->time_ps;
    q->last_cls = op->cls;
    q->n_done++;
    q->head = PACED_HEAD_NONE;
    q->bytes = PACED_BYTES_NONE;
    if (q->n_done != q->n_issued)
        paced_mark_queue(p, queue);
    queue_wake_waiters(p, op);
    paced_host_look(p);
}

/* All members end together, in the order of the plan. */
static void queue_finish_collective(struct paced *p, uint32_t leader)
{
    struct paced_instance lead = *paced_head_of(&p->queues[leader]);
    const struct kvs_op *first =
        &p->segments[lead.segment].plan->ops.items[paced_first_member(p, &lead)];
    kvs_time start_ps = p->queues[leader].start_ps;
    for (uint32_t i = 0; i < first->collective.n_members; i++)
        queue_finish(p, first[i].queue, start_ps);
}

void paced_fire(struct paced *p, uint32_t queue)
{
    struct paced_queue *q = &p->queues[queue];
    switch (q->head) {
    case PACED_HEAD_RUNNING:
        if (paced_op_of(p, paced_head_of(q))->cls == KVS_CLASS_MEMBER)
            queue_finish_collective(p, queue);
        else if (paced_copy_is_over(p, queue))
            queue_finish(p, queue, q->start_ps);
        return;
    case PACED_HEAD_TRIP:
        paced_member_next_trip(p, queue);
        return;
    case PACED_HEAD_DELAYED:
        queue_start_head(p, queue);
        return;
    case PACED_HEAD_OVERHEAD:
        q->head = PACED_HEAD_RUNNING;
        paced_flow_start(p, paced_engine_of(p, q, paced_plan_op(p, paced_head_of(q))));
        return;
    case PACED_HEAD_NONE:
    case PACED_HEAD_BLOCKED:
    case PACED_HEAD_WAITING:
        break;
    }
    KVS_ASSERT(false && "an event of a queue that has none");
}
