/* Calls of the CUDA runtime: every result is looked at, and errors name call, device and bytes. */
#ifndef KVS_REAL_CUDA_CHECK_H
#define KVS_REAL_CUDA_CHECK_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "base/status.h"

/* KVS_OK, or an error that names the call: KVS_ENOFIT out of memory, KVS_ENODEVICE without a
 * driver or a device, else KVS_EDEVICE. gpu < 0 and size_bytes 0 are left out of the text. */
kvs_status kvs_cuda_status(cudaError_t result, const char *call, int gpu, uint64_t size_bytes,
                           struct kvs_error *err);

/* Returns from the calling function on failure; gpu and bytes are for the text. */
#define KVS_CUDA(call, gpu, size_bytes, err)                                                   \
    KVS_TRY(kvs_cuda_status((call), #call, (gpu), (size_bytes), (err)))
#define KVS_CUDA_GOTO(call, gpu, size_bytes, err, label)                                       \
    KVS_TRY_GOTO(kvs_cuda_status((call), #call, (gpu), (size_bytes), (err)), label)

#endif
