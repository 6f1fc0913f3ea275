/* What compute costs: measured profiles and the roofline, by hand. */
#include "models/compute.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

/* Two full layers of one head, 32 values: 34 B of K and 34 B of V each at q8_0, 136 B a row.
 * Weights 2 x (300 + 150) + 100 = 1,000. */
struct small {
    struct kvs_llm_layer layers[2];
    struct kvs_llm llm;
};

static void small_init(struct small *s)
{
    memset(s, 0, sizeof *s);
    for (unsigned i = 0; i < 2; i++)
        s->layers[i] = (struct kvs_llm_layer){.kind = KVS_LAYER_FULL,
                                              .n_head = 1,
                                              .n_head_kv = 1,
                                              .k_dim = 32,
                                              .v_dim = 32,
                                              .kv_source = -1,
                                              .pre_params = 300,
                                              .post_params = 150};
    s->llm = (struct kvs_llm){.name = "small",
                              .n_layer = 2,
                              .layers = s->layers,
                              .head_params = 100,
                              .weight_bytes_per_param = 0.5};
}

static void expect_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g, expected %.17g", value, expected);
}

static struct kvs_param figure(double value)
{
    return (struct kvs_param){.value = value};
}

static struct kvs_compute_profile profile(const char *model, kvs_kv_type type, double share,
                                          double fixed_s)
{
    struct kvs_compute_profile p = {.kv_type = type,
                                    .head_share = share,
                                    .fixed = figure(fixed_s),
                                    .per_row = figure(1.36e-6),
                                    .per_query_row = figure(0.136e-6),
                                    .copy_slowdown = figure(0.05),
                                    .busy_slowdown = figure(0.17),
                                    .busy_threshold = figure(0.70)};
    strcpy(p.model, model);
    return p;
}

/* 10 ms over 1,000 weights: 10 us each. 1.36 us a row over 136 B: 10 ns a byte, 1 ns more per
 * further query. 500 weights and 2,000 B: 5 ms + 20 us, three queries 5 ms + 24 us. */
static void test_profile(void **state)
{
    (void)state;
    struct small s;
    small_init(&s);
    struct kvs_compute_profile profiles[] = {profile("small", KVS_KV_Q8_0, 1.0, 10e-3)};
    struct kvs_device d = {.profiles = profiles, .n_profiles = 1};
    struct kvs_compute_cost cost =
        kvs_compute_cost_of(&d, &s.llm, KVS_KV_Q8_0, KVS_KV_Q8_0, 1.0, KVS_COMPUTE_MODELLED);
    assert_true(cost.is_measured);
    assert_ptr_equal(cost.profile, profiles);
    expect_near(cost.s_per_param, 10e-6, 1e-18);
    expect_near(cost.s_per_kv_byte, 10e-9, 1e-21);
    expect_near(cost.s_per_query_byte, 1e-9, 1e-21);
    expect_near(cost.copy_slowdown_frac, 0.05, 0);
    expect_near(cost.busy_slowdown_frac, 0.17, 0);
    expect_near(cost.busy_threshold_frac, 0.70, 0);
    expect_near(kvs_compute_s(&cost, 500, 2000, 1), 5.020e-3, 1e-15);
    expect_near(kvs_compute_s(&cost, 500, 2000, 3), 5.024e-3, 1e-15);
    /* the whole token at a window of 100 rows: fixed + 100 x per_row */
    expect_near(kvs_compute_s(&cost, 1000, 13600, 1), 10e-3 + 100 * 1.36e-6, 1e-15);
}

/* A card that held half of the heads needed 6 ms: 12 us per weight of its half. */
static void test_profile_of_a_share(void **state)
{
    (void)state;
    struct small s;
    small_init(&s);
    struct kvs_compute_profile profiles[] = {
        profile("other", KVS_KV_Q8_0, 0.5, 1.0), profile("small", KVS_KV_Q4_0, 0.5, 1.0),
        profile("small", KVS_KV_Q8_0, 1.0, 10e-3), profile("small", KVS_KV_Q8_0, 0.5, 6e-3)};
    struct kvs_device d = {.profiles = profiles, .n_profiles = 4};
    struct kvs_compute_cost half =
        kvs_compute_cost_of(&d, &s.llm, KVS_KV_Q8_0, KVS_KV_Q8_0, 0.6, KVS_COMPUTE_MODELLED);
    assert_ptr_equal(half.profile, &profiles[3]);
    expect_near(half.s_per_param, 12e-6, 1e-18);
    expect_near(half.s_per_kv_byte, 20e-9, 1e-21);
    assert_ptr_equal(
        kvs_compute_cost_of(&d, &s.llm, KVS_KV_Q8_0, KVS_KV_Q8_0, 0.8, KVS_COMPUTE_MODELLED)
            .profile,
        &profiles[2]);
}

/* A q4_0 cache on a card measured with q8_0: 72 B a row instead of 136, the same 1.36 us a row.
 */
