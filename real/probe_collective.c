/* All-reduces between all GPUs: idle, by size, and beside copies on every link. */
#include <math.h>
#include <string.h>

#include "real/nccl.h"
#include "real/probe_internal.h"

#define REDUCE_ROUNDS      11
#define REDUCE_FEW         10
#define REDUCE_MANY        20
#define REDUCE_GATE_S      2e-3
#define REDUCE_GUESS_BYTES 131072.0 /* under way on a link, which a read waits behind */
#define REDUCE_LEFT_S      12.0     /* making communicators takes seconds */
#define REDUCE_USUAL       1        /* of the sizes below: a hidden state */

/* One token's hidden state is some 20 KiB; the last two tell the rate. */
static const uint64_t reduce_sizes[] = {4 * KVS_KIB, 20 * KVS_KIB, 80 * KVS_KIB, KVS_MIB,
                                        8 * KVS_MIB};
#define REDUCE_N_SIZES KVS_COUNT_OF(reduce_sizes)

struct reduce {
    struct kvs_probe *p;
    struct kvs_nccl *nccl;
    void *buffers[KVS_PROBE_MAX_GPUS];
    cudaStream_t streams[KVS_PROBE_MAX_GPUS];
    double beside_s;      /* of copies for each all-reduce beside them; 0: idle */
    bool has_ended_early; /* copies were over before the all-reduces */
};

static kvs_status reduce_begin(struct reduce *r, unsigned n)
{
    struct kvs_probe *p = r->p;
    for (uint32_t i = 0; i < p->n_gpus; i++) {
        struct probe_gpu *g = &p->gpus[i];
        KVS_TRY(probe_use(p, g));
        if (r->beside_s > 0)
            KVS_TRY(probe_load(p, g, 2 * REDUCE_GATE_S + n * r->beside_s));
        KVS_TRY(probe_gate(p, g, r->streams[i], REDUCE_GATE_S));
        KVS_TRY(probe_record(p, g, PROBE_FREE_EVENT, r->streams[i]));
    }
    return KVS_OK;
}

/* All GPUs are looked at before any is waited for. */
static kvs_status reduce_end(struct reduce *r)
{
    struct kvs_probe *p = r->p;
    for (uint32_t i = 0; i < p->n_gpus; i++) {
        KVS_TRY(probe_use(p, &p->gpus[i]));
        KVS_TRY(probe_record(p, &p->gpus[i], PROBE_FREE_EVENT + 1, r->streams[i]));
    }
    KVS_CUDA(cudaEventSynchronize(p->gpus[0].events[PROBE_FREE_EVENT + 1]), 0, 0, p->err);
    for (uint32_t i = 0; i < p->n_gpus; i++)
        r->has_ended_early |= r->beside_s > 0 && probe_is_idle(p->gpus[i].load);
    for (uint32_t i = 0; i < p->n_gpus; i++) {
        KVS_TRY(probe_use(p, &p->gpus[i]));
        KVS_TRY(probe_sync(p, &p->gpus[i]));
    }
    return KVS_OK;
}

/* Device time on the first GPU of n all-reduces in a row, from gates that open together. */
static kvs_status reduce_chain(struct reduce *r, uint64_t size_bytes, unsigned n, double *out_s)
{
    struct kvs_probe *p = r->p;
    KVS_TRY(reduce_begin(r, n));
    for (unsigned k = 0; k < n; k++)
        KVS_TRY(kvs_nccl_all_reduce(r->nccl, r->buffers, size_bytes / sizeof(float), r->streams,
                                    p->err));
    KVS_TRY(reduce_end(r));
    KVS_TRY(probe_use(p, &p->gpus[0]));
    return probe_elapsed(p, &p->gpus[0], PROBE_FREE_EVENT, PROBE_FREE_EVENT + 1, out_s);
}

/* Of many less few, so that gates that open one after another do not count. */
static kvs_status reduce_time(struct reduce *r, uint64_t size_bytes, struct probe_samples *out)
{
    out->n = 0;
    for (int round = 0; round <= REDUCE_ROUNDS; round++) {
        double few_s, many_s;
        KVS_TRY(reduce_chain(r, size_bytes, REDUCE_FEW, &few_s));
        KVS_TRY(reduce_chain(r, size_bytes, REDUCE_MANY, &many_s));
        if (round > 0)
            probe_add(out, fmax(0, many_s - few_s) / (REDUCE_MANY - REDUCE_FEW));
    }
    return KVS_OK;
}

static kvs_status reduce_has_peers(struct kvs_probe *p, bool *out)
{
    *out = true;
    for (uint32_t i = 0; i < p->n_gpus; i++)
        for (uint32_t j = 0; j < p->n_gpus; j++) {
            int can = 1;
            if (i != j)
                KVS_CUDA(cudaDeviceCanAccessPeer(&can, p->gpus[i].gpu, p->gpus[j].gpu),
                         p->gpus[i].gpu, 0, p->err);
            *out &= can != 0;
        }
    return KVS_OK;
}

