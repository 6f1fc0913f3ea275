/* What `kvsim check` says of a good file; appended to out. */
#ifndef KVS_CLI_CHECK_PRINT_H
#define KVS_CLI_CHECK_PRINT_H

#include "base/text.h"
#include "formats/experiment.h"
#include "models/llm.h"
#include "models/machine.h"
#include "sched/plan_check.h"

/* Every figure with its origin, interval and source. */
kvs_status kvs_check_print_machine(const struct kvs_machine *machine, struct kvs_text *out,
                                   struct kvs_error *err) KVS_MUST_USE;
/* The figures of device 0's card alone. */
kvs_status kvs_check_print_card(const struct kvs_machine *machine, struct kvs_text *out,
                                struct kvs_error *err) KVS_MUST_USE;
void kvs_check_print_model(const struct kvs_llm *llm, struct kvs_text *out);
/* experiment is complete. */
void kvs_check_print_experiment(const struct kvs_experiment *experiment,
                                size_t n_configurations, struct kvs_text *out);
void kvs_check_print_plan(const struct kvs_plan *plan,
                          const struct kvs_plan_check_report *report, struct kvs_text *out);

#endif
