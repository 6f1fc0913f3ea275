/* Statistics and fits: GSL behind our names. GSL's aborting handler is turned off here. */
#ifndef KVS_BASE_STATS_H
#define KVS_BASE_STATS_H

#include <stddef.h>

#include "base/rng.h"
#include "base/status.h"

/* y = intercept + slope x, least squares. */
struct kvs_line_fit {
    double intercept;
    double slope;
    double intercept_se; /* standard errors; 0 when n = 2 */
    double slope_se;
    double max_residual; /* largest |y - fit| */
};

/* x, y: [n], n >= 2 with at least two different x. KVS_EINVAL otherwise. */
kvs_status kvs_fit_line(const double *x, const double *y, size_t n, struct kvs_line_fit *out,
                        struct kvs_error *err) KVS_MUST_USE;

double kvs_mean(const double *x, size_t n);
/* Sorts x in place. frac in 0..1, linear between order statistics (GSL's rule). n >= 1. */
double kvs_quantile(double *x, size_t n, double frac);

/* Of a sample: n - 1 in the denominator; 0 when n = 1. */
double kvs_stddev(const double *x, size_t n);
/* Median of |x - median|, not scaled to a standard deviation. scratch: [n]. n >= 1. */
double kvs_mad(const double *x, size_t n, double *scratch);

/* An interval; lo <= hi. */
struct kvs_interval {
    double lo;
    double hi;
};

/*
 * Percentile bootstrap of the median: the middle `frac` (0.95) of the medians of n_resamples
 * samples drawn from x with replacement. Equal seeds give equal intervals. n and n_resamples at
 * least 1. Source: Efron, "Bootstrap methods: another look at the jackknife", 1979.
 */
kvs_status kvs_bootstrap_median(const double *x, size_t n, size_t n_resamples, double frac,
                                struct kvs_rng *rng, struct kvs_interval *out,
                                struct kvs_error *err) KVS_MUST_USE;

/* The x in [lo, hi] where f changes sign (Brent). KVS_ENUMERIC when f(lo) f(hi) > 0. */
kvs_status kvs_find_root(double (*f)(double x, void *context), void *context, double lo,
                         double hi, double tolerance, double *out,
                         struct kvs_error *err) KVS_MUST_USE;

#endif
