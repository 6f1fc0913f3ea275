/* GPUs: which there are, one for each device of the plan, streams, and the pace of their clocks.
 */
#define _POSIX_C_SOURCE 200112L /* clock_gettime, setenv */

#include <stdlib.h>
#include <time.h>

#include "base/units.h"
#include "real/cells.h"
#include "real/cuda_internal.h"
#include "real/exec_cuda.h"

#define DEVICE_CALIBRATION_CYCLES 20000000ull /* some 10 ms */
#define DEVICE_CALIBRATION_ROUNDS 3
#define DEVICE_LINK_BYTES         (UINT64_C(256) << 20)
#define DEVICE_LINK_ROUNDS        5

kvs_status kvs_cuda_status(cudaError_t result, const char *call, int gpu, uint64_t size_bytes,
                           struct kvs_error *err)
{
    char where[64] = "", name[64];
    if (result == cudaSuccess)
        return KVS_OK;
    size_t n = strcspn(call, "(");
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), call);
    char bytes[32] = "";
    if (size_bytes > 0)
        kvs_format_bytes(size_bytes, bytes, sizeof bytes);
    if (gpu >= 0)
        snprintf(where, sizeof where, " (gpu %d%s%s)", gpu, size_bytes > 0 ? ", " : "", bytes);
    else if (size_bytes > 0)
        snprintf(where, sizeof where, " (%s)", bytes);
    kvs_status status = result == cudaErrorMemoryAllocation     ? KVS_ENOFIT
                        : result == cudaErrorNoDevice           ? KVS_ENODEVICE
                        : result == cudaErrorInsufficientDriver ? KVS_ENODEVICE
                                                                : KVS_EDEVICE;
    cudaGetLastError(); /* the next call starts without it */
    return kvs_error_set(err, status, "cuda: %s%s: %s", name, where,
                         cudaGetErrorString(result));
}

/*
 * Streams share a few hardware queues, eight unless the driver is told otherwise before it starts;
 * a stream that waits then holds up others that it has nothing to do with.
 */
static void device_ask_for_queues(void)
{
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
}

int kvs_cuda_n_gpus(void)
{
    int n = 0;
    device_ask_for_queues();
    if (cudaGetDeviceCount(&n) == cudaSuccess)
        return n;
    cudaGetLastError();
    return 0;
}

const char *kvs_cuda_why_none(void)
{
    int n = 0, driver = 0;
    cudaError_t result = cudaGetDeviceCount(&n);
    if (result == cudaSuccess)
        return n > 0 ? "" : "no GPU in this machine";
    cudaGetLastError();
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
        return "no NVIDIA driver on this machine";
    cudaGetLastError();
    return cudaGetErrorString(result);
}

void kvs_cuda_name(int gpu, char *out_name, size_t size_bytes)
{
    struct cudaDeviceProp properties;
    out_name[0] = '\0';
    if (cudaGetDeviceProperties(&properties, gpu) == cudaSuccess)
        (void)snprintf(out_name, size_bytes, "%s", properties.name);
    cudaGetLastError();
}

/* The best of a few copies: what the link can do. */
static kvs_status device_link_rounds(int gpu, void *host, void *device, cudaEvent_t begin,
                                     cudaEvent_t end, double *out_Bps, struct kvs_error *err)
{
    for (int round = 0; round < DEVICE_LINK_ROUNDS; round++) {
        float ms = 0.0f;
        KVS_CUDA(cudaEventRecord(begin, NULL), gpu, 0, err);
        KVS_CUDA(cudaMemcpyAsync(device, host, DEVICE_LINK_BYTES, cudaMemcpyHostToDevice, NULL),
                 gpu, DEVICE_LINK_BYTES, err);
        KVS_CUDA(cudaEventRecord(end, NULL), gpu, 0, err);
        KVS_CUDA(cudaEventSynchronize(end), gpu, 0, err);
        KVS_CUDA(cudaEventElapsedTime(&ms, begin, end), gpu, 0, err);
        double Bps = (double)DEVICE_LINK_BYTES / ((double)ms * 1e-3);
        *out_Bps = Bps > *out_Bps ? Bps : *out_Bps;
    }
    return KVS_OK;
}

kvs_status kvs_cuda_link_Bps(int gpu, double *out_Bps, struct kvs_error *err)
{
    void *host = NULL, *device = NULL;
    cudaEvent_t begin = NULL, end = NULL;
    kvs_status status;
    *out_Bps = 0.0;
    device_ask_for_queues();
    KVS_CUDA_GOTO(cudaSetDevice(gpu), gpu, 0, err, out);
    KVS_CUDA_GOTO(cudaHostAlloc(&host, DEVICE_LINK_BYTES, 0), gpu, DEVICE_LINK_BYTES, err, out);
    KVS_CUDA_GOTO(cudaMalloc(&device, DEVICE_LINK_BYTES), gpu, DEVICE_LINK_BYTES, err, out);
    KVS_CUDA_GOTO(cudaEventCreate(&begin), gpu, 0, err, out);
    KVS_CUDA_GOTO(cudaEventCreate(&end), gpu, 0, err, out);
    status = device_link_rounds(gpu, host, device, begin, end, out_Bps, err);
out:
    if (begin)
        cudaEventDestroy(begin);
    if (end)
        cudaEventDestroy(end);
    cudaFree(device);
    cudaFreeHost(host);
    return status;
}

