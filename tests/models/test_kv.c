/*
 * Cache sizes that users reported or that follow from their reports. Each case names the public
 * issue thread it comes from; every figure is exact arithmetic.
 */
#include "models/kv.h"

#include "tests/models/catalogue.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static uint64_t growing(const struct kvs_llm *llm, kvs_kv_type type)
{
    return kvs_kv_growing_bytes_per_token(llm, type, type);
}

static uint64_t cell(const struct kvs_llm *llm, kvs_kv_type type)
{
    return kvs_kv_swa_bytes_per_cell(llm, type, type);
}

static uint64_t cache(const struct kvs_llm *llm, kvs_kv_type type, uint64_t n_ctx,
                      uint64_t cells)
{
    return kvs_kv_cache_bytes(llm, type, type, n_ctx, cells, 1);
}

/* alvarobartt/hf-mem#60, #70: gpt-oss, every second layer windowed at 128. */
static void test_gpt_oss(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("gpt-oss-120b");
    assert_int_equal(growing(llm, KVS_KV_BF16), 36864);
    assert_int_equal(growing(llm, KVS_KV_BF16) + cell(llm, KVS_KV_BF16), 73728);
    /* 78,354 tokens were reported to take 5.38 GiB: between 5.375 and 5.385. */
    const uint64_t reported = 78354 * (growing(llm, KVS_KV_BF16) + cell(llm, KVS_KV_BF16));
    assert_in_range(reported * 1000 / GIB, 5375, 5384);
    kvs_llm_destroy(llm);

    llm = catalogue_load("gpt-oss-20b");
    const uint64_t n_ctx = 8192;
    const uint32_t n_seq = 32;
    const uint64_t cells = kvs_kv_swa_cells(n_ctx, llm->swa_window, 1, 512);
    assert_int_equal(cells, 768); /* 128 + 512, padded to 256 */
    assert_int_equal(kvs_kv_cache_bytes(llm, KVS_KV_F16, KVS_KV_F16, n_ctx, n_ctx, n_seq),
                     12 * GIB);
    /* 6.09375 and 6.5625 GiB, reported as 6.09 and 6.56. */
    assert_int_equal(kvs_kv_cache_bytes(llm, KVS_KV_F16, KVS_KV_F16, n_ctx, 128, n_seq),
                     6240 * MIB);
    assert_int_equal(kvs_kv_cache_bytes(llm, KVS_KV_F16, KVS_KV_F16, n_ctx, cells, n_seq),
                     6720 * MIB);
    kvs_llm_destroy(llm);
}

/* lablup/mlxcel#172: 139.0 MiB where counting every layer in full gives 832.0 MiB. */
static void test_gemma_3_1b(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("gemma-3-1b");
    const uint64_t cells = kvs_kv_swa_cells(32768, llm->swa_window, 1, 512);
    assert_int_equal(cells, 1024);
    assert_int_equal(cache(llm, KVS_KV_F16, 32768, 512), 139 * MIB);
    assert_int_equal(cache(llm, KVS_KV_F16, 32768, 32768), 832 * MIB);
    assert_int_equal(cache(llm, KVS_KV_F16, 32768, cells), 150 * MIB);
    kvs_llm_destroy(llm);
}

/* tenstorrent/tt-xla#5727, lmstudio-ai/lmstudio-bug-tracker#1740: 6.875 against 1.797 GiB. */
static void test_gemma_4_31b(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("gemma-4-31b");
    const uint64_t cells = kvs_kv_swa_cells(8192, llm->swa_window, 1, 512);
    assert_int_equal(cells, 1536);
    assert_int_equal(growing(llm, KVS_KV_F16), 81920); /* V is stored although K = V */
    assert_int_equal(cell(llm, KVS_KV_F16), 819200);
    assert_int_equal(cache(llm, KVS_KV_F16, 8192, 8192), 7040 * MIB);
    assert_int_equal(cache(llm, KVS_KV_F16, 8192, cells), 1840 * MIB); /* 1.796875 GiB */
    kvs_llm_destroy(llm);
}

/* LMCache/LMCache#694: a K and a V of 512 per layer, 124,928, is not what llama.cpp stores. */
static void test_deepseek_v3(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("deepseek-v3");
    assert_int_equal(growing(llm, KVS_KV_F16), 70272); /* 576 x 61 x 2 */
    assert_int_equal(growing(llm, KVS_KV_Q8_0), 37332);
    assert_int_equal(kvs_kv_k_row_bytes(&llm->layers[0], KVS_KV_F16), 1152);
    assert_int_equal(kvs_kv_v_row_bytes(&llm->layers[0], KVS_KV_F16), 0);
    kvs_llm_destroy(llm);
}

