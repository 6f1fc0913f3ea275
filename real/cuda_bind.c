/* What operations cost and need on their device: what does not change during a run. */
#include <string.h>

#include "real/cuda_internal.h"

#define BIND_GRAPH_KERNELS 3u

static bool bind_is_kernels(const struct kvs_op *op)
{
    return op->kind == KVS_OP_COMPUTE && !(op->flags & KVS_OP_LIGHT);
}

static void bind_compute(struct cuda_exec *x, const struct kvs_op *op, struct cuda_op *out,
                         uint64_t *weights_at)
{
    uint16_t d = cuda_device_of(x, op);
    const struct kvs_device_costs *cost = &x->costs.devices[d];
    out->n_kernels = op->compute.n_kernels > 0 ? op->compute.n_kernels : 1;
    /* what is submitted as a graph takes its time in as few kernels as its steps need */
    if (x->spins && !x->costs.submits_kernels && out->n_kernels > BIND_GRAPH_KERNELS)
        out->n_kernels = BIND_GRAPH_KERNELS;
    if (x->spins) {
        /* gaps between kernels come by themselves */
        kvs_time work = kvs_op_work_ps(&x->costs, op, d);
        if (x->costs.submits_kernels)
            work -= (kvs_time)op->compute.n_kernels * cost->gap_ps;
        out->cycles =
            (uint64_t)((double)work / out->n_kernels * x->devices[d].cycles_per_ps + 0.5);
        return;
    }
    double bytes = (double)op->compute.params * x->c->llm->weight_bytes_per_param;
    out->weights_size = (uint64_t)bytes / 16 * 16;
    out->weights_at = weights_at[d];
    weights_at[d] += out->weights_size;
}

/* The largest share of weights that any segment's token reads on a device. */
static kvs_status bind_weights(struct cuda_exec *x, const uint64_t *weights_at)
{
    for (uint16_t d = 0; d < x->plan->n_devices; d++) {
        struct cuda_device *device = &x->devices[d];
        if (weights_at[d] <= device->weights_bytes)
            continue;
        KVS_TRY(cuda_use(x, device->gpu));
        cudaFree(device->weights);
        device->weights = NULL;
        device->weights_bytes = weights_at[d];
        KVS_CUDA(cudaMalloc((void **)&device->weights, device->weights_bytes), device->gpu,
                 device->weights_bytes, x->err);
        KVS_CUDA(cudaMemset(device->weights, 1, device->weights_bytes), device->gpu,
                 device->weights_bytes, x->err);
    }
    return KVS_OK;
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
            bind_compute(x, &segment->ops.items[i], &x->ops[s][i], weights_at);
    bind_awaited(x, segment, x->ops[s]);
    return bind_weights(x, weights_at);
}

kvs_status cuda_bind_ops(struct cuda_exec *x)
{
    void *memory;
    x->spins = x->options.compute != KVS_EXEC_COMPUTE_STREAM;
    for (uint16_t d = 0; d < x->plan->n_devices; d++)
        if (x->options.compute == KVS_EXEC_COMPUTE_AUTO && !x->costs.devices[d].compute.profile)
            x->spins = false;
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
