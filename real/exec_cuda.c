/* The host thread of a plan on CUDA: issues, waits, works, in the order of the plan. */
#include "real/exec_cuda.h"

#include "real/cuda_internal.h"

#define EXEC_PAUSE_OPS 32u /* of a few launches each */

kvs_status cuda_event_on(struct cuda_exec *x, struct cuda_event *event, int gpu)
{
    if (event->event && event->gpu == gpu)
        return KVS_OK;
    KVS_TRY(cuda_use(x, gpu));
    if (event->event)
        cudaEventDestroy(event->event);
    event->event = NULL;
    event->gpu = gpu;
    KVS_CUDA(cudaEventCreateWithFlags(&event->event, cudaEventDisableTiming), gpu, 0, x->err);
    return KVS_OK;
}

static struct cuda_event *exec_event(struct cuda_exec *x, kvs_op_id op, uint32_t global)
{
    return &x->events[cuda_instance(x, op, global)];
}

/* The event of the instance that a dependency names; NULL when nothing has to be waited for. */
static struct cuda_event *exec_awaited(struct cuda_exec *x, const struct cuda_now *now,
                                       const struct kvs_dep *dep, uint32_t group_token)
{
    const struct kvs_op *op = cuda_op_of(x, now);
    const struct kvs_op *on = &cuda_segment(x, now)->ops.items[dep->op];
    if (on->queue == KVS_HOST_QUEUE || on->queue == op->queue ||
        now->global < group_token + dep->distance)
        return NULL;
    struct cuda_event *event = exec_event(x, dep->op, now->global - dep->distance);
    return event->event ? event : NULL;
}

static void exec_account(struct cuda_exec *x, const struct kvs_op *op, double start_s)
{
    double waited_ps = (cuda_now_s() - start_s) * 1e12;
    x->run->host.blocked_ps[op->tag] += (kvs_time)waited_ps;
}

/* The host waits for each dependency of a wait, or of host work. */
static kvs_status exec_host_waits(struct cuda_exec *x, const struct cuda_now *now,
                                  uint32_t group_token)
{
    const struct kvs_segment *segment = cuda_segment(x, now);
    const struct kvs_op *op = cuda_op_of(x, now);
    double start_s = cuda_now_s();
    for (uint32_t k = op->first_dep; k < op->first_dep + op->n_dep; k++) {
        struct cuda_event *event = exec_awaited(x, now, &segment->deps.items[k], group_token);
        if (event)
            KVS_CUDA(cudaEventSynchronize(event->event), event->gpu, 0, x->err);
    }
    exec_account(x, op, start_s);
    return KVS_OK;
}

static kvs_status exec_stream_waits(struct cuda_exec *x, const struct cuda_now *now,
                                    uint32_t group_token, int gpu, cudaStream_t stream)
{
    const struct kvs_segment *segment = cuda_segment(x, now);
    const struct kvs_op *op = cuda_op_of(x, now);
    for (uint32_t k = op->first_dep; k < op->first_dep + op->n_dep; k++) {
        struct cuda_event *event = exec_awaited(x, now, &segment->deps.items[k], group_token);
        if (event)
            KVS_CUDA(cudaStreamWaitEvent(stream, event->event, 0), gpu, 0, x->err);
    }
    return KVS_OK;
}

/* What others wait for ends here. */
static kvs_status exec_mark(struct cuda_exec *x, const struct cuda_now *now)
{
    const struct kvs_op *op = cuda_op_of(x, now);
    int gpu = x->devices[cuda_device_of(x, op)].gpu;
    if (!x->ops[now->segment][now->op].is_awaited)
        return KVS_OK;
    struct cuda_event *event = exec_event(x, now->op, now->global);
    KVS_TRY(cuda_event_on(x, event, gpu));
    KVS_CUDA(cudaEventRecord(event->event, x->streams[op->queue]), gpu, 0, x->err);
    return KVS_OK;
}

/* A collective ends for all its members at once. */
static kvs_status exec_mark_all(struct cuda_exec *x, const struct cuda_now *now)
{
    const struct kvs_op *op = cuda_op_of(x, now);
    struct cuda_now member = *now;
    if (op->kind != KVS_OP_COLLECTIVE)
        return exec_mark(x, now);
    if (!cuda_is_last_member(x, now))
        return KVS_OK;
    for (uint32_t i = 0; i < op->collective.n_members; i++, member.op--)
        KVS_TRY(exec_mark(x, &member));
    return KVS_OK;
}

/*
 * A launch blocks once some thousand are waiting, and holds the driver while it does; the threads
 * that play copy engines need the driver to get anything done. So the host does not run that far
 * ahead of the devices.
 */
static kvs_status exec_pause(struct cuda_exec *x, const struct kvs_op *op, int gpu)
{
    struct cuda_event *pause = &x->pauses[x->n_launched / EXEC_PAUSE_OPS % 2];
    if (++x->n_launched % EXEC_PAUSE_OPS != 0)
        return KVS_OK;
    if (pause->event)
        KVS_CUDA(cudaEventSynchronize(pause->event), pause->gpu, 0, x->err);
    KVS_TRY(cuda_event_on(x, pause, gpu));
    KVS_CUDA(cudaEventRecord(pause->event, x->streams[op->queue]), gpu, 0, x->err);
    return KVS_OK;
}

