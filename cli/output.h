/* What commands that print rows share: the flags of their output, and their writers. */
#ifndef KVS_CLI_OUTPUT_H
#define KVS_CLI_OUTPUT_H

#include "cli/job.h"

/* -o, -oe, --no-edges, --no-ranges, --dry-run. */
extern const struct kvs_option_group kvs_output_group;

/* Two writers: stdout's, and the second format on stderr. */
struct kvs_output {
    struct kvs_row_writer writers[2];
};

void kvs_output_open(struct kvs_output *output, const struct kvs_options *options);
/* Sets the writers and streams of a run, --no-edges and --no-ranges. */
void kvs_output_run(struct kvs_output *output, const struct kvs_options *options,
                    struct kvs_job_run *run);
/* All rows of an experiment, once it is done. */
kvs_status kvs_output_experiment(struct kvs_output *output,
                                 const struct kvs_row_context *context,
                                 const struct kvs_rows *rows,
                                 struct kvs_error *err) KVS_MUST_USE;
/* The end of everything. */
kvs_status kvs_output_end(struct kvs_output *output, uint64_t seed,
                          struct kvs_error *err) KVS_MUST_USE;
void kvs_output_close(struct kvs_output *output);

/* --dry-run: how many predictions there would be. */
kvs_status kvs_output_dry_run(const struct kvs_job *job, struct kvs_error *err) KVS_MUST_USE;

/* Refuses a --trace that could not be written in the end, and "-". */
kvs_status kvs_output_check_trace(const char *path, struct kvs_error *err) KVS_MUST_USE;

#endif
