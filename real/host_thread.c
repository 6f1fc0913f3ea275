/* The plan's host, on the calling thread: issues operations in plan order, works, waits. */
#include "real/host_paced.h"

#define THREAD_AHEAD_NS INT64_C(50000) /* of its calls; no sleep is shorter than that anyway */
#define THREAD_STOP_NS  INT64_C(20000000) /* a request to stop is looked for that often */

static void thread_sleep(struct paced *p, kvs_time until_ps)
{
    paced_cond_wait(&p->host.wakes, &p->lock, &p->clock, until_ps,
                    p->options.stop ? THREAD_STOP_NS : 0);
}

/* false once the run is over, for whatever reason. */
static bool thread_goes_on(struct paced *p)
{
    if (!p->is_over && p->options.stop && *p->options.stop)
        paced_fail(p, kvs_error_set(p->err, KVS_ESTOPPED, "stopped"));
    return !p->is_over;
}

/* Until its next act is due and everything before it has happened. */
static bool thread_reach(struct paced *p)
{
    struct paced_host *h = &p->host;
    kvs_time ahead_ps = (kvs_time)((double)(THREAD_AHEAD_NS * KVS_PS_PER_NS) / p->clock.scale);
    while (thread_goes_on(p)) {
        paced_advance(p);
        kvs_time now_ps = paced_clock_now_ps(&p->clock);
        bool is_due = h->now_ps <= now_ps ||
                      (h->now_ps - now_ps <= ahead_ps && paced_next_ps(p, true) > h->now_ps);
        if (is_due && paced_next_ps(p, false) > h->now_ps) {
            p->time_ps = h->now_ps;
            return true;
        }
        if (!is_due)
            thread_sleep(p, h->now_ps);
    }
    return false;
}

static const struct kvs_op *thread_op(const struct paced *p)
{
    return &p->segments[p->host.segment].plan->ops.items[p->host.op];
}

static const struct paced_op *thread_cost(const struct paced *p)
{
    return &p->segments[p->host.segment].ops[p->host.op];
}

static struct paced_instance thread_instance(const struct paced *p)
{
    return (struct paced_instance){
        .segment = p->host.segment, .token = p->host.token, .op = p->host.op};
}

static bool thread_deps_are_met(struct paced *p)
{
    struct paced_host *h = &p->host;
    struct paced_instance self = thread_instance(p), on;
    const struct kvs_op *op = thread_op(p);
    const struct kvs_dep *deps = p->segments[h->segment].plan->deps.items;
    for (; h->next_dep < op->n_dep; h->next_dep++)
        if (paced_dep(p, &self, &deps[op->first_dep + h->next_dep], &on) &&
            paced_op_of(p, &on)->done_before <= on.token)
            return false;
    return true;
}

static bool thread_is_free(struct paced *p)
{
    struct paced_host *h = &p->host;
    switch (h->block) {
    case PACED_BLOCK_DEPS:
        return thread_deps_are_met(p);
    case PACED_BLOCK_INSTANCE:
        return paced_op_of(p, &h->blocked_on)->done_before > h->blocked_on.token;
    case PACED_BLOCK_ALL:
        return paced_is_idle(p);
    case PACED_BLOCK_NONE:
        break;
    }
    return true;
}

/* Whoever ends what it waits for sets its clock: nothing goes past its next act then. */
void paced_host_look(struct paced *p)
{
    struct paced_host *h = &p->host;
    if (h->block == PACED_BLOCK_NONE || !thread_is_free(p))
        return;
    h->block = PACED_BLOCK_NONE;
    (void)pthread_cond_signal(&h->wakes);
    if (h->is_draining)
        return;
    kvs_time waited_ps = p->time_ps - h->blocked_since_ps;
    kvs_time sync_ps = h->pays_sync ? p->costs.sync_ps : 0;
    p->run->host.blocked_ps[h->blocked_tag] += (waited_ps > 0 ? waited_ps : 0) + sync_ps;
    h->now_ps = (p->time_ps > h->now_ps ? p->time_ps : h->now_ps) + sync_ps;
}

static bool thread_block(struct paced *p, paced_block block, unsigned tag, bool pays_sync)
{
    struct paced_host *h = &p->host;
    h->block = block;
    h->blocked_tag = tag;
    h->pays_sync = pays_sync;
    h->blocked_since_ps = h->now_ps;
    for (;;) {
        if (!thread_goes_on(p))
            return false;
        paced_advance(p);
        if (p->is_over || h->block == PACED_BLOCK_NONE)
            return !p->is_over;
        thread_sleep(p, PACED_NEVER);
    }
}

