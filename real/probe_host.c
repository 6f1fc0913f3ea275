/* What calls and waits cost the host: of the first GPU, which stands for all. */
#include <math.h>
#include <string.h>

#include "real/kernels.h"
#include "real/probe_internal.h"

#define HOST_ROUNDS       21
#define HOST_LAUNCHES     200 /* in a row: far below what blocks */
#define HOST_COPIES       100
#define HOST_GRAPHS       20
#define HOST_GRAPH        24 /* kernels of a layer */
#define HOST_WAITS        101
#define HOST_HOPS         100
#define HOST_HOP_S        12e-6 /* of a gate, for each hop behind it */
#define HOST_ROW_BYTES    1088  /* a row of one side in q8_0, four heads of 256 */
#define HOST_ROWS         64
#define HOST_QUEUE_S      40e-3
#define HOST_QUEUE_ROUNDS 5
#define HOST_QUEUE_MAX    4096
#define HOST_BLOCKED_S    1e-3

/* Host time of one of job->n calls in a row. */
static kvs_status host_calls(const struct probe_job *job, probe_work work,
                             struct probe_samples *out)
{
    for (int round = 0; round <= HOST_ROUNDS; round++) {
        KVS_TRY(probe_sync(job->p, job->g));
        double start_s = probe_now_s();
        KVS_TRY(work(job));
        double time_s = probe_now_s() - start_s;
        if (round > 0)
            probe_add(out, time_s / job->n);
    }
    return probe_sync(job->p, job->g);
}

static kvs_status host_events(const struct probe_job *job)
{
    struct probe_gpu *g = job->g;
    for (uint32_t i = 0; i < job->n; i++) {
        KVS_CUDA(cudaEventRecord(g->plain, job->stream), g->gpu, 0, job->p->err);
        KVS_CUDA(cudaStreamWaitEvent(g->streams[1], g->plain, 0), g->gpu, 0, job->p->err);
    }
    return KVS_OK;
}

static kvs_status host_copies(const struct probe_job *job)
{
    for (uint32_t i = 0; i < job->n; i++)
        KVS_TRY(probe_copy(job->p, job->g, KVS_H2D, 0, 0, PROBE_SMALL_BYTES, job->stream));
    return KVS_OK;
}

kvs_status probe_calls(struct kvs_probe *p, struct probe_gpu *g)
{
    struct kvs_host *host = &p->machine->host;
    struct probe_job job = {.p = p, .g = g, .stream = g->streams[0], .n = HOST_LAUNCHES};
    struct probe_samples launches = {0}, events = {0}, copies = {0};
    KVS_TRY(host_calls(&job, probe_work_kernels, &launches));
    p->kernel_launch =
        kvs_probe_figure(launches.x, launches.n, "%d tiny kernels in a row, median of %zu",
                         HOST_LAUNCHES, launches.n);
    KVS_TRY(probe_set(p, &host->kernel_launch, p->kernel_launch));
    KVS_TRY(host_calls(&job, host_events, &events));
    KVS_TRY(probe_set(p, &host->event_pair,
                      kvs_probe_figure(events.x, events.n,
                                       "%d records and stream waits in a row, median of %zu",
                                       HOST_LAUNCHES, events.n)));
    job.n = HOST_COPIES;
    KVS_TRY(host_calls(&job, host_copies, &copies));
    return probe_set(p, &host->copy_call,
                     kvs_probe_figure(copies.x, copies.n,
                                      "%d pinned copies of 64 KiB in a row, median of %zu",
                                      HOST_COPIES, copies.n));
}