static kvs_status exec_device_op(struct cuda_exec *x, const struct cuda_now *now,
                                 uint32_t group_token)
{
    const struct kvs_op *op = cuda_op_of(x, now);
    int gpu = x->devices[cuda_device_of(x, op)].gpu;
    double issue_s = x->is_recording ? cuda_now_s() : 0.0;
    KVS_TRY(cuda_use(x, gpu));
    if (x->emulate && kvs_op_class_of(op) == KVS_CLASS_ENGINE_COPY) {
        KVS_TRY(cuda_emulate_follow(x->emulate, op->queue, x->streams[op->queue], x->err));
        KVS_TRY(exec_stream_waits(x, now, group_token, gpu,
                                  cuda_emulate_stream(x->emulate, op->queue)));
    }
    KVS_TRY(exec_stream_waits(x, now, group_token, gpu, x->streams[op->queue]));
    if (x->emulate)
        cuda_emulate_note(x->emulate, op->queue);
    KVS_TRY(cuda_launch(x, now));
    if (x->emulate)
        KVS_TRY(exec_pause(x, op, gpu));
    KVS_TRY(exec_mark_all(x, now));
    if (op->flags & KVS_OP_BLOCKS) {
        double start_s = cuda_now_s();
        KVS_CUDA(cudaStreamSynchronize(x->streams[op->queue]), gpu, 0, x->err);
        exec_account(x, op, start_s);
    }
    return x->is_recording ? cuda_record_end(x, now, issue_s) : KVS_OK;
}

static kvs_status exec_op(struct cuda_exec *x, const struct cuda_now *now, uint32_t group_token)
{
    const struct kvs_op *op = cuda_op_of(x, now);
    double start_s = 0.0;
    x->run->n_dispatched++;
    if (op->queue != KVS_HOST_QUEUE)
        return exec_device_op(x, now, group_token);
    if (x->is_recording)
        start_s = cuda_now_s();
    KVS_TRY(exec_host_waits(x, now, group_token));
    if (op->kind == KVS_OP_HOST) {
        double work_s = cuda_now_s();
        KVS_TRY(cuda_host_work(x, now));
        kvs_time work_ps = (kvs_time)((cuda_now_s() - work_s) * 1e12);
        x->run->host.work_ps += work_ps;
        x->run->host.sample_ps += op->tag == KVS_TAG_SAMPLE ? work_ps : 0;
    }
    return x->is_recording ? cuda_record_host(x, now, start_s) : KVS_OK;
}

/* Every stream has run dry. */
static kvs_status exec_drain(struct cuda_exec *x)
{
    for (size_t q = 1; q < x->plan->queues.n; q++) {
        int gpu = x->devices[x->plan->queues.items[q].device].gpu;
        KVS_TRY(cuda_use(x, gpu));
        KVS_CUDA(cudaStreamSynchronize(x->streams[q]), gpu, 0, x->err);
    }
    return KVS_OK;
}

static kvs_status exec_token(struct cuda_exec *x, struct cuda_now *now, uint32_t group_token)
{
    const struct kvs_segment *segment = cuda_segment(x, now);
    uint32_t phase = now->token % segment->period;
    for (now->op = 0; now->op < segment->ops.n; now->op++)
        if (segment->ops.items[now->op].phase == phase)
            KVS_TRY(exec_op(x, now, group_token));
    return KVS_OK;
}

static kvs_status exec_tokens(struct cuda_exec *x)
{
    struct cuda_now now = {0};
    uint32_t group_token = 0;
    for (; now.segment < x->plan->segments.n; now.segment++) {
        const struct kvs_segment *segment = cuda_segment(x, &now);
        if (segment->has_barrier) {
            KVS_TRY(exec_drain(x));
            group_token = now.global;
        }
        for (now.token = 0; now.token < segment->n_tokens; now.token++, now.global++) {
            if (x->options.stop && *x->options.stop)
                return kvs_error_set(x->err, KVS_ESTOPPED, "stopped");
            KVS_TRY(exec_token(x, &now, group_token));
        }
    }
    return KVS_OK;
}

static kvs_status exec_totals(struct cuda_exec *x)
{
    struct kvs_run *run = x->run;
    const struct kvs_machine *m = x->c->machine;
    void *memory;
    *run = (struct kvs_run){.n_tokens = kvs_plan_n_tokens(x->plan),
                            .n_devices = (uint16_t)m->n_devices,
                            .n_links = m->n_links,
                            .time_scale = 1.0};
    run->repeat_from = run->n_tokens;
    KVS_TRY(kvs_mem_alloc(m->n_devices, sizeof *run->devices, &memory, x->err));
    run->devices = memory;
    KVS_TRY(kvs_mem_alloc(m->n_links, sizeof *run->links, &memory, x->err));
    run->links = memory;
    KVS_TRY(kvs_mem_alloc(m->n_devices, sizeof *run->busy_factors, &memory, x->err));
    run->busy_factors = memory;
    for (uint32_t d = 0; d < m->n_devices; d++)
        run->busy_factors[d] = 1.0;
    return KVS_OK;
}

