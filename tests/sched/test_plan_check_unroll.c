/*
 * The short proof against the whole one, for plans of every policy: what plan_check.h claims of
 * them. The window grows twice, so that the first and the middle segment have many more tokens
 * than the short proof looks at, and every one of them is unrolled here.
 */
#include "tests/sim/toy.h"

/* 250 rows grow to 256 and 512: segments of 6, 256 and 8 tokens. */
enum { DEPTH = 250, N_GEN = 270, N_LAYERS = 4 };

static struct toy toy;

static const struct option {
    const char *name;
    const struct kvs_policy *policy;
    struct kvs_transport transport;
} options[] = {
    {"resident", &kvs_policy_resident, {.budget_bytes = UINT64_MAX}},
    {"ordered", &kvs_policy_ordered, {.budget_bytes = UINT64_MAX}},
    {"pipelined", &kvs_policy_pipelined, {.lookahead = 1, .budget_bytes = UINT64_MAX}},
    {"pipelined+kernel+yield",
     &kvs_policy_pipelined,
     {.lookahead = 2,
      .budget_bytes = UINT64_MAX,
      .yield = KVS_YIELD_KV,
      .late = KVS_LATE_KERNEL}},
    {"pipelined+per-slot",
     &kvs_policy_pipelined,
     {.lookahead = 1, .budget_bytes = UINT64_MAX, .streams = KVS_STREAMS_PER_SLOT}},
    {"continuous", &kvs_policy_continuous, {.lookahead = 1, .budget_bytes = UINT64_MAX}},
};

static const struct streams {
    uint32_t n_parallel;
    bool is_unified;
} streams[] = {{1, false}, {3, false}, {2, true}};

/* Both proofs of the case's plan; a whole one, which must have been longer. */
static void compare(const struct option *o)
{
    struct kvs_plan_check_report brief, whole;
    struct kvs_error err = {0};
    if (o->policy->plan(&toy.c, NULL, &toy.plan, &err) != KVS_OK)
        fail_msg("%s: %s", o->name, err.text);
    if (kvs_plan_check(toy.plan, NULL, &brief, &err) != KVS_OK ||
        kvs_plan_check(toy.plan, &KVS_PLAN_CHECK_ALL, &whole, &err) != KVS_OK)
        fail_msg("%s, %u devices, split %d: %s", o->name, toy.machine.n_devices,
                 (int)toy.c.placement.mode, err.text);
    assert_false(whole.is_cut);
    assert_int_equal(whole.n_tokens, N_GEN);
    assert_true(brief.n_tokens < N_GEN / 2);
}

static void set_case(const struct option *o, uint32_t n_devices, kvs_split_mode mode,
                     const struct streams *st)
{
    toy_init(&toy, n_devices);
    toy_set_layers(&toy, N_LAYERS);
    toy.llm.hidden = 8;
    toy.c.workload.depth = DEPTH;
    toy.c.workload.n_gen = N_GEN;
    toy.c.workload.n_parallel = st->n_parallel;
    toy.c.workload.is_unified = st->is_unified;
    toy.c.workload.is_pinned = true;
    toy.c.placement.mode = mode;
    toy.c.transport = o->transport;
}

static void test_policies(void **state)
{
    (void)state;
    for (size_t o = 0; o < KVS_COUNT_OF(options); o++)
        for (size_t s = 0; s < KVS_COUNT_OF(streams); s++)
            for (unsigned mode = KVS_SPLIT_NONE; mode <= KVS_SPLIT_TENSOR; mode++) {
                set_case(&options[o], mode == KVS_SPLIT_NONE ? 1 : 2, (kvs_split_mode)mode,
                         &streams[s]);
                compare(&options[o]);
                toy_fini(&toy);
            }
}

/* Layers with rows and windows of their own share the slots: K wider than V, one layer of half
 * the heads, every other one with a sliding window of 100 rows. */
static void test_uneven_layers(void **state)
{
    (void)state;
    for (size_t o = 0; o < KVS_COUNT_OF(options); o++)
        for (size_t s = 0; s < KVS_COUNT_OF(streams); s++) {
            set_case(&options[o], 1, KVS_SPLIT_NONE, &streams[s]);
            toy.llm.swa_window = 100;
            for (uint32_t l = 0; l < N_LAYERS; l++)
                toy.layers[l].v_dim = 64;
            toy.layers[1].n_head_kv = 2;
            toy.layers[0].kind = toy.layers[2].kind = KVS_LAYER_SWA;
            compare(&options[o]);
            toy_fini(&toy);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_policies),
        cmocka_unit_test(test_uneven_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
