/* Queues: what lies between the end of an operation and the start of one that waited for it. */
#include "tests/sim/toy.h"

static struct toy toy;

/* A hop of 1 us from queue to queue, a handoff of 2 us between kernels and copies. */
static void begin(void)
{
    toy_begin(&toy, 2);
    toy.machine.host.hop = toy_us(1);
    for (uint32_t d = 0; d < 2; d++)
        toy.devices[d].engines.handoff = toy_us(2);
}

/* Kernel of 10 us, copy of 4 us, copy, kernel, kernel: 10 + 2 + 4 + 4 + 2 + 10 + 10 = 42. */
static void test_one_queue(void **state)
{
    (void)state;
    begin();
    uint16_t queue = toy_queue(&toy, 0, "a");
    toy_compute(&toy, queue, 10000, 1);
    kvs_op_id copy = toy_copy(&toy, queue, 4000, 0);
    toy_copy(&toy, queue, 4000, 0);
    toy_compute(&toy, queue, 10000, 1);
    kvs_op_id last = toy_compute(&toy, queue, 10000, 1);
    toy_run(&toy);
    TOY_EXPECT_END(&toy, copy, 16 * TOY_US);
    TOY_EXPECT_END(&toy, last, 42 * TOY_US);
    toy_fini(&toy);
}

/*
 * By an event of another queue the hop comes on top: a copy after 10 us of compute starts at 13,
 * and at 11 on another device, where engine and kernel have nothing to hand on.
 */
static void test_across_queues(void **state)
{
    (void)state;
    begin();
    kvs_op_id work = toy_compute(&toy, toy_queue(&toy, 0, "k"), 10000, 1);
    kvs_op_id near = toy_copy(&toy, toy_queue(&toy, 0, "a"), 4000, 0);
    toy_dep(&toy, work, 0);
    kvs_op_id far = toy_copy(&toy, toy_queue(&toy, 1, "b"), 4000, 0);
    toy_dep(&toy, work, 0);
    kvs_op_id after = toy_compute(&toy, toy_queue(&toy, 0, "l"), 10000, 1);
    toy_dep(&toy, work, 0);
    toy_run(&toy);
    TOY_EXPECT_END(&toy, near, 17 * TOY_US);
    TOY_EXPECT_END(&toy, far, 15 * TOY_US);
    TOY_EXPECT_END(&toy, after, 21 * TOY_US);
    toy_fini(&toy);
}

/* Issued 3 us after the kernel's end, a copy finds nothing to wait for. */
static void test_long_over(void **state)
{
    (void)state;
    begin();
    toy.machine.host.between_tokens = toy_us(1);
    uint16_t queue = toy_queue(&toy, 0, "a");
    toy_compute(&toy, queue, 10000, 1);
    toy_host(&toy, 13);
    kvs_op_id copy = toy_copy(&toy, queue, 4000, 0);
    toy_run(&toy);
    TOY_EXPECT_END(&toy, copy, 17 * TOY_US);
    toy_fini(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_queue),
        cmocka_unit_test(test_across_queues),
        cmocka_unit_test(test_long_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
