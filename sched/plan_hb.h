/*
 * Happens-before between instances of operations, met one by one in issue order. Private to the
 * checker.
 *
 * What an operation knows when it starts is, for each queue, how many of the queue's operations
 * have ended. Most of that it shares with the host, which issued it: host_known, one number per
 * queue, that only grows. The rest is a short list of its own (struct kvs_hb_known): its own
 * device's queues and what its dependencies knew beyond the host. So a plan for a thousand
 * devices costs a thousand times a plan for one.
 *
 * Collectives of many members would give every member the knowledge of all. Where such
 * collectives follow one another they share it too: the n-th is *hub epoch* n, and hub_steps
 * holds, for each queue, how many of its operations were known to have ended at which epoch.
 *
 * A collective whose members are issued apart is incomplete meanwhile; what stands behind one
 * of its members cannot end, so the host must not wait for it, nor may another member stand
 * behind it. Masks of incomplete collectives travel along queues and dependencies (`pending`).
 *
 * Use: begin_token; for each operation begin_op, any number of kvs_hb_precedes, end_op;
 * end_token.
 */
#ifndef KVS_SCHED_PLAN_HB_H
#define KVS_SCHED_PLAN_HB_H

#include "sched/plan_check_text.h"

/* Collectives that are issued in part at the same time. */
#define KVS_HB_MAX_OPEN 64

/* The first n operations of the queue have ended. */
struct kvs_hb_known {
    uint32_t queue;
    uint32_t n;
};

/* Bits of incomplete collectives; void when the generation has passed. */
struct kvs_hb_pending {
    uint64_t mask;
    uint32_t generation;
};

/* What is known once an instance has ended. */
struct kvs_hb_instance {
    uint32_t index; /* in its queue; KVS_HB_ABSENT when it does not run in this token */
    uint32_t hub;   /* epoch */
    uint32_t first; /* into the token's known */
    uint32_t n;
    struct kvs_hb_pending pending;
};
#define KVS_HB_ABSENT UINT32_MAX

struct kvs_hb_token {
    uint32_t segment;
    uint32_t token;
    uint32_t n_ops;
    KVS_ARRAY(struct kvs_hb_instance) instances; /* [n_ops] */
    KVS_ARRAY(struct kvs_hb_known) known;
};

struct kvs_hb_step {
    uint32_t epoch;
    uint32_t n;
};

struct kvs_hb_queue {
    uint32_t n_issued;
    uint32_t hub;
    struct kvs_hb_pending pending;
    KVS_ARRAY(struct kvs_hb_known) carry;    /* known once its last operation has ended */
    KVS_ARRAY(struct kvs_hb_step) hub_steps; /* ascending epochs */
};

struct kvs_hb_group {
    uint32_t group;
    uint32_t n_members;
    uint32_t hub;
    uint32_t serial;
    uint64_t pending; /* collectives that this one waits for, itself excluded */
    bool is_complete;
    KVS_ARRAY(struct kvs_hb_known) known; /* of all members, with repeats */
    KVS_ARRAY(kvs_op_id) members;
};

struct kvs_hb {
    const struct kvs_plan *plan; /* borrowed */
    struct kvs_op_ref now;       /* the operation between begin_op and end_op */
    uint16_t now_queue;
    uint32_t n_issued; /* over all queues */

    struct kvs_hb_queue *queues; /* owned, [n_queues] */
    uint32_t *host_known;        /* owned, [n_queues] */
    uint32_t host_hub;
    uint32_t last_hub;

    /* What `now` knows beyond the host: mark[q] counts when stamps[q] = stamp. */
    uint32_t *marks;  /* owned, [n_queues] */
    uint32_t *stamps; /* owned, [n_queues] */
    uint32_t stamp;
    KVS_ARRAY(uint32_t) touched; /* queues with a mark */
    uint32_t hub_now;
    uint64_t pending_now;

