/* Kernels that copy, beside copies of the engine. */
#include "tests/sim/toy.h"

static struct toy toy;

/*
 * A kernel reads 3,000 B over the link: set-up 1 us, round trip 2 us, 1,000 B outstanding.
 * Idle: 1 + 2 + 3 x 2 = 9 us. Behind 1,000 B in flight of a copy at 1 GB/s a trip takes 3: 1 +
 * 3 + 9 = 13.
 */
static void begin(double trips)
{
    toy_begin(&toy, 1);
    struct kvs_device *d = &toy.devices[0];
    d->read_setup = toy_us(1);
    d->read_latency = toy_us(2);
    d->read_outstanding_bytes = toy_figure(1000);
    d->read_trips = toy_figure(trips);
    d->engines.in_flight_bytes = toy_figure(1000);
    toy.machine.host.between_tokens = toy_us(1);
}

static kvs_op_id copy(uint32_t bytes)
{
    return toy_copy(&toy, toy_queue(&toy, 0, "a"), bytes, 0);
}

static kvs_op_id kernel(void)
{
    return toy_copy(&toy, toy_queue(&toy, 0, "k"), 3000, KVS_OP_VIA_KERNEL);
}

static void test_alone_and_beside(void **state)
{
    (void)state;
    /* each further trip at its end waits 1 us more behind the bytes in flight, none when idle */
    const struct {
        uint32_t bytes;
        double trips;
        kvs_time end_us;
    } table[] = {{0, 1, 9}, {0, 3, 9}, {50000, 1, 13}, {50000, 3, 15}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        begin(table[i].trips);
        copy(table[i].bytes);
        kvs_op_id k = kernel();
        toy_run(&toy);
        TOY_EXPECT_END(&toy, k, table[i].end_us * TOY_US);
        assert_int_equal(toy.run.devices[0].tag_bytes[KVS_TAG_DELIVER], 3000 + table[i].bytes);
        toy_fini(&toy);
    }
}

/* 3 of 9 us are done when the copy begins: two thirds of 13 us are left. */
static void test_copy_begins(void **state)
{
    (void)state;
    begin(1);
    kvs_op_id k = kernel();
    toy_host(&toy, 3);
    copy(50000);
    toy_run(&toy);
    TOY_EXPECT_END(&toy, k, 11666667);
    toy_fini(&toy);
}

/*
 * The copy makes way for what the kernel reads meanwhile, 3,000 B in 13 us: 6,500 B and 0.2308 of
 * its own time take T = 6.5 + 0.2308 T = 8.45 us. By then 0.65 of the kernel is done, and the rest
 * takes 0.35 x 9 us: 11.6 us. The copy ends within a byte, so both times are right to a ns or so.
 */
static void test_copy_ends(void **state)
{
    (void)state;
    begin(1);
    kvs_op_id c = copy(6500);
    kvs_op_id k = kernel();
    toy_run(&toy);
    kvs_time copied = toy_span(&toy, c)->end_ps, read = toy_span(&toy, k)->end_ps;
    assert_in_range(copied, 8448 * TOY_NS, 8450 * TOY_NS);
    assert_in_range(read, 11599 * TOY_NS, 11601 * TOY_NS);
    toy_fini(&toy);
}

/* A copy that outlasts the kernel moves on by the kernel's bytes: 3,000 B beside it, 3 us. On a
 * path that shares with its opposite direction as well, where nothing goes that way. */
static void test_copy_makes_way(void **state)
{
    (void)state;
    for (unsigned is_shared = 0; is_shared < 2; is_shared++) {
        begin(1);
        if (is_shared)
            toy.links[1].opposite[KVS_H2D] = toy.links[1].opposite[KVS_D2H] =
                toy_figure(0.5 * TOY_RATE_BPS);
        kvs_op_id c = copy(50000);
        kvs_op_id k = kernel();
        toy_run(&toy);
        TOY_EXPECT_END(&toy, k, 13 * TOY_US);
        kvs_time copied = toy_span(&toy, c)->end_ps; /* thirds of a byte may round up */
        assert_in_range(copied, 53 * TOY_US, 53 * TOY_US + 1);
        toy_fini(&toy);
    }
}

/* Two kernels of two queues at once, each by the same rule; copies to the host leave both alone. */
static void test_several(void **state)
{
    (void)state;
    begin(1);
    toy_copy(&toy, toy_queue(&toy, 0, "up"), 50000, KVS_OP_D2H);
    kvs_op_id first = kernel();
    toy_host(&toy, 3);
    kvs_op_id second = toy_copy(&toy, toy_queue(&toy, 0, "l"), 3000, KVS_OP_VIA_KERNEL);
    copy(50000);
    toy_run(&toy);
    TOY_EXPECT_END(&toy, first, 11666667);
    TOY_EXPECT_END(&toy, second, 16 * TOY_US);
    toy_fini(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone_and_beside), cmocka_unit_test(test_copy_begins),
        cmocka_unit_test(test_copy_ends),        cmocka_unit_test(test_copy_makes_way),
        cmocka_unit_test(test_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
