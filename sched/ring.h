/*
 * The ring of slots that deliveries fill ahead of compute: how large a slot is, and when the
 * transport declines. Rules of the fork, exact (docs/transports.md):
 *
 *   need  = the largest staged split of this graph: K and V of one layer over the window, each
 *           stream's run padded to the buffer alignment
 *   slots = look-ahead + 2, at most 16
 *   decline when slots x need > budget, or when less than the headroom stays free after it
 *   slot  = the power of two >= need, capped by the need at full context, by budget / slots and
 *           by (free - headroom) / slots, never below need
 */
#ifndef KVS_SCHED_RING_H
#define KVS_SCHED_RING_H

#include "sched/case.h"

#define KVS_RING_MAX_SLOTS   16u
#define KVS_BUFFER_ALIGNMENT 128u

typedef enum kvs_decline {
    KVS_DECLINE_NONE,
    KVS_DECLINE_LOOKAHEAD, /* look-ahead 0: nothing was asked for */
    KVS_DECLINE_BUDGET,
    KVS_DECLINE_HEADROOM,
    KVS_DECLINE_SHARED_CELLS, /* some layers read another layer's cells */
    KVS_DECLINE_V_TRANSPOSED,
    KVS_DECLINE_NO_STAGE, /* nothing is staged */
    /* where the last rows are to stay on the devices: */
    KVS_DECLINE_PAGEABLE,      /* kernels cannot store rows in pageable memory */
    KVS_DECLINE_SLIDING_WINDOW /* its last rows are anywhere in the window */
} kvs_decline;

/* Everything in bytes, per device. */
struct kvs_ring_choice {
    kvs_decline decline;
    uint32_t device; /* that decided */
    uint32_t n_slots;
    uint64_t need_bytes;      /* of one slot */
    uint64_t full_need_bytes; /* of one slot at full context */
    uint64_t slot_bytes;
    uint64_t ring_bytes;    /* n_slots x need when declined, n_slots x slot when accepted */
    uint64_t free_bytes;    /* before the ring; UINT64_MAX: unknown, not checked */
    uint32_t fit_lookahead; /* largest look-ahead that would be accepted; 0: none */
    uint64_t
        fit_budget_bytes; /* smallest budget for the look-ahead asked for; 0: no budget helps */
};

const char *kvs_decline_text(kvs_decline decline);

/* Sizing rule alone: pure. free_bytes UINT64_MAX = unknown; budget_bytes UINT64_MAX = no limit.
 */
struct kvs_ring_choice kvs_ring_choose(uint32_t lookahead, uint64_t need_bytes,
                                       uint64_t full_need_bytes, uint64_t budget_bytes,
                                       uint64_t headroom_bytes, uint64_t free_bytes);

/* Bytes of one stream's run of rows in a slot, padded to the buffer alignment. */
uint64_t kvs_ring_run_bytes(uint64_t window_rows, uint64_t row_bytes);
/* Bytes of one slot for a layer over window_rows per stream (whole rows, as the fork
 * allocates). */
uint64_t kvs_ring_need_bytes(const struct kvs_case *c, const struct kvs_llm_layer *layer,
                             uint64_t window_rows);

/* Device memory left for a ring: total less reserved, weights, resident cache and recurrent
 * state; UINT64_MAX when the device's memory is not known. KVS_ENOFIT when less than nothing is
 * left. */
kvs_status kvs_case_free_bytes(const struct kvs_case *c, uint32_t device, uint64_t *out_bytes,
                               struct kvs_error *err) KVS_MUST_USE;

/* Bytes of the rings for the last rows of a device's staged layers, whole rows. */
uint64_t kvs_case_tail_bytes(const struct kvs_case *c, uint32_t device);

/* The decision for a device at a step. Under tensor split the device with the least free memory
 * decides for all of them. With transport.keeps_tail the tail is taken off what is free. */
kvs_status kvs_case_ring(const struct kvs_case *c, uint32_t device, uint32_t step,
                         struct kvs_ring_choice *out, struct kvs_error *err) KVS_MUST_USE;

#endif
