/*
 * Kernels that copy. Their reads and writes over the link wait behind the engine's bytes in flight,
 * and a copy of the engine moves on by the time that the bytes take which they read meanwhile.
 */
#include "models/copy.h"
#include "real/host_paced.h"

/* From start to end, while a copy runs at this pace (0: none). */
static double kernel_copy_ps(const struct paced *p, const struct paced_queue *q, double pace)
{
    const struct kvs_op *op = paced_plan_op(p, paced_head_of(q));
    double busy_Bps = pace > 0.0 ? (double)KVS_PS_PER_S / pace : 0.0;
    return (double)KVS_PS_PER_S *
           kvs_kernel_read_s(&p->machine->devices[q->device], (uint64_t)q->n_bytes,
                             paced_costs_of(p, q)->path_Bps[paced_dir(op)], busy_Bps);
}

/* What was read until now, beside the engine's copy or not. */
static void kernel_copy_progress(struct paced *p, struct paced_queue *q)
{
    double idle_ps = kernel_copy_ps(p, q, 0.0), left_ps = q->left_ps;
    paced_work_progress(p, q);
    if (q->is_beside && idle_ps > 0.0)
        p->devices[q->device].read_bytes += q->n_bytes * (left_ps - q->left_ps) / idle_ps;
}

static void kernel_copy_take_pace(struct paced *p, struct paced_queue *q)
{
    const struct kvs_op *op = paced_plan_op(p, paced_head_of(q));
    double pace = paced_pace(p, q->device), idle_ps = kernel_copy_ps(p, q, 0.0);
    q->is_beside = pace > 0.0 && paced_dir(op) == KVS_H2D;
    q->stretch = idle_ps > 0.0 ? kernel_copy_ps(p, q, pace) / idle_ps : 1.0;
    paced_set_deadline(p, q, p->time_ps + paced_ps_up(q->left_ps * q->stretch));
}

static bool kernel_copy_runs(const struct paced *p, const struct paced_queue *q,
                             uint32_t device)
{
    return q->device == device && q->head == PACED_HEAD_RUNNING &&
           paced_op_of(p, paced_head_of(q))->cls == KVS_CLASS_KERNEL_COPY;
}

void paced_kernel_copies_take_pace(struct paced *p, uint32_t device)
{
    for (uint32_t i = 1; i < p->n_queues; i++) {
        struct paced_queue *q = &p->queues[i];
        if (!kernel_copy_runs(p, q, device))
            continue;
        kernel_copy_progress(p, q);
        kernel_copy_take_pace(p, q);
    }
}

void paced_kernel_copy_start(struct paced *p, uint32_t queue)
{
    struct paced_queue *q = &p->queues[queue];
    const struct paced_instance *head = paced_head_of(q);
    const struct paced_segment *segment = &p->segments[head->segment];
    q->n_bytes = paced_copy_bytes(segment->plan, paced_plan_op(p, head),
                                  head->token - segment->first_token);
    q->left_ps = kernel_copy_ps(p, q, 0.0);
    q->updated_ps = p->time_ps;
    paced_count_bytes(p, q);
    paced_begin(p, q, PACED_LANE_BESIDE, q->n_bytes > 0.0);
    kernel_copy_take_pace(p, q);
}

void paced_kernel_copy_end(struct paced *p, uint32_t queue)
{
    kernel_copy_progress(p, &p->queues[queue]);
}

bool paced_copy_is_over(struct paced *p, uint32_t queue)
{
    struct paced_queue *q = &p->queues[queue];
    struct paced_device *device = &p->devices[q->device];
    uint32_t e = device->engine[KVS_H2D];
    if (!q->is_on_engine || paced_dir(paced_plan_op(p, paced_head_of(q))) != KVS_H2D)
        return true;
    for (uint32_t i = 1; i < p->n_queues; i++)
        if (kernel_copy_runs(p, &p->queues[i], q->device))
            kernel_copy_progress(p, &p->queues[i]);
    double more_bytes = device->read_bytes;
    device->read_bytes = 0.0;
    if (more_bytes < 1.0)
        return true;
    if (p->engines[e].flow != PACED_NONE)
        paced_flow_extend(p, e, more_bytes);
    else
        paced_set_deadline(p, q,
                           p->time_ps + paced_ps_up(more_bytes * (double)KVS_PS_PER_S /
                                                    paced_costs_of(p, q)->path_Bps[KVS_H2D]));
    return false;
}
