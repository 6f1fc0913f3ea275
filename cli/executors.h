/* The executors that move real bytes, and which of them is meant. */
#ifndef KVS_CLI_EXECUTORS_H
#define KVS_CLI_EXECUTORS_H

#include "sched/exec.h"

/* "auto", then the names of all executors, of those not built too; NULL-terminated: choices of
 * a flag. */
extern const char *const kvs_executor_names[];

/* The executor of choice i; 0: the best that can run here. Errors: KVS_ENODEVICE when it was not
 * built, or has nothing to run on. */
kvs_status kvs_executor_choose(unsigned i, const struct kvs_exec_ops **out,
                               struct kvs_error *err) KVS_MUST_USE;

#endif
