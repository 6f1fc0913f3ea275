/* Predictions first, beside each other; then the runs, with nothing beside them. */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */

#include "cli/replay_run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/parallel.h"
#include "cli/replay_rows.h"
#include "formats/perfetto.h"
#include "sched/plan_scale.h"

#define REPLAY_LONG_S 60.0 /* more is worth a word */

/* The arms of the configuration at work, [n_arms] each. */
struct configuration {
    struct kvs_replay_work *work;
    struct kvs_row *rows;
    size_t n_arms;
    struct kvs_row_context context;
    double **busy_factors;             /* owned, each owned */
    bool *can_run;                     /* owned: has a prediction */
    struct kvs_replay_arm *arms;       /* owned */
    size_t *at;                        /* owned: the arm of each entry of arms and results */
    struct kvs_replay_result *results; /* owned */
    size_t n_running;                  /* entries of arms and results */
    double *ms;                        /* owned, [n_running][n_repetitions] per token */
};

struct kvs_row_context kvs_replay_context(const struct kvs_replay_work *work)
{
    struct kvs_row_context context = kvs_job_context(work->job);
    context.replay = &work->replay;
    return context;
}

static kvs_status replay_predict(void *context, size_t i, struct kvs_error *err)
{
    const struct configuration *c = context;
    const struct kvs_replay_work *work = c->work;
    struct kvs_job_run run = *work->run;
    run.plan = run.given == NULL ? &work->plans[i] : NULL;
    run.busy_factors = &c->busy_factors[i];
    return kvs_job_predict(work->job, &run, &c->context, work->index * c->n_arms + i,
                           &c->rows[i], err);
}

static kvs_status replay_take(void *context, size_t i, kvs_status status, struct kvs_error *err)
{
    struct configuration *c = context;
    const volatile sig_atomic_t *stop = c->work->options.run.stop;
    KVS_TRY(kvs_job_judge(c->work->run, &c->rows[i], "prediction", status, err));
    c->can_run[i] = status == KVS_OK;
    return stop != NULL && *stop ? kvs_error_set(err, KVS_ESTOPPED, "stopped") : KVS_OK;
}

static kvs_status replay_predict_all(struct configuration *c, struct kvs_error *err)
{
    struct kvs_parallel parallel = {.n = c->n_arms,
                                    .n_threads = c->work->job->n_threads,
                                    .context = c,
                                    .work = replay_predict,
                                    .take = replay_take};
    KVS_TRY(kvs_parallel_run(&parallel, err));
    for (size_t i = 0; i < c->n_arms; i++) {
        double factor;
        if (!c->can_run[i])
            continue;
        if (c->work->factor != 1.0)
            KVS_TRY(kvs_plan_scale(c->work->plans[i], c->work->factor, &factor, err));
        c->at[c->n_running] = i;
        c->arms[c->n_running++] = (struct kvs_replay_arm){
            .name = c->rows[i].arm_name,
            .plan = c->work->run->given != NULL ? c->work->run->given : c->work->plans[i],
            .c = &c->rows[i].c,
            .busy_factors = c->busy_factors[i]};
    }
    return KVS_OK;
}

static double replay_now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Said once, after the first run, when the rest will take long. */
static void replay_estimate(struct kvs_replay_work *work, size_t n_runs)
{
    size_t n_left = kvs_product_n(work->job->product) - work->index;
    double run_s = replay_now_s() - work->start_s;
    double total_s = run_s * (double)n_runs * (double)n_left;
    if (work->has_estimated || total_s < REPLAY_LONG_S)
        return;
    work->has_estimated = true;
    kvs_console_warn(
        work->run->console,
        "the first run took %.0f s: all of them will take about %.0f min; fewer tokens "
        "(-n), repetitions (-r) or depths take less, and on the host a smaller "
        "--time-scale",
        run_s, total_s / 60.0);
}

static void replay_told_run(void *context, size_t done, size_t n_runs)
{
    struct kvs_replay_work *work = context;
    char what[64];
    if (done == 1)
        replay_estimate(work, n_runs);
    (void)snprintf(what, sizeof what, "runs, configuration %zu of %zu", work->index + 1,
                   kvs_product_n(work->job->product));
    kvs_console_progress(work->run->console, done, n_runs, what);
}

static void replay_told_alone(void *context, const struct kvs_error *why)
{
    struct kvs_replay_work *work = context;
    if (!work->has_said_alone)
        kvs_console_warn(
            work->run->console,
            "memory does not hold all policies side by side (%s): each run opens its "
            "own, with %u warm-up run%s before it",
            why->text, (unsigned)work->options.n_warmup,
            work->options.n_warmup == 1 ? "" : "s");
    work->has_said_alone = true;
}

static kvs_status replay_fill(struct configuration *c, struct kvs_error *err)
{
    size_t n_most = c->work->options.n_repetitions;
    for (size_t k = 0; k < c->n_running; k++) {
        const struct kvs_replay_result *result = &c->results[k];
        struct kvs_row *row = &c->rows[c->at[k]];
        bool has_first = k > 0 && c->at[0] == 0 && c->results[0].n_samples == result->n_samples;
        KVS_TRY(kvs_job_judge(c->work->run, row, "run", result->status, &result->err));
        KVS_TRY(kvs_replay_fill_row(result, &c->work->arena, &c->ms[k * n_most], row, err));
        if (has_first)
            KVS_TRY(kvs_replay_fill_difference(&c->ms[k * n_most], c->ms, row, err));
        kvs_replay_warn_outliers(row, c->work->run->console);
    }
    return KVS_OK;
}