/* JustVugg/colibri#768: 576 x 79 x 4 = 182,016 in f32, prediction layer included. */
static void test_glm_5(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("glm-5");
    const uint64_t one_layer = kvs_kv_k_row_bytes(&llm->layers[77], KVS_KV_F32);
    assert_int_equal(growing(llm, KVS_KV_F32) + one_layer, 182016);
    assert_int_equal(growing(llm, KVS_KV_F16), 89856);
    kvs_llm_destroy(llm);
}

/* tobocop2/lilbee#721, atomantic/PortOS#5915: 16 of 64 layers have a cache. */
static void test_qwen36_27b(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("qwen3.6-27b");
    assert_int_equal(growing(llm, KVS_KV_BF16), 65536);
    assert_int_equal(cache(llm, KVS_KV_Q8_0, 65536, 0), 2176 * MIB); /* 2.125 GiB */
    const uint64_t row = growing(llm, KVS_KV_Q8_0) / 16;
    assert_int_equal(row * 64 * 65536, 8704 * MIB); /* 8.50 GiB when all 64 are counted */
    kvs_llm_destroy(llm);
}

/* vllm-project/vllm#29736, speculators#134: grouped heads ignored, head dimension guessed. */
static void test_guessed_shapes_are_far_off(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("llama-3.1-8b");
    assert_int_equal(growing(llm, KVS_KV_F16), 131072);
    for (uint32_t i = 0; i < llm->n_layer; i++)
        llm->layers[i].n_head_kv = llm->layers[i].n_head;
    assert_int_equal(growing(llm, KVS_KV_F16), 524288);
    kvs_llm_destroy(llm);

    llm = catalogue_load("qwen3-32b");
    assert_int_equal(growing(llm, KVS_KV_F16), 262144);
    for (uint32_t i = 0; i < llm->n_layer; i++)
        llm->layers[i].k_dim = llm->layers[i].v_dim = llm->hidden / llm->layers[i].n_head;
    assert_int_equal(growing(llm, KVS_KV_F16), 163840);
    kvs_llm_destroy(llm);
}

/* vllm-project/vllm#51041: bytes / tokens says nothing; size = fixed + slope x tokens. */
static void test_size_is_affine(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("gemma-3-27b");
    const uint64_t fixed = cache(llm, KVS_KV_F16, 0, 1536);
    assert_int_equal(fixed, UINT64_C(425984) * 1536);
    for (uint64_t n_ctx = 4096; n_ctx <= 131072; n_ctx *= 2)
        assert_int_equal(cache(llm, KVS_KV_F16, n_ctx, 1536), fixed + 81920 * n_ctx);
    kvs_llm_destroy(llm);
}

/* ikawrakow/ik_llama.cpp#1126: one of 8 heads at 32,768 tokens and q6_0 is 598.0 MiB. */
static void test_glm_47_head(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("glm-4.7");
    const uint64_t head = kvs_kv_head_bytes(128, KVS_KV_Q6_0);
    assert_int_equal(head, 104);
    assert_int_equal(2 * head * llm->n_layer * 32768, 598 * MIB);
    assert_int_equal(cache(llm, KVS_KV_Q6_0, 32768, 0), 8 * 598 * MIB);
    kvs_llm_destroy(llm);
}

/* ROCm/rocm-systems#5646: a head of 96 values makes a q8_0 run of 102 bytes, not 4-aligned. */
static void test_head_runs(void **state)
{
    (void)state;
    assert_int_equal(kvs_kv_head_bytes(96, KVS_KV_Q8_0), 102);
    assert_int_equal(kvs_kv_head_bytes(128, KVS_KV_Q8_0), 136);
    assert_int_equal(kvs_kv_head_bytes(256, KVS_KV_Q8_0), 272);
}

