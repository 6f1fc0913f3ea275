/* Links that several copies share: max-min rates, recomputed when a copy enters or leaves. */
#include "tests/sim/toy.h"

static struct toy toy;

/* n devices behind one switch (the last link) of rate_Bps, their own slots 1 GB/s each. */
static void behind_switch(uint32_t n, double rate_Bps)
{
    toy_begin(&toy, n);
    toy.links[n + 1] = toy.links[n]; /* parents stand before children */
    for (uint32_t d = n; d > 0; d--)
        toy.links[d + 1] = toy.links[d];
    toy.links[1] = (struct kvs_link){.name = "switch", .parent = 0};
    toy_set_rate(&toy.links[1], rate_Bps);
    toy.machine.n_links = n + 2;
    for (uint32_t d = 0; d < n; d++) {
        toy.links[d + 2].parent = 1;
        toy.devices[d].link = d + 2;
    }
}

static kvs_op_id copy_on(uint16_t device, uint32_t bytes, uint8_t flags)
{
    char name[16];
    snprintf(name, sizeof name, "d%u.q%zu", device, toy.plan->queues.n);
    return toy_copy(&toy, toy_queue(&toy, device, name), bytes, flags);
}

/* Rates are fractions of a byte per ps in between: an end may be off by a few ps. */
static void expect_near(kvs_op_id op, double us, int line)
{
    double off_ps = (double)toy_span(&toy, op)->end_ps - us * 1e6;
    if (off_ps > 5 || off_ps < -5)
        fail_msg("line %d: op %u ends at %.6f us, expected %.6f", line, op,
                 (double)toy_span(&toy, op)->end_ps * 1e-6, us);
}
#define EXPECT_NEAR(op, us) expect_near((op), (us), __LINE__)

/* Uplink 1 GB/s for two: 0.5 each. The short one, 1,000 B, ends at 2 us; the long one, 3,000 B,
 * has 2,000 left then and goes on alone: 4 us. */
static void test_leaving(void **state)
{
    (void)state;
    behind_switch(2, 1e9);
    kvs_op_id short_one = copy_on(0, 1000, 0), long_one = copy_on(1, 3000, 0);
    toy_run(&toy);
    EXPECT_NEAR(short_one, 2.0);
    EXPECT_NEAR(long_one, 4.0);
    assert_int_equal(toy.run.links[1].moved_bytes[KVS_H2D], 4000);
    toy_fini(&toy);
}

/* The second enters at 1 us, when the first has 2,000 of 3,000 B left: both at 0.5; the second,
 * of 500 B, leaves at 2 us; the first has 1,500 left: 3.5 us. */
static void test_entering(void **state)
{
    (void)state;
    behind_switch(2, 1e9);
    toy.machine.host.between_tokens = toy_us(1);
    kvs_op_id first = copy_on(0, 3000, 0);
    toy_host(&toy, 1);
    kvs_op_id second = copy_on(1, 500, 0);
    toy_run(&toy);
    EXPECT_NEAR(second, 2.0);
    EXPECT_NEAR(first, 3.5);
    toy_fini(&toy);
}

/* Uplink 2.5 GB/s for three that can take 1 each: 0.833. One whose rows reach half its rate
 * keeps 0.5, the others 1.0 each. */
static void test_own_limits(void **state)
{
    (void)state;
    behind_switch(3, 2.5e9);
    toy.devices[2].engines.row_curve =
        (struct kvs_row_curve){.n = 1, .width_bytes = {100}, .efficiency = {0.5}};
    kvs_op_id a = copy_on(0, 1000, 0), b = copy_on(1, 1000, 0);
    kvs_op_id c = toy_copy_rows(&toy, toy_queue(&toy, 2, "c"), 10, 100, KVS_OP_2D);
    toy_run(&toy);
    EXPECT_NEAR(a, 1.0);
    EXPECT_NEAR(b, 1.0);
    EXPECT_NEAR(c, 2.0);
    toy_fini(&toy);

    behind_switch(3, 2.5e9);
    kvs_op_id ops[3] = {copy_on(0, 1000, 0), copy_on(1, 1000, 0), copy_on(2, 1000, 0)};
    toy_run(&toy);
    for (unsigned i = 0; i < 3; i++)
        EXPECT_NEAR(ops[i], 1.2);
    toy_fini(&toy);
}

/* The overhead of a copy takes nothing from the others: the second moves bytes from 2 us on. */
static void test_overhead_moves_nothing(void **state)
{
    (void)state;
    behind_switch(2, 1e9);
    toy.devices[1].engines.first_overhead = toy_us(2);
    kvs_op_id a = copy_on(0, 3000, 0), b = copy_on(1, 2000, 0);
    toy_run(&toy);
    EXPECT_NEAR(a, 4.0); /* 2,000 B until 2 us, then 1,000 at 0.5 */
    EXPECT_NEAR(b, 5.0); /* 1,000 B until 4 us, then alone */
    assert_int_equal(toy.run.devices[1].engine_ps[KVS_H2D], toy_span(&toy, b)->end_ps);
    assert_int_equal(toy.run.devices[1].moving_ps[KVS_H2D],
                     toy_span(&toy, b)->end_ps - 2 * TOY_US);
    toy_fini(&toy);
}

