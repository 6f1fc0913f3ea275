/* Fits against certified results, quantiles and roots by hand. */
#include <math.h>
#include <stdbool.h>

#include "base/mem.h"
#include "base/stats.h"
#include "tests/base/base_test.h"

/* NIST StRD, data set Norris (linear regression), with its certified values. */
static const double norris_y[] = {0.1,   338.8, 118.1, 888.0, 9.2,   228.1, 668.5, 998.5, 449.1,
                                  778.9, 559.2, 0.3,   0.1,   778.1, 668.8, 339.3, 448.9, 10.8,
                                  557.7, 228.3, 998.0, 888.8, 119.6, 0.3,   0.6,   557.6, 339.3,
                                  888.0, 998.5, 778.9, 10.2,  117.6, 228.9, 668.4, 449.2, 0.2};
static const double norris_x[] = {0.2,   337.4, 118.2, 884.6, 10.1,  226.5, 666.3, 996.3, 448.6,
                                  777.0, 558.2, 0.4,   0.6,   775.5, 666.9, 338.0, 447.5, 11.6,
                                  556.0, 228.1, 995.8, 887.6, 120.2, 0.3,   0.3,   556.8, 339.1,
                                  887.2, 999.0, 779.0, 11.1,  118.3, 229.2, 669.1, 448.9, 0.5};

static void test_norris(void **state)
{
    (void)state;
    struct kvs_line_fit fit;
    assert_int_equal(kvs_fit_line(norris_x, norris_y, KVS_COUNT_OF(norris_x), &fit, NULL),
                     KVS_OK);
    assert_near(fit.intercept, -0.262323073774029, 1e-10);
    assert_near(fit.slope, 1.00211681802045, 1e-12);
    assert_near(fit.intercept_se, 0.232818234301152, 1e-10);
    assert_near(fit.slope_se, 0.429796848199937e-3, 1e-13);
}

static void test_line_by_hand(void **state)
{
    (void)state;
    struct kvs_line_fit fit;
    /* Two points: exact. */
    assert_int_equal(
        kvs_fit_line((const double[]){1, 3}, (const double[]){5, 9}, 2, &fit, NULL), KVS_OK);
    assert_near(fit.intercept, 3, 1e-12);
    assert_near(fit.slope, 2, 1e-12);
    assert_near(fit.intercept_se, 0, 0);
    assert_near(fit.slope_se, 0, 0);
    /* (0,0) (1,3) (2,0): slope 0, mean 1, residuals -1 2 -1. */
    assert_int_equal(
        kvs_fit_line((const double[]){0, 1, 2}, (const double[]){0, 3, 0}, 3, &fit, NULL),
        KVS_OK);
    assert_near(fit.slope, 0, 1e-12);
    assert_near(fit.max_residual, 2, 1e-12);
}

static void test_line_refused(void **state)
{
    (void)state;
    struct kvs_line_fit fit;
    const double same[] = {2, 2, 2};
    const double bad[] = {1, (double)NAN, 3};
    const double fine[] = {1, 2, 3};
    assert_int_equal(kvs_fit_line(fine, fine, 1, &fit, NULL), KVS_EINVAL);
    assert_int_equal(kvs_fit_line(same, fine, 3, &fit, NULL), KVS_EINVAL);
    assert_int_equal(kvs_fit_line(fine, bad, 3, &fit, NULL), KVS_EINVAL);
}

static void test_mean_and_quantile(void **state)
{
    (void)state;
    double x[] = {4, 1, 3, 2};
    assert_near(kvs_mean(x, 4), 2.5, 1e-15);
    /* position (n - 1) frac between order statistics: 0.75 past 1, 1.5 past 1 */
    assert_near(kvs_quantile(x, 4, 0.25), 1.75, 1e-15);
    assert_near(kvs_quantile(x, 4, 0.5), 2.5, 1e-15);
    assert_near(kvs_quantile(x, 4, 0), 1, 0);
    assert_near(kvs_quantile(x, 4, 1), 4, 0);
    assert_near(x[0], 1, 0);
    assert_near(kvs_quantile(x, 1, 0.3), 1, 0);
}

/* 2 4 4 4 5 5 7 9: mean 5, squares sum to 32; median 4.5, deviations 2.5 .5 .5 .5 .5 .5 2.5 4.5. */
static void test_spread(void **state)
{
    (void)state;
    const double x[] = {2, 4, 4, 4, 5, 5, 7, 9};
    double scratch[8];
    assert_near(kvs_stddev(x, 8), sqrt(32.0 / 7), 1e-15);
    assert_near(kvs_stddev(x, 1), 0, 0);
    assert_near(kvs_mad(x, 8, scratch), 0.5, 1e-15);
    assert_near(x[0], 2, 0); /* as it was */
}

/* Of three samples the median of a resample is the middle one in 13 of 27 cases and each of the
 * others in 7: the middle 95% reach both ends, the middle 40% neither. */
static void test_bootstrap(void **state)
{
    (void)state;
    const double x[] = {3, 1, 2};
    struct kvs_interval wide, narrow;
    struct kvs_rng *rng;
    assert_int_equal(kvs_rng_create(1, &rng, NULL), KVS_OK);
    assert_int_equal(kvs_bootstrap_median(x, 3, 2000, 0.95, rng, &wide, NULL), KVS_OK);
    assert_int_equal(kvs_bootstrap_median(x, 3, 2000, 0.40, rng, &narrow, NULL), KVS_OK);
    kvs_rng_destroy(rng);
    assert_near(wide.lo, 1, 0);
    assert_near(wide.hi, 3, 0);
    assert_near(narrow.lo, 2, 0);
    assert_near(narrow.hi, 2, 0);
}

static double square_less(double x, void *context)
{
    const double *what = context;
    return x * x - *what;
}

static double nowhere(double x, void *context)
{
    (void)x;
    (void)context;
    return (double)NAN;
}

static void test_root(void **state)
{
    (void)state;
    double two = 2;
    double root = 0;
    struct kvs_error err;
    uint64_t start_bytes = kvs_mem_live_bytes();
    assert_int_equal(kvs_find_root(square_less, &two, 0, 2, 1e-12, &root, &err), KVS_OK);
    assert_near(root, 1.4142135623730951, 1e-11);
    assert_int_equal(kvs_find_root(square_less, &two, 2, 3, 1e-12, &root, &err), KVS_ENUMERIC);
    assert_int_equal(kvs_find_root(square_less, &two, 2, 0, 1e-12, &root, &err), KVS_ENUMERIC);
    assert_int_equal(kvs_find_root(nowhere, NULL, 0, 1, 1e-12, &root, &err), KVS_ENUMERIC);
    double four = 4;
    assert_int_equal(kvs_find_root(square_less, &four, 2, 3, 1e-12, &root, &err), KVS_OK);
    assert_near(root, 2, 1e-11);
    assert_int_equal(kvs_mem_live_bytes(), start_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norris),       cmocka_unit_test(test_line_by_hand),
        cmocka_unit_test(test_line_refused), cmocka_unit_test(test_mean_and_quantile),
        cmocka_unit_test(test_spread),       cmocka_unit_test(test_bootstrap),
        cmocka_unit_test(test_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
