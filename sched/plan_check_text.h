/* How the checker names operations, and how it reports a fault. Private to the checker. */
#ifndef KVS_SCHED_PLAN_CHECK_TEXT_H
#define KVS_SCHED_PLAN_CHECK_TEXT_H

#include "sched/plan.h"

/* An instance of an operation. */
struct kvs_op_ref {
    uint32_t segment;
    uint32_t token; /* of the segment */
    kvs_op_id op;
};

#define KVS_OP_TEXT_BYTES 128

/* "op 9 (d0.transfer copy deliver layer 7)", with ", token 1" at the end of the brackets when
 * has_token. The ref must be valid. */
void kvs_op_ref_print(const struct kvs_plan *plan, struct kvs_op_ref ref, bool has_token,
                      char out[KVS_OP_TEXT_BYTES]);

static inline const struct kvs_op *kvs_op_ref_op(const struct kvs_plan *plan,
                                                 struct kvs_op_ref ref)
{
    return &plan->segments.items[ref.segment].ops.items[ref.op];
}

/* What an access of this mode does: "reads". */
const char *kvs_access_verb(kvs_access_mode mode);

/* KVS_EPLAN with "plan: token 1: op 14 (...) " and the text. */
kvs_status kvs_plan_fault(const struct kvs_plan *plan, struct kvs_op_ref ref,
                          struct kvs_error *err, const char *fmt, ...) KVS_PRINTF(4, 5);

/* The hint "add a dependency on op 9", with the distance from `from` where it is not 0. */
void kvs_plan_hint_dep(const struct kvs_plan *plan, struct kvs_op_ref on,
                       struct kvs_op_ref from, struct kvs_error *err);

#endif
