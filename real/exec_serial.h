/* The plan's own meaning: its operations one after another, in issue order, on host memory. */
#ifndef KVS_REAL_EXEC_SERIAL_H
#define KVS_REAL_EXEC_SERIAL_H

#include "sched/exec.h"

/* Measures nothing: run->total_ps is 0. Its digest is the one that every executor must give. */
extern const struct kvs_exec_ops kvs_exec_serial;

#endif