/* One synchronisation after the last of several; none when all are over already. */
static bool thread_await_deps(struct paced *p)
{
    p->host.next_dep = 0;
    if (thread_deps_are_met(p))
        return true;
    return thread_block(p, PACED_BLOCK_DEPS, thread_op(p)->tag, true);
}

/* Returns the span's number; its end may be set later. */
static size_t thread_record(struct paced *p, kvs_time start_ps, kvs_time end_ps)
{
    const struct paced_host *h = &p->host;
    p->run->n_dispatched++;
    if (!p->timeline)
        return 0;
    struct kvs_span span = {.token = h->token,
                            .segment = h->segment,
                            .op = h->op,
                            .queue = KVS_HOST_QUEUE,
                            .issue_ps = start_ps,
                            .ready_ps = start_ps,
                            .start_ps = start_ps,
                            .end_ps = end_ps};
    kvs_status status = KVS_ARRAY_PUSH(&p->timeline->spans, span, p->err);
    if (status != KVS_OK)
        paced_fail(p, status);
    return p->timeline->spans.n - 1;
}

/* Its bytes, outside of the lock; the end is not before they are moved. */
static kvs_time thread_move(struct paced *p, kvs_time end_ps)
{
    struct paced_host *h = &p->host;
    uint32_t token = h->token - p->segments[h->segment].first_token;
    h->is_moving = true;
    paced_advance(p);
    (void)pthread_mutex_unlock(&p->lock);
    kvs_memory_apply(p->memory, h->segment, token, h->op);
    (void)pthread_mutex_lock(&p->lock);
    h->is_moving = false;
    kvs_time now_ps = paced_clock_now_ps(&p->clock);
    kvs_time moved_ps = now_ps > p->time_ps ? now_ps : p->time_ps;
    paced_count_late(p, moved_ps - end_ps);
    return moved_ps > end_ps ? moved_ps : end_ps;
}

static bool thread_work(struct paced *p)
{
    struct paced_host *h = &p->host;
    const struct kvs_op *op = thread_op(p);
    if (!thread_await_deps(p) || !thread_reach(p))
        return false;
    kvs_time start_ps = h->now_ps, end_ps = start_ps + thread_cost(p)->work_ps;
    size_t span = thread_record(p, start_ps, end_ps);
    if (!p->is_over && op->n_access > 0)
        end_ps = thread_move(p, end_ps);
    if (p->timeline && p->status == KVS_OK)
        p->timeline->spans.items[span].end_ps = end_ps;
    h->now_ps = end_ps;
    p->run->host.work_ps += end_ps - start_ps;
    if (op->tag == KVS_TAG_SAMPLE)
        p->run->host.sample_ps += end_ps - start_ps;
    return true;
}

static bool thread_wait(struct paced *p)
{
    kvs_time start_ps = p->host.now_ps;
    if (!thread_await_deps(p))
        return false;
    (void)thread_record(p, start_ps, p->host.now_ps);
    return true;
}

/* Too many kernels of this queue are unfinished: the call itself blocks until one operation ends.
 */
static bool thread_pass_limit(struct paced *p)
{
    const struct kvs_op *op = thread_op(p);
    const struct paced_queue *q = &p->queues[op->queue];
    while (p->costs.submits_kernels && thread_cost(p)->cls == KVS_CLASS_HEAVY &&
           q->n_issued > q->n_done &&
           (q->n_issued - q->n_done + 1) * op->compute.n_kernels > p->costs.queue_limit) {
        p->host.blocked_on = *paced_head_of(q);
        if (!thread_block(p, PACED_BLOCK_INSTANCE, op->tag, false) || !thread_reach(p))
            return false;
    }
    return true;
}

/* The driver stages pageable bytes on the issuing thread. */
static bool thread_is_staged(const struct paced *p, const struct kvs_op *op)
{
    const struct paced_segment *s = &p->segments[p->host.segment];
    return (op->flags & KVS_OP_PAGEABLE) && thread_cost(p)->cls == KVS_CLASS_ENGINE_COPY &&
           paced_copy_bytes(s->plan, op, p->host.token - s->first_token) >
               p->costs.pageable_async_bytes;
}

