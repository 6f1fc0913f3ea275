/* The cache is on the device: nothing is delivered, the compute floor. */
#include "sched/build.h"

static kvs_status resident_plan(const struct kvs_case *c, struct kvs_decision *decision,
                                struct kvs_plan **out, struct kvs_error *err)
{
    struct kvs_case resident = *c;
    resident.placement.kv_gpu_layers = c->llm->n_layer;
    resident.transport.lookahead = 0;
    return kvs_policy_plan_ordered(&resident, "resident", decision, out, err);
}

const struct kvs_policy kvs_policy_resident = {
    .abi_version = KVS_POLICY_ABI,
    .name = "resident",
    .summary = "the cache is on the device: the compute floor",
    .source = "llama.cpp without --no-kv-offload",
    .plan = resident_plan,
};
