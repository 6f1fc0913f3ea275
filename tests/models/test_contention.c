/* What copies contend for: by hand, and that over random trees nothing else binds. */
#include "models/contention.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/rng.h"
#include "models/copy.h"

#define GB   1e9
#define NONE KVS_CONTENTION_NONE

enum { MAX_LINKS = 24, MAX_DEVICES = 6, MAX_RESOURCES = 2 * MAX_LINKS + 1 };

static struct kvs_link links[MAX_LINKS];
static struct kvs_device devices[MAX_DEVICES];
static struct kvs_machine machine = {.links = links, .devices = devices};

static double capacity[MAX_RESOURCES], capacity_opposite[MAX_RESOURCES], demand[MAX_RESOURCES];
static uint32_t opposite[MAX_RESOURCES];
static const struct kvs_contention contention = {capacity, capacity_opposite, opposite, demand};

static void begin(void)
{
    machine.n_links = machine.n_devices = 0;
    machine.host.memory_rate.value = 0.0;
}

static struct kvs_link *add_link(int32_t parent, kvs_link_mode mode, double h2d_Bps,
                                 double d2h_Bps)
{
    struct kvs_link *link = &links[machine.n_links++];
    *link = (struct kvs_link){
        .parent = parent, .mode = mode, .rate = {{.value = h2d_Bps}, {.value = d2h_Bps}}};
    return link;
}

static struct kvs_link *add_device(int32_t parent, double h2d_Bps, double d2h_Bps)
{
    struct kvs_link *slot = add_link(parent, KVS_LINK_DUPLEX, h2d_Bps, d2h_Bps);
    devices[machine.n_devices++] = (struct kvs_device){.link = machine.n_links - 1};
    return slot;
}

/* Fills from arrays that hold something else. */
static void fill(void)
{
    for (uint32_t r = 0; r < MAX_RESOURCES; r++) {
        capacity[r] = capacity_opposite[r] = demand[r] = -7.0;
        opposite[r] = 7;
    }
    kvs_contention_fill(&machine, &contention);
}

static void expect_resource(uint32_t r, double expected_capacity, double expected_opposed,
                            uint32_t expected_opposite, double expected_demand)
{
    if (capacity[r] != expected_capacity || capacity_opposite[r] != expected_opposed ||
        opposite[r] != expected_opposite ||
        fabs(demand[r] - expected_demand) > 1e-9 * expected_demand)
        fail_msg("resource %u: capacity %g, opposed %g by %u, demand %g", r, capacity[r],
                 capacity_opposite[r], opposite[r], demand[r]);
}

static void expect_path(uint32_t device, kvs_dir dir, uint32_t n, const uint32_t *expected)
{
    uint32_t path[KVS_SHARE_MAX_PATH];
    assert_int_equal(kvs_contention_path(&machine, &contention, device, dir, path), n);
    for (uint32_t k = 0; k < n; k++)
        assert_int_equal(path[k], expected[k]);
}

/* The tree of the header: slots of 16 and 8 below a switch of 25. */
static void add_tree(void)
{
    begin();
    add_link(-1, KVS_LINK_DUPLEX, 25 * GB, 25 * GB);
    add_device(0, 16 * GB, 16 * GB);
    add_device(0, 8 * GB, 8 * GB);
}

/* 3 links: 7 resources. The switch is asked for 16 + 8 = 24 < 25 and the slots for what they
 * have; memory without a limit for 2 x 24 = 48: nothing binds. With 40 the memory does, for all
 * four. */
static void test_example(void **state)
{
    (void)state;
    add_tree();
    fill();
    assert_int_equal(kvs_contention_n_resources(&machine), 7);
    for (uint32_t dir = 0; dir < KVS_N_DIRS; dir++) {
        expect_resource(0 + dir, 25 * GB, 25 * GB, NONE, 24 * GB);
        expect_resource(2 + dir, 16 * GB, 16 * GB, NONE, 16 * GB);
        expect_resource(4 + dir, 8 * GB, 8 * GB, NONE, 8 * GB);
    }
    expect_resource(6, HUGE_VAL, HUGE_VAL, NONE, 48 * GB);
    for (uint32_t d = 0; d < 2; d++)
        for (uint32_t dir = 0; dir < KVS_N_DIRS; dir++)
            expect_path(d, (kvs_dir)dir, 0, NULL);

    machine.host.memory_rate.value = 40 * GB;
    fill();
    expect_resource(6, 40 * GB, 40 * GB, NONE, 48 * GB);
    for (uint32_t d = 0; d < 2; d++)
        for (uint32_t dir = 0; dir < KVS_N_DIRS; dir++)
            expect_path(d, (kvs_dir)dir, 1, (uint32_t[]){6});
}