double cuda_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

kvs_status cuda_use(struct cuda_exec *x, int gpu)
{
    if (x->current_gpu == gpu)
        return KVS_OK;
    KVS_CUDA(cudaSetDevice(gpu), gpu, 0, x->err);
    x->current_gpu = gpu;
    return KVS_OK;
}

/* Which GPU each device of the plan is. */
static kvs_status device_map(struct cuda_exec *x)
{
    int n = kvs_cuda_n_gpus();
    if (n == 0)
        return kvs_error_set(x->err, KVS_ENODEVICE, "cuda: %s", kvs_cuda_why_none());
    for (uint16_t d = 0; d < x->plan->n_devices; d++) {
        int gpu = x->options.map ? x->options.map[d] : d;
        if (gpu >= n) {
            kvs_error_set(x->err, KVS_EINVAL, "%s: GPU %d of %d: there is none",
                          x->c->machine->devices[d].name, gpu, n);
            kvs_error_hint(x->err, "--map 0,0 puts two devices on one GPU");
            return KVS_EINVAL;
        }
        x->devices[d].gpu = gpu;
    }
    return KVS_OK;
}

/* Cycles per time of the SM clock while it is busy: the best of a few rounds. */
static kvs_status device_calibrate(struct cuda_exec *x, struct cuda_device *device)
{
    cudaEvent_t begin = NULL, end = NULL;
    kvs_status status;
    KVS_CUDA_GOTO(cudaEventCreate(&begin), device->gpu, 0, x->err, out);
    KVS_CUDA_GOTO(cudaEventCreate(&end), device->gpu, 0, x->err, out);
    for (int round = 0; round <= DEVICE_CALIBRATION_ROUNDS; round++) {
        float ms = 0.0f;
        KVS_CUDA_GOTO(cudaEventRecord(begin, NULL), device->gpu, 0, x->err, out);
        KVS_CUDA_GOTO(
            kvs_gpu_spin(NULL, (struct kvs_gpu_time){.cycles = DEVICE_CALIBRATION_CYCLES}),
            device->gpu, 0, x->err, out);
        KVS_CUDA_GOTO(cudaEventRecord(end, NULL), device->gpu, 0, x->err, out);
        KVS_CUDA_GOTO(cudaEventSynchronize(end), device->gpu, 0, x->err, out);
        KVS_CUDA_GOTO(cudaEventElapsedTime(&ms, begin, end), device->gpu, 0, x->err, out);
        double rate = (double)DEVICE_CALIBRATION_CYCLES / ((double)ms * 1e9);
        if (round > 0 && rate > device->cycles_per_ps)
            device->cycles_per_ps = rate;
    }
    status = KVS_OK;
out:
    if (begin)
        cudaEventDestroy(begin);
    if (end)
        cudaEventDestroy(end);
    return status;
}

kvs_status cuda_open_devices(struct cuda_exec *x)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(x->plan->n_devices, sizeof *x->devices, &memory, x->err));
    x->devices = memory;
    KVS_TRY(kvs_mem_alloc(x->plan->queues.n, sizeof *x->streams, &memory, x->err));
    x->streams = memory;
    x->current_gpu = -1;
    KVS_TRY(device_map(x));
    for (uint16_t d = 0; d < x->plan->n_devices; d++) {
        struct cuda_device *device = &x->devices[d];
        KVS_TRY(cuda_use(x, device->gpu));
        KVS_CUDA(cudaMalloc((void **)&device->state, sizeof *device->state), device->gpu,
                 sizeof *device->state, x->err);
        KVS_CUDA(cudaMalloc((void **)&device->sink, sizeof *device->sink), device->gpu, 4,
                 x->err);
        KVS_CUDA(kvs_gpu_load(), device->gpu, 0, x->err);
        KVS_TRY(device_calibrate(x, device));
    }
    for (size_t q = 1; q < x->plan->queues.n; q++) {
        int gpu = x->devices[x->plan->queues.items[q].device].gpu;
        KVS_TRY(cuda_use(x, gpu));
        KVS_CUDA(cudaStreamCreateWithFlags(&x->streams[q], cudaStreamNonBlocking), gpu, 0,
                 x->err);
    }
    return KVS_OK;
}

void cuda_close_devices(struct cuda_exec *x)
{
    for (size_t q = 1; x->streams && q < x->plan->queues.n; q++)
        if (x->streams[q])
            cudaStreamDestroy(x->streams[q]);
    for (uint16_t d = 0; x->devices && d < x->plan->n_devices; d++) {
        cudaFree(x->devices[d].state);
        cudaFree(x->devices[d].sink);
    }
    kvs_mem_free(x->streams);
    kvs_mem_free(x->devices);
}