    struct kvs_hb_token *history; /* owned ring, [n_history] */
    uint32_t n_history;
    uint32_t n_tokens;    /* begun so far */
    uint32_t n_reachable; /* tokens that distances may name: since the start or a barrier */

    struct kvs_hb_group groups[KVS_HB_MAX_OPEN]; /* [n_groups] are in use */
    uint32_t n_groups;
    uint64_t live; /* groups that have not completed */
    uint32_t generation;
    uint32_t n_serials;
    uint32_t *device_serials; /* owned, [n_devices]: the last collective a device joined */
};

/* longest: the longest distance of any dependency. The plan is borrowed and must be sound
 * (kvs_plan_check_structure). Even after a failure kvs_hb_fini is due. */
kvs_status kvs_hb_init(struct kvs_hb *hb, const struct kvs_plan *plan, uint16_t longest,
                       struct kvs_error *err) KVS_MUST_USE;
void kvs_hb_fini(struct kvs_hb *hb);

kvs_status kvs_hb_begin_token(struct kvs_hb *hb, uint32_t segment, uint32_t token,
                              struct kvs_error *err) KVS_MUST_USE;
/* KVS_EPLAN when a collective lacks a member. */
kvs_status kvs_hb_end_token(struct kvs_hb *hb, struct kvs_error *err) KVS_MUST_USE;
/* Everything issued so far ends, and distances no longer reach behind this point. */
void kvs_hb_barrier(struct kvs_hb *hb);

/* skip_dep: index of a dependency to leave out, or UINT32_MAX. KVS_EPLAN: waits in vain. */
kvs_status kvs_hb_begin_op(struct kvs_hb *hb, kvs_op_id op, uint32_t skip_dep,
                           struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_hb_end_op(struct kvs_hb *hb, struct kvs_error *err) KVS_MUST_USE;

/* Has the index-th operation of queue ended before `now` starts? */
bool kvs_hb_precedes(const struct kvs_hb *hb, uint32_t queue, uint32_t index);

/* The same for everything that will be issued from now on: the host has waited for it. */
static inline bool kvs_hb_is_past(const struct kvs_hb *hb, uint32_t queue, uint32_t index)
{
    return hb->host_known[queue] > index;
}

/* Index of `now` in its queue. */
static inline uint32_t kvs_hb_now_index(const struct kvs_hb *hb)
{
    return hb->queues[hb->now_queue].n_issued;
}

uint64_t kvs_hb_size_bytes(const struct kvs_hb *hb);

/* The parts below are shared by plan_hb*.c alone. */

/* Starts collecting afresh what something knows beyond the host. */
void kvs_hb_forget(struct kvs_hb *hb);
kvs_status kvs_hb_join(struct kvs_hb *hb, const struct kvs_hb_known *known, size_t n,
                       struct kvs_error *err) KVS_MUST_USE;
/* The marks that neither the host nor the hub knows, appended to the token's list. */
kvs_status kvs_hb_store(struct kvs_hb *hb, struct kvs_hb_token *token,
                        struct kvs_hb_instance *instance, struct kvs_error *err) KVS_MUST_USE;
/* The marks as the knowledge at the end of a queue. */
kvs_status kvs_hb_carry(struct kvs_hb *hb, struct kvs_hb_queue *queue,
                        struct kvs_error *err) KVS_MUST_USE;
uint32_t kvs_hb_hub_known(const struct kvs_hb *hb, uint32_t queue, uint32_t epoch);
struct kvs_hb_token *kvs_hb_token_now(struct kvs_hb *hb);
/* All incomplete collectives that the mask leads to. */
uint64_t kvs_hb_blockers(const struct kvs_hb *hb, uint64_t mask);
/* `now` is a collective: joins its group. After it, and once all members are there, completes
 * it. */
kvs_status kvs_hb_group_add(struct kvs_hb *hb, struct kvs_hb_group **out,
                            struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_hb_group_end(struct kvs_hb *hb, struct kvs_hb_group *group,
                            struct kvs_error *err) KVS_MUST_USE;

#endif
