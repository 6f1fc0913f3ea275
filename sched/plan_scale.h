/*
 * The same plan with more bytes: every copy, and all that it moves, larger by one factor. On a
 * machine whose links are faster by that factor copies then take the time that they take on the
 * slower one, by the real engines and in the real order; compute, stated apart, is not changed.
 */
#ifndef KVS_SCHED_PLAN_SCALE_H
#define KVS_SCHED_PLAN_SCALE_H

#include "sched/plan.h"

/*
 * Scales in place by about `factor` (> 0): ranges stay whole multiples of the bytes that all of
 * them have in common, so the factor really taken, *out_factor, may differ a little.
 * Buffers that no copy touches stay as they are. Errors: KVS_ERANGE when a width, a pitch or a
 * step no longer fits its type; the plan is then unchanged.
 */
kvs_status kvs_plan_scale(struct kvs_plan *plan, double factor, double *out_factor,
                          struct kvs_error *err) KVS_MUST_USE;

#endif
