/* What the host pays for an operation, before the device sees it and from then on. */
#include "sched/cost.h"
#include "tests/sim/toy.h"

static struct toy toy;

static struct kvs_op attention(uint64_t kv_bytes)
{
    return (struct kvs_op){
        .kind = KVS_OP_COMPUTE,
        .tag = KVS_TAG_ATTENTION,
        .queue = 1,
        .compute = {.params = 1000, .kv_bytes = kv_bytes, .n_kernels = 24, .n_queries = 1}};
}

static struct kvs_costs costs(kvs_submit submit, bool is_streamed)
{
    struct kvs_costs out;
    struct kvs_error err;
    toy_init(&toy, 1);
    toy.machine.host.submit = submit;
    toy.machine.host.kernel_launch = toy_us(4);
    toy.machine.host.graph_launch = toy_us(1);
    if (is_streamed) {
        toy.devices[0].stream.rate = toy.devices[0].stream.fold_rate = toy_figure(1e9);
        toy.c.compute = KVS_COMPUTE_STREAMED;
    }
    assert_int_equal(kvs_costs_create(&toy.c, &out, &err), KVS_OK);
    return out;
}

/*
 * As a graph: one launch. Kernel by kernel: one launch, and 23 while the first is at work. kvsim's
 * own kernels: one folds K before the graph and two fold V and make rows behind it, unless the
 * operation has no cells.
 */
static void test_compute_calls(void **state)
{
    (void)state;
    const struct {
        kvs_submit submit;
        bool is_streamed;
        uint64_t kv_bytes;
        kvs_time call_us, more_us;
    } table[] = {{KVS_SUBMIT_GRAPH, false, 100, 1, 0},
                 {KVS_SUBMIT_KERNELS, false, 100, 4, 23 * 4},
                 {KVS_SUBMIT_GRAPH, true, 100, 4, 1 + 2 * 4},
                 {KVS_SUBMIT_GRAPH, true, 0, 1, 0}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        struct kvs_costs c = costs(table[i].submit, table[i].is_streamed);
        struct kvs_op op = attention(table[i].kv_bytes);
        assert_int_equal(kvs_op_call_ps(&c, &op), table[i].call_us * TOY_US);
        assert_int_equal(kvs_op_more_ps(&c, &op), table[i].more_us * TOY_US);
        kvs_costs_fini(&c);
    }
}

static void test_handoffs(void **state)
{
    (void)state;
    struct kvs_costs c = costs(KVS_SUBMIT_GRAPH, false);
    assert_int_equal(c.longest_handoff_ps, 0);
    kvs_costs_fini(&c);
    toy.devices[0].engines.handoff = toy_us(3);
    struct kvs_error err;
    assert_int_equal(kvs_costs_create(&toy.c, &c, &err), KVS_OK);
    assert_int_equal(c.longest_handoff_ps, 3 * TOY_US);
    const kvs_op_class kernels[] = {KVS_CLASS_HEAVY, KVS_CLASS_LIGHT, KVS_CLASS_MEMBER,
                                    KVS_CLASS_KERNEL_COPY};
    const kvs_op_class copy = KVS_CLASS_ENGINE_COPY;
    for (size_t i = 0; i < KVS_COUNT_OF(kernels); i++) {
        assert_int_equal(kvs_op_handoff_ps(&c, 0, kernels[i], copy), 3 * TOY_US);
        assert_int_equal(kvs_op_handoff_ps(&c, 0, copy, kernels[i]), 3 * TOY_US);
        assert_int_equal(kvs_op_handoff_ps(&c, 0, KVS_CLASS_HEAVY, kernels[i]), 0);
    }
    assert_int_equal(kvs_op_handoff_ps(&c, 0, copy, copy), 0);
    kvs_costs_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compute_calls),
        cmocka_unit_test(test_handoffs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
