/* Gaps between kernels, in a stream and in a graph, and reads of device memory. */
#include <math.h>

#include "real/kernels.h"
#include "real/probe_internal.h"
#include "real/probe_kernels.h"

#define KERNEL_ROUNDS       21
#define KERNEL_FEW          100 /* kernels that spin for twice as long as twice as many */
#define KERNEL_SPIN_S       20e-6
#define KERNEL_LAUNCH_S     8e-6    /* of a gate, for each launch behind it */
#define KERNEL_GRAPH        24      /* kernels of a layer */
#define KERNEL_MEMORY_BYTES KVS_GIB /* of device memory, or what it can read in so long: */
#define KERNEL_READ_S       2e-3
#define KERNEL_MEMORY_S     20e-3 /* of copies beside it, more than a read takes */

static kvs_status kernel_spins(const struct probe_job *job)
{
    struct kvs_gpu_time time = {.cycles = (uint64_t)(job->each_s * job->g->cycles_Hz)};
    for (uint32_t i = 0; i < job->n; i++)
        KVS_CUDA(kvs_gpu_spin(job->stream, time), job->g->gpu, 0, job->p->err);
    return KVS_OK;
}

static kvs_status kernel_launch_graph(const struct probe_job *job)
{
    cudaGraphExec_t graph = job->object;
    KVS_CUDA(cudaGraphLaunch(graph, job->stream), job->g->gpu, 0, job->p->err);
    return KVS_OK;
}

/* What twice as many kernels of half the length take longer, each; clocks cancel out. */
static kvs_status kernel_gaps(const struct probe_job *few, const struct probe_job *many,
                              probe_work work, double gate_s, struct probe_samples *out)
{
    for (int round = 0; round <= KERNEL_ROUNDS; round++) {
        double few_s, many_s;
        KVS_TRY(probe_bracket(few, work, gate_s, &few_s));
        KVS_TRY(probe_bracket(many, work, gate_s, &many_s));
        if (round > 0)
            probe_add(out, fmax(0, many_s - few_s) / (many->n - few->n));
    }
    return KVS_OK;
}

static kvs_status kernel_graph_gap(struct probe_job *few, struct probe_job *many)
{
    struct probe_samples gaps = {0};
    cudaGraphExec_t graphs[2] = {NULL, NULL};
    kvs_status status;
    few->n = KERNEL_GRAPH;
    many->n = 2 * KERNEL_GRAPH;
    KVS_TRY_GOTO(probe_capture(few, kernel_spins, &graphs[0]), out);
    KVS_TRY_GOTO(probe_capture(many, kernel_spins, &graphs[1]), out);
    few->object = graphs[0];
    many->object = graphs[1];
    KVS_TRY_GOTO(kernel_gaps(few, many, kernel_launch_graph, 2 * PROBE_GATE_S, &gaps), out);
    probe_note(few->p, "%s: %.2f us between the kernels of a graph", probe_name(few->g),
               probe_median(&gaps) * 1e6);
out:
    for (size_t i = 0; i < KVS_COUNT_OF(graphs); i++)
        if (graphs[i] != NULL)
            (void)cudaGraphExecDestroy(graphs[i]);
    return status;
}

kvs_status probe_kernel_gap(struct kvs_probe *p, struct probe_gpu *g)
{
    struct probe_job few = {
        .p = p, .g = g, .stream = g->streams[0], .n = KERNEL_FEW, .each_s = KERNEL_SPIN_S};
    struct probe_job many = few;
    struct probe_samples gaps = {0};
    many.n = 2 * KERNEL_FEW;
    many.each_s = KERNEL_SPIN_S / 2;
    KVS_TRY(kernel_gaps(&few, &many, kernel_spins, many.n * KERNEL_LAUNCH_S, &gaps));
    KVS_TRY(probe_set(p, &g->device->kernel_gap,
                      kvs_probe_figure(gaps.x, gaps.n,
                                       "the same spinning in %d and in %d kernels of a stream, "
                                       "median of %zu",
                                       KERNEL_FEW, 2 * KERNEL_FEW, gaps.n)));
    return kernel_graph_gap(&few, &many);
}

static kvs_status kernel_read(const struct probe_job *job)
{
    KVS_CUDA(kvs_gpu_stream(job->stream, job->object, job->size_bytes, job->g->sink),
             job->g->gpu, job->size_bytes, job->p->err);
    return KVS_OK;
}

static kvs_status kernel_memory_rate(const struct probe_job *job)
{
    struct kvs_probe *p = job->p;
    struct probe_gpu *g = job->g;
    struct probe_samples rates = {0}, beside = {0}, times;
    char buf[KVS_UNITS_BUF];
    KVS_TRY(
        probe_sample(job, kernel_read, PROBE_GATE_S, KERNEL_ROUNDS, 2 * KERNEL_ROUNDS, &times));
    for (size_t i = 0; i < times.n; i++)
        probe_add(&rates, (double)job->size_bytes / times.x[i]);
    for (int round = 0; round < KERNEL_ROUNDS; round++) {
        double time_s;
        KVS_TRY(probe_bracket_beside(job, kernel_read, PROBE_GATE_S, KERNEL_MEMORY_S, &time_s));
        probe_add(&beside, (double)job->size_bytes / time_s);
    }
    double alone_Bps = probe_median(&rates), beside_Bps = probe_median(&beside);
    probe_note(
        p, "%s: device memory is read at %.0f GB/s, %.0f GB/s beside copies: %.1f%% slower",
        probe_name(g), alone_Bps * 1e-9, beside_Bps * 1e-9, (1 - beside_Bps / alone_Bps) * 100);
    return probe_set(p, &g->device->memory_rate,
                     kvs_probe_figure(rates.x, rates.n,
                                      "a kernel that reads %s, median of %zu; %.4g GB/s beside "
                                      "copies",
                                      kvs_format_bytes(job->size_bytes, buf, sizeof buf),
                                      rates.n, beside_Bps * 1e-9));
}

kvs_status probe_memory(struct kvs_probe *p, struct probe_gpu *g)
{
    double total = (double)g->facts->memory_bytes;
    double taken = total - (double)g->facts->free_bytes;
    size_t free_bytes, total_bytes;
    void *memory = NULL;
    KVS_TRY(probe_set(p, &g->device->memory_bytes,
                      kvs_probe_exact(total, total, total, "cudaMemGetInfo")));
    g->device->is_memory_known = true;
    KVS_TRY(probe_set(p, &g->device->reserved_bytes,
                      kvs_probe_exact(taken, taken, taken,
                                      "not free just after the start of a program, its own "
                                      "context included")));
    KVS_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes), g->gpu, 0, p->err);
    double size_bytes =
        fmax((double)KERNEL_MEMORY_BYTES, g->facts->peak_memory_Bps * KERNEL_READ_S);
    uint64_t size = (uint64_t)fmin(size_bytes, (double)free_bytes / 2);
    size -= size % KVS_MIB;
    struct probe_job job = {.p = p, .g = g, .stream = g->streams[1], .size_bytes = size};
    KVS_CUDA(cudaMalloc(&memory, size), g->gpu, size, p->err);
    job.object = memory;
    kvs_status status = kernel_memory_rate(&job);
    (void)cudaFree(memory);
    return status;
}
