/* Errors worked out by hand, the naive model's rule, and which rows belong together. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "study/compare.h"

#define assert_near(a, b, epsilon) assert_true(fabs((a) - (b)) <= (epsilon))

/* +10%, none, -20%: mean size 15%, signed -5%, the worst is the third. */
static void test_accuracy(void **state)
{
    const double predicted[] = {11, 7, 8}, measured[] = {10, (double)NAN, 10};
    (void)state;
    struct kvs_accuracy a = kvs_accuracy_of(predicted, measured, 3);
    assert_int_equal(a.n, 2);
    assert_near(a.mean_frac, 0.15, 1e-12);
    assert_near(a.bias_frac, -0.05, 1e-12);
    assert_near(a.worst_frac, -0.2, 1e-12);
    assert_int_equal(a.worst, 2);
    a = kvs_accuracy_of(predicted + 1, measured + 1, 1);
    assert_int_equal(a.n, 0);
    assert_true(isnan(a.mean_frac) && isnan(a.bias_frac) && isnan(a.worst_frac));
}

/* 30 ms of compute and 70 of copies, two sequences: one after another, or the longer. */
static void test_naive(void **state)
{
    struct kvs_result row = {
        .policy = "ordered", .n_parallel = 2, .compute_ms = 30, .copies_ms = 70};
    (void)state;
    assert_near(kvs_naive_ts(&row), 20, 1e-12);
    row.policy = "pipelined";
    assert_near(kvs_naive_ts(&row), 2000.0 / 70, 1e-12);
    row.declined = 1; /* ran ordered */
    assert_near(kvs_naive_ts(&row), 20, 1e-12);
    row.copies_ms = (double)NAN;
    assert_true(isnan(kvs_naive_ts(&row)));
}

static void fill(struct kvs_results *results, const char *const *depths, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct kvs_result row = {.hash = 1}; /* all alike: texts decide */
        for (size_t k = 0; k < KVS_RESULT_N_KEYS; k++)
            row.keys[k] = "x";
        row.keys[16] = depths[i];
        assert_int_equal(KVS_ARRAY_PUSH(&results->items, row, NULL), KVS_OK);
    }
}

/* A row twice on both sides has two partners, one that is there once has one. */
static void test_match(void **state)
{
    static const char *const a_depths[] = {"1", "2", "2", "2", "3"};
    static const char *const b_depths[] = {"4", "2", "1", "2"};
    static const struct kvs_result_pair expected[] = {{0, 2}, {1, 1}, {2, 3}};
    struct kvs_results a = {0}, b = {0};
    (void)state;
    assert_string_equal(kvs_result_keys[16], "n_depth");
    fill(&a, a_depths, KVS_COUNT_OF(a_depths));
    fill(&b, b_depths, KVS_COUNT_OF(b_depths));
    uint64_t before = kvs_mem_live_bytes();
    kvs_status status = KVS_ENOMEM;
    for (uint64_t n = 1; status != KVS_OK; n++) {
        struct kvs_result_pairs pairs = {0};
        kvs_mem_fail_after(n);
        status = kvs_results_match(&a, &b, &pairs, NULL);
        kvs_mem_fail_after(0);
        if (status == KVS_OK) {
            assert_int_equal(pairs.n, KVS_COUNT_OF(expected));
            assert_memory_equal(pairs.items, expected, sizeof expected);
        }
        KVS_ARRAY_FREE(&pairs);
        assert_int_equal(kvs_mem_live_bytes(), before);
    }
    kvs_results_fini(&a);
    kvs_results_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_naive),
        cmocka_unit_test(test_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
