/*
 * Head splits. The expected counts of llama-meta-2026-08 are worked out by hand from the rule
 * as stated in models/split.h (ggml-org/llama.cpp, 2026-08), first and second layer of a kind.
 */
#include "models/split.h"

#include <math.h>
#include <string.h>

#include "tests/models/catalogue.h"

#define MAX_DEVICES 8

static struct kvs_llm_layer layer_of(uint32_t n_head, uint32_t n_head_kv, uint32_t dim,
                                     uint32_t kind_index)
{
    const struct kvs_llm_layer layer = {.kind = KVS_LAYER_FULL,
                                        .kind_index = kind_index,
                                        .n_head = n_head,
                                        .n_head_kv = n_head_kv,
                                        .k_dim = dim,
                                        .v_dim = dim,
                                        .kv_source = -1};
    return layer;
}

struct expectation {
    const char *what;
    uint32_t n_head, n_head_kv, dim, block;
    uint32_t kind_index;
    uint32_t n_devices;
    double shares[MAX_DEVICES];
    uint32_t heads[MAX_DEVICES];
};

/* q27: 24 query heads, 4 KV heads x 256. */
#define Q27 24, 4, 256, 256
/* gemma-4-26B: 16 query heads, windowed 8 x 256, full 2 x 512; gemma-4-12B full 1 x 512. */
#define G26_SWA  16, 8, 256, 256
#define G26_FULL 16, 2, 512, 256
#define G12_FULL 16, 1, 512, 256
#define GLM47    96, 8, 128, 256
#define PHI4     40, 10, 128, 256

static const struct expectation llama_rule[] = {
    {"q27 50,50", Q27, 0, 2, {50, 50}, {2, 2}},
    {"q27 50,50 second", Q27, 1, 2, {50, 50}, {2, 2}},
    {"q27 60,40", Q27, 0, 2, {60, 40}, {2, 2}},
    {"q27 60,40 second", Q27, 1, 2, {60, 40}, {3, 1}},
    {"q27 60,40 third", Q27, 2, 2, {60, 40}, {2, 2}},
    {"q27 65,35", Q27, 0, 2, {65, 35}, {2, 2}},
    {"q27 65,35 second", Q27, 1, 2, {65, 35}, {3, 1}},
    {"q27 75,25", Q27, 0, 2, {75, 25}, {3, 1}},
    {"q27 75,25 second", Q27, 1, 2, {75, 25}, {3, 1}},
    {"q27 89,11", Q27, 0, 2, {89, 11}, {3, 1}},
    {"q27 89,11 second", Q27, 1, 2, {89, 11}, {4, 0}},
    {"q27 three", Q27, 0, 3, {1, 1, 1}, {1, 1, 2}},
    {"q27 three second", Q27, 1, 3, {1, 1, 1}, {2, 1, 1}},
    {"q27 three third", Q27, 2, 3, {1, 1, 1}, {1, 2, 1}},
    {"gemma-4-26b swa 55,45", G26_SWA, 0, 2, {55, 45}, {4, 4}},
    {"gemma-4-26b swa 55,45 second", G26_SWA, 1, 2, {55, 45}, {5, 3}},
    {"gemma-4-26b full 55,45", G26_FULL, 0, 2, {55, 45}, {1, 1}},
    {"gemma-4-26b full 55,45 second", G26_FULL, 1, 2, {55, 45}, {2, 0}},
    {"gemma-4-26b swa 50,50", G26_SWA, 0, 2, {50, 50}, {4, 4}},
    {"gemma-4-26b full 50,50 second", G26_FULL, 1, 2, {50, 50}, {1, 1}},
    {"gemma-4-12b full", G12_FULL, 0, 2, {50, 50}, {0, 1}},
    {"gemma-4-12b full second", G12_FULL, 1, 2, {50, 50}, {1, 0}},
    {"glm-4.7 six", GLM47, 0, 6, {1, 1, 1, 1, 1, 1}, {1, 1, 2, 1, 1, 2}},
    {"glm-4.7 six second", GLM47, 1, 6, {1, 1, 1, 1, 1, 1}, {2, 1, 1, 2, 1, 1}},
    {"phi-4 three", PHI4, 0, 3, {1, 1, 1}, {3, 3, 4}},
    {"phi-4 three second", PHI4, 1, 3, {1, 1, 1}, {4, 3, 3}},
    {"phi-4 three third", PHI4, 2, 3, {1, 1, 1}, {3, 4, 3}},
    {"28/4 x 128, 256-block", 28, 4, 128, 256, 0, 3, {1, 1, 1}, {0, 2, 2}},
    {"28/4 x 128, 256-block second", 28, 4, 128, 256, 1, 3, {1, 1, 1}, {2, 0, 2}},
    {"28/4 x 128, 32-block", 28, 4, 128, 32, 0, 3, {1, 1, 1}, {1, 1, 2}},
    {"one device", Q27, 5, 1, {7}, {4}},
    {"a share of zero", Q27, 0, 3, {1, 1, 0}, {2, 2, 0}},
};

