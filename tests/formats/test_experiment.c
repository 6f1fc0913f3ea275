/* Experiments: arms, settings, defaults, and every case of tests/data/invalid/experiment. */
#include "formats/experiment.h"

#include "tests/invalid_cases.h"

#define CASES_DIR KVS_SOURCE_DIR "/tests/data/invalid/experiment"
#define HEAD                                                                                   \
    "kind: experiment\nname: e\nquestion: Which?\nmachine: rtx4070\nmodel: qwen3.8-27b\n"

/* What kvs_diags_print says of the bytes. Returns to caller: kvs_mem_free. */
static char *complaints_of(const char *bytes, size_t n)
{
    struct kvs_experiment experiment;
    struct kvs_diags diags;
    struct kvs_error err;
    kvs_diags_init(&diags);
    kvs_status status = kvs_experiment_parse("input.yaml", bytes, n, &diags, &experiment, &err);
    assert_int_not_equal(status, KVS_OK);
    assert_int_equal(status, err.status);
    assert_null(experiment.name);
    return invalid_printed(&diags);
}

static void test_invalid(void **state)
{
    (void)state;
    invalid_cases_run(CASES_DIR, 40, complaints_of);
}

static void test_arms(void **state)
{
    static const struct {
        const char *text;
        const char *name;
        uint32_t lookahead;
        kvs_streams streams;
        kvs_yield yield;
        kvs_late late;
    } cases[] = {
        {"resident", "resident", 0, KVS_STREAMS_ONE, KVS_YIELD_NONE, KVS_LATE_COPY},
        {"ordered", "ordered", 0, KVS_STREAMS_ONE, KVS_YIELD_NONE, KVS_LATE_COPY},
        {"pipelined", "pipelined", 1, KVS_STREAMS_ONE, KVS_YIELD_NONE, KVS_LATE_COPY},
        {"pipelined+n1", "pipelined", 1, KVS_STREAMS_ONE, KVS_YIELD_NONE, KVS_LATE_COPY},
        {"pipelined+n14", "pipelined+n14", 14, KVS_STREAMS_ONE, KVS_YIELD_NONE, KVS_LATE_COPY},
        {"pipelined+per-slot", "pipelined+per-slot", 1, KVS_STREAMS_PER_SLOT, KVS_YIELD_NONE,
         KVS_LATE_COPY},
        {"pipelined+yield", "pipelined+yield", 1, KVS_STREAMS_ONE, KVS_YIELD_LAYER,
         KVS_LATE_COPY},
        {"pipelined+yield-kv", "pipelined+yield-kv", 1, KVS_STREAMS_ONE, KVS_YIELD_KV,
         KVS_LATE_COPY},
        {"pipelined+late-kernel+yield-kv+n4+per-slot",
         "pipelined+n4+per-slot+yield-kv+late-kernel", 4, KVS_STREAMS_PER_SLOT, KVS_YIELD_KV,
         KVS_LATE_KERNEL},
        {"continuous", "continuous", 1, KVS_STREAMS_ONE, KVS_YIELD_NONE, KVS_LATE_COPY},
        {"continuous+n2", "continuous+n2", 2, KVS_STREAMS_ONE, KVS_YIELD_NONE, KVS_LATE_COPY},
    };
    (void)state;
    for (size_t i = 0; i < KVS_COUNT_OF(cases); i++) {
        struct kvs_arm arm;
        struct kvs_transport transport = {.budget_bytes = 7};
        assert_int_equal(kvs_arm_parse(cases[i].text, &arm, NULL), KVS_OK);
        assert_string_equal(arm.name, cases[i].name);
        kvs_arm_apply(&arm, &transport);
        assert_int_equal(transport.lookahead, cases[i].lookahead);
        assert_int_equal(transport.streams, cases[i].streams);
        assert_int_equal(transport.yield, cases[i].yield);
        assert_int_equal(transport.late, cases[i].late);
        assert_int_equal(transport.budget_bytes, 7);
        assert_int_equal(transport.keeps_tail, arm.policy == &kvs_policy_continuous);
    }
    struct kvs_arm arm;
    struct kvs_error err = {0};
    assert_int_equal(kvs_arm_parse("continuous+n2+yield", &arm, &err), KVS_EINVAL);
    assert_string_equal(err.text, "continuous takes no option but nN, got \"yield\"");
}

