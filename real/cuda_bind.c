/* What operations cost and need on their device: what does not change during a run. */
#include <string.h>

#include "real/cuda_internal.h"

#define BIND_GRAPH_KERNELS 3u

static bool bind_is_kernels(const struct kvs_op *op)
{
    return op->kind == KVS_OP_COMPUTE && !(op->flags & KVS_OP_LIGHT);
}

/* Kernels that take the time of an operation; gaps between them come by themselves. */
static void bind_spin(struct cuda_exec *x, const struct kvs_op *op, struct cuda_op *out)
{
    uint16_t d = cuda_device_of(x, op);
    /* what is submitted as a graph takes its time in as few kernels as its steps need */
    if (!x->costs.submits_kernels && out->n_kernels > BIND_GRAPH_KERNELS)
        out->n_kernels = BIND_GRAPH_KERNELS;
    kvs_time work = kvs_op_work_ps(&x->costs, op, d);
    kvs_time gaps = (kvs_time)out->n_kernels * x->costs.devices[d].gap_ps;
    work = work > gaps ? work - gaps : 0;
    out->cycles = (uint64_t)((double)work / out->n_kernels * x->devices[d].cycles_per_ps + 0.5);
}

/* Kernels that read the weights of an operation, of which each token reads all, once. */
static void bind_stream(struct cuda_exec *x, uint32_t s, kvs_op_id id, struct cuda_op *out,
                        uint64_t *weights_at)
{
    const struct kvs_op *op = &x->plan->segments.items[s].ops.items[id];
    uint16_t d = cuda_device_of(x, op);
    uint32_t n_steps = cuda_compute_n_steps(x, s, id);
    double bytes = (double)op->compute.params * x->c->llm->weight_bytes_per_param;
    out->n_fill = out->n_kernels > n_steps ? out->n_kernels - n_steps : 1;
    out->weights_size = (uint64_t)bytes / out->n_fill / 16 * 16;
    out->weights_at = weights_at[d];
    weights_at[d] += out->n_fill * out->weights_size;
}

static void bind_compute(struct cuda_exec *x, uint32_t s, kvs_op_id id, uint64_t *weights_at)
{
    const struct kvs_op *op = &x->plan->segments.items[s].ops.items[id];
    struct cuda_op *out = &x->ops[s][id];
    out->n_kernels = op->compute.n_kernels > 0 ? op->compute.n_kernels : 1;
    if (x->spins)
        bind_spin(x, op, out);
    else
        bind_stream(x, s, id, out, weights_at);
}

static void bind_awaited(struct cuda_exec *x, const struct kvs_segment *segment,
                         struct cuda_op *ops)
{
    for (size_t i = 0; i < segment->ops.n; i++) {
        const struct kvs_op *op = &segment->ops.items[i];
        for (uint32_t k = op->first_dep; k < op->first_dep + op->n_dep; k++) {
            const struct kvs_dep *dep = &segment->deps.items[k];
            if (segment->ops.items[dep->op].queue == op->queue)
                continue;
            ops[dep->op].is_awaited = true;
            if (dep->distance + 1u > x->n_instances)
                x->n_instances = dep->distance + 1u;
        }
    }
}

/* Kernels reach mapped host memory alone. */
static kvs_status bind_refuse_pageable(const struct cuda_exec *x,
                                       const struct kvs_segment *segment)
{
    for (size_t i = 0; i < segment->ops.n; i++) {
        const struct kvs_op *op = &segment->ops.items[i];
        if (op->kind != KVS_OP_COPY || !(op->flags & KVS_OP_VIA_KERNEL))
            continue;
        for (uint32_t a = 0; a < op->n_access; a++) {
            uint16_t buffer = segment->accesses.items[op->first_access + a].buffer;
            if (x->plan->buffers.items[buffer].place == KVS_PLACE_HOST_PAGEABLE)
                return kvs_error_set(x->err, KVS_EUNSUPPORTED,
                                     "cuda: op %zu copies by a kernel, which cannot reach the "
                                     "pageable buffer %s: it has to be pinned",
                                     i, x->plan->buffers.items[buffer].name);
        }
    }
    return KVS_OK;
}

static kvs_status bind_segment(struct cuda_exec *x, uint32_t s, uint64_t *weights_at)
{
    const struct kvs_segment *segment = &x->plan->segments.items[s];
    void *memory;
    KVS_TRY(bind_refuse_pageable(x, segment));
    KVS_TRY(kvs_mem_alloc(segment->ops.n, sizeof **x->ops, &memory, x->err));
    x->ops[s] = memory;
    if (segment->ops.n > x->max_ops)
        x->max_ops = (uint32_t)segment->ops.n;
    memset(weights_at, 0, x->plan->n_devices * sizeof *weights_at);
    for (size_t i = 0; i < segment->ops.n; i++)
        if (bind_is_kernels(&segment->ops.items[i]))
            bind_compute(x, s, (kvs_op_id)i, weights_at);
    for (uint16_t d = 0; d < x->plan->n_devices; d++)
        if (weights_at[d] > x->devices[d].weights_bytes)
            x->devices[d].weights_bytes = weights_at[d];
    bind_awaited(x, segment, x->ops[s]);
    return KVS_OK;
}

kvs_status cuda_bind_ops(struct cuda_exec *x)
{
    void *memory;
    x->spins = x->c->compute == KVS_COMPUTE_MODELLED;
    x->n_instances = 1;
    KVS_TRY(kvs_mem_alloc(x->plan->segments.n, sizeof *x->ops, &memory, x->err));
    x->ops = memory;
    KVS_TRY(kvs_mem_alloc(x->plan->n_devices, sizeof(uint64_t), &memory, x->err));
    uint64_t *weights_at = memory;
    kvs_status status = KVS_OK;
    for (uint32_t s = 0; s < x->plan->segments.n && status == KVS_OK; s++)
        status = bind_segment(x, s, weights_at);
    kvs_mem_free(weights_at);
    KVS_TRY(status);
    KVS_TRY(kvs_mem_alloc(cuda_n_events(x), sizeof *x->events, &memory, x->err));
    x->events = memory;
    return KVS_OK;
}
