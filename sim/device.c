/* Queues of devices: when their heads can start, and what starting and ending mean. */
#include <math.h>

#include "models/copy.h"
#include "sim/sim.h"

static void device_mark_queue(struct sim *sim, uint32_t queue)
{
    if (sim->is_queue_dirty[queue])
        return;
    sim->is_queue_dirty[queue] = true;
    sim->dirty_queues[sim->n_dirty_queues++] = queue;
}

static void device_mark_engine(struct sim *sim, uint32_t engine)
{
    if (sim->is_engine_dirty[engine])
        return;
    sim->is_engine_dirty[engine] = true;
    sim->dirty_engines[sim->n_dirty_engines++] = engine;
}

static bool device_is_engine_copy(const struct kvs_op *op)
{
    return op->kind == KVS_OP_COPY && !(op->flags & KVS_OP_VIA_KERNEL);
}

static kvs_dir device_dir(const struct kvs_op *op)
{
    return op->flags & KVS_OP_D2H ? KVS_D2H : KVS_H2D;
}

static struct sim_engine *device_engine(const struct sim *sim, const struct sim_queue *q,
                                        kvs_dir dir)
{
    return &sim->engines[sim->devices[q->device].engine[dir]];
}

/* Bytes of the head's copy at its token; by a kernel it may have several pairs. */
static uint64_t device_copy_bytes(const struct sim *sim, const struct sim_queue *q,
                                  const struct kvs_op *op)
{
    const struct kvs_range *accesses = sim->segments[q->segment].plan->accesses.items;
    uint64_t bytes = 0;
    for (uint32_t a = 0; a < op->n_access; a += 2) {
        struct kvs_range range = kvs_range_at(&accesses[op->first_access + a], q->head_token);
        bytes += kvs_range_bytes(&range);
    }
    return bytes;
}

/* Width that the row curve is asked for: the narrower of both sides' rows; 0 for a 1D copy. */
static uint64_t device_copy_width(const struct sim *sim, const struct sim_queue *q,
                                  const struct kvs_op *op)
{
    if (!(op->flags & KVS_OP_2D))
        return 0;
    const struct kvs_range *range =
        &sim->segments[q->segment].plan->accesses.items[op->first_access];
    return kvs_range_at(range, q->head_token).width;
}

/* ---- speed of compute ------------------------------------------------------------------- */

/* Compute runs slower by the device's fraction times the share of the path in use. */
static double device_speed(const struct sim *sim, const struct sim_device *device)
{
    const struct sim_engine *engine = &sim->engines[device->engine[KVS_H2D]];
    if (engine->running == SIM_NONE || engine->rate_Bps <= 0.0)
        return 1.0;
    return 1.0 / (1.0 + device->copy_slowdown * engine->rate_Bps / device->path_Bps[KVS_H2D]);
}

static void device_schedule_compute(struct sim *sim, uint32_t queue)
{
    struct sim_queue *q = &sim->queues[queue];
    kvs_time end = sim->now_ps + (kvs_time)ceil(q->left_ps / q->speed);
    kvs_event_tree_set(&sim->events, queue, end > q->floor_ps ? end : q->floor_ps);
}

static void device_update_speed(struct sim *sim, struct sim_device *device)
{
    if (device->heavy == SIM_NONE || device->copy_slowdown == 0.0)
        return;
    struct sim_queue *q = &sim->queues[device->heavy];
    double speed = device_speed(sim, device);
    if (speed == q->speed)
        return;
    q->left_ps -= (double)(sim->now_ps - q->updated_ps) * q->speed;
    if (q->left_ps < 0.0)
        q->left_ps = 0.0;
    q->updated_ps = sim->now_ps;
    q->speed = speed;
    device_schedule_compute(sim, device->heavy);
}

void sim_engine_set_rate(struct sim *sim, struct sim_engine *engine, double rate_Bps)
{
    engine->rate_Bps = rate_Bps;
    if (engine->dir == KVS_H2D)
        device_update_speed(sim, &sim->devices[engine->device]);
}

/* ---- starting --------------------------------------------------------------------------- */

static void device_run_until(struct sim *sim, uint32_t queue, kvs_time end_ps)
{
    struct sim_queue *q = &sim->queues[queue];
    q->head = SIM_HEAD_RUNNING;
    q->start_ps = sim->now_ps;
    kvs_event_tree_set(&sim->events, queue, end_ps);
}