/* Duplex: directions do not meet. Shared: they draw on one rate. Unlimited: no limit at all. */
static void test_modes(void **state)
{
    (void)state;
    const struct {
        kvs_link_mode mode;
        double end_us;
    } table[] = {{KVS_LINK_DUPLEX, 1.0}, {KVS_LINK_SHARED, 2.0}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        toy_begin(&toy, 1);
        toy.links[1].mode = table[i].mode;
        kvs_op_id down = copy_on(0, 1000, 0), up = copy_on(0, 1000, KVS_OP_D2H);
        toy_run(&toy);
        EXPECT_NEAR(down, table[i].end_us);
        EXPECT_NEAR(up, table[i].end_us);
        toy_fini(&toy);
    }
    behind_switch(2, 1e9);
    toy.links[1].mode = KVS_LINK_UNLIMITED;
    kvs_op_id a = copy_on(0, 1000, 0), b = copy_on(1, 1000, 0);
    toy_run(&toy);
    EXPECT_NEAR(a, 1.0);
    EXPECT_NEAR(b, 1.0);
    toy_fini(&toy);
}

/* h2d falls to 0.5 GB/s and d2h to 0.8 while the other moves. Down 2,000 B, up 800 B: up ends
 * at 1 us with 1,500 left down: 2.5 us. Either figure works without the other. */
static void test_opposite(void **state)
{
    (void)state;
    const struct {
        double down_Bps, up_Bps;
        double down_us, up_us;
    } table[] = {{0.5e9, 0.8e9, 2.5, 1.0}, {0.5e9, 0, 2.4, 0.8}, {0, 0.8e9, 2.0, 1.0}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        toy_begin(&toy, 1);
        toy.links[1].opposite[KVS_H2D] = toy_figure(table[i].down_Bps);
        toy.links[1].opposite[KVS_D2H] = toy_figure(table[i].up_Bps);
        kvs_op_id down = copy_on(0, 2000, 0), up = copy_on(0, 800, KVS_OP_D2H);
        toy_run(&toy);
        EXPECT_NEAR(down, table[i].down_us);
        EXPECT_NEAR(up, table[i].up_us);
        toy_fini(&toy);
    }
}

/* Host memory of 1.5 GB/s under two links of 1: 0.75 each. */
static void test_host_memory(void **state)
{
    (void)state;
    toy_begin(&toy, 2);
    toy.machine.host.memory_rate = toy_figure(1.5e9);
    kvs_op_id a = copy_on(0, 1500, 0), b = copy_on(1, 3000, 0);
    toy_run(&toy);
    EXPECT_NEAR(a, 2.0);
    EXPECT_NEAR(b, 3.5);
    toy_fini(&toy);
}

/* Two pairs that share nothing: one pair's copies do not touch the other's rates. */
static void test_domains(void **state)
{
    (void)state;
    behind_switch(4, 1e9);
    toy.links[6] = (struct kvs_link){.name = "switch2", .parent = 0};
    toy_set_rate(&toy.links[6], 1e9);
    /* children must follow parents: devices 2 and 3 hang straight from links after it */
    struct kvs_link slot = toy.links[5];
    slot.parent = 6;
    toy.links[7] = toy.links[8] = slot;
    toy.machine.n_links = 9;
    toy.devices[2].link = 7;
    toy.devices[3].link = 8;
    kvs_op_id a = copy_on(0, 1000, 0), b = copy_on(1, 1000, 0), c = copy_on(2, 1000, 0);
    toy_run(&toy);
    EXPECT_NEAR(a, 2.0);
    EXPECT_NEAR(b, 2.0);
    EXPECT_NEAR(c, 1.0);
    toy_fini(&toy);
}

/*
 * The second of three devices on a switch is slower in one direction while the other one is busy,
 * which ties the switch's two directions together for it. The others' copies to the host still
 * share the switch: 0.5 each, and the second is alone for its last 1,000 B.
 */
static void test_domains_joined_late(void **state)
{
    (void)state;
    behind_switch(3, 1e9);
    toy.links[toy.devices[1].link].opposite[KVS_H2D] = toy_figure(5e8);
    kvs_op_id a = copy_on(0, 1000, KVS_OP_D2H), b = copy_on(2, 2000, KVS_OP_D2H);
    toy_run(&toy);
    EXPECT_NEAR(a, 2.0);
    EXPECT_NEAR(b, 3.0);
    toy_fini(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leaving),
        cmocka_unit_test(test_entering),
        cmocka_unit_test(test_own_limits),
        cmocka_unit_test(test_overhead_moves_nothing),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_opposite),
        cmocka_unit_test(test_host_memory),
        cmocka_unit_test(test_domains),
        cmocka_unit_test(test_domains_joined_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
