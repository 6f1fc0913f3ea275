/*
 * A scheduling policy: a const descriptor that turns a case into a plan. One file per policy
 * (policy_<name>.c); a new one starts as a copy of the smallest, policy_resident.c.
 */
#ifndef KVS_SCHED_POLICY_H
#define KVS_SCHED_POLICY_H

#include "sched/case.h"
#include "sched/plan.h"
#include "sched/ring.h"

#define KVS_POLICY_ABI 1

/* What a policy decided about its rings, over all segments and devices. */
struct kvs_decision {
    struct kvs_ring_choice
        ring; /* the first one declined, else the last one; n_slots 0: none asked for */
    uint32_t n_segments;
    uint32_t n_declined; /* segments that run ordered although a ring was asked for */
};

struct kvs_policy {
    unsigned abi_version; /* KVS_POLICY_ABI */
    const char *name;
    const char *summary; /* one line for `kvsim list policies` */
    const char *source;  /* where the schedule comes from */
    /*
     * Required. Writes the plan of every generated token. decision may be NULL. A decline is
     * not an error: the plan is then the ordered one. Returns to caller: kvs_plan_destroy.
     */
    kvs_status (*plan)(const struct kvs_case *c, struct kvs_decision *decision,
                       struct kvs_plan **out, struct kvs_error *err);
};

extern const struct kvs_policy kvs_policy_resident;
extern const struct kvs_policy kvs_policy_ordered;
extern const struct kvs_policy kvs_policy_pipelined;
extern const struct kvs_policy kvs_policy_continuous;

#endif
