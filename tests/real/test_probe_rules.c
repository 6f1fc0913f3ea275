/*
 * What measurements mean. Samples are those of traces/h200/ where there are some (expected values
 * are what docs/copy-engine.md says of them), else worked out by hand in the comment.
 */
#include "real/probe_rules.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#define NEAR(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))
#define OK(call)              assert_int_equal((call), KVS_OK)

static void test_figure(void **state)
{
    (void)state;
    /* 0.01 ... 1.01: median 0.51, 5th percentile 0.06, 95th 0.96 by linear rank 0.05 x 100 */
    double samples[101];
    for (size_t i = 0; i < 101; i++)
        samples[i] = 0.01 * (double)((i * 37) % 101 + 1);
    struct kvs_param figure = kvs_probe_figure(samples, 101, "median of %d", 101);
    NEAR(figure.value, 0.51, 1e-12);
    NEAR(figure.lo, 0.06, 1e-12);
    NEAR(figure.hi, 0.96, 1e-12);
    assert_int_equal(figure.origin, KVS_ORIGIN_MEASURED);
    assert_string_equal(figure.source, "median of 101");
    /* few: the extremes; four digits, outwards: 1.23456 to 1.234 and 1.235 */
    double few[] = {1.23456, 2.0, 9.87654};
    figure = kvs_probe_figure(few, 3, "few");
    NEAR(figure.value, 2.0, 0);
    NEAR(figure.lo, 1.234, 0);
    NEAR(figure.hi, 9.877, 0);
    /* what has four digits keeps them */
    double exact[] = {55.37e9};
    figure = kvs_probe_figure(exact, 1, "one");
    NEAR(figure.lo, 55.37e9, 0);
    NEAR(figure.hi, 55.37e9, 0);
    double small[] = {1.4583e-6, 1.4587e-6, 1.4587e-6};
    figure = kvs_probe_figure(small, 3, "small");
    NEAR(figure.value, 1.459e-6, 0);
    NEAR(figure.lo, 1.458e-6, 0);
    double none[] = {0.0};
    figure = kvs_probe_figure(none, 1, "zero");
    NEAR(figure.hi, 0.0, 0);
}

/* Sizes keep their digits, and an interval its value. */
static void test_exact(void **state)
{
    (void)state;
    struct kvs_param figure = kvs_probe_exact(24576, 24576, 25599, "%s", "bytes");
    NEAR(figure.value, 24576, 0);
    NEAR(figure.lo, 24576, 0);
    NEAR(figure.hi, 25599, 0);
    figure = kvs_probe_range(3.0, 2.0, 1.0, "in any order");
    NEAR(figure.lo, 1.0, 0);
    NEAR(figure.hi, 3.0, 0);
}

static void test_arbitration(void **state)
{
    (void)state;
    /* traces/h200/arbitration.csv: A1, b, A2: b after A2 */
    double small[21], second[21];
    kvs_arbitration rule = KVS_ARB_FIFO;
    for (size_t i = 0; i < 21; i++) {
        small[i] = 1.830e-3;
        second[i] = 1.824e-3;
    }
    assert_true(kvs_probe_arbitration(small, second, 21, &rule));
    assert_int_equal(rule, KVS_ARB_STICKY);
    for (size_t i = 0; i < 21; i++)
        small[i] = i < 2 ? 1.830e-3 : 0.918e-3; /* two strays in 21 */
    assert_true(kvs_probe_arbitration(small, second, 21, &rule));
    assert_int_equal(rule, KVS_ARB_FIFO);
    for (size_t i = 0; i < 8; i++)
        small[i] = 1.830e-3;
    assert_false(kvs_probe_arbitration(small, second, 21, &rule));
    assert_false(kvs_probe_arbitration(small, second, 0, &rule));
}

