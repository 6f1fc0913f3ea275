/*
 * Rows read back: what `-o json` and `-o jsonl` of predict and replay wrote, as far as two results
 * can be laid side by side. Keys that are not known are passed over; those that are missing or
 * null are "none", but for what says which configuration it is.
 */
#ifndef KVS_FORMATS_ROW_READ_H
#define KVS_FORMATS_ROW_READ_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/array.h"

/* What makes two rows the same configuration, in the order of their columns; the last is the
 * policy with its options. */
#define KVS_RESULT_N_KEYS 20
extern const char *const kvs_result_keys[KVS_RESULT_N_KEYS];

/* NaN stands for "none". Strings belong to the arena of the results. */
struct kvs_result {
    const char *keys[KVS_RESULT_N_KEYS]; /* as text: "4096", "true", "q8_0" */
    uint64_t hash;                       /* of all keys */
    const char *policy;
    double predicted_ts;
    double measured_ts;
    double n_parallel;
    double declined;
    double compute_ms, copies_ms; /* rows of replay have them */
    const char *executor;         /* of such rows, else "" */
};

/* Zero-initialise; release with kvs_results_fini. */
struct kvs_results {
    KVS_ARRAY(struct kvs_result) items;
    struct kvs_arena arena;
};

/* Appends the rows of one document. Errors: KVS_ESYNTAX, KVS_EINVAL with file and line. */
kvs_status kvs_results_read(const char *name, const char *bytes, size_t n,
                            struct kvs_results *out, struct kvs_error *err) KVS_MUST_USE;
void kvs_results_fini(struct kvs_results *results);

bool kvs_result_is_same(const struct kvs_result *a, const struct kvs_result *b);

#endif
