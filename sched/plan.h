/*
 * The plan: what a decode token does, as data.
 *
 * A policy turns a case into a plan; executors run it in virtual time, on host threads or on
 * CUDA. A plan knows no clock, no stream object and no CUDA type, so all executors read the
 * same one.
 *
 * An example. One device, two staged layers, look-ahead 0 would be, in host issue order:
 *
 *     id queue        kind     tag       deps  reads -> writes
 *      0 d0.compute   compute  first           -> new rows of layer 0
 *      1 host         wait     consumer  0
 *      2 d0.blocking  copy     store           new row -> host staging; the host blocks
 *      3 host         host     store           staging -> host cache, row t
 *      4 d0.blocking  copy     window          cache K, V -> d0 input buffer; blocks
 *      5 d0.compute   compute  attention       input buffer (as cache rows 0..n)
 *      6 host         wait     consumer  5     ... and so on for layer 1
 *      7 host         host     sample
 *
 * Queues. Operations of one queue start in issue order and one at a time. Queue 0 is the host:
 * its operations (host work and waits) run on the issuing thread itself. Any other queue
 * belongs to a device. Operations stand in `ops` in host issue order; that order, the queues
 * and the dependencies are all that an executor needs.
 *
 * Engines. A copy runs on the copy engine of its device and direction, or on the device's
 * compute when a kernel makes it (KVS_OP_VIA_KERNEL); compute and collectives run on compute.
 * Which copy an engine serves next is the machine's affair (models/arbiter.h), not the plan's.
 *
 * Meaning. A plan means what its operations do when run one after another in issue order. It is
 * correct when no execution that respects queues, dependencies, host waits and blocking
 * operations can differ from that, and when every byte that a compute reads is what it expects
 * (sched/plan_check.h proves both).
 *
 * Tokens. Token t of a segment (t = 0 .. n_tokens - 1) runs the operations whose phase is
 * t mod period. Ranges are affine in t: offset + t x offset_step, rows + t x rows_step, width +
 * t x width_step. A new segment begins where the structure or a size changes otherwise: the
 * window grows, the ring is resized. When `has_barrier` is set, every earlier operation ends
 * before the segment's first one is issued; otherwise the segment has the same operations as
 * the one before it, one by one, and distances reach back into it.
 *
 * Dependencies. {op, distance d}: wait for the instance of `op` that belongs to token t - d,
 * which must stand earlier in issue order. Instances before the first token (or before a
 * barrier) count as complete. A hazard edge protects bytes; a pacing edge is the transport's
 * own order.
 *
 * Accesses say which bytes an operation touches. A copy has exactly two, its source (read) and
 * its destination (write), of equal size; a copy by a kernel (KVS_OP_VIA_KERNEL) may have
 * several such pairs, read and write alternating. Host work copies too: the bytes of its reads, one
 * after another, become those of its writes, as far as they go. A compute reads and writes in the
 * order in which its accesses stand, so that it may read what it wrote; a read followed by an
 * `expect` access says that those bytes must equal the bytes of the expect range at this point of
 * the issue order; `fresh` names bytes that an operation of this same
 * token must have written. `cells` touches nothing: one or several say what the bytes of the read
 * or write before them are, in order: those cells of the cache, wherever they lie. (An expect
 * says so too.) Executors that move real bytes make and check their content by it, so that it is
 * the same under any schedule.
 *
 * Setup. Copies made before the first token, outside of any time: what the devices hold already
 * when decoding begins, such as a ring that runs on from the tokens before.
 *
 * Ownership: the plan owns everything in it; ids are indices and stay valid until it is
 * destroyed.
 */
#ifndef KVS_SCHED_PLAN_H
#define KVS_SCHED_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/status.h"
#include "models/kv_type.h"
#include "models/machine.h"

#define KVS_PLAN_VERSION 1
#define KVS_HOST_QUEUE   0u
#define KVS_HOST_DEVICE  UINT16_MAX
#define KVS_NO_LAYER     UINT16_MAX
/* A copy engine chooses among its device's queues: executors keep that many candidates. The
 * checker refuses a plan with more. */
