/*
 * Proves a plan, or says exactly why not.
 *
 * A plan means what its operations do one after another in issue order (sched/plan.h). The
 * checker unrolls as many tokens as the plan's periods, longest distance and rings need, plus
 * one pair across every segment boundary, and proves from the happens-before order and the
 * accessed bytes that
 *   1. every dependency names an operation that was issued earlier (no cycle, no wait in vain),
 *      and the members of each collective are complete, on different devices and issued in the
 *      same order by all of them;
 *   2. of any two operations that touch a byte, one of them writing, one ends before the other
 *      starts, in issue order;
 *   3. what a compute reads under an `expect` was delivered whole: each byte was last written
 *      by a copy of exactly the expected bytes, and those have not been written again since;
 *   4. `fresh` bytes were written in this very token;
 *   5. accesses stay inside their buffers, copies have equal sizes on both sides;
 *   6. nothing is read that was never written and is not valid from the start.
 *
 * Happens-before: operations of a queue in order; dependencies; host program order: an
 * operation is issued after everything that the host has waited for (WAIT, and operations that
 * block).
 */
#ifndef KVS_SCHED_PLAN_CHECK_H
#define KVS_SCHED_PLAN_CHECK_H

#include "base/text.h"
#include "sched/plan.h"

struct kvs_plan_check_options {
    /* Pretend that this dependency of this segment is absent: index into its deps, or
     * UINT32_MAX. */
    uint32_t skip_segment;
    uint32_t skip_dep;
};

struct kvs_plan_check_report {
    uint32_t n_tokens; /* unrolled */
    uint64_t n_ops;    /* operations examined */
    uint64_t n_accesses;
    uint64_t peak_bytes; /* of the checker itself */
};

/*
 * KVS_OK, or KVS_EPLAN with the first fault: both operations (token, id, queue, kind, tag,
 * layer), the buffer and the bytes. options and report may be NULL.
 */
kvs_status kvs_plan_check(const struct kvs_plan *plan,
                          const struct kvs_plan_check_options *options,
                          struct kvs_plan_check_report *report,
                          struct kvs_error *err) KVS_MUST_USE;

/*
 * What happens when dependency `dep` of segment `segment` is removed: KVS_EPLAN and *err as the
 * checker says it, or KVS_OK and in `path` the chain of operations that implies the edge anyway
 * ("op 12 (d0.transfer copy deliver layer 7, token 1) -> ..."); where there is none, that no
 * bytes need the order (pacing), or that the edge never waits. path may be NULL.
 */
kvs_status kvs_plan_explain_dep(const struct kvs_plan *plan, uint32_t segment, uint32_t dep,
                                struct kvs_text *path, struct kvs_error *err) KVS_MUST_USE;

#endif
