/* Copies that the host waits for, and copies and kernels in turn: what a copy takes besides its
 * bytes. */
#include <math.h>

#include "real/probe_internal.h"

#define BLOCKING_ROUNDS     21
#define BLOCKING_FEW        4 /* pairs */
#define BLOCKING_MANY       20
#define BLOCKING_GATE_S     300e-6 /* the calls of so many */
#define BLOCKING_PAIR_BYTES (256 * KVS_KIB)
#define BLOCKING_ROW        1088 /* a row of one side in q8_0, four heads of 256 */

/* Host time of one. */
static kvs_status blocking_time(struct kvs_probe *p, struct probe_gpu *g, kvs_dir dir,
                                uint64_t size_bytes, double *out_s)
{
    struct probe_samples samples = {0};
    for (int round = 0; round <= BLOCKING_ROUNDS; round++) {
        KVS_TRY(probe_check(p));
        KVS_TRY(probe_other_calls(p, g));
        double start_s = probe_now_s();
        KVS_TRY(probe_copy(p, g, dir, 0, 0, size_bytes, g->streams[0]));
        KVS_CUDA(cudaStreamSynchronize(g->streams[0]), g->gpu, size_bytes, p->err);
        if (round > 0)
            probe_add(&samples, probe_now_s() - start_s);
    }
    *out_s = probe_median(&samples);
    return KVS_OK;
}

/* A kernel and a copy in turn on one stream. */
static kvs_status blocking_pairs(const struct probe_job *job)
{
    struct probe_job one = *job;
    one.n = 1;
    for (uint32_t i = 0; i < job->n; i++) {
        KVS_TRY(probe_work_kernels(&one));
        KVS_TRY(probe_work_copies(&one));
    }
    return KVS_OK;
}

/* Of many in a row less few, so that neither the gate nor an event is in it. */
static kvs_status blocking_each(struct probe_job *job, probe_work work, double *out_s)
{
    static const uint32_t counts[] = {BLOCKING_FEW, BLOCKING_MANY};
    double took[KVS_COUNT_OF(counts)];
    for (size_t k = 0; k < KVS_COUNT_OF(counts); k++) {
        job->n = counts[k];
        KVS_TRY(probe_bracket(job, work, BLOCKING_GATE_S, &took[k]));
    }
    *out_s = fmax(0, took[1] - took[0]) / (BLOCKING_MANY - BLOCKING_FEW);
    return KVS_OK;
}

/* What a kernel and a copy take longer in turn than each by itself, half for each direction. */
static kvs_status blocking_handoff(struct kvs_probe *p, struct probe_gpu *g, double copy_s)
{
    struct probe_job job = {
        .p = p, .g = g, .stream = g->streams[0], .size_bytes = BLOCKING_PAIR_BYTES};
    struct probe_samples samples = {0};
    for (int round = 0; round <= BLOCKING_ROUNDS; round++) {
        double kernel_s, pair_s;
        KVS_TRY(blocking_each(&job, probe_work_kernels, &kernel_s));
        KVS_TRY(blocking_each(&job, blocking_pairs, &pair_s));
        if (round > 0)
            probe_add(&samples, fmax(0, pair_s - kernel_s - copy_s) / 2);
    }
    return probe_set(
        p, &g->device->engines.handoff,
        kvs_probe_figure(samples.x, samples.n,
                         "%d pairs of a kernel and a copy of 256 KiB on one stream "
                         "less %d, less both by themselves, halved; median of %zu",
                         BLOCKING_MANY, BLOCKING_FEW, samples.n));
}

/* Call, wait and overhead are known only in sum; the first two are measured apart, and the
 * overhead is what is left, so that the sum is right. */
kvs_status probe_blocking(struct kvs_probe *p, struct probe_gpu *g)
{
    const struct kvs_host *host = &p->machine->host;
    struct kvs_param *overhead = &g->device->engines.first_overhead;
    double sizes[KVS_ROW_CURVE_MAX], times[KVS_ROW_CURVE_MAX], row_s;
    double known_s = host->copy_call.value + host->sync.value;
    double rate_Bps =
        g->rate_Bps[KVS_H2D] > 0 ? g->rate_Bps[KVS_H2D] : g->link->rate[KVS_H2D].value;
    size_t n = 0;
    KVS_TRY(probe_sync(p, g));
    for (uint64_t size = PROBE_FROM_BYTES; size <= PROBE_TO_BYTES; size *= 4) {
        if (n > 0 && ((double)size > 0.1 * rate_Bps || size > p->pinned_bytes))
            break;
        KVS_TRY(blocking_time(p, g, KVS_H2D, size, &times[n]));
        sizes[n++] = (double)size;
    }
    KVS_TRY(
        probe_set(p, overhead, kvs_probe_first_overhead(sizes, times, n, rate_Bps, known_s)));
    KVS_TRY(blocking_handoff(p, g, overhead->value + BLOCKING_PAIR_BYTES / rate_Bps));
    KVS_TRY(blocking_time(p, g, KVS_D2H, BLOCKING_ROW, &row_s));
    probe_note(p, "%s: a blocking copy of %d B to the host takes %.1f us (model %.1f)",
               probe_name(g), BLOCKING_ROW, row_s * 1e6,
               (known_s + overhead->value + BLOCKING_ROW / rate_Bps) * 1e6);
    return KVS_OK;
}
