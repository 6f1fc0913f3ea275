/* Copy engines: who is served next, what a copy takes. */
#include "models/copy.h"
#include "real/host_paced.h"

void paced_mark_engine(struct paced *p, uint32_t engine)
{
    if (p->engines[engine].is_dirty)
        return;
    p->engines[engine].is_dirty = true;
    p->dirty_engines[p->n_dirty_engines++] = engine;
}

/* A small copy issued on an idle queue skips an engine that is busy; host-to-device alone. */
static bool engine_is_bypassed(const struct paced *p, const struct paced_queue *q,
                               const struct kvs_op *op, const struct paced_engine *engine)
{
    return paced_head_of(q)->was_idle && engine->running != PACED_NONE &&
           !(op->flags & KVS_OP_D2H) &&
           kvs_copy_bypasses(&p->machine->devices[q->device].engines, (uint64_t)q->n_bytes,
                             (op->flags & KVS_OP_2D) != 0, (op->flags & KVS_OP_PAGEABLE) != 0);
}

void paced_copy_enqueue(struct paced *p, uint32_t queue)
{
    struct paced_queue *q = &p->queues[queue];
    const struct paced_instance *head = paced_head_of(q);
    const struct kvs_op *op = paced_plan_op(p, head);
    const struct paced_segment *segment = &p->segments[head->segment];
    q->n_bytes = paced_copy_bytes(segment->plan, op, head->token - segment->first_token);
    if (q->n_bytes <= 0.0) {
        paced_begin(p, q, PACED_LANE_BESIDE, false);
        paced_set_deadline(p, q, p->time_ps);
        return;
    }
    if (engine_is_bypassed(p, q, op, &p->engines[paced_engine_of(p, q, op)])) {
        paced_count_bytes(p, q);
        paced_begin(p, q, PACED_LANE_BESIDE, true);
        paced_set_deadline(p, q, p->time_ps + paced_costs_of(p, q)->bypass_ps);
        return;
    }
    q->head = PACED_HEAD_WAITING;
    q->arrival = p->n_arrivals++;
    paced_mark_engine(p, paced_engine_of(p, q, op));
}

/* The queues that wait for an engine, in order of arrival; room for a device's queues. */
static uint32_t engine_waiting(const struct paced *p, uint32_t engine, uint32_t *queues)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < p->n_queues; i++) {
        const struct paced_queue *q = &p->queues[i];
        if (q->device != p->engines[engine].device || q->head != PACED_HEAD_WAITING ||
            paced_op_of(p, paced_head_of(q))->cls != KVS_CLASS_ENGINE_COPY ||
            paced_engine_of(p, q, paced_plan_op(p, paced_head_of(q))) != engine)
            continue;
        uint32_t at = n++;
        for (; at > 0 && p->queues[queues[at - 1]].arrival > q->arrival; at--)
            queues[at] = queues[at - 1];
        queues[at] = i;
    }
    return n;
}

static uint32_t engine_choose(const struct paced *p, const struct paced_engine *engine,
                              const uint32_t *waiting, uint32_t n)
{
    struct kvs_arbiter_candidate candidates[KVS_PLAN_MAX_QUEUES_PER_DEVICE];
    for (uint32_t i = 0; i < n; i++) {
        const struct paced_queue *q = &p->queues[waiting[i]];
        candidates[i] = (struct kvs_arbiter_candidate){.stream = waiting[i],
                                                       .issue_ps = paced_head_of(q)->issue_ps,
                                                       .ready_ps = q->ready_ps};
    }
    return waiting[kvs_arbiter_choose(p->machine->devices[engine->device].engines.arbitration,
                                      p->costs.devices[engine->device].lead_ps, engine->current,
                                      engine->end_ps, candidates, n)];
}

/*
 * The other first turn: an engine that is still on the stream it began with may be held for the
 * next one in that stream's chain, when it was issued before the copy that would be served.
 */
static uint32_t engine_reserve(const struct paced *p, uint32_t e, uint32_t instead)
{
    const struct paced_engine *engine = &p->engines[e];
    kvs_time rival_issue_ps = paced_head_of(&p->queues[instead])->issue_ps;
    if (p->machine->devices[engine->device].engines.first_turn != KVS_FIRST_TURN_CHAINED ||
        !engine->is_first || engine->end_ps != p->time_ps || instead == engine->current)
        return PACED_NONE;
    for (uint32_t i = 1; i < p->n_queues; i++) {
        const struct paced_queue *q = &p->queues[i];
        if (q->device != engine->device || q->head != PACED_HEAD_DELAYED)
            continue;
        const struct paced_instance *head = paced_head_of(q);
        if (paced_op_of(p, head)->cls == KVS_CLASS_ENGINE_COPY &&
            paced_engine_of(p, q, paced_plan_op(p, head)) == e &&
            head->issue_ps < rival_issue_ps)
            return i;
    }
    return PACED_NONE;
}