static kvs_status exec_run_tokens(struct cuda_exec *x, struct kvs_timeline *timeline)
{
    KVS_TRY(exec_totals(x));
    if (x->emulate)
        KVS_TRY(cuda_emulate_begin(x->emulate, x->err));
    KVS_TRY(cuda_reset_memory(x));
    if (x->is_recording)
        KVS_TRY(cuda_record_begin(x));
    x->start_s = cuda_now_s();
    KVS_TRY(exec_tokens(x));
    KVS_TRY(exec_drain(x));
    if (x->emulate)
        KVS_TRY(cuda_emulate_check(x->emulate, x->err));
    x->run->total_ps = (kvs_time)((cuda_now_s() - x->start_s) * 1e12);
    KVS_TRY(cuda_digest(x, &x->run->digest));
    x->run->has_digest = true;
    return x->is_recording ? cuda_record_finish(x, timeline) : KVS_OK;
}

static kvs_status exec_cuda_run(void *session, struct kvs_run *run,
                                struct kvs_timeline *timeline, struct kvs_error *err)
{
    struct cuda_exec *x = session;
    struct kvs_error ignored;
    x->run = run;
    x->err = err;
    x->is_recording = timeline != NULL;
    kvs_status status = exec_run_tokens(x, timeline);
    if (status != KVS_OK) {
        x->err = &ignored; /* nothing is left running */
        if (exec_drain(x) != KVS_OK)
            x->current_gpu = -1;
        kvs_run_fini(run);
    }
    if (x->emulate)
        cuda_emulate_end(x->emulate);
    return status;
}

static void exec_cuda_close(void *session)
{
    struct cuda_exec *x = session;
    if (!x)
        return;
    cuda_record_fini(x);
    cuda_emulate_destroy(x->emulate);
    cuda_close_collectives(x);
    for (unsigned i = 0; i < KVS_COUNT_OF(x->pauses); i++)
        if (x->pauses[i].event)
            cudaEventDestroy(x->pauses[i].event);
    for (size_t i = 0; x->events && i < cuda_n_events(x); i++)
        if (x->events[i].event)
            cudaEventDestroy(x->events[i].event);
    cuda_close_weights(x);
    for (size_t s = 0; x->ops && s < x->plan->segments.n; s++)
        kvs_mem_free(x->ops[s]);
    kvs_mem_free(x->ops);
    kvs_mem_free(x->events);
    cuda_close_memory(x);
    cuda_close_devices(x);
    kvs_program_destroy(x->program);
    kvs_costs_fini(&x->costs);
    kvs_mem_free(x);
}

static kvs_status exec_open_emulate(struct cuda_exec *x)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(x->plan->n_devices, sizeof(int), &memory, x->err));
    int *gpus = memory;
    for (uint16_t d = 0; d < x->plan->n_devices; d++)
        gpus[d] = x->devices[d].gpu;
    kvs_status status = cuda_emulate_create(x->plan, &x->costs, gpus, &x->emulate, x->err);
    kvs_mem_free(gpus);
    x->current_gpu = -1;
    return status;
}

static kvs_status exec_open_parts(struct cuda_exec *x)
{
    KVS_TRY(kvs_costs_create(x->c, &x->costs, x->err));
    for (uint32_t d = 0; x->options.busy_factors && d < x->costs.n_devices; d++)
        x->costs.devices[d].busy_factor = x->options.busy_factors[d];
    KVS_TRY(
        kvs_program_create(x->plan, x->options.seed, x->options.verifies, &x->program, x->err));
    KVS_TRY(cuda_open_devices(x));
    KVS_TRY(cuda_open_memory(x));
    KVS_TRY(cuda_bind_ops(x));
    KVS_TRY(cuda_open_weights(x));
    KVS_TRY(cuda_open_collectives(x));
    return x->options.emulates_links ? exec_open_emulate(x) : KVS_OK;
}

static kvs_status exec_cuda_open(const struct kvs_plan *plan, const struct kvs_case *c,
                                 const struct kvs_exec_options *options, void **session,
                                 struct kvs_error *err)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(1, sizeof(struct cuda_exec), &memory, err));
    struct cuda_exec *x = memory;
    x->plan = plan;
    x->c = c;
    x->options = *options;
    x->err = err;
    kvs_status status = exec_open_parts(x);
    if (status == KVS_OK)
        *session = x;
    else
        exec_cuda_close(x);
    return status;
}

const struct kvs_exec_ops kvs_exec_cuda = {
    .abi_version = KVS_EXEC_ABI,
    .name = "cuda",
    .summary = "GPUs: streams, copy engines and kernels as the plan asks for",
    .is_measured = true,
    .open = exec_cuda_open,
    .run = exec_cuda_run,
    .close = exec_cuda_close,
};
