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
/* New rows of a stage, K's and then V's, on the device that computed them: it stores them. */
struct kvs_range kvs_build_new_rows(const struct kvs_build *b, uint32_t stage, uint32_t device);
/* The accesses by which the host writes the cache. */
kvs_status kvs_build_cache_writes(struct kvs_build *b, uint32_t stage,
                                  uint32_t device) KVS_MUST_USE;

#endif