/* The queue to serve, PACED_NONE to leave the engine idle for now. */
static uint32_t engine_pick(struct paced *p, uint32_t e)
{
    uint32_t waiting[KVS_PLAN_MAX_QUEUES_PER_DEVICE];
    struct paced_engine *engine = &p->engines[e];
    uint32_t n = engine_waiting(p, e, waiting);
    if (n == 0)
        return PACED_NONE;
    if (engine->reserved != PACED_NONE) {
        bool has_come = p->queues[engine->reserved].head == PACED_HEAD_WAITING;
        return has_come ? engine->reserved : PACED_NONE;
    }
    uint32_t chosen = engine_choose(p, engine, waiting, n);
    engine->reserved = engine_reserve(p, e, chosen);
    return engine->reserved == PACED_NONE ? chosen : PACED_NONE;
}

static void engine_start(struct paced *p, uint32_t e, uint32_t queue)
{
    struct paced_engine *engine = &p->engines[e];
    struct paced_queue *q = &p->queues[queue];
    const struct kvs_op *op = paced_plan_op(p, paced_head_of(q));
    const struct kvs_device_costs *cost = paced_costs_of(p, q);
    const struct paced_device *device = &p->devices[q->device];
    double ps_per_byte = paced_op_of(p, paced_head_of(q))->ps_per_byte;
    bool is_behind = engine->end_ps == p->time_ps;
    kvs_time overhead_ps =
        cost->latency_ps + (is_behind ? cost->next_overhead_ps : cost->first_overhead_ps);
    if (paced_dir(op) == KVS_D2H && p->engines[device->engine[KVS_H2D]].running != PACED_NONE)
        overhead_ps += cost->opposite_overhead_ps;
    bool was_idle = !is_behind && engine->reserved == PACED_NONE;
    engine->is_first = was_idle || (engine->is_first && engine->current == queue);
    engine->reserved = PACED_NONE;
    engine->running = engine->current = queue;
    engine->start_ps = p->time_ps;
    engine->overhead_ps = overhead_ps;
    engine->flow = device->flow[paced_dir(op)];
    q->is_on_engine = true;
    paced_count_bytes(p, q);
    paced_begin(p, q, engine->dir == KVS_H2D ? PACED_LANE_H2D : PACED_LANE_D2H, true);
    if (engine->flow == PACED_NONE) {
        paced_set_deadline(p, q,
                           p->time_ps + overhead_ps + paced_ps_up(q->n_bytes * ps_per_byte));
        paced_engine_set_pace(p, e, ps_per_byte);
        return;
    }
    struct paced_flow *flow = &p->flows[engine->flow];
    flow->left_bytes = q->n_bytes;
    flow->share.limit_Bps = (double)KVS_PS_PER_S / ps_per_byte;
    q->head = PACED_HEAD_OVERHEAD;
    paced_set_event(p, q, p->time_ps + overhead_ps);
}

void paced_engine_look(struct paced *p, uint32_t engine)
{
    if (p->engines[engine].running != PACED_NONE)
        return;
    uint32_t queue = engine_pick(p, engine);
    if (queue == PACED_NONE)
        paced_engine_set_pace(p, engine, 0.0);
    else
        engine_start(p, engine, queue);
}

void paced_copy_end(struct paced *p, uint32_t queue)
{
    struct paced_queue *q = &p->queues[queue];
    kvs_dir dir = paced_dir(paced_plan_op(p, paced_head_of(q)));
    uint32_t e = p->devices[q->device].engine[dir];
    struct paced_engine *engine = &p->engines[e];
    struct kvs_device_totals *totals = &p->run->devices[q->device];
    kvs_time busy_ps = p->time_ps - engine->start_ps;
    totals->engine_ps[dir] += busy_ps;
    totals->moving_ps[dir] += busy_ps - engine->overhead_ps;
    if (engine->flow != PACED_NONE)
        paced_flow_stop(p, e);
    engine->running = PACED_NONE;
    engine->end_ps = p->time_ps;
    q->is_on_engine = false;
    paced_mark_engine(p, e);
}
