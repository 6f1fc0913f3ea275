/*
 * What no schedule of a placement can beat: a lower bound on the time of one token.
 *
 * link: every byte that must cross a link this token (windows as the placement delivers them,
 * constants aside) over that link's rate, with sharing; the largest over all links. That is all
 * rows of the padded window; or, where the last rows stay on the devices (transport.keeps_tail),
 * the rows before kvs_case_tail_first: at most pad_rows and a few more less. Layers that the tail
 * does not serve (sliding windows) deliver whole windows. New rows, which go back to the host,
 * are far less and left out.
 *
 * compute: each device's compute as `resident` takes it, its pieces one after another with
 * kernel gaps and all-reduces at idle latency; sampling on top, since the next token depends on
 * it.
 *
 * chain: the way from one token's new rows to its last layer: sampling, all compute of the
 * token in sequence over devices (layer split), reduces. Under tensor split devices meet at
 * reduces alone, so from one to the next the slowest counts.
 *
 * Link terms are those of copy engines: a kernel that reads mapped host memory takes what the
 * engine leaves of the link (3% more was measured on an H200), so late bytes read by a kernel
 * may undercut them.
 *
 * The bound is the largest term. Shares are taken over whole tokens, the ring full at both
 * ends.
 */
#ifndef KVS_SCHED_BOUND_H
#define KVS_SCHED_BOUND_H

#include "sched/case.h"

typedef enum kvs_bound_term {
    KVS_BOUND_LINK,
    KVS_BOUND_COMPUTE,
    KVS_BOUND_CHAIN
} kvs_bound_term;

struct kvs_bound {
    kvs_time total_ps; /* the largest term, mean over the generated tokens */
    kvs_bound_term term;
    char name[48]; /* "gpu1.h2d", "gpu0.compute", "compute chain" */
    kvs_time link_ps;
    kvs_time compute_ps; /* sampling included */
    kvs_time chain_ps;
};

/* Mean over all n_gen tokens of the case. Delivery, not residency: layers kept on a device
 * (kv_gpu_layers) cost no link time. */
kvs_status kvs_bound_of(const struct kvs_case *c, struct kvs_bound *out,
                        struct kvs_error *err) KVS_MUST_USE;

#endif
