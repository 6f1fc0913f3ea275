/* Kernels that only measure, behind a C interface; asynchronous on the stream given. */
#ifndef KVS_REAL_PROBE_KERNELS_H
#define KVS_REAL_PROBE_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Loads them on the current device: a first launch that has to would wait for the device. */
cudaError_t kvs_probe_load_kernels(void);
/* n dependent reads by one thread: chain[i] is the index that is read next. sink: 4 bytes of device
 * memory, which get the last one. */
cudaError_t kvs_probe_chase(cudaStream_t stream, const uint32_t *chain, uint32_t n,
                            uint32_t *sink);

#ifdef __cplusplus
}
#endif

#endif
