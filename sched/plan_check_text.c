/* Names of operations and faults, in the words of the plan's own queues and buffers. */
#include "sched/plan_check_text.h"

#include <stdarg.h>
#include <stdio.h>

void kvs_op_ref_print(const struct kvs_plan *plan, struct kvs_op_ref ref, bool has_token,
                      char out[KVS_OP_TEXT_BYTES])
{
    const struct kvs_op *op = kvs_op_ref_op(plan, ref);
    char layer[24] = "";
    if (op->layer != KVS_NO_LAYER)
        snprintf(layer, sizeof layer, " layer %u", (unsigned)op->layer);
    char token[24] = "";
    if (has_token)
        snprintf(token, sizeof token, ", token %u", (unsigned)ref.token);
    const char *queue =
        op->queue < plan->queues.n ? plan->queues.items[op->queue].name : "no queue";
    snprintf(out, KVS_OP_TEXT_BYTES, "op %u (%s %s %s%s%s)", (unsigned)ref.op, queue,
             kvs_op_kind_name((kvs_op_kind)op->kind), kvs_tag_name((kvs_tag)op->tag), layer,
             token);
}

const char *kvs_access_verb(kvs_access_mode mode)
{
    switch (mode) {
    case KVS_ACCESS_READ:
        return "reads";
    case KVS_ACCESS_WRITE:
        return "writes";
    case KVS_ACCESS_EXPECT:
        return "expects";
    case KVS_ACCESS_FRESH:
        return "needs fresh";
    case KVS_ACCESS_CELLS:
        return "says cells of";
    }
    return "touches";
}

kvs_status kvs_plan_fault(const struct kvs_plan *plan, struct kvs_op_ref ref,
                          struct kvs_error *err, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    char op[KVS_OP_TEXT_BYTES];
    kvs_op_ref_print(plan, ref, false, op);
    char segment[32] = "";
    if (plan->segments.n > 1)
        snprintf(segment, sizeof segment, "segment %u, ", (unsigned)ref.segment);
    return kvs_error_set(err, KVS_EPLAN, "plan: %stoken %u: %s %s", segment,
                         (unsigned)ref.token, op, text);
}

void kvs_plan_hint_dep(const struct kvs_plan *plan, struct kvs_op_ref on,
                       struct kvs_op_ref from, struct kvs_error *err)
{
    if (on.segment != from.segment && !plan->segments.items[from.segment].has_barrier)
        kvs_error_hint(err, "add a dependency on op %u of the segment before", (unsigned)on.op);
    else if (on.token != from.token)
        kvs_error_hint(err, "add a dependency on op %u at distance %u", (unsigned)on.op,
                       (unsigned)(from.token - on.token));
    else
        kvs_error_hint(err, "add a dependency on op %u", (unsigned)on.op);
}
