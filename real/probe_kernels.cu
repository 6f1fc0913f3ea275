/* Kernels that only measure. */
#include "real/probe_kernels.h"

#define PROBE_THREADS 512
#define PROBE_BLOCKS  4 /* of 512 threads on an SM: all of its threads */
#define PROBE_UNROLL  4 /* loads of 16 bytes under way in each thread */

static __global__ void probe_chase(const volatile uint32_t *chain, uint32_t n, uint32_t *sink)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < n; i++)
        at = chain[at];
    *sink = at;
}

static __global__ void probe_read(const uint4 *data, uint64_t n, uint32_t key, uint32_t *sink)
{
    uint32_t x = 0;
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + (PROBE_UNROLL - 1) * step < n; i += PROBE_UNROLL * step) {
        uint4 v[PROBE_UNROLL];
#pragma unroll
        for (int k = 0; k < PROBE_UNROLL; k++)
            v[k] = __ldcs(&data[i + (uint64_t)k * step]);
#pragma unroll
        for (int k = 0; k < PROBE_UNROLL; k++)
            x ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
    }
    for (; i < n; i += step)
        x ^= data[i].x;
    if (x == key) /* hardly ever; keeps the loads */
        *sink = x;
}

cudaError_t kvs_probe_load_kernels(void)
{
    struct cudaFuncAttributes attributes;
    cudaError_t result = cudaFuncGetAttributes(&attributes, (const void *)probe_chase);
    return result != cudaSuccess
               ? result
               : cudaFuncGetAttributes(&attributes, (const void *)probe_read);
}

cudaError_t kvs_probe_chase(cudaStream_t stream, const uint32_t *chain, uint32_t n,
                            uint32_t *sink)
{
    probe_chase<<<1, 1, 0, stream>>>(chain, n, sink);
    return cudaGetLastError();
}

cudaError_t kvs_probe_read(cudaStream_t stream, const void *data, uint64_t size_bytes,
                           unsigned n_sms, uint32_t *sink)
{
    probe_read<<<n_sms * PROBE_BLOCKS, PROBE_THREADS, 0, stream>>>(
        (const uint4 *)data, size_bytes / sizeof(uint4), 0x9e3779b9u, sink);
    return cudaGetLastError();
}
