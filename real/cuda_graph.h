/* What is put on a stream again and again, as one graph. */
#ifndef KVS_REAL_CUDA_GRAPH_H
#define KVS_REAL_CUDA_GRAPH_H

#include <cuda_runtime_api.h>

#include "base/status.h"

/* Captures what issue puts on the stream, on the current device gpu, and makes it ready to launch.
 * Returns to caller: cudaGraphExecDestroy. */
kvs_status kvs_cuda_capture(cudaStream_t stream, int gpu,
                            kvs_status (*issue)(const void *context), const void *context,
                            cudaGraphExec_t *out, struct kvs_error *err) KVS_MUST_USE;

#endif