/* The switch takes 25 down and 20 up, and is asked for 24 each way: only upwards it binds. With
 * memory of 40 as well, a path has both, the switch first. */
static void test_one_direction(void **state)
{
    (void)state;
    add_tree();
    links[0].rate[KVS_D2H].value = 20 * GB;
    fill();
    expect_path(0, KVS_H2D, 0, NULL);
    expect_path(0, KVS_D2H, 1, (uint32_t[]){1});
    expect_path(1, KVS_D2H, 1, (uint32_t[]){1});
    machine.host.memory_rate.value = 40 * GB;
    fill();
    expect_path(1, KVS_H2D, 1, (uint32_t[]){6});
    expect_path(1, KVS_D2H, 2, (uint32_t[]){1, 6});
}

/* A path asks for what it carries alone: behind a switch of 3 the slots' 16 and 8 are 3 each,
 * so the switch is asked for 6 of 3 and the slots for 3 of what they have. */
static void test_demand_is_of_paths(void **state)
{
    (void)state;
    add_tree();
    links[0].rate[KVS_H2D].value = 3 * GB;
    fill();
    expect_resource(0, 3 * GB, 3 * GB, NONE, 6 * GB);
    expect_resource(2, 16 * GB, 16 * GB, NONE, 3 * GB);
    expect_resource(4, 8 * GB, 8 * GB, NONE, 3 * GB);
    expect_path(0, KVS_H2D, 1, (uint32_t[]){0});
    expect_path(0, KVS_D2H, 0, NULL);
}

/* A half-duplex slot of 4: both directions are resource 2, asked for 4 + 4 = 8; 3 is none. */
static void test_half_duplex(void **state)
{
    (void)state;
    begin();
    add_link(-1, KVS_LINK_UNLIMITED, 0, 0);
    add_device(0, 4 * GB, 4 * GB)->mode = KVS_LINK_SHARED;
    fill();
    expect_resource(0, HUGE_VAL, HUGE_VAL, NONE, 4 * GB);
    expect_resource(1, HUGE_VAL, HUGE_VAL, NONE, 4 * GB);
    expect_resource(2, 4 * GB, 4 * GB, NONE, 8 * GB);
    expect_resource(3, HUGE_VAL, HUGE_VAL, NONE, 0);
    expect_path(0, KVS_H2D, 1, (uint32_t[]){2});
    expect_path(0, KVS_D2H, 1, (uint32_t[]){2});
}

/* Full duplex of 10 and 9, but 7 down while bytes move up; up nothing is said, so 9 stays. Both
 * directions are contended for by a single device: its other direction has to be seen. The
 * rates under opposite traffic of a half-duplex link mean nothing. */
static void test_opposite(void **state)
{
    (void)state;
    begin();
    struct kvs_link *slot = add_device(-1, 10 * GB, 9 * GB);
    slot->opposite[KVS_H2D].value = 7 * GB;
    fill();
    expect_resource(0, 10 * GB, 7 * GB, 1, 10 * GB);
    expect_resource(1, 9 * GB, 9 * GB, 0, 9 * GB);
    expect_path(0, KVS_H2D, 1, (uint32_t[]){0});
    expect_path(0, KVS_D2H, 1, (uint32_t[]){1});

    slot->opposite[KVS_H2D].value = 0;
    slot->opposite[KVS_D2H].value = 6 * GB;
    fill();
    expect_resource(0, 10 * GB, 10 * GB, 1, 10 * GB);
    expect_resource(1, 9 * GB, 6 * GB, 0, 9 * GB);

    slot->mode = KVS_LINK_SHARED;
    fill();
    assert_int_equal(opposite[0], NONE);
}

/* In doubles 0.1 + 0.1 + 0.1 is more than 0.3 by one unit of the last place. That much is
 * not demand, a millionth is. */
static void test_rounding(void **state)
{
    (void)state;
    begin();
    add_link(-1, KVS_LINK_DUPLEX, 0.3, 0.3 * (1 - 1e-6));
    for (uint32_t d = 0; d < 3; d++)
        add_device(0, 0.1, 0.1);
    fill();
    assert_true(demand[0] > capacity[0]);
    expect_path(2, KVS_H2D, 0, NULL);
    expect_path(2, KVS_D2H, 1, (uint32_t[]){1});
}

/* As deep as a machine may be: 14 links of 1 in a chain (0 to 13), and two slots of 1 at its end.
 * Each link is asked for 2, and so is the memory of 1: numbers 26 down to 0, and 2 x 16 = 32. The
 * slots are asked for 1. With the 10 lowest of the chain unlimited the 4 above them are all. */