/* llama.cpp's -kvpd: 0 is ordered, N is pipelined with look-ahead N. */
static void test_arm_from_lookahead(void **state)
{
    struct kvs_arm arm;
    (void)state;
    assert_int_equal(kvs_arm_from_lookahead(0, &arm, NULL), KVS_OK);
    assert_string_equal(arm.name, "ordered");
    assert_int_equal(kvs_arm_from_lookahead(1, &arm, NULL), KVS_OK);
    assert_string_equal(arm.name, "pipelined");
    assert_int_equal(kvs_arm_from_lookahead(4, &arm, NULL), KVS_OK);
    assert_string_equal(arm.name, "pipelined+n4");
    assert_ptr_equal(arm.policy, &kvs_policy_pipelined);
    assert_int_equal(kvs_arm_from_lookahead(15, &arm, NULL), KVS_ERANGE);
}

static void parse(const char *yaml, struct kvs_experiment *out)
{
    struct kvs_diags diags;
    kvs_diags_init(&diags);
    kvs_status status = kvs_experiment_parse("e.yaml", yaml, strlen(yaml), &diags, out, NULL);
    kvs_diags_print(&diags, stderr);
    kvs_diags_fini(&diags);
    assert_int_equal(status, KVS_OK);
}

static void assert_values(const struct kvs_experiment *e, kvs_setting setting,
                          const uint64_t *expected, size_t n)
{
    assert_int_equal(e->values[setting].n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(e->values[setting].items[i], expected[i]);
}

static void test_values(void **state)
{
    struct kvs_experiment e;
    (void)state;
    parse(HEAD
          "depth: [4096, 2048]\nn_gen: 1\ntype_k: [f16, q4_0]\nsplit_mode: [none, tensor]\n"
          "tensor_split: [50/50, 3/1]\nkvpb: [0, 512, 1GiB, 1000B]\nunified: [true, false]\n"
          "arbitration: fifo\nhead_split: explicit\npinned: false\n"
          "arms: [ordered, pipelined+n2]\nmeasured: traces/a.csv\n",
          &e);
    assert_values(&e, KVS_SETTING_DEPTH, (const uint64_t[]){4096, 2048}, 2);
    assert_values(&e, KVS_SETTING_N_GEN, (const uint64_t[]){1}, 1);
    assert_values(&e, KVS_SETTING_TYPE_K, (const uint64_t[]){KVS_KV_F16, KVS_KV_Q4_0}, 2);
    assert_values(&e, KVS_SETTING_TYPE_V, NULL, 0);
    assert_values(&e, KVS_SETTING_SPLIT_MODE,
                  (const uint64_t[]){KVS_SPLIT_NONE, KVS_SPLIT_TENSOR}, 2);
    /* 512 MiB = 512 x 2^20 = 536870912 */
    assert_values(&e, KVS_SETTING_KVPB, (const uint64_t[]){0, 536870912, 1073741824, 1000}, 4);
    assert_values(&e, KVS_SETTING_UNIFIED, (const uint64_t[]){1, 0}, 2);
    assert_values(&e, KVS_SETTING_ARBITRATION, (const uint64_t[]){KVS_ARBITRATION_FIFO}, 1);
    assert_values(&e, KVS_SETTING_HEAD_SPLIT, (const uint64_t[]){KVS_SPLIT_EXPLICIT}, 1);
    assert_values(&e, KVS_SETTING_PINNED, (const uint64_t[]){0}, 1);
    assert_int_equal(e.splits.n, 2);
    assert_string_equal(e.splits.items[1].text, "3/1");
    assert_int_equal(e.splits.items[1].n, 2);
    assert_true(e.splits.items[1].items[0] == 3.0);
    assert_int_equal(e.arms.n, 2);
    assert_string_equal(e.measured, "traces/a.csv");
    kvs_experiment_fini(&e);
}

/* The names of a setting are those that the rest of the program uses. */
static void test_names_agree(void **state)
{
    (void)state;
    const char *const *rules = kvs_setting_names(KVS_SETTING_HEAD_SPLIT);
    for (unsigned i = 0; i <= KVS_SPLIT_EXPLICIT; i++)
        assert_string_equal(rules[i], kvs_split_rule_name((kvs_split_rule)i));
    const char *const *types = kvs_setting_names(KVS_SETTING_TYPE_K);
    for (unsigned i = 0; i < KVS_KV_TYPE_COUNT; i++)
        assert_string_equal(types[i], kvs_kv_type_name((kvs_kv_type)i));
}

/* Defaults are the fork's, as kvs_case_init states them. */
static void test_complete(void **state)
{
    struct kvs_experiment e;
    struct kvs_case c;
    (void)state;
    kvs_case_init(&c);
    parse(HEAD, &e);
    assert_int_equal(kvs_experiment_complete(&e, 1, NULL), KVS_OK);
    assert_values(&e, KVS_SETTING_N_GEN, (const uint64_t[]){c.workload.n_gen}, 1);
    assert_values(&e, KVS_SETTING_TYPE_V, (const uint64_t[]){c.workload.type_v}, 1);
    assert_values(&e, KVS_SETTING_KVPB, (const uint64_t[]){c.transport.budget_bytes}, 1);
    assert_values(&e, KVS_SETTING_PINNED, (const uint64_t[]){c.workload.is_pinned}, 1);
    assert_values(&e, KVS_SETTING_SPLIT_MODE, (const uint64_t[]){KVS_SPLIT_NONE}, 1);
    assert_values(&e, KVS_SETTING_TENSOR_SPLIT, NULL, 0);
    assert_int_equal(e.arms.n, 2);
    assert_string_equal(e.arms.items[0].name, "ordered");
    assert_string_equal(e.arms.items[1].name, "pipelined");
    kvs_experiment_fini(&e);

    parse(HEAD "arms: resident\n", &e);
    assert_int_equal(kvs_experiment_complete(&e, 2, NULL), KVS_OK);
    assert_values(&e, KVS_SETTING_SPLIT_MODE, (const uint64_t[]){KVS_SPLIT_LAYER}, 1);
    assert_int_equal(e.arms.n, 1);
    kvs_experiment_fini(&e);
}

static void test_shares_must_match(void **state)
{
    struct kvs_experiment e;
    struct kvs_error err;
    (void)state;
    parse(HEAD "tensor_split: [50/50, 1/1/1]\n", &e);
    assert_int_equal(kvs_experiment_complete(&e, 2, &err), KVS_EINVAL);
    assert_string_equal(err.text,
                        "tensor_split: \"1/1/1\" has 3 shares, the machine has 2 devices");
    kvs_experiment_fini(&e);
}

static void test_print_value(void **state)
{
    struct kvs_experiment e;
    struct kvs_text text = {0};
    (void)state;
    parse(HEAD "tensor_split: 3/1\n", &e);
    kvs_experiment_print_value(&e, KVS_SETTING_KVPB, 536870912, &text);
    kvs_text_puts(&text, " ");
    kvs_experiment_print_value(&e, KVS_SETTING_KVPB, 1000, &text);
    kvs_text_puts(&text, " ");
    kvs_experiment_print_value(&e, KVS_SETTING_TENSOR_SPLIT, 0, &text);
    kvs_text_puts(&text, " ");
    kvs_experiment_print_value(&e, KVS_SETTING_PINNED, 1, &text);
    kvs_text_puts(&text, " ");
    kvs_experiment_print_value(&e, KVS_SETTING_DEPTH, 4096, &text);
    assert_string_equal(text.data, "512 1000 B 3/1 true 4096");
    kvs_text_fini(&text);
    kvs_experiment_fini(&e);
}

/* Every allocation fails once: nothing is leaked, and the status says so. */
static void test_out_of_memory(void **state)
{
    static const char yaml[] = HEAD "depth: [1, 2, 3]\ntensor_split: [1/1, 2/1]\n"
                                    "arms: [ordered, pipelined]\nmeasured: a.csv\n";
    (void)state;
    uint64_t live = kvs_mem_live_bytes();
    kvs_status status = KVS_ENOMEM;
    uint64_t n = 1;
    for (; status != KVS_OK; n++) {
        struct kvs_experiment e;
        struct kvs_diags diags;
        struct kvs_error err;
        kvs_diags_init(&diags);
        kvs_mem_fail_after(n);
        status = kvs_experiment_parse("e.yaml", yaml, strlen(yaml), &diags, &e, &err);
        kvs_mem_fail_after(0);
        if (status == KVS_OK)
            kvs_experiment_fini(&e);
        else
            assert_int_equal(status, KVS_ENOMEM);
        kvs_diags_fini(&diags);
        assert_int_equal(kvs_mem_live_bytes(), live);
    }
    assert_true(n > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_arms),
        cmocka_unit_test(test_arm_from_lookahead),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_names_agree),
        cmocka_unit_test(test_complete),
        cmocka_unit_test(test_shares_must_match),
        cmocka_unit_test(test_print_value),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
