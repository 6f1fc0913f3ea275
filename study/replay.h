/*
 * The arms of one configuration run for real: opened side by side, taking turns, and what can be
 * said about the difference between them. The question behind `kvsim replay`.
 *
 *     warm-up   A B C            every arm, n_warmup times
 *     round 1   A B C
 *     round 2   A B C            so that a machine that drifts does so for all of them
 *     ...
 *     trace     A B C            recorded, when asked for
 *
 * Where memory does not hold all sessions at once, each run opens its own and closes it, with
 * warm-up runs of its own.
 */
#ifndef KVS_STUDY_REPLAY_H
#define KVS_STUDY_REPLAY_H

#include "base/stats.h"
#include "sched/exec.h"

#define KVS_REPLAY_RESAMPLES 2000u
#define KVS_REPLAY_INTERVAL  0.95
/* |x - median| / MAD of an outlier: 10 standard deviations, 1.4826 MAD each for a normal sample.
 * Source: hyperfine, src/outlier_detection.rs. */
#define KVS_REPLAY_OUTLIER 14.826
/* Nearer to the median than this is none: of three samples two are close together now and then. */
#define KVS_REPLAY_OUTLIER_LEAST_FRAC 0.01

/* One arm: what is run. All borrowed for the call. */
struct kvs_replay_arm {
    const char *name;            /* for messages */
    const struct kvs_plan *plan; /* checked */
    const struct kvs_case *c;
    const double *busy_factors; /* [n_devices] of the prediction, or NULL */
};

struct kvs_replay_options {
    const struct kvs_exec_ops *exec; /* required */
    struct kvs_exec_options run;     /* of every arm; busy_factors are the arm's own */
    uint32_t n_repetitions;          /* at least 1 */
    uint32_t n_warmup;
    struct kvs_timeline *timelines; /* NULL, or [n_arms] filled by a run of their own */
    /* NULL, or told with context: of every run that is done; that memory does not hold all
     * sessions. */
    void (*told_run)(void *context, size_t done, size_t n_runs);
    void (*told_alone)(void *context, const struct kvs_error *why);
    void *context;
};

/* What the runs of one arm gave. */
struct kvs_replay_result {
    kvs_status status;    /* KVS_OK; KVS_ENOFIT or KVS_EUNSUPPORTED: it was not run */
    struct kvs_error err; /* why */
    kvs_time *samples_ps; /* owned, [n_samples] of all tokens; none where no time is measured */
    size_t n_samples;
    uint64_t digest;
    bool has_digest;
    bool is_steady;    /* every run gave this digest */
    double time_scale; /* wall-clock seconds per second of samples_ps; 0: no time is measured */
};

/*
 * results: [n_arms], filled for the caller (kvs_replay_fini), also on failure. An arm that the
 * executor cannot run, or that memory does not hold even alone, says so in its result, and the
 * others run. Errors: KVS_ESTOPPED, and all others that a run can have.
 */
kvs_status kvs_replay(const struct kvs_replay_arm *arms, size_t n_arms,
                      const struct kvs_replay_options *options,
                      struct kvs_replay_result *results, struct kvs_error *err) KVS_MUST_USE;
void kvs_replay_fini(struct kvs_replay_result *results, size_t n_arms);

/* True when all arms that gave a digest gave the same one, in every run. */
bool kvs_replay_is_exact(const struct kvs_replay_result *results, size_t n_arms);

/* Figures of samples x[n], n >= 1, in the unit of x. */
struct kvs_summary {
    double median;
    double mean;
    double stddev; /* 0 for one sample */
    double mad;    /* median distance from the median */
    double min;
    struct kvs_interval interval; /* 95% of the median; NaN for one sample */
    size_t n_outliers;            /* kept in all other figures */
};
kvs_status kvs_summarise(const double *x, size_t n, uint64_t seed, struct kvs_summary *out,
                         struct kvs_error *err) KVS_MUST_USE;
bool kvs_summary_is_outlier(const struct kvs_summary *summary, double x);

/* x less base, [n] samples each of the same rounds: what drifts drops out. */
struct kvs_difference {
    double median;
    struct kvs_interval interval; /* 95% of the median; NaN for one sample */
    bool is_none;                 /* the interval covers 0 */
};
kvs_status kvs_compare_pairs(const double *x, const double *base, size_t n, uint64_t seed,
                             struct kvs_difference *out, struct kvs_error *err) KVS_MUST_USE;

#endif
