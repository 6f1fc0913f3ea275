/* Operations, queues and engines of a plan, and the state in which each run begins. */
#include "real/host_paced.h"

double paced_copy_bytes(const struct kvs_segment *segment, const struct kvs_op *op,
                        uint32_t token)
{
    double bytes = 0.0;
    for (uint32_t a = 0; a < op->n_access; a += 2) { /* a kernel may have several pairs */
        struct kvs_range source =
            kvs_range_at(&segment->accesses.items[op->first_access + a], token);
        bytes += (double)kvs_range_bytes(&source);
    }
    return bytes;
}

static void bind_op(struct paced *p, uint32_t s, kvs_op_id id)
{
    const struct kvs_segment *plan = p->segments[s].plan;
    const struct kvs_op *op = &plan->ops.items[id];
    const struct kvs_program_op *program = &p->program->segments[s].ops[id];
    uint32_t device = p->queues[op->queue].device;
    struct paced_op *out = &p->segments[s].ops[id];
    out->cls = kvs_op_class_of(op);
    out->work_ps = kvs_op_work_ps(&p->costs, op, device);
    out->call_ps = kvs_op_call_ps(&p->costs, op);
    out->has_steps =
        op->kind == KVS_OP_COLLECTIVE ? program->layer != KVS_NO_LAYER : program->n_steps > 0;
    out->has_end = op->kind == KVS_OP_COMPUTE && program->n_steps > program->n_begin;
    if (op->kind == KVS_OP_COPY && op->n_access > 0)
        out->ps_per_byte =
            (double)KVS_PS_PER_S /
            kvs_op_copy_Bps(&p->costs, op, kvs_segment_accesses(plan, op), device);
}

static kvs_status bind_segments(struct paced *p, struct kvs_error *err)
{
    uint32_t token = 0;
    for (uint32_t s = 0; s < p->n_segments; s++) {
        const struct kvs_segment *plan = &p->plan->segments.items[s];
        void *memory;
        KVS_TRY(kvs_mem_alloc(plan->ops.n, sizeof(struct paced_op), &memory, err));
        p->segments[s] = (struct paced_segment){.plan = plan,
                                                .ops = memory,
                                                .first_token = token,
                                                .end_token = token + plan->n_tokens};
        token += plan->n_tokens;
        for (kvs_op_id id = 0; id < plan->ops.n; id++)
            bind_op(p, s, id);
    }
    return KVS_OK;
}

static kvs_status bind_queues(struct paced *p, struct kvs_error *err)
{
    for (uint32_t i = 0; i < p->n_queues; i++) {
        const struct kvs_queue *queue = &p->plan->queues.items[i];
        uint32_t n_same = 1;
        p->queues[i].device = queue->device;
        if (i > 0 && queue->device >= p->n_devices)
            return kvs_error_set(err, KVS_EINVAL,
                                 "plan: queue %s is on device %u, the machine has %u",
                                 queue->name, queue->device, p->n_devices);
        for (uint32_t k = 1; k < i; k++)
            n_same += p->queues[k].device == queue->device;
        if (i > 0 && n_same > KVS_PLAN_MAX_QUEUES_PER_DEVICE)
            return kvs_error_set(err, KVS_ERANGE, "plan: more than %u queues on device %u",
                                 KVS_PLAN_MAX_QUEUES_PER_DEVICE, queue->device);
    }
    return KVS_OK;
}

static void bind_engines(struct paced *p)
{
    for (uint32_t d = 0; d < p->n_devices; d++) {
        bool is_single = p->machine->devices[d].engines.n_engines == 1;
        for (unsigned dir = 0; dir < KVS_N_DIRS; dir++) {
            if (dir == KVS_D2H && is_single) {
                p->devices[d].engine[dir] = p->devices[d].engine[KVS_H2D];
                continue;
            }
            p->engines[p->n_engines] = (struct paced_engine){.device = d, .dir = (kvs_dir)dir};
            p->devices[d].engine[dir] = p->n_engines++;
        }
    }
}

