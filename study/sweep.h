/*
 * The cross product of an experiment's settings: one configuration per combination of values,
 * settings in the order of KVS_SETTING_MAP (depth varies fastest), values in written order.
 *
 *     depth: [4096, 16384], arbitration: [sticky, fifo]
 *     ->  sticky 4096, sticky 16384, fifo 4096, fifo 16384
 */
#ifndef KVS_STUDY_SWEEP_H
#define KVS_STUDY_SWEEP_H

#include "formats/experiment.h"

#define KVS_PRODUCT_MAX 1000000u /* configurations */

struct kvs_product;

/* One configuration. Borrowed from the product until it is destroyed. */
struct kvs_configuration {
    struct kvs_case c;
    size_t at[KVS_SETTING_COUNT]; /* which value of each list */
};

/*
 * Borrows all three until destroy; the experiment is complete (kvs_experiment_complete).
 * Errors: KVS_ERANGE above KVS_PRODUCT_MAX. Returns to caller: kvs_product_destroy.
 */
kvs_status kvs_product_create(const struct kvs_experiment *experiment,
                              const struct kvs_machine *machine, const struct kvs_llm *llm,
                              struct kvs_product **out, struct kvs_error *err) KVS_MUST_USE;
void kvs_product_destroy(struct kvs_product *product); /* NULL is fine */

/* What computes in all configurations from now on; KVS_COMPUTE_MODELLED before. */
void kvs_product_set_compute(struct kvs_product *product, kvs_compute_kind compute);

size_t kvs_product_n(const struct kvs_product *product);
void kvs_product_get(const struct kvs_product *product, size_t i,
                     struct kvs_configuration *out);

/* The configuration's value of a setting. tensor_split without a list has none: 0. */
uint64_t kvs_configuration_value(const struct kvs_product *product,
                                 const struct kvs_configuration *configuration,
                                 kvs_setting setting);

/* Ends of what a machine file leaves open. */
typedef enum kvs_interval_end { KVS_END_SLOW, KVS_END_FAST } kvs_interval_end;

/*
 * True where a case rests on figures that nobody measured on this machine: a link's rate from
 * its slot, a datasheet or an inference, a device without a profile for the model, all-reduces and
 * the time between tokens by default; and their intervals have some width.
 */
bool kvs_case_is_uncertain(const struct kvs_case *c);

/* A clone of the case's machine with those figures at the slow or the fast end of their
 * intervals: link rates, memory_efficiency, collective.latency, between_tokens. */
kvs_status kvs_machine_at_end(const struct kvs_case *c, kvs_interval_end end,
                              struct kvs_machine **out, struct kvs_error *err) KVS_MUST_USE;

#endif
