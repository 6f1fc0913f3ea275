/*
 * Kernels that copy. Their reads and writes over the link wait behind the engine's bytes in flight,
 * and a copy of the engine moves on by the time that the bytes take which they read meanwhile.
 */
#include "models/copy.h"
#include "sim/sim.h"

/* From start to end, while the h2d engine moves a byte in so many picoseconds (0: none). */
static double kernel_copy_ps(const struct sim *sim, const struct sim_queue *q, double pace)
{
    const struct sim_device *device = q->on;
    double busy_Bps = pace > 0.0 ? (double)KVS_PS_PER_S / pace : 0.0;
    return (double)KVS_PS_PER_S *
           kvs_kernel_read_s(&sim->machine->devices[q->device], (uint64_t)q->bytes,
                             device->cost.path_Bps[sim_op_dir(q->op)], busy_Bps);
}

/* What was read until now, beside the engine's copy or not. */
static void kernel_copy_progress(struct sim *sim, struct sim_device *device,
                                 struct sim_queue *q)
{
    double idle_ps = kernel_copy_ps(sim, q, 0.0), left_ps = q->left_ps;
    sim_work_progress(sim, q);
    if (q->is_beside && idle_ps > 0.0)
        device->read_bytes += q->bytes * (left_ps - q->left_ps) / idle_ps;
}

/* A copy of the engine that begins or ends meanwhile slows down or speeds up what is left. */
static void kernel_copy_take_pace(const struct sim *sim, struct sim_queue *q)
{
    const struct sim_device *device = q->on;
    double pace = sim->engines[device->engine[KVS_H2D]].ps_per_byte;
    q->is_beside = pace > 0.0 && sim_op_dir(q->op) == KVS_H2D;
    double idle_ps = kernel_copy_ps(sim, q, 0.0);
    q->stretch = idle_ps > 0.0 ? kernel_copy_ps(sim, q, pace) / idle_ps : 1.0;
    q->speed = 1.0 / q->stretch;
}

static void kernel_copy_schedule(struct sim *sim, uint32_t queue)
{
    const struct sim_queue *q = &sim->queues[queue];
    kvs_event_tree_set(&sim->events, queue, sim->now_ps + sim_ps_up(q->left_ps * q->stretch));
}

void sim_kernel_copies_take_pace(struct sim *sim, struct sim_device *device)
{
    for (size_t i = 0; i < device->reading.n; i++) {
        struct sim_queue *q = &sim->queues[device->reading.items[i]];
        kernel_copy_progress(sim, device, q);
        kernel_copy_take_pace(sim, q);
        kernel_copy_schedule(sim, device->reading.items[i]);
    }
}

void sim_kernel_copy_start(struct sim *sim, uint32_t queue)
{
    struct sim_queue *q = &sim->queues[queue];
    q->bytes = sim_head_bytes(q);
    q->head = SIM_HEAD_RUNNING;
    q->start_ps = q->updated_ps = sim->now_ps;
    q->left_ps = kernel_copy_ps(sim, q, 0.0);
    kernel_copy_take_pace(sim, q);
    sim_total_bytes(q);
    kvs_status status = KVS_ARRAY_PUSH(&q->on->reading, queue, sim->err);
    sim->status = sim->status == KVS_OK ? status : sim->status;
    kernel_copy_schedule(sim, queue);
}

bool sim_copy_is_over(struct sim *sim, uint32_t queue)
{
    struct sim_queue *q = &sim->queues[queue];
    struct sim_device *device = q->on;
    if (!q->is_on_engine || sim_op_dir(q->op) != KVS_H2D)
        return true;
    for (size_t i = 0; i < device->reading.n; i++)
        kernel_copy_progress(sim, device, &sim->queues[device->reading.items[i]]);
    double more_bytes = device->read_bytes;
    device->read_bytes = 0.0;
    if (more_bytes < 1.0)
        return true;
    struct sim_engine *engine = sim_engine_of(q);
    if (engine->flow != SIM_NONE)
        sim_flow_extend(sim, engine, more_bytes);
    else
        kvs_event_tree_set(&sim->events, queue,
                           sim->now_ps + sim_ps_up(more_bytes * device->path_ps_per_byte));
    return false;
}

void sim_kernel_copy_end(struct sim *sim, uint32_t queue)
{
    struct sim_device *device = sim->queues[queue].on;
    size_t i = 0;
    kernel_copy_progress(sim, device, &sim->queues[queue]);
    while (i < device->reading.n && device->reading.items[i] != queue)
        i++;
    for (; i + 1 < device->reading.n; i++)
        device->reading.items[i] = device->reading.items[i + 1];
    device->reading.n--;
}
