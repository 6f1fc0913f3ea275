/* A recording run: a pair of events around each operation, times worked out afterwards. */
#include "real/cuda_internal.h"

static kvs_status record_event(struct cuda_exec *x, cudaEvent_t *out, int gpu)
{
    if (x->spare_events.n > 0) {
        *out = x->spare_events.items[--x->spare_events.n];
        return KVS_OK;
    }
    KVS_CUDA(cudaEventCreate(out), gpu, 0, x->err);
    return KVS_OK;
}

/* Device time 0 is the start of the run. */
kvs_status cuda_record_begin(struct cuda_exec *x)
{
    void *memory;
    x->spans.n = 0;
    if (!x->base) {
        KVS_TRY(kvs_mem_alloc(x->plan->n_devices, sizeof *x->base, &memory, x->err));
        x->base = memory;
    }
    for (uint16_t d = 0; d < x->plan->n_devices; d++) {
        int gpu = x->devices[d].gpu;
        KVS_TRY(cuda_use(x, gpu));
        if (!x->base[d])
            KVS_CUDA(cudaEventCreate(&x->base[d]), gpu, 0, x->err);
        KVS_CUDA(cudaEventRecord(x->base[d], NULL), gpu, 0, x->err);
        KVS_CUDA(cudaEventSynchronize(x->base[d]), gpu, 0, x->err);
    }
    return KVS_OK;
}

static kvs_time record_now_ps(const struct cuda_exec *x)
{
    return (kvs_time)((cuda_now_s() - x->start_s) * 1e12);
}

static struct kvs_span record_span(const struct cuda_exec *x, const struct cuda_now *now)
{
    return (struct kvs_span){.token = now->global,
                             .segment = now->segment,
                             .op = now->op,
                             .queue = cuda_op_of(x, now)->queue,
                             .issue_ps = record_now_ps(x)};
}

kvs_status cuda_record_start(struct cuda_exec *x, const struct cuda_now *now)
{
    const struct kvs_op *op = cuda_op_of(x, now);
    struct cuda_span span = {.span = record_span(x, now), .device = cuda_device_of(x, op)};
    int gpu = x->devices[span.device].gpu;
    KVS_TRY(record_event(x, &span.start, gpu));
    KVS_TRY(record_event(x, &span.end, gpu));
    KVS_CUDA(cudaEventRecord(span.start, x->streams[op->queue]), gpu, 0, x->err);
    return KVS_ARRAY_PUSH(&x->spans, span, x->err);
}

/* A collective ends for all its members, which are the last spans, with its last one. */
kvs_status cuda_record_end(struct cuda_exec *x, const struct cuda_now *now)
{
    const struct kvs_op *op = cuda_op_of(x, now);
    uint32_t n = op->kind == KVS_OP_COLLECTIVE ? op->collective.n_members : 1;
    if (op->kind == KVS_OP_COLLECTIVE && !cuda_is_last_member(x, now))
        return KVS_OK;
    for (uint32_t i = 0; i < n; i++) {
        const struct cuda_span *span = &x->spans.items[x->spans.n - 1 - i];
        KVS_CUDA(cudaEventRecord(span->end, x->streams[span->span.queue]),
                 x->devices[span->device].gpu, 0, x->err);
    }
    return KVS_OK;
}

kvs_status cuda_record_host(struct cuda_exec *x, const struct cuda_now *now, double start_s)
{
    struct cuda_span span = {.span = record_span(x, now), .device = KVS_HOST_DEVICE};
    span.span.end_ps = span.span.issue_ps;
    span.span.start_ps = span.span.ready_ps = span.span.issue_ps =
        (kvs_time)((start_s - x->start_s) * 1e12);
    return KVS_ARRAY_PUSH(&x->spans, span, x->err);
}

static kvs_status record_times(struct cuda_exec *x, struct cuda_span *span)
{
    int gpu = x->devices[span->device].gpu;
    float start_ms, end_ms;
    KVS_CUDA(cudaEventElapsedTime(&start_ms, x->base[span->device], span->start), gpu, 0,
             x->err);
    KVS_CUDA(cudaEventElapsedTime(&end_ms, x->base[span->device], span->end), gpu, 0, x->err);
    span->span.start_ps = span->span.ready_ps = (kvs_time)((double)start_ms * 1e9);
    span->span.end_ps = (kvs_time)((double)end_ms * 1e9);
    return KVS_OK;
}

/* Busy times of a device, from what was recorded. */
static void record_account(struct cuda_exec *x, const struct cuda_span *span)
{
    const struct kvs_op *op =
        &x->plan->segments.items[span->span.segment].ops.items[span->span.op];
    struct kvs_device_totals *totals = &x->run->devices[span->device];
    kvs_time took = span->span.end_ps - span->span.start_ps;
    kvs_dir dir = (kvs_dir)((op->flags & KVS_OP_D2H) != 0);
    switch (kvs_op_class_of(op)) {
    case KVS_CLASS_HEAVY:
        totals->compute_ps += took;
        return;
    case KVS_CLASS_MEMBER:
        totals->collective_ps += took;
        return;
    case KVS_CLASS_ENGINE_COPY:
        totals->engine_ps[dir] += took;
        totals->moving_ps[dir] += took;
        return;
    case KVS_CLASS_KERNEL_COPY:
    case KVS_CLASS_LIGHT:
    case KVS_CLASS_HOST_WORK:
    case KVS_CLASS_HOST_WAIT:
    case KVS_CLASS_COUNT:
        return;
    }
}

kvs_status cuda_record_finish(struct cuda_exec *x, struct kvs_timeline *timeline)
{
    timeline->spans.n = 0;
    for (size_t i = 0; i < x->spans.n; i++) {
        struct cuda_span *span = &x->spans.items[i];
        if (span->device != KVS_HOST_DEVICE) {
            KVS_TRY(record_times(x, span));
            record_account(x, span);
            KVS_TRY(KVS_ARRAY_PUSH(&x->spare_events, span->start, x->err));
            span->start = NULL;
            KVS_TRY(KVS_ARRAY_PUSH(&x->spare_events, span->end, x->err));
            span->end = NULL;
        }
        KVS_TRY(KVS_ARRAY_PUSH(&timeline->spans, span->span, x->err));
    }
    x->spans.n = 0;
    return KVS_OK;
}

void cuda_record_fini(struct cuda_exec *x)
{
    for (size_t i = 0; i < x->spans.n; i++) {
        if (x->spans.items[i].start)
            cudaEventDestroy(x->spans.items[i].start);
        if (x->spans.items[i].end)
            cudaEventDestroy(x->spans.items[i].end);
    }
    for (size_t i = 0; i < x->spare_events.n; i++)
        cudaEventDestroy(x->spare_events.items[i]);
    for (uint16_t d = 0; x->base && d < x->plan->n_devices; d++)
        if (x->base[d])
            cudaEventDestroy(x->base[d]);
    KVS_ARRAY_FREE(&x->spans);
    KVS_ARRAY_FREE(&x->spare_events);
    kvs_mem_free(x->base);
}
