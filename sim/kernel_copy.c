/* Kernels that copy: their reads and writes over the link wait behind the engine's bytes in flight. */
#include "models/copy.h"
#include "sim/sim.h"

/* From start to end, while the h2d engine moves a byte in so many picoseconds (0: none). */
static double kernel_copy_ps(const struct sim *sim, const struct sim_queue *q, double pace)
{
    const struct sim_device *device = &sim->devices[q->device];
    double busy_Bps = pace > 0.0 ? (double)KVS_PS_PER_S / pace : 0.0;
    return (double)KVS_PS_PER_S *
           kvs_kernel_read_s(&sim->machine->devices[q->device], (uint64_t)q->bytes,
                             device->cost.path_Bps[sim_op_dir(q->op)], busy_Bps);
}

/* A copy of the engine that begins or ends meanwhile slows down or speeds up what is left. */
static void kernel_copy_take_pace(const struct sim *sim, struct sim_queue *q)
{
    const struct sim_device *device = &sim->devices[q->device];
    double pace = sim->engines[device->engine[KVS_H2D]].ps_per_byte;
    double idle_ps = kernel_copy_ps(sim, q, 0.0);
    q->stretch = idle_ps > 0.0 ? kernel_copy_ps(sim, q, pace) / idle_ps : 1.0;
    q->speed = 1.0 / q->stretch;
}

void sim_kernel_copies_take_pace(struct sim *sim, const struct sim_device *device)
{
    for (size_t i = 0; i < device->reading.n; i++) {
        struct sim_queue *q = &sim->queues[device->reading.items[i]];
        sim_work_progress(sim, q);
        kernel_copy_take_pace(sim, q);
        sim_work_schedule(sim, device->reading.items[i]);
    }
}

void sim_kernel_copy_start(struct sim *sim, uint32_t queue)
{
    struct sim_queue *q = &sim->queues[queue];
    q->bytes = sim_head_bytes(q);
    q->head = SIM_HEAD_RUNNING;
    q->start_ps = q->updated_ps = sim->now_ps;
    q->left_ps = kernel_copy_ps(sim, q, 0.0);
    q->is_early = false;
    q->floor_ps = 0;
    kernel_copy_take_pace(sim, q);
    sim_total_bytes(sim, q);
    kvs_status status = KVS_ARRAY_PUSH(&sim->devices[q->device].reading, queue, sim->err);
    sim->status = sim->status == KVS_OK ? status : sim->status;
    sim_work_schedule(sim, queue);
}

void sim_kernel_copy_end(struct sim *sim, uint32_t queue)
{
    struct sim_device *device = &sim->devices[sim->queues[queue].device];
    size_t i = 0;
    while (i < device->reading.n && device->reading.items[i] != queue)
        i++;
    for (; i + 1 < device->reading.n; i++)
        device->reading.items[i] = device->reading.items[i + 1];
    device->reading.n--;
}
