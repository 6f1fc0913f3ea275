/* The host thread: issues operations in plan order, works, waits. */
#include "sim/sim.h"

/* The operation that the host is about to issue. */
static const struct kvs_op *host_op(const struct sim *sim)
{
    return sim_plan_op(sim, sim->host.segment, sim->host.op);
}

static void host_begin_op(struct sim *sim);

/* The next token, segment or group; true while there is one. */
static bool host_next_token(struct sim *sim)
{
    struct sim_host *h = &sim->host;
    h->op = 0;
    h->token++;
    if (h->token < sim->segments[h->segment].plan->n_tokens)
        return true;
    h->token = 0;
    h->segment++;
    if (h->segment == sim->n_segments) {
        h->is_done = true;
        return false;
    }
    if (h->segment == sim->group_end)
        h->wants_barrier = true;
    return true;
}

/* Skips operations of other phases; false at the end of the token. */
static bool host_seek_phase(struct sim *sim)
{
    struct sim_host *h = &sim->host;
    const struct kvs_segment *s = sim->segments[h->segment].plan;
    uint32_t phase = h->token % s->period;
    while (h->op < s->ops.n && s->ops.items[h->op].phase != phase)
        h->op++;
    return h->op < s->ops.n;
}

/* The host's clock moves to the moment at which its next operation takes effect. */
static void host_begin_op(struct sim *sim)
{
    struct sim_host *h = &sim->host;
    h->next_dep = 0;
    const struct kvs_op *op = host_op(sim);
    if (op->kind == KVS_OP_HOST || op->kind == KVS_OP_WAIT)
        return;
    kvs_time call = sim->segments[h->segment].ops[h->op].call_ps;
    h->now_ps += call;
    sim->run->host.issue_ps += call;
}

static void host_advance(struct sim *sim)
{
    struct sim_host *h = &sim->host;
    h->op++;
    while (!host_seek_phase(sim)) {
        if (!host_next_token(sim))
            return;
        if (h->wants_barrier)
            return; /* sim_host_act goes on once everything has ended */
        sim_repeat_token(sim);
    }
    host_begin_op(sim);
}

static void host_block(struct sim *sim, uint32_t tag)
{
    struct sim_host *h = &sim->host;
    h->is_blocked = true;
    h->blocked_since_ps = h->now_ps;
    h->blocked_tag = tag;
}

/* Number, in the queue, of the instance that a dependency of the host's operation names; false when
 * it lies before the first token of the group. */
bool sim_dep_instance(const struct sim *sim, uint32_t segment, uint32_t token,
                      const struct kvs_dep *dep, uint64_t *out_instance)
{
    const struct sim_segment *s = &sim->segments[segment];
    uint32_t global = s->first_token + token;
    uint32_t group_token = sim->segments[sim->group_first].first_token;
    if (global < group_token + dep->distance)
        return false;
    uint64_t since = global - group_token - dep->distance;
    uint32_t queue = s->plan->ops.items[dep->op].queue;
    *out_instance = since / s->plan->period * sim->queues[queue].n_order + s->ops[dep->op].index;
    return true;
}

bool sim_dep_is_met(const struct sim *sim, uint32_t segment, uint32_t token,
                    const struct kvs_dep *dep)
{
    uint64_t instance;
    uint32_t queue = sim->segments[segment].plan->ops.items[dep->op].queue;
    /* The host's own operations are over when it issues anything later. */
    return queue == KVS_HOST_QUEUE || !sim_dep_instance(sim, segment, token, dep, &instance) ||
           sim->queues[queue].n_done > instance;
}

/* A wait: every dependency, one after another. Returns false while blocked. */
static bool host_wait(struct sim *sim, const struct kvs_op *op)
{
    struct sim_host *h = &sim->host;
    const struct kvs_dep *deps = sim->segments[h->segment].plan->deps.items + op->first_dep;
    for (; h->next_dep < op->n_dep; h->next_dep++) {
        const struct kvs_dep *dep = &deps[h->next_dep];
        if (sim_dep_is_met(sim, h->segment, h->token, dep))
            continue;
        uint64_t instance;
        KVS_ASSERT(sim_dep_instance(sim, h->segment, h->token, dep, &instance));
        h->blocked_queue = sim->segments[h->segment].plan->ops.items[dep->op].queue;
        h->blocked_until = instance + 1;
        h->pays_sync = true;
        host_block(sim, op->tag);
        return false;
    }
    return true;
}

static bool host_blocks_after(const struct sim *sim, const struct kvs_op *op)
{
    if (op->flags & KVS_OP_BLOCKS)
        return true;
    if (!(op->flags & KVS_OP_PAGEABLE))
        return false;
    /* The driver stages pageable bytes on the issuing thread. */
    const struct kvs_segment *s = sim->segments[sim->host.segment].plan;
    struct kvs_range range = kvs_range_at(&s->accesses.items[op->first_access], sim->host.token);
    return (double)kvs_range_bytes(&range) > sim->pageable_async_bytes;
}

