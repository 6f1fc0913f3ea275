/*
 * Proves a plan, or says exactly why not.
 *
 * A plan means what its operations do one after another in issue order (sched/plan.h). The
 * checker unrolls tokens (below: which) and proves from the happens-before order and the
 * accessed bytes that
 *   1. every dependency names an operation that was issued earlier (no cycle, no wait in vain),
 *      and the members of each collective are complete, on different devices and issued in the
 *      same order by all of them;
 *   2. of any two operations that touch a byte, one of them writing, one ends before the other
 *      starts, in issue order;
 *   3. what a compute reads under an `expect` was delivered whole: each byte was last written
 *      by a copy of exactly the expected bytes, and those have not been written again since, nor
 *      made anew by a compute (a write that says these cells) without being stored;
 *   4. `fresh` bytes were written in this very token;
 *   5. accesses stay inside their buffers, copies have equal sizes on both sides;
 *   6. nothing is read that was never written and is not valid from the start.
 * Before that, without unrolling, the structure: a copy goes from host to device or with
 * KVS_OP_D2H the other way, an operation of a device touches that device's buffers or the
 * host's, the members of a collective stand together, a device has at most
 * KVS_PLAN_MAX_QUEUES_PER_DEVICE queues.
 *
 * Happens-before: operations of a queue in order; dependencies; host program order: an
 * operation is issued after everything that the host has waited for (WAIT, and operations that
 * block).
 *
 * Which tokens. With unrolls_all every one, as long as max_ops lasts: this assumes nothing, and
 * is meant for plans of unknown origin. Otherwise, and for what is left when the budget is
 * spent, the short proof: of each segment the first 2 x period + longest distance + 1 tokens,
 * and the last period + longest distance + 1 where a segment without a barrier follows; what is
 * written in between is noted, not examined.
 *
 * What the short proof covers. Queues and distances repeat every period, so if A of token t is
 * proved to end before B of token t + k starts, the same holds one period later, and for B of
 * token t + k + period as well (B's queue is in order). So nothing is missed in the tokens left
 * out when this is true of the plan: where two operations touch common bytes in tokens t and
 * t + k, they do so (or operations ordered between them do) in unrolled tokens at the same or a
 * smaller distance, too. Ranges whose steps carry them towards one another break it: a row that
 * moves on by 16 bytes a token reaches a fixed read of byte 480 in token 30.
 *
 * Why that suffices for the policies' plans. Only three kinds of range move in a segment, all with
 * the rows that a token adds: in a cache, the early part grows at its end, the late part shrinks
 * from its start, and the new row stands between them, so the distances between the three never
 * change; in a slot, the early and the late part, and those always lie in the window that the
 * compute behind them reads whole, which does not move. Another layer's use of a slot begins
 * with its first rows, at the slot's first bytes, which the whole read before it covers, and
 * its other copies stand behind that one or behind the read on the same queue: so the order
 * between two uses is at stake in every token, however far either part has grown; in the ring of
 * a tail and in a cache that stays on a device, the new rows and the reads that end with them,
 * again at a distance that never changes, and the rows that new ones overwrite lie a round of the
 * ring behind, which no segment is long enough for. All other buffers are touched at the same
 * bytes in every token. tests/sched/test_plan_check_unroll.c holds this against the whole proof
 * for plans of every policy.
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
    /* Unroll every token of every segment, up to max_ops in all; 0: KVS_PLAN_CHECK_MAX_OPS. A
     * token and an access count as an operation each, and so do 256 pieces of buffers that are
     * looked at: time and memory are bounded. Capped at 2^25. */
    bool unrolls_all;
    uint64_t max_ops;
};
/* About a second of work. */
#define KVS_PLAN_CHECK_MAX_OPS UINT64_C(4000000)

/* For plans of unknown origin: nothing skipped, every token. */
#define KVS_PLAN_CHECK_ALL                                                                     \
    ((struct kvs_plan_check_options){                                                          \
        .skip_segment = UINT32_MAX, .skip_dep = UINT32_MAX, .unrolls_all = true})

struct kvs_plan_check_report {
    uint32_t n_tokens; /* unrolled */
    uint64_t n_ops;    /* operations examined */
    uint64_t n_accesses;
    uint64_t peak_bytes; /* of the checker itself */
    bool is_cut;         /* unrolls_all, and max_ops did not suffice: some tokens left out */
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