/* From entries to arms, of which some did not run. */
static void replay_spread_timelines(struct configuration *c)
{
    struct kvs_timeline *timelines = c->work->timelines;
    for (size_t k = c->n_running; timelines != NULL && k-- > 0;) {
        struct kvs_timeline moved = timelines[k];
        timelines[k] = timelines[c->at[k]];
        timelines[c->at[k]] = moved;
    }
}

static kvs_status replay_run_all(struct configuration *c, struct kvs_error *err)
{
    struct kvs_replay_work *work = c->work;
    struct kvs_replay_options options = work->options;
    options.timelines = work->timelines;
    options.told_run = replay_told_run;
    options.told_alone = replay_told_alone;
    options.context = work;
    work->start_s = replay_now_s();
    kvs_status status = kvs_replay(c->arms, c->n_running, &options, c->results, err);
    kvs_console_progress(work->run->console, 1, 1, "");
    replay_spread_timelines(c);
    if (status == KVS_OK)
        status = replay_fill(c, err);
    if (status == KVS_OK)
        c->work->has_unequal |=
            kvs_replay_tell_digests(c->results, c->rows, c->at, c->n_running);
    kvs_replay_fini(c->results, c->n_running);
    return status;
}

static void replay_drop_plans(struct kvs_replay_work *work)
{
    for (size_t i = 0; work->plans != NULL && i < work->job->experiment.arms.n; i++)
        kvs_plan_destroy(work->plans[i]);
    kvs_mem_free(work->plans);
    work->plans = NULL;
}

static kvs_status configuration_alloc(struct configuration *c, struct kvs_error *err)
{
    struct kvs_replay_work *work = c->work;
    const struct {
        void **to;
        size_t n;
        size_t size_bytes;
    } parts[] = {
        {(void **)&work->plans, c->n_arms, sizeof *work->plans},
        {(void **)&c->busy_factors, c->n_arms, sizeof *c->busy_factors},
        {(void **)&c->can_run, c->n_arms, sizeof *c->can_run},
        {(void **)&c->arms, c->n_arms, sizeof *c->arms},
        {(void **)&c->at, c->n_arms, sizeof *c->at},
        {(void **)&c->results, c->n_arms, sizeof *c->results},
        {(void **)&c->ms, c->n_arms * work->options.n_repetitions, sizeof *c->ms},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(parts); i++)
        KVS_TRY(kvs_mem_alloc(parts[i].n, parts[i].size_bytes, parts[i].to, err));
    if (!work->wants_traces)
        return KVS_OK;
    void *timelines;
    KVS_TRY(kvs_mem_alloc(c->n_arms, sizeof *work->timelines, &timelines, err));
    work->timelines = timelines;
    return KVS_OK;
}

static void configuration_fini(struct configuration *c)
{
    for (size_t i = 0; c->busy_factors != NULL && i < c->n_arms; i++)
        kvs_mem_free(c->busy_factors[i]);
    kvs_mem_free(c->busy_factors);
    kvs_mem_free(c->can_run);
    kvs_mem_free(c->arms);
    kvs_mem_free(c->at);
    kvs_mem_free(c->results);
    kvs_mem_free(c->ms);
    if (!c->work->wants_traces)
        replay_drop_plans(c->work);
}

kvs_status kvs_replay_configuration(struct kvs_replay_work *work, size_t index,
                                    struct kvs_rows *rows, struct kvs_error *err)
{
    struct configuration c = {.work = work,
                              .rows = &rows->items[rows->n],
                              .n_arms = work->job->experiment.arms.n,
                              .context = kvs_replay_context(work)};
    work->index = index;
    kvs_status status = configuration_alloc(&c, err);
    if (status == KVS_OK)
        status = replay_predict_all(&c, err);
    if (status == KVS_OK)
        status = replay_run_all(&c, err);
    for (size_t i = 0; i < c.n_arms && status == KVS_OK; i++) {
        rows->n++;
        status = kvs_job_tell(work->run, &c.rows[i], err);
    }
    configuration_fini(&c);
    return status;
}

kvs_status kvs_replay_write_trace(const struct kvs_replay_work *work, const char *path,
                                  struct kvs_error *err)
{
    size_t n_arms = work->job->experiment.arms.n, n = 0;
    struct kvs_text text = {0};
    struct kvs_perfetto_part parts[KVS_EXPERIMENT_MAX_ARMS];
    for (size_t i = 0; i < n_arms; i++)
        if (work->timelines[i].spans.n > 0)
            parts[n++] = (struct kvs_perfetto_part){
                .name = n_arms > 1 ? work->job->experiment.arms.items[i].name : "",
                .plan = work->run->given != NULL ? work->run->given : work->plans[i],
                .timeline = &work->timelines[i]};
    kvs_status status = kvs_perfetto_write_parts(parts, n, work->job->machine, &text, err);
    if (status == KVS_OK)
        status = kvs_file_write(path, text.data, text.n, err);
    kvs_text_fini(&text);
    return status;
}

void kvs_replay_work_fini(struct kvs_replay_work *work)
{
    for (size_t i = 0; work->timelines != NULL && i < work->job->experiment.arms.n; i++)
        kvs_timeline_fini(&work->timelines[i]);
    kvs_mem_free(work->timelines);
    replay_drop_plans(work);
    kvs_arena_fini(&work->arena);
}