/* The example of the published transport measurements: 4 KV heads x 256 in 16 staged layers. */
static void test_example_model(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("qwen3.8-27b");
    const struct kvs_llm_layer *staged = &llm->layers[3];
    assert_int_equal(kvs_kv_k_row_bytes(staged, KVS_KV_Q8_0), 1088);
    assert_int_equal(kvs_kv_v_row_bytes(staged, KVS_KV_Q8_0), 1088);
    assert_int_equal(kvs_kv_k_row_bytes(staged, KVS_KV_Q4_0), 576);
    assert_int_equal(kvs_kv_k_row_bytes(&llm->layers[0], KVS_KV_Q8_0), 0); /* recurrent */
    assert_int_equal(growing(llm, KVS_KV_Q8_0), 34816);
    assert_int_equal(kvs_kv_growing_bytes_per_token(llm, KVS_KV_Q8_0, KVS_KV_Q4_0),
                     16 * (1088 + 576));
    /* Depth 16,384: 16,640 rows, 552.5 MiB per token. */
    const uint64_t rows = kvs_kv_window_rows(16385, 32768, KVS_KV_PAD_ROWS);
    assert_int_equal(rows, 16640);
    assert_int_equal(rows * growing(llm, KVS_KV_Q8_0) * 2, 1105 * MIB);
    /* A staged layer of 8 streams x 2,304 rows needs 38.25 MiB. */
    const uint64_t slot =
        8 * kvs_kv_pad(2304, KVS_KV_PAD_ROWS) *
        (kvs_kv_k_row_bytes(staged, KVS_KV_Q8_0) + kvs_kv_v_row_bytes(staged, KVS_KV_Q8_0));
    assert_int_equal(slot * 4, 153 * MIB);
    kvs_llm_destroy(llm);
}

/* Layers that read another's cache own none: 4 of 7 full, 20 of 35 windowed layers store. */
static void test_shared_layers_own_nothing(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("gemma-4-e4b");
    assert_int_equal(growing(llm, KVS_KV_F16), 4 * 2 * (512 + 512) * 2);
    assert_int_equal(cell(llm, KVS_KV_F16), 20 * 2 * (256 + 256) * 2);
    assert_int_equal(kvs_kv_k_row_bytes(&llm->layers[41], KVS_KV_F16), 0);
    assert_int_equal(kvs_kv_v_row_bytes(&llm->layers[41], KVS_KV_F16), 0);
    kvs_llm_destroy(llm);
}

static void test_window_rows(void **state)
{
    (void)state;
    static const struct {
        uint64_t used, n_ctx;
        uint32_t pad;
        uint64_t rows;
    } windows[] = {
        {0, 4096, 256, 256},        {1, 4096, 256, 256},     {256, 4096, 256, 256},
        {257, 4096, 256, 512},      {4096, 4096, 256, 4096}, {4000, 4001, 256, 4001},
        {16384, 32768, 256, 16384}, {17, 4096, 1, 17},       {0, 4096, 1, 1},
        {100, 128, 256, 128},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(windows); i++)
        assert_int_equal(kvs_kv_window_rows(windows[i].used, windows[i].n_ctx, windows[i].pad),
                         windows[i].rows);
}

static void test_pad(void **state)
{
    (void)state;
    assert_int_equal(kvs_kv_pad(0, 256), 0);
    assert_int_equal(kvs_kv_pad(1, 256), 256);
    assert_int_equal(kvs_kv_pad(512, 256), 512);
    assert_int_equal(kvs_kv_pad(513, 256), 768);
    assert_int_equal(kvs_kv_pad(513, 1), 513);
}

static void test_swa_cells(void **state)
{
    (void)state;
    /* pad256(min(n_ctx, window x sequences + ubatch)) */
    assert_int_equal(kvs_kv_swa_cells(8192, 1024, 1, 512), 1536);
    assert_int_equal(kvs_kv_swa_cells(8192, 1024, 4, 512), 4608);
    assert_int_equal(kvs_kv_swa_cells(1000, 1024, 1, 512), 1024); /* capped, then padded */
    assert_int_equal(kvs_kv_swa_cells(UINT64_C(1) << 40, 4294967295u, 2, 1), 8589934592);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt_oss),
        cmocka_unit_test(test_gemma_3_1b),
        cmocka_unit_test(test_gemma_4_31b),
        cmocka_unit_test(test_deepseek_v3),
        cmocka_unit_test(test_glm_5),
        cmocka_unit_test(test_qwen36_27b),
        cmocka_unit_test(test_guessed_shapes_are_far_off),
        cmocka_unit_test(test_size_is_affine),
        cmocka_unit_test(test_glm_47_head),
        cmocka_unit_test(test_head_runs),
        cmocka_unit_test(test_example_model),
        cmocka_unit_test(test_shared_layers_own_nothing),
        cmocka_unit_test(test_window_rows),
        cmocka_unit_test(test_pad),
        cmocka_unit_test(test_swa_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