/* A launch and the wait for it, and how long its kernel keeps the device. */
static kvs_status host_sync(struct kvs_probe *p, struct probe_gpu *g)
{
    struct probe_job job = {.p = p, .g = g, .stream = g->streams[0], .n = 1};
    struct probe_samples both = {0}, kernels;
    if (!(p->kernel_launch.value > 0))
        return KVS_OK;
    KVS_TRY(probe_sample(&job, probe_work_kernels, PROBE_GATE_S, HOST_ROUNDS, HOST_ROUNDS,
                         &kernels));
    for (int round = 0; round < HOST_WAITS; round++) {
        KVS_TRY(probe_other_calls(p, g));
        double start_s = probe_now_s();
        KVS_CUDA(kvs_gpu_yield(job.stream), g->gpu, 0, p->err);
        KVS_CUDA(cudaStreamSynchronize(job.stream), g->gpu, 0, p->err);
        double time_s = probe_now_s() - start_s;
        if (round >= HOST_WAITS - PROBE_MAX_SAMPLES)
            probe_add(&both, time_s);
    }
    double whole_s = probe_median(&both), kernel_s = probe_median(&kernels);
    for (size_t i = 0; i < both.n; i++)
        both.x[i] = fmax(0, both.x[i] - p->kernel_launch.value - kernel_s);
    return probe_set(
        p, &p->machine->host.sync,
        kvs_probe_figure(both.x, both.n,
                         "launch and synchronise %.2f us, less a launch of %.2f us "
                         "and a kernel of %.2f us, median of %zu",
                         whole_s * 1e6, p->kernel_launch.value * 1e6, kernel_s * 1e6, both.n));
}

static kvs_status host_graphs(const struct probe_job *job)
{
    cudaGraphExec_t graph = job->object;
    for (uint32_t i = 0; i < job->n; i++)
        KVS_CUDA(cudaGraphLaunch(graph, job->stream), job->g->gpu, 0, job->p->err);
    return KVS_OK;
}

/* A graph on an idle device, waited for, less the wait and what it takes right behind others. */
static kvs_status host_idle_graphs(struct kvs_probe *p, struct probe_job *job,
                                   struct probe_samples *out)
{
    struct probe_job one = *job;
    struct probe_samples behind;
    one.n = 1;
    KVS_TRY(probe_sample(job, host_graphs, PROBE_GATE_S, HOST_ROUNDS, HOST_ROUNDS, &behind));
    double known_s = probe_median(&behind) / job->n + p->machine->host.sync.value;
    for (int round = 0; round < HOST_WAITS; round++) {
        KVS_TRY(probe_other_calls(p, job->g));
        double start_s = probe_now_s();
        KVS_TRY(host_graphs(&one));
        KVS_CUDA(cudaStreamSynchronize(job->stream), job->g->gpu, 0, p->err);
        double time_s = probe_now_s() - start_s;
        if (round >= HOST_WAITS - PROBE_MAX_SAMPLES)
            probe_add(out, fmax(0, time_s - known_s));
    }
    return KVS_OK;
}

static kvs_status host_graph_launch(struct kvs_probe *p, struct probe_gpu *g)
{
    struct probe_job kernels = {.p = p, .g = g, .stream = g->streams[0], .n = HOST_GRAPH};
    struct probe_job launches = {.p = p, .g = g, .stream = g->streams[0], .n = HOST_GRAPHS};
    struct probe_samples samples = {0};
    cudaGraphExec_t graph = NULL;
    kvs_status status = probe_capture(&kernels, probe_work_kernels, &graph);
    launches.object = graph;
    if (status == KVS_OK)
        status = host_idle_graphs(p, &launches, &samples);
    if (graph != NULL)
        (void)cudaGraphExecDestroy(graph);
    if (status != KVS_OK)
        return status;
    return probe_set(
        p, &p->machine->host.graph_launch,
        kvs_probe_figure(samples.x, samples.n,
                         "a graph of %d kernels on an idle device, launched and "
                         "waited for, less the wait and its kernels, median of %zu",
                         HOST_GRAPH, samples.n));
}

/* Tiny kernels on two streams, each waiting for the one before. */
static kvs_status host_ping_pong(const struct probe_job *job)
{
    struct probe_gpu *g = job->g;
    cudaStream_t streams[2] = {job->stream, g->streams[1]};
    for (uint32_t i = 0; i < job->n; i++) {
        cudaStream_t from = streams[i % 2], to = streams[1 - i % 2];
        KVS_CUDA(cudaEventRecord(g->plain, from), g->gpu, 0, job->p->err);
        KVS_CUDA(cudaStreamWaitEvent(to, g->plain, 0), g->gpu, 0, job->p->err);
        KVS_CUDA(kvs_gpu_yield(to), g->gpu, 0, job->p->err);
    }
    return KVS_OK;
}