static void host_issue(struct sim *sim, const struct kvs_op *op)
{
    struct sim_host *h = &sim->host;
    sim_queue_issue(sim, op->queue);
    /* Further kernels of the same operation are launched while the device is at work already. */
    if (op->kind == KVS_OP_COMPUTE && !(op->flags & (KVS_OP_LIGHT | KVS_OP_SUBGRAPH)) &&
        sim->machine->host.submit == KVS_SUBMIT_KERNELS && op->compute.n_kernels > 1) {
        kvs_time more = (kvs_time)(op->compute.n_kernels - 1) * sim->launch_ps;
        h->now_ps += more;
        sim->run->host.issue_ps += more;
    }
    if (!host_blocks_after(sim, op)) {
        host_advance(sim);
        return;
    }
    h->blocked_queue = op->queue;
    h->blocked_until = sim->queues[op->queue].n_issued;
    h->pays_sync = (op->flags & KVS_OP_BLOCKS) != 0;
    host_block(sim, op->tag);
}

static bool host_is_idle_everywhere(const struct sim *sim)
{
    for (uint32_t q = 1; q < sim->n_queues; q++)
        if (sim->queues[q].n_done != sim->queues[q].n_issued)
            return false;
    return true;
}

/* A segment with a barrier: begins once everything has ended. */
static void host_pass_barrier(struct sim *sim)
{
    struct sim_host *h = &sim->host;
    if (!host_is_idle_everywhere(sim)) {
        h->is_blocked = true; /* woken by every completion until nothing is left */
        h->blocked_queue = SIM_NONE;
        h->blocked_since_ps = h->now_ps;
        h->blocked_tag = KVS_TAG_BOUNDARY;
        h->pays_sync = false;
        return;
    }
    h->wants_barrier = false;
    sim->status = sim_bind_group(sim, h->segment);
    if (sim->status != KVS_OK) {
        h->is_done = true;
        return;
    }
    sim_repeat_token(sim);
    if (host_seek_phase(sim))
        host_begin_op(sim);
    else
        host_advance(sim);
}

void sim_host_start(struct sim *sim)
{
    sim_repeat_token(sim);
    if (host_seek_phase(sim))
        host_begin_op(sim);
    else
        host_advance(sim);
}

static void host_record(struct sim *sim, kvs_time start_ps, kvs_time end_ps)
{
    if (!sim->timeline)
        return;
    struct sim_host *h = &sim->host;
    struct kvs_span span = {.token = sim->segments[h->segment].first_token + h->token,
                            .segment = h->segment,
                            .op = h->op,
                            .queue = KVS_HOST_QUEUE,
                            .issue_ps = start_ps,
                            .ready_ps = start_ps,
                            .start_ps = start_ps,
                            .end_ps = end_ps};
    if (sim->status == KVS_OK)
        sim->status = KVS_ARRAY_PUSH(&sim->timeline->spans, span, sim->err);
}

void sim_host_act(struct sim *sim)
{
    struct sim_host *h = &sim->host;
    sim->now_ps = h->now_ps;
    if (h->wants_barrier) {
        host_pass_barrier(sim);
        return;
    }
    const struct kvs_op *op = host_op(sim);
    sim->run->n_dispatched++;
    if (op->kind == KVS_OP_HOST) {
        kvs_time work = sim->segments[h->segment].ops[h->op].work_ps;
        host_record(sim, h->now_ps, h->now_ps + work);
        h->now_ps += work;
        sim->run->host.work_ps += work;
        sim->segments[h->segment].ops[h->op].done_ps = h->now_ps;
        host_advance(sim);
    } else if (op->kind == KVS_OP_WAIT) {
        if (!host_wait(sim, op)) {
            h->wait_start_ps = h->blocked_since_ps;
            return;
        }
        host_record(sim, h->now_ps, h->now_ps);
        host_advance(sim);
    } else {
        host_issue(sim, op);
    }
}

void sim_host_wake(struct sim *sim)
{
    struct sim_host *h = &sim->host;
    bool is_barrier = h->wants_barrier;
    if (is_barrier ? !host_is_idle_everywhere(sim)
                   : sim->queues[h->blocked_queue].n_done < h->blocked_until)
        return;
    h->is_blocked = false;
    h->now_ps = sim->now_ps + (h->pays_sync ? sim->sync_ps : 0);
    sim->run->host.blocked_ps[h->blocked_tag] += h->now_ps - h->blocked_since_ps;
    if (is_barrier)
        return; /* acts again at now_ps */
    const struct kvs_op *op = host_op(sim);
    if (op->kind == KVS_OP_WAIT) {
        if (!host_wait(sim, op)) {
            /* Waits for several queues cost one synchronisation after the last of them. */
            h->blocked_since_ps = sim->now_ps;
            sim->run->host.blocked_ps[h->blocked_tag] -= h->now_ps - sim->now_ps;
            h->now_ps = sim->now_ps;
            return;
        }
        host_record(sim, h->wait_start_ps, h->now_ps);
    }
    host_advance(sim);
}
