/* Timing: gates, brackets of events, copies in the background, samples. */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include "real/probe_internal.h"

#include <math.h>
#include <time.h>

#include "base/stats.h"
#include "real/cuda_graph.h"
#include "real/kernels.h"

#define BENCH_OTHER_BYTES 32768 /* more than a command carries */
#define BENCH_ATTEMPTS    5
#define BENCH_MAX_GATE_S  0.05
#define BENCH_SETTLED     0.01 /* spread over median */
#define BENCH_PIECE_S     5e-3 /* of background copies */
#define BENCH_PAGE        4096u

double probe_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

kvs_status probe_use(struct kvs_probe *p, struct probe_gpu *g)
{
    KVS_CUDA(cudaSetDevice(g->gpu), g->gpu, 0, p->err);
    return KVS_OK;
}

kvs_status probe_check(struct kvs_probe *p)
{
    if (p->options.stop != NULL && *p->options.stop != 0)
        return kvs_error_set(p->err, KVS_ESTOPPED, "stopped");
    return KVS_OK;
}

kvs_status probe_sync(struct kvs_probe *p, struct probe_gpu *g)
{
    KVS_TRY(probe_check(p));
    KVS_CUDA(cudaDeviceSynchronize(), g->gpu, 0, p->err);
    return KVS_OK;
}

bool probe_is_done(cudaEvent_t event)
{
    bool is_done = cudaEventQuery(event) != cudaErrorNotReady;
    (void)cudaGetLastError(); /* "not ready" would be the next launch's error */
    return is_done;
}

bool probe_is_idle(cudaStream_t stream)
{
    bool is_idle = cudaStreamQuery(stream) != cudaErrorNotReady;
    (void)cudaGetLastError();
    return is_idle;
}

kvs_status probe_record(struct kvs_probe *p, struct probe_gpu *g, unsigned event,
                        cudaStream_t stream)
{
    KVS_CUDA(cudaEventRecord(g->events[event], stream), g->gpu, 0, p->err);
    return KVS_OK;
}

kvs_status probe_elapsed(struct kvs_probe *p, struct probe_gpu *g, unsigned from, unsigned to,
                         double *out_s)
{
    float ms = 0.0f;
    KVS_CUDA(cudaEventElapsedTime(&ms, g->events[from], g->events[to]), g->gpu, 0, p->err);
    *out_s = (double)ms * 1e-3;
    return KVS_OK;
}

kvs_status probe_gate(struct kvs_probe *p, struct probe_gpu *g, cudaStream_t stream,
                      double seconds)
{
    struct kvs_gpu_time time = {.cycles = (uint64_t)(seconds * g->cycles_Hz)};
    KVS_CUDA(kvs_gpu_spin(stream, time), g->gpu, 0, p->err);
    return KVS_OK;
}

kvs_status probe_copy(struct kvs_probe *p, struct probe_gpu *g, kvs_dir dir,
                      uint64_t device_offset, uint64_t host_offset, uint64_t size_bytes,
                      cudaStream_t stream)
{
    unsigned char *device = g->memory + device_offset, *host = p->pinned + host_offset;
    if (dir == KVS_H2D)
        KVS_CUDA(cudaMemcpyAsync(device, host, size_bytes, cudaMemcpyHostToDevice, stream),
                 g->gpu, size_bytes, p->err);
    else
        KVS_CUDA(cudaMemcpyAsync(host, device, size_bytes, cudaMemcpyDeviceToHost, stream),
                 g->gpu, size_bytes, p->err);
    return KVS_OK;
}

uint64_t probe_amount(const struct kvs_probe *p, const struct probe_gpu *g, kvs_dir dir,
                      double seconds, uint64_t max_bytes)
{
    double bytes = g->rate_Bps[dir] * seconds;
    uint64_t most = max_bytes < p->pinned_bytes ? max_bytes : p->pinned_bytes;
    uint64_t amount = bytes < (double)most ? (uint64_t)bytes : most;
    amount -= amount % BENCH_PAGE;
    return amount < BENCH_PAGE ? BENCH_PAGE : amount;
}

kvs_status probe_load(struct kvs_probe *p, struct probe_gpu *g, double seconds)
{
    uint64_t piece = probe_amount(p, g, KVS_H2D, fmin(seconds, BENCH_PIECE_S), UINT64_MAX);
    unsigned n = (unsigned)ceil(seconds * g->rate_Bps[KVS_H2D] / (double)piece);
    for (unsigned i = 0; i < n; i++)
        KVS_TRY(probe_copy(p, g, KVS_H2D, 0, 0, piece, g->load));
    return KVS_OK;
}

kvs_status probe_other_calls(struct kvs_probe *p, struct probe_gpu *g)
{
    cudaStream_t stream = g->streams[1];
    for (int dir = 0; dir < KVS_N_DIRS; dir++) {
        KVS_TRY(probe_copy(p, g, (kvs_dir)dir, 0, 0, BENCH_OTHER_BYTES, stream));
        KVS_CUDA(cudaStreamSynchronize(stream), g->gpu, BENCH_OTHER_BYTES, p->err);
    }
    KVS_CUDA(kvs_gpu_yield(stream), g->gpu, 0, p->err);
    KVS_CUDA(cudaStreamSynchronize(stream), g->gpu, 0, p->err);
    return KVS_OK;
}