static void test_llama_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVS_COUNT_OF(llama_rule); i++) {
        const struct expectation *e = &llama_rule[i];
        const struct kvs_llm_layer layer =
            layer_of(e->n_head, e->n_head_kv, e->dim, e->kind_index);
        uint32_t heads[MAX_DEVICES];
        uint32_t first[MAX_DEVICES];
        assert_int_equal(kvs_split_heads(KVS_SPLIT_LLAMA_META_2026_08, &layer, e->block,
                                         e->shares, e->n_devices, heads, first, NULL),
                         KVS_OK);
        for (uint32_t d = 0; d < e->n_devices; d++) {
            if (heads[d] != e->heads[d])
                fail_msg("%s: device %u has %u heads, expected %u", e->what, d, heads[d],
                         e->heads[d]);
        }
    }
}

/* The catalogue's shapes are the ones of the table. */
static void test_catalogue_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        uint32_t layer, n_head, n_head_kv, dim;
    } shapes[] = {{"qwen3.8-27b", 3, 24, 4, 256},     {"gemma-4-26b-a4b", 0, 16, 8, 256},
                  {"gemma-4-26b-a4b", 5, 16, 2, 512}, {"gemma-4-12b", 47, 16, 1, 512},
                  {"glm-4.7", 0, 96, 8, 128},         {"phi-4", 0, 40, 10, 128},
                  {"phi-3-mini", 0, 32, 32, 96}};
    for (size_t i = 0; i < KVS_COUNT_OF(shapes); i++) {
        struct kvs_llm *llm = catalogue_load(shapes[i].model);
        const struct kvs_llm_layer *layer = &llm->layers[shapes[i].layer];
        assert_int_equal(layer->n_head, shapes[i].n_head);
        assert_int_equal(layer->n_head_kv, shapes[i].n_head_kv);
        assert_int_equal(layer->k_dim, shapes[i].dim);
        kvs_llm_destroy(llm);
    }
}

/* Over three equal devices a layer of 4 heads waits for one with 2: twice as fast, not thrice.
 */
static void test_rotation_evens_memory_not_time(void **state)
{
    (void)state;
    const double shares[3] = {1, 1, 1};
    uint32_t held[3] = {0, 0, 0};
    for (uint32_t o = 0; o < 15; o++) {
        const struct kvs_llm_layer layer = layer_of(24, 4, 256, o);
        uint32_t heads[3];
        uint32_t most = 0;
        assert_int_equal(kvs_split_heads(KVS_SPLIT_LLAMA_META_2026_08, &layer, 256, shares, 3,
                                         heads, NULL, NULL),
                         KVS_OK);
        for (uint32_t d = 0; d < 3; d++) {
            held[d] += heads[d];
            most = heads[d] > most ? heads[d] : most;
        }
        assert_int_equal(most, 2);
    }
    for (uint32_t d = 0; d < 3; d++)
        assert_int_equal(held[d] * 3, 4 * 15); /* 4/3 on average */
}

/*
 * g in heads. 28/4 x 128: lcm(896, 256) = 1792 = 2 groups; 32-block weights grow to 128 and
 * lcm(896, 128) = 896. 32/32 x 96: lcm(96, 256) = 768 = 8 groups; 32 grows to 64 on two devices
 * (32 x 2 < 96, 64 x 2 is not) and lcm(96, 64) = 192 = 2 groups. On one device 32 grows to 128
 * and no further: lcm(192, 128) = 384 = 2 groups, lcm(320, 128) = 640 = 2 groups.
 */