#define KVS_PLAN_MAX_QUEUES_PER_DEVICE 64u

typedef uint32_t kvs_op_id; /* index into a segment's ops */

/* enum, name */
#define KVS_OP_KIND_MAP(X)                                                                     \
    X(HOST, "host")             /* work of the host thread */                                  \
    X(WAIT, "wait")             /* the host thread waits for its dependencies */               \
    X(COPY, "copy")             /* bytes from one buffer to another */                         \
    X(COMPUTE, "compute")       /* kernels */                                                  \
    X(COLLECTIVE, "collective") /* one member per device; starts when all have come */

typedef enum kvs_op_kind {
#define KVS_OP_KIND_ENUM(id, name) KVS_OP_##id,
    KVS_OP_KIND_MAP(KVS_OP_KIND_ENUM)
#undef KVS_OP_KIND_ENUM
        KVS_OP_KIND_COUNT
} kvs_op_kind;

/* What an operation is for; results are accounted by tag. */
#define KVS_TAG_MAP(X)                                                                         \
    X(DELIVER, "deliver")     /* early bytes into a ring slot */                               \
    X(LATE, "late")           /* the unstable rest of a window */                              \
    X(WINDOW, "window")       /* a whole window, ordered */                                    \
    X(ROTATION, "rotation")   /* per-token constants, blocking */                              \
    X(INPUT, "input")         /* embedding row, positions */                                   \
    X(STORE, "store")         /* new rows to the host cache */                                 \
    X(HOP, "hop")             /* hidden state to the next device */                            \
    X(FIRST, "first")         /* compute up to the first staged layer's Q, K, V */             \
    X(ATTENTION, "attention") /* compute of a staged layer and what follows it */              \
    X(BODY, "body")           /* compute between two collectives */                            \
    X(REDUCE, "reduce")       /* all-reduce */                                                 \
    X(YIELD, "yield")         /* an empty kernel that lets the copy engine turn */             \
    X(BOUNDARY, "boundary")   /* waits between tokens */                                       \
    X(CONSUMER, "consumer")   /* the host waits for compute inside a token */                  \
    X(SAMPLE, "sample")       /* logits, sampling, next input */

typedef enum kvs_tag {
#define KVS_TAG_ENUM(id, name) KVS_TAG_##id,
    KVS_TAG_MAP(KVS_TAG_ENUM)
#undef KVS_TAG_ENUM
        KVS_TAG_COUNT
} kvs_tag;

const char *kvs_op_kind_name(kvs_op_kind kind);
const char *kvs_tag_name(kvs_tag tag);

#define KVS_OP_BLOCKS     0x01u /* the host waits for this operation after issuing it */
#define KVS_OP_VIA_KERNEL 0x02u /* a copy done by a kernel on mapped host memory */
#define KVS_OP_D2H        0x04u /* a copy from device to host (else host to device) */
#define KVS_OP_2D         0x08u /* a strided copy */
#define KVS_OP_PAGEABLE   0x10u /* the host side is pageable memory */
#define KVS_OP_LIGHT      0x20u /* a compute too small to contend with others (yield) */
#define KVS_OP_SUBGRAPH   0x40u /* a piece of a split between two collectives */

/*
 * rows x width bytes, pitch apart, in a buffer; see "Tokens" for the steps. 32 bytes, since a
 * plan has a few per operation: hence the widths, which CUDA's 2D copies share (a pitch below 2
 * GiB). Larger contiguous pieces are several rows with pitch = width.
 */
struct kvs_range {
    uint64_t offset;
    uint32_t width; /* bytes */
    uint32_t pitch; /* bytes; = width when contiguous */
    uint32_t rows;
    int32_t offset_step;     /* bytes per token */
    int32_t width_step : 29; /* bytes per token, within 256 MiB */
    unsigned mode : 3;       /* kvs_access_mode */
    int16_t rows_step;       /* rows per token */
    uint16_t buffer;
};
#define KVS_RANGE_MAX_WIDTH_STEP ((1 << 28) - 1)

