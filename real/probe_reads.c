/* Kernels that read mapped host memory, idle and while the copy engine has requests under way. */
#include <math.h>

#include "models/copy.h"
#include "real/kernels.h"
#include "real/probe_internal.h"
#include "real/probe_kernels.h"

#define READS_ROUNDS        21
#define READS_BESIDE_ROUNDS 11
#define READS_ROW           10
#define READS_FEW_TRIPS     65536
#define READS_FEW           200
#define READS_MANY          1200
#define READS_BESIDE_S      4e-3   /* of dependent reads beside copies: fewer on slow links */
#define READS_GUESS_S       1.5e-6 /* of an idle read, and what it waits behind: for amounts */
#define READS_GUESS_BYTES   131072.0

static kvs_status reads_chase(const struct probe_job *job)
{
    KVS_CUDA(kvs_probe_chase(job->stream, (const uint32_t *)(const void *)job->p->mapped,
                             job->n, job->g->sink),
             job->g->gpu, 0, job->p->err);
    return KVS_OK;
}

/* Time of one dependent read: of many less few, so that the launch is not in it. */
static kvs_status reads_one(struct probe_job *job, uint32_t few, uint32_t many, bool is_beside,
                            double *out_s)
{
    const uint32_t counts[] = {few, many};
    double times[KVS_COUNT_OF(counts)];
    double each_s = READS_GUESS_S + READS_GUESS_BYTES / job->g->rate_Bps[KVS_H2D];
    for (size_t i = 0; i < KVS_COUNT_OF(counts); i++) {
        job->n = counts[i];
        if (is_beside)
            KVS_TRY(probe_bracket_beside(job, reads_chase, PROBE_GATE_S,
                                         2 * counts[i] * each_s + 1e-3, &times[i]));
        else
            KVS_TRY(probe_bracket(job, reads_chase, PROBE_GATE_S, &times[i]));
    }
    *out_s = fmax(0, times[1] - times[0]) / (many - few);
    return KVS_OK;
}

kvs_status probe_read_latency(struct kvs_probe *p, struct probe_gpu *g)
{
    struct probe_job job = {.p = p, .g = g, .stream = g->streams[1]};
    struct probe_samples idle = {0}, beside = {0}, behind = {0};
    double rate_Bps = g->rate_Bps[KVS_H2D], time_s;
    uint32_t many = (uint32_t)(READS_BESIDE_S / (READS_GUESS_S + READS_GUESS_BYTES / rate_Bps));
    many = many < 60 ? 60 : many > READS_MANY ? READS_MANY : many;
    for (int round = 0; round <= READS_ROUNDS; round++) {
        KVS_TRY(reads_one(&job, READS_FEW, READS_MANY, false, &time_s));
        if (round > 0)
            probe_add(&idle, time_s);
    }
    struct kvs_param latency = kvs_probe_figure(
        idle.x, idle.n, "%d dependent 4-byte reads less %d, by one thread, median of %zu",
        READS_MANY, READS_FEW, idle.n);
    for (int round = 0; round < READS_ROUNDS; round++) {
        KVS_TRY(reads_one(&job, many / 6, many, true, &time_s));
        probe_add(&beside, time_s);
        probe_add(&behind, fmax(0, time_s - latency.value) * rate_Bps);
    }
    KVS_TRY(probe_set(p, &g->device->read_latency, latency));
    return probe_set(p, &g->device->engines.in_flight_bytes,
                     kvs_probe_figure(behind.x, behind.n,
                                      "a dependent read takes %.2f us beside copies, %.2f us "
                                      "idle; the difference x %.1f GB/s, median of %zu",
                                      probe_median(&beside) * 1e6, latency.value * 1e6,
                                      rate_Bps * 1e-9, behind.n));
}

/* The executor's own kernel for late bytes, so many in a row. */
static kvs_status reads_block(const struct probe_job *job)
{
    struct kvs_gpu_move_list list = {.n = 1};
    list.items[0] = (struct kvs_gpu_move){.from = job->p->mapped + PROBE_CHAIN_BYTES,
                                          .to = job->g->memory,
                                          .from_pitch = job->size_bytes,
                                          .to_pitch = job->size_bytes,
                                          .width = job->size_bytes,
                                          .rows = 1};
    const struct kvs_gpu_read real_link = {0};
    for (uint32_t i = 0; i < job->n; i++)
        KVS_CUDA(kvs_gpu_copy(job->stream, &list, real_link), job->g->gpu, job->size_bytes,
                 job->p->err);
    return KVS_OK;
}

static const double reads_sizes[] = {4096, 16384, 65536, 262144, 1048576};
#define READS_N_SIZES KVS_COUNT_OF(reads_sizes)

/* A round over all sizes: of many in a row less few, so that no event is in it. */
static kvs_status reads_times(struct probe_job *job, bool is_beside,
                              double times[READS_N_SIZES])
{
    static const uint32_t counts[] = {2, READS_ROW};
    for (size_t i = 0; i < READS_N_SIZES; i++) {
        double took[KVS_COUNT_OF(counts)];
        job->size_bytes = (uint64_t)reads_sizes[i];
        for (size_t k = 0; k < KVS_COUNT_OF(counts); k++) {
            job->n = counts[k];
            double load_s = 1e-3 + 8 * job->n * reads_sizes[i] / job->g->rate_Bps[KVS_H2D];
            if (is_beside)
                KVS_TRY(probe_bracket_beside(job, reads_block, PROBE_GATE_S, load_s, &took[k]));
            else
                KVS_TRY(probe_bracket(job, reads_block, PROBE_GATE_S, &took[k]));
        }
        times[i] = fmax(0, took[1] - took[0]) / (counts[1] - counts[0]);
    }
    return KVS_OK;
}

