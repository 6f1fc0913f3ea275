/*
 * Copy engines, one rule at a time. A byte takes 1 ns; the host issues everything at time 0
 * unless a plan makes it work in between.
 */
#include "tests/sim/toy.h"

static struct toy toy;

/* A1 b A2 ... An of 1,000 B each (b: 10 B), issued in this order; returns b. */
static kvs_op_id a_b_a(unsigned n_a, kvs_op_id *last)
{
    uint16_t a = toy_queue(&toy, 0, "a"), b_queue = toy_queue(&toy, 0, "b");
    *last = toy_copy(&toy, a, 1000, 0);
    kvs_op_id b = toy_copy(&toy, b_queue, 10, 0);
    for (unsigned i = 1; i < n_a; i++)
        *last = toy_copy(&toy, a, 1000, 0);
    return b;
}

/* b waits for every copy of the stream being served: n x 1 us, then its own 10 ns. */
static void test_sticky(void **state)
{
    (void)state;
    const unsigned counts[] = {1, 2, 5, 17};
    for (size_t i = 0; i < KVS_COUNT_OF(counts); i++) {
        kvs_op_id last;
        toy_begin(&toy, 1);
        kvs_op_id b = a_b_a(counts[i], &last);
        toy_run(&toy);
        TOY_EXPECT_END(&toy, last, counts[i] * TOY_US);
        TOY_EXPECT_END(&toy, b, counts[i] * TOY_US + 10 * TOY_NS);
        toy_fini(&toy);
    }
}

/*
 * The times measured on an H200 (docs/copy-engine.md): A1 of 48 MiB and b of 64 KiB are issued
 * first, then the other copies of 48 MiB; b is done at 0.918, 1.830, 4.564 and 15.504 ms. By
 * the figures of that card: 55.4 GB/s, 3.5 us for a first copy, 2 us behind another, 1.5 us a
 * call.
 */
static void test_measured(void **state)
{
    (void)state;
    const struct {
        unsigned n_a;
        double b_done_us;
    } table[] = {{1, 918}, {2, 1830}, {5, 4564}, {17, 15504}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        toy_begin(&toy, 1);
        toy_set_rate(&toy.links[1], 55.4e9);
        toy.devices[0].engines.first_overhead = toy_us(3.5);
        toy.devices[0].engines.next_overhead = toy_us(2);
        toy.devices[0].engines.commit_lead = toy_us(10);
        toy.machine.host.copy_call = toy_us(1.5);
        uint16_t a = toy_queue(&toy, 0, "a");
        toy_copy(&toy, a, 48 << 20, 0);
        kvs_op_id b = toy_copy(&toy, toy_queue(&toy, 0, "b"), 64 << 10, 0);
        for (unsigned k = 1; k < table[i].n_a; k++)
            toy_copy(&toy, a, 48 << 20, 0);
        toy_run(&toy);
        double ratio = (double)toy_span(&toy, b)->end_ps * 1e-6 / table[i].b_done_us;
        if (ratio < 0.997 || ratio > 1.003)
            fail_msg("b after %u: %.4f of the measured time", table[i].n_a, ratio);
        toy_fini(&toy);
    }
}

static void test_fifo(void **state)
{
    (void)state;
    kvs_op_id last;
    toy_begin(&toy, 1);
    toy.devices[0].engines.arbitration = KVS_ARB_FIFO;
    kvs_op_id b = a_b_a(2, &last);
    toy_run(&toy);
    TOY_EXPECT_END(&toy, b, 1 * TOY_US + 10 * TOY_NS);
    TOY_EXPECT_END(&toy, last, 2 * TOY_US + 10 * TOY_NS);
    toy_fini(&toy);
}

/* A1 ends at 1 ms. A2 issued 20 us before is committed, 19 us before is not. */
static void test_commit_lead(void **state)
{
    (void)state;
    const struct {
        unsigned issued_us;
        bool is_a2_first;
    } table[] = {{700, true}, {975, true}, {980, true}, {981, false}, {999, false}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        toy_begin(&toy, 1);
        toy.devices[0].engines.commit_lead = toy_us(20);
        toy.machine.host.between_tokens = toy_us(1);
        uint16_t a = toy_queue(&toy, 0, "a"), b_queue = toy_queue(&toy, 0, "b");
        toy_copy(&toy, a, 1000000, 0);
        kvs_op_id b = toy_copy(&toy, b_queue, 1000, 0);
        toy_host(&toy, table[i].issued_us);
        kvs_op_id a2 = toy_copy(&toy, a, 5000, 0);
        toy_run(&toy);
        TOY_EXPECT_START(&toy, table[i].is_a2_first ? a2 : b, 1000 * TOY_US);
        toy_fini(&toy);
    }
}

