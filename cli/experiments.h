/* What predict and replay share: experiments as operands, one after another, and their rows. */
#ifndef KVS_CLI_EXPERIMENTS_H
#define KVS_CLI_EXPERIMENTS_H

#include "cli/given.h"
#include "cli/output.h"

/* State of one call. */
struct kvs_experiments {
    struct kvs_options *options; /* owned */
    struct kvs_console console;
    struct kvs_catalogue catalogue;
    struct kvs_diags diags;
    struct kvs_output output;
    struct kvs_given given;
    kvs_status worst; /* of configurations that could not run while others could */
};

/* What a command does with an experiment; context is its own. */
struct kvs_experiments_work {
    void *context;
    /* NULL, or called once it is loaded, also for --dry-run: changes settings. */
    kvs_status (*adjust)(void *context, struct kvs_job *job, struct kvs_error *err);
    /* Required: runs it and prints its rows. */
    kvs_status (*run)(void *context, struct kvs_job *job, struct kvs_error *err);
};

/* Reads the command line; false: *code is what to exit with, and there is nothing to close. */
bool kvs_experiments_open(struct kvs_experiments *e, const struct kvs_options_spec *spec,
                          int argc, const char *const *argv, int *code);
/* Every experiment named, the default without a name, then the end of the output: also after
 * KVS_ESTOPPED, so that rows that are done are whole. Errors: those of the work; KVS_ESTOPPED. */
kvs_status kvs_experiments_run(struct kvs_experiments *e,
                               const struct kvs_experiments_work *work,
                               struct kvs_error *err) KVS_MUST_USE;
/* Says what went wrong, if anything did, and releases everything. Returns the exit code. */
int kvs_experiments_close(struct kvs_experiments *e, kvs_status status,
                          const struct kvs_error *err);

#endif
