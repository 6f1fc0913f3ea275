/* Model files: the catalogue against published shapes, and what each key of the format means.
 */
#define _POSIX_C_SOURCE 200809L

#include "models/llm.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "models/kv.h"
#include "tests/models/catalogue.h"

/* A row of tests/data/model_shapes.csv. */
struct shape_row {
    char model[64];
    uint32_t n_layer, n_full, n_swa, n_recurrent;
    uint64_t growing_f16, growing_q8_0, swa_f16, recurrent_bytes;
    double total_e9, active_e9; /* 0: not published */
    bool can_split_tensor;
};

static uint64_t shape_number(const char **cursor)
{
    char *end = NULL;
    const uint64_t value = strtoull(*cursor, &end, 10);
    *cursor = *end == ',' ? end + 1 : end;
    return value;
}

static double shape_figure(const char **cursor)
{
    char *end = NULL;
    const double value = strtod(*cursor, &end);
    *cursor = *end == ',' ? end + 1 : end;
    return value;
}

static struct shape_row shape_parse(const char *line)
{
    struct shape_row row = {.n_layer = 0};
    const size_t n = strcspn(line, ",");
    assert_in_range(n, 1, sizeof(row.model) - 1);
    memcpy(row.model, line, n);
    const char *cursor = line + n + 1;
    row.n_layer = (uint32_t)shape_number(&cursor);
    row.n_full = (uint32_t)shape_number(&cursor);
    row.n_swa = (uint32_t)shape_number(&cursor);
    row.n_recurrent = (uint32_t)shape_number(&cursor);
    row.growing_f16 = shape_number(&cursor);
    row.growing_q8_0 = shape_number(&cursor);
    row.swa_f16 = shape_number(&cursor);
    row.recurrent_bytes = shape_number(&cursor);
    row.total_e9 = shape_figure(&cursor);
    row.active_e9 = shape_figure(&cursor);
    row.can_split_tensor = shape_number(&cursor) != 0;
    assert_true(*cursor == '\n' || *cursor == '\0');
    return row;
}

static uint32_t count_kind(const struct kvs_llm *llm, kvs_layer_kind kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < llm->n_layer; i++) {
        if (llm->layers[i].kind != kind)
            continue;
        assert_int_equal(llm->layers[i].kind_index, n);
        n++;
    }
    return n;
}

static void check_shape(const struct shape_row *row, const struct kvs_llm *llm)
{
    assert_string_equal(llm->name, row->model);
    assert_int_equal(llm->n_layer, row->n_layer);
    assert_int_equal(count_kind(llm, KVS_LAYER_FULL), row->n_full);
    assert_int_equal(count_kind(llm, KVS_LAYER_SWA), row->n_swa);
    assert_int_equal(count_kind(llm, KVS_LAYER_RECURRENT), row->n_recurrent);
    assert_int_equal(kvs_kv_growing_bytes_per_token(llm, KVS_KV_F16, KVS_KV_F16),
                     row->growing_f16);
    assert_int_equal(kvs_kv_growing_bytes_per_token(llm, KVS_KV_Q8_0, KVS_KV_Q8_0),
                     row->growing_q8_0);
    assert_int_equal(kvs_kv_swa_bytes_per_cell(llm, KVS_KV_F16, KVS_KV_F16), row->swa_f16);
    assert_int_equal(llm->recurrent_bytes_per_seq, row->recurrent_bytes);
    assert_int_equal(llm->can_split_tensor, row->can_split_tensor);
    assert_int_equal(llm->swa_window > 0, row->n_swa > 0);
}

/*
 * Published totals leave out norms and other small tensors, and are rounded: 2% (the smallest
 * model's "1.0" alone is that coarse). Active counts differ in whether embeddings are part:
 * 12%.
 */
static void check_params(const struct shape_row *row, const struct kvs_llm *llm)
{
    const double total_e9 = (double)llm->stored_params * 1e-9;
    const double active_e9 = (double)kvs_llm_active_params(llm) * 1e-9;
    if (row->total_e9 > 0)
        assert_true(fabs(total_e9 / row->total_e9 - 1) < 0.02);
    if (row->active_e9 > 0)
        assert_true(fabs(active_e9 / row->active_e9 - 1) < 0.12);
    assert_true(active_e9 <= total_e9);
}

static uint32_t catalogue_count(void)
{
    uint32_t n = 0;
    DIR *dir = opendir(KVS_SOURCE_DIR "/models/llm");
    assert_non_null(dir);
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        const size_t len = strlen(entry->d_name);
        n += len > 5 && strcmp(entry->d_name + len - 5, ".yaml") == 0;
    }
    (void)closedir(dir);
    return n;
}

