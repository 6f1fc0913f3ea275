/*
 * A recording run: an event behind each operation that the host does not wait for. An operation
 * begins when it has been issued, the one before it on its queue has ended, and so have those it
 * depends on: that is worked out afterwards, so that half the events are enough.
 */
#include "real/cuda_internal.h"

#define RECORD_NONE UINT32_MAX

static kvs_status record_event(struct cuda_exec *x, cudaEvent_t *out, int gpu)
{
    if (x->spare_events.n > 0) {
        *out = x->spare_events.items[--x->spare_events.n];
        return KVS_OK;
    }
    KVS_CUDA(cudaEventCreate(out), gpu, 0, x->err);
    return KVS_OK;
}

/* Device operations of a run. */
static uint64_t record_n_ops(const struct kvs_plan *plan)
{
    uint64_t n = 0;
    for (size_t s = 0; s < plan->segments.n; s++) {
        const struct kvs_segment *segment = &plan->segments.items[s];
        n += (uint64_t)segment->ops.n * (segment->n_tokens / segment->period + 1);
    }
    return n;
}

/* Nothing is made while the run is under way. Events on several GPUs are made as they come. */
static kvs_status record_reserve(struct cuda_exec *x)
{
    uint64_t n_ops = record_n_ops(x->plan);
    KVS_TRY(KVS_ARRAY_RESERVE(&x->spans, n_ops, x->err));
    KVS_TRY(KVS_ARRAY_RESERVE(&x->spare_events, n_ops, x->err));
    for (uint16_t d = 1; d < x->plan->n_devices; d++)
        if (x->devices[d].gpu != x->devices[0].gpu)
            return KVS_OK;
    KVS_TRY(cuda_use(x, x->devices[0].gpu));
    while (x->spare_events.n < n_ops) {
        cudaEvent_t event;
        KVS_CUDA(cudaEventCreate(&event), x->devices[0].gpu, 0, x->err);
        x->spare_events.items[x->spare_events.n++] = event;
    }
    return KVS_OK;
}

