/* Which instance of an operation a dependency means when several tokens are under way. */
#include "tests/sim/toy.h"

static struct toy toy;

/*
 * Token t: the host issues a compute of 1 us, waits for it, and issues a light one on another
 * queue that depends on the compute of token t - 2; a hop takes 0.5 us. Compute t runs from t
 * to t + 1 us, so the light one is issued at t + 1 us, when the hop from compute t - 2 has been
 * over for 1.5 us: it starts at once, not a hop behind compute t.
 */
static void test_hop_of_older_instance(void **state)
{
    (void)state;
    toy_init(&toy, 1);
    toy_new_plan(&toy);
    toy_segment(&toy, 6, false);
    toy.machine.host.hop = toy_us(0.5);
    kvs_op_id work = toy_compute(&toy, toy_queue(&toy, 0, "work"), 1000, 1);
    toy_wait(&toy, work);
    kvs_op_id light = toy_light(&toy, toy_queue(&toy, 0, "light"));
    toy_dep(&toy, work, 2);
    toy_run(&toy);
    for (uint32_t t = 0; t < 6; t++)
        TOY_EXPECT_PS(toy_span_of(&toy, t, light)->start_ps, (t + 1) * TOY_US);
    toy_fini(&toy);
}

/*
 * A plan lists its operations in issue order within a token; those of phase 1 may come before
 * those of phase 0. A queue still runs token 0's first: 1 us for phase 0, 2 us for phase 1.
 */
static void test_phases_in_any_order(void **state)
{
    (void)state;
    toy_init(&toy, 1);
    toy_new_plan(&toy);
    struct kvs_segment *segment = toy_segment(&toy, 5, false);
    segment->period = 2;
    uint16_t k = toy_queue(&toy, 0, "k");
    kvs_op_id odd = toy_compute(&toy, k, 2000, 1);
    segment->ops.items[odd].phase = 1;
    kvs_op_id even = toy_compute(&toy, k, 1000, 1);
    toy_run(&toy);
    const kvs_time starts_us[] = {0, 1, 3, 4, 6};
    for (uint32_t t = 0; t < 5; t++)
        TOY_EXPECT_PS(toy_span_of(&toy, t, t % 2 == 0 ? even : odd)->start_ps,
                      starts_us[t] * TOY_US);
    TOY_EXPECT_PS(toy.run.total_ps, 7 * TOY_US);
    toy_fini(&toy);
}

/* A queue that has nothing to do in the first of two phases runs the other's. */
static void test_phase_without_work(void **state)
{
    (void)state;
    toy_init(&toy, 1);
    toy_new_plan(&toy);
    struct kvs_segment *segment = toy_segment(&toy, 4, false);
    segment->period = 2;
    kvs_op_id odd = toy_compute(&toy, toy_queue(&toy, 0, "k"), 2000, 1);
    segment->ops.items[odd].phase = 1;
    toy_run(&toy);
    TOY_EXPECT_PS(toy_span_of(&toy, 1, odd)->start_ps, 0);
    TOY_EXPECT_PS(toy_span_of(&toy, 3, odd)->start_ps, 2 * TOY_US);
    TOY_EXPECT_PS(toy.run.total_ps, 4 * TOY_US);
    toy_fini(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hop_of_older_instance),
        cmocka_unit_test(test_phases_in_any_order),
        cmocka_unit_test(test_phase_without_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
