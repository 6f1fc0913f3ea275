/*
 * Compute and collectives, one rule at a time. A weight takes 1 ns, a byte 1 ns; the host
 * issues everything at time 0 unless a plan makes it work in between.
 */
#include "tests/sim/toy.h"

static struct toy toy;

/* Two computes of one device take turns, first come first; a light kernel runs beside them. */
static void test_one_at_a_time(void **state)
{
    (void)state;
    toy_begin(&toy, 1);
    kvs_op_id a = toy_compute(&toy, toy_queue(&toy, 0, "a"), 1000, 1);
    kvs_op_id b = toy_compute(&toy, toy_queue(&toy, 0, "b"), 500, 1);
    kvs_op_id light = toy_light(&toy, toy_queue(&toy, 0, "c"));
    kvs_op_id d = toy_compute(&toy, toy_queue(&toy, 0, "d"), 200, 1);
    toy_run(&toy);
    TOY_EXPECT_END(&toy, a, 1000 * TOY_NS);
    TOY_EXPECT_START(&toy, b, 1000 * TOY_NS);
    TOY_EXPECT_END(&toy, light, 0);
    TOY_EXPECT_END(&toy, d, 1700 * TOY_NS);
    assert_int_equal(toy.run.devices[0].compute_ps, 1700 * TOY_NS);
    toy_fini(&toy);
}

/* Five kernels of 1 us in all, 0.1 us between them, counted once for each. */
static void test_kernel_gap(void **state)
{
    (void)state;
    toy_begin(&toy, 1);
    toy.devices[0].kernel_gap = toy_us(0.1);
    kvs_op_id a = toy_compute(&toy, toy_queue(&toy, 0, "a"), 1000, 5);
    toy_run(&toy);
    TOY_EXPECT_END(&toy, a, 1500 * TOY_NS);
    toy_fini(&toy);
}

/*
 * Half as long again while the link runs at full rate. 10 us of work; a copy of 4 us from the
 * given time on. While it runs, work proceeds at 1 / 1.5, so 4 us do 2.667 us of it and the
 * rest takes 7.333 us: 11.333 us in all, wherever the copy lies inside. A copy of narrow rows
 * at half rate runs 8 us and slows by a quarter: 8 / 1.25 = 6.4 us done, 3.6 left: 11.6 us.
 */
static void test_slowed_by_copies(void **state)
{
    (void)state;
    const struct {
        unsigned copy_at_us;
        double row_efficiency;
        kvs_time end_ps;
    } table[] = {{0, 1.0, 11333334}, {3, 1.0, 11333334}, {0, 0.5, 11600000}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        toy_begin(&toy, 1);
        toy.profiles[0].copy_slowdown = toy_figure(0.5);
        toy.machine.host.between_tokens = toy_us(1);
        toy.devices[0].engines.row_curve = (struct kvs_row_curve){
            .n = 1, .width_bytes = {100}, .efficiency = {table[i].row_efficiency}};
        kvs_op_id work = toy_compute(&toy, toy_queue(&toy, 0, "k"), 10000, 1);
        toy_host(&toy, table[i].copy_at_us);
        toy_copy_rows(&toy, toy_queue(&toy, 0, "a"), 40, 100, KVS_OP_2D);
        toy_run(&toy);
        TOY_EXPECT_END(&toy, work, table[i].end_ps);
        toy_fini(&toy);
    }
}

/* Copies to the host leave compute alone, and so do copies of another device. */
static void test_not_slowed(void **state)
{
    (void)state;
    toy_begin(&toy, 2);
    toy.profiles[0].copy_slowdown = toy_figure(0.5);
    kvs_op_id work = toy_compute(&toy, toy_queue(&toy, 0, "k"), 10000, 1);
    toy_copy(&toy, toy_queue(&toy, 0, "a"), 4000, KVS_OP_D2H);
    toy_copy(&toy, toy_queue(&toy, 1, "b"), 4000, 0);
    toy_run(&toy);
    TOY_EXPECT_END(&toy, work, 10 * TOY_US);
    toy_fini(&toy);
}

/* On a shared uplink of 1 GB/s two copies of 2,000 B run at half rate for 4 us: compute of
 * device 0 goes at 1 / 1.25 and has 10 - 3.2 = 6.8 us left: 10.8 us. One ps of rounding is
 * allowed. */
static void test_slowed_on_a_shared_link(void **state)
{
    (void)state;
    toy_begin(&toy, 2);
    toy.profiles[0].copy_slowdown = toy_figure(0.5);
    toy.machine.host.memory_rate = toy_figure(1e9);
    kvs_op_id work = toy_compute(&toy, toy_queue(&toy, 0, "k"), 10000, 1);
    toy_copy(&toy, toy_queue(&toy, 0, "a"), 2000, 0);
    toy_copy(&toy, toy_queue(&toy, 1, "b"), 2000, 0);
    toy_run(&toy);
    assert_in_range(toy_span(&toy, work)->end_ps, 10800000 - 2, 10800000 + 2);
    toy_fini(&toy);
}

