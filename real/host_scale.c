/*
 * How much slower than the model this computer has to run, so that what it measures is the model's
 * schedule and not its own haste.
 *
 * A thread that begins an operation wakes up late and then moves bytes; where the operation's
 * time, slowed down, leaves room for both, nothing is lost, since the next one counts from the
 * deadline (host_paced.h). Where it does not, the rest is lost, at worst to the token. The scale is
 * the smallest of 1, 2, 5, 10, 20 ... at which all that a token's operations lose on one device
 * is a small part of the token. That most of them lose it beside others is margin.
 *
 * How long bytes take is measured on the largest copy and the largest compute.
 */
#include "models/copy.h"
#include "real/host_paced.h"

#define SCALE_WAKE_NS                                                                          \
    200e3 /* a thread wakes up later than that hardly ever; usual: 50 to 100 us */
#define SCALE_CONTENDED 2.0 /* bytes take so much longer beside other threads that move some */
#define SCALE_LOST_FRAC 0.03
#define SCALE_TRIES     3u
#define SCALE_MAX       1e9

struct scale {
    const struct paced *p;
    uint32_t s;              /* the segment looked at */
    double copy_ns_per_byte; /* on this computer */
    double read_ns_per_byte;
};

static const struct kvs_op *scale_op(const struct scale *c, kvs_op_id id)
{
    return &c->p->segments[c->s].plan->ops.items[id];
}

static bool scale_is_copy(kvs_op_class cls)
{
    return cls == KVS_CLASS_ENGINE_COPY || cls == KVS_CLASS_KERNEL_COPY;
}

/* What an operation reads at the first token of its phase. */
static double scale_bytes(const struct scale *c, kvs_op_id id)
{
    const struct kvs_segment *plan = c->p->segments[c->s].plan;
    const struct kvs_op *op = scale_op(c, id);
    double bytes = 0.0;
    for (uint32_t a = op->first_access; a < op->first_access + op->n_access; a++) {
        struct kvs_range range = kvs_range_at(&plan->accesses.items[a], op->phase);
        if (range.mode == KVS_ACCESS_READ)
            bytes += (double)kvs_range_bytes(&range);
    }
    return bytes;
}

/* Modelled time of an operation that has an end of its own; 0: it is not paced. */
static double scale_op_ps(const struct scale *c, kvs_op_id id)
{
    const struct paced *p = c->p;
    const struct paced_op *cost = &p->segments[c->s].ops[id];
    const struct kvs_op *op = scale_op(c, id);
    uint32_t d = p->queues[op->queue].device;
    if (cost->cls == KVS_CLASS_HEAVY || cost->cls == KVS_CLASS_MEMBER)
        return (double)cost->work_ps;
    if (!scale_is_copy(cost->cls))
        return 0.0;
    double bytes = paced_copy_bytes(p->segments[c->s].plan, op, op->phase);
    const struct kvs_device_costs *device = &p->costs.devices[d];
    if (bytes <= 0.0)
        return 0.0;
    if (cost->cls == KVS_CLASS_KERNEL_COPY)
        return (double)KVS_PS_PER_S * kvs_kernel_read_s(&p->machine->devices[d],
                                                        (uint64_t)bytes,
                                                        device->path_Bps[paced_dir(op)], 0.0);
    kvs_time overhead_ps = device->first_overhead_ps < device->next_overhead_ps
                               ? device->first_overhead_ps
                               : device->next_overhead_ps;
    return (double)(device->latency_ps + overhead_ps) + bytes * cost->ps_per_byte;
}

/* ns per byte of the segment's largest copy, or compute, done a few times; 0 where there is none. */
static double scale_measure(const struct scale *c, bool is_copy)
{
    const struct kvs_segment *plan = c->p->segments[c->s].plan;
    kvs_op_id largest = 0;
    double most = 0.0;
    for (kvs_op_id id = 0; id < plan->ops.n; id++) {
        kvs_op_class cls = c->p->segments[c->s].ops[id].cls;
        double bytes = scale_bytes(c, id);
        if ((is_copy ? scale_is_copy(cls) : cls == KVS_CLASS_HEAVY) && bytes > most) {
            most = bytes;
            largest = id;
        }
    }
    if (most == 0.0)
        return 0.0;
    int64_t shortest_ns = INT64_MAX; /* the first touches its pages, any may be interrupted */
    for (unsigned i = 0; i < SCALE_TRIES; i++) {
        int64_t begin_ns = paced_wall_ns();
        kvs_memory_apply(c->p->memory, c->s, plan->ops.items[largest].phase, largest);
        int64_t ns = paced_wall_ns() - begin_ns;
        shortest_ns = ns < shortest_ns ? ns : shortest_ns;
    }
    return (double)shortest_ns / most;
}

/* Of this computer's time, how much one operation loses at that scale. */
static double scale_lost_ns(const struct scale *c, kvs_op_id id, double scale)
{
    double ps = scale_op_ps(c, id);
    if (ps <= 0.0)
        return 0.0;
    kvs_op_class cls = c->p->segments[c->s].ops[id].cls;
    double ns_per_byte = scale_is_copy(cls)       ? c->copy_ns_per_byte
                         : cls == KVS_CLASS_HEAVY ? c->read_ns_per_byte
                                                  : 0.0;
    double needed_ns = SCALE_WAKE_NS + SCALE_CONTENDED * ns_per_byte * scale_bytes(c, id);
    double given_ns = ps * scale / (double)KVS_PS_PER_NS;
    return needed_ns > given_ns ? needed_ns - given_ns : 0.0;
}

/* Of all operations of a device in a period: what its busiest engine takes in model time, and what
 * they lose. */
static bool scale_is_enough(const struct scale *c, uint32_t device, double scale)
{
    const struct paced *p = c->p;
    double lane_ps[PACED_N_LANES] = {0}, lost_ns = 0.0, busiest_ps = 0.0;
    for (kvs_op_id id = 0; id < p->segments[c->s].plan->ops.n; id++) {
        const struct kvs_op *op = scale_op(c, id);
        kvs_op_class cls = p->segments[c->s].ops[id].cls;
        if (p->queues[op->queue].device != device)
            continue;
        paced_lane lane = cls == KVS_CLASS_ENGINE_COPY
                              ? (op->flags & KVS_OP_D2H ? PACED_LANE_D2H : PACED_LANE_H2D)
                              : PACED_LANE_COMPUTE;
        lane_ps[lane] += scale_op_ps(c, id);
        lost_ns += scale_lost_ns(c, id, scale);
    }
    for (unsigned lane = 0; lane < PACED_N_LANES; lane++)
        busiest_ps = lane_ps[lane] > busiest_ps ? lane_ps[lane] : busiest_ps;
    return lost_ns <= SCALE_LOST_FRAC * scale * busiest_ps / (double)KVS_PS_PER_NS;
}

double paced_choose_scale(const struct paced *p)
{
    static const double next[] = {2.0, 2.5, 2.0};
    struct scale c = {.p = p, .s = p->n_segments - 1};
    double scale = 1.0;
    c.copy_ns_per_byte = scale_measure(&c, true);
    c.read_ns_per_byte = scale_measure(&c, false);
    for (unsigned step = 0; scale < SCALE_MAX; step++) {
        bool is_enough = true;
        for (uint32_t d = 0; d < p->n_devices; d++)
            is_enough = is_enough && scale_is_enough(&c, d, scale);
        if (is_enough)
            break;
        scale *= next[step % KVS_COUNT_OF(next)];
    }
    return scale;
}