/* What was seen, and what the model makes of the figures. */
static void reads_compare(struct kvs_probe *p, struct probe_gpu *g, bool is_beside,
                          const struct probe_samples *times)
{
    double rate_Bps = g->rate_Bps[KVS_H2D];
    struct kvs_text line = {0};
    for (size_t i = 0; i < READS_N_SIZES; i++)
        kvs_text_printf(&line, "%s %.0f KiB %.1f us (model %.1f)", i > 0 ? "," : "",
                        reads_sizes[i] / 1024, probe_median(&times[i]) * 1e6,
                        kvs_kernel_read_s(g->device, (uint64_t)reads_sizes[i], rate_Bps,
                                          is_beside ? rate_Bps : 0) *
                            1e6);
    probe_note(p, "%s: a kernel reads host memory, %s:%s", probe_name(g),
               is_beside ? "beside copies" : "idle", line.data != NULL ? line.data : "");
    kvs_text_fini(&line);
}

static kvs_status reads_rounds(struct probe_job *job, bool is_beside, size_t n,
                               struct probe_samples times[READS_N_SIZES],
                               struct probe_samples *setups, struct probe_samples *outstanding)
{
    struct probe_gpu *g = job->g;
    double here[READS_N_SIZES];
    KVS_TRY(reads_times(job, is_beside, here)); /* warm-up */
    for (size_t round = 0; round < n; round++) {
        struct kvs_probe_read read;
        KVS_TRY(reads_times(job, is_beside, here));
        for (size_t i = 0; i < READS_N_SIZES; i++)
            probe_add(&times[i], here[i]);
        if (is_beside)
            continue;
        KVS_TRY(kvs_probe_read_fit(reads_sizes, here, READS_N_SIZES,
                                   g->device->read_latency.value, g->rate_Bps[KVS_H2D], &read,
                                   job->p->err));
        probe_add(setups, read.setup_s);
        if (!read.is_link_bound)
            probe_add(outstanding, read.outstanding_bytes);
    }
    return KVS_OK;
}

/* Beside copies: how often such a kernel waits behind the bytes in flight, besides what its bytes
 * make of longer trips. From sizes that need few trips for these. */
static kvs_status reads_set_trips(struct kvs_probe *p, struct probe_gpu *g,
                                  const struct probe_samples beside[READS_N_SIZES])
{
    double rate_Bps = g->rate_Bps[KVS_H2D];
    double delay_s = g->device->engines.in_flight_bytes.value / rate_Bps;
    struct probe_samples trips = {0};
    g->device->read_trips.value = 1;
    for (size_t i = 0; i < READS_N_SIZES && reads_sizes[i] <= READS_FEW_TRIPS; i++)
        for (size_t k = 0; k < beside[i].n && delay_s > 0; k++) {
            double model_s =
                kvs_kernel_read_s(g->device, (uint64_t)reads_sizes[i], rate_Bps, rate_Bps);
            probe_add(&trips, fmax(1, 1 + (beside[i].x[k] - model_s) / delay_s));
        }
    return probe_set(p, &g->device->read_trips,
                     kvs_probe_figure(trips.x, trips.n,
                                      "reads of 4 to 64 KiB beside copies: what they take too "
                                      "long, over %.2f us; median of %zu",
                                      delay_s * 1e6, trips.n));
}

kvs_status probe_reads(struct kvs_probe *p, struct probe_gpu *g)
{
    struct probe_job job = {.p = p, .g = g, .stream = g->streams[1]};
    struct probe_samples idle[READS_N_SIZES] = {{.n = 0}}, beside[READS_N_SIZES] = {{.n = 0}};
    struct probe_samples setups = {0}, outstanding = {0};
    KVS_TRY(reads_rounds(&job, false, READS_ROUNDS, idle, &setups, &outstanding));
    KVS_TRY(reads_rounds(&job, true, READS_BESIDE_ROUNDS, beside, NULL, NULL));
    KVS_TRY(probe_set(p, &g->device->read_setup,
                      kvs_probe_figure(setups.x, setups.n,
                                       "reads of 4 KiB to 1 MiB by the copy kernel: time at 0 "
                                       "bytes less one read, median of %zu",
                                       setups.n)));
    if (2 * outstanding.n > setups.n)
        KVS_TRY(
            probe_set(p, &g->device->read_outstanding_bytes,
                      kvs_probe_figure(outstanding.x, outstanding.n,
                                       "the same: rate x %.2f us of one read, median of %zu",
                                       g->device->read_latency.value * 1e6, outstanding.n)));
    else
        probe_note(p,
                   "%s: the link limits kernel reads, so read_outstanding_bytes keeps its "
                   "value",
                   probe_name(g));
    KVS_TRY(reads_set_trips(p, g, beside));
    reads_compare(p, g, false, idle);
    reads_compare(p, g, true, beside);
    return KVS_OK;
}