/* Members of 5 and 8 us of compute: the all-reduce of 2 us begins when the later one arrives
 * and ends for both; 500 B at 0.5 GB/s add 1 us where the backend has a rate. */
static void test_collective(void **state)
{
    (void)state;
    for (unsigned has_rate = 0; has_rate < 2; has_rate++) {
        toy_begin(&toy, 2);
        toy.machine.collective.latency = toy_us(2);
        toy.machine.collective.rate = toy_figure(has_rate ? 0.5e9 : 0);
        uint16_t q[2] = {toy_queue(&toy, 0, "k0"), toy_queue(&toy, 1, "k1")};
        toy_compute(&toy, q[0], 5000, 1);
        toy_compute(&toy, q[1], 8000, 1);
        kvs_op_id a = toy_member(&toy, q[0], 0, 2), b = toy_member(&toy, q[1], 0, 2);
        kvs_op_id after = toy_compute(&toy, q[0], 1000, 1);
        toy_run(&toy);
        kvs_time end = (has_rate ? 11 : 10) * TOY_US;
        TOY_EXPECT_START(&toy, a, 8 * TOY_US);
        TOY_EXPECT_START(&toy, b, 8 * TOY_US);
        TOY_EXPECT_END(&toy, a, end);
        TOY_EXPECT_END(&toy, b, end);
        TOY_EXPECT_START(&toy, after, end);
        assert_int_equal(toy.run.devices[0].collective_ps, end - 8 * TOY_US);
        toy_fini(&toy);
    }
}

/*
 * Two dependent host reads share the idle 2 us, and each waits behind 1,000 B in flight while
 * the engine of a member runs: 1 us on a link of 1 GB/s, 2 us on one of half the rate, and the
 * slowest member counts. From 0 on: no copy             1 + 1           = 2 9 us of copies (1 +
 * 1) + (1+1) = 4 a copy of 1.5 us    (1 + 1) + 1     = 3     the engine rests when the second
 * read starts half rate, 9 us     (1 + 2) + (1+2) = 6
 */
static void test_trips(void **state)
{
    (void)state;
    const struct {
        unsigned copy_bytes;
        double other_rate_Bps;
        kvs_time end_us;
    } table[] = {{0, 1e9, 2}, {9000, 1e9, 4}, {1500, 1e9, 3}, {4500, 0.5e9, 6}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        toy_begin(&toy, 2);
        toy.machine.collective.latency = toy_us(2);
        toy.machine.collective.trips = toy_figure(2);
        for (unsigned d = 0; d < 2; d++)
            toy.devices[d].engines.in_flight_bytes = toy_figure(1000);
        toy_set_rate(&toy.links[2], table[i].other_rate_Bps);
        toy_copy(&toy, toy_queue(&toy, 1, "a"), table[i].copy_bytes, 0);
        kvs_op_id a = toy_member(&toy, toy_queue(&toy, 0, "k0"), 0, 2);
        kvs_op_id b = toy_member(&toy, toy_queue(&toy, 1, "k1"), 0, 2);
        toy_run(&toy);
        TOY_EXPECT_END(&toy, a, table[i].end_us * TOY_US);
        TOY_EXPECT_END(&toy, b, table[i].end_us * TOY_US);
        toy_fini(&toy);
    }
}

/* Two groups, issued in the same order by both members, do not mix. */
static void test_two_groups(void **state)
{
    (void)state;
    toy_begin(&toy, 3);
    toy.machine.collective.latency = toy_us(2);
    uint16_t q[3] = {toy_queue(&toy, 0, "k0"), toy_queue(&toy, 1, "k1"),
                     toy_queue(&toy, 2, "k2")};
    kvs_op_id a = toy_member(&toy, q[0], 0, 2);
    toy_member(&toy, q[1], 0, 2);
    toy_compute(&toy, q[2], 1000, 1);
    kvs_op_id b = toy_member(&toy, q[1], 1, 2);
    toy_member(&toy, q[2], 1, 2);
    toy_run(&toy);
    TOY_EXPECT_END(&toy, a, 2 * TOY_US);
    TOY_EXPECT_END(&toy, b, 4 * TOY_US);
    toy_fini(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_kernel_gap),
        cmocka_unit_test(test_slowed_by_copies),
        cmocka_unit_test(test_not_slowed),
        cmocka_unit_test(test_slowed_on_a_shared_link),
        cmocka_unit_test(test_collective),
        cmocka_unit_test(test_trips),
        cmocka_unit_test(test_two_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