static void test_profile_of_another_type(void **state)
{
    (void)state;
    struct small s;
    small_init(&s);
    struct kvs_compute_profile profiles[] = {profile("small", KVS_KV_Q8_0, 1.0, 10e-3),
                                             profile("small", KVS_KV_Q4_0, 0.5, 6e-3)};
    struct kvs_device d = {.profiles = profiles, .n_profiles = 1};
    struct kvs_compute_cost cost =
        kvs_compute_cost_of(&d, &s.llm, KVS_KV_Q4_0, KVS_KV_Q4_0, 1.0, KVS_COMPUTE_MODELLED);
    assert_ptr_equal(cost.profile, &profiles[0]);
    expect_near(kvs_compute_s(&cost, 0, 72, 1), 1.36e-6, 1e-18);
    /* the type counts for more than the share */
    d.n_profiles = 2;
    cost = kvs_compute_cost_of(&d, &s.llm, KVS_KV_Q4_0, KVS_KV_Q4_0, 1.0, KVS_COMPUTE_MODELLED);
    assert_ptr_equal(cost.profile, &profiles[1]);
}

/* 0.5 B a weight at 100 GB/s x 0.8: 6.25 ps; a cache byte 12.5 ps. */
static void test_roofline(void **state)
{
    (void)state;
    struct small s;
    small_init(&s);
    struct kvs_device d = {
        .memory_rate = figure(100e9), .memory_efficiency = figure(0.8), .flops = figure(4e12)};
    struct kvs_compute_cost cost =
        kvs_compute_cost_of(&d, &s.llm, KVS_KV_Q8_0, KVS_KV_Q8_0, 1.0, KVS_COMPUTE_MODELLED);
    assert_false(cost.is_measured);
    assert_null(cost.profile);
    expect_near(kvs_compute_s(&cost, 1000000, 0, 1), 6.25e-6, 1e-15);
    expect_near(kvs_compute_s(&cost, 0, 1000000, 1), 12.5e-6, 1e-15);
    /* 2 flop a weight and query at 4 TFLOP/s: 0.5 us a query, over the weights from 13 queries
     * on */
    expect_near(kvs_compute_s(&cost, 1000000, 0, 12), 6.25e-6, 1e-15);
    expect_near(kvs_compute_s(&cost, 1000000, 0, 13), 6.5e-6, 1e-15);
}

/* A program asks for 8 ms over 1,000 weights on any device, gaps aside; a profile beats it. */
static void test_program(void **state)
{
    (void)state;
    struct small s;
    small_init(&s);
    s.llm.has_program = true;
    s.llm.program = profile("small", KVS_KV_Q8_0, 1.0, 8e-3);
    struct kvs_compute_profile measured = profile("small", KVS_KV_Q8_0, 1.0, 10e-3);
    struct kvs_device d = {.memory_rate = figure(100e9),
                           .memory_efficiency = figure(0.8),
                           .kernel_gap = figure(2e-6)};
    struct kvs_compute_cost cost =
        kvs_compute_cost_of(&d, &s.llm, KVS_KV_Q8_0, KVS_KV_Q8_0, 1.0, KVS_COMPUTE_MODELLED);
    assert_true(cost.is_measured);
    assert_ptr_equal(cost.profile, &s.llm.program);
    expect_near(kvs_compute_s(&cost, 1000, 0, 1), 8e-3, 1e-15);
    expect_near(cost.s_per_kernel, 2e-6, 0);
    expect_near(cost.s_per_operation, 0, 0);
    d.profiles = &measured;
    d.n_profiles = 1;
    cost = kvs_compute_cost_of(&d, &s.llm, KVS_KV_Q8_0, KVS_KV_Q8_0, 1.0, KVS_COMPUTE_MODELLED);
    assert_ptr_equal(cost.profile, &measured);
}

/* kvsim's own kernels: 0.5 B a weight at 50 GB/s, K and V at 20 GB/s, whatever was measured of
 * the model; without their figures as modelled. */
static void test_stream(void **state)
{
    (void)state;
    struct small s;
    small_init(&s);
    struct kvs_compute_profile measured = profile("small", KVS_KV_Q8_0, 1.0, 10e-3);
    struct kvs_device d = {.profiles = &measured,
                           .n_profiles = 1,
                           .kernel_gap = figure(2e-6),
                           .stream = {.rate = figure(50e9),
                                      .fold_rate = figure(20e9),
                                      .kernel = figure(3e-6),
                                      .operation = figure(5e-6),
                                      .slowdown = figure(0.04),
                                      .beside = figure(2e-6)}};
    struct kvs_compute_cost cost =
        kvs_compute_cost_of(&d, &s.llm, KVS_KV_Q8_0, KVS_KV_Q8_0, 1.0, KVS_COMPUTE_STREAMED);
    assert_true(cost.is_measured);
    assert_null(cost.profile);
    expect_near(kvs_compute_s(&cost, 1000000, 0, 1), 10e-6, 1e-15);
    expect_near(kvs_compute_s(&cost, 0, 1000000, 1), 50e-6, 1e-15);
    expect_near(cost.s_per_kernel, 3e-6, 0);
    expect_near(cost.s_per_operation, 5e-6, 0);
    expect_near(cost.copy_slowdown_frac, 0.04, 0);
    expect_near(cost.s_beside, 2e-6, 0);
    assert_true(cost.is_streamed);
    d.stream.rate.value = 0;
    cost = kvs_compute_cost_of(&d, &s.llm, KVS_KV_Q8_0, KVS_KV_Q8_0, 1.0, KVS_COMPUTE_STREAMED);
    assert_ptr_equal(cost.profile, &measured);
    assert_false(cost.is_streamed);
    expect_near(cost.s_per_kernel, 2e-6, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_profile_of_a_share),
        cmocka_unit_test(test_profile_of_another_type),
        cmocka_unit_test(test_roofline),
        cmocka_unit_test(test_program),
        cmocka_unit_test(test_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
