/* The host thread: issues operations in plan order, works, waits. */
#include "sim/sim.h"

/* The next token, segment or group; false at the end of the plan. */
static bool host_next_token(struct sim *sim)
{
    struct sim_host *h = &sim->host;
    h->index = 0;
    if (++h->token < sim->segments[h->segment].end_token)
        return true;
    if (++h->segment == sim->n_segments) {
        h->state = SIM_HOST_DONE;
        return false;
    }
    h->wants_barrier = h->segment == sim->group_end;
    return true;
}

/* The first operation of this token's phase from h->index on; false at the end of the token. */
static bool host_seek(struct sim *sim)
{
    struct sim_host *h = &sim->host;
    const struct sim_segment *s = &sim->segments[h->segment];
    if (s->period != 1) {
        uint32_t phase = (h->token - s->first_token) % s->period;
        while (h->index < s->n_ops && s->ops[h->index].phase != phase)
            h->index++;
    }
    return h->index < s->n_ops;
}

/* The host's clock moves to the moment at which its next operation takes effect. */
static void host_call(struct sim *sim, struct sim_op *op)
{
    struct sim_host *h = &sim->host;
    h->op = op;
    h->next_dep = 0;
    h->now_ps += op->call_ps;
    sim->run->host.issue_ps += op->call_ps;
}

static void host_begin_op(struct sim *sim)
{
    struct sim_host *h = &sim->host;
    const struct sim_segment *s = &sim->segments[h->segment];
    h->last_op = s->period == 1 ? &s->ops[s->n_ops - 1] : NULL;
    host_call(sim, &s->ops[h->index]);
}

static void host_advance(struct sim *sim)
{
    struct sim_host *h = &sim->host;
    h->index++;
    if (h->op < h->last_op) {
        host_call(sim, h->op + 1);
        return;
    }
    while (!host_seek(sim)) {
        if (!host_next_token(sim) || h->wants_barrier)
            return; /* at a barrier sim_host_act goes on once everything has ended */
        sim_repeat_token(sim);
    }
    host_begin_op(sim);
}

void sim_host_start(struct sim *sim)
{
    sim_repeat_token(sim);
    if (host_seek(sim))
        host_begin_op(sim);
    else
        host_advance(sim);
}

static void host_block(struct sim *sim, const struct sim_op *on, uint32_t token, bool pays_sync)
{
    struct sim_host *h = &sim->host;
    h->state = SIM_HOST_BLOCKED;
    h->blocked_on = on;
    h->blocked_token = token;
    h->pays_sync = pays_sync;
    h->blocked_since_ps = h->now_ps;
    h->blocked_tag = on ? h->op->tag : KVS_TAG_BOUNDARY;
}

/* A wait: every dependency, one after another. Returns false while blocked. */
static bool host_wait(struct sim *sim)
{
    struct sim_host *h = &sim->host;
    const struct sim_segment *s = &sim->segments[h->segment];
    for (; h->next_dep < h->op->n_dep; h->next_dep++) {
        const struct kvs_dep *dep = &s->deps[h->op->first_dep + h->next_dep];
        const struct sim_op *on = sim_dep_op(sim, s, h->token, dep);
        if (!on || on->queue == KVS_HOST_QUEUE || on->done_before > h->token - dep->distance)
            continue; /* its own operations are over when it comes to a later one */
        host_block(sim, on, h->token - dep->distance, true);
        return false;
    }
    return true;
}

static bool host_is_idle_everywhere(const struct sim *sim)
{
    for (uint32_t q = 1; q < sim->n_queues; q++)
        if (sim->queues[q].n_done != sim->queues[q].n_issued)
            return false;
    return true;
}

/* A segment with a barrier begins once everything has ended. */
static void host_pass_barrier(struct sim *sim)
{
    struct sim_host *h = &sim->host;
    if (!host_is_idle_everywhere(sim)) {
        host_block(sim, NULL, 0, false);
        return;
    }
    h->wants_barrier = false;
    sim->status = sim_bind_group(sim, h->segment);
    if (sim->status == KVS_OK)
        sim_host_start(sim);
}

static void host_record(struct sim *sim, kvs_time start_ps, kvs_time end_ps)
{
    struct sim_host *h = &sim->host;
    sim->n_dispatched++;
    h->op->done_ps = end_ps;
    if (!sim->timeline || sim->status != KVS_OK)
        return;
    struct kvs_span span = {.token = h->token,
                            .segment = h->segment,
                            .op = h->index,
                            .queue = KVS_HOST_QUEUE,
                            .issue_ps = start_ps,
                            .ready_ps = start_ps,
                            .start_ps = start_ps,
                            .end_ps = end_ps};
    sim->status = KVS_ARRAY_PUSH(&sim->timeline->spans, span, sim->err);
}