static void test_catalogue_agrees_with_published_shapes(void **state)
{
    (void)state;
    char line[256];
    uint32_t n_rows = 0;
    FILE *file = fopen(KVS_SOURCE_DIR "/tests/data/model_shapes.csv", "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (line[0] == '#')
            continue;
        const struct shape_row row = shape_parse(line);
        struct kvs_llm *llm = catalogue_load(row.model);
        check_shape(&row, llm);
        check_params(&row, llm);
        kvs_llm_destroy(llm);
        n_rows++;
    }
    (void)fclose(file);
    assert_int_equal(catalogue_count(), n_rows + 1); /* and the synthetic ladder */
}

/*
 * Q27: hidden 5120, 24 query heads and 4 KV heads x 256, gate, ffn 17408.
 *   pre       5120 x (24 x 256 x 2 + 4 x 512)              =  73,400,320
 *   post      24 x 256 x 5120 + 3 x 5120 x 17408           = 298,844,160
 *   recurrent 5120 x (10240 + 6144 + 96) + 6144 x 5120 + 4 x 10240 + 3 x 5120 x 17408
 *                                                          = 383,262,720
 *   head      248320 x 5120                                = 1,271,398,400
 * With the embedding: 16 x 372,244,480 + 48 x 383,262,720 + 2 x head = 26,895,319,040;
 * published 26.90e9.
 */
static void test_qwen38_27b_weights(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("qwen3.8-27b");
    const struct kvs_llm_layer *full = &llm->layers[63];
    const struct kvs_llm_layer *linear = &llm->layers[62];
    assert_int_equal(full->kind, KVS_LAYER_FULL);
    assert_int_equal(full->kind_index, 15);
    assert_int_equal(full->pre_params, 73400320);
    assert_int_equal(full->post_params, 298844160);
    assert_int_equal(linear->kind, KVS_LAYER_RECURRENT);
    assert_int_equal(linear->kind_index, 47);
    assert_int_equal(linear->pre_params, 0);
    assert_int_equal(linear->post_params, 383262720);
    assert_int_equal(linear->n_head_kv, 0);
    assert_int_equal(llm->head_params, 1271398400);
    assert_int_equal(llm->stored_params, UINT64_C(26895319040));
    assert_int_equal(kvs_llm_active_params(llm), UINT64_C(26895319040) - 1271398400);
    assert_int_equal(llm->rotation_k_bytes, 262144);
    assert_int_equal(llm->rotation_v_bytes, 16384);
    assert_string_equal(llm->weight_label, "UD-IQ2_M");
    assert_true(fabs(llm->weight_bytes_per_param * 8 - 2.7) < 1e-12);
    assert_false(llm->is_v_transposed);
    assert_string_equal(llm->evidence, "partly");
    kvs_llm_destroy(llm);
}

/* hidden 2048, 128 experts of 768, 8 used: router 2048 x 128, active 8 x 3 x 2048 x 768. */
static void test_experts(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("qwen3-30b-a3b");
    const uint64_t attention = UINT64_C(32) * 128 * 2048;
    const uint64_t expert = UINT64_C(3) * 2048 * 768;
    assert_int_equal(llm->layers[0].post_params, attention + 8 * expert + 2048 * 128);
    const uint64_t head = UINT64_C(151936) * 2048;
    assert_int_equal(llm->stored_params - kvs_llm_active_params(llm), 48 * 120 * expert + head);
    kvs_llm_destroy(llm);

    /* The first three layers of DeepSeek-V3 are dense. */
    llm = catalogue_load("deepseek-v3");
    const uint64_t dense = UINT64_C(3) * 7168 * 18432;
    const uint64_t sparse = 9 * UINT64_C(3) * 7168 * 2048 + 7168 * 256;
    assert_int_equal(llm->layers[2].post_params - dense, llm->layers[3].post_params - sparse);
    kvs_llm_destroy(llm);

    /* Gemma 4 26B-A4B has both in each layer: 16 x 256 x 2816 + 3 x 2816 x (2112 + 8 x 704) +
     * router. */
    llm = catalogue_load("gemma-4-26b-a4b");
    assert_int_equal(llm->layers[0].post_params, 11534336 + 65421312 + 360448);
    kvs_llm_destroy(llm);
}

/* DeepSeek-V3: Q 7168 x 1536 + 1536 x 128 x 192, KV 7168 x 576 + 512 x 128 x 128. */
static void test_mla_weights(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("deepseek-v3");
    const struct kvs_llm_layer *layer = &llm->layers[0];
    assert_int_equal(layer->n_head, 128);
    assert_int_equal(layer->n_head_kv, 1);
    assert_int_equal(layer->k_dim, 576);
    assert_int_equal(layer->v_dim, 0);
    assert_int_equal(layer->pre_params, 11010048 + 37748736 + 4128768 + 8388608);
    assert_int_equal(layer->post_params, 8388608 + 128 * 128 * 7168 + 3 * 7168 * 18432);
    kvs_llm_destroy(llm);
}

