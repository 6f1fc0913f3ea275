/*
 * The event loop. The host acts while it is earlier than every device event; otherwise
 * everything that ends at one instant ends before anything starts at it.
 */
#include "sim/exec_sim.h"

#include "sim/sim.h"

#define EXEC_MAX_ROUNDS       8    /* of busy share and factor; a limit, not a target */
#define EXEC_FACTOR_TOLERANCE 2e-4 /* of compute time */

/* Nothing moves any more, which is well if everything ended, or not within SIM_MAX_PS. */
static kvs_status sim_end(const struct sim *sim, kvs_time next)
{
    bool is_host_done = sim->host.state == SIM_HOST_DONE;
    if (next != KVS_NEVER)
        return kvs_error_set(sim->err, KVS_ERANGE,
                             "plan: takes more than the 26 days that can be simulated");
    for (uint32_t i = 1; is_host_done && i < sim->n_queues; i++) {
        const struct sim_queue *q = &sim->queues[i];
        if (q->n_done != q->n_issued)
            return kvs_error_set(
                sim->err, KVS_EPLAN, "plan: %s never goes on: op %u of token %u waits in vain",
                sim->plan->queues.items[i].name, q->order[q->head_index], q->head_token);
    }
    if (is_host_done)
        return KVS_OK;
    const struct kvs_op *op =
        &sim->segments[sim->host.segment].plan->ops.items[sim->host.index];
    return kvs_error_set(sim->err, KVS_EPLAN,
                         "plan: nothing can go on at %.3f ms: the host waits at op %u (%s %s)",
                         kvs_ms_from_ps(sim->now_ps), sim->host.index,
                         kvs_op_kind_name((kvs_op_kind)op->kind),
                         kvs_tag_name((kvs_tag)op->tag));
}

/* Several queues have an event at this time: first come first. One event may still move
 * another. */
static void sim_fire_tied(struct sim *sim, kvs_time event)
{
    while (kvs_event_tree_next_time(&sim->events) == event) {
        uint32_t queue = kvs_event_tree_first_next(&sim->events);
        kvs_event_tree_clear(&sim->events, queue);
        sim_queue_event(sim, queue);
    }
}

/* Everything that ends now. */
static void sim_fire(struct sim *sim)
{
    kvs_time event = sim->now_ps;
    uint32_t queue = kvs_event_tree_any_next(&sim->events);
    kvs_event_tree_clear(&sim->events, queue);
    if (KVS_LIKELY(kvs_event_tree_next_time(&sim->events) != event)) {
        sim_queue_event(sim, queue);
        return;
    }
    kvs_event_tree_replay(&sim->events, queue, event);
    sim_fire_tied(sim, event);
}

static kvs_status sim_loop(struct sim *sim)
{
    sim_host_start(sim);
    while (sim->status == KVS_OK) {
        kvs_time event = kvs_event_tree_next_time(&sim->events);
        bool is_hosts_turn = sim->host.state == SIM_HOST_ACTS && sim->host.now_ps < event;
        kvs_time next = is_hosts_turn ? sim->host.now_ps : event;
        if (KVS_UNLIKELY(next >= SIM_MAX_PS))
            return sim_end(sim, next);
        sim->now_ps = next;
        if (is_hosts_turn)
            sim_host_act(sim);
        else
            sim_fire(sim);
        if (sim->n_dirty_queues + sim->n_dirty_engines > 0)
            sim_settle(sim);
    }
    return sim->status;
}

struct exec_session {
    const struct kvs_plan *plan;
    const struct kvs_case *c;
    struct kvs_exec_options options;
    struct kvs_costs costs;
};

static kvs_status exec_run_once(const struct exec_session *s, struct kvs_run *run,
                                struct kvs_timeline *timeline, struct kvs_error *err)
{
    *run = (struct kvs_run){0};
    struct sim sim = {.plan = s->plan,
                      .c = s->c,
                      .machine = s->c->machine,
                      .options = &s->options,
                      .cost = s->costs,
                      .run = run,
                      .timeline = timeline,
                      .err = err};
    kvs_status status;
    if (sim.timeline)
        sim.timeline->spans.n = 0;
    KVS_TRY_GOTO(sim_bind(&sim), out);
    KVS_TRY_GOTO(sim_repeat_create(&sim), out);
    KVS_TRY_GOTO(sim_loop(&sim), out);
    /* a plan by hand may leave the devices at work */
    kvs_time end_ps = sim.now_ps > sim.host.now_ps ? sim.now_ps : sim.host.now_ps;
    run->total_ps = end_ps + sim.skipped_ps;
    run->n_dispatched = sim.n_dispatched;
    for (uint32_t d = 0; d < sim.n_devices; d++)
        run->busy_factors[d] = s->costs.devices[d].busy_factor;
    kvs_run_total_links(run, sim.machine);
out:
    sim_repeat_destroy(&sim);
    sim_unbind(&sim);
    if (status != KVS_OK)
        kvs_run_fini(run);
    return status;
}

/* How much slower compute was for being busy so much; returns the largest change of a factor.
 */
static double exec_update_factors(const struct kvs_run *run, struct kvs_costs *costs)
{
    double largest = 0.0;
    for (uint32_t d = 0; d < run->n_devices; d++) {
        struct kvs_device_costs *cost = &costs->devices[d];
        double busy = (double)run->devices[d].compute_ps / (double)run->total_ps;
        double over = busy - cost->compute.busy_threshold_frac;
        double factor = 1.0 + cost->compute.busy_slowdown_frac * (over > 0.0 ? over : 0.0);
        double change = factor > cost->busy_factor ? factor - cost->busy_factor
                                                   : cost->busy_factor - factor;
        largest = change > largest ? change : largest;
        cost->busy_factor = factor;
    }
    return largest;
}

/*
 * A device that is always busy may be slower than one that idles through its copies. The share
 * of time it is busy is known only afterwards, so such machines are run again until it settles.
 */
static kvs_status exec_sim_run(void *session, struct kvs_run *run,
                               struct kvs_timeline *timeline, struct kvs_error *err)
{
    struct exec_session *s = session;
    kvs_status status = KVS_OK;
    for (uint32_t d = 0; d < s->costs.n_devices; d++)
        s->costs.devices[d].busy_factor = 1.0;
    for (unsigned round = 0; round < EXEC_MAX_ROUNDS; round++) {
        status = exec_run_once(s, run, timeline, err);
        if (status != KVS_OK || run->total_ps == 0 ||
            exec_update_factors(run, &s->costs) < EXEC_FACTOR_TOLERANCE)
            break;
        if (round + 1 < EXEC_MAX_ROUNDS)
            kvs_run_fini(run);
    }
    return status;
}

static void exec_sim_close(void *session)
{
    struct exec_session *s = session;
    if (s)
        kvs_costs_fini(&s->costs);
    kvs_mem_free(s);
}

static kvs_status exec_sim_open(const struct kvs_plan *plan, const struct kvs_case *c,
                                const struct kvs_exec_options *options, void **session,
                                struct kvs_error *err)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(1, sizeof(struct exec_session), &memory, err));
    struct exec_session *s = memory;
    s->plan = plan;
    s->c = c;
    s->options = *options;
    kvs_status status = kvs_costs_create(c, &s->costs, err);
    if (status == KVS_OK)
        *session = s;
    else
        exec_sim_close(s);
    return status;
}

const struct kvs_exec_ops kvs_exec_sim = {
    .abi_version = KVS_EXEC_ABI,
    .name = "sim",
    .summary = "virtual time: queues, engines and links as events",
    .open = exec_sim_open,
    .run = exec_sim_run,
    .close = exec_sim_close,
};
