/* What a few samples say, and what they do not. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "study/replay.h"

static kvs_status stats_interval(const double *x, size_t n, uint64_t seed,
                                 struct kvs_interval *out, struct kvs_error *err)
{
    struct kvs_rng *rng;
    *out = (struct kvs_interval){(double)NAN, (double)NAN};
    if (n < 2)
        return KVS_OK;
    KVS_TRY(kvs_rng_create(seed, &rng, err));
    kvs_status status =
        kvs_bootstrap_median(x, n, KVS_REPLAY_RESAMPLES, KVS_REPLAY_INTERVAL, rng, out, err);
    kvs_rng_destroy(rng);
    return status;
}

bool kvs_summary_is_outlier(const struct kvs_summary *summary, double x)
{
    double away = fabs(x - summary->median);
    return away > KVS_REPLAY_OUTLIER * summary->mad &&
           away > KVS_REPLAY_OUTLIER_LEAST_FRAC * summary->median;
}

kvs_status kvs_summarise(const double *x, size_t n, uint64_t seed, struct kvs_summary *out,
                         struct kvs_error *err)
{
    void *memory;
    *out = (struct kvs_summary){.mean = kvs_mean(x, n), .stddev = kvs_stddev(x, n)};
    KVS_TRY(kvs_mem_alloc(n, sizeof(double), &memory, err));
    double *scratch = memory;
    memcpy(scratch, x, n * sizeof *x);
    out->median = kvs_quantile(scratch, n, 0.5);
    out->min = scratch[0];
    out->mad = kvs_mad(x, n, scratch);
    kvs_mem_free(memory);
    for (size_t i = 0; i < n; i++)
        out->n_outliers += kvs_summary_is_outlier(out, x[i]);
    return stats_interval(x, n, seed, &out->interval, err);
}

kvs_status kvs_compare_pairs(const double *x, const double *base, size_t n, uint64_t seed,
                             struct kvs_difference *out, struct kvs_error *err)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(n, sizeof(double), &memory, err));
    double *pairs = memory;
    for (size_t i = 0; i < n; i++)
        pairs[i] = x[i] - base[i];
    kvs_status status = stats_interval(pairs, n, seed, &out->interval, err);
    out->median = kvs_quantile(pairs, n, 0.5);
    out->is_none = out->interval.lo <= 0.0 && out->interval.hi >= 0.0;
    kvs_mem_free(memory);
    return status;
}
