/* Shared by build*.c alone. */
#ifndef KVS_SCHED_BUILD_INTERNAL_H
#define KVS_SCHED_BUILD_INTERNAL_H

#include "sched/build.h"

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