/* A2 behind an event that completes after A1: b runs in the gap. And behind a yield: A's next
 * operation is a kernel, so its next copy is not ready when A1 ends. */
static void test_gap_in_the_stream(void **state)
{
    (void)state;
    for (unsigned with_yield = 0; with_yield < 2; with_yield++) {
        toy_begin(&toy, 1);
        uint16_t a = toy_queue(&toy, 0, "a"), b_queue = toy_queue(&toy, 0, "b");
        uint16_t k = toy_queue(&toy, 0, "k");
        kvs_op_id event = toy_compute(&toy, k, 1500, 1);
        toy_copy(&toy, a, 1000, 0);
        kvs_op_id b = toy_copy(&toy, b_queue, 10, 0);
        if (with_yield)
            toy_light(&toy, a);
        kvs_op_id a2 = toy_copy(&toy, a, 1000, 0);
        if (!with_yield)
            toy_dep(&toy, event, 0);
        toy_run(&toy);
        TOY_EXPECT_END(&toy, b, 1010 * TOY_NS);
        TOY_EXPECT_START(&toy, a2, (with_yield ? 1010 : 1500) * TOY_NS);
        toy_fini(&toy);
    }
}

/* One stream per copy, chained by events: nothing to stick to, b comes second. With an event
 * hop of 2 us the next in the chain is not there when the first copy ends; an engine that was
 * measured to hold its first turn for the chain waits for it. */
static void test_chain(void **state)
{
    (void)state;
    const struct {
        double hop_us;
        kvs_first_turn turn;
        kvs_time b_end_ps;
    } table[] = {{0, KVS_FIRST_TURN_FREE, 1011 * TOY_NS},
                 {2, KVS_FIRST_TURN_FREE, 1011 * TOY_NS},
                 {2, KVS_FIRST_TURN_CHAINED, 4011 * TOY_NS}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        toy_begin(&toy, 1);
        toy.machine.host.hop = toy_us(table[i].hop_us);
        toy.machine.host.copy_call = toy_us(0.001);
        toy.devices[0].engines.first_turn = table[i].turn;
        kvs_op_id previous = toy_copy(&toy, toy_queue(&toy, 0, "s0"), 1000, 0);
        kvs_op_id second = toy_copy(&toy, toy_queue(&toy, 0, "s1"), 1000, 0);
        toy_dep(&toy, previous, 0);
        toy_copy(&toy, toy_queue(&toy, 0, "s2"), 1000, 0);
        toy_dep(&toy, second, 0);
        kvs_op_id b = toy_copy(&toy, toy_queue(&toy, 0, "b"), 10, 0);
        toy_run(&toy);
        TOY_EXPECT_END(&toy, b, table[i].b_end_ps);
        toy_fini(&toy);
    }
}

/* Up to 100 B skip the engine in 5 us, when they are one 1D copy to the device on an idle
 * stream. */
static void test_bypass(void **state)
{
    (void)state;
    const struct {
        uint32_t rows;
        uint32_t width;
        uint8_t flags;
        bool skips;
    } table[] = {{1, 100, 0, true},
                 {1, 101, 0, false},
                 {2, 50, KVS_OP_2D, false},
                 {1, 100, KVS_OP_2D, false},
                 {1, 101, KVS_OP_PAGEABLE, true},
                 {1, 201, KVS_OP_PAGEABLE, false}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        toy_begin(&toy, 1);
        toy.devices[0].engines.bypass_bytes = toy_figure(100);
        toy.devices[0].engines.bypass_pageable_bytes = toy_figure(200);
        toy.devices[0].engines.bypass_latency = toy_us(5);
        toy.machine.host.pageable_rate = toy_figure(TOY_RATE_BPS);
        toy_copy(&toy, toy_queue(&toy, 0, "a"), 50000, 0);
        kvs_op_id b = toy_copy_rows(&toy, toy_queue(&toy, 0, "b"), table[i].rows,
                                    table[i].width, table[i].flags);
        toy_run(&toy);
        kvs_time bytes = (kvs_time)(table[i].rows * table[i].width);
        TOY_EXPECT_END(&toy, b, table[i].skips ? 5 * TOY_US : 50 * TOY_US + bytes * TOY_NS);
        assert_int_equal(toy.run.devices[0].moved_bytes[KVS_H2D], 50000 + bytes);
        assert_int_equal(toy.run.devices[0].tag_bytes[KVS_TAG_DELIVER], 50000 + bytes);
        toy_fini(&toy);
    }
}

/* Of two small copies on a stream the second finds it busy; on an idle engine there is nothing
 * to skip; and a copy to the host goes to its own engine and takes its bytes. */
