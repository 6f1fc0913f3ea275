/* Stream capture. */
#include "real/cuda_graph.h"

#include "real/cuda_check.h"

kvs_status kvs_cuda_capture(cudaStream_t stream, int gpu,
                            kvs_status (*issue)(const void *context), const void *context,
                            cudaGraphExec_t *out, struct kvs_error *err)
{
    cudaGraph_t graph = NULL;
    KVS_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), gpu, 0, err);
    kvs_status status = issue(context);
    kvs_status ended =
        kvs_cuda_status(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture", gpu, 0,
                        status == KVS_OK ? err : NULL);
    if (status == KVS_OK)
        status = ended;
    if (status == KVS_OK)
        status = kvs_cuda_status(cudaGraphInstantiateWithFlags(out, graph, 0),
                                 "cudaGraphInstantiateWithFlags", gpu, 0, err);
    if (status == KVS_OK)
        status = kvs_cuda_status(cudaGraphUpload(*out, stream), "cudaGraphUpload", gpu, 0, err);
    if (graph != NULL)
        (void)cudaGraphDestroy(graph);
    return status;
}