/* Too many kernels of this queue are unfinished: the call itself blocks until one operation
 * ends. */
static bool host_queue_is_full(struct sim *sim)
{
    struct sim_host *h = &sim->host;
    const struct sim_queue *q = &sim->queues[h->op->queue];
    if (!sim->cost.submits_kernels || h->op->cls != KVS_CLASS_HEAVY || q->n_issued == q->n_done)
        return false;
    uint64_t in_flight = (q->n_issued - q->n_done + 1) * h->op->n_kernels;
    if (in_flight <= sim->cost.queue_limit)
        return false;
    h->wants_retry = true;
    host_block(sim, q->op, q->head_token, false);
    return true;
}

static bool host_blocks_after(const struct sim *sim)
{
    const struct sim_host *h = &sim->host;
    if (h->op->flags & KVS_OP_BLOCKS)
        return true;
    /* The driver stages pageable bytes on the issuing thread. */
    return (h->op->flags & KVS_OP_PAGEABLE) && h->op->cls == KVS_CLASS_ENGINE_COPY &&
           h->op->bytes + (double)h->op->bytes_step * (double)h->token >
               sim->cost.pageable_async_bytes;
}

static void host_issue(struct sim *sim)
{
    struct sim_host *h = &sim->host;
    const struct sim_op *op = h->op;
    if (host_queue_is_full(sim))
        return;
    sim_queue_issue(sim, op->queue);
    kvs_time more =
        kvs_op_more_ps(&sim->cost, &sim->segments[h->segment].plan->ops.items[h->index]);
    h->now_ps += more;
    sim->run->host.issue_ps += more;
    if (host_blocks_after(sim))
        host_block(sim, op, h->token, (op->flags & KVS_OP_BLOCKS) != 0);
    else
        host_advance(sim);
}

void sim_host_act(struct sim *sim)
{
    struct sim_host *h = &sim->host;
    if (h->wants_barrier) {
        host_pass_barrier(sim);
        return;
    }
    if (KVS_LIKELY(h->op->is_queued_only)) {
        sim_queue_issue(sim, h->op->queue);
        host_advance(sim);
        return;
    }
    switch ((kvs_op_class)h->op->cls) {
    case KVS_CLASS_HOST_WORK:
        if (!host_wait(sim))
            return;
        host_record(sim, h->now_ps, h->now_ps + h->op->work_ps);
        h->now_ps += h->op->work_ps;
        sim->run->host.work_ps += h->op->work_ps;
        if (h->op->tag == KVS_TAG_SAMPLE)
            sim->run->host.sample_ps += h->op->work_ps;
        host_advance(sim);
        return;
    case KVS_CLASS_HOST_WAIT:
        h->wait_start_ps = h->now_ps;
        if (!host_wait(sim))
            return;
        host_record(sim, h->now_ps, h->now_ps);
        host_advance(sim);
        return;
    case KVS_CLASS_HEAVY:
    case KVS_CLASS_LIGHT:
    case KVS_CLASS_MEMBER:
    case KVS_CLASS_ENGINE_COPY:
    case KVS_CLASS_KERNEL_COPY:
    case KVS_CLASS_COUNT:
        host_issue(sim);
        return;
    }
}

void sim_host_wake(struct sim *sim)
{
    struct sim_host *h = &sim->host;
    bool goes_on = h->blocked_on ? h->blocked_on->done_before > h->blocked_token
                                 : host_is_idle_everywhere(sim);
    if (!goes_on)
        return;
    kvs_time waited = sim->now_ps - h->blocked_since_ps;
    sim->run->host.blocked_ps[h->blocked_tag] += waited > 0 ? waited : 0;
    h->state = SIM_HOST_ACTS;
    if (sim->now_ps > h->now_ps)
        h->now_ps = sim->now_ps;
    if (h->wants_barrier)
        return; /* acts again at now_ps */
    if (h->wants_retry) {
        h->wants_retry = false;
        return;
    }
    bool is_own = h->op->cls == KVS_CLASS_HOST_WAIT || h->op->cls == KVS_CLASS_HOST_WORK;
    if (is_own && !host_wait(sim))
        return; /* one synchronisation after the last of several */
    if (h->pays_sync) {
        h->now_ps += sim->cost.sync_ps;
        sim->run->host.blocked_ps[h->blocked_tag] += sim->cost.sync_ps;
    }
    if (h->op->cls == KVS_CLASS_HOST_WORK)
        return; /* works at now_ps: every dependency is met */
    if (h->op->cls == KVS_CLASS_HOST_WAIT)
        host_record(sim, h->wait_start_ps, h->now_ps);
    host_advance(sim);
}
