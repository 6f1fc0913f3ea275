/* Sessions of all arms, and runs in turn. */
#include "study/replay.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

typedef enum replay_kind { REPLAY_WARMUP, REPLAY_SAMPLE, REPLAY_TRACE } replay_kind;

struct replay {
    const struct kvs_replay_arm *arms; /* [n_arms] */
    size_t n_arms;
    const struct kvs_replay_options *options;
    struct kvs_replay_result *results; /* [n_arms] */
    struct kvs_exec_options *run;      /* owned, [n_arms] */
    void **sessions;                   /* owned, [n_arms]; NULL: not open */
    bool is_alone;                     /* one session at a time */
    size_t n_done;
};

static size_t replay_n_runs(const struct replay *r)
{
    size_t n = r->options->n_repetitions + (r->options->timelines != NULL ? 1u : 0u);
    return r->n_arms *
           (r->is_alone ? n * (1u + r->options->n_warmup) : n + r->options->n_warmup);
}

static kvs_status replay_check_stop(const struct replay *r, struct kvs_error *err)
{
    const volatile sig_atomic_t *stop = r->options->run.stop;
    return stop != NULL && *stop ? kvs_error_set(err, KVS_ESTOPPED, "stopped") : KVS_OK;
}

static void replay_close(struct replay *r, size_t arm)
{
    if (r->sessions[arm] != NULL)
        r->options->exec->close(r->sessions[arm]);
    r->sessions[arm] = NULL;
}

/* Memory that does not hold a session is a matter of its size, as on a device. */
static kvs_status replay_open(struct replay *r, size_t arm, struct kvs_error *err)
{
    const struct kvs_replay_arm *a = &r->arms[arm];
    const struct kvs_exec_ops *exec = r->options->exec;
    struct kvs_error why = {0};
    void *session = NULL;
    kvs_status status = exec->open(a->plan, a->c, &r->run[arm], &session, &why);
    if (status == KVS_ENOMEM)
        status = KVS_ENOFIT;
    if (status == KVS_OK)
        r->sessions[arm] = session;
    else if (err != NULL)
        *err = why;
    if (status == KVS_ENOFIT)
        kvs_error_set(err, status, "the executor %s has no room for it: %s", exec->name,
                      why.text);
    return status;
}

/* What keeps one arm from running, and only that arm. */
static kvs_status replay_give_up(struct replay *r, size_t arm, kvs_status status,
                                 const struct kvs_error *why)
{
    if (status != KVS_ENOFIT && status != KVS_EUNSUPPORTED)
        return status;
    r->results[arm].status = status;
    r->results[arm].err = *why;
    r->results[arm].n_samples = 0;
    return KVS_OK;
}

static bool replay_has_session(const struct replay *r)
{
    for (size_t a = 0; a < r->n_arms; a++)
        if (r->sessions[a] != NULL)
            return true;
    return false;
}

static void replay_close_all(struct replay *r)
{
    for (size_t a = 0; a < r->n_arms; a++)
        replay_close(r, a);
}

static kvs_status replay_open_all(struct replay *r, struct kvs_error *err)
{
    for (size_t a = 0; a < r->n_arms && !r->is_alone; a++) {
        struct kvs_error why = {0};
        kvs_status status = replay_open(r, a, &why);
        if (status == KVS_ENOFIT && replay_has_session(r)) {
            replay_close_all(r);
            r->is_alone = true;
            if (r->options->told_alone != NULL)
                r->options->told_alone(r->options->context, &why);
        } else if (status != KVS_OK && replay_give_up(r, a, status, &why) != KVS_OK) {
            if (err != NULL)
                *err = why;
            return status;
        }
    }
    return KVS_OK;
}

static void replay_take(struct replay *r, size_t arm, const struct kvs_run *run,
                        replay_kind kind)
{
    struct kvs_replay_result *result = &r->results[arm];
    if (kind == REPLAY_SAMPLE && r->options->exec->is_measured)
        result->samples_ps[result->n_samples++] = run->total_ps;
    result->time_scale = run->time_scale;
    if (!run->has_digest)
        return;
    result->is_steady =
        !result->has_digest || (result->is_steady && result->digest == run->digest);
    if (!result->has_digest)
        result->digest = run->digest;
    result->has_digest = true;
}