static void device_start_compute(struct sim *sim, uint32_t queue, const struct kvs_op *op)
{
    struct sim_queue *q = &sim->queues[queue];
    struct sim_device *device = &sim->devices[q->device];
    if (op->flags & KVS_OP_LIGHT) {
        device_run_until(sim, queue, sim->now_ps + sim_head_state(sim, q)->work_ps);
        return;
    }
    if (device->heavy != SIM_NONE) {
        q->head = SIM_HEAD_WAITING;
        kvs_status status = KVS_ARRAY_PUSH(&device->heavy_waiting, queue, sim->err);
        sim->status = sim->status == KVS_OK ? status : sim->status;
        return;
    }
    kvs_time work = sim_head_state(sim, q)->work_ps;
    device->heavy = queue;
    q->head = SIM_HEAD_RUNNING;
    q->start_ps = q->updated_ps = sim->now_ps;
    q->left_ps = (double)work;
    q->speed = device_speed(sim, device);
    q->floor_ps = 0;
    if (sim->machine->host.submit == KVS_SUBMIT_KERNELS && op->compute.n_kernels > 1 &&
        !(op->flags & KVS_OP_SUBGRAPH))
        q->floor_ps = sim_head_issue_ps(q) +
                      (kvs_time)(op->compute.n_kernels - 1) * sim->launch_ps +
                      work / (kvs_time)op->compute.n_kernels;
    device_schedule_compute(sim, queue);
}

/* A kernel that moves bytes over the link: reads wait behind the engine's bytes in flight. */
static void device_start_kernel_copy(struct sim *sim, uint32_t queue, const struct kvs_op *op)
{
    struct sim_queue *q = &sim->queues[queue];
    const struct sim_device *device = &sim->devices[q->device];
    const struct sim_engine *engine = device_engine(sim, q, KVS_H2D);
    double busy = engine->running == SIM_NONE ? 0.0 : engine->rate_Bps;
    double seconds = kvs_kernel_read_s(&sim->machine->devices[q->device],
                                       device_copy_bytes(sim, q, op),
                                       device->path_Bps[device_dir(op)], busy);
    device_run_until(sim, queue, sim->now_ps + kvs_ps_from_seconds(seconds));
}

/* The first member of a collective; the others follow it in the plan. */
static const struct kvs_op *device_group_first(const struct sim *sim, uint32_t segment,
                                               const struct kvs_op *op)
{
    const struct kvs_op *begin = sim->segments[segment].plan->ops.items;
    while (op > begin && op[-1].kind == KVS_OP_COLLECTIVE &&
           op[-1].collective.group == op->collective.group)
        op--;
    return op;
}

/* The wait of one dependent host read behind the bytes in flight, on the slowest member. */
static kvs_time device_trip_delay_ps(const struct sim *sim, const struct kvs_op *first)
{
    double longest = 0.0;
    for (uint32_t i = 0; i < first->collective.n_members; i++) {
        uint32_t d = sim->queues[first[i].queue].device;
        const struct sim_engine *engine = &sim->engines[sim->devices[d].engine[KVS_H2D]];
        if (engine->running == SIM_NONE || engine->rate_Bps <= 0.0)
            continue;
        double delay = sim->machine->devices[d].engines.in_flight_bytes.value / engine->rate_Bps;
        longest = delay > longest ? delay : longest;
    }
    return kvs_ps_from_seconds(longest);
}

/* Trips share the idle latency evenly; the first one also takes what division leaves over. */
static void device_next_trip(struct sim *sim, uint32_t queue, const struct kvs_op *op)
{
    struct sim_queue *q = &sim->queues[queue];
    kvs_time work = sim_head_state(sim, q)->work_ps;
    kvs_time piece = work / sim->n_trips + (q->trips_left == sim->n_trips ? work % sim->n_trips : 0);
    kvs_time delay = device_trip_delay_ps(sim, device_group_first(sim, q->segment, op));
    q->trips_left--;
    q->head = q->trips_left > 0 ? SIM_HEAD_TRIP : SIM_HEAD_RUNNING;
    kvs_event_tree_set(&sim->events, queue, sim->now_ps + delay + piece);
}

