/* Shared by build*.c alone. */
#ifndef KVS_SCHED_BUILD_INTERNAL_H
#define KVS_SCHED_BUILD_INTERNAL_H

#include "sched/build.h"

/* A layer that reads cells: the stages are numbered first, then the residents. */
const struct kvs_stage *kvs_build_cached(const struct kvs_build *b, uint32_t s);
/* Number of the layer whose cells it reads: its own, or that of the layer it shares with. */
uint32_t kvs_build_owner(const struct kvs_build *b, uint32_t s);

/* Rows [first, first + n) of every stream; the steps move them from token to token. */
struct kvs_build_span {
    uint64_t first;
    uint64_t n;
    int32_t first_step;
    int32_t n_step;
};

/* One side of a cached layer on one device during the open segment. */
struct kvs_build_side {
    uint16_t cache;      /* buffer */
    uint64_t row_bytes;  /* in the cache */
    uint64_t offset;     /* of the device's heads inside a row */
    uint64_t width;      /* bytes of the device's heads */
    uint64_t cells;      /* rows per stream in the cache */
    uint64_t slot_first; /* offset of this side in a slot */
    uint64_t slot_pitch; /* between streams in a slot */
    struct kvs_window window;
    uint32_t advance; /* rows per step and stream */
};
struct kvs_build_side kvs_build_side_of(const struct kvs_build *b, uint32_t s, uint32_t device,
                                        kvs_kv_side side);
/* Rows of one stream in the cache, the device's heads of them. */
struct kvs_range kvs_build_cache_rows(const struct kvs_build_side *v,
                                      const struct kvs_build_span *rows, uint32_t stream);
/* The same rows in a slot: packed. */
struct kvs_range kvs_build_slot_rows(const struct kvs_build_side *v,
                                     const struct kvs_build_span *rows, uint16_t slot_buffer,
                                     uint32_t stream);
/* Rows that this step writes: fewer than were computed where a full sliding window wraps. */
struct kvs_build_span kvs_build_new_span(const struct kvs_build *b,
                                         const struct kvs_build_side *v);

/* A buffer of the plan; is_valid: it has content before the first token. */
struct kvs_build_buffer {
    kvs_place place;
    uint16_t device;
    uint64_t size_bytes;
    bool is_valid;
};
kvs_status kvs_build_add_buffer(struct kvs_build *b, const struct kvs_build_buffer *buffer,
                                uint16_t *out, const char *fmt, ...) KVS_PRINTF(4, 5);
kvs_status kvs_build_add_queue(struct kvs_build *b, uint32_t device, const char *role,
                               uint16_t *out) KVS_MUST_USE;
/* size_bytes from an offset on, in one run. */
struct kvs_range kvs_build_run(uint16_t buffer, uint64_t offset, uint64_t size_bytes);

/* Buffers on the devices for the residents, filled before the first token. */
kvs_status kvs_build_homes(struct kvs_build *b) KVS_MUST_USE;
/* The accesses of a piece's residents on one device, layer by layer: new rows, then windows. */
kvs_status kvs_build_resident_accesses(struct kvs_build *b, const struct kvs_piece *piece,
                                       uint32_t device) KVS_MUST_USE;

/* The accesses of a staged compute whose last rows are in the tail, and of the compute that
 * makes its new rows. */
kvs_status kvs_build_tail_reads(struct kvs_build *b, uint32_t stage, uint32_t device,
                                uint32_t slot) KVS_MUST_USE;
kvs_status kvs_build_tail_writes(struct kvs_build *b, uint32_t stage,
                                 uint32_t device) KVS_MUST_USE;
/* The operation added last waits for one that stands further down, of the token before. */
kvs_status kvs_build_add_later(struct kvs_build *b, const kvs_op_id *op,
                               kvs_dep_kind kind) KVS_MUST_USE;

/* Does device d compute new rows of stage s: it holds heads, and the layer owns its cells? */
bool kvs_build_stores(const struct kvs_build *b, uint32_t stage, uint32_t device);
/* Bytes of the hidden state of a whole batch, f32. */
uint64_t kvs_build_hidden_bytes(const struct kvs_build *b);
/* Bytes of the constants that every token copies to a device: K's, then V's. */
uint64_t kvs_build_rotation_bytes(const struct kvs_build *b);
/* The accesses of a staged compute on one device: reads, what they expect, fresh rows. */
kvs_status kvs_build_window_reads(struct kvs_build *b, uint32_t stage, uint32_t device,
                                  uint32_t slot) KVS_MUST_USE;
/* Cache bytes that a device's attention reads for a stage. */
uint64_t kvs_build_window_bytes(const struct kvs_build *b, uint32_t stage, uint32_t device);
/* The host waits; dependencies are added by the caller. */
kvs_status kvs_build_wait(struct kvs_build *b, kvs_tag tag, uint16_t layer) KVS_MUST_USE;

/* Sets b->rows, staging_bytes and new_bytes of every device. */
kvs_status kvs_build_place_rows(struct kvs_build *b) KVS_MUST_USE;
/* The accesses by which a device makes its new rows of a stage. */
kvs_status kvs_build_row_writes(struct kvs_build *b, uint32_t stage,
                                uint32_t device) KVS_MUST_USE;
/*
 * Where a stream's new rows of this step go in the cache, the device's heads of them; width 0
 * when there are none. Fewer rows than were computed where a full sliding window wraps.
 */
struct kvs_range kvs_build_new_cells(const struct kvs_build *b, uint32_t stage, uint32_t device,
                                     kvs_kv_side side, uint32_t stream);

#endif
