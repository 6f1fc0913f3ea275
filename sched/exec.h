/*
 * The contract between a plan and an executor: a const descriptor. An executor takes only plans
 * that kvs_plan_check accepted.
 *
 * An executor opens a plan once and runs it any number of times: what is expensive (memory,
 * streams, threads) is made when it is opened, so that several plans, open side by side, can take
 * turns. Every run begins in the same state: buffers as the plan says, setup done.
 */
#ifndef KVS_SCHED_EXEC_H
#define KVS_SCHED_EXEC_H

#include <signal.h>

#include "sched/case.h"
#include "sched/timeline.h"

#define KVS_EXEC_ABI 3

/* How members of a collective come together on a real machine. */
typedef enum kvs_exec_collective {
    KVS_EXEC_COLLECTIVE_AUTO, /* NCCL where each device has a GPU of its own and it is there */
    KVS_EXEC_COLLECTIVE_NCCL, /* or nothing runs */
    KVS_EXEC_COLLECTIVE_HOST  /* through host memory */
} kvs_exec_collective;

/* Zero-initialised: defaults. Pointers are borrowed until close. */
struct kvs_exec_options {
    /* virtual time */
    bool no_repeat_detection; /* carry out every token */
    /* wall-clock time */
    double time_scale;          /* host: wall-clock seconds per modelled one; 0: chosen by it */
    uint64_t seed;              /* of the cache's content */
    bool verifies;              /* poison bytes once they are used: what is missing shows */
    const double *busy_factors; /* [n_devices] of compute for being busy; NULL: 1 */
    kvs_exec_collective collective; /* cuda */
    bool emulates_links;            /* cuda: play the machine's copy engines and links */
    const uint16_t *map;            /* cuda: [n_devices] GPU of each device; NULL: one each */
    const volatile sig_atomic_t
        *stop; /* becomes true to end a run with KVS_ESTOPPED; or NULL */
};

struct kvs_exec_ops {
    unsigned abi_version; /* KVS_EXEC_ABI */
    const char *name;     /* "sim" */
    const char *summary;  /* one line */
    bool is_measured;     /* wall-clock time: times differ from run to run, digests do not */
    /*
     * Required. plan, c and options are borrowed until close. Errors: what the executor cannot do
     * (KVS_EUNSUPPORTED), memory. Returns to caller: close.
     */
    kvs_status (*open)(const struct kvs_plan *plan, const struct kvs_case *c,
                       const struct kvs_exec_options *options, void **session,
                       struct kvs_error *err);
    /*
     * Required. Carries out every token. *run is filled for the caller (kvs_run_fini). With
     * timeline not NULL every operation is recorded in it (kvs_timeline_fini).
     */
    kvs_status (*run)(void *session, struct kvs_run *run, struct kvs_timeline *timeline,
                      struct kvs_error *err);
    /* Required. Ends everything the session began; NULL is accepted. */
    void (*close)(void *session);
};

/* Open, run once, close. */
static inline kvs_status kvs_exec_once(const struct kvs_exec_ops *exec,
                                       const struct kvs_plan *plan, const struct kvs_case *c,
                                       const struct kvs_exec_options *options,
                                       struct kvs_run *run, struct kvs_timeline *timeline,
                                       struct kvs_error *err)
{
    void *session;
    KVS_ASSERT(exec->abi_version == KVS_EXEC_ABI && exec->open && exec->run && exec->close);
    KVS_TRY(exec->open(plan, c, options, &session, err));
    kvs_status status = exec->run(session, run, timeline, err);
    exec->close(session);
    return status;
}

#endif
