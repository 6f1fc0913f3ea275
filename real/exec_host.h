/*
 * Plans run for real on this computer: threads as engines, real bytes in host memory, links paced
 * to the machine's rates in wall-clock time.
 */
#ifndef KVS_REAL_EXEC_HOST_H
#define KVS_REAL_EXEC_HOST_H

#include "sched/exec.h"

/* options->time_scale slows everything down alike, so that this computer keeps up; 0: as little as
 * keeps what it loses small (real/host_scale.c), one of 1, 2, 5, 10, 20 ... */
extern const struct kvs_exec_ops kvs_exec_host;

/* How well the latest run kept to the modelled times. */
struct kvs_host_report {
    double time_scale;      /* wall-clock seconds per modelled one */
    uint64_t n_late;        /* operations whose bytes were not yet moved at their deadline */
    kvs_time worst_late_ps; /* by how much at worst, model time */
    kvs_time late_ps;       /* all together */
};

/* session: of kvs_exec_host, after a run. */
struct kvs_host_report kvs_exec_host_report(const void *session);

#endif
