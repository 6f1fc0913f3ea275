/* Figures of samples worked out by hand, and how often the interval holds what it should. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "study/replay.h"

#define assert_near(a, b, epsilon) assert_true(fabs((a) - (b)) <= (epsilon))

/* Deviations from the median 3: 2 1 0 1 97. From the mean 22: squares sum to 7610. */
static void test_summary(void **state)
{
    const double x[] = {4, 1, 100, 3, 2};
    struct kvs_summary s;
    (void)state;
    assert_int_equal(kvs_summarise(x, 5, 1, &s, NULL), KVS_OK);
    assert_near(s.median, 3, 0);
    assert_near(s.mean, 22, 1e-12);
    assert_near(s.stddev, sqrt(7610.0 / 4), 1e-12);
    assert_near(s.mad, 1, 0);
    assert_near(s.min, 1, 0);
    assert_int_equal(s.n_outliers, 1);
    assert_true(s.interval.lo >= 1 && s.interval.lo <= 3);
    assert_true(s.interval.hi >= 3 && s.interval.hi <= 100);
}

/* Median 2.5, deviations 1.5 0.5 0.5 7.5: MAD 1. */
static void test_even(void **state)
{
    const double x[] = {1, 2, 3, 10};
    struct kvs_summary s;
    (void)state;
    assert_int_equal(kvs_summarise(x, 4, 1, &s, NULL), KVS_OK);
    assert_near(s.median, 2.5, 0);
    assert_near(s.mad, 1, 0);
    assert_int_equal(s.n_outliers, 0);
}

/* With MAD 1 the rule turns at 14.826 from the median; never within 1% of it. */
static void test_outlier_rule(void **state)
{
    double x[] = {1, 2, 3, 4, 17.8};
    struct kvs_summary s;
    (void)state;
    assert_int_equal(kvs_summarise(x, 5, 1, &s, NULL), KVS_OK);
    assert_int_equal(s.n_outliers, 0);
    x[4] = 17.9;
    assert_int_equal(kvs_summarise(x, 5, 1, &s, NULL), KVS_OK);
    assert_int_equal(s.n_outliers, 1);
    const double close[] = {100.0, 100.01, 100.9}, far[] = {100.0, 100.01, 101.1};
    assert_int_equal(kvs_summarise(close, 3, 1, &s, NULL), KVS_OK);
    assert_int_equal(s.n_outliers, 0);
    assert_int_equal(kvs_summarise(far, 3, 1, &s, NULL), KVS_OK);
    assert_int_equal(s.n_outliers, 1);
    const double equal[] = {2, 2, 2};
    assert_int_equal(kvs_summarise(equal, 3, 1, &s, NULL), KVS_OK);
    assert_int_equal(s.n_outliers, 0);
}

static void test_one_sample(void **state)
{
    const double x[] = {5};
    struct kvs_summary s;
    struct kvs_difference d;
    (void)state;
    assert_int_equal(kvs_summarise(x, 1, 1, &s, NULL), KVS_OK);
    assert_near(s.median, 5, 0);
    assert_near(s.stddev, 0, 0);
    assert_near(s.mad, 0, 0);
    assert_true(isnan(s.interval.lo) && isnan(s.interval.hi));
    assert_int_equal(kvs_compare_pairs(x, x, 1, 1, &d, NULL), KVS_OK);
    assert_near(d.median, 0, 0);
    assert_true(isnan(d.interval.lo));
    assert_false(d.is_none); /* one pair shows nothing */
}

/* Of two samples a resample has its median at either one, each in a quarter of the cases. */
static void test_two_samples(void **state)
{
    const double x[] = {7, 3};
    struct kvs_summary s;
    (void)state;
    assert_int_equal(kvs_summarise(x, 2, 1, &s, NULL), KVS_OK);
    assert_near(s.interval.lo, 3, 0);
    assert_near(s.interval.hi, 7, 0);
}

static double normal(struct kvs_rng *rng)
{
    const double two_pi = 6.283185307179586;
    double radius = sqrt(-2.0 * log(1.0 - kvs_rng_uniform(rng)));
    return radius * cos(two_pi * kvs_rng_uniform(rng));
}

