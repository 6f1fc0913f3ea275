/* Runs the configurations of a job and fills their rows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parallel.h"
#include "cli/job.h"
#include "sim/exec_sim.h"

static const char *run_bound_term(kvs_bound_term term)
{
    switch (term) {
    case KVS_BOUND_LINK:
        return "link";
    case KVS_BOUND_COMPUTE:
        return "compute";
    case KVS_BOUND_CHAIN:
        return "chain";
    }
    return "";
}

/* Tokens per second of all sequences at so many ms per token. */
static double run_ts(const struct kvs_case *c, double token_ms)
{
    return 1e3 / token_ms * (double)c->workload.n_parallel;
}

static void run_copy_name(char *to, size_t cap, const char *from)
{
    (void)snprintf(to, cap, "%s", from);
}

static void run_fill_decision(struct kvs_row *row, const struct kvs_decision *decision)
{
    row->ring = decision->ring;
    row->n_segments = decision->n_segments;
    row->n_declined = decision->n_declined;
    if (decision->n_declined > 0)
        row->decline_reason = kvs_decline_text(decision->ring.decline);
}

static void run_fill(struct kvs_row *row, const struct kvs_prediction *p)
{
    row->predicted_ts = p->ts;
    row->predicted_ms = p->token_ms;
    if (row->executor == NULL)
        row->avg_ts = p->ts;
    run_fill_decision(row, &p->decision);
    if (p->edge.is_edge) {
        row->edge_ts = run_ts(&row->c, p->edge.other_ms);
        run_copy_name(row->edge_reason, sizeof row->edge_reason, p->edge.reason);
    }
    if (row->is_host_kv) {
        row->bound_ts = run_ts(&row->c, kvs_ms_from_ps(p->bound.total_ps));
        row->bound_term = run_bound_term(p->bound.term);
        run_copy_name(row->bound_name, sizeof row->bound_name, p->bound.name);
        row->share = p->share;
    }
    run_copy_name(row->bottleneck, sizeof row->bottleneck, p->bottleneck.name);
    row->bottleneck_busy = p->bottleneck.busy_frac;
    run_copy_name(row->runner_up, sizeof row->runner_up, p->runner_up.name);
    row->runner_up_busy = p->runner_up.busy_frac;
    row->exposed_ms = p->exposed_ms;
    row->loop_ms = p->breakdown.total_ms;
    row->copy_ms = p->breakdown.copy_ms;
    row->wait_ms = p->breakdown.wait_ms;
    row->issue_ms = p->breakdown.issue_ms;
    row->early_mib = p->breakdown.early_mib;
    row->late_mib = p->breakdown.late_mib;
    row->compute_ms = p->compute_ms;
    row->copies_ms = p->copies_ms;
}

static kvs_status run_predict(const struct kvs_case *c, const struct kvs_arm *arm,
                              const struct kvs_job_run *run,
                              const struct kvs_predict_options *options,
                              struct kvs_prediction *out, struct kvs_error *err)
{
    KVS_TRY(kvs_case_check(c, err));
    for (uint32_t d = 0; d < c->machine->n_devices; d++) {
        uint64_t free_bytes;
        if (kvs_case_uses_device(c, d))
            KVS_TRY(kvs_case_free_bytes(c, d, &free_bytes, err));
    }
    if (run->given != NULL)
        return kvs_predict_plan(run->given, c, options, out, err);
    return kvs_predict(c, arm->policy, options, out, err);
}

/* The same case with the figures that nobody measured at one end of their intervals. */
static kvs_status run_end(const struct kvs_row *row, const struct kvs_arm *arm,
                          const struct kvs_job_run *run, kvs_interval_end end, double *out,
                          struct kvs_error *err)
{
    struct kvs_predict_options options = {.exec = &kvs_exec_sim};
    struct kvs_machine *machine;
    struct kvs_prediction p;
    struct kvs_case c = row->c;
    KVS_TRY(kvs_machine_at_end(&row->c, end, &machine, err));
    c.machine = machine;
    kvs_status status = run_predict(&c, arm, run, &options, &p, err);
    if (status == KVS_OK)
        *out = p.ts;
    kvs_machine_clone_destroy(machine);
    return status;
}

/* The ends of figures need not be the ends of the answer: where a step lies in between, the
 * answer itself and its neighbour are part of the range. */
static kvs_status run_range(struct kvs_row *row, const struct kvs_arm *arm,
                            const struct kvs_job_run *run, struct kvs_error *err)
{
    double ts[4] = {row->predicted_ts, row->edge_ts};
    KVS_TRY(run_end(row, arm, run, KVS_END_SLOW, &ts[2], err));
    KVS_TRY(run_end(row, arm, run, KVS_END_FAST, &ts[3], err));
    for (size_t i = 0; i < KVS_COUNT_OF(ts); i++) {
        row->lo_ts = fmin(row->lo_ts, ts[i]); /* NaN gives way */
        row->hi_ts = fmax(row->hi_ts, ts[i]);
    }
    return KVS_OK;
}

/* A plan made for something else says nothing about this configuration's bound. */
static void run_disown(struct kvs_row *row)
{
    row->bound_ts = row->share = row->compute_ms = (double)NAN;
    row->bound_term = "";
    row->bound_name[0] = '\0';
}

