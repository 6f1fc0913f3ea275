/* Max-min fair rates: by hand, and the two properties that define them over random networks. */
#include "models/share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>

#include "base/rng.h"

enum { MAX_FLOWS = 12, MAX_RESOURCES = 8 };

#define GB 1e9

static double left[MAX_RESOURCES];
static uint32_t count[MAX_RESOURCES];

static void expect_rates(const struct kvs_share_flow *flows, uint32_t n_flows,
                         const double *capacity, uint32_t n_resources, const double *expected)
{
    double rates[MAX_FLOWS];
    kvs_share_rates(flows, n_flows, capacity, n_resources, left, count, rates);
    for (uint32_t f = 0; f < n_flows; f++)
        if (fabs(rates[f] - expected[f]) > 1e-9 * expected[f])
            fail_msg("flow %u: %.6g, expected %.6g", f, rates[f], expected[f]);
}

static void test_alone(void **state)
{
    (void)state;
    const struct kvs_share_flow flow = {.limit_Bps = 7 * GB, .n_path = 1, .path = {0}};
    const struct kvs_share_flow pathless = {.limit_Bps = 7 * GB};
    expect_rates(&flow, 1, (double[]){9 * GB}, 1, (double[]){7 * GB});
    expect_rates(&flow, 1, (double[]){5 * GB}, 1, (double[]){5 * GB});
    expect_rates(&pathless, 1, (double[]){5 * GB}, 1, (double[]){7 * GB});
    kvs_share_rates(NULL, 0, (double[]){5 * GB}, 1, left, count, NULL);
}

/* Two cards that could take 32 GB/s each behind one uplink of 25 GB/s: 12.5 each
 * (public report, NVIDIA/nccl#1309). */
static void test_uplink(void **state)
{
    (void)state;
    const struct kvs_share_flow flows[] = {{.limit_Bps = 32 * GB, .n_path = 2, .path = {1, 0}},
                                           {.limit_Bps = 32 * GB, .n_path = 2, .path = {2, 0}}};
    expect_rates(flows, 2, (double[]){25 * GB, 32 * GB, 32 * GB}, 3,
                 (double[]){12.5 * GB, 12.5 * GB});
}

/* 3 + x + x = 25: the slow card keeps its 3, the others share what it leaves: x = 11. */
static void test_limits(void **state)
{
    (void)state;
    const struct kvs_share_flow flows[] = {{.limit_Bps = 3 * GB, .n_path = 1, .path = {0}},
                                           {.limit_Bps = 32 * GB, .n_path = 1, .path = {0}},
                                           {.limit_Bps = 16 * GB, .n_path = 1, .path = {0}}};
    expect_rates(flows, 3, (double[]){25 * GB}, 1, (double[]){3 * GB, 11 * GB, 11 * GB});
}

/*
 * Two levels. Root 30; switch X 16 with a, b, c behind it; d and e straight at the root, e
 * of 4. level 4:     e at its own limit level 16/3:  X is full: a = b = c = 5.333 the rest: d =
 * 30 - 4 - 16 = 10
 */
static void test_two_levels(void **state)
{
    (void)state;
    const struct kvs_share_flow flows[] = {{.limit_Bps = 12 * GB, .n_path = 2, .path = {1, 0}},
                                           {.limit_Bps = 12 * GB, .n_path = 2, .path = {1, 0}},
                                           {.limit_Bps = 12 * GB, .n_path = 2, .path = {1, 0}},
                                           {.limit_Bps = 25 * GB, .n_path = 1, .path = {0}},
                                           {.limit_Bps = 4 * GB, .n_path = 1, .path = {0}}};
    const double third = 16 * GB / 3;
    expect_rates(flows, 5, (double[]){30 * GB, 16 * GB}, 2,
                 (double[]){third, third, third, 10 * GB, 4 * GB});
}

/* Host memory of 20 under links of 16 and 3.2: 3.2 for the slow one, 16 and no less for the
 * other, since 19.2 < 20; with 18 the fast one takes 14.8. */
static void test_host_memory(void **state)
{
    (void)state;
    const struct kvs_share_flow flows[] = {{.limit_Bps = 16 * GB, .n_path = 1, .path = {0}},
                                           {.limit_Bps = 3.2 * GB, .n_path = 1, .path = {0}}};
    expect_rates(flows, 2, (double[]){20 * GB}, 1, (double[]){16 * GB, 3.2 * GB});
    expect_rates(flows, 2, (double[]){18 * GB}, 1, (double[]){14.8 * GB, 3.2 * GB});
}

static uint32_t random_network(struct kvs_rng *rng, struct kvs_share_flow *flows,
                               double *capacity)
{
    uint32_t n = 1 + (uint32_t)kvs_rng_below(rng, MAX_FLOWS);
    for (uint32_t r = 0; r < MAX_RESOURCES; r++)
        capacity[r] = GB * (1 + 30 * kvs_rng_uniform(rng));
    for (uint32_t f = 0; f < n; f++) {
        flows[f] = (struct kvs_share_flow){.limit_Bps = GB * (0.5 + 20 * kvs_rng_uniform(rng))};
        for (uint32_t r = 0; r < MAX_RESOURCES; r++)
            if (kvs_rng_below(rng, 3) == 0)
                flows[f].path[flows[f].n_path++] = r;
    }
    return n;
}

/* Full, and no flow on it is faster than this one. */
static bool holds_back(const struct kvs_share_flow *flows, const double *rates, uint32_t n,
                       uint32_t resource, const double *sum, const double *capacity,
                       double rate)
{
    if (sum[resource] < capacity[resource] * (1 - 1e-9))
        return false;
    for (uint32_t f = 0; f < n; f++)
        for (uint32_t k = 0; k < flows[f].n_path; k++)
            if (flows[f].path[k] == resource && rates[f] > rate * (1 + 1e-9))
                return false;
    return true;
}

static void test_properties(void **state)
{
    (void)state;
    struct kvs_rng *rng;
    assert_int_equal(kvs_rng_create(20261, &rng, NULL), KVS_OK);
    for (unsigned trial = 0; trial < 3000; trial++) {
        struct kvs_share_flow flows[MAX_FLOWS];
        double capacity[MAX_RESOURCES], rates[MAX_FLOWS], sum[MAX_RESOURCES] = {0};
        uint32_t n = random_network(rng, flows, capacity);
        kvs_share_rates(flows, n, capacity, MAX_RESOURCES, left, count, rates);
        for (uint32_t f = 0; f < n; f++)
            for (uint32_t k = 0; k < flows[f].n_path; k++)
                sum[flows[f].path[k]] += rates[f];
        for (uint32_t r = 0; r < MAX_RESOURCES; r++)
            assert_true(sum[r] <= capacity[r] * (1 + 1e-12));
        for (uint32_t f = 0; f < n; f++) {
            bool is_held = rates[f] >= flows[f].limit_Bps;
            assert_true(rates[f] > 0 && rates[f] <= flows[f].limit_Bps);
            for (uint32_t k = 0; k < flows[f].n_path; k++)
                is_held |=
                    holds_back(flows, rates, n, flows[f].path[k], sum, capacity, rates[f]);
            if (!is_held)
                fail_msg("trial %u: flow %u could be faster", trial, f);
        }
    }
    kvs_rng_destroy(rng);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),       cmocka_unit_test(test_uplink),
        cmocka_unit_test(test_limits),      cmocka_unit_test(test_two_levels),
        cmocka_unit_test(test_host_memory), cmocka_unit_test(test_properties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
