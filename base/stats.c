/* GSL's fits, root finder and figures of samples, with checked inputs and our own status codes. */
#include "base/stats.h"

#include <float.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_fit.h>
#include <gsl/gsl_roots.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/gsl_quiet.h"
#include "base/mem.h"

static kvs_status stats_check_points(const double *x, const double *y, size_t n,
                                     struct kvs_error *err)
{
    bool has_spread = false;
    if (n < 2)
        return kvs_error_set(err, KVS_EINVAL, "a line needs at least 2 points, got %zu", n);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i]))
            return kvs_error_set(err, KVS_EINVAL, "point %zu is not finite: (%g, %g)", i, x[i],
                                 y[i]);
        has_spread = has_spread || x[i] < x[0] || x[i] > x[0];
    }
    if (!has_spread)
        return kvs_error_set(err, KVS_EINVAL, "a line needs two different x, all are %g", x[0]);
    return KVS_OK;
}

kvs_status kvs_fit_line(const double *x, const double *y, size_t n, struct kvs_line_fit *out,
                        struct kvs_error *err)
{
    KVS_TRY(stats_check_points(x, y, n, err));
    kvs_gsl_quiet();
    struct kvs_line_fit fit = {0};
    double cov00;
    double cov01;
    double cov11;
    double sum_squares;
    gsl_fit_linear(x, 1, y, 1, n, &fit.intercept, &fit.slope, &cov00, &cov01, &cov11,
                   &sum_squares);
    if (!isfinite(fit.intercept) || !isfinite(fit.slope))
        return kvs_error_set(err, KVS_ENUMERIC, "the fit of %zu points overflows", n);
    if (n > 2) {
        fit.intercept_se = sqrt(cov00);
        fit.slope_se = sqrt(cov11);
    }
    for (size_t i = 0; i < n; i++)
        fit.max_residual =
            fmax(fit.max_residual, fabs(y[i] - fit.intercept - fit.slope * x[i]));
    *out = fit;
    return KVS_OK;
}

double kvs_mean(const double *x, size_t n)
{
    return gsl_stats_mean(x, 1, n);
}

double kvs_quantile(double *x, size_t n, double frac)
{
    KVS_ASSERT(n >= 1 && frac >= 0 && frac <= 1);
    gsl_sort(x, 1, n);
    return gsl_stats_quantile_from_sorted_data(x, 1, n, frac);
}

double kvs_stddev(const double *x, size_t n)
{
    return n > 1 ? gsl_stats_sd(x, 1, n) : 0.0;
}

double kvs_mad(const double *x, size_t n, double *scratch)
{
    KVS_ASSERT(n >= 1);
    return gsl_stats_mad0(x, 1, n, scratch);
}

/* Median of n draws from sorted[n], of which the i-th came counts[i] times. */
static double stats_median_of_draws(const double *sorted, const uint32_t *counts, size_t n)
{
    size_t low = (n - 1) / 2, high = n / 2, seen = 0, i = 0;
    while (seen + counts[i] <= low)
        seen += counts[i++];
    double at_low = sorted[i];
    while (seen + counts[i] <= high)
        seen += counts[i++];
    return at_low + (sorted[i] - at_low) / 2;
}

kvs_status kvs_bootstrap_median(const double *x, size_t n, size_t n_resamples, double frac,
                                struct kvs_rng *rng, struct kvs_interval *out,
                                struct kvs_error *err)
{
    void *doubles, *counts;
    KVS_ASSERT(n >= 1 && n_resamples >= 1);
    KVS_TRY(kvs_mem_alloc(n + n_resamples, sizeof(double), &doubles, err));
    kvs_status status = kvs_mem_alloc(n, sizeof(uint32_t), &counts, err);
    if (status == KVS_OK) {
        double *sorted = doubles, *medians = sorted + n;
        memcpy(sorted, x, n * sizeof *x);
        gsl_sort(sorted, 1, n);
        for (size_t r = 0; r < n_resamples; r++) {
            memset(counts, 0, n * sizeof(uint32_t));
            for (size_t i = 0; i < n; i++)
                ((uint32_t *)counts)[kvs_rng_below(rng, n)]++;
            medians[r] = stats_median_of_draws(sorted, counts, n);
        }
        out->lo = kvs_quantile(medians, n_resamples, (1 - frac) / 2);
        out->hi = kvs_quantile(medians, n_resamples, (1 + frac) / 2);
        kvs_mem_free(counts);
    }
    kvs_mem_free(doubles);
    return status;
}

static kvs_status stats_iterate(gsl_root_fsolver *solver, double tolerance, double *out,
                                struct kvs_error *err)
{
    const int max_steps = 200;
    for (int i = 0; i < max_steps; i++) {
        int code = gsl_root_fsolver_iterate(solver);
        if (code != GSL_SUCCESS)
            return kvs_error_set(err, KVS_ENUMERIC, "root search failed: %s",
                                 gsl_strerror(code));
        code = gsl_root_test_interval(gsl_root_fsolver_x_lower(solver),
                                      gsl_root_fsolver_x_upper(solver), tolerance,
                                      4 * DBL_EPSILON);
        if (code == GSL_SUCCESS) {
            *out = gsl_root_fsolver_root(solver);
            return KVS_OK;
        }
    }
    return kvs_error_set(err, KVS_ENUMERIC, "root search did not settle in %d steps",
                         max_steps);
}

kvs_status kvs_find_root(double (*f)(double x, void *context), void *context, double lo,
                         double hi, double tolerance, double *out, struct kvs_error *err)
{
    kvs_gsl_quiet();
    double at_lo = f(lo, context);
    double at_hi = f(hi, context);
    if (!(lo <= hi) || !(at_lo <= 0 || at_lo >= 0) || !(at_hi <= 0 || at_hi >= 0))
        return kvs_error_set(err, KVS_ENUMERIC, "cannot search for a root in [%g, %g]", lo, hi);
    if ((at_lo < 0 && at_hi < 0) || (at_lo > 0 && at_hi > 0))
        return kvs_error_set(err, KVS_ENUMERIC,
                             "no change of sign in [%g, %g]: f is %g and %g there", lo, hi,
                             at_lo, at_hi);
    void *state = NULL;
    KVS_TRY(kvs_mem_alloc(1, gsl_root_fsolver_brent->size, &state, err));
    gsl_root_fsolver solver = {.type = gsl_root_fsolver_brent, .state = state};
    gsl_function function = {.function = f, .params = context};
    kvs_status status = KVS_OK;
    int code = gsl_root_fsolver_set(&solver, &function, lo, hi);
    if (code != GSL_SUCCESS)
        status = kvs_error_set(err, KVS_ENUMERIC, "root search failed: %s", gsl_strerror(code));
    else
        status = stats_iterate(&solver, tolerance, out, err);
    kvs_mem_free(state);
    return status;
}
