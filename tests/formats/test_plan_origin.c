/* What a plan says it was made for, against cases written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "formats/plan_origin.h"

/* Two devices with shares 3 and 1: three quarters and one. */
static struct kvs_plan_origin made(uint64_t depth, kvs_kv_type type_k)
{
    static const double shares[] = {3.0, 1.0};
    static struct kvs_machine machine = {.name = "box", .n_devices = 2};
    static struct kvs_llm llm = {.name = "tiny"};
    struct kvs_plan_origin origin;
    struct kvs_case c;
    kvs_case_init(&c);
    c.machine = &machine;
    c.llm = &llm;
    c.workload.depth = depth;
    c.workload.type_k = type_k;
    c.placement.mode = KVS_SPLIT_TENSOR;
    c.placement.shares = shares;
    kvs_plan_origin_of(&c, &origin);
    return origin;
}

static void test_of_case(void **state)
{
    (void)state;
    struct kvs_plan_origin o = made(4096, KVS_KV_F16);
    assert_string_equal(o.machine, "box");
    assert_string_equal(o.model, "tiny");
    assert_string_equal(o.split_mode, "tensor");
    assert_string_equal(o.shares, "0.75/0.25");
    assert_string_equal(o.type_k, "f16");
    assert_string_equal(o.type_v, "q8_0"); /* the default */
    assert_int_equal(o.n_parallel, 1);
    assert_true(o.has_depth);
    assert_int_equal(o.depth, 4096);
}

static void test_differences(void **state)
{
    (void)state;
    struct kvs_plan_origin a = made(4096, KVS_KV_F16), b = made(16384, KVS_KV_Q8_0);
    struct kvs_plan_origin none = {.type_k = "q4_0"};
    struct kvs_text text = {0};
    kvs_plan_origin_differences(&a, &a, &text);
    kvs_plan_origin_differences(&a, &(struct kvs_plan_origin){.model = "tiny"}, &text);
    assert_int_equal(text.n, 0);
    kvs_plan_origin_differences(&a, &b, &text);
    assert_string_equal(text.data, "type_k f16 instead of q8_0, depth 4096 instead of 16384");
    text.n = 0;
    kvs_plan_origin_differences(&none, &b, &text); /* the rest is not said */
    assert_string_equal(text.data, "type_k q4_0 instead of q8_0");
    kvs_text_fini(&text);
    assert_true(kvs_plan_origin_is_known(&a));
    assert_false(kvs_plan_origin_is_known(&none));
    a.has_depth = false;
    assert_false(kvs_plan_origin_is_known(&a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_case),
        cmocka_unit_test(test_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
