/*
 * Everything one experiment needs, loaded: settings from a file and flags, machine, model, the
 * cross product, and the measured table to show beside it.
 */
#ifndef KVS_CLI_JOB_H
#define KVS_CLI_JOB_H

#include "cli/catalogue.h"
#include "cli/command.h"
#include "formats/experiment.h"
#include "formats/row.h"
#include "formats/table.h"
#include "study/predict.h"
#include "study/sweep.h"

#define KVS_DEFAULT_EXPERIMENT "x4-bound"

/* Zero-initialise; release with kvs_job_fini. */
struct kvs_job {
    struct kvs_experiment experiment;
    char file[256];    /* of the experiment when read from a file, else "" */
    const char *place; /* of the experiment, for messages; borrowed from the catalogue */
    uint64_t experiment_hash, machine_hash, model_hash; /* XXH3 of the files' bytes */
    struct kvs_machine *machine;                        /* owned */
    struct kvs_llm *llm;                                /* owned */
    struct kvs_product *product;                        /* owned */
    struct kvs_table *measured;                         /* owned, or NULL */
    uint64_t seed;
    unsigned n_threads; /* rows worked on at a time; 0: one per processor */
};

/*
 * Loads `experiment` (catalogue name or file) and lets the flags of cli/settings.h override it.
 * NULL: the default experiment, or, when --machine or -m is given, nothing but the flags and
 * defaults. The catalogue must outlive the job. Faults of files go to diags.
 */
kvs_status kvs_job_open(struct kvs_job *job, struct kvs_catalogue *catalogue,
                        const char *experiment, const struct kvs_options *options,
                        struct kvs_diags *diags, struct kvs_error *err) KVS_MUST_USE;
/* Replaces the numbers of generated tokens by one. */
kvs_status kvs_job_set_n_gen(struct kvs_job *job, uint64_t n_gen,
                             struct kvs_error *err) KVS_MUST_USE;
void kvs_job_fini(struct kvs_job *job);

/* Refuses more than one configuration or policy; what is the flag or command that needs one. */
kvs_status kvs_job_needs_one(const struct kvs_job *job, const char *what,
                             struct kvs_error *err) KVS_MUST_USE;

/* Rows of a job. Zero-initialise; release with KVS_ARRAY_FREE before the job. */
struct kvs_rows {
    struct kvs_row *items;
    size_t n;
    size_t capacity;
};

/* How to run. Zero is a plain run. */
struct kvs_job_run {
    const struct kvs_console *console;
    bool has_edges;
    bool has_ranges;
    struct kvs_row_writer *writers[2]; /* told of every row as it is done, printed to streams */
    FILE *streams[2];
    struct kvs_timeline *timeline; /* NULL, or filled: then there is one row */
    struct kvs_plan **plan;        /* NULL, or the plan, returned to the caller */
    double **busy_factors;         /* the same of kvs_predict_options, for one row */
    const struct kvs_plan *given;  /* NULL, or a plan that takes the place of the policy's */
    bool is_named_by_plan; /* the plan's policy is none of ours: rows carry its name alone */
    bool is_foreign;  /* the plan was not made for this: no bound, no measured rows beside it */
    char said[200];   /* the last reason given why a configuration could not run: said once */
    kvs_status worst; /* out: of configurations that could not run while others could */
};

/* Predicts kvsim's own kernels, which read the weights, from now on; warns of a device whose
 * machine file has no figures for them. */
void kvs_job_stream(struct kvs_job *job, const struct kvs_console *console);

struct kvs_row_context kvs_job_context(const struct kvs_job *job);

/* Runs every configuration under every arm. One that does not fit, or that llama.cpp refuses,
 * becomes a row without results; other faults end the run. */
kvs_status kvs_job_run(const struct kvs_job *job, struct kvs_job_run *run,
                       struct kvs_rows *rows, struct kvs_error *err) KVS_MUST_USE;

/*
 * The steps of kvs_job_run, for commands that do more with a row.
 *
 * Fills row i (arm by arm within a configuration) with its prediction: on any thread, and beside
 * others unless run asks for a timeline, a plan or busy factors.
 */
kvs_status kvs_job_predict(const struct kvs_job *job, const struct kvs_job_run *run,
                           const struct kvs_row_context *context, size_t i, struct kvs_row *row,
                           struct kvs_error *err) KVS_MUST_USE;
/* A configuration that does not fit or is refused becomes a row that says so, and one warning:
 * what it lacks ("prediction"). Returns any other status. */
kvs_status kvs_job_judge(struct kvs_job_run *run, struct kvs_row *row, const char *lacks,
                         kvs_status status, const struct kvs_error *err) KVS_MUST_USE;
/* Prints a row that is done, where the format has lines. */
kvs_status kvs_job_tell(const struct kvs_job_run *run, const struct kvs_row *row,
                        struct kvs_error *err) KVS_MUST_USE;

/* cli/measured.c: the table of the experiment; a missing one is a warning. */
kvs_status kvs_measured_load(struct kvs_job *job, struct kvs_catalogue *catalogue,
                             const struct kvs_console *console,
                             struct kvs_error *err) KVS_MUST_USE;
/* Mean of the measured rows with the row's settings, NaN when there are none. */
double kvs_measured_ts(const struct kvs_table *table, const struct kvs_row *row);

/* cli/warn.c: what a reader should know before believing a result. */
void kvs_job_warn(const struct kvs_job *job, const struct kvs_console *console);

#endif
