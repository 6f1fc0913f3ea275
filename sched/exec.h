/*
 * The contract between a plan and an executor: a const descriptor and one call.
 * An executor takes only plans that kvs_plan_check accepted.
 */
#ifndef KVS_SCHED_EXEC_H
#define KVS_SCHED_EXEC_H

#include "sched/case.h"
#include "sched/timeline.h"

#define KVS_EXEC_ABI 1

struct kvs_exec_options {
    bool wants_timeline;      /* fill *timeline (costs time and memory) */
    bool no_repeat_detection; /* sim: carry out every token */
};

struct kvs_exec_ops {
    unsigned abi_version; /* KVS_EXEC_ABI */
    const char *name;     /* "sim" */
    const char *summary;  /* one line */
    /*
     * Required. Runs the plan on the case's machine. *run is filled for the caller
     * (kvs_run_fini); timeline may be NULL unless options->wants_timeline.
     */
    kvs_status (*run)(const struct kvs_plan *plan, const struct kvs_case *c,
                      const struct kvs_exec_options *options, struct kvs_run *run,
                      struct kvs_timeline *timeline, struct kvs_error *err);
};

#endif