static kvs_status reduce_set(struct reduce *r, const struct probe_samples times[REDUCE_N_SIZES])
{
    struct kvs_probe *p = r->p;
    struct kvs_collective *c = &p->machine->collective;
    double at[REDUCE_N_SIZES];
    for (size_t i = 0; i < REDUCE_N_SIZES; i++)
        at[i] = probe_median(&times[i]);
    const size_t last = REDUCE_N_SIZES - 1, before = REDUCE_N_SIZES - 2;
    int version = kvs_nccl_version(r->nccl);
    probe_note(p,
               "NCCL %d.%d.%d, %u GPUs: all-reduces of 4, 20, 80 KiB, 1 and 8 MiB take %.1f, "
               "%.1f, %.1f, %.1f and %.1f us",
               version / 10000, version / 100 % 100, version % 100, p->n_gpus, at[0] * 1e6,
               at[1] * 1e6, at[2] * 1e6, at[3] * 1e6, at[4] * 1e6);
    KVS_TRY(probe_set(p, &c->latency,
                      kvs_probe_range(at[REDUCE_USUAL], at[0], at[2],
                                      "NCCL, %u GPUs: 20 KiB, %d in a row; the interval from 4 "
                                      "to 80 KiB",
                                      p->n_gpus, REDUCE_MANY)));
    if (!(at[last] > at[before]))
        return KVS_OK;
    double rate_Bps =
        (double)(reduce_sizes[last] - reduce_sizes[before]) / (at[last] - at[before]);
    return probe_set(p, &c->rate,
                     kvs_probe_range(rate_Bps, rate_Bps, rate_Bps,
                                     "NCCL: time of 8 MiB less that of 1 MiB"));
}

/* Reads of host memory that wait one after another behind the copies under way. */
static kvs_status reduce_set_trips(struct reduce *r, double idle_s, double beside_s)
{
    struct kvs_probe *p = r->p;
    struct kvs_collective *c = &p->machine->collective;
    double behind_s = 0;
    if (c->backend == KVS_BACKEND_NCCL_P2P)
        return probe_set(p, &c->trips,
                         kvs_probe_exact(0, 0, 0,
                                         "peer-to-peer: %.1f us idle, %.1f us beside copies",
                                         idle_s * 1e6, beside_s * 1e6));
    for (uint32_t i = 0; i < p->n_gpus; i++)
        behind_s = fmax(behind_s, p->gpus[i].device->engines.in_flight_bytes.value /
                                      p->gpus[i].rate_Bps[KVS_H2D]);
    if (r->has_ended_early || !(behind_s > 0)) {
        probe_note(p, "copies ended before the all-reduces beside them; trips keeps its value");
        return KVS_OK;
    }
    double trips = fmax(0, beside_s - idle_s) / behind_s;
    return probe_set(p, &c->trips,
                     kvs_probe_range(trips, trips, trips,
                                     "20 KiB: %.1f us idle, %.1f us beside copies on every "
                                     "link, over %.2f us behind the bytes in flight",
                                     idle_s * 1e6, beside_s * 1e6, behind_s * 1e6));
}

static kvs_status reduce_measure(struct reduce *r)
{
    struct probe_samples times[REDUCE_N_SIZES], beside;
    for (size_t i = 0; i < REDUCE_N_SIZES; i++)
        KVS_TRY(reduce_time(r, reduce_sizes[i], &times[i]));
    KVS_TRY(reduce_set(r, times));
    double idle_s = probe_median(&times[REDUCE_USUAL]), slowest_Bps = HUGE_VAL;
    for (uint32_t i = 0; i < r->p->n_gpus; i++)
        slowest_Bps = fmin(slowest_Bps, r->p->gpus[i].rate_Bps[KVS_H2D]);
    r->beside_s = 4 * (idle_s + REDUCE_GUESS_BYTES / slowest_Bps);
    KVS_TRY(reduce_time(r, reduce_sizes[REDUCE_USUAL], &beside));
    return reduce_set_trips(r, idle_s, probe_median(&beside));
}

kvs_status probe_all_reduce(struct kvs_probe *p, struct probe_gpu *g)
{
    struct reduce r = {.p = p};
    int gpus[KVS_PROBE_MAX_GPUS];
    bool has_peers;
    struct kvs_error why = {0};
    (void)g;
    KVS_TRY(reduce_has_peers(p, &has_peers));
    p->machine->collective.backend = has_peers ? KVS_BACKEND_NCCL_P2P : KVS_BACKEND_NCCL_HOST;
    KVS_TRY(probe_mark(p, &p->machine->collective.backend));
    probe_note(p, "the GPUs %s each other's memory",
               has_peers ? "can read" : "cannot read all of");
    if (p->end_s - probe_now_s() < REDUCE_LEFT_S) {
        probe_note(p,
                   "too little time was left for NCCL; --only collectives measures it alone");
        return KVS_OK;
    }
    for (uint32_t i = 0; i < p->n_gpus; i++) {
        gpus[i] = p->gpus[i].gpu;
        r.buffers[i] = p->gpus[i].memory;
        r.streams[i] = p->gpus[i].streams[0];
    }
    if (kvs_nccl_open(gpus, p->n_gpus, &r.nccl, &why) != KVS_OK) {
        probe_warn(p,
                   "no all-reduces were measured (%s), so their figures are guesses; put "
                   "libnccl.so.2 where the loader finds it",
                   why.text);
        return KVS_OK;
    }
    kvs_status status = reduce_measure(&r);
    kvs_nccl_close(r.nccl);
    return status;
}