static kvs_status replay_run(struct replay *r, size_t arm, replay_kind kind,
                             struct kvs_error *err)
{
    struct kvs_run run = {0};
    struct kvs_timeline *timeline = kind == REPLAY_TRACE ? &r->options->timelines[arm] : NULL;
    KVS_TRY(replay_check_stop(r, err));
    KVS_TRY(r->options->exec->run(r->sessions[arm], &run, timeline, err));
    replay_take(r, arm, &run, kind);
    kvs_run_fini(&run);
    r->n_done++;
    if (r->options->told_run != NULL)
        r->options->told_run(r->options->context, r->n_done, replay_n_runs(r));
    return KVS_OK;
}

/* A run in a session of its own. */
static kvs_status replay_run_alone(struct replay *r, size_t arm, replay_kind kind,
                                   struct kvs_error *err)
{
    struct kvs_error why = {0};
    KVS_TRY(replay_check_stop(r, err));
    kvs_status status = replay_open(r, arm, &why);
    if (status != KVS_OK) {
        if (err != NULL)
            *err = why;
        return replay_give_up(r, arm, status, &why);
    }
    for (uint32_t w = 0; w < r->options->n_warmup && status == KVS_OK; w++)
        status = replay_run(r, arm, REPLAY_WARMUP, err);
    if (status == KVS_OK)
        status = replay_run(r, arm, kind, err);
    replay_close(r, arm);
    return status;
}

static kvs_status replay_round(struct replay *r, replay_kind kind, struct kvs_error *err)
{
    for (size_t a = 0; a < r->n_arms; a++) {
        if (r->results[a].status != KVS_OK)
            continue;
        KVS_TRY(r->is_alone ? replay_run_alone(r, a, kind, err) : replay_run(r, a, kind, err));
    }
    return KVS_OK;
}

static kvs_status replay_rounds(struct replay *r, struct kvs_error *err)
{
    KVS_TRY(replay_open_all(r, err));
    for (uint32_t w = 0; w < r->options->n_warmup && !r->is_alone; w++)
        KVS_TRY(replay_round(r, REPLAY_WARMUP, err));
    for (uint32_t k = 0; k < r->options->n_repetitions; k++)
        KVS_TRY(replay_round(r, REPLAY_SAMPLE, err));
    return r->options->timelines != NULL ? replay_round(r, REPLAY_TRACE, err) : KVS_OK;
}

static kvs_status replay_alloc(struct replay *r, struct kvs_error *err)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(r->n_arms, sizeof *r->run, &memory, err));
    r->run = memory;
    KVS_TRY(kvs_mem_alloc(r->n_arms, sizeof *r->sessions, &memory, err));
    r->sessions = memory;
    for (size_t a = 0; a < r->n_arms; a++) {
        r->run[a] = r->options->run;
        r->run[a].busy_factors = r->arms[a].busy_factors;
        KVS_TRY(kvs_mem_alloc(r->options->n_repetitions, sizeof(kvs_time), &memory, err));
        r->results[a].samples_ps = memory;
    }
    return KVS_OK;
}

kvs_status kvs_replay(const struct kvs_replay_arm *arms, size_t n_arms,
                      const struct kvs_replay_options *options,
                      struct kvs_replay_result *results, struct kvs_error *err)
{
    struct replay r = {.arms = arms, .n_arms = n_arms, .options = options, .results = results};
    const struct kvs_exec_ops *exec = options->exec;
    KVS_ASSERT(exec->abi_version == KVS_EXEC_ABI && exec->open && exec->run && exec->close);
    KVS_ASSERT(options->n_repetitions >= 1);
    memset(results, 0, n_arms * sizeof *results);
    kvs_status status = replay_alloc(&r, err);
    if (status == KVS_OK) {
        status = replay_rounds(&r, err);
        replay_close_all(&r);
    }
    kvs_mem_free(r.sessions);
    kvs_mem_free(r.run);
    return status;
}

void kvs_replay_fini(struct kvs_replay_result *results, size_t n_arms)
{
    for (size_t a = 0; a < n_arms; a++) {
        kvs_mem_free(results[a].samples_ps);
        results[a].samples_ps = NULL;
        results[a].n_samples = 0;
    }
}

bool kvs_replay_is_exact(const struct kvs_replay_result *results, size_t n_arms)
{
    const struct kvs_replay_result *first = NULL;
    for (size_t a = 0; a < n_arms; a++) {
        if (!results[a].has_digest)
            continue;
        if (first == NULL)
            first = &results[a];
        if (!results[a].is_steady || results[a].digest != first->digest)
            return false;
    }
    return true;
}