/* The last member to arrive leads: it carries the event, the others end with it. */
static void device_start_collective(struct sim *sim, uint32_t queue, const struct kvs_op *op)
{
    struct sim_queue *q = &sim->queues[queue];
    struct sim_group *group = &sim->groups[op->collective.group];
    q->head = SIM_HEAD_WAITING;
    if (++group->n_arrived < op->collective.n_members)
        return;
    group->n_arrived = 0;
    q->start_ps = sim->now_ps;
    if (sim->n_trips == 0) {
        device_run_until(sim, queue, sim->now_ps + sim_head_state(sim, q)->work_ps);
        return;
    }
    q->trips_left = sim->n_trips;
    device_next_trip(sim, queue, op);
}

static void device_enqueue_copy(struct sim *sim, uint32_t queue, const struct kvs_op *op)
{
    struct sim_queue *q = &sim->queues[queue];
    uint64_t bytes = device_copy_bytes(sim, q, op);
    struct sim_engine *engine = device_engine(sim, q, device_dir(op));
    if (bytes == 0) {
        device_run_until(sim, queue, sim->now_ps);
        return;
    }
    if (q->bypasses && engine->running != SIM_NONE &&
        kvs_copy_bypasses(&sim->machine->devices[q->device].engines, bytes,
                          (op->flags & KVS_OP_2D) != 0, (op->flags & KVS_OP_PAGEABLE) != 0)) {
        device_run_until(sim, queue, sim->now_ps + sim->devices[q->device].bypass_ps);
        return;
    }
    q->head = SIM_HEAD_WAITING;
    engine->waiting[engine->n_waiting++] = queue;
    device_mark_engine(sim, (uint32_t)(engine - sim->engines));
}

static void device_start_head(struct sim *sim, uint32_t queue)
{
    const struct kvs_op *op = sim_head_op(sim, &sim->queues[queue]);
    if (op->kind == KVS_OP_COMPUTE)
        device_start_compute(sim, queue, op);
    else if (op->kind == KVS_OP_COLLECTIVE)
        device_start_collective(sim, queue, op);
    else if (device_is_engine_copy(op))
        device_enqueue_copy(sim, queue, op);
    else
        device_start_kernel_copy(sim, queue, op);
}

/* ---- becoming ready --------------------------------------------------------------------- */

