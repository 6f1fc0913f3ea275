/* Plans on CUDA devices: streams, copies, kernels and events as the plan asks for. */
#ifndef KVS_REAL_EXEC_CUDA_H
#define KVS_REAL_EXEC_CUDA_H

#include "sched/exec.h"

/* In a build without CUDA its open says so (KVS_ENODEVICE). */
extern const struct kvs_exec_ops kvs_exec_cuda;

/* Devices that can run plans now: 0 without CUDA, a driver or a GPU. */
int kvs_cuda_n_gpus(void);
/* Its product name, such as "NVIDIA H200"; "" where it cannot be asked. */
void kvs_cuda_name(int gpu, char *out_name, size_t size_bytes);
/* Rate of large pinned copies to this GPU, alone: measured now, a few milliseconds. */
kvs_status kvs_cuda_link_Bps(int gpu, double *out_Bps, struct kvs_error *err) KVS_MUST_USE;
/* Why there are none, or "" */
const char *kvs_cuda_why_none(void);

#endif
