/* The flags that say what to run, named as llama.cpp's, and how they fill an experiment. */
#ifndef KVS_CLI_SETTINGS_H
#define KVS_CLI_SETTINGS_H

#include "cli/options.h"
#include "formats/experiment.h"

/* Inputs: --machine, -m, --catalogue, --seed. */
extern const struct kvs_option_group kvs_inputs_group;
extern const struct kvs_option_group kvs_workload_group;
extern const struct kvs_option_group kvs_placement_group;
extern const struct kvs_option_group kvs_transport_group;

/* Each flag given takes the place of what the experiment says. Errors carry the flag as file.
 */
kvs_status kvs_settings_apply(const struct kvs_options *options,
                              struct kvs_experiment *experiment,
                              struct kvs_error *err) KVS_MUST_USE;

#endif