/* Device time 0 is the start of the run. */
kvs_status cuda_record_begin(struct cuda_exec *x)
{
    void *memory;
    x->spans.n = 0;
    KVS_TRY(record_reserve(x));
    if (!x->base) {
        KVS_TRY(kvs_mem_alloc(x->plan->n_devices, sizeof *x->base, &memory, x->err));
        x->base = memory;
        KVS_TRY(kvs_mem_alloc(cuda_n_events(x), sizeof *x->latest, &memory, x->err));
        x->latest = memory;
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

static kvs_time record_ps(const struct cuda_exec *x, double at_s)
{
    return (kvs_time)((at_s - x->start_s) * 1e12);
}

static struct kvs_span record_span(const struct cuda_exec *x, const struct cuda_now *now,
                                   double issue_s)
{
    return (struct kvs_span){.token = now->global,
                             .segment = now->segment,
                             .op = now->op,
                             .queue = cuda_op_of(x, now)->queue,
                             .issue_ps = record_ps(x, issue_s)};
}

static kvs_status record_device_op(struct cuda_exec *x, const struct cuda_now *now,
                                   double issue_s)
{
    const struct kvs_op *op = cuda_op_of(x, now);
    struct cuda_span span = {.span = record_span(x, now, issue_s),
                             .device = cuda_device_of(x, op)};
    int gpu = x->devices[span.device].gpu;
    if (op->flags & KVS_OP_BLOCKS) {
        span.span.end_ps = record_ps(x, cuda_now_s());
        return KVS_ARRAY_PUSH(&x->spans, span, x->err);
    }
    KVS_TRY(record_event(x, &span.end, gpu));
    KVS_CUDA(cudaEventRecord(span.end, x->streams[op->queue]), gpu, 0, x->err);
    return KVS_ARRAY_PUSH(&x->spans, span, x->err);
}

kvs_status cuda_record_end(struct cuda_exec *x, const struct cuda_now *now, double issue_s)
{
    const struct kvs_op *op = cuda_op_of(x, now);
    struct cuda_now member = *now;
    if (op->kind != KVS_OP_COLLECTIVE)
        return record_device_op(x, now, issue_s);
    if (!cuda_is_last_member(x, now)) /* it is launched with its last member */
        return KVS_OK;
    member.op -= op->collective.n_members - 1;
    for (; member.op <= now->op; member.op++)
        KVS_TRY(record_device_op(x, &member, issue_s));
    return KVS_OK;
}

kvs_status cuda_record_host(struct cuda_exec *x, const struct cuda_now *now, double start_s)
{
    struct cuda_span span = {.span = record_span(x, now, start_s), .device = KVS_HOST_DEVICE};
    span.span.start_ps = span.span.ready_ps = span.span.issue_ps;
    span.span.end_ps = record_ps(x, cuda_now_s());
    return KVS_ARRAY_PUSH(&x->spans, span, x->err);
}

/* The end of the latest span of a dependency, when it stands before this one. */
static kvs_time record_dep_end(const struct cuda_exec *x, size_t i, const struct kvs_dep *dep)
{
    const struct kvs_span *span = &x->spans.items[i].span;
    if (span->token < dep->distance)
        return 0;
    uint32_t on = x->latest[cuda_instance(x, dep->op, span->token - dep->distance)];
    return on != RECORD_NONE && on < i ? x->spans.items[on].span.end_ps : 0;
}

/* Times of a device operation; last_end: of the one before it on its queue. */
static kvs_status record_times(struct cuda_exec *x, size_t i, kvs_time last_end)
{
    struct cuda_span *span = &x->spans.items[i];
    const struct kvs_segment *segment = &x->plan->segments.items[span->span.segment];
    const struct kvs_op *op = &segment->ops.items[span->span.op];
    kvs_time start = span->span.issue_ps > last_end ? span->span.issue_ps : last_end;
    float end_ms;
    if (span->end) {
        KVS_CUDA(cudaEventElapsedTime(&end_ms, x->base[span->device], span->end),
                 x->devices[span->device].gpu, 0, x->err);
        span->span.end_ps = (kvs_time)((double)end_ms * 1e9);
    }
    for (uint32_t k = op->first_dep; k < op->first_dep + op->n_dep; k++) {
        kvs_time end = record_dep_end(x, i, &segment->deps.items[k]);
        start = end > start ? end : start;
    }
    if (start > span->span.end_ps)
        start = span->span.end_ps; /* clocks of host and device differ by microseconds */
    span->span.start_ps = span->span.ready_ps = start;
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

static kvs_status record_finish(struct cuda_exec *x, kvs_time *last_end,
                                struct kvs_timeline *timeline)
{
    for (size_t i = 0; i < cuda_n_events(x); i++)
        x->latest[i] = RECORD_NONE;
    for (size_t i = 0; i < x->spans.n; i++) {
        struct cuda_span *span = &x->spans.items[i];
        x->latest[cuda_instance(x, span->span.op, span->span.token)] = (uint32_t)i;
        if (span->device != KVS_HOST_DEVICE) {
            KVS_TRY(record_times(x, i, last_end[span->span.queue]));
            last_end[span->span.queue] = span->span.end_ps;
            record_account(x, span);
        }
        if (span->end)
            KVS_TRY(KVS_ARRAY_PUSH(&x->spare_events, span->end, x->err));
        span->end = NULL;
        KVS_TRY(KVS_ARRAY_PUSH(&timeline->spans, span->span, x->err));
    }
    x->spans.n = 0;
    return KVS_OK;
}

kvs_status cuda_record_finish(struct cuda_exec *x, struct kvs_timeline *timeline)
{
    void *memory;
    timeline->spans.n = 0;
    KVS_TRY(kvs_mem_alloc(x->plan->queues.n, sizeof(kvs_time), &memory, x->err));
    kvs_status status = record_finish(x, memory, timeline);
    kvs_mem_free(memory);
    return status;
}

void cuda_record_fini(struct cuda_exec *x)
{
    for (size_t i = 0; i < x->spans.n; i++) {
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
    kvs_mem_free(x->latest);
}
