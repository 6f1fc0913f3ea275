/* The executor in virtual time: a discrete-event simulation of queues, engines and links. */
#ifndef KVS_SIM_EXEC_SIM_H
#define KVS_SIM_EXEC_SIM_H

#include "sched/exec.h"

extern const struct kvs_exec_ops kvs_exec_sim;

#endif
