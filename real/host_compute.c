/* Compute engines: compute slowed down by copies, collectives with their trips. */
#include "real/host_paced.h"

double paced_pace(const struct paced *p, uint32_t device)
{
    return p->engines[p->devices[device].engine[KVS_H2D]].ps_per_byte;
}

/* Compute takes longer by the device's fraction times the share of the path in use. */
static void compute_take_pace(struct paced *p, struct paced_queue *q)
{
    const struct kvs_device_costs *cost = paced_costs_of(p, q);
    double pace = paced_pace(p, q->device);
    double path_ps_per_byte = (double)KVS_PS_PER_S / cost->path_Bps[KVS_H2D];
    q->stretch = pace > 0.0 ? 1.0 + cost->copy_slowdown * path_ps_per_byte / pace : 1.0;
    kvs_time end_ps = p->time_ps + paced_ps_up(q->left_ps * q->stretch);
    paced_set_deadline(p, q, end_ps > q->floor_ps ? end_ps : q->floor_ps);
}

void paced_work_progress(const struct paced *p, struct paced_queue *q)
{
    double left_ps = q->left_ps - (double)(p->time_ps - q->updated_ps) / q->stretch;
    q->left_ps = left_ps > 0.0 ? left_ps : 0.0;
    q->updated_ps = p->time_ps;
}

void paced_engine_set_pace(struct paced *p, uint32_t e, double ps_per_byte)
{
    struct paced_engine *engine = &p->engines[e];
    uint32_t heavy = p->devices[engine->device].heavy;
    if (engine->ps_per_byte == ps_per_byte)
        return;
    engine->ps_per_byte = ps_per_byte;
    if (engine->dir != KVS_H2D)
        return;
    paced_kernel_copies_take_pace(p, engine->device);
    if (heavy == PACED_NONE || p->costs.devices[engine->device].copy_slowdown == 0.0)
        return;
    paced_work_progress(p, &p->queues[heavy]);
    compute_take_pace(p, &p->queues[heavy]);
}

void paced_compute_start(struct paced *p, uint32_t queue)
{
    struct paced_queue *q = &p->queues[queue];
    struct paced_device *device = &p->devices[q->device];
    const struct paced_instance *head = paced_head_of(q);
    const struct kvs_op *op = paced_plan_op(p, head);
    const struct paced_op *cost = paced_op_of(p, head);
    if (device->heavy != PACED_NONE) {
        q->head = PACED_HEAD_WAITING;
        q->arrival = p->n_arrivals++;
        return;
    }
    device->heavy = queue;
    q->left_ps = (double)cost->work_ps;
    q->updated_ps = p->time_ps;
    q->floor_ps = 0;
    uint32_t n = op->compute.n_kernels;
    if (p->costs.submits_kernels && n > 1 && !(op->flags & KVS_OP_SUBGRAPH))
        q->floor_ps = head->issue_ps + (kvs_time)(n - 1) * p->costs.launch_ps +
                      cost->work_ps / (kvs_time)n;
    paced_begin(p, q, PACED_LANE_COMPUTE, cost->has_steps);
    compute_take_pace(p, q);
}

void paced_compute_end(struct paced *p, uint32_t queue, kvs_time start_ps)
{
    uint32_t device = p->queues[queue].device, first = PACED_NONE;
    p->run->devices[device].compute_ps += p->time_ps - start_ps;
    p->devices[device].heavy = PACED_NONE;
    for (uint32_t i = 1; i < p->n_queues; i++) {
        const struct paced_queue *q = &p->queues[i];
        if (q->device == device && q->head == PACED_HEAD_WAITING &&
            paced_op_of(p, paced_head_of(q))->cls == KVS_CLASS_HEAVY &&
            (first == PACED_NONE || q->arrival < p->queues[first].arrival))
            first = i;
    }
    if (first == PACED_NONE)
        return;
    p->queues[first].head = PACED_HEAD_BLOCKED; /* to be looked at; dependencies are met */
    paced_mark_queue(p, first);
}

kvs_op_id paced_first_member(const struct paced *p, const struct paced_instance *instance)
{
    const struct kvs_op *ops = p->segments[instance->segment].plan->ops.items;
    kvs_op_id first = instance->op;
    while (first > 0 && ops[first - 1].kind == KVS_OP_COLLECTIVE &&
           ops[first - 1].collective.group == ops[first].collective.group)
        first--;
    return first;
}

/* The wait of one dependent host read behind the bytes in flight, on the slowest member. */
static kvs_time member_trip_delay_ps(const struct paced *p, const struct kvs_op *first)
{
    double longest_ps = 0.0;
    for (uint32_t i = 0; i < first->collective.n_members; i++) {
        uint32_t d = p->queues[first[i].queue].device;
        double delay_ps = paced_pace(p, d) * p->costs.devices[d].in_flight_bytes;
        longest_ps = delay_ps > longest_ps ? delay_ps : longest_ps;
    }
    return (kvs_time)(longest_ps + 0.5);
}

/* Trips share the idle latency evenly; the first one also takes what division leaves over. */
void paced_member_next_trip(struct paced *p, uint32_t queue)
{
    struct paced_queue *q = &p->queues[queue];
    const struct paced_instance *head = paced_head_of(q);
    const struct kvs_op *ops = p->segments[head->segment].plan->ops.items;
    kvs_time work_ps = paced_op_of(p, head)->work_ps;
    kvs_time piece_ps = work_ps / p->costs.n_trips;
    if (q->trips_left == p->costs.n_trips)
        piece_ps += work_ps % p->costs.n_trips;
    kvs_time end_ps =
        p->time_ps + piece_ps + member_trip_delay_ps(p, &ops[paced_first_member(p, head)]);
    q->trips_left--;
    q->head = q->trips_left > 0 ? PACED_HEAD_TRIP : PACED_HEAD_RUNNING;
    if (q->trips_left > 0)
        paced_set_event(p, q, end_ps);
    else
        paced_set_deadline(p, q, end_ps);
}

static bool member_all_have_come(const struct paced *p, const struct paced_instance *head,
                                 kvs_op_id first)
{
    const struct kvs_op *ops = p->segments[head->segment].plan->ops.items;
    for (uint32_t i = 0; i < ops[first].collective.n_members; i++) {
        const struct paced_queue *q = &p->queues[ops[first + i].queue];
        if (q->head != PACED_HEAD_WAITING)
            return false;
        const struct paced_instance *other = paced_head_of(q);
        if (other->segment != head->segment || other->token != head->token ||
            other->op != first + i)
            return false;
    }
    return true;
}

/* The last member to arrive leads: it carries the event and the bytes, the others end with it. */
void paced_member_arrive(struct paced *p, uint32_t queue)
{
    struct paced_queue *q = &p->queues[queue];
    const struct paced_instance *head = paced_head_of(q);
    q->head = PACED_HEAD_WAITING;
    if (!member_all_have_come(p, head, paced_first_member(p, head)))
        return;
    paced_begin(p, q, PACED_LANE_COMPUTE, paced_op_of(p, head)->has_steps);
    q->trips_left = p->costs.n_trips;
    if (p->costs.n_trips > 0)
        paced_member_next_trip(p, queue);
    else
        paced_set_deadline(p, q, p->time_ps + paced_op_of(p, head)->work_ps);
}
