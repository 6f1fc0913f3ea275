/* The weights that compute reads: memory for them, and kernels that stream them. */
#include "real/cuda_graph.h"
#include "real/cuda_internal.h"

/* An operation's kernels. */
struct weights_job {
    struct cuda_exec *x;
    const struct cuda_device *device;
    const struct cuda_op *op;
    cudaStream_t stream;
};

static kvs_status weights_issue(const void *context)
{
    const struct weights_job *job = context;
    const unsigned char *from = job->device->weights + job->op->weights_at;
    for (uint32_t i = 0; i < job->op->n_fill; i++)
        KVS_CUDA(kvs_gpu_stream(job->stream, from + i * job->op->weights_size,
                                job->op->weights_size, job->device->sink),
                 job->device->gpu, 0, job->x->err);
    return KVS_OK;
}

static struct weights_job weights_job(struct cuda_exec *x, const struct kvs_op *op,
                                      const struct cuda_op *own)
{
    return (struct weights_job){.x = x,
                                .device = &x->devices[cuda_device_of(x, op)],
                                .op = own,
                                .stream = x->streams[op->queue]};
}

kvs_status cuda_weights_launch(struct cuda_exec *x, const struct kvs_op *op,
                               const struct cuda_op *own)
{
    struct weights_job job = weights_job(x, op, own);
    if (own->fill == NULL)
        return weights_issue(&job);
    KVS_CUDA(cudaGraphLaunch(own->fill, job.stream), job.device->gpu, 0, x->err);
    return KVS_OK;
}

static kvs_status weights_allocate(struct cuda_exec *x, struct cuda_device *device)
{
    if (device->weights_bytes == 0)
        return KVS_OK;
    KVS_TRY(cuda_use(x, device->gpu));
    KVS_CUDA(cudaMalloc((void **)&device->weights, device->weights_bytes), device->gpu,
             device->weights_bytes, x->err);
    KVS_CUDA(cudaMemset(device->weights, 1, device->weights_bytes), device->gpu,
             device->weights_bytes, x->err);
    return KVS_OK;
}

static kvs_status weights_capture(struct cuda_exec *x, const struct kvs_op *op,
                                  struct cuda_op *own)
{
    struct weights_job job = weights_job(x, op, own);
    KVS_TRY(cuda_use(x, job.device->gpu));
    return kvs_cuda_capture(job.stream, job.device->gpu, weights_issue, &job, &own->fill,
                            x->err);
}

kvs_status cuda_open_weights(struct cuda_exec *x)
{
    for (uint16_t d = 0; d < x->plan->n_devices; d++)
        KVS_TRY(weights_allocate(x, &x->devices[d]));
    for (size_t s = 0; s < x->plan->segments.n && !x->costs.submits_kernels; s++) {
        const struct kvs_segment *segment = &x->plan->segments.items[s];
        for (size_t i = 0; i < segment->ops.n; i++)
            if (x->ops[s][i].n_fill > 1)
                KVS_TRY(weights_capture(x, &segment->ops.items[i], &x->ops[s][i]));
    }
    return KVS_OK;
}

void cuda_close_weights(struct cuda_exec *x)
{
    for (size_t s = 0; x->ops && s < x->plan->segments.n; s++)
        for (size_t i = 0; x->ops[s] && i < x->plan->segments.items[s].ops.n; i++)
            if (x->ops[s][i].fill)
                (void)cudaGraphExecDestroy(x->ops[s][i].fill);
    for (uint16_t d = 0; x->devices && d < x->plan->n_devices; d++) {
        cudaFree(x->devices[d].weights);
        x->devices[d].weights = NULL;
    }
}