static void test_granularity(void **state)
{
    (void)state;
    const struct kvs_llm_layer gqa7 = layer_of(28, 4, 128, 0);
    const struct kvs_llm_layer phi3 = layer_of(32, 32, 96, 0);
    const struct kvs_llm_layer q27 = layer_of(24, 4, 256, 0);
    const struct kvs_llm_layer none = layer_of(0, 0, 0, 0);
    const struct kvs_llm_layer dim192 = layer_of(8, 8, 192, 0);
    const struct kvs_llm_layer dim320 = layer_of(8, 8, 320, 0);
    assert_int_equal(kvs_split_granularity_heads(&dim192, 32, 1), 2);
    assert_int_equal(kvs_split_granularity_heads(&dim320, 32, 1), 2);
    assert_int_equal(kvs_split_granularity_heads(&gqa7, 256, 3), 2);
    assert_int_equal(kvs_split_granularity_heads(&gqa7, 32, 3), 1);
    assert_int_equal(kvs_split_granularity_heads(&phi3, 256, 2), 8);
    assert_int_equal(kvs_split_granularity_heads(&phi3, 32, 2), 2);
    assert_int_equal(kvs_split_granularity_heads(&phi3, 1, 64),
                     1); /* 2 x 64 >= 96: lcm is 96 */
    assert_int_equal(kvs_split_granularity_heads(&q27, 256, 2), 1);
    assert_int_equal(kvs_split_granularity_heads(&none, 256, 2), 1);
}

/*
 * vllm-project/vllm#414, #4232, #596, #11797: refused there, uneven here. ik_llama.cpp#1126:
 * the slowest of 6 devices holds 2 of 8 heads.
 */
static void test_even(void **state)
{
    (void)state;
    static const struct {
        uint32_t n_heads, n_devices;
        double shares[MAX_DEVICES];
        uint32_t heads[MAX_DEVICES];
    } evens[] = {
        {52, 3, {1, 1, 1}, {18, 17, 17}},
        {40, 6, {1, 1, 1, 1, 1, 1}, {7, 7, 7, 7, 6, 6}},
        {40, 3, {1, 1, 1}, {14, 13, 13}},
        {28, 8, {1, 1, 1, 1, 1, 1, 1, 1}, {4, 4, 4, 4, 3, 3, 3, 3}},
        {8, 6, {1, 1, 1, 1, 1, 1}, {2, 2, 1, 1, 1, 1}},
        {1, 2, {1, 1}, {1, 0}},
        /* Quotas 2.4 and 1.6: one head left, the larger remainder is the second's. */
        {4, 2, {60, 40}, {2, 2}},
        {4, 2, {75, 25}, {3, 1}},
        {10, 3, {5, 3, 2}, {5, 3, 2}},
        {4, 3, {1, 0, 1}, {2, 0, 2}},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(evens); i++) {
        const struct kvs_llm_layer layer = layer_of(evens[i].n_heads, evens[i].n_heads, 128, 3);
        uint32_t heads[MAX_DEVICES];
        assert_int_equal(kvs_split_heads(KVS_SPLIT_EVEN, &layer, 256, evens[i].shares,
                                         evens[i].n_devices, heads, NULL, NULL),
                         KVS_OK);
        for (uint32_t d = 0; d < evens[i].n_devices; d++)
            assert_int_equal(heads[d], evens[i].heads[d]);
    }
}

