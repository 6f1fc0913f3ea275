/*
 * What the built-in policies share when they write a plan: queues and buffers of a case, and
 * the operations of a token that are the same in every transport (inputs, row stores, compute
 * pieces, hops, reduces, sampling). A policy adds only how windows travel.
 *
 * Usage: create; for each segment begin_segment, then operations in issue order; finish.
 */
#ifndef KVS_SCHED_BUILD_H
#define KVS_SCHED_BUILD_H

#include "sched/graph.h"
#include "sched/plan.h"
#include "sched/policy.h"

#define KVS_NO_OP UINT32_MAX

/* Which rows of a window an operation moves. */
typedef enum kvs_part { KVS_PART_EARLY, KVS_PART_LATE, KVS_PART_WHOLE } kvs_part;
typedef enum kvs_kv_side { KVS_KV_SIDE_K, KVS_KV_SIDE_V } kvs_kv_side;

struct kvs_build_device {
    uint16_t q_compute;
    uint16_t q_blocking; /* the host thread's own stream */
    uint16_t buf_new;    /* new rows of every stage */
    uint16_t buf_rotation;
    uint16_t buf_hidden;
    uint16_t buf_logits;
    uint16_t buf_slots[KVS_RING_MAX_SLOTS]; /* [n_slots]; one in ordered plans */
    uint32_t n_slots;
    uint64_t new_bytes;     /* size of buf_new */
    kvs_op_id last_compute; /* in this segment; KVS_NO_OP before the first */
};

/* Where a stage's new rows lie on a device, and on their way to the cache; bytes. */
struct kvs_build_rows {
    uint64_t offset; /* in buf_new */
    uint64_t staged; /* in buf_staging */
};

struct kvs_build {
    const struct kvs_case *c;
    struct kvs_graph *graph; /* owned */
    struct kvs_plan *plan;   /* owned until finish */
    struct kvs_error *err;
    struct kvs_build_device *devices; /* owned, [graph->n_devices] */
    uint16_t *cache_k;                /* owned, [n_stages] buffers on the host */
    uint16_t *cache_v;
    struct kvs_build_rows *rows; /* owned, [n_stages x n_devices] */
    uint64_t staging_bytes;
    uint16_t buf_staging; /* new rows on their way to the cache */
    uint16_t buf_inputs;  /* embedding row and rotation constants */
    uint16_t buf_hop;
    uint32_t step;     /* first step of the open segment */
    uint32_t n_groups; /* collectives in the open segment */
};

/* Refuses what kvs_case_check refuses. c and err are borrowed until finish or destroy. policy
 * names the plan. */
kvs_status kvs_build_create(const struct kvs_case *c, const char *policy,
                            struct kvs_build **out, struct kvs_error *err) KVS_MUST_USE;
void kvs_build_destroy(struct kvs_build *b);
/* Hands the plan over and destroys the rest. */
struct kvs_plan *kvs_build_finish(struct kvs_build *b);

/* Makes sure that device d has n_slots window buffers of at least slot_bytes. */
kvs_status kvs_build_slots(struct kvs_build *b, uint32_t device, uint32_t n_slots,
                           uint64_t slot_bytes) KVS_MUST_USE;
kvs_status kvs_build_begin_segment(struct kvs_build *b, uint32_t step, uint32_t n_tokens,
                                   bool has_barrier) KVS_MUST_USE;

/* Does device d hold heads of stage s? */
bool kvs_build_holds(const struct kvs_build *b, uint32_t stage, uint32_t device);

/*
 * Copies of one side of a stage's window into a slot of a device: one operation, or one per
 * stream where they cannot be merged. *first and *last are their ids (KVS_NO_OP when there is
 * nothing to move); either may be NULL. flags: KVS_OP_BLOCKS. after: a dependency of the first
 * one, or KVS_NO_OP.
 */
struct kvs_build_copy {
    uint32_t stage;
    uint32_t device;
    uint32_t slot;
    kvs_kv_side side;
    kvs_part part;
    uint16_t queue;
    kvs_tag tag;
    uint8_t flags;
    kvs_op_id after;
    kvs_dep_kind after_kind;
    bool has_chain; /* the first one also waits for `chain`, a pacing edge */
    kvs_op_id chain;
};
kvs_status kvs_build_window_copy(struct kvs_build *b, const struct kvs_build_copy *copy,
                                 kvs_op_id *first, kvs_op_id *last) KVS_MUST_USE;
/* Late rows of both sides read by one kernel on the device's compute queue. */
kvs_status kvs_build_late_kernel(struct kvs_build *b, uint32_t stage, uint32_t device,
                                 uint32_t slot) KVS_MUST_USE;

/* Blocking per-token inputs of every device: embedding row, rotation constants. */
kvs_status kvs_build_inputs(struct kvs_build *b, kvs_late how) KVS_MUST_USE;
/* Host waits for the devices that hold the stage, then stores their new rows. */
kvs_status kvs_build_store(struct kvs_build *b, uint32_t stage) KVS_MUST_USE;
/*
 * All operations of a piece: a hop when the device changes, compute per device, a reduce. The
 * compute of a staged piece reads slot slots[d] and waits for ready[d] (KVS_NO_OP: nothing).
 * slots and ready: [n_devices], NULL for a piece without a stage.
 */
kvs_status kvs_build_piece(struct kvs_build *b, uint32_t piece, const uint32_t *slots,
                           const kvs_op_id *ready) KVS_MUST_USE;
/* Host waits for the last compute, then samples. */
kvs_status kvs_build_sample(struct kvs_build *b) KVS_MUST_USE;

/* The ordered transport under another name: what resident and a declined ring come down to. */
kvs_status kvs_policy_plan_ordered(const struct kvs_case *c, const char *name,
                                   struct kvs_decision *decision, struct kvs_plan **out,
                                   struct kvs_error *err) KVS_MUST_USE;

#endif
