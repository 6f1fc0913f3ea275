/* Compute engines: compute slowed down by copies, collectives with their trips. */
#include "sim/sim.h"

/* Compute takes longer by the device's fraction times the share of the path in use. */
static void compute_take_pace(const struct sim *sim, struct sim_device *device,
                              struct sim_queue *q)
{
    double pace = sim->engines[device->engine[KVS_H2D]].ps_per_byte;
    if (pace != device->pace_ps_per_byte) {
        device->pace_ps_per_byte = pace;
        device->stretch =
            pace > 0.0 ? 1.0 + device->cost.copy_slowdown * device->path_ps_per_byte / pace
                       : 1.0;
        device->speed = 1.0 / device->stretch;
    }
    q->stretch = device->stretch;
    q->speed = device->speed;
}

/*
 * On a path of its own a compute's end is set anew whenever its pace changes. On a shared path
 * paces change all the time, so its event is first set for the earliest end there can be
 * (nothing copied), and only then for the end that the work left over has.
 */
static void compute_schedule(struct sim *sim, uint32_t queue)
{
    const struct sim_queue *q = &sim->queues[queue];
    kvs_time end = sim->now_ps + sim_ps_up(q->left_ps * (q->is_early ? 1.0 : q->stretch));
    kvs_event_tree_set(&sim->events, queue, end > q->floor_ps ? end : q->floor_ps);
}

void sim_engine_set_pace(struct sim *sim, struct sim_engine *engine, double ps_per_byte)
{
    if (engine->ps_per_byte == ps_per_byte)
        return;
    engine->ps_per_byte = ps_per_byte;
    struct sim_device *device = engine->on;
    if (engine->dir != KVS_H2D)
        return;
    if (KVS_UNLIKELY(sim->has_kernel_copies))
        sim_kernel_copies_take_pace(sim, device);
    if (device->heavy == SIM_NONE || device->cost.copy_slowdown == 0.0)
        return;
    struct sim_queue *q = &sim->queues[device->heavy];
    sim_work_progress(sim, q);
    compute_take_pace(sim, device, q);
    if (!q->is_early)
        compute_schedule(sim, device->heavy);
}

bool sim_compute_is_over(struct sim *sim, uint32_t queue)
{
    struct sim_queue *q = &sim->queues[queue];
    if (!q->is_early)
        return true;
    sim_work_progress(sim, q);
    q->is_early = false;
    if (q->left_ps < 1.0)
        return true;
    compute_schedule(sim, queue);
    return false;
}

void sim_compute_start(struct sim *sim, uint32_t queue)
{
    struct sim_queue *q = &sim->queues[queue];
    struct sim_device *device = q->on;
    if (device->heavy != SIM_NONE) {
        q->head = SIM_HEAD_WAITING;
        kvs_status status = KVS_ARRAY_PUSH(&device->heavy_waiting, queue, sim->err);
        sim->status = sim->status == KVS_OK ? status : sim->status;
        return;
    }
    device->heavy = queue;
    q->head = SIM_HEAD_RUNNING;
    q->start_ps = q->updated_ps = sim->now_ps;
    q->left_ps = (double)q->op->work_ps;
    q->is_early = device->flow[KVS_H2D] != SIM_NONE && device->cost.copy_slowdown != 0.0;
    q->floor_ps = 0;
    compute_take_pace(sim, device, q);
    if (KVS_UNLIKELY(device->cost.beside_ps > 0) && device->pace_ps_per_byte > 0.0)
        q->left_ps += (double)device->cost.beside_ps;
    uint32_t n = q->op->n_kernels;
    if (sim->cost.submits_kernels && n > 1 && !(q->op->flags & KVS_OP_SUBGRAPH))
        q->floor_ps = sim_head_issue_ps(q) + (kvs_time)(n - 1) * sim->cost.launch_ps +
                      q->op->work_ps / (kvs_time)n;
    compute_schedule(sim, queue);
}

void sim_compute_end(struct sim *sim, uint32_t queue, kvs_time start_ps)
{
    struct sim_device *device = sim->queues[queue].on;
    sim->queues[queue].totals->compute_ps += sim->now_ps - start_ps;
    device->heavy = SIM_NONE;
    if (device->heavy_waiting.n == 0)
        return;
    uint32_t next = device->heavy_waiting.items[0];
    device->heavy_waiting.n--;
    for (size_t i = 0; i < device->heavy_waiting.n; i++)
        device->heavy_waiting.items[i] = device->heavy_waiting.items[i + 1];
    sim->queues[next].head = SIM_HEAD_BLOCKED; /* to be looked at again; dependencies are met */
    sim_mark_queue(sim, next);
}

/* The wait of one dependent host read behind the bytes in flight, on the slowest member. */
static kvs_time member_trip_delay_ps(const struct sim *sim, const struct sim_queue *lead)
{
    const struct sim_group *group = &sim->groups[lead->op->group];
    const struct sim_op *first = &lead->segment->ops[group->first];
    double longest = 0.0;
    for (uint32_t i = 0; i < group->n_members; i++) {
        const struct sim_device *device = sim->queues[first[i].queue].on;
        double pace = sim->engines[device->engine[KVS_H2D]].ps_per_byte;
        longest = pace * device->cost.in_flight_bytes > longest
                      ? pace * device->cost.in_flight_bytes
                      : longest;
    }
    return (kvs_time)(longest + 0.5);
}

/* Trips share the idle latency evenly; the first one also takes what division leaves over. */
void sim_member_next_trip(struct sim *sim, uint32_t queue)
{
    struct sim_queue *q = &sim->queues[queue];
    kvs_time piece = q->op->work_ps / sim->cost.n_trips;
    if (q->trips_left == sim->cost.n_trips)
        piece += q->op->work_ps % sim->cost.n_trips;
    q->trips_left--;
    q->head = q->trips_left > 0 ? SIM_HEAD_TRIP : SIM_HEAD_RUNNING;
    kvs_event_tree_set(&sim->events, queue, sim->now_ps + member_trip_delay_ps(sim, q) + piece);
}

/* The last member to arrive leads: it carries the event, the others end with it. */
void sim_member_arrive(struct sim *sim, uint32_t queue)
{
    struct sim_queue *q = &sim->queues[queue];
    struct sim_group *group = &sim->groups[q->op->group];
    q->head = SIM_HEAD_WAITING;
    if (++group->n_arrived < group->n_members)
        return;
    group->n_arrived = 0;
    if (sim->cost.n_trips == 0) {
        sim_run_until(sim, queue, sim->now_ps + q->op->work_ps);
        return;
    }
    q->start_ps = sim->now_ps;
    q->trips_left = sim->cost.n_trips;
    sim_member_next_trip(sim, queue);
}