static inline void kvs_range_set_width_step(struct kvs_range *range, int64_t step)
{
    KVS_ASSERT(step >= -KVS_RANGE_MAX_WIDTH_STEP && step <= KVS_RANGE_MAX_WIDTH_STEP);
    KVS_NARROWING_BEGIN
    range->width_step = (int)step;
    KVS_NARROWING_END
}

typedef enum kvs_access_mode {
    KVS_ACCESS_READ,
    KVS_ACCESS_WRITE,
    KVS_ACCESS_EXPECT, /* what the read before it must find */
    KVS_ACCESS_FRESH,  /* must have been written in this token */
    KVS_ACCESS_CELLS   /* what the bytes of the access before it are */
} kvs_access_mode;

typedef enum kvs_dep_kind { KVS_DEP_HAZARD, KVS_DEP_PACING } kvs_dep_kind;

struct kvs_dep {
    kvs_op_id op;
    uint16_t distance; /* tokens */
    uint16_t kind;     /* kvs_dep_kind */
};

struct kvs_op {
    uint8_t kind;  /* kvs_op_kind */
    uint8_t tag;   /* kvs_tag */
    uint8_t flags; /* KVS_OP_* bits */
    uint16_t queue;
    uint16_t layer; /* model layer, or KVS_NO_LAYER */
    uint16_t phase;
    uint16_t n_access;
    uint16_t n_dep;
    uint32_t first_access; /* into the segment's accesses */
    uint32_t first_dep;    /* into the segment's deps */
    union {
        struct {
            uint64_t params;   /* weights read by this device, values */
            uint64_t kv_bytes; /* cache bytes read by attention */
            uint32_t n_kernels;
            uint32_t n_queries; /* rows of the batch */
        } compute;
        struct {
            uint64_t size_bytes; /* payload per member */
            uint32_t group;      /* members of one collective share it */
            uint32_t n_members;
        } collective;
        struct {
            uint32_t n_calls; /* units of the tag's cost: rows stored, tokens sampled */
        } host;
    };
};

struct kvs_queue {
    char name[24];   /* "host", "d0.compute", "d0.transfer", "d0.blocking", "d0.transfer2" */
    uint16_t device; /* KVS_HOST_DEVICE for the host */
};

typedef enum kvs_place {
    KVS_PLACE_HOST_PINNED,
    KVS_PLACE_HOST_PAGEABLE,
    KVS_PLACE_DEVICE
} kvs_place;

struct kvs_buffer {
    char name[24];
    uint64_t size_bytes;
    uint64_t valid_bytes; /* from offset 0: content there before the first token */
    /* of that content, the first filled_bytes of every run_bytes are rows, the rest is zero;
     * run_bytes 0: all of it is rows */
    uint64_t run_bytes;
    uint64_t filled_bytes;
    uint16_t place;  /* kvs_place */
    uint16_t device; /* KVS_HOST_DEVICE on the host */
    uint16_t layer;  /* whose cells it holds, or KVS_NO_LAYER */
};

/* Ring of a device during a segment, for memory checks and for results. */
struct kvs_ring {
    uint16_t device;
    uint16_t n_slots;
    uint64_t slot_bytes;
};

struct kvs_segment {
    uint32_t n_tokens;
    uint16_t period;
    bool has_barrier;
    KVS_ARRAY(struct kvs_op) ops;
    KVS_ARRAY(struct kvs_range) accesses;
    KVS_ARRAY(struct kvs_dep) deps;
};

/* What a plan was made for: kept in its file, so that a reader can tell when it is compared
 * with something else. Nothing is planned or run by it. "", 0 and has_depth false: not said. */