/* *out_is_late: the gate opened before everything behind it was issued. */
static kvs_status bench_once(const struct probe_job *job, probe_work work, double gate_s,
                             double *out_s, bool *out_is_late)
{
    struct kvs_probe *p = job->p;
    struct probe_gpu *g = job->g;
    KVS_TRY(probe_check(p));
    KVS_TRY(probe_gate(p, g, job->stream, gate_s));
    KVS_TRY(probe_record(p, g, 0, job->stream));
    KVS_TRY(work(job));
    KVS_TRY(probe_record(p, g, 1, job->stream));
    *out_is_late = probe_is_done(g->events[0]);
    KVS_CUDA(cudaEventSynchronize(g->events[1]), g->gpu, 0, p->err);
    KVS_TRY(probe_elapsed(p, g, 0, 1, out_s));
    *out_s = fmax(0, *out_s - g->empty_s);
    return KVS_OK;
}

kvs_status probe_bracket(const struct probe_job *job, probe_work work, double gate_s,
                         double *out_s)
{
    bool is_late = true;
    for (int i = 0; i < BENCH_ATTEMPTS && is_late; i++) {
        KVS_TRY(bench_once(job, work, gate_s, out_s, &is_late));
        gate_s = fmin(2 * gate_s, BENCH_MAX_GATE_S);
    }
    return KVS_OK;
}

kvs_status probe_bracket_beside(const struct probe_job *job, probe_work work, double gate_s,
                                double load_s, double *out_s)
{
    bool is_alone = true, is_late = true;
    for (int i = 0; i < BENCH_ATTEMPTS && (is_alone || is_late); i++) {
        KVS_TRY(probe_load(job->p, job->g, load_s));
        KVS_TRY(bench_once(job, work, gate_s, out_s, &is_late));
        is_alone = probe_is_idle(job->g->load);
        KVS_CUDA(cudaStreamSynchronize(job->g->load), job->g->gpu, 0, job->p->err);
        load_s *= is_alone ? 2 : 1;
        gate_s = is_late ? fmin(2 * gate_s, BENCH_MAX_GATE_S) : gate_s;
    }
    if (is_alone && !job->p->has_said_alone)
        probe_warn(job->p,
                   "%s: however long copies went on, what was to run beside them took longer; "
                   "its times beside copies are not to be trusted",
                   probe_name(job->g));
    job->p->has_said_alone |= is_alone;
    return KVS_OK;
}

void probe_add(struct probe_samples *samples, double x)
{
    if (samples->n < PROBE_MAX_SAMPLES)
        samples->x[samples->n++] = x;
}

double probe_median(const struct probe_samples *samples)
{
    struct probe_samples copy = *samples;
    return kvs_quantile(copy.x, copy.n, 0.5);
}

bool probe_is_settled(const struct probe_samples *samples)
{
    struct probe_samples copy = *samples;
    double spread = kvs_quantile(copy.x, copy.n, 0.95) - kvs_quantile(copy.x, copy.n, 0.05);
    return spread <= BENCH_SETTLED * kvs_quantile(copy.x, copy.n, 0.5);
}

kvs_status probe_sample(const struct probe_job *job, probe_work work, double gate_s,
                        size_t n_min, size_t n_max, struct probe_samples *out)
{
    double x;
    out->n = 0;
    KVS_TRY(probe_bracket(job, work, gate_s, &x)); /* warm-up */
    while (out->n < n_min || (out->n < n_max && !probe_is_settled(out))) {
        KVS_TRY(probe_bracket(job, work, gate_s, &x));
        probe_add(out, x);
    }
    return KVS_OK;
}

kvs_status probe_work_nothing(const struct probe_job *job)
{
    (void)job;
    return KVS_OK;
}

kvs_status probe_work_kernels(const struct probe_job *job)
{
    for (uint32_t i = 0; i < job->n; i++)
        KVS_CUDA(kvs_gpu_yield(job->stream), job->g->gpu, 0, job->p->err);
    return KVS_OK;
}

kvs_status probe_work_copies(const struct probe_job *job)
{
    uint64_t piece = job->size_bytes / job->n;
    for (uint32_t i = 0; i < job->n; i++) {
        uint64_t at = i * piece;
        KVS_TRY(probe_copy(job->p, job->g, job->dir, at, at,
                           i + 1 == job->n ? job->size_bytes - at : piece, job->stream));
    }
    return KVS_OK;
}

struct bench_work {
    const struct probe_job *job;
    probe_work work;
};

static kvs_status bench_issue(const void *context)
{
    const struct bench_work *w = context;
    return w->work(w->job);
}

kvs_status probe_capture(const struct probe_job *job, probe_work work, cudaGraphExec_t *out)
{
    struct bench_work context = {.job = job, .work = work};
    return kvs_cuda_capture(job->stream, job->g->gpu, bench_issue, &context, out, job->p->err);
}
