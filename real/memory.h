/*
 * A plan's buffers in host memory, device buffers included, and what operations do to them. Used
 * by executors that play devices on the host; it knows no time and no order.
 *
 * Threads: operations may be applied by several threads at once as far as the plan lets them run
 * at once; a device's sums and state belong to its compute queue.
 */
#ifndef KVS_REAL_MEMORY_H
#define KVS_REAL_MEMORY_H

#include "real/program.h"

struct kvs_memory {
    const struct kvs_program *program; /* borrowed */
    uint64_t seed;
    unsigned char **buffers; /* owned, [n_buffers] each of its size; NULL when never touched */
    uint64_t *sums;          /* owned, [n_devices] of the open layer */
    uint64_t *states;        /* owned, [n_devices] */
    uint64_t shared_state;
};

/* Errors: KVS_ENOMEM with the size asked for. */
kvs_status kvs_memory_create(const struct kvs_program *program, uint64_t seed,
                             struct kvs_memory **out, struct kvs_error *err) KVS_MUST_USE;
void kvs_memory_destroy(struct kvs_memory *memory);
/* Content as the plan says before the first token, setup done. */
void kvs_memory_reset(struct kvs_memory *memory);

/*
 * What an operation does at its beginning, and at its end: the bytes of copies and host work are
 * moved at the beginning, a compute reads at both and writes at the end. apply does both.
 */
void kvs_memory_begin(struct kvs_memory *memory, uint32_t segment, uint32_t token,
                      kvs_op_id op);
void kvs_memory_end(struct kvs_memory *memory, uint32_t segment, uint32_t token, kvs_op_id op);
void kvs_memory_apply(struct kvs_memory *memory, uint32_t segment, uint32_t token,
                      kvs_op_id op);
/* A collective, all members together; first: the first of them in the plan. */
void kvs_memory_reduce(struct kvs_memory *memory, uint32_t segment, kvs_op_id first);

/* The state after the last token. */
uint64_t kvs_memory_digest(const struct kvs_memory *memory);

#endif
