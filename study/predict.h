/*
 * One prediction: plan a case under a policy, check the plan, run it, and say what came out and
 * what bounds it. The question behind `kvsim predict`.
 */
#ifndef KVS_STUDY_PREDICT_H
#define KVS_STUDY_PREDICT_H

#include "sched/bound.h"
#include "sched/exec.h"
#include "sched/policy.h"

/* A resource and the share of the token during which it was busy. */
struct kvs_busy {
    char name[48];    /* "gpu1.h2d", "gpu0.compute", "host", "gpu0.ring", "all-reduce" */
    double busy_frac; /* 0..1 */
};

/* Where the host spends a token, ms: the three numbers that the fork prints, and the rest. */
struct kvs_breakdown {
    double total_ms;  /* the split loop: the token less the last split, sampling and boundary */
    double copy_ms;   /* blocked in small copies and stores; whole windows when ordered */
    double wait_ms;   /* blocked waiting for compute inside the loop */
    double issue_ms;  /* calls and launches */
    double early_mib; /* delivered early per token */
    double late_mib;
};

/* Another answer, when the first one hangs on microseconds. */
struct kvs_edge {
    bool is_edge;
    double other_ms;  /* token time on the other side */
    char reason[128]; /* what decides: "with deliveries 5% slower" */
};

struct kvs_prediction {
    double token_ms;              /* mean over the generated tokens */
    double ts;                    /* tokens per second, all sequences together */
    struct kvs_decision decision; /* ring and declines */
    struct kvs_bound bound;
    double share; /* bound / token time, 0..1 */
    struct kvs_busy bottleneck;
    struct kvs_busy runner_up;
    double exposed_ms; /* token time less the busiest resource's busy time */
    struct kvs_breakdown breakdown;
    /* What a model without schedule or contention adds up, or takes the larger of. */
    double compute_ms; /* of a token, device after device where they wait for each other */
    double
        copies_ms; /* bytes over the rate of the device's link, host to device: of all devices
                          where whole windows are copied (ordered), else of the slowest */
    struct kvs_edge edge;
    uint64_t n_ops;         /* dispatched */
    uint32_t repeat_length; /* tokens of the repeating state found, 0: none */
};

struct kvs_predict_options {
    const struct kvs_exec_ops *exec; /* required; the simulator for `predict` */
    bool wants_edges;                /* run the neighbours too */
    struct kvs_timeline *timeline;   /* NULL, or filled for the caller (kvs_timeline_fini) */
    struct kvs_plan **plan;          /* NULL, or the plan, returned to the caller */
    /* NULL, or [n_devices] by which compute is slower for being busy, returned to the caller
     * (kvs_mem_free): NULL before the call, set as soon as the plan has run. */
    double **busy_factors;
};

/* Borrows everything for the call. Errors: those of the policy, the checker and the executor.
 */
kvs_status kvs_predict(const struct kvs_case *c, const struct kvs_policy *policy,
                       const struct kvs_predict_options *options, struct kvs_prediction *out,
                       struct kvs_error *err) KVS_MUST_USE;

/* The same for a plan that the caller has proved (kvs_plan_check): run on the case's machine. */
kvs_status kvs_predict_plan(const struct kvs_plan *plan, const struct kvs_case *c,
                            const struct kvs_predict_options *options,
                            struct kvs_prediction *out, struct kvs_error *err) KVS_MUST_USE;

#endif
