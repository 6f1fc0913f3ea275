/* The cross product, and machines at the ends of their intervals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "study/sweep.h"

static const char machine_yaml[] =
    "kind: machine\nname: box\ndevices:\n"
    "  - {name: a, gpu: {memory: 12GiB, memory_rate: 500GB/s, flops: 50TFLOP/s}, h2d: 25GB/s,\n"
    "     profiles: [{model: tiny, kv_type: q8_0, fixed: 1ms, per_row: 1ns}]}\n"
    "  - {name: b, gpu: {memory: 12GiB, memory_rate: 500GB/s, flops: 50TFLOP/s}, pcie: "
    "gen3x4}\n";
static const char model_yaml[] =
    "kind: model\nname: tiny\nevidence: synthetic\nsource: \"by hand\"\nlayers: 1\npattern: F\n"
    "hidden: 0\nattention: {heads: 2, kv_heads: 2, k_dim: 32}\n"
    "params: {pre: 1000, post: 1000, head: 1000}\n";

struct fixture {
    struct kvs_experiment experiment;
    struct kvs_machine *machine;
    struct kvs_llm *llm;
    struct kvs_product *product;
};

static void open_fixture(struct fixture *f, const char *settings)
{
    struct kvs_text yaml = {0};
    struct kvs_diags diags;
    memset(f, 0, sizeof *f);
    kvs_diags_init(&diags);
    kvs_text_printf(&yaml, "kind: experiment\nname: e\nquestion: q\nmachine: m\nmodel: l\n%s",
                    settings);
    assert_int_equal(kvs_machine_parse("m", machine_yaml, strlen(machine_yaml), NULL, NULL,
                                       &diags, &f->machine, NULL),
                     KVS_OK);
    assert_int_equal(kvs_llm_parse("l", model_yaml, strlen(model_yaml), &diags, &f->llm, NULL),
                     KVS_OK);
    assert_int_equal(kvs_experiment_parse("e", yaml.data, yaml.n, &diags, &f->experiment, NULL),
                     KVS_OK);
    assert_int_equal(kvs_experiment_complete(&f->experiment, 2, NULL), KVS_OK);
    kvs_diags_fini(&diags);
    kvs_text_fini(&yaml);
}

static void close_fixture(struct fixture *f)
{
    kvs_product_destroy(f->product);
    kvs_llm_destroy(f->llm);
    kvs_machine_destroy(f->machine);
    kvs_experiment_fini(&f->experiment);
}

static void create(struct fixture *f)
{
    assert_int_equal(kvs_product_create(&f->experiment, f->machine, f->llm, &f->product, NULL),
                     KVS_OK);
}

/* The example of study/sweep.h: depth varies fastest, values keep their written order. */
static void test_order(void **state)
{
    static const struct {
        uint64_t depth;
        kvs_arbitration arbitration;
    } expected[] = {{16384, KVS_ARB_FIFO},
                    {4096, KVS_ARB_FIFO},
                    {16384, KVS_ARB_STICKY},
                    {4096, KVS_ARB_STICKY}};
    struct fixture f;
    (void)state;
    open_fixture(&f, "depth: [16384, 4096]\narbitration: [fifo, sticky]\n");
    create(&f);
    assert_int_equal(kvs_product_n(f.product), KVS_COUNT_OF(expected));
    for (size_t i = 0; i < KVS_COUNT_OF(expected); i++) {
        struct kvs_configuration got;
        kvs_product_get(f.product, i, &got);
        assert_int_equal(got.c.workload.depth, expected[i].depth);
        for (uint32_t d = 0; d < 2; d++)
            assert_int_equal(got.c.machine->devices[d].engines.arbitration,
                             expected[i].arbitration);
    }
    /* the file's own machine is untouched: sticky is its default */
    assert_int_equal(f.machine->devices[0].engines.arbitration, KVS_ARB_STICKY);
    close_fixture(&f);
}

