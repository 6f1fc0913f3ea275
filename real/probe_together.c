/* Several GPUs copying at once: links above them that they share, and host memory. */
#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "real/probe_internal.h"

#define TOGETHER_S      25e-3 /* how long each GPU's copies take when nobody disturbs them */
#define TOGETHER_ROUNDS 3
#define TOGETHER_FREE   0.95 /* of the sum of the rates alone: nothing is shared */

static uint64_t together_slice(const struct kvs_probe *p)
{
    uint64_t slice = p->pinned_bytes / p->n_gpus;
    return slice - slice % KVS_MIB;
}

/* Copies of one GPU between events, from a part of the pinned buffer that is its own, so that
 * caches of the host do not help. */
static kvs_status together_issue(struct kvs_probe *p, struct probe_gpu *g, uint32_t i,
                                 kvs_dir dir, uint64_t amount)
{
    uint64_t slice = together_slice(p), left = amount;
    KVS_TRY(probe_use(p, g));
    KVS_TRY(probe_record(p, g, PROBE_FREE_EVENT, g->streams[0]));
    while (left > 0) {
        uint64_t part = left < slice ? left : slice;
        KVS_TRY(probe_copy(p, g, dir, i * slice, i * slice, part, g->streams[0]));
        left -= part;
    }
    return probe_record(p, g, PROBE_FREE_EVENT + 1, g->streams[0]);
}

static bool together_has(uint64_t gpus, uint32_t i)
{
    return (gpus >> i & 1) != 0;
}

/* All bytes over the time of the last GPU; amounts are such that all would end at once. */
static kvs_status together_once(struct kvs_probe *p, uint64_t gpus, kvs_dir dir,
                                double *out_Bps)
{
    double bytes = 0, longest_s = 0;
    for (uint32_t i = 0; i < p->n_gpus; i++) {
        if (!together_has(gpus, i))
            continue;
        uint64_t amount = (uint64_t)(p->gpus[i].rate_Bps[dir] * TOGETHER_S) / KVS_KIB * KVS_KIB;
        bytes += (double)amount;
        KVS_TRY(together_issue(p, &p->gpus[i], i, dir, amount));
    }
    for (uint32_t i = 0; i < p->n_gpus; i++) {
        double time_s;
        if (!together_has(gpus, i))
            continue;
        KVS_TRY(probe_use(p, &p->gpus[i]));
        KVS_TRY(probe_sync(p, &p->gpus[i]));
        KVS_TRY(probe_elapsed(p, &p->gpus[i], PROBE_FREE_EVENT, PROBE_FREE_EVENT + 1, &time_s));
        longest_s = fmax(longest_s, time_s);
    }
    *out_Bps = bytes / longest_s;
    return KVS_OK;
}

static kvs_status together_rate(struct kvs_probe *p, uint64_t gpus, kvs_dir dir,
                                struct probe_samples *out)
{
    out->n = 0;
    for (int round = 0; round <= TOGETHER_ROUNDS; round++) {
        double rate_Bps;
        KVS_TRY(together_once(p, gpus, dir, &rate_Bps));
        if (round > 0)
            probe_add(out, rate_Bps);
    }
    return KVS_OK;
}

static kvs_status together_pairs(struct kvs_probe *p, double *pair_Bps)
{
    struct probe_samples samples;
    for (uint32_t i = 0; i < p->n_gpus; i++)
        for (uint32_t j = i + 1; j < p->n_gpus; j++) {
            KVS_TRY(together_rate(p, 1ull << i | 1ull << j, KVS_H2D, &samples));
            pair_Bps[i * p->n_gpus + j] = pair_Bps[j * p->n_gpus + i] = probe_median(&samples);
        }
    return KVS_OK;
}

/* A group of several is a link. *sum_Bps grows by what its members can have together. */
static kvs_status together_group(struct kvs_probe *p, uint64_t gpus, double *sum_Bps)
{
    struct kvs_probe_group group = {.devices = gpus};
    char names[160] = "";
    double alone_Bps = 0;
    unsigned n = 0;
    for (uint32_t i = 0; i < p->n_gpus; i++) {
        size_t at = strlen(names);
        if (!together_has(gpus, i))
            continue;
        (void)snprintf(names + at, sizeof names - at, "%s%.31s", n++ > 0 ? " " : "",
                       probe_name(&p->gpus[i]));
        alone_Bps = p->gpus[i].rate_Bps[KVS_H2D];
    }
    for (int dir = 0; dir < KVS_N_DIRS && n > 1; dir++) {
        struct probe_samples samples;
        KVS_TRY(together_rate(p, gpus, (kvs_dir)dir, &samples));
        group.rate[dir] =
            kvs_probe_figure(samples.x, samples.n, "%u GPUs at once: %.120s", n, names);
    }
    *sum_Bps += n > 1 ? group.rate[KVS_H2D].value : alone_Bps;
    return n > 1 ? KVS_ARRAY_PUSH(&p->report->groups, group, p->err) : KVS_OK;
}

static kvs_status together_find(struct kvs_probe *p, double all_Bps, double *out_sum_Bps)
{
    double pair_Bps[KVS_PROBE_MAX_GPUS * KVS_PROBE_MAX_GPUS] = {0};
    double alone_Bps[KVS_PROBE_MAX_GPUS];
    uint32_t group[KVS_PROBE_MAX_GPUS];
    *out_sum_Bps = 0;
    for (uint32_t i = 0; i < p->n_gpus; i++) {
        alone_Bps[i] = p->gpus[i].rate_Bps[KVS_H2D];
        *out_sum_Bps += alone_Bps[i];
    }
    if (all_Bps >= TOGETHER_FREE * *out_sum_Bps)
        return KVS_OK;
    KVS_TRY(together_pairs(p, pair_Bps));
    uint32_t n_groups = kvs_probe_groups(alone_Bps, pair_Bps, p->n_gpus, group);
    *out_sum_Bps = 0;
    for (uint32_t k = 0; k < n_groups; k++) {
        uint64_t gpus = 0;
        for (uint32_t i = 0; i < p->n_gpus; i++)
            gpus |= group[i] == k ? 1ull << i : 0;
        KVS_TRY(together_group(p, gpus, out_sum_Bps));
    }
    return KVS_OK;
}

kvs_status probe_together(struct kvs_probe *p, struct probe_gpu *g)
{
    uint64_t all = p->n_gpus < 64 ? (1ull << p->n_gpus) - 1 : UINT64_MAX;
    struct kvs_param *limit = &p->machine->host.memory_rate;
    struct probe_samples samples;
    double sum_Bps;
    (void)g;
    KVS_TRY(together_rate(p, all, KVS_H2D, &samples));
    double all_Bps = probe_median(&samples);
    KVS_TRY(together_find(p, all_Bps, &sum_Bps));
    probe_note(p, "copies to all %u GPUs at once: %.1f GB/s", p->n_gpus, all_Bps * 1e-9);
    if (all_Bps >= TOGETHER_FREE * sum_Bps)
        return probe_set(
            p, limit,
            kvs_probe_exact(0, 0, 0, "%u GPUs at once are as fast as their links", p->n_gpus));
    return probe_set(p, limit,
                     kvs_probe_figure(samples.x, samples.n,
                                      "%u GPUs at once, %.4g GB/s by their links", p->n_gpus,
                                      sum_Bps * 1e-9));
}