/* The split reported in ik_llama.cpp#1126, and 12 + 8 heads of #1821. */
static void test_explicit(void **state)
{
    (void)state;
    const struct kvs_llm_layer glm = layer_of(96, 8, 128, 2);
    const struct kvs_llm_layer flash = layer_of(20, 20, 64, 0);
    const double reported[6] = {1, 2, 1, 1, 1, 2};
    const uint32_t want_first[6] = {0, 1, 3, 4, 5, 6};
    const double uneven[2] = {12, 8};
    uint32_t heads[6];
    uint32_t first[6];
    assert_int_equal(
        kvs_split_heads(KVS_SPLIT_EXPLICIT, &glm, 256, reported, 6, heads, first, NULL),
        KVS_OK);
    for (uint32_t d = 0; d < 6; d++) {
        assert_int_equal(heads[d], (uint32_t)reported[d]);
        assert_int_equal(first[d], want_first[d]);
    }
    assert_int_equal(
        kvs_split_heads(KVS_SPLIT_EXPLICIT, &flash, 256, uneven, 2, heads, NULL, NULL), KVS_OK);
    assert_int_equal(heads[0], 12);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        kvs_split_rule rule;
        uint32_t n_devices;
        double shares[2];
        const char *text;
    } bad[] = {
        {KVS_SPLIT_EVEN, 0, {1, 1}, "a split needs 1 to 1024 devices, got 0"},
        {KVS_SPLIT_EVEN, 1025, {1, 1}, "a split needs 1 to 1024 devices, got 1025"},
        {KVS_SPLIT_EVEN, 2, {1, -1}, "the share of device 1 must be from 0 to 1e+12, got -1"},
        {KVS_SPLIT_EVEN,
         2,
         {HUGE_VAL, 1},
         "the share of device 0 must be from 0 to 1e+12, got inf"},
        {KVS_SPLIT_EVEN,
         2,
         {2e12, 1},
         "the share of device 0 must be from 0 to 1e+12, got 2e+12"},
        {KVS_SPLIT_LLAMA_META_2026_08,
         2,
         {0, 0},
         "the shares of 2 devices must have a positive sum, got 0"},
        {KVS_SPLIT_EXPLICIT,
         2,
         {2, 1},
         "explicit split: the heads add up to 3, the layer has 4 KV heads"},
        {KVS_SPLIT_EXPLICIT,
         2,
         {2.5, 1.5},
         "explicit split: device 0 must get whole heads, got 2.5"},
    };
    const struct kvs_llm_layer layer = layer_of(24, 4, 256, 0);
    for (size_t i = 0; i < KVS_COUNT_OF(bad); i++) {
        struct kvs_error err = {0};
        uint32_t heads[2];
        assert_int_equal(kvs_split_heads(bad[i].rule, &layer, 256, bad[i].shares,
                                         bad[i].n_devices, heads, NULL, &err),
                         KVS_EINVAL);
        assert_string_equal(err.text, bad[i].text);
    }
    const double nan_share[1] = {nan("")};
    uint32_t heads[1];
    assert_int_equal(
        kvs_split_heads(KVS_SPLIT_EVEN, &layer, 256, nan_share, 1, heads, NULL, NULL),
        KVS_EINVAL);
}

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

/* Every head belongs to one device, and the runs tile the row. */
static void test_runs_tile_the_heads(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (unsigned round = 0; round < 2000; round++) {
        const uint32_t n_kv = 1 + next_random(&seed) % 32;
        const uint32_t dim = 32 * (1 + next_random(&seed) % 8);
        const struct kvs_llm_layer layer =
            layer_of(n_kv * (1 + next_random(&seed) % 8), n_kv, dim, next_random(&seed) % 9);
        const uint32_t n_devices = 1 + next_random(&seed) % MAX_DEVICES;
        const uint32_t block = round % 2 == 0 ? 256 : 32;
        double shares[MAX_DEVICES];
        for (uint32_t d = 0; d < n_devices; d++)
            shares[d] = next_random(&seed) % 100 / 7.0 + (d == 0);
        for (unsigned rule = KVS_SPLIT_LLAMA_META_2026_08; rule <= KVS_SPLIT_EVEN; rule++) {
            uint32_t heads[MAX_DEVICES];
            uint32_t first[MAX_DEVICES];
            uint64_t owners = 0;
            assert_int_equal(kvs_split_heads((kvs_split_rule)rule, &layer, block, shares,
                                             n_devices, heads, first, NULL),
                             KVS_OK);
            for (uint32_t d = 0; d < n_devices; d++) {
                assert_true(first[d] + heads[d] <= n_kv);
                for (uint32_t h = first[d]; h < first[d] + heads[d]; h++) {
                    assert_int_equal(owners >> h & 1, 0);
                    owners |= UINT64_C(1) << h;
                }
            }
            assert_true(owners == (UINT64_C(1) << n_kv) - 1);
        }
    }
}

static void test_rule_names(void **state)
{
    (void)state;
    static const char *const names[] = {"llama-meta-2026-08", "even", "explicit"};
    kvs_split_rule rule = KVS_SPLIT_EVEN;
    struct kvs_error err = {0};
    for (size_t i = 0; i < KVS_COUNT_OF(names); i++) {
        assert_int_equal(kvs_split_rule_parse(names[i], &rule, NULL), KVS_OK);
        assert_int_equal(rule, i);
        assert_string_equal(kvs_split_rule_name(rule), names[i]);
    }
    assert_int_equal(kvs_split_rule_parse("evem", &rule, &err), KVS_ENOTFOUND);
    assert_string_equal(err.text,
                        "unknown split rule \"evem\"; known: llama-meta-2026-08 even explicit");
    assert_string_equal(err.hint, "did you mean even?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_llama_rule),
        cmocka_unit_test(test_catalogue_shapes),
        cmocka_unit_test(test_rotation_evens_memory_not_time),
        cmocka_unit_test(test_granularity),
        cmocka_unit_test(test_even),
        cmocka_unit_test(test_explicit),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_runs_tile_the_heads),
        cmocka_unit_test(test_rule_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
