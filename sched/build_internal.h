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
/* New rows of a stage on the device that computed them. */
struct kvs_range kvs_build_new_rows(const struct kvs_build *b, uint32_t stage, uint32_t device,
                                    kvs_kv_side side);
/* A blocking copy of those rows to staging; the accesses by which the host writes the cache. */
kvs_status kvs_build_store_side(struct kvs_build *b, uint32_t stage, uint32_t device,
                                kvs_kv_side side, uint64_t *staging_offset) KVS_MUST_USE;
kvs_status kvs_build_cache_writes(struct kvs_build *b, uint32_t stage,
                                  uint32_t device) KVS_MUST_USE;

#endif