/* 400 samples of 25 from a normal distribution around 10: 95% of the intervals hold 10. Of 400
 * trials at 0.95 the count has a standard deviation of 4.4: 0.92 to 0.98 is 3 of them. */
static void test_coverage(void **state)
{
    enum { N_TRIALS = 400, N = 25 };
    struct kvs_rng *rng;
    size_t n_held = 0;
    (void)state;
    assert_int_equal(kvs_rng_create(20260901, &rng, NULL), KVS_OK);
    for (uint64_t trial = 0; trial < N_TRIALS; trial++) {
        struct kvs_summary s;
        double x[N];
        for (size_t i = 0; i < N; i++)
            x[i] = 10.0 + normal(rng);
        assert_int_equal(kvs_summarise(x, N, trial, &s, NULL), KVS_OK);
        assert_true(s.interval.lo <= s.median && s.median <= s.interval.hi);
        n_held += s.interval.lo <= 10.0 && s.interval.hi >= 10.0;
    }
    kvs_rng_destroy(rng);
    print_message("%zu of %d intervals hold the median\n", n_held, (int)N_TRIALS);
    assert_in_range(n_held, N_TRIALS * 92 / 100, N_TRIALS * 98 / 100);
}

/* The seed decides: equal ones agree, and of many some end elsewhere. */
static void test_seed(void **state)
{
    const double x[] = {1, 2, 4, 8, 16, 32, 64, 128};
    struct kvs_summary a, b;
    bool has_other = false;
    (void)state;
    assert_int_equal(kvs_summarise(x, 8, 5, &a, NULL), KVS_OK);
    assert_int_equal(kvs_summarise(x, 8, 5, &b, NULL), KVS_OK);
    assert_true(a.interval.lo == b.interval.lo && a.interval.hi == b.interval.hi);
    for (uint64_t seed = 6; seed < 50; seed++) {
        assert_int_equal(kvs_summarise(x, 8, seed, &b, NULL), KVS_OK);
        has_other |= a.interval.lo != b.interval.lo || a.interval.hi != b.interval.hi;
    }
    assert_true(has_other);
}

/* Rounds that drift by far more than the arms differ: pairs show the difference all the same. */
static void test_pairs(void **state)
{
    const double base[] = {10, 20, 30, 40, 50, 60};
    const double faster[] = {9.5, 19.4, 29.5, 39.6, 49.5, 59.5};
    const double same[] = {10.1, 19.9, 30.2, 39.8, 50.1, 59.9};
    struct kvs_difference d;
    (void)state;
    assert_int_equal(kvs_compare_pairs(faster, base, 6, 1, &d, NULL), KVS_OK);
    assert_near(d.median, -0.5, 1e-12);
    assert_true(d.interval.lo >= -0.6 - 1e-12 && d.interval.hi <= -0.4 + 1e-12);
    assert_false(d.is_none);
    assert_int_equal(kvs_compare_pairs(same, base, 6, 1, &d, NULL), KVS_OK);
    assert_true(d.is_none);
}

static void test_no_memory(void **state)
{
    const double x[] = {1, 2, 3}, y[] = {3, 1, 2};
    struct kvs_summary s;
    struct kvs_difference d;
    uint64_t before = kvs_mem_live_bytes();
    (void)state;
    kvs_status status = KVS_ENOMEM;
    for (uint64_t n = 1; status != KVS_OK; n++) {
        assert_true(n < 50);
        kvs_mem_fail_after(n);
        status = kvs_summarise(x, 3, 1, &s, NULL);
        if (status == KVS_OK)
            status = kvs_compare_pairs(x, y, 3, 1, &d, NULL);
        kvs_mem_fail_after(0);
        assert_int_equal(kvs_mem_live_bytes(), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_summary),      cmocka_unit_test(test_even),
        cmocka_unit_test(test_outlier_rule), cmocka_unit_test(test_one_sample),
        cmocka_unit_test(test_two_samples),  cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_seed),         cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