/* traces/h200/commit-lead.csv as rounds: the edge lies between 20 and 25 us of that clock. */
static void test_commit_lead(void **state)
{
    (void)state;
    static const struct {
        double lead_us;
        unsigned n_small_first;
    } rows[] = {{300, 0}, {200, 0}, {150, 0}, {100, 0}, {80, 0},  {60, 0}, {50, 0}, {40, 0},
                {30, 0},  {25, 0},  {20, 14}, {15, 18}, {10, 20}, {5, 21}, {0, 21}, {-20, 21}};
    struct kvs_probe_lead leads[21 * KVS_COUNT_OF(rows)];
    struct kvs_param lead;
    size_t n = 0;
    for (size_t r = 0; r < KVS_COUNT_OF(rows); r++)
        for (unsigned i = 0; i < 21; i++)
            leads[n++] =
                (struct kvs_probe_lead){rows[r].lead_us * 1e-6, i < rows[r].n_small_first};
    assert_true(kvs_probe_commit_lead(leads, n, &lead));
    NEAR(lead.value, 22.5e-6, 1e-12);
    NEAR(lead.hi, 25e-6, 1e-12);
    /* 11 rounds below the edge had A2 first: 1 at 10 us, 3 at 15, 7 at 20; 6 of 336 are strays */
    NEAR(lead.lo, 20e-6, 1e-12);
    for (size_t i = 0; i < n; i++)
        leads[i].is_small_first = true;
    assert_false(kvs_probe_commit_lead(leads, n, &lead));
}

/* A clean edge at 10 us seen in steps of 2 us, and host interruptions that fall anywhere. */
static void test_commit_lead_strays(void **state)
{
    (void)state;
    struct kvs_probe_lead leads[410];
    struct kvs_param lead;
    size_t n = 0;
    for (int x = -10; x < 30; x += 2)
        for (int i = 0; i < 20; i++)
            leads[n++] = (struct kvs_probe_lead){x * 1e-6, x < 10};
    leads[n++] = (struct kvs_probe_lead){-9e-6, false};
    leads[n++] = (struct kvs_probe_lead){27e-6, true};
    assert_true(kvs_probe_commit_lead(leads, n, &lead));
    NEAR(lead.value, 9e-6, 1e-12);
    NEAR(lead.lo, 8e-6, 1e-12);
    NEAR(lead.hi, 10e-6, 1e-12);
}

/* docs/copy-engine.md: 24,576 B skipped, 28,672 B waited. */
static void test_largest(void **state)
{
    (void)state;
    struct kvs_probe_passed sizes[] = {{12288, 5, 5}, {16384, 5, 5}, {20480, 4, 5},
                                       {24576, 5, 5}, {28672, 0, 5}, {32768, 1, 5}};
    uint64_t next;
    bool is_clean;
    assert_int_equal(kvs_probe_largest(sizes, 6, &next, &is_clean), 24576);
    assert_int_equal(next, 28672);
    assert_true(is_clean);
    sizes[5].n_passed = 5;
    assert_int_equal(kvs_probe_largest(sizes, 6, &next, &is_clean), 24576);
    assert_false(is_clean);
    assert_int_equal(kvs_probe_largest(sizes, 4, &next, &is_clean), 24576);
    assert_int_equal(next, 0);
    sizes[0].n_passed = 0;
    assert_int_equal(kvs_probe_largest(sizes, 1, &next, &is_clean), 0);
    assert_int_equal(next, 12288);
}

/* traces/h200/first-turn.csv: always free one ahead, never four ahead, in turns two ahead. */
static void test_first_turn(void **state)
{
    (void)state;
    bool is_mixed;
    assert_int_equal(kvs_probe_first_turn(21, 21, &is_mixed), KVS_FIRST_TURN_FREE);
    assert_false(is_mixed);
    assert_int_equal(kvs_probe_first_turn(1, 21, &is_mixed), KVS_FIRST_TURN_CHAINED);
    assert_false(is_mixed);
    assert_int_equal(kvs_probe_first_turn(32, 63, &is_mixed), KVS_FIRST_TURN_FREE);
    assert_true(is_mixed);
    assert_int_equal(kvs_probe_first_turn(0, 0, &is_mixed), KVS_FIRST_TURN_FREE);
}