/* K = V: Gemma 4 31B projects Q (32 x 512) and K (4 x 512) in full layers, V too in the others.
 */
static void test_k_eq_v_drops_a_projection(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("gemma-4-31b");
    assert_int_equal(llm->layers[5].pre_params, 5376 * (32 * 512 + 4 * 512));
    assert_int_equal(llm->layers[0].pre_params, 5376 * (32 * 256 + 2 * 16 * 256));
    assert_int_equal(llm->layers[5].v_dim, 512);
    assert_int_equal(llm->stored_params - kvs_llm_active_params(llm), 0); /* tied */
    kvs_llm_destroy(llm);
}

/* Gemma 4 E4B: the last 18 of 42 layers read layer 22 (windowed) or 23 (full). */
static void test_shared_kv(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("gemma-4-e4b");
    for (uint32_t i = 0; i < 24; i++)
        assert_int_equal(llm->layers[i].kv_source, -1);
    for (uint32_t i = 24; i < 42; i++) {
        const bool is_full = i % 6 == 5;
        assert_int_equal(llm->layers[i].kind, is_full ? KVS_LAYER_FULL : KVS_LAYER_SWA);
        assert_int_equal(llm->layers[i].kv_source, is_full ? 23 : 22);
        assert_int_equal(llm->layers[i].n_head_kv, 2);
    }
    assert_int_equal(llm->layers[41].pre_params, 2560 * 8 * 512); /* Q alone */
    kvs_llm_destroy(llm);
}

/* One mixer per layer: attention and Mamba layers have no FFN, the others nothing else. */
static void test_mixer_layers(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("nemotron-3-nano-30b-a3b");
    const struct kvs_llm_layer *attention = &llm->layers[5];
    const struct kvs_llm_layer *mamba = &llm->layers[0];
    const struct kvs_llm_layer *experts = &llm->layers[1];
    assert_int_equal(attention->kind, KVS_LAYER_FULL);
    assert_int_equal(attention->post_params, 32 * 128 * 2688);
    assert_int_equal(mamba->kind, KVS_LAYER_RECURRENT);
    /* 2688 x (2 x 4096 + 2 x 8 x 128 + 64) + 4096 x 2688 + 4 x 6144 */
    assert_int_equal(mamba->post_params, 27697152 + 11010048 + 24576);
    assert_int_equal(experts->kind, KVS_LAYER_NONE);
    assert_int_equal(experts->pre_params, 0);
    assert_int_equal(experts->post_params, 2 * 2688 * (6 * 1856 + 3712) + 2688 * 128);
    kvs_llm_destroy(llm);
}

/* First split 0.75 units and 18 kernels, then 16 intervals of one unit and 24 kernels: 402. */
static void test_ladder(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("ladder");
    uint32_t n_kernels = llm->layers[0].pre_kernels;
    assert_int_equal(llm->n_layer, 16);
    for (uint32_t i = 0; i < 16; i++) {
        const bool is_last = i == 15;
        const struct kvs_llm_layer *layer = &llm->layers[i];
        const uint64_t next_params = is_last ? llm->head_params : layer[1].pre_params;
        const uint32_t next_kernels = is_last ? llm->head_kernels : layer[1].pre_kernels;
        assert_int_equal(layer->kind, KVS_LAYER_FULL);
        assert_int_equal(layer->post_params + next_params, 1000000);
        assert_int_equal(layer->post_kernels + next_kernels, 24);
        assert_int_equal(kvs_kv_k_row_bytes(layer, KVS_KV_Q8_0), 1088);
        assert_int_equal(kvs_kv_v_row_bytes(layer, KVS_KV_Q8_0), 1088);
        n_kernels += layer->post_kernels + next_kernels;
    }
    assert_int_equal(n_kernels, 402);
    assert_int_equal(llm->layers[0].pre_params, 750000);
    assert_int_equal(llm->rotation_k_bytes, 262144);
    assert_int_equal(llm->rotation_v_bytes, 0);
    assert_string_equal(llm->evidence, "synthetic");
    kvs_llm_destroy(llm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_catalogue_agrees_with_published_shapes),
        cmocka_unit_test(test_qwen38_27b_weights),
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_mla_weights),
        cmocka_unit_test(test_k_eq_v_drops_a_projection),
        cmocka_unit_test(test_shared_kv),
        cmocka_unit_test(test_mixer_layers),
        cmocka_unit_test(test_ladder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