static void test_deep(void **state)
{
    (void)state;
    uint32_t expected[KVS_SHARE_MAX_PATH];
    begin();
    for (int32_t l = 0; l < (int32_t)KVS_MACHINE_MAX_DEPTH - 1; l++)
        add_link(l - 1, KVS_LINK_DUPLEX, 1, 1);
    add_device(KVS_MACHINE_MAX_DEPTH - 2, 1, 1);
    add_device(KVS_MACHINE_MAX_DEPTH - 2, 1, 1);
    machine.host.memory_rate.value = 1;
    fill();
    for (uint32_t k = 0; k < 14; k++)
        expected[k] = 26 - 2 * k;
    expected[14] = 32;
    expect_path(1, KVS_H2D, 15, expected);

    for (uint32_t l = 4; l < 14; l++)
        links[l].mode = KVS_LINK_UNLIMITED;
    fill();
    expect_path(1, KVS_H2D, 5, (uint32_t[]){6, 4, 2, 0, 32});
}

static void random_machine(struct kvs_rng *rng)
{
    begin();
    uint32_t n_inner = 1 + (uint32_t)kvs_rng_below(rng, 5);
    for (uint32_t l = 0; l < n_inner; l++) {
        double rate = GB * (double)(4 + kvs_rng_below(rng, 30));
        add_link((int32_t)kvs_rng_below(rng, l + 1) - 1,
                 (kvs_link_mode)kvs_rng_below(rng, KVS_LINK_UNLIMITED + 1), rate, rate);
    }
    uint32_t n_devices = 1 + (uint32_t)kvs_rng_below(rng, MAX_DEVICES);
    for (uint32_t d = 0; d < n_devices; d++) {
        double rate = GB * (double)(1 + kvs_rng_below(rng, 16));
        add_device((int32_t)kvs_rng_below(rng, n_inner), rate, rate);
    }
    if (kvs_rng_below(rng, 2) == 0)
        machine.host.memory_rate.value = GB * (double)(10 + kvs_rng_below(rng, 60));
}

/* Every resource that the path crosses, worked out from the numbering alone. */
static void whole_path(uint32_t device, kvs_dir dir, struct kvs_share_flow *flow)
{
    flow->n_path = 0;
    for (int32_t l = (int32_t)devices[device].link; l >= 0; l = links[l].parent)
        flow->path[flow->n_path++] =
            2 * (uint32_t)l + (links[l].mode != KVS_LINK_SHARED && dir == KVS_D2H);
    flow->path[flow->n_path++] = 2 * machine.n_links;
}

/*
 * What is left out cannot bind: whichever copies run, each gets over the resources named what
 * it gets over all that it crosses. Rates are whole GB/s, so that sums often meet a capacity
 * exactly.
 */
static void test_nothing_else_binds(void **state)
{
    (void)state;
    struct kvs_rng *rng;
    uint32_t n_left_out = 0, n_held_back = 0, count[MAX_RESOURCES];
    assert_int_equal(kvs_rng_create(20263, &rng, NULL), KVS_OK);
    for (unsigned trial = 0; trial < 3000; trial++) {
        struct kvs_share_flow named[2 * MAX_DEVICES], whole[2 * MAX_DEVICES];
        double got[2 * MAX_DEVICES], expected[2 * MAX_DEVICES], left[MAX_RESOURCES];
        uint32_t n = 0;
        random_machine(rng);
        fill();
        for (uint32_t i = 0; i < 2 * machine.n_devices; i++) {
            uint32_t d = i / 2;
            kvs_dir dir = (kvs_dir)(i % 2);
            if (kvs_rng_below(rng, 4) == 0)
                continue; /* not running */
            named[n].limit_Bps = whole[n].limit_Bps = kvs_path_rate_Bps(&machine, d, dir);
            named[n].n_path = kvs_contention_path(&machine, &contention, d, dir, named[n].path);
            whole_path(d, dir, &whole[n]);
            n_left_out += whole[n].n_path - named[n].n_path;
            n++;
        }
        uint32_t n_resources = kvs_contention_n_resources(&machine);
        kvs_share_rates(named, n, capacity, n_resources, left, count, got);
        kvs_share_rates(whole, n, capacity, n_resources, left, count, expected);
        for (uint32_t f = 0; f < n; f++) {
            if (fabs(got[f] - expected[f]) > 1e-9 * expected[f])
                fail_msg("trial %u: flow %u gets %.9g, over all it crosses %.9g", trial, f,
                         got[f], expected[f]);
            n_held_back += got[f] < named[f].limit_Bps;
        }
    }
    assert_true(n_left_out > 1000 && n_held_back > 1000);
    kvs_rng_destroy(rng);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),     cmocka_unit_test(test_one_direction),
        cmocka_unit_test(test_half_duplex), cmocka_unit_test(test_demand_is_of_paths),
        cmocka_unit_test(test_opposite),    cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_deep),        cmocka_unit_test(test_nothing_else_binds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