static void test_overheads(void **state)
{
    (void)state;
    /* bytes / 50 GB/s + 6 us of call and wait + 4, 5 and 7 us */
    double sizes[] = {65536, 1048576, 4194304};
    double times[] = {65536 / 50e9 + 10e-6, 1048576 / 50e9 + 13e-6, 4194304 / 50e9 + 11e-6};
    struct kvs_param figure = kvs_probe_first_overhead(sizes, times, 3, 50e9, 6e-6);
    NEAR(figure.value, 5e-6, 1e-12);
    NEAR(figure.lo, 4e-6, 1e-9);
    NEAR(figure.hi, 7e-6, 1e-9);
    /* traces/h200/host-costs.csv: 40 MiB in 1, 10, 41, 162 pieces. From one count to the next 3.11,
     * 2.74 and 2.58 us; least squares: sxy 44.69, sxx 16409 about (53.5, 0.9125): 2.62 us */
    double pieces[] = {1, 10, 41, 162}, taken[] = {0.771e-3, 0.799e-3, 0.884e-3, 1.196e-3};
    OK(kvs_probe_next_overhead(pieces, taken, 4, &figure, NULL));
    NEAR(figure.value, 2.62e-6, 0.01e-6);
    NEAR(figure.lo, 2.578e-6, 0.002e-6);
    NEAR(figure.hi, 3.112e-6, 0.002e-6);
}

static void test_reads(void **state)
{
    (void)state;
    /* setup 6 us, latency 1.2 us, 32 KiB under way: 32768 B / 1.2 us = 27.3 GB/s */
    double sizes[] = {4096, 20480, 81920, 262144, 1048576}, times[5];
    struct kvs_probe_read read;
    for (size_t i = 0; i < 5; i++)
        times[i] = 6e-6 + 1.2e-6 + sizes[i] * 1.2e-6 / 32768;
    OK(kvs_probe_read_fit(sizes, times, 5, 1.2e-6, 55.4e9, &read, NULL));
    NEAR(read.setup_s, 6e-6, 1e-12);
    NEAR(read.outstanding_bytes, 32768, 1e-3);
    NEAR(read.rate_Bps, 32768 / 1.2e-6, 1);
    assert_false(read.is_link_bound);
    OK(kvs_probe_read_fit(sizes, times, 5, 1.2e-6, 28e9, &read, NULL));
    assert_true(read.is_link_bound);
    for (size_t i = 0; i < 5; i++)
        times[i] = 7e-6;
    assert_int_equal(kvs_probe_read_fit(sizes, times, 5, 1.2e-6, 28e9, &read, NULL),
                     KVS_ENUMERIC);
}

/* traces/h200/rates.csv: 41.1 and 55.2 GB/s of 55.4 in rows of 136 and 512 B. */
static void test_row_curve(void **state)
{
    (void)state;
    const double amount = 32 * 1048576.0;
    uint32_t widths[] = {136, 512, 4096};
    double times[] = {amount / 41.1e9 + 3.5e-6, amount / 55.2e9 + 3.5e-6, amount / 56e9};
    struct kvs_row_curve curve = {0};
    kvs_probe_row_curve(widths, times, 3, amount, 3.5e-6, 55.4e9, &curve);
    assert_int_equal(curve.n, 3);
    assert_int_equal(curve.width_bytes[0], 136);
    NEAR(curve.efficiency[0], 0.7419, 1e-9);
    NEAR(curve.efficiency[1], 0.9964, 1e-9);
    NEAR(curve.efficiency[2], 1.0, 0);
}

static void test_opposite(void **state)
{
    (void)state;
    /* 512 MiB each way in 10.6 ms: 50.6 GB/s each */
    NEAR(kvs_probe_opposite_Bps(536870912, 10.6e-3, 10.6e-3, 55.4e9), 50.65e9, 0.01e9);
    /* 1 GB: the other ended after 20 ms; the last 10 ms alone at 40 GB/s are 0.4 GB of it, so 0.6 GB
     * went in 20 ms: 30 GB/s */
    NEAR(kvs_probe_opposite_Bps(1e9, 30e-3, 20e-3, 40e9), 30e9, 1);
    NEAR(kvs_probe_opposite_Bps(1e9, 20e-3, 30e-3, 40e9), 50e9, 1);
}

static void test_groups(void **state)
{
    (void)state;
    /* four cards of 24 GB/s: 0 and 2 share one link of 25, 1 and 3 another */
    const double alone[] = {24e9, 24e9, 24e9, 24e9};
    double pair[16];
    uint32_t group[4];
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t j = 0; j < 4; j++)
            pair[4 * i + j] = (i + j) % 2 == 0 ? 25e9 : 48e9;
    assert_int_equal(kvs_probe_groups(alone, pair, 4, group), 2);
    assert_int_equal(group[0], 0);
    assert_int_equal(group[1], 1);
    assert_int_equal(group[2], 0);
    assert_int_equal(group[3], 1);
    for (uint32_t i = 0; i < 16; i++)
        pair[i] = 47e9;
    assert_int_equal(kvs_probe_groups(alone, pair, 4, group), 4);
    /* whoever shares with either: 0-1 and 1-2 make one group of three */
    pair[0 * 4 + 1] = pair[1 * 4 + 2] = 30e9;
    assert_int_equal(kvs_probe_groups(alone, pair, 4, group), 2);
    assert_int_equal(group[2], 0);
    assert_int_equal(group[3], 1);
}