static void test_settings_reach_the_case(void **state)
{
    struct fixture f;
    struct kvs_configuration got;
    (void)state;
    open_fixture(&f, "depth: 100\nn_gen: 5\nn_parallel: 3\nunified: true\nn_rows: 2\n"
                     "n_ctx: 4096\ntype_k: f16\ntype_v: q4_0\npinned: false\nfrozen: true\n"
                     "window_rows: 512\nsplit_mode: tensor\ntensor_split: [1/3]\n"
                     "head_split: even\nkv_gpu_layers: 1\nkvpb: 0\n");
    create(&f);
    assert_int_equal(kvs_product_n(f.product), 1);
    kvs_product_get(f.product, 0, &got);
    assert_ptr_equal(got.c.machine, f.machine); /* "machine": as in the file */
    assert_int_equal(got.c.workload.depth, 100);
    assert_int_equal(got.c.workload.n_gen, 5);
    assert_int_equal(got.c.workload.n_parallel, 3);
    assert_true(got.c.workload.is_unified);
    assert_int_equal(got.c.workload.n_rows, 2);
    assert_int_equal(got.c.workload.n_ctx, 4096);
    assert_int_equal(got.c.workload.type_k, KVS_KV_F16);
    assert_int_equal(got.c.workload.type_v, KVS_KV_Q4_0);
    assert_false(got.c.workload.is_pinned);
    assert_true(got.c.workload.is_frozen);
    assert_int_equal(got.c.workload.window_rows, 512);
    assert_int_equal(got.c.placement.mode, KVS_SPLIT_TENSOR);
    assert_int_equal(got.c.placement.rule, KVS_SPLIT_EVEN);
    assert_int_equal(got.c.placement.kv_gpu_layers, 1);
    assert_true(kvs_case_share(&got.c, 1) == 0.75);
    assert_true(got.c.transport.budget_bytes == UINT64_MAX);
    close_fixture(&f);
}

/* 300 x 300 x 300 is more than a million. */
static void test_too_many(void **state)
{
    struct fixture f;
    struct kvs_error err;
    static const kvs_setting settings[] = {KVS_SETTING_DEPTH, KVS_SETTING_N_GEN,
                                           KVS_SETTING_N_CTX};
    (void)state;
    open_fixture(&f, "");
    for (size_t s = 0; s < KVS_COUNT_OF(settings); s++) {
        kvs_experiment_clear(&f.experiment, settings[s]);
        for (uint64_t v = 1; v <= 300; v++)
            assert_int_equal(kvs_experiment_add(&f.experiment, settings[s], v, NULL), KVS_OK);
    }
    assert_int_equal(kvs_product_create(&f.experiment, f.machine, f.llm, &f.product, &err),
                     KVS_ERANGE);
    close_fixture(&f);
}

/* Device a has a profile and a stated rate. Device b has neither: its slot gives 3.938 GB/s
 * raw, default efficiency 0.70 to 0.90, and the roofline's memory efficiency is 0.50 to 0.80.
 */
static void test_ends(void **state)
{
    struct fixture f;
    struct kvs_configuration got;
    struct kvs_machine *slow, *fast;
    const double raw_Bps = 8e9 * 4 * 128 / 130 / 8;
    (void)state;
    open_fixture(&f, "split_mode: tensor\n");
    create(&f);
    kvs_product_get(f.product, 0, &got);
    assert_true(kvs_case_is_uncertain(&got.c));
    assert_int_equal(kvs_machine_at_end(&got.c, KVS_END_SLOW, &slow, NULL), KVS_OK);
    assert_int_equal(kvs_machine_at_end(&got.c, KVS_END_FAST, &fast, NULL), KVS_OK);
    const struct kvs_device *a = &slow->devices[0], *b = &slow->devices[1];
    assert_true(slow->links[a->link].rate[KVS_H2D].value == 25e9);
    assert_true(a->memory_efficiency.value == f.machine->devices[0].memory_efficiency.value);
    assert_true(fabs(slow->links[b->link].rate[KVS_H2D].value - 0.70 * raw_Bps) < 1e3);
    assert_true(fabs(fast->links[b->link].rate[KVS_H2D].value - 0.90 * raw_Bps) < 1e3);
    assert_true(b->memory_efficiency.value == 0.50);
    assert_true(fast->devices[1].memory_efficiency.value == 0.80);
    /* kvsim's defaults: 20 to 58 us, 0.3 to 1.0 ms; the slow end is the long time */
    assert_true(slow->collective.latency.value == 58e-6);
    assert_true(fast->collective.latency.value == 20e-6);
    assert_true(slow->host.between_tokens.value == 1e-3);
    assert_true(fast->host.between_tokens.value == 0.3e-3);
    kvs_machine_clone_destroy(slow);
    kvs_machine_clone_destroy(fast);
    close_fixture(&f);
}

/* Without a split, device b has no part in the answer, nor have all-reduces; what is left is the
 * time between tokens, which can be stated. */
static void test_certain(void **state)
{
    struct fixture f;
    struct kvs_configuration got;
    (void)state;
    open_fixture(&f, "split_mode: none\n");
    create(&f);
    kvs_product_get(f.product, 0, &got);
    assert_true(kvs_case_is_uncertain(&got.c));
    f.machine->host.between_tokens.origin = KVS_ORIGIN_STATED;
    assert_false(kvs_case_is_uncertain(&got.c));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),    cmocka_unit_test(test_settings_reach_the_case),
        cmocka_unit_test(test_too_many), cmocka_unit_test(test_ends),
        cmocka_unit_test(test_certain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
