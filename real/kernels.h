/*
 * Kernels of the CUDA executor, behind a C interface: what computes, stores and reads of a plan
 * do on a device. Everything is asynchronous on the stream given; pointers are device pointers or
 * mapped host memory, and belong to the caller until the stream has passed the launch. The
 * arithmetic on cells is that of real/cells.h.
 */
#ifndef KVS_REAL_KERNELS_H
#define KVS_REAL_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KVS_GPU_MAX_BLOCKS 24u /* of bytes in one launch: within the 4 KiB of parameters */

#define KVS_GPU_MAX_MEMBERS 64u

/* rows x width bytes, and the cells that they are. */
struct kvs_gpu_cells {
    unsigned char *bytes;
    uint64_t pitch;
    uint64_t id;          /* of the cells buffer */
    uint64_t cell_offset; /* of the first byte in it */
    uint64_t cell_pitch;
    uint64_t width; /* bytes of a row */
    uint32_t rows;
};
struct kvs_gpu_cells_list {
    struct kvs_gpu_cells items[KVS_GPU_MAX_BLOCKS];
    uint32_t n;
};

/* rows x width bytes from one place to another; either may be mapped host memory. */
struct kvs_gpu_move {
    const unsigned char *from;
    unsigned char *to;
    uint64_t from_pitch, to_pitch;
    uint64_t width;
    uint32_t rows;
};
struct kvs_gpu_move_list {
    struct kvs_gpu_move items[KVS_GPU_MAX_BLOCKS];
    uint32_t n;
};

/* Running sum and state of one logical device. */
struct kvs_gpu_state {
    uint64_t sum;
    uint64_t state;
};

struct kvs_gpu_members {
    struct kvs_gpu_state *states[KVS_GPU_MAX_MEMBERS];
    uint32_t n;
};

/* Adds the list's part to state->sum, then goes on for `cycles` of the SM clock from its start.
 * n_blocks: thread blocks, 0: as many as help. */
cudaError_t kvs_gpu_fold(cudaStream_t stream, const struct kvs_gpu_cells_list *list,
                         struct kvs_gpu_state *state, uint64_t cycles, unsigned n_blocks);
/* The sum, complete, goes into the state. */
cudaError_t kvs_gpu_mix(cudaStream_t stream, struct kvs_gpu_state *state, uint64_t layer,
                        uint64_t cycles);
/* New rows from the state, in `cycles`; layer >= 0: the sum is mixed in before. */
cudaError_t kvs_gpu_make(cudaStream_t stream, const struct kvs_gpu_cells_list *list,
                         struct kvs_gpu_state *state, int64_t layer, uint64_t cycles);
/* The state goes to shared (mapped host memory), or comes from there. */
cudaError_t kvs_gpu_hand_on(cudaStream_t stream, struct kvs_gpu_state *state, uint64_t *shared,
                            int is_store);
/* All members of a collective on one GPU: every state takes the sum of all sums, after `cycles`. */
cudaError_t kvs_gpu_reduce(cudaStream_t stream, const struct kvs_gpu_members *members,
                           uint64_t layer, uint64_t cycles);
cudaError_t kvs_gpu_copy(cudaStream_t stream, const struct kvs_gpu_move_list *list);
/* Occupies one block for so many cycles. */
cudaError_t kvs_gpu_spin(cudaStream_t stream, uint64_t cycles);
/* Reads size_bytes of weights at full rate; sink: 4 bytes that are never really written. */
cudaError_t kvs_gpu_stream(cudaStream_t stream, const void *weights, uint64_t size_bytes,
                           uint32_t *sink);
/* The smallest kernel: lets a copy engine turn to another stream. */
cudaError_t kvs_gpu_yield(cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