static struct kvs_machine *machine_of(const char *yaml)
{
    struct kvs_diags diags;
    struct kvs_machine *machine = NULL;
    kvs_diags_init(&diags);
    OK(kvs_machine_parse("m", yaml, strlen(yaml), NULL, NULL, &diags, &machine, NULL));
    kvs_diags_fini(&diags);
    return machine;
}

#define CARD "gpu: {memory_rate: 1TB/s, flops: 1TFLOP/s}"

static void test_add_group(void **state)
{
    (void)state;
    struct kvs_machine *m =
        machine_of("{kind: machine, name: a, devices: [{" CARD ", h2d: 20GB/s}, {" CARD
                   ", h2d: 21GB/s}, {" CARD ", h2d: 22GB/s}]}");
    struct kvs_probe_group group = {.devices = 5}; /* gpu0 and gpu2 */
    group.rate[KVS_H2D].value = 25e9;
    group.rate[KVS_D2H].value = 26e9;
    OK(kvs_probe_add_group(m, &group, NULL));
    assert_int_equal(m->n_links, 5); /* root, shared0, and one each */
    for (uint32_t l = 0; l < m->n_links; l++)
        assert_true(m->links[l].parent < (int32_t)l);
    for (uint32_t d = 0; d < 3; d++) {
        const struct kvs_link *link = &m->links[m->devices[d].link];
        assert_string_equal(link->name, m->devices[d].name);
        assert_string_equal(m->links[link->parent].name, d == 1 ? "root" : "shared0");
        NEAR(link->rate[KVS_H2D].value, (20.0 + d) * 1e9, 1);
    }
    const struct kvs_link *shared = &m->links[m->links[m->devices[0].link].parent];
    NEAR(shared->rate[KVS_D2H].value, 26e9, 0);
    assert_true(shared->is_rate_measured);
    assert_string_equal(m->links[shared->parent].name, "root");
    /* once more: the link is there already */
    group.rate[KVS_H2D].value = 24e9;
    OK(kvs_probe_add_group(m, &group, NULL));
    assert_int_equal(m->n_links, 5);
    NEAR(m->links[m->links[m->devices[2].link].parent].rate[KVS_H2D].value, 24e9, 0);
    /* another group gets another name */
    group.devices = 2;
    OK(kvs_probe_add_group(m, &group, NULL));
    assert_int_equal(m->n_links, 5); /* gpu1 alone: its own link is common, and has a rate */
    kvs_machine_destroy(m);
}

