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

/*
 * How busy the link of an emulated device is now; in mapped host memory, written by the thread that
 * plays its copy engine (real/cuda_emulate.c).
 */
struct kvs_gpu_pace {
    float slowdown; /* compute takes so much longer, a fraction; 0 while nothing is copied */
    float delay_us; /* of a kernel's read behind the engine's bytes in flight */
};

/* How long a kernel takes from its start, at least. */
struct kvs_gpu_time {
    uint64_t cycles;                 /* of the SM clock */
    const struct kvs_gpu_pace *pace; /* NULL: nothing makes it slower */
};

/* A kernel's copy over an emulated link: as fast as its state allows at each moment. */
struct kvs_gpu_read {
    const struct kvs_gpu_pace *pace; /* NULL: a real link, which takes what it takes */
    float setup_us, latency_us, trips;
    float outstanding_bytes, path_bytes_per_us;
    float cycles_per_us;
    double size_bytes;
};

struct kvs_gpu_members {
    struct kvs_gpu_state *states[KVS_GPU_MAX_MEMBERS];
    const struct kvs_gpu_pace *paces[KVS_GPU_MAX_MEMBERS]; /* NULL: real links */
    uint32_t n;
    uint32_t
        n_trips; /* dependent reads of host memory, each behind the slowest member's bytes */
    float cycles_per_us;
};

/*
 * Members on several GPUs. With a library that adds floats: pack puts the sum into payload[0..3], 16
 * bits in each, which floats add exactly for up to 256 members; unpack takes the total from there
 * into the state. Without one: each posts its sum to mapped host memory, and when all have, gathers
 * the n posts, which lie `stride` words apart. layer < 0: there is no sum.
 */
cudaError_t kvs_gpu_pack(cudaStream_t stream, const struct kvs_gpu_state *state,
                         float *payload);
cudaError_t kvs_gpu_unpack(cudaStream_t stream, struct kvs_gpu_state *state,
                           const float *payload, int64_t layer);
cudaError_t kvs_gpu_post(cudaStream_t stream, const struct kvs_gpu_state *state,
                         uint64_t *post);
cudaError_t kvs_gpu_gather(cudaStream_t stream, struct kvs_gpu_state *state,
                           const uint64_t *posts, uint32_t n, uint32_t stride, int64_t layer);
/* Loads every kernel on the current device: a first launch that has to load one waits for the
 * device, and whoever feeds the device may be waiting for that launch. */
cudaError_t kvs_gpu_load(void);
/* Adds the list's part to state->sum, and takes its time.
 * n_blocks: thread blocks, 0: as many as help. */
cudaError_t kvs_gpu_fold(cudaStream_t stream, const struct kvs_gpu_cells_list *list,
                         struct kvs_gpu_state *state, struct kvs_gpu_time time,
                         unsigned n_blocks);
/* The sum, complete, goes into the state. */
cudaError_t kvs_gpu_mix(cudaStream_t stream, struct kvs_gpu_state *state, uint64_t layer,
                        struct kvs_gpu_time time);
/* New rows from the state; layer >= 0: the sum is mixed in before. */
cudaError_t kvs_gpu_make(cudaStream_t stream, const struct kvs_gpu_cells_list *list,
                         struct kvs_gpu_state *state, int64_t layer, struct kvs_gpu_time time);
/* The state goes to shared (mapped host memory), or comes from there. */
cudaError_t kvs_gpu_hand_on(cudaStream_t stream, struct kvs_gpu_state *state, uint64_t *shared,
                            int is_store);
/* All members of a collective on one GPU: every state takes the sum of all sums. layer < 0: there
 * is none. */
cudaError_t kvs_gpu_reduce(cudaStream_t stream, const struct kvs_gpu_members *members,
                           int64_t layer, uint64_t cycles);
cudaError_t kvs_gpu_copy(cudaStream_t stream, const struct kvs_gpu_move_list *list,
                         struct kvs_gpu_read read);
/* Occupies one block for its time. */
cudaError_t kvs_gpu_spin(cudaStream_t stream, struct kvs_gpu_time time);
/* Reads size_bytes of weights at full rate; sink: 4 bytes that are never really written. */
cudaError_t kvs_gpu_stream(cudaStream_t stream, const void *weights, uint64_t size_bytes,
                           uint32_t *sink);
/* The smallest kernel: lets a copy engine turn to another stream. */
cudaError_t kvs_gpu_yield(cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
