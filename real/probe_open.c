/* Opens the GPUs: facts, streams, memory, clocks, and a first rate of each link. */
#define _POSIX_C_SOURCE 200809L /* sysconf */
#include "real/probe_internal.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "real/exec_cuda.h"
#include "real/kernels.h"
#include "real/probe_kernels.h"

#define OPEN_PINNED_BYTES     KVS_GIB
#define OPEN_LEAST_BYTES      (64 * KVS_MIB)
#define OPEN_PAGEABLE_BYTES   (256 * KVS_MIB)
#define OPEN_MEMORY_SHARE     4 /* of free memory of host and GPUs: one such part is taken */
#define OPEN_CALIBRATE_CYCLES 20000000ull /* some 10 ms */
#define OPEN_QUICK_BYTES      (16 * KVS_MIB)
#define OPEN_QUICK_ROUNDS     3
#define OPEN_LAST_STEP_S      5.0 /* no step is begun so close to the end of the budget */

static kvs_status open_attribute(struct kvs_probe *p, struct probe_gpu *g,
                                 enum cudaDeviceAttr attribute, int *out)
{
    *out = 0;
    KVS_CUDA(cudaDeviceGetAttribute(out, attribute, g->gpu), g->gpu, 0, p->err);
    return KVS_OK;
}

static kvs_status open_facts(struct kvs_probe *p, struct probe_gpu *g)
{
    struct kvs_probe_gpu *facts = g->facts;
    struct cudaDeviceProp properties;
    int n_sms, n_engines, clock_kHz, memory_kHz, bus_bits;
    size_t free_bytes, total_bytes;
    KVS_CUDA(cudaGetDeviceProperties(&properties, g->gpu), g->gpu, 0, p->err);
    KVS_TRY(open_attribute(p, g, cudaDevAttrMultiProcessorCount, &n_sms));
    KVS_TRY(open_attribute(p, g, cudaDevAttrAsyncEngineCount, &n_engines));
    KVS_TRY(open_attribute(p, g, cudaDevAttrClockRate, &clock_kHz));
    KVS_TRY(open_attribute(p, g, cudaDevAttrMemoryClockRate, &memory_kHz));
    KVS_TRY(open_attribute(p, g, cudaDevAttrGlobalMemoryBusWidth, &bus_bits));
    KVS_TRY(open_attribute(p, g, cudaDevAttrComputeCapabilityMajor, &facts->major));
    KVS_TRY(open_attribute(p, g, cudaDevAttrComputeCapabilityMinor, &facts->minor));
    KVS_CUDA(cudaDeviceGetPCIBusId(facts->pci, sizeof facts->pci, g->gpu), g->gpu, 0, p->err);
    KVS_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes), g->gpu, 0, p->err);
    (void)snprintf(facts->name, sizeof facts->name, "%.95s", properties.name);
    facts->n_sms = (unsigned)n_sms;
    facts->n_engines = (unsigned)n_engines;
    facts->clock_Hz = 1e3 * clock_kHz;
    facts->peak_memory_Bps = 2.0 * 1e3 * memory_kHz * bus_bits / 8;
    facts->memory_bytes = total_bytes;
    facts->free_bytes = free_bytes;
    facts->numa_node = -1;
    return KVS_OK;
}

static kvs_status open_gpu(struct kvs_probe *p, struct probe_gpu *g)
{
    KVS_TRY(probe_check(p));
    KVS_TRY(probe_use(p, g));
    KVS_TRY(open_facts(p, g));
    for (size_t s = 0; s < PROBE_N_STREAMS; s++)
        KVS_CUDA(cudaStreamCreateWithFlags(&g->streams[s], cudaStreamNonBlocking), g->gpu, 0,
                 p->err);
    KVS_CUDA(cudaStreamCreateWithFlags(&g->load, cudaStreamNonBlocking), g->gpu, 0, p->err);
    for (size_t e = 0; e < PROBE_N_EVENTS; e++)
        KVS_CUDA(cudaEventCreate(&g->events[e]), g->gpu, 0, p->err);
    KVS_CUDA(cudaEventCreateWithFlags(&g->plain, cudaEventDisableTiming), g->gpu, 0, p->err);
    KVS_CUDA(kvs_gpu_load(), g->gpu, 0, p->err);
    KVS_CUDA(kvs_probe_load_kernels(), g->gpu, 0, p->err);
    KVS_CUDA(cudaMalloc((void **)&g->sink, sizeof *g->sink), g->gpu, sizeof *g->sink, p->err);
    return KVS_OK;
}

