/* NVIDIA's collectives, loaded when they are there: sums over the GPUs of one program. */
#ifndef KVS_REAL_NCCL_H
#define KVS_REAL_NCCL_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "base/status.h"

struct kvs_nccl; /* the loaded library, and a communicator for each GPU */

/* gpus: [n], as CUDA counts them. Errors: KVS_ENOTFOUND without the library or a call in it,
 * KVS_EDEVICE when the communicators cannot be made. Returns to caller: kvs_nccl_close. */
kvs_status kvs_nccl_open(const int *gpus, uint32_t n, struct kvs_nccl **out,
                         struct kvs_error *err) KVS_MUST_USE;
void kvs_nccl_close(struct kvs_nccl *nccl); /* NULL is fine */

int kvs_nccl_version(const struct kvs_nccl *nccl); /* 22803 is 2.28.3 */

/* The sum of n_floats of every GPU, in place on each. buffers, streams: one a GPU. */
kvs_status kvs_nccl_all_reduce(const struct kvs_nccl *nccl, void *const *buffers,
                               size_t n_floats, const cudaStream_t *streams,
                               struct kvs_error *err) KVS_MUST_USE;

#endif
