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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hop_of_older_instance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
