/* A session of the host executor: memory and threads from open to close, and its runs. */
#include "real/host_paced.h"

#define EXEC_HOST_LONGEST_SCALE 1e9 /* a nanosecond of the model a second */

static kvs_status exec_check(const struct kvs_exec_options *options, struct kvs_error *err)
{
    double scale = options->time_scale;
    if (!(scale >= 0.0 && scale <= EXEC_HOST_LONGEST_SCALE))
        return kvs_error_set(err, KVS_EINVAL, "time scale: must be from 0 to %g, got %g",
                             EXEC_HOST_LONGEST_SCALE, scale);
    return KVS_OK;
}

static void exec_host_close(void *session)
{
    struct paced *p = session;
    if (!p)
        return;
    paced_workers_stop(p);
    paced_unbind(p);
    if (p->host.has_cond)
        (void)pthread_cond_destroy(&p->host.wakes);
    if (p->has_lock)
        (void)pthread_mutex_destroy(&p->lock);
    kvs_memory_destroy(p->memory);
    kvs_program_destroy(p->program);
    kvs_costs_fini(&p->costs);
    kvs_mem_free(p);
}

static kvs_status exec_open(struct paced *p, struct kvs_error *err)
{
    const struct kvs_exec_options *options = &p->options;
    KVS_TRY(exec_check(options, err));
    KVS_TRY(kvs_costs_create(p->c, &p->costs, err));
    for (uint32_t d = 0; options->busy_factors && d < p->costs.n_devices; d++)
        p->costs.devices[d].busy_factor = options->busy_factors[d];
    KVS_TRY(kvs_program_create(p->plan, options->seed, options->verifies, &p->program, err));
    KVS_TRY(kvs_memory_create(p->program, options->seed, &p->memory, err));
    KVS_TRY(paced_bind(p, err));
    p->has_lock = pthread_mutex_init(&p->lock, NULL) == 0;
    p->host.has_cond = paced_cond_init(&p->host.wakes);
    if (!p->has_lock || !p->host.has_cond)
        return kvs_error_set(err, KVS_ENOMEM, "no lock can be made");
    return paced_workers_start(p, err);
}

static kvs_status exec_host_open(const struct kvs_plan *plan, const struct kvs_case *c,
                                 const struct kvs_exec_options *options, void **session,
                                 struct kvs_error *err)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(1, sizeof(struct paced), &memory, err));
    struct paced *p = memory;
    p->plan = plan;
    p->c = c;
    p->options = *options;
    kvs_status status = exec_open(p, err);
    if (status == KVS_OK)
        *session = p;
    else
        exec_host_close(p);
    return status;
}

static kvs_status exec_begin_totals(const struct paced *p, struct kvs_run *run,
                                    struct kvs_error *err)
{
    void *memory;
    *run = (struct kvs_run){.n_tokens = kvs_plan_n_tokens(p->plan),
                            .n_devices = (uint16_t)p->n_devices,
                            .n_links = p->machine->n_links,
                            .time_scale = p->time_scale};
    run->repeat_from = run->n_tokens;
    KVS_TRY(kvs_mem_alloc(run->n_devices, sizeof *run->devices, &memory, err));
    run->devices = memory;
    KVS_TRY(kvs_mem_alloc(run->n_links, sizeof *run->links, &memory, err));
    run->links = memory;
    KVS_TRY(kvs_mem_alloc(run->n_devices, sizeof *run->busy_factors, &memory, err));
    run->busy_factors = memory;
    for (uint32_t d = 0; d < p->n_devices; d++)
        run->busy_factors[d] = p->costs.devices[d].busy_factor;
    return KVS_OK;
}

/* With the lock held, but for sleeps and moves; afterwards no thread moves anything. */
static void exec_carry_out(struct paced *p)
{
    (void)pthread_mutex_lock(&p->lock);
    paced_reset(p);
    paced_clock_start(&p->clock, p->time_scale);
    p->is_running = true;
    paced_host_run(p);
    kvs_time now_ps = paced_clock_now_ps(&p->clock);
    p->run->total_ps = now_ps > p->host.now_ps ? now_ps : p->host.now_ps;
    p->is_over = true;
    while (p->n_moving > 0)
        paced_cond_wait(&p->host.wakes, &p->lock, &p->clock, PACED_NEVER, 0);
    p->is_running = false;
    paced_workers_wake(p); /* none goes on sleeping by the clock of this run */
    (void)pthread_mutex_unlock(&p->lock);
}

static kvs_status exec_host_run(void *session, struct kvs_run *run,
                                struct kvs_timeline *timeline, struct kvs_error *err)
{
    struct paced *p = session;
    kvs_status status = exec_begin_totals(p, run, err);
    if (status == KVS_OK) {
        if (timeline)
            timeline->spans.n = 0;
        p->run = run;
        p->timeline = timeline;
        p->err = err;
        kvs_memory_reset(p->memory);
        long slack_ns = paced_slack_remove();
        exec_carry_out(p);
        paced_slack_restore(slack_ns);
        status = p->status;
    }
    if (status != KVS_OK) {
        kvs_run_fini(run);
        return status;
    }
    kvs_run_total_links(run, p->machine);
    run->digest = kvs_memory_digest(p->memory);
    run->has_digest = true;
    return KVS_OK;
}

struct kvs_host_report kvs_exec_host_report(const void *session)
{
    const struct paced *p = session;
    return p->report;
}

const struct kvs_exec_ops kvs_exec_host = {
    .abi_version = KVS_EXEC_ABI,
    .name = "host",
    .summary = "wall-clock time: threads as engines, real bytes in host memory, paced links",
    .is_measured = true,
    .open = exec_host_open,
    .run = exec_host_run,
    .close = exec_host_close,
};
