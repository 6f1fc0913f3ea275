/*
 * The decode graph of a case: which devices compute what between which staged layers. All
 * policies read it, so that they differ in transport alone.
 *
 * A *stage* is a layer whose cache lives in host memory: its window has to reach the devices
 * before its attention. A *resident* is a layer whose cache stays on the devices. A *piece* is
 * compute that a device does in one go; pieces stand in order. A piece ends where the next
 * stage's window is needed, where devices have to exchange (a reduce under tensor split, a hop
 * of the hidden state under layer split), or at the end of the token.
 *
 *     none split:   [pre 0..s0] stage s0 [s0 .. pre s1] stage s1 ... [last .. head]
 *     tensor split: the same, cut after every attention and every FFN by an all-reduce
 */
#ifndef KVS_SCHED_GRAPH_H
#define KVS_SCHED_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "sched/case.h"

#define KVS_NO_STAGE UINT32_MAX

/* What one device holds of a layer's rows. */
struct kvs_stage_part {
    uint32_t n_heads;  /* 0: the device takes no part */
    uint64_t k_offset; /* bytes into the row */
    uint64_t k_bytes;  /* of this device's heads */
    uint64_t v_offset;
    uint64_t v_bytes; /* 0: no V cache */
};

/* A layer that reads cells: a stage, or a resident. */
struct kvs_stage {
    uint32_t layer;
    uint32_t cache_stage; /* entry of the same list whose cache it reads: its own, or that of a
                             layer it shares with */
    uint64_t k_row_bytes; /* whole rows in the cache */
    uint64_t v_row_bytes;
    struct kvs_stage_part *parts; /* owned, [n_devices] */
};
typedef KVS_ARRAY(struct kvs_stage) kvs_stage_list;

struct kvs_piece {
    uint32_t stage;        /* its attention reads this stage's window, or KVS_NO_STAGE */
    uint32_t before_stage; /* it ends with this stage's new rows, or KVS_NO_STAGE */
    uint32_t layer;        /* first layer in it */
    int32_t device;        /* under none and layer split; -1: all devices together */
    uint64_t params;       /* weights of the whole piece, values (all devices) */
    uint32_t n_kernels;
    uint32_t first_resident; /* its residents are n_residents of the list from there on */
    uint32_t n_residents;
    uint64_t resident_bytes_per_row; /* cache rows that they read, all devices */
    uint64_t resident_swa_bytes;     /* the same for sliding windows: whole bytes */
    bool has_reduce;                 /* an all-reduce follows */
    bool is_last_of_token;
};

struct kvs_graph {
    uint32_t n_devices; /* that take part */
    kvs_stage_list stages;
    kvs_stage_list residents;
    KVS_ARRAY(struct kvs_piece) pieces;
};

/* c is borrowed for the call. Errors: those of the head split. Returns to caller:
 * kvs_graph_destroy. */
kvs_status kvs_graph_create(const struct kvs_case *c, struct kvs_graph **out,
                            struct kvs_error *err) KVS_MUST_USE;
void kvs_graph_destroy(struct kvs_graph *graph);

/* Cache bytes that a piece's attention reads on the device itself at a step, all devices and
 * streams: layers kept there. */
uint64_t kvs_piece_resident_bytes(const struct kvs_case *c, const struct kvs_piece *piece,
                                  uint32_t step);

/* Device of a layer under layer split (0 without). Layers are dealt in runs by the shares, as
 * llama.cpp deals them: layer l goes to the first device whose cumulative share exceeds l / n.
 */
uint32_t kvs_graph_device_of_layer(const struct kvs_case *c, uint32_t layer);

#endif
