/* What a plan was made for: from a case, and compared with another case. */
#ifndef KVS_FORMATS_PLAN_ORIGIN_H
#define KVS_FORMATS_PLAN_ORIGIN_H

#include "base/text.h"
#include "sched/case.h"
#include "sched/plan.h"

void kvs_plan_origin_of(const struct kvs_case *c, struct kvs_plan_origin *out);

/* Appends "depth 4096 instead of 16384, type_k f16 instead of q8_0" for what `made` says and
 * `here` contradicts; what either does not say is passed over. */
void kvs_plan_origin_differences(const struct kvs_plan_origin *made,
                                 const struct kvs_plan_origin *here, struct kvs_text *out);

/* True when it says machine, model and depth: enough to know what to compare it with. */
bool kvs_plan_origin_is_known(const struct kvs_plan_origin *origin);

#endif
