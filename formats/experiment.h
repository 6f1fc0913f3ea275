/*
 * An experiment: one question, a machine, a model, and for every setting the values to try.
 * Every combination of values is a configuration, and each configuration runs under every arm
 * (study/sweep.h).
 *
 *     kind: experiment
 *     name: x4-bound
 *     question: How much does the pipelined transport give when one card sits on an x4 link?
 *     machine: rtx4070-rtx3060          # catalogue name or file
 *     model: qwen3.8-27b
 *     split_mode: tensor
 *     tensor_split: 50/50               # '/' inside one value, a list sweeps
 *     depth: [4096, 16384, 32768]
 *     kvpb: 512                         # MiB, or bytes with a unit; 0: no limit
 *     arms: [ordered, pipelined]
 *     measured: traces/published/x4-bound.csv
 *
 * Command-line flags fill the same structure. A setting that nobody gave has one value, its
 * default. experiments/README.md describes the file.
 */
#ifndef KVS_FORMATS_EXPERIMENT_H
#define KVS_FORMATS_EXPERIMENT_H

#include "base/array.h"
#include "base/text.h"
#include "formats/experiment_arm.h"

/* enum, key; the order of the cross product, the last one varies fastest */
#define KVS_SETTING_MAP(X)                                                                     \
    X(SPLIT_MODE, "split_mode")                                                                \
    X(TENSOR_SPLIT, "tensor_split")                                                            \
    X(HEAD_SPLIT, "head_split")                                                                \
    X(TYPE_K, "type_k")                                                                        \
    X(TYPE_V, "type_v")                                                                        \
    X(PINNED, "pinned")                                                                        \
    X(UNIFIED, "unified")                                                                      \
    X(N_PARALLEL, "n_parallel")                                                                \
    X(N_ROWS, "n_rows")                                                                        \
    X(N_CTX, "n_ctx")                                                                          \
    X(KV_GPU_LAYERS, "kv_gpu_layers")                                                          \
    X(KVPB, "kvpb")                                                                            \
    X(ARBITRATION, "arbitration")                                                              \
    X(FROZEN, "frozen")                                                                        \
    X(WINDOW_ROWS, "window_rows")                                                              \
    X(N_GEN, "n_gen")                                                                          \
    X(DEPTH, "depth")

typedef enum kvs_setting {
#define KVS_SETTING_ENUM(id, key) KVS_SETTING_##id,
    KVS_SETTING_MAP(KVS_SETTING_ENUM)
#undef KVS_SETTING_ENUM
        KVS_SETTING_COUNT
} kvs_setting;

/* Values of KVS_SETTING_ARBITRATION: the machine file's engines, or all engines overridden. */
typedef enum kvs_arbitration_choice {
    KVS_ARBITRATION_MACHINE,
    KVS_ARBITRATION_STICKY,
    KVS_ARBITRATION_FIFO
} kvs_arbitration_choice;

/*
 * Values of one setting in written order: counts as they are, kvpb in bytes (0: no limit),
 * names as their enum, true as 1, tensor_split as an index into splits.
 */
struct kvs_values {
    uint64_t *items; /* owned, [n] */
    size_t n;
    size_t capacity;
};

struct kvs_shares {
    char *text;    /* owned, "50/50" */
    double *items; /* owned, [n] */
    uint32_t n;
    unsigned line; /* of the experiment's file; 0: from a flag */
};

#define KVS_EXPERIMENT_MAX_ARMS 64

/* Zero-initialise; release with kvs_experiment_fini. All strings are owned or NULL. */
struct kvs_experiment {
    char *name;
    char *question;
    char *machine;
    char *model;
    char *measured; /* path of a measured table */
    struct kvs_values values[KVS_SETTING_COUNT];
    KVS_ARRAY(struct kvs_shares) splits;
    KVS_ARRAY(struct kvs_arm) arms;
};

void kvs_experiment_fini(struct kvs_experiment *experiment);

/* Reads a file's bytes under a display name. Every fault goes to diags; *err gets the first.
 * *out is empty on failure. */
kvs_status kvs_experiment_parse(const char *name, const char *bytes, size_t n,
                                struct kvs_diags *diags, struct kvs_experiment *out,
                                struct kvs_error *err) KVS_MUST_USE;

/* Replaces one of the strings above. */
kvs_status kvs_experiment_set_str(char **field, const char *text,
                                  struct kvs_error *err) KVS_MUST_USE;
/* Empties a setting's list, so that flags take the place of what a file said. */
void kvs_experiment_clear(struct kvs_experiment *experiment, kvs_setting setting);
/* Appends a value. Errors: KVS_ERANGE outside the setting's limits; no place is given. */
kvs_status kvs_experiment_add(struct kvs_experiment *experiment, kvs_setting setting,
                              uint64_t value, struct kvs_error *err) KVS_MUST_USE;
/* The same from text, as in a file: "q8_0", "512MiB", "50/50", "true". */
kvs_status kvs_experiment_add_text(struct kvs_experiment *experiment, kvs_setting setting,
                                   const char *text, struct kvs_error *err) KVS_MUST_USE;
/* Appends an arm unless the same one is there. */
kvs_status kvs_experiment_add_arm(struct kvs_experiment *experiment, const struct kvs_arm *arm,
                                  struct kvs_error *err) KVS_MUST_USE;

/*
 * Gives every empty list its default: arms ordered and pipelined, the tokens and types of
 * kvs_case_init, split_mode layer on several devices and none on one. tensor_split may stay
 * empty: equal shares. Refuses shares that do not match n_devices: the error has the shares'
 * line, and no file.
 */
kvs_status kvs_experiment_complete(struct kvs_experiment *experiment, uint32_t n_devices,
                                   struct kvs_error *err) KVS_MUST_USE;

const char *kvs_setting_key(kvs_setting setting);
/* Appends a value as a file would say it: "q8_0", "512", "true", "50/50". */
void kvs_experiment_print_value(const struct kvs_experiment *experiment, kvs_setting setting,
                                uint64_t value, struct kvs_text *out);
/* Names of a setting whose values are names, NULL-terminated; else NULL. */
const char *const *kvs_setting_names(kvs_setting setting);
/* The same lists for tables of flags, NULL-terminated, in the order of their enums. */
extern const char *const kvs_kv_type_names[];
extern const char *const kvs_split_mode_names[];
extern const char *const kvs_split_rule_names[];
extern const char *const kvs_arbitration_names[];
bool kvs_setting_is_bool(kvs_setting setting); /* named false and true */

#endif
