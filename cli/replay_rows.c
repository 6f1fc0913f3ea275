/* Samples become rates, medians and intervals; digests are held against each other. */
#include "cli/replay_rows.h"

#include <inttypes.h>
#include <stdio.h>

static double rows_ts(const struct kvs_row *row, double ms)
{
    return 1e3 / ms * (double)row->n_parallel;
}

/* Times per token, and the same samples as the formats write them. */
static kvs_status rows_samples(const struct kvs_replay_result *result, struct kvs_arena *arena,
                               double *out_ms, struct kvs_row *row, struct kvs_error *err)
{
    size_t n = result->n_samples;
    void *ts, *ns;
    KVS_TRY(kvs_arena_alloc(arena, n, sizeof(double), &ts, err));
    KVS_TRY(kvs_arena_alloc(arena, n, sizeof(uint64_t), &ns, err));
    for (size_t i = 0; i < n; i++) {
        out_ms[i] = kvs_ms_from_ps(result->samples_ps[i]) / (double)row->n_gen;
        ((double *)ts)[i] = rows_ts(row, out_ms[i]);
        ((uint64_t *)ns)[i] =
            (uint64_t)((result->samples_ps[i] + KVS_PS_PER_NS / 2) / KVS_PS_PER_NS);
    }
    row->samples = (struct kvs_row_samples){ts, ns, n};
    return KVS_OK;
}

static kvs_status rows_figures(const double *ms, struct kvs_row *row, struct kvs_error *err)
{
    size_t n = row->samples.n;
    struct kvs_summary summary;
    KVS_TRY(kvs_summarise(ms, n, row->seed, &summary, err));
    row->measured_ts = row->median_ts = rows_ts(row, summary.median);
    row->ci_lo_ts = rows_ts(row, summary.interval.hi);
    row->ci_hi_ts = rows_ts(row, summary.interval.lo);
    row->avg_ts = kvs_mean(row->samples.ts, n);
    if (n > 1)
        row->stddev_ts = kvs_stddev(row->samples.ts, n);
    row->min_ms = summary.min;
    row->mad_ms = summary.mad;
    row->n_outliers = summary.n_outliers;
    row->err_pct = (row->predicted_ts / row->measured_ts - 1.0) * 100.0;
    return KVS_OK;
}

kvs_status kvs_replay_fill_row(const struct kvs_replay_result *result, struct kvs_arena *arena,
                               double *out_ms, struct kvs_row *row, struct kvs_error *err)
{
    if (result->has_digest && result->status == KVS_OK)
        (void)snprintf(row->digest, sizeof row->digest, "%016" PRIx64, result->digest);
    if (result->n_samples == 0)
        return KVS_OK;
    row->time_scale = result->time_scale;
    KVS_TRY(rows_samples(result, arena, out_ms, row, err));
    return rows_figures(out_ms, row, err);
}

kvs_status kvs_replay_fill_difference(const double *ms, const double *first_ms,
                                      struct kvs_row *row, struct kvs_error *err)
{
    struct kvs_difference difference;
    if (row->samples.n == 0)
        return KVS_OK;
    KVS_TRY(kvs_compare_pairs(ms, first_ms, row->samples.n, row->seed, &difference, err));
    row->diff_ms = difference.median;
    row->diff_lo_ms = difference.interval.lo;
    row->diff_hi_ms = difference.interval.hi;
    return KVS_OK;
}

void kvs_replay_warn_outliers(const struct kvs_row *row, const struct kvs_console *console)
{
    if (row->n_outliers > 0)
        kvs_console_warn(
            console,
            "%s at depth %" PRIu64 ": %" PRIu64
            " of %zu runs far from the median of %.3f ms a token; every run counts "
            "in the figures; see that nothing else is running, or raise --warmup "
            "and -r",
            row->arm_name, row->n_depth, row->n_outliers, row->samples.n,
            1e3 / row->median_ts * (double)row->n_parallel);
}

bool kvs_replay_tell_digests(const struct kvs_replay_result *results,
                             const struct kvs_row *rows, const size_t *at, size_t n)
{
    const struct kvs_replay_result *first = NULL;
    const char *first_name = "";
    if (kvs_replay_is_exact(results, n))
        return false;
    for (size_t k = 0; k < n; k++) {
        const struct kvs_replay_result *result = &results[k];
        const struct kvs_row *row = &rows[at[k]];
        if (!result->has_digest)
            continue;
        if (first == NULL) {
            first = result;
            first_name = row->arm_name;
        }
        if (!result->is_steady)
            fprintf(stderr, "digests differ: %s at depth %" PRIu64 ": from run to run\n",
                    row->arm_name, row->n_depth);
        else if (result->digest != first->digest)
            fprintf(stderr,
                    "digests differ: %s at depth %" PRIu64 ": %016" PRIx64
                    ", but %s %016" PRIx64 "\n",
                    row->arm_name, row->n_depth, result->digest, first_name, first->digest);
    }
    return true;
}