static void test_add_group_below(void **state)
{
    (void)state;
    /* two switches without a rate under one root that has none: cards of both share */
    struct kvs_machine *m = machine_of(
        "{kind: machine, name: a, links: [{name: top, mode: unlimited}, {name: s0, mode: "
        "unlimited, parent: top}, {name: s1, mode: unlimited, parent: top}], devices: [{" CARD
        ", h2d: 20GB/s, parent: s0}, {" CARD ", h2d: 21GB/s, parent: s0}, {" CARD
        ", h2d: 22GB/s, parent: s1}]}");
    struct kvs_probe_group group = {.devices = 7};
    group.rate[KVS_H2D].value = 30e9;
    OK(kvs_probe_add_group(m, &group, NULL));
    for (uint32_t d = 0; d < 3; d++) {
        const struct kvs_link *own = &m->links[m->devices[d].link];
        const struct kvs_link *above = &m->links[own->parent];
        assert_string_equal(above->name, d < 2 ? "s0" : "s1");
        assert_string_equal(m->links[above->parent].name, "shared0");
        assert_string_equal(m->links[m->links[above->parent].parent].name, "top");
    }
    for (uint32_t l = 0; l < m->n_links; l++)
        assert_true(m->links[l].parent < (int32_t)l);
    kvs_machine_destroy(m);
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *gpu, *card;
        bool is_card;
    } cases[] = {
        {"NVIDIA H200", "h200", true},
        {"NVIDIA H200 NVL", "h200", false},
        {"NVIDIA H100 80GB HBM3", "h100-sxm", true},
        {"NVIDIA H100 PCIe", "h100-sxm", false},
        {"NVIDIA A100-SXM4-80GB", "a100-80gb", true},
        {"NVIDIA A100 80GB PCIe", "a100-80gb", true},
        {"NVIDIA GeForce RTX 4070", "rtx4070", true},
        {"NVIDIA GeForce RTX 4070 Ti", "rtx4070", false},
        {"NVIDIA GeForce RTX 4070 SUPER", "rtx4070", false},
        {"NVIDIA GeForce RTX 4070 Laptop GPU", "rtx4070", false},
        {"NVIDIA GeForce RTX 4060 Ti", "rtx4060ti-16gb", true},
        {"NVIDIA GeForce RTX 4060", "rtx4060ti-16gb", false},
        {"NVIDIA GeForce RTX 3060", "rtx3060", true},
        {"GeForce RTX 2080 Ti", "rtx2080ti", true},
        {"NVIDIA GeForce RTX 2080", "rtx2080ti", false},
        {"Tesla V100-SXM2-16GB", "v100", true},
        {"Tesla P40", "p40", true},
        {"NVIDIA RTX A6000", "rtx3090", false},
        {"NVIDIA", "h200", false},
        {"", "h200", false},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(cases); i++)
        if (kvs_probe_is_card(cases[i].gpu, cases[i].card) != cases[i].is_card)
            fail_msg("%s: %s", cases[i].gpu, cases[i].card);
    assert_int_equal(kvs_probe_pcie_gen("16.0 GT/s PCIe"), 4);
    assert_int_equal(kvs_probe_pcie_gen("2.5 GT/s PCIe"), 1);
    assert_int_equal(kvs_probe_pcie_gen("32 GT/s"), 5);
    assert_int_equal(kvs_probe_pcie_gen("Unknown"), 0);
    /* datasheets: RTX 3090 82 SMs at 1.695 GHz 71 TFLOP/s, H100 SXM 132 at 1.83 GHz 989 */
    NEAR(kvs_probe_flop_per_clock(8, 6) * 82 * 1.695e9, 71e12, 1e12);
    NEAR(kvs_probe_flop_per_clock(9, 0) * 132 * 1.83e9, 989e12, 5e12);
    NEAR(kvs_probe_flop_per_clock(3, 5), 0, 0);
}

static void test_changed(void **state)
{
    (void)state;
    const struct {
        struct kvs_param was, is;
        bool has_changed;
    } cases[] = {
        {{.value = 10, .lo = 10, .hi = 10}, {.value = 10.4, .lo = 10.4, .hi = 10.4}, false},
        {{.value = 10, .lo = 10, .hi = 10}, {.value = 10.6, .lo = 10.5, .hi = 10.7}, true},
        {{.value = 10, .lo = 9, .hi = 11}, {.value = 10.6, .lo = 10.5, .hi = 10.7}, false},
        {{.value = 10, .lo = 10, .hi = 10}, {.value = 12, .lo = 9, .hi = 13}, false},
        {{.value = 10, .lo = 9, .hi = 11}, {.value = 8, .lo = 7, .hi = 9}, true},
        {{.value = 0}, {.value = 1, .lo = 1, .hi = 1}, true},
        {{.value = 0}, {.value = 0}, false},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(cases); i++)
        assert_int_equal(kvs_probe_has_changed(&cases[i].was, &cases[i].is, 0),
                         cases[i].has_changed);
    /* 10 ns more is nothing, though it is twice as much */
    struct kvs_param was = {.value = 10e-9, .lo = 10e-9, .hi = 10e-9};
    struct kvs_param is = {.value = 20e-9, .lo = 20e-9, .hi = 20e-9};
    assert_true(kvs_probe_has_changed(&was, &is, 0));
    assert_false(kvs_probe_has_changed(&was, &is, 0.1e-6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figure),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_arbitration),
        cmocka_unit_test(test_commit_lead),
        cmocka_unit_test(test_commit_lead_strays),
        cmocka_unit_test(test_largest),
        cmocka_unit_test(test_first_turn),
        cmocka_unit_test(test_overheads),
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_row_curve),
        cmocka_unit_test(test_opposite),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_add_group),
        cmocka_unit_test(test_add_group_below),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
