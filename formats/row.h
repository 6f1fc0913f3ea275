/*
 * Result rows: one configuration under one arm, and four ways to write them.
 *
 *   csv    a header line and a line per row (RFC 4180)
 *   jsonl  an object per row and line
 *   json   one document: schema_version, kvsim_version, seed, rows, and per experiment its
 *          settings, devices and the figures of the machine that matter with their origin
 *   md     a table per experiment, the arms of a configuration side by side, and footnotes
 *
 * Column names are llama-bench's where the meaning is equal (type_k, n_depth, avg_ts, ...).
 * Their order is stable; new ones are added at the end. experiments/README.md explains each,
 * docs/definitions.md how it is computed.
 */
#ifndef KVS_FORMATS_ROW_H
#define KVS_FORMATS_ROW_H

#include "base/text.h"
#include "formats/experiment.h"
#include "sched/bound.h"

#define KVS_ROW_SCHEMA_VERSION 1

/* How rows were run for real. All borrowed. */
struct kvs_row_replay {
    const char *executor;
    bool is_measured; /* it measures time */
    uint32_t n_repetitions;
    uint32_t n_warmup;
};

/* What the rows of one experiment share. All borrowed. */
struct kvs_row_context {
    const char *version;                     /* of kvsim */
    const struct kvs_experiment *experiment; /* complete */
    const struct kvs_machine *machine;
    const struct kvs_llm *llm;
    uint64_t seed;
    uint64_t machine_hash; /* XXH3 of the file's bytes */
    uint64_t model_hash;
    const struct kvs_row_replay *replay; /* how they were run; NULL: predictions alone */
};

/* One run each, in the order they were made. Borrowed. */
struct kvs_row_samples {
    const double *ts;   /* [n] tokens per second */
    const uint64_t *ns; /* [n] of all tokens */
    size_t n;
};

/* NaN stands for "none" in every double. Strings are borrowed but for arrays. */
struct kvs_row {
    size_t configuration; /* rows of one configuration stand together and share it */
    size_t arm;           /* index into the experiment's arms */
    struct kvs_case c;
    uint64_t values[KVS_SETTING_COUNT];
    struct kvs_ring_choice ring; /* of the last segment, for footnotes on declines */
    uint32_t n_segments;

    const char *version;
    const char *build;
    const char *experiment;
    const char *machine;
    const char *model;
    const char *weights;
    const char *type_k;
    const char *type_v;
    const char *split_mode;
    const char *compute;      /* what computed: kvs_compute_kind_names */
    const char *tensor_split; /* "" for equal shares */
    const char *head_split;
    const char *arbitration;
    bool is_host_kv; /* the cache stays in host memory: llama-bench's no_kv_offload */
    bool is_pinned;
    bool is_unified;
    uint64_t n_parallel, n_rows, n_ctx, kv_gpu_layers, n_gen, n_depth;
    const char *arm_name; /* "pipelined+n4+yield" */
    const char *policy;   /* "pipelined" */
    uint64_t kvpd;
    double kvpb_mib; /* 0: no limit */

    double avg_ts;       /* llama-bench's name: mean of what was measured, or predicted */
    double predicted_ts; /* tokens per second, all sequences together */
    double predicted_ms; /* per token */
    double lo_ts, hi_ts; /* ends of unmeasured figures; none when all are measured */
    uint64_t n_declined; /* segments that ran ordered although a ring was asked for */
    const char *decline_reason; /* "" */
    double edge_ts;             /* the other answer */
    char edge_reason[128];
    double bound_ts;
    const char *bound_term; /* link, compute, chain */
    char bound_name[48];
    double share; /* of the bound, 0..1 */
    char bottleneck[48];
    double bottleneck_busy; /* 0..1 */
    char runner_up[48];
    double runner_up_busy;
    double exposed_ms;
    double loop_ms, copy_ms, wait_ms, issue_ms, early_mib, late_mib;
    double measured_ts;
    double err_pct; /* predicted against measured, of rates */
    uint64_t seed, machine_hash, model_hash, schema_version;
    char llama_flags[512]; /* of the fork's llama-bench */
    char error[200];       /* why there is no prediction, or no run, or "" */

    /* Of rows that were run for real; executor is NULL in all others. */
    const char *executor;
    struct kvs_row_samples samples;
    double stddev_ts;          /* of samples */
    double median_ts;          /* rate of the median time */
    double ci_lo_ts, ci_hi_ts; /* 95% interval of the median */
    char digest[17];           /* "" where no bytes were moved */
    double min_ms, mad_ms;     /* per token: the fastest run, median distance from the median */
    uint64_t n_outliers;
    double diff_ms, diff_lo_ms,
        diff_hi_ms;               /* per token: this arm less the first, 95% interval */
    double compute_ms, copies_ms; /* per token, each alone: what a naive model adds up */
    double time_scale;            /* wall-clock seconds per measured one */
};

/* Fills everything that does not come from a run; results become "none". Borrows all four. */
void kvs_row_init(struct kvs_row *row, const struct kvs_row_context *context,
                  const struct kvs_case *c, const uint64_t values[KVS_SETTING_COUNT],
                  size_t arm);

typedef enum kvs_row_format {
    KVS_ROW_MD,
    KVS_ROW_CSV,
    KVS_ROW_JSON,
    KVS_ROW_JSONL,
    KVS_ROW_NONE
} kvs_row_format;

/* Zero-initialise but for format. Text appears in out as soon as it is final; the caller prints
 * and empties it. A failed allocation sticks in out.status. */
struct kvs_row_writer {
    kvs_row_format format;
    struct kvs_text out;
    struct kvs_text rows;        /* json: held back until the end */
    struct kvs_text experiments; /* json */
    size_t n_rows;
    size_t n_experiments;
};

/* A row as it is done: csv and jsonl. Rows of one writer are all run for real, or none is. */
void kvs_row_write(struct kvs_row_writer *w, const struct kvs_row *row);
/* All n rows of an experiment, once it is done: md and json. */
void kvs_row_write_experiment(struct kvs_row_writer *w, const struct kvs_row_context *context,
                              const struct kvs_row *rows, size_t n);
/* The end: json. Takes the version and the seed. */
void kvs_row_write_end(struct kvs_row_writer *w, const char *version, uint64_t seed);
void kvs_row_writer_fini(struct kvs_row_writer *w);

/* The flags of llama-bench that run this row's configuration; depth last, left out on demand.
 */
void kvs_row_print_flags(const struct kvs_row *row, bool has_depth, struct kvs_text *out);

#endif