struct kvs_plan_origin {
    char machine[64];
    char model[64];
    char split_mode[16]; /* of several devices */
    char shares[128];    /* of several devices, summing to 1: "0.75/0.25" */
    char type_k[16];
    char type_v[16];
    uint32_t n_parallel; /* sequences */
    bool has_depth;
    uint64_t depth; /* rows before the first token, per sequence */
};
/* Members that are texts; a member's name is its key in a plan file. */
#define KVS_PLAN_ORIGIN_TEXT_MAP(X)                                                            \
    X(machine)                                                                                 \
    X(model)                                                                                   \
    X(split_mode)                                                                              \
    X(shares)                                                                                  \
    X(type_k)                                                                                  \
    X(type_v)

struct kvs_plan {
    char policy[64]; /* with its options: "pipelined+n2+yield" */
    struct kvs_plan_origin origin;
    uint16_t n_devices;
    KVS_ARRAY(struct kvs_queue) queues; /* [0] is the host */
    KVS_ARRAY(struct kvs_buffer) buffers;
    KVS_ARRAY(struct kvs_ring) rings;  /* of the last segment */
    KVS_ARRAY(struct kvs_range) setup; /* pairs of a read and a write, in order */
    KVS_ARRAY(struct kvs_segment) segments;
};

kvs_status kvs_plan_create(const char *policy, uint16_t n_devices, struct kvs_plan **out,
                           struct kvs_error *err) KVS_MUST_USE;
void kvs_plan_destroy(struct kvs_plan *plan);

kvs_status kvs_plan_add_queue(struct kvs_plan *plan, uint16_t device, const char *name,
                              uint16_t *out_queue, struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_plan_add_buffer(struct kvs_plan *plan, const struct kvs_buffer *buffer,
                               uint32_t *out_buffer, struct kvs_error *err) KVS_MUST_USE;
/* Before the first token, the bytes of source become those of target, which has as many. */
kvs_status kvs_plan_add_setup(struct kvs_plan *plan, const struct kvs_range *source,
                              const struct kvs_range *target,
                              struct kvs_error *err) KVS_MUST_USE;
/* The new segment is the last of plan->segments; period 1 unless changed by the caller. */
kvs_status kvs_plan_add_segment(struct kvs_plan *plan, uint32_t n_tokens, bool has_barrier,
                                struct kvs_error *err) KVS_MUST_USE;

/* Append to the last segment. op's access and dep fields are set here: dependencies and
 * accesses added afterwards belong to this operation until the next one is added. */
kvs_status kvs_plan_add_op(struct kvs_plan *plan, const struct kvs_op *op, kvs_op_id *out_op,
                           struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_plan_add_dep(struct kvs_plan *plan, kvs_op_id op, uint16_t distance,
                            kvs_dep_kind kind, struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_plan_add_access(struct kvs_plan *plan, const struct kvs_range *range,
                               kvs_access_mode mode, struct kvs_error *err) KVS_MUST_USE;

/* A range at token t of its segment, steps resolved. */
static inline struct kvs_range kvs_range_at(const struct kvs_range *range, uint32_t token)
{
    struct kvs_range at = *range;
    at.offset += (uint64_t)((int64_t)range->offset_step * (int64_t)token);
    at.width = (uint32_t)((int64_t)range->width + (int64_t)range->width_step * (int64_t)token);
    at.rows = (uint32_t)((int64_t)range->rows + (int64_t)range->rows_step * (int64_t)token);
    at.offset_step = 0;
    at.width_step = 0;
    at.rows_step = 0;
    return at;
}
static inline uint64_t kvs_range_bytes(const struct kvs_range *range)
{
    return (uint64_t)range->rows * range->width;
}

/* An operation's accesses, [n_access]; NULL when it has none. */
static inline const struct kvs_range *kvs_segment_accesses(const struct kvs_segment *segment,
                                                           const struct kvs_op *op)
{
    return op->n_access > 0 ? &segment->accesses.items[op->first_access] : NULL;
}

uint32_t kvs_plan_n_tokens(const struct kvs_plan *plan);
/* Bytes that the plan itself occupies: for the benchmark. */
uint64_t kvs_plan_size_bytes(const struct kvs_plan *plan);

#endif