static kvs_status bind_alloc(struct paced *p, struct kvs_error *err)
{
    const struct {
        void **array;
        size_t n, bytes;
    } arrays[] = {
        {(void **)&p->queues, p->n_queues, sizeof *p->queues},
        {(void **)&p->devices, p->n_devices, sizeof *p->devices},
        {(void **)&p->engines, 2 * (size_t)p->n_devices, sizeof *p->engines},
        {(void **)&p->dirty_queues, p->n_queues, sizeof *p->dirty_queues},
        {(void **)&p->dirty_engines, 2 * (size_t)p->n_devices, sizeof *p->dirty_engines},
        {(void **)&p->segments, p->n_segments, sizeof *p->segments},
        {(void **)&p->workers, (size_t)p->n_devices * PACED_N_LANES, sizeof *p->workers},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(arrays); i++)
        KVS_TRY(kvs_mem_alloc(arrays[i].n, arrays[i].bytes, arrays[i].array, err));
    return KVS_OK;
}

kvs_status paced_bind(struct paced *p, struct kvs_error *err)
{
    p->machine = p->c->machine;
    p->n_queues = (uint32_t)p->plan->queues.n;
    p->n_devices = p->machine->n_devices;
    p->n_segments = (uint32_t)p->plan->segments.n;
    if (p->n_segments == 0)
        return kvs_error_set(err, KVS_EINVAL, "plan: no segment");
    KVS_TRY(bind_alloc(p, err));
    bind_engines(p);
    KVS_TRY(bind_queues(p, err));
    KVS_TRY(bind_segments(p, err));
    KVS_TRY(paced_share_bind(p, err));
    p->time_scale = p->options.time_scale > 0.0 ? p->options.time_scale : paced_choose_scale(p);
    return KVS_OK;
}

void paced_unbind(struct paced *p)
{
    for (uint32_t i = 0; p->queues && i < p->n_queues; i++)
        kvs_mem_free(p->queues[i].instances);
    for (uint32_t s = 0; p->segments && s < p->n_segments; s++)
        kvs_mem_free(p->segments[s].ops);
    void *const arrays[] = {p->queues,
                            p->devices,
                            p->engines,
                            p->segments,
                            p->workers,
                            p->flows,
                            p->moving,
                            p->capacity,
                            p->opposite,
                            p->left,
                            p->capacity_opposite,
                            p->capacity_now,
                            p->count,
                            p->shares,
                            p->rates,
                            p->dirty_queues,
                            p->dirty_engines};
    for (size_t i = 0; i < KVS_COUNT_OF(arrays); i++)
        kvs_mem_free(arrays[i]);
}

static void reset_queue(struct paced_queue *q)
{
    *q = (struct paced_queue){.device = q->device,
                              .instances = q->instances,
                              .mask = q->mask,
                              .event_ps = PACED_NEVER};
}

static void reset_op(struct paced_op *op)
{
    op->done_before = 0;
    op->waiters = PACED_NONE;
}

static void reset_host(struct paced_host *h)
{
    h->now_ps = 0;
    h->is_moving = h->is_draining = false;
    h->block = PACED_BLOCK_NONE;
}

void paced_reset(struct paced *p)
{
    for (uint32_t i = 0; i < p->n_queues; i++)
        reset_queue(&p->queues[i]);
    for (uint32_t e = 0; e < p->n_engines; e++)
        p->engines[e] = (struct paced_engine){.device = p->engines[e].device,
                                              .dir = p->engines[e].dir,
                                              .running = PACED_NONE,
                                              .current = PACED_NONE,
                                              .reserved = PACED_NONE,
                                              .end_ps = -1,
                                              .flow = PACED_NONE};
    for (uint32_t d = 0; d < p->n_devices; d++)
        p->devices[d].heavy = PACED_NONE;
    for (uint32_t s = 0; s < p->n_segments; s++)
        for (size_t i = 0; i < p->segments[s].plan->ops.n; i++)
            reset_op(&p->segments[s].ops[i]);
    reset_host(&p->host);
    p->n_moving_flows = p->n_dirty_queues = p->n_dirty_engines = 0;
    p->group_token = 0;
    p->time_ps = 0;
    p->status = KVS_OK;
    p->is_over = p->is_stuck = false;
    p->report = (struct kvs_host_report){.time_scale = p->time_scale};
}