/* Registers the queue with the first dependency that is not met; false when all are. */
static bool device_head_is_blocked(struct sim *sim, uint32_t queue, const struct kvs_op *op)
{
    struct sim_queue *q = &sim->queues[queue];
    struct sim_segment *s = &sim->segments[q->segment];
    const struct kvs_dep *deps = s->plan->deps.items + op->first_dep;
    for (; q->next_dep < op->n_dep; q->next_dep++) {
        const struct kvs_dep *dep = &deps[q->next_dep];
        struct sim_op *on = &s->ops[dep->op];
        if (sim_dep_is_met(sim, q->segment, q->head_token, dep)) {
            kvs_time seen = on->done_ps < 0 ? 0 : on->done_ps + sim->hop_ps;
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
static void device_account_ring_wait(struct sim *sim, struct sim_queue *q, const struct kvs_op *op)
{
    if (op->tag != KVS_TAG_DELIVER)
        return;
    const struct sim_engine *engine = device_engine(sim, q, KVS_H2D);
    kvs_time since = engine->end_ps > q->blocked_since_ps ? engine->end_ps : q->blocked_since_ps;
    if (engine->running == SIM_NONE && sim->now_ps > since)
        sim->run->devices[q->device].ring_wait_ps += sim->now_ps - since;
}

static void device_look_at_queue(struct sim *sim, uint32_t queue)
{
    struct sim_queue *q = &sim->queues[queue];
    if (q->head != SIM_HEAD_NONE && q->head != SIM_HEAD_BLOCKED)
        return;
    if (q->n_done == q->n_issued)
        return;
    const struct kvs_op *op = sim_head_op(sim, q);
    if (q->head == SIM_HEAD_NONE) {
        q->ready_ps = sim_head_issue_ps(q);
        q->next_dep = 0;
    }
    bool was_blocked = q->head == SIM_HEAD_BLOCKED;
    if (op->n_dep > 0 && device_head_is_blocked(sim, queue, op))
        return;
    if (was_blocked)
        device_account_ring_wait(sim, q, op);
    if (q->ready_ps > sim->now_ps) {
        q->head = SIM_HEAD_DELAYED;
        kvs_event_tree_set(&sim->events, queue, q->ready_ps);
        return;
    }
    device_start_head(sim, queue);
}

static void device_grow_ring(struct sim *sim, struct sim_queue *q)
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
    if (q->n_issued - q->n_done > q->issue_mask)
        device_grow_ring(sim, q);
    if (sim->status != KVS_OK)
        return;
    q->issue_ps[q->n_issued++ & q->issue_mask] = sim->now_ps;
    if (!was_idle)
        return;
    q->bypasses = true;
    device_mark_queue(sim, queue);
}

/* ---- copy engines ----------------------------------------------------------------------- */

static uint32_t device_choose(const struct sim *sim, const struct sim_engine *engine)
{
    if (engine->n_waiting == 1)
        return 0;
    struct kvs_arbiter_candidate candidates[SIM_MAX_CANDIDATES];
    uint32_t n = engine->n_waiting < SIM_MAX_CANDIDATES ? engine->n_waiting : SIM_MAX_CANDIDATES;
    for (uint32_t i = 0; i < n; i++) {
        const struct sim_queue *q = &sim->queues[engine->waiting[i]];
        candidates[i] = (struct kvs_arbiter_candidate){.stream = engine->waiting[i],
                                                       .issue_ps = sim_head_issue_ps(q),
                                                       .ready_ps = q->ready_ps};
    }
    return kvs_arbiter_choose(sim->machine->devices[engine->device].engines.arbitration,
                              sim->devices[engine->device].lead_ps, engine->current,
                              engine->end_ps, candidates, n);
}

static void device_start_copy(struct sim *sim, struct sim_engine *engine, uint32_t queue)
{
    struct sim_queue *q = &sim->queues[queue];
    struct sim_device *device = &sim->devices[engine->device];
    const struct kvs_op *op = sim_head_op(sim, q);
    const struct kvs_device *card = &sim->machine->devices[engine->device];
    kvs_dir dir = device_dir(op);
    uint64_t bytes = device_copy_bytes(sim, q, op);
    double limit = device->path_Bps[dir];
    if (op->flags & KVS_OP_PAGEABLE)
        limit = kvs_pageable_rate_Bps(&sim->machine->host, limit);
    limit *= kvs_row_efficiency(&card->engines.row_curve, device_copy_width(sim, q, op));
    kvs_time overhead = device->latency_ps + (engine->end_ps == sim->now_ps
                                                  ? device->next_overhead_ps
                                                  : device->first_overhead_ps);
    if (dir == KVS_D2H && sim->engines[device->engine[KVS_H2D]].running != SIM_NONE)
        overhead += device->opposite_overhead_ps;
    bool was_idle = engine->end_ps != sim->now_ps && engine->reserved == SIM_NONE;
    engine->is_first = was_idle || (engine->is_first && engine->current == queue);
    engine->reserved = SIM_NONE;
    engine->running = engine->current = queue;
    engine->start_ps = q->start_ps = sim->now_ps;
    engine->overhead_ps = overhead;
    q->is_on_engine = true;
    sim->run->devices[engine->device].moved_bytes[dir] += bytes;
    sim->run->devices[engine->device].tag_bytes[op->tag] += bytes;
    if (device->flow[dir] != SIM_NONE) {
        engine->flow = device->flow[dir];
        sim->flows[engine->flow].left_bytes = (double)bytes;
        sim->flows[engine->flow].share.limit_Bps = limit;
        q->head = SIM_HEAD_OVERHEAD;
        kvs_event_tree_set(&sim->events, queue, sim->now_ps + overhead);
        return;
    }
    q->head = SIM_HEAD_RUNNING;
    kvs_event_tree_set(&sim->events, queue,
                       sim->now_ps + overhead + kvs_ps_from_bytes((double)bytes, limit));
    sim_engine_set_rate(sim, engine, limit);
}

/*
 * The other first turn: an engine that is still on the stream it began with may be held for the next
 * one in that stream's chain, when it was issued before the copy that would be served.
 */
static uint32_t device_reserve(const struct sim *sim, const struct sim_engine *engine,
                               uint32_t instead)
{
    const struct sim_queue *rival = &sim->queues[instead];
    if (sim->machine->devices[engine->device].engines.first_turn != KVS_FIRST_TURN_CHAINED ||
        !engine->is_first || engine->end_ps != sim->now_ps || instead == engine->current)
        return SIM_NONE;
    for (uint32_t i = 1; i < sim->n_queues; i++) {
        const struct sim_queue *q = &sim->queues[i];
        if (q->device != engine->device || q->head != SIM_HEAD_DELAYED)
            continue;
        const struct kvs_op *op = sim_head_op(sim, q);
        if (device_is_engine_copy(op) && device_engine(sim, q, device_dir(op)) == engine &&
            sim_head_issue_ps(q) < sim_head_issue_ps(rival))
            return i;
    }
    return SIM_NONE;
}

/* Index in the waiting list of the queue to serve, SIM_NONE to leave the engine idle for now. */
static uint32_t device_pick(struct sim *sim, struct sim_engine *engine)
{
    if (engine->reserved != SIM_NONE) {
        for (uint32_t i = 0; i < engine->n_waiting; i++)
            if (engine->waiting[i] == engine->reserved)
                return i;
        return SIM_NONE;
    }
    uint32_t chosen = engine->n_waiting > 0 ? device_choose(sim, engine) : SIM_NONE;
    if (chosen != SIM_NONE) {
        engine->reserved = device_reserve(sim, engine, engine->waiting[chosen]);
        if (engine->reserved != SIM_NONE)
            return SIM_NONE;
    }
    return chosen;
}

static void device_look_at_engine(struct sim *sim, uint32_t index)
{
    struct sim_engine *engine = &sim->engines[index];
    if (engine->running != SIM_NONE)
        return;
    uint32_t chosen = device_pick(sim, engine);
    if (chosen == SIM_NONE) {
        sim_engine_set_rate(sim, engine, 0.0);
        return;
    }
    uint32_t queue = engine->waiting[chosen];
    engine->n_waiting--;
    for (uint32_t i = chosen; i < engine->n_waiting; i++)
        engine->waiting[i] = engine->waiting[i + 1];
    device_start_copy(sim, engine, queue);
}

void sim_settle(struct sim *sim)
{
    while (sim->n_dirty_queues > 0 || sim->n_dirty_engines > 0) {
        for (uint32_t i = 0; i < sim->n_dirty_queues; i++) {
            uint32_t queue = sim->dirty_queues[i];
            sim->is_queue_dirty[queue] = false;
            device_look_at_queue(sim, queue);
        }
        sim->n_dirty_queues = 0;
        for (uint32_t i = 0; i < sim->n_dirty_engines; i++) {
            uint32_t engine = sim->dirty_engines[i];
            sim->is_engine_dirty[engine] = false;
            device_look_at_engine(sim, engine);
        }
        sim->n_dirty_engines = 0;
    }
}

/* ---- ending ----------------------------------------------------------------------------- */

static void device_record(struct sim *sim, uint32_t queue, kvs_time start_ps)
{
    const struct sim_queue *q = &sim->queues[queue];
    struct kvs_span span = {.token = sim->segments[q->segment].first_token + q->head_token,
                            .segment = q->segment,
                            .op = q->order[q->head_index],
                            .queue = (uint16_t)queue,
                            .issue_ps = sim_head_issue_ps(q),
                            .ready_ps = q->ready_ps,
                            .start_ps = start_ps,
                            .end_ps = sim->now_ps};
    if (sim->status == KVS_OK)
        sim->status = KVS_ARRAY_PUSH(&sim->timeline->spans, span, sim->err);
}

static void device_wake_waiters(struct sim *sim, struct sim_op *state)
{
    uint32_t queue = state->waiters;
    state->waiters = SIM_NONE;
    while (queue != SIM_NONE) {
        uint32_t next = sim->queues[queue].next_waiter;
        sim->queues[queue].next_waiter = SIM_NONE;
        device_mark_queue(sim, queue);
        queue = next;
    }
}

/* The head moves on: to the next operation of the period, perhaps of the next token or segment. */
static void device_pop_head(struct sim *sim, struct sim_queue *q)
{
    uint32_t phase = sim_head_op(sim, q)->phase;
    q->n_done++;
    q->head = SIM_HEAD_NONE;
    q->bypasses = false;
    if (++q->head_index < q->n_order) {
        q->head_token += sim_head_op(sim, q)->phase - phase;
        return;
    }
    q->head_index = 0;
    const struct kvs_segment *s = sim->segments[q->segment].plan;
    q->head_token += s->period - phase + s->ops.items[q->order[0]].phase;
    while (q->head_token >= sim->segments[q->segment].plan->n_tokens &&
           q->segment + 1 < sim->group_end) {
        q->head_token -= sim->segments[q->segment].plan->n_tokens;
        q->segment++;
    }
}

static void device_end_engine_copy(struct sim *sim, struct sim_queue *q, const struct kvs_op *op)
{
    kvs_dir dir = device_dir(op);
    struct sim_engine *engine = device_engine(sim, q, dir);
    struct kvs_device_totals *totals = &sim->run->devices[q->device];
    totals->engine_ps[dir] += sim->now_ps - engine->start_ps;
    totals->moving_ps[dir] += sim->now_ps - engine->start_ps - engine->overhead_ps;
    if (engine->flow != SIM_NONE)
        sim_flow_stop(sim, engine);
    engine->running = SIM_NONE;
    engine->end_ps = sim->now_ps;
    q->is_on_engine = false;
    device_mark_engine(sim, (uint32_t)(engine - sim->engines));
}

static void device_end_compute(struct sim *sim, uint32_t queue, kvs_time start_ps)
{
    struct sim_device *device = &sim->devices[sim->queues[queue].device];
    if (device->heavy != queue)
        return; /* a light one */
    sim->run->devices[sim->queues[queue].device].compute_ps += sim->now_ps - start_ps;
    device->heavy = SIM_NONE;
    if (device->heavy_waiting.n == 0)
        return;
    uint32_t next = device->heavy_waiting.items[0];
    device->heavy_waiting.n--;
    for (size_t i = 0; i < device->heavy_waiting.n; i++)
        device->heavy_waiting.items[i] = device->heavy_waiting.items[i + 1];
    sim->queues[next].head = SIM_HEAD_BLOCKED; /* to be looked at again; dependencies are met */
    device_mark_queue(sim, next);
}

static void device_finish(struct sim *sim, uint32_t queue, kvs_time start_ps)
{
    struct sim_queue *q = &sim->queues[queue];
    kvs_event_tree_set(&sim->events, queue, KVS_NEVER);
    const struct kvs_op *op = sim_head_op(sim, q);
    struct sim_op *state = sim_head_state(sim, q);
    sim->run->n_dispatched++;
    state->done_ps = sim->now_ps;
    if (sim->timeline)
        device_record(sim, queue, start_ps);
    if (q->is_on_engine)
        device_end_engine_copy(sim, q, op);
    else if (op->kind == KVS_OP_COLLECTIVE)
        sim->run->devices[q->device].collective_ps += sim->now_ps - start_ps;
    else if (op->kind == KVS_OP_COMPUTE)
        device_end_compute(sim, queue, start_ps);
    device_pop_head(sim, q);
    device_mark_queue(sim, queue);
    if (state->waiters != SIM_NONE)
        device_wake_waiters(sim, state);
    if (sim->host.is_blocked &&
        (sim->host.blocked_queue == queue || sim->host.blocked_queue == SIM_NONE))
        sim_host_wake(sim);
}

/* All members end together; the group's other members follow their leader in device order. */
static void device_finish_collective(struct sim *sim, uint32_t leader, const struct kvs_op *op)
{
    kvs_time start = sim->queues[leader].start_ps;
    const struct kvs_op *first = device_group_first(sim, sim->queues[leader].segment, op);
    for (uint32_t i = 0; i < op->collective.n_members; i++)
        device_finish(sim, first[i].queue, start);
}

void sim_queue_event(struct sim *sim, uint32_t queue)
{
    struct sim_queue *q = &sim->queues[queue];
    const struct kvs_op *op = sim_head_op(sim, q);
    switch ((sim_head)q->head) {
    case SIM_HEAD_DELAYED:
        kvs_event_tree_set(&sim->events, queue, KVS_NEVER);
        device_start_head(sim, queue);
        return;
    case SIM_HEAD_OVERHEAD:
        q->head = SIM_HEAD_RUNNING;
        sim_flow_start(sim, device_engine(sim, q, device_dir(op)));
        return;
    case SIM_HEAD_TRIP:
        device_next_trip(sim, queue, op);
        return;
    case SIM_HEAD_RUNNING:
        if (op->kind == KVS_OP_COLLECTIVE)
            device_finish_collective(sim, queue, op);
        else
            device_finish(sim, queue, q->start_ps);
        return;
    case SIM_HEAD_NONE:
    case SIM_HEAD_BLOCKED:
    case SIM_HEAD_WAITING:
        break;
    }
    KVS_ASSERT(!"an event of a queue that has none");
}
