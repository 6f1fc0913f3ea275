/* GSL's fits, quantiles and root finder, with checked inputs and our own status codes. */
#include "base/stats.h"

#include <float.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_fit.h>
#include <gsl/gsl_roots.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdbool.h>

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