static void test_no_bypass(void **state)
{
    (void)state;
    toy_begin(&toy, 1);
    toy.devices[0].engines.bypass_bytes = toy_figure(100);
    toy.devices[0].engines.bypass_latency = toy_us(5);
    uint16_t b = toy_queue(&toy, 0, "b");
    kvs_op_id idle = toy_copy(&toy, b, 40, 0);
    toy_wait(&toy, idle);
    toy_copy(&toy, toy_queue(&toy, 0, "a"), 50000, 0);
    kvs_op_id one = toy_copy(&toy, b, 40, 0), two = toy_copy(&toy, b, 40, 0);
    kvs_op_id up = toy_copy(&toy, toy_queue(&toy, 0, "c"), 40, KVS_OP_D2H);
    toy_run(&toy);
    TOY_EXPECT_END(&toy, idle, 40 * TOY_NS);
    TOY_EXPECT_END(&toy, one, 5 * TOY_US + 40 * TOY_NS);
    TOY_EXPECT_END(&toy, two, 50 * TOY_US + 80 * TOY_NS);
    TOY_EXPECT_END(&toy, up, 80 * TOY_NS);
    toy_fini(&toy);
}

/* First on an idle engine 3 us, right behind another 2 us, the link's latency of 0.5 us for
 * each: 0 .. 4.5, .. 8.0; after a pause until 20 us first again: .. 24.5. */
static void test_overheads(void **state)
{
    (void)state;
    toy_begin(&toy, 1);
    toy.devices[0].engines.first_overhead = toy_us(3);
    toy.devices[0].engines.next_overhead = toy_us(2);
    toy.links[1].latency = toy_us(0.5);
    toy.machine.host.between_tokens = toy_us(20);
    uint16_t a = toy_queue(&toy, 0, "a");
    kvs_op_id first = toy_copy(&toy, a, 1000, 0), next = toy_copy(&toy, a, 1000, 0);
    toy_host(&toy, 1);
    kvs_op_id later = toy_copy(&toy, a, 1000, 0);
    toy_run(&toy);
    TOY_EXPECT_END(&toy, first, 4500 * TOY_NS);
    TOY_EXPECT_END(&toy, next, 8000 * TOY_NS);
    TOY_EXPECT_END(&toy, later, 24500 * TOY_NS);
    assert_int_equal(toy.run.devices[0].engine_ps[KVS_H2D], 12500 * TOY_NS);
    assert_int_equal(toy.run.devices[0].moving_ps[KVS_H2D], 3000 * TOY_NS);
    toy_fini(&toy);
}

/* Two engines: both directions at once; the copy to the host costs 3 us more under the other
 * one. One engine: one after the other. */
static void test_directions(void **state)
{
    (void)state;
    for (uint32_t n_engines = 1; n_engines <= 2; n_engines++) {
        toy_begin(&toy, 1);
        toy.devices[0].engines.n_engines = n_engines;
        toy.devices[0].engines.opposite_overhead = toy_us(3);
        kvs_op_id down = toy_copy(&toy, toy_queue(&toy, 0, "a"), 9000, 0);
        kvs_op_id up = toy_copy(&toy, toy_queue(&toy, 0, "b"), 1000, KVS_OP_D2H);
        toy_run(&toy);
        TOY_EXPECT_END(&toy, down, 9 * TOY_US);
        TOY_EXPECT_END(&toy, up, (n_engines == 1 ? 10 : 4) * TOY_US);
        assert_int_equal(toy.run.devices[0].moved_bytes[KVS_D2H], 1000);
        toy_fini(&toy);
    }
}

/* Rows of 544 B at half of the rate: 2 ns a byte; a 1D copy of as many bytes is not slowed. */
static void test_rows(void **state)
{
    (void)state;
    toy_begin(&toy, 1);
    toy.devices[0].engines.row_curve =
        (struct kvs_row_curve){.n = 1, .width_bytes = {544}, .efficiency = {0.5}};
    uint16_t a = toy_queue(&toy, 0, "a");
    kvs_op_id rows = toy_copy_rows(&toy, a, 10, 544, KVS_OP_2D);
    kvs_op_id flat = toy_copy_rows(&toy, a, 10, 544, 0);
    toy_run(&toy);
    TOY_EXPECT_END(&toy, rows, 2 * 5440 * TOY_NS);
    TOY_EXPECT_END(&toy, flat, 3 * 5440 * TOY_NS);
    toy_fini(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sticky),
        cmocka_unit_test(test_measured),
        cmocka_unit_test(test_fifo),
        cmocka_unit_test(test_commit_lead),
        cmocka_unit_test(test_gap_in_the_stream),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_bypass),
        cmocka_unit_test(test_no_bypass),
        cmocka_unit_test(test_overheads),
        cmocka_unit_test(test_directions),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
