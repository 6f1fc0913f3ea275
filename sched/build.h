/*
 * What the built-in policies share when they write a plan: queues and buffers of a case, and
 * the operations of a token that are the same in every transport (inputs, row stores, compute
 * pieces, hops, reduces, sampling). A policy adds only how windows travel.
 *
 * Usage: create; for each segment begin_segment, then operations in issue order; finish.
 *
 * New rows go to the cache through the host, which waits for them (kvs_build_store); or, after
 * kvs_build_keep_tail, they stay on the device for a while, a kernel stores them, and nothing
 * in a token waits for the host.
 */
#ifndef KVS_SCHED_BUILD_H
#define KVS_SCHED_BUILD_H

#include "sched/graph.h"
#include "sched/plan.h"
#include "sched/policy.h"

#define KVS_NO_OP UINT32_MAX

/* Which rows of a window an operation moves; first: a number of rows, the same in every token. */
typedef enum kvs_part {
    KVS_PART_EARLY,
    KVS_PART_LATE,
    KVS_PART_WHOLE,
    KVS_PART_FIRST
} kvs_part;
typedef enum kvs_kv_side { KVS_KV_SIDE_K, KVS_KV_SIDE_V } kvs_kv_side;

struct kvs_build_device {
    uint16_t q_compute;
    uint16_t q_blocking; /* the host thread's own stream */
    uint16_t q_store;    /* of kernels that store rows of a tail */
    uint16_t buf_new;    /* new rows of every stage */
    uint16_t buf_rotation;
    uint16_t buf_hidden;
    uint16_t buf_logits;
    uint16_t buf_slots[KVS_RING_MAX_SLOTS]; /* [n_slots]; one in ordered plans */
    uint32_t n_slots;
    uint64_t new_bytes;       /* size of buf_new */
    kvs_op_id last_compute;   /* in this segment; KVS_NO_OP before the first */
    kvs_op_id last_attention; /* the compute that read a window last; likewise */
    kvs_op_id last_store;     /* the kernel that stored rows last; likewise */
};

/* Where a stage's new rows lie on a device, and on their way to the cache; bytes. */
struct kvs_build_rows {
    uint64_t offset; /* in buf_new */
    uint64_t staged; /* in buf_staging */
};

/* A dependency on an operation that stands further down in the token, and so belongs to an
 * earlier one: its number is known at the end. */
struct kvs_build_later {
    uint32_t dep;        /* of the open segment */
    const kvs_op_id *op; /* borrowed until kvs_build_settle */
};

/* The last rows of every stage on its devices: row r lies at r mod ring_rows. */
struct kvs_build_tail {
    uint64_t ring_rows; /* of a stream; 0: no tail is kept */
    uint16_t *buffers;  /* owned, [n_stages x n_devices]: K's streams, then V's */
};