/* As much as the host has, and the smallest GPU; half of it as long as that is refused. */
static kvs_status open_pinned(struct kvs_probe *p)
{
    uint64_t size = OPEN_PINNED_BYTES;
    long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0 && (uint64_t)pages * (uint64_t)page / OPEN_MEMORY_SHARE < size)
        size = (uint64_t)pages * (uint64_t)page / OPEN_MEMORY_SHARE;
    for (uint32_t i = 0; i < p->n_gpus; i++)
        if (p->facts.gpus[i].free_bytes / OPEN_MEMORY_SHARE < size)
            size = p->facts.gpus[i].free_bytes / OPEN_MEMORY_SHARE;
    size -= size % KVS_MIB;
    size = size < OPEN_LEAST_BYTES ? OPEN_LEAST_BYTES : size;
    unsigned flags = cudaHostAllocPortable | cudaHostAllocMapped;
    cudaError_t result = cudaHostAlloc((void **)&p->pinned, size, flags);
    while (result == cudaErrorMemoryAllocation && size / 2 >= OPEN_LEAST_BYTES) {
        (void)cudaGetLastError();
        size /= 2;
        result = cudaHostAlloc((void **)&p->pinned, size, flags);
    }
    KVS_TRY(kvs_cuda_status(result, "cudaHostAlloc", -1, size, p->err));
    memset(p->pinned, 1, size);
    p->pinned_bytes = size;
    return KVS_OK;
}

/* A ring of indices, 256 bytes apart, that reads follow one by one. */
static kvs_status open_mapped(struct kvs_probe *p)
{
    const uint32_t stride = 256 / sizeof(uint32_t), n = PROBE_CHAIN_BYTES / 256;
    KVS_CUDA(cudaHostAlloc((void **)&p->mapped, PROBE_MAPPED_BYTES,
                           cudaHostAllocPortable | cudaHostAllocMapped),
             -1, PROBE_MAPPED_BYTES, p->err);
    memset(p->mapped, 1, PROBE_MAPPED_BYTES);
    uint32_t *chain = (void *)p->mapped;
    for (uint32_t i = 0; i < n; i++)
        chain[i * stride] = (i + 1) % n * stride;
    return KVS_OK;
}

static kvs_status open_memory(struct kvs_probe *p)
{
    void *pageable;
    KVS_TRY(open_pinned(p));
    KVS_TRY(open_mapped(p));
    for (uint32_t i = 0; i < p->n_gpus; i++) {
        struct probe_gpu *g = &p->gpus[i];
        KVS_TRY(probe_use(p, g));
        KVS_CUDA(cudaMalloc((void **)&g->memory, p->pinned_bytes), g->gpu, p->pinned_bytes,
                 p->err);
    }
    p->pageable_bytes =
        OPEN_PAGEABLE_BYTES < p->pinned_bytes ? OPEN_PAGEABLE_BYTES : p->pinned_bytes;
    KVS_TRY(kvs_mem_alloc(p->pageable_bytes, 1, &pageable, p->err));
    p->pageable = pageable;
    memset(p->pageable, 1, p->pageable_bytes); /* pages exist once they are written */
    return KVS_OK;
}

/* The clock while it is busy, which the first rounds wake up. */
static kvs_status open_clock(struct kvs_probe *p, struct probe_gpu *g)
{
    const struct kvs_gpu_time time = {.cycles = OPEN_CALIBRATE_CYCLES};
    for (int round = 0; round < OPEN_QUICK_ROUNDS; round++) {
        double spun_s;
        KVS_TRY(probe_record(p, g, 0, g->streams[0]));
        KVS_CUDA(kvs_gpu_spin(g->streams[0], time), g->gpu, 0, p->err);
        KVS_TRY(probe_record(p, g, 1, g->streams[0]));
        KVS_TRY(probe_sync(p, g));
        KVS_TRY(probe_elapsed(p, g, 0, 1, &spun_s));
        g->cycles_Hz = fmax(g->cycles_Hz, (double)OPEN_CALIBRATE_CYCLES / spun_s);
    }
    return KVS_OK;
}

