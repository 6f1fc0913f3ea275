/* Costs of copies: figures measured on an H200 (docs/copy-engine.md) and arithmetic by hand. */
#include "models/copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#define GB 1e9

static void expect_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g, expected %.17g", value, expected);
}

static struct kvs_param figure(double value)
{
    return (struct kvs_param){.value = value};
}

static void test_row_efficiency(void **state)
{
    (void)state;
    const struct kvs_row_curve none = {0};
    const struct kvs_row_curve curve = {
        .n = 3, .width_bytes = {100, 300, 500}, .efficiency = {0.5, 0.9, 0.7}};
    const struct {
        uint64_t width;
        double expected;
    } table[] = {{0, 1.0},   {1, 0.5},   {100, 0.5}, {150, 0.6}, {200, 0.7},
                 {300, 0.9}, {400, 0.8}, {500, 0.7}, {9000, 0.7}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        expect_near(kvs_row_efficiency(&curve, table[i].width), table[i].expected, 1e-12);
    expect_near(kvs_row_efficiency(&none, 136), 1.0, 0);
}

/*
 *   link 0  root, unlimited             latency 1 us
 *   link 1  switch, 20 down, 18 up      latency 2 us
 *   link 2  slot, 25 down, 12 up        latency 4 us    device 0
 *   link 3  slot on the root, 3 down    latency 8 us    device 1
 */
static void test_path(void **state)
{
    (void)state;
    struct kvs_link links[] = {
        {.parent = -1, .mode = KVS_LINK_UNLIMITED, .latency = figure(1e-6)},
        {.parent = 0, .rate = {figure(20 * GB), figure(18 * GB)}, .latency = figure(2e-6)},
        {.parent = 1, .rate = {figure(25 * GB), figure(12 * GB)}, .latency = figure(4e-6)},
        {.parent = 0, .rate = {figure(3 * GB), figure(3 * GB)}, .latency = figure(8e-6)}};
    struct kvs_device devices[] = {{.link = 2}, {.link = 3}};
    struct kvs_machine m = {.links = links, .n_links = 4, .devices = devices, .n_devices = 2};
    expect_near(kvs_path_rate_Bps(&m, 0, KVS_H2D), 20 * GB, 0);
    expect_near(kvs_path_rate_Bps(&m, 0, KVS_D2H), 12 * GB, 0);
    expect_near(kvs_path_rate_Bps(&m, 1, KVS_H2D), 3 * GB, 0);
    expect_near(kvs_path_latency_s(&m, 0), 7e-6, 1e-18);
    expect_near(kvs_path_latency_s(&m, 1), 9e-6, 1e-18);
    m.host.memory_rate = figure(15 * GB);
    expect_near(kvs_path_rate_Bps(&m, 0, KVS_H2D), 15 * GB, 0);
    expect_near(kvs_path_rate_Bps(&m, 1, KVS_H2D), 3 * GB, 0);
    devices[0].link = 0; /* nothing on the way limits but memory */
    expect_near(kvs_path_rate_Bps(&m, 0, KVS_H2D), 15 * GB, 0);
}

/* Pinned: 24 KiB skip the engine, 28 KiB do not. Pageable: up to 64 KiB. 2D: never. */
static void test_bypass(void **state)
{
    (void)state;
    const struct kvs_engines e = {.bypass_bytes = figure(24576),
                                  .bypass_pageable_bytes = figure(65536)};
    assert_true(kvs_copy_bypasses(&e, 64, false, false));
    assert_true(kvs_copy_bypasses(&e, 24576, false, false));
    assert_false(kvs_copy_bypasses(&e, 24577, false, false));
    assert_false(kvs_copy_bypasses(&e, 28672, false, false));
    assert_true(kvs_copy_bypasses(&e, 65536, false, true));
    assert_false(kvs_copy_bypasses(&e, 65537, false, true));
    assert_false(kvs_copy_bypasses(&e, 544 * 4, true, false));
    assert_false(kvs_copy_bypasses(&e, 544 * 4, true, true));
}

static void test_pageable(void **state)
{
    (void)state;
    struct kvs_host host = {0};
    expect_near(kvs_pageable_rate_Bps(&host, 25 * GB), 12.5 * GB, 0);
    host.pageable_rate = figure(13.7 * GB);
    expect_near(kvs_pageable_rate_Bps(&host, 55.4 * GB), 13.7 * GB, 0);
    expect_near(kvs_pageable_rate_Bps(&host, 3 * GB), 3 * GB, 0);
}

/*
 * A read of 8,000 B with 4,000 B outstanding, round trip 2 us, set-up 5 us: two turns after the
 * first trip: 5 + 2 + 8000 / (4000 / 2 us) = 11 us. While a copy runs at 1 GB/s with 3,000 B in
 * flight a trip takes 2 + 3 = 5 us: 5 + 5 + 10 = 20 us. A path of 1 GB/s limits the idle read
 * to 8 us of bytes.
 */
static void test_kernel_read(void **state)
{
    (void)state;
    struct kvs_device d = {.read_latency = figure(2e-6),
                           .read_outstanding_bytes = figure(4000),
                           .read_setup = figure(5e-6),
                           .read_trips = figure(1),
                           .engines.in_flight_bytes = figure(3000)};
    expect_near(kvs_kernel_read_s(&d, 8000, 100 * GB, 0.0), 11e-6, 1e-15);
    expect_near(kvs_kernel_read_s(&d, 8000, 100 * GB, 1 * GB), 20e-6, 1e-15);
    expect_near(kvs_kernel_read_s(&d, 8000, 1 * GB, 0.0), 15e-6, 1e-15);
    d.read_trips = figure(3); /* 2 x 3 us more beside the copy */
    expect_near(kvs_kernel_read_s(&d, 8000, 100 * GB, 0.0), 11e-6, 1e-15);
    expect_near(kvs_kernel_read_s(&d, 8000, 100 * GB, 1 * GB), 26e-6, 1e-15);
}

/* A dependent 4-byte read took 1.19 us idle and 3.34 us under a copy at 55.4 GB/s: 2.15 us more
 * are 119 KB in flight; at 3.14 GB/s the same bytes are 38 us. */
static void test_bytes_in_flight(void **state)
{
    (void)state;
    struct kvs_device d = {.read_latency = figure(1.19e-6),
                           .read_outstanding_bytes = figure(1e9),
                           .read_trips = figure(1),
                           .engines.in_flight_bytes = figure(119e3)};
    expect_near(kvs_kernel_read_s(&d, 0, 1e12, 55.4 * GB), 3.34e-6, 0.01e-6);
    expect_near(kvs_kernel_read_s(&d, 0, 1e12, 3.14 * GB) - 1.19e-6, 38e-6, 0.2e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_row_efficiency), cmocka_unit_test(test_path),
        cmocka_unit_test(test_bypass),         cmocka_unit_test(test_pageable),
        cmocka_unit_test(test_kernel_read),    cmocka_unit_test(test_bytes_in_flight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
