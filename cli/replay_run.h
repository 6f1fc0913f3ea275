/* One configuration of `kvsim replay`: every arm predicted, run, and told of in a row. */
#ifndef KVS_CLI_REPLAY_RUN_H
#define KVS_CLI_REPLAY_RUN_H

#include "base/arena.h"
#include "cli/job.h"
#include "study/replay.h"

#define KVS_REPLAY_CONTROL " (again)" /* behind the name of the arm that is run twice */

/* State over all configurations of a job. Zero-initialise what is not given; release with
 * kvs_replay_work_fini, after the rows were printed. */
struct kvs_replay_work {
    const struct kvs_job *job;
    struct kvs_job_run *run;           /* writers, a given plan, the worst status */
    struct kvs_replay_options options; /* given but for what is told */
    struct kvs_row_replay replay;      /* for the rows' context */
    struct kvs_timeline *timelines;    /* owned [n_arms]; NULL unless wants_traces */
    struct kvs_plan **plans;           /* owned [n_arms], of the last configuration; NULL */
    double factor;                     /* of the bytes that copies move, for emulation; 1 */
    bool wants_traces;                 /* keeps plans, and records timelines */
    double start_s;                    /* of the configuration's runs */
    bool has_estimated;                /* said how long it will take */
    bool has_said_alone;               /* out: memory did not hold all sessions at once */
    bool has_unequal;                  /* out: some digests differ */
    size_t index;                      /* of the configuration at work */
    struct kvs_arena arena;            /* samples that rows borrow */
};

struct kvs_row_context kvs_replay_context(const struct kvs_replay_work *work);
/* Appends the rows of configuration `index`; room for them is reserved. Errors: KVS_ESTOPPED, and
 * what ends everything; then there are no new rows. */
kvs_status kvs_replay_configuration(struct kvs_replay_work *work, size_t index,
                                    struct kvs_rows *rows, struct kvs_error *err) KVS_MUST_USE;
/* The recorded runs of the last configuration as one trace. */
kvs_status kvs_replay_write_trace(const struct kvs_replay_work *work, const char *path,
                                  struct kvs_error *err) KVS_MUST_USE;
void kvs_replay_work_fini(struct kvs_replay_work *work);

#endif