/* First figures of a GPU, which the amounts of all measurements depend on. */
static kvs_status open_quick(struct kvs_probe *p, struct probe_gpu *g)
{
    struct probe_job job = {
        .p = p, .g = g, .stream = g->streams[0], .size_bytes = OPEN_QUICK_BYTES, .n = 1};
    struct probe_samples samples;
    KVS_TRY(probe_use(p, g));
    KVS_TRY(open_clock(p, g));
    KVS_TRY(probe_sample(&job, probe_work_nothing, PROBE_GATE_S, 9, 9, &samples));
    g->empty_s = probe_median(&samples);
    for (int dir = 0; dir < KVS_N_DIRS; dir++) {
        job.dir = (kvs_dir)dir;
        KVS_TRY(probe_sample(&job, probe_work_copies, PROBE_GATE_S, OPEN_QUICK_ROUNDS,
                             OPEN_QUICK_ROUNDS, &samples));
        g->rate_Bps[dir] = (double)OPEN_QUICK_BYTES / probe_median(&samples);
    }
    g->facts->h2d_Bps = g->rate_Bps[KVS_H2D];
    return KVS_OK;
}

static void open_versions(struct kvs_probe *p)
{
    int driver = 0, runtime = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0)
        (void)snprintf(p->facts.cuda, sizeof p->facts.cuda, "%d.%d", driver / 1000,
                       driver % 1000 / 10);
    if (cudaRuntimeGetVersion(&runtime) == cudaSuccess && runtime > 0)
        (void)snprintf(p->facts.runtime, sizeof p->facts.runtime, "%d.%d", runtime / 1000,
                       runtime % 1000 / 10);
    (void)cudaGetLastError();
}

static kvs_status open_all(struct kvs_probe *p)
{
    int n = kvs_cuda_n_gpus();
    if (n == 0) {
        kvs_error_set(p->err, KVS_ENODEVICE, "no GPU to measure: %s", kvs_cuda_why_none());
        kvs_error_hint(p->err, "run it where the GPUs are; --list says what it measures");
        return KVS_ENODEVICE;
    }
    p->n_gpus = p->facts.n_gpus = n < KVS_PROBE_MAX_GPUS ? (uint32_t)n : KVS_PROBE_MAX_GPUS;
    for (uint32_t i = 0; i < p->n_gpus; i++) {
        p->gpus[i].gpu = (int)i;
        p->gpus[i].facts = &p->facts.gpus[i];
        KVS_TRY(open_gpu(p, &p->gpus[i]));
    }
    KVS_TRY(open_memory(p));
    for (uint32_t i = 0; i < p->n_gpus; i++)
        KVS_TRY(open_quick(p, &p->gpus[i]));
    open_versions(p);
    probe_look(p);
    return KVS_OK;
}

kvs_status kvs_probe_open(const struct kvs_probe_options *options, struct kvs_probe **out,
                          struct kvs_error *err)
{
    void *memory;
    double start_s = probe_now_s();
    *out = NULL;
    KVS_TRY(kvs_mem_alloc(1, sizeof **out, &memory, err));
    struct kvs_probe *p = memory;
    p->options = *options;
    p->err = err;
    p->end_s = start_s + options->budget_s - OPEN_LAST_STEP_S;
    kvs_status status = open_all(p);
    if (status != KVS_OK)
        kvs_probe_close(p);
    else
        *out = p;
    return status;
}

const struct kvs_probe_facts *kvs_probe_facts(const struct kvs_probe *probe)
{
    return &probe->facts;
}

static void close_gpu(struct probe_gpu *g)
{
    if (cudaSetDevice(g->gpu) != cudaSuccess)
        return;
    (void)cudaDeviceSynchronize();
    for (size_t s = 0; s < PROBE_N_STREAMS; s++)
        if (g->streams[s] != NULL)
            (void)cudaStreamDestroy(g->streams[s]);
    if (g->load != NULL)
        (void)cudaStreamDestroy(g->load);
    for (size_t e = 0; e < PROBE_N_EVENTS; e++)
        if (g->events[e] != NULL)
            (void)cudaEventDestroy(g->events[e]);
    if (g->plain != NULL)
        (void)cudaEventDestroy(g->plain);
    (void)cudaFree(g->memory);
    (void)cudaFree(g->sink);
}

void kvs_probe_close(struct kvs_probe *probe)
{
    if (probe == NULL)
        return;
    for (uint32_t i = 0; i < probe->n_gpus; i++)
        close_gpu(&probe->gpus[i]);
    (void)cudaFreeHost(probe->pinned);
    (void)cudaFreeHost(probe->mapped);
    kvs_mem_free(probe->pageable);
    kvs_mem_free(probe);
}
