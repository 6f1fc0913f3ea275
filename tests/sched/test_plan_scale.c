/* Scaled plans are proved like the ones they come from, and move as many times the bytes. */
#include <math.h>

#include "sched/plan_scale.h"
#include "tests/sim/toy.h"

static struct toy toy;

static uint64_t copied_bytes(const struct kvs_plan *plan)
{
    uint64_t bytes = 0;
    for (size_t s = 0; s < plan->segments.n; s++) {
        const struct kvs_segment *segment = &plan->segments.items[s];
        for (size_t i = 0; i < segment->ops.n; i++) {
            const struct kvs_op *op = &segment->ops.items[i];
            for (uint32_t a = 0; op->kind == KVS_OP_COPY && a < op->n_access; a += 2)
                bytes += kvs_range_bytes(&segment->accesses.items[op->first_access + a]);
        }
    }
    return bytes;
}

static void plan_of(uint32_t n_devices, kvs_split_mode mode, const struct kvs_policy *policy)
{
    kvs_plan_destroy(toy.plan);
    toy_init(&toy, n_devices);
    toy_set_layers(&toy, 3);
    toy.llm.hidden = 8;
    toy.llm.rotation_k_bytes = 136;
    toy.c.workload.depth = 250;
    toy.c.workload.n_gen = 9;
    toy.c.placement.mode = mode;
    toy.c.transport.lookahead = 1;
    toy.c.transport.budget_bytes = UINT64_MAX;
    TOY_OK(policy->plan(&toy.c, NULL, &toy.plan, err));
}

static void test_policies(void **state)
{
    (void)state;
    const struct kvs_policy *policies[] = {&kvs_policy_ordered, &kvs_policy_pipelined};
    const double factors[] = {1.0, 2.0, 2.25, 6.5};
    for (size_t p = 0; p < KVS_COUNT_OF(policies); p++) {
        for (uint32_t n = 1; n <= 2; n++) {
            for (size_t f = 0; f < KVS_COUNT_OF(factors); f++) {
                double got = 0.0;
                plan_of(n, n == 1 ? KVS_SPLIT_NONE : KVS_SPLIT_TENSOR, policies[p]);
                uint64_t before = copied_bytes(toy.plan);
                TOY_OK(kvs_plan_scale(toy.plan, factors[f], &got, err));
                TOY_OK(kvs_plan_check(toy.plan, NULL, NULL, err));
                /* heads of 34 bytes, hidden states of 32, constants of 136: two in common, as aligned */
                assert_true(got == floor(factors[f] + 0.5));
                assert_int_equal(copied_bytes(toy.plan), (uint64_t)((double)before * got));
            }
        }
    }
}

/* A width that would not fit 32 bits leaves the plan as it was. */
static void test_too_large(void **state)
{
    (void)state;
    double got;
    struct kvs_error fault = {0};
    plan_of(1, KVS_SPLIT_NONE, &kvs_policy_pipelined);
    uint64_t before = copied_bytes(toy.plan);
    assert_int_equal(kvs_plan_scale(toy.plan, 1e9, &got, &fault), KVS_ERANGE);
    assert_non_null(strstr(fault.text, "do not fit"));
    assert_int_equal(copied_bytes(toy.plan), before);
    TOY_OK(kvs_plan_check(toy.plan, NULL, NULL, err));
}

static int tear_down(void **state)
{
    (void)state;
    kvs_plan_destroy(toy.plan);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_policies),
        cmocka_unit_test(test_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