static kvs_status run_row(const struct kvs_job *s, const struct kvs_job_run *run,
                          struct kvs_row *row, struct kvs_error *err)
{
    const struct kvs_arm *arm = &s->experiment.arms.items[row->arm];
    struct kvs_predict_options options = {.exec = &kvs_exec_sim,
                                          .wants_edges = run->has_edges,
                                          .timeline = run->timeline,
                                          .plan = run->plan,
                                          .busy_factors = run->busy_factors};
    struct kvs_prediction p;
    KVS_TRY(run_predict(&row->c, arm, run, &options, &p, err));
    run_fill(row, &p);
    if (run->has_ranges && kvs_case_is_uncertain(&row->c))
        KVS_TRY(run_range(row, arm, run, err));
    if (run->is_foreign) {
        run_disown(row);
        return KVS_OK;
    }
    row->measured_ts = kvs_measured_ts(s->measured, row);
    if (isfinite(row->measured_ts))
        row->err_pct = (row->predicted_ts / row->measured_ts - 1.0) * 100.0;
    return KVS_OK;
}

kvs_status kvs_job_judge(struct kvs_job_run *run, struct kvs_row *row, const char *lacks,
                         kvs_status status, const struct kvs_error *err)
{
    if (status != KVS_ENOFIT && status != KVS_EUNSUPPORTED)
        return status;
    if (run->worst == KVS_OK)
        run->worst = status;
    (void)snprintf(row->error, sizeof row->error, "%.190s", err->text);
    if (run->console != NULL && strcmp(run->said, row->error) != 0)
        kvs_console_warn(run->console, "%s at depth %llu has no %s: %s", row->arm_name,
                         (unsigned long long)row->n_depth, lacks, err->text);
    (void)snprintf(run->said, sizeof run->said, "%s", row->error);
    return KVS_OK;
}

kvs_status kvs_job_tell(const struct kvs_job_run *run, const struct kvs_row *row,
                        struct kvs_error *err)
{
    for (size_t i = 0; i < KVS_COUNT_OF(run->writers); i++) {
        if (run->writers[i] == NULL)
            continue;
        kvs_row_write(run->writers[i], row);
        KVS_TRY(kvs_print(&run->writers[i]->out, run->streams[i], err));
    }
    return KVS_OK;
}

/* What the threads share. Rows are made by any of them, and told of by the caller's alone. */
struct run_work {
    const struct kvs_job *job;
    struct kvs_job_run *run;
    struct kvs_rows *rows; /* room for all of them; n are done and told of */
};

kvs_status kvs_job_predict(const struct kvs_job *job, const struct kvs_job_run *run,
                           const struct kvs_row_context *context, size_t i, struct kvs_row *row,
                           struct kvs_error *err)
{
    struct kvs_configuration configuration;
    uint64_t values[KVS_SETTING_COUNT];
    size_t index = i / job->experiment.arms.n, arm = i % job->experiment.arms.n;
    kvs_product_get(job->product, index, &configuration);
    for (unsigned k = 0; k < KVS_SETTING_COUNT; k++)
        values[k] = kvs_configuration_value(job->product, &configuration, (kvs_setting)k);
    kvs_arm_apply(&job->experiment.arms.items[arm], &configuration.c.transport);
    kvs_row_init(row, context, &configuration.c, values, arm);
    row->configuration = index;
    if (run->is_named_by_plan) {
        row->policy = row->arm_name;
        row->llama_flags[0] = '\0';
    }
    return run_row(job, run, row, err);
}

static kvs_status run_work(void *context, size_t i, struct kvs_error *err)
{
    const struct run_work *w = context;
    struct kvs_row_context row_context = kvs_job_context(w->job);
    return kvs_job_predict(w->job, w->run, &row_context, i, &w->rows->items[i], err);
}

static kvs_status run_take(void *context, size_t i, kvs_status status, struct kvs_error *err)
{
    struct run_work *w = context;
    struct kvs_row *row = &w->rows->items[i];
    size_t n_arms = w->job->experiment.arms.n;
    KVS_TRY(kvs_job_judge(w->run, row, "prediction", status, err));
    w->rows->n = i + 1;
    if (w->run->console != NULL)
        kvs_console_progress(w->run->console, (i + 1) / n_arms, kvs_product_n(w->job->product),
                             w->job->experiment.name != NULL ? w->job->experiment.name : "");
    return kvs_job_tell(w->run, row, err);
}

kvs_status kvs_job_run(const struct kvs_job *job, struct kvs_job_run *run,
                       struct kvs_rows *rows, struct kvs_error *err)
{
    struct run_work w = {.job = job, .run = run, .rows = rows};
    struct kvs_parallel parallel = {.n = kvs_product_n(job->product) * job->experiment.arms.n,
                                    .n_threads = job->n_threads,
                                    .context = &w,
                                    .work = run_work,
                                    .take = run_take};
    KVS_TRY(KVS_ARRAY_RESERVE(rows, parallel.n, err));
    return kvs_parallel_run(&parallel, err);
}
