/* Copy engines: who is served next, what a copy takes. */
#include "models/copy.h"
#include "sim/sim.h"

/* A small copy issued on an idle queue skips an engine that is busy; host-to-device alone. */
static bool engine_is_bypassed(const struct sim *sim, const struct sim_queue *q,
                               const struct sim_engine *engine)
{
    return q->bypasses && engine->running != SIM_NONE && !(q->op->flags & KVS_OP_D2H) &&
           kvs_copy_bypasses(&sim->machine->devices[q->device].engines, (uint64_t)q->bytes,
                             (q->op->flags & KVS_OP_2D) != 0,
                             (q->op->flags & KVS_OP_PAGEABLE) != 0);
}

void sim_copy_enqueue(struct sim *sim, uint32_t queue)
{
    struct sim_queue *q = &sim->queues[queue];
    struct sim_engine *engine = sim_engine_of(q);
    q->bytes = sim_head_bytes(q);
    if (q->bytes <= 0.0) {
        sim_run_until(sim, queue, sim->now_ps);
        return;
    }
    if (engine_is_bypassed(sim, q, engine)) {
        sim_total_bytes(q);
        sim_run_until(sim, queue, sim->now_ps + q->on->cost.bypass_ps);
        return;
    }
    q->head = SIM_HEAD_WAITING;
    engine->waiting[engine->n_waiting++] = queue;
    if (engine->running == SIM_NONE)
        sim_mark_engine(sim, engine);
}

static uint32_t engine_choose(const struct sim *sim, const struct sim_engine *engine)
{
    struct kvs_arbiter_candidate candidates[KVS_PLAN_MAX_QUEUES_PER_DEVICE];
    for (uint32_t i = 0; i < engine->n_waiting; i++) {
        const struct sim_queue *q = &sim->queues[engine->waiting[i]];
        candidates[i] = (struct kvs_arbiter_candidate){.stream = engine->waiting[i],
                                                       .issue_ps = sim_head_issue_ps(q),
                                                       .ready_ps = q->ready_ps};
    }
    return kvs_arbiter_choose(sim->machine->devices[engine->device].engines.arbitration,
                              engine->on->cost.lead_ps, engine->current, engine->end_ps,
                              candidates, engine->n_waiting);
}

/*
 * The other first turn: an engine that is still on the stream it began with may be held for the
 * next one in that stream's chain, when it was issued before the copy that would be served.
 */
static uint32_t engine_reserve(const struct sim *sim, const struct sim_engine *engine,
                               uint32_t instead)
{
    const struct sim_queue *rival = &sim->queues[instead];
    if (!engine->is_first || engine->end_ps != sim->now_ps || instead == engine->current)
        return SIM_NONE;
    for (uint32_t i = 1; i < sim->n_queues; i++) {
        const struct sim_queue *q = &sim->queues[i];
        if (q->device == engine->device && q->head == SIM_HEAD_DELAYED &&
            q->op->cls == KVS_CLASS_ENGINE_COPY && sim_engine_of(q) == engine &&
            sim_head_issue_ps(q) < sim_head_issue_ps(rival))
            return i;
    }
    return SIM_NONE;
}

/* Index in the waiting list of the queue to serve, SIM_NONE to leave the engine idle for now.
 */
static uint32_t engine_pick(struct sim *sim, struct sim_engine *engine)
{
    if (engine->reserved != SIM_NONE) {
        for (uint32_t i = 0; i < engine->n_waiting; i++)
            if (engine->waiting[i] == engine->reserved)
                return i;
        return SIM_NONE;
    }
    uint32_t chosen = engine->n_waiting > 1 ? engine_choose(sim, engine) : 0;
    if (KVS_UNLIKELY(engine->may_hold)) {
        engine->reserved = engine_reserve(sim, engine, engine->waiting[chosen]);
        if (engine->reserved != SIM_NONE)
            return SIM_NONE;
    }
    return chosen;
}

static void engine_start(struct sim *sim, struct sim_engine *engine, uint32_t queue)
{
    struct sim_queue *q = &sim->queues[queue];
    const struct sim_device *device = engine->on;
    kvs_dir dir = sim_op_dir(q->op);
    bool is_behind = engine->end_ps == sim->now_ps;
    kvs_time overhead = device->cost.latency_ps + (is_behind ? device->cost.next_overhead_ps
                                                             : device->cost.first_overhead_ps);
    if (dir == KVS_D2H && sim->engines[device->engine[KVS_H2D]].running != SIM_NONE)
        overhead += device->cost.opposite_overhead_ps;
    bool was_idle = !is_behind && engine->reserved == SIM_NONE;
    engine->is_first = was_idle || (engine->is_first && engine->current == queue);
    engine->reserved = SIM_NONE;
    engine->running = engine->current = queue;
    engine->start_ps = q->start_ps = sim->now_ps;
    engine->overhead_ps = overhead;
    q->is_on_engine = true;
    sim_total_bytes(q);
    engine->flow = device->flow[dir];
    if (engine->flow != SIM_NONE) {
        sim->flows[engine->flow].left_bytes = q->bytes;
        sim->flows[engine->flow].share.limit_Bps = (double)KVS_PS_PER_S / q->op->ps_per_byte;
        q->head = SIM_HEAD_OVERHEAD;
        kvs_event_tree_set(&sim->events, queue, sim->now_ps + overhead);
        return;
    }
    q->head = SIM_HEAD_RUNNING;
    kvs_event_tree_set(&sim->events, queue,
                       sim->now_ps + overhead + sim_ps_up(q->bytes * q->op->ps_per_byte));
    sim_engine_set_pace(sim, engine, q->op->ps_per_byte);
}

void sim_engine_look(struct sim *sim, struct sim_engine *engine)
{
    if (engine->running != SIM_NONE)
        return;
    uint32_t chosen = engine->n_waiting > 0 ? engine_pick(sim, engine) : SIM_NONE;
    if (chosen == SIM_NONE) {
        sim_engine_set_pace(sim, engine, 0.0);
        return;
    }
    uint32_t queue = engine->waiting[chosen];
    engine->n_waiting--;
    for (uint32_t i = chosen; i < engine->n_waiting; i++)
        engine->waiting[i] = engine->waiting[i + 1];
    engine_start(sim, engine, queue);
}

void sim_copy_end(struct sim *sim, uint32_t queue)
{
    struct sim_queue *q = &sim->queues[queue];
    struct sim_engine *engine = sim_engine_of(q);
    struct kvs_device_totals *totals = engine->totals;
    kvs_dir dir = sim_op_dir(q->op);
    kvs_time busy = sim->now_ps - engine->start_ps;
    totals->engine_ps[dir] += busy;
    totals->moving_ps[dir] += busy - engine->overhead_ps;
    if (engine->flow != SIM_NONE)
        sim_flow_stop(sim, engine);
    engine->running = SIM_NONE;
    engine->end_ps = sim->now_ps;
    q->is_on_engine = false;
    sim_mark_engine(sim, engine);
}