struct kvs_build {
    const struct kvs_case *c;
    struct kvs_graph *graph; /* owned */
    struct kvs_plan *plan;   /* owned until finish */
    struct kvs_error *err;
    struct kvs_build_device *devices; /* owned, [graph->n_devices] */
    uint16_t *cache_k;                /* owned, [n_stages + n_residents] buffers on the host */
    uint16_t *cache_v;
    uint16_t *homes;             /* owned, [n_residents x n_devices x K, V] on the devices */
    struct kvs_build_rows *rows; /* owned, [n_stages x n_devices] */
    struct kvs_build_tail tail;
    KVS_ARRAY(struct kvs_build_later) later;
    uint64_t slot_rows; /* of a stream that a slot has room for; 0: the window at hand */
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

#define KVS_BUILD_MAX_DEPS 2u

/*
 * Copies of one side of a stage's window into a slot of a device: one operation, or one per
 * stream where they cannot be merged. flags: KVS_OP_BLOCKS.
 */
struct kvs_build_copy {
    uint32_t stage;
    uint32_t device;
    uint32_t slot;
    kvs_kv_side side;
    kvs_part part;
    uint64_t n_rows; /* of KVS_PART_FIRST */
    uint16_t queue;
    kvs_tag tag;
    uint8_t flags;
    struct kvs_dep deps[KVS_BUILD_MAX_DEPS]; /* [n_deps] of the first one */
    uint32_t n_deps;
};
/* The first of them waits for op too; KVS_NO_OP: nothing. */
void kvs_build_copy_after(struct kvs_build_copy *copy, kvs_op_id op, uint16_t distance,
                          kvs_dep_kind kind);
/* *last, which may be NULL: the last of them; KVS_NO_OP when there is nothing to move. Copies of
 * KVS_PART_FIRST stand in the plan even if they move nothing. */
kvs_status kvs_build_window_copy(struct kvs_build *b, const struct kvs_build_copy *copy,
                                 kvs_op_id *last) KVS_MUST_USE;
/* Late rows of both sides read by one kernel on the device's compute queue. */
kvs_status kvs_build_late_kernel(struct kvs_build *b, uint32_t stage, uint32_t device,
                                 uint32_t slot) KVS_MUST_USE;

/* Blocking per-token inputs of every device: embedding row, rotation constants. */
kvs_status kvs_build_inputs(struct kvs_build *b, kvs_late how) KVS_MUST_USE;
/* Host waits for the devices that hold the stage, then stores their new rows. */
kvs_status kvs_build_store(struct kvs_build *b, uint32_t stage) KVS_MUST_USE;
/* What the compute of a staged piece reads on a device, and waits for. */
struct kvs_build_input {
    uint32_t slot;
    kvs_op_id ready;           /* KVS_NO_OP: nothing */
    const kvs_op_id *ready_at; /* or, of the token before: where its number will be; NULL */
};
/* All operations of a piece: a hop when the device changes, compute per device, a reduce.
 * inputs: [n_devices], NULL for a piece without a stage. */
kvs_status kvs_build_piece(struct kvs_build *b, uint32_t piece,
                           const struct kvs_build_input *inputs) KVS_MUST_USE;
/* Host waits for the last compute, then samples. */
kvs_status kvs_build_sample(struct kvs_build *b) KVS_MUST_USE;

/*
 * From here on the last rows of every stage stay on its devices: those from
 * kvs_case_tail_first() on, in rings that hold them as long as anyone reads them. Makes the
 * rings and a queue for stores on each device; setup fills the rings and the constants. Slots
 * have room for the window of the last token. Before the first segment; full attention and pinned
 * caches alone.
 */
kvs_status kvs_build_keep_tail(struct kvs_build *b) KVS_MUST_USE;
/* Before the first token a slot holds the rows of a stage that the first token delivers. */
kvs_status kvs_build_tail_prime(struct kvs_build *b, uint32_t stage, uint32_t device,
                                uint32_t slot) KVS_MUST_USE;
/* Does each token write rows of the one before again? The host then waits for stores, too. */
bool kvs_build_rewrites(const struct kvs_build *b);
/* Steps from `step` on that can share a segment: tails move evenly. */
uint32_t kvs_build_tail_steps(const struct kvs_build *b, uint32_t step);
/* Per-token inputs by kernels; nothing waits. */
kvs_status kvs_build_tail_inputs(struct kvs_build *b) KVS_MUST_USE;
/* Kernels store a stage's new rows, each device its own, behind the computes that made them. */
kvs_status kvs_build_tail_store(struct kvs_build *b, uint32_t stage) KVS_MUST_USE;
/* At the end of a token: dependencies on operations further down are filled in. */
void kvs_build_settle(struct kvs_build *b);

/* The ordered transport under another name: what resident and a declined ring come down to. */
kvs_status kvs_policy_plan_ordered(const struct kvs_case *c, const char *name,
                                   struct kvs_decision *decision, struct kvs_plan **out,
                                   struct kvs_error *err) KVS_MUST_USE;

#endif
