/* --plan FILE: a plan that takes the place of a policy's, on one configuration. */
#ifndef KVS_CLI_GIVEN_H
#define KVS_CLI_GIVEN_H

#include "cli/job.h"

/* Zero-initialise; release with kvs_given_fini. */
struct kvs_given {
    const struct kvs_options *options; /* borrowed: --plan, -n */
    const struct kvs_console *console; /* borrowed */
    struct kvs_plan *plan;             /* owned; NULL when none was given */
};

/* Reads the plan, when there is one, and proves every token of it. */
kvs_status kvs_given_read(struct kvs_given *given, const struct kvs_options *options,
                          const struct kvs_console *console,
                          struct kvs_error *err) KVS_MUST_USE;
/* The plan's policy and tokens take the place of the job's. Errors: more than one
 * configuration. Nothing happens when none was given. */
kvs_status kvs_given_use(const struct kvs_given *given, struct kvs_job *job,
                         struct kvs_job_run *run, struct kvs_error *err) KVS_MUST_USE;
/* Says that the fault lies in the plan's file, unless it has a place. */
void kvs_given_place(const struct kvs_given *given, struct kvs_error *err);
void kvs_given_fini(struct kvs_given *given);

#endif