static bool thread_issue(struct paced *p)
{
    struct paced_host *h = &p->host;
    const struct kvs_op *op = thread_op(p);
    struct paced_instance instance = thread_instance(p);
    if (!thread_pass_limit(p))
        return false;
    paced_issue(p, op->queue, &instance);
    /* further kernels of the same operation are launched while the device is at work already */
    if (thread_cost(p)->cls == KVS_CLASS_HEAVY && p->costs.submits_kernels &&
        op->compute.n_kernels > 1 && !(op->flags & KVS_OP_SUBGRAPH)) {
        kvs_time more_ps = (kvs_time)(op->compute.n_kernels - 1) * p->costs.launch_ps;
        h->now_ps += more_ps;
        p->run->host.issue_ps += more_ps;
    }
    paced_settle(p);
    if (!(op->flags & KVS_OP_BLOCKS) && !thread_is_staged(p, op))
        return true;
    h->blocked_on = instance;
    return thread_block(p, PACED_BLOCK_INSTANCE, op->tag, (op->flags & KVS_OP_BLOCKS) != 0);
}

static bool thread_carry_out(struct paced *p)
{
    kvs_time call_ps = thread_cost(p)->call_ps;
    p->host.now_ps += call_ps;
    p->run->host.issue_ps += call_ps;
    if (!thread_reach(p))
        return false;
    switch (thread_cost(p)->cls) {
    case KVS_CLASS_HOST_WORK:
        return thread_work(p);
    case KVS_CLASS_HOST_WAIT:
        return thread_wait(p);
    case KVS_CLASS_HEAVY:
    case KVS_CLASS_LIGHT:
    case KVS_CLASS_MEMBER:
    case KVS_CLASS_ENGINE_COPY:
    case KVS_CLASS_KERNEL_COPY:
    case KVS_CLASS_COUNT:
        break;
    }
    return thread_issue(p);
}

/* A segment with a barrier begins once everything has ended. */
static bool thread_pass_barrier(struct paced *p)
{
    if (!thread_reach(p))
        return false;
    if (!paced_is_idle(p) && !thread_block(p, PACED_BLOCK_ALL, KVS_TAG_BOUNDARY, false))
        return false;
    p->group_token = p->segments[p->host.segment].first_token;
    return true;
}

static bool thread_segment(struct paced *p)
{
    struct paced_host *h = &p->host;
    const struct paced_segment *s = &p->segments[h->segment];
    if (h->segment > 0 && s->plan->has_barrier && !thread_pass_barrier(p))
        return false;
    for (h->token = s->first_token; h->token < s->end_token; h->token++) {
        uint32_t phase = (h->token - s->first_token) % s->plan->period;
        for (h->op = 0; h->op < s->plan->ops.n; h->op++)
            if (thread_op(p)->phase == phase && !thread_carry_out(p))
                return false;
    }
    return true;
}

/* Nothing is under way, and yet something waits. */
static kvs_status thread_report_stuck(const struct paced *p)
{
    const struct paced_host *h = &p->host;
    for (uint32_t i = 1; h->block == PACED_BLOCK_ALL && i < p->n_queues; i++) {
        const struct paced_queue *q = &p->queues[i];
        if (q->n_done != q->n_issued)
            return kvs_error_set(
                p->err, KVS_EPLAN, "plan: %s never goes on: op %u of token %u waits in vain",
                p->plan->queues.items[i].name, paced_head_of(q)->op, paced_head_of(q)->token);
    }
    const struct kvs_op *op = thread_op(p);
    return kvs_error_set(p->err, KVS_EPLAN,
                         "plan: nothing can go on at %.3f ms: the host waits at op %u (%s %s)",
                         kvs_ms_from_ps(p->time_ps), h->op,
                         kvs_op_kind_name((kvs_op_kind)op->kind),
                         kvs_tag_name((kvs_tag)op->tag));
}

/* A plan by hand may leave the devices at work. */
static void thread_drain(struct paced *p)
{
    struct paced_host *h = &p->host;
    h->is_draining = true;
    if (!thread_reach(p))
        return;
    if (!paced_is_idle(p) && !thread_block(p, PACED_BLOCK_ALL, KVS_TAG_BOUNDARY, false))
        return;
    h->now_ps = p->time_ps > h->now_ps ? p->time_ps : h->now_ps;
    (void)thread_reach(p);
}

static bool thread_plan(struct paced *p)
{
    for (uint32_t s = 0; s < p->n_segments; s++) {
        p->host.segment = s;
        if (!thread_segment(p))
            return false;
    }
    return true;
}

void paced_host_run(struct paced *p)
{
    if (thread_plan(p))
        thread_drain(p);
    if (p->is_stuck && p->status == KVS_OK)
        p->status = thread_report_stuck(p);
}