static kvs_status host_hop(struct kvs_probe *p, struct probe_gpu *g)
{
    struct probe_job job = {.p = p, .g = g, .stream = g->streams[0], .n = HOST_HOPS};
    struct probe_samples hops = {0};
    double across_s = 0, along_s = 0;
    for (int round = 0; round <= HOST_ROUNDS; round++) {
        KVS_TRY(probe_bracket(&job, host_ping_pong, HOST_HOPS * HOST_HOP_S, &across_s));
        KVS_TRY(probe_bracket(&job, probe_work_kernels, HOST_HOPS * HOST_HOP_S, &along_s));
        if (round > 0)
            probe_add(&hops, fmax(0, across_s - along_s) / HOST_HOPS);
    }
    return probe_set(p, &p->machine->host.hop,
                     kvs_probe_figure(hops.x, hops.n,
                                      "%d tiny kernels that wait for each other across two "
                                      "streams (%.2f us each) less as many along one (%.2f us)",
                                      HOST_HOPS, across_s / HOST_HOPS * 1e6,
                                      along_s / HOST_HOPS * 1e6));
}

kvs_status probe_waits(struct kvs_probe *p, struct probe_gpu *g)
{
    KVS_TRY(host_sync(p, g));
    KVS_TRY(host_graph_launch(p, g));
    return host_hop(p, g);
}

/* The copy to the host is an operation of its own in a plan; what is left is the host's. */
kvs_status probe_store(struct kvs_probe *p, struct probe_gpu *g)
{
    (void)g;
    struct probe_samples samples = {0};
    uint64_t apart = p->pinned_bytes / (HOST_ROWS + 1) / 64 * 64;
    for (int round = 0; round <= HOST_ROUNDS; round++) {
        KVS_TRY(probe_check(p));
        double start_s = probe_now_s();
        for (uint64_t row = 1; row <= HOST_ROWS; row++)
            memcpy(p->pinned + row * apart + (uint64_t)round * 4096, p->pinned, HOST_ROW_BYTES);
        if (round > 0)
            probe_add(&samples, (probe_now_s() - start_s) / HOST_ROWS);
    }
    return probe_set(
        p, &p->machine->host.store,
        kvs_probe_figure(samples.x, samples.n,
                         "a memcpy of 1,088 B to each of %d rows far apart, median "
                         "of %zu; the copy to the host is not in it",
                         HOST_ROWS, samples.n));
}

/* Launches behind a long kernel until one of them blocks; 0: none did. */
static kvs_status host_queue(struct kvs_probe *p, struct probe_gpu *g, uint32_t *out)
{
    *out = 0;
    KVS_TRY(probe_sync(p, g));
    KVS_TRY(probe_gate(p, g, g->streams[0], HOST_QUEUE_S));
    KVS_TRY(probe_record(p, g, PROBE_FREE_EVENT, g->streams[0]));
    for (uint32_t n = 1; n <= HOST_QUEUE_MAX; n++) {
        double start_s = probe_now_s();
        KVS_CUDA(kvs_gpu_yield(g->streams[0]), g->gpu, 0, p->err);
        bool is_long = probe_now_s() - start_s > HOST_BLOCKED_S;
        bool is_over = probe_is_done(g->events[PROBE_FREE_EVENT]);
        if (is_long && is_over)
            *out = n; /* it came back once there was room */
        if (is_long || is_over)
            break;
    }
    return probe_sync(p, g);
}

kvs_status probe_queue(struct kvs_probe *p, struct probe_gpu *g)
{
    struct probe_samples limits = {0};
    for (int round = 0; round < HOST_QUEUE_ROUNDS; round++) {
        uint32_t n;
        KVS_TRY(host_queue(p, g, &n));
        if (n > 0)
            probe_add(&limits, n);
    }
    if (limits.n < (HOST_QUEUE_ROUNDS + 1) / 2) {
        probe_note(p, "%s: no launch of %d blocked; queue_limit keeps its value", probe_name(g),
                   HOST_QUEUE_MAX);
        return KVS_OK;
    }
    double median = probe_median(&limits), lo = median, hi = median;
    for (size_t i = 0; i < limits.n; i++) {
        lo = fmin(lo, limits.x[i]);
        hi = fmax(hi, limits.x[i]);
    }
    return probe_set(p, &p->machine->host.queue_limit,
                     kvs_probe_exact(round(median), lo, hi,
                                     "the first of many launches behind a kernel of %.0f ms "
                                     "that blocked, median of %zu",
                                     HOST_QUEUE_S * 1e3, limits.n));
}
