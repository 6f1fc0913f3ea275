/* What each key of a model file means, and how files are refused as a whole. */
#include "models/llm_file.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "models/kv.h"
#include "tests/models/catalogue.h"

/* Parses a small file whose middle is `lines`; diags of the caller. */
static kvs_status parse_lines(const char *lines, struct kvs_diags *diags, struct kvs_llm **out,
                              struct kvs_error *err)
{
    char text[2048];
    (void)snprintf(text, sizeof(text),
                   "kind: model\nname: small\nevidence: synthetic\nsource: a test\n"
                   "hidden: 64\nvocab: 100\nffn: 128\n%s",
                   lines);
    return kvs_llm_parse("small.yaml", text, strlen(text), diags, out, err);
}

static struct kvs_llm *parse_good(const char *lines)
{
    struct kvs_diags diags;
    struct kvs_llm *llm = NULL;
    kvs_diags_init(&diags);
    const kvs_status status = parse_lines(lines, &diags, &llm, NULL);
    kvs_diags_print(&diags, stderr);
    kvs_diags_fini(&diags);
    assert_int_equal(status, KVS_OK);
    return llm;
}

#define ATTENTION "attention: {heads: 8, kv_heads: 2, k_dim: 16}\n"
#define SLIDING   "sliding: {window: 32}\n"
#define RECURRENT "recurrent: {state_bytes: 1KiB, params: 500}\n"

static void test_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *lines;
        const char *letters;
    } patterns[] = {
        {"layers: 8\npattern: LLLF\n", "LLLFLLLF"},
        {"layers: 4\npattern: F S L N\n", "FSLN"},
        {"layers: 7\npattern: {letters: SSF, cut: true}\n", "SSFSSFS"},
        {"layers: 7\npattern: {letters: SSF, cut: true, last: F}\n", "SSFSSFF"},
        {"layers: 6\npattern: {letters: SSF, last: F}\n", "SSFSSF"},
        {"layers: 5\npattern: {first: F, letters: SL}\n", "FSLSL"},
        {"layers: 5\npattern: {letters: S, first: FF, last: NN}\n", "FFSNN"},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(patterns); i++) {
        char lines[512];
        const bool has_swa = strchr(patterns[i].letters, 'S') != NULL;
        const bool has_recurrent = strchr(patterns[i].letters, 'L') != NULL;
        (void)snprintf(lines, sizeof(lines), "%s%s%s%s", patterns[i].lines, ATTENTION,
                       has_swa ? SLIDING : "", has_recurrent ? RECURRENT : "");
        struct kvs_llm *llm = parse_good(lines);
        assert_int_equal(llm->n_layer, strlen(patterns[i].letters));
        for (uint32_t j = 0; j < llm->n_layer; j++)
            assert_int_equal("FSLN"[llm->layers[j].kind], patterns[i].letters[j]);
        kvs_llm_destroy(llm);
    }
}

/* What a file leaves out. */
static void test_defaults(void **state)
{
    (void)state;
    struct kvs_llm *llm = parse_good("layers: 4\npattern: FSLN\n" ATTENTION SLIDING RECURRENT);
    const struct kvs_llm_layer *full = &llm->layers[0];
    const struct kvs_llm_layer *swa = &llm->layers[1];
    assert_int_equal(full->v_dim, 16);
    assert_int_equal(swa->n_head, 8);
    assert_int_equal(swa->n_head_kv, 2);
    assert_int_equal(swa->k_dim, 16);
    assert_int_equal(swa->v_dim, 16);
    assert_int_equal(llm->swa_window, 32);
    assert_int_equal(full->pre_kernels, 10);
    assert_int_equal(full->post_kernels, 14);
    assert_int_equal(llm->layers[2].pre_kernels, 0);
    assert_int_equal(llm->layers[2].post_kernels, 20);
    assert_int_equal(llm->layers[3].post_kernels, 6);
    assert_int_equal(llm->head_kernels, 2);
    assert_int_equal(llm->recurrent_bytes_per_seq, 1024);
    assert_int_equal(llm->layers[2].post_params, 500 + 3 * 64 * 128);
    assert_int_equal(llm->layers[3].post_params, 3 * 64 * 128);
    assert_int_equal(llm->weight_block, 256);
    assert_true(llm->weight_bytes_per_param == 4.5 / 8);
    assert_string_equal(llm->weight_label, "");
    assert_true(llm->can_split_tensor);
    assert_int_equal(llm->rotation_k_bytes + llm->rotation_v_bytes, 0);
    kvs_llm_destroy(llm);
}

static void test_kv_heads_per_layer(void **state)
{
    (void)state;
    struct kvs_llm *llm =
        parse_good("layers: 4\npattern: FNFF\nattention: {heads: 8, k_dim: 16, v_dim: 32,\n"
                   "  kv_heads: [1, 0, 4, 8]}\n");
    static const uint32_t want[4] = {1, 0, 4, 8};
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(llm->layers[i].n_head_kv, want[i]);
    /* (1 + 4 + 8) x (16 + 32) values in f16 */
    assert_int_equal(kvs_kv_growing_bytes_per_token(llm, KVS_KV_F16, KVS_KV_F16), 13 * 48 * 2);
    kvs_llm_destroy(llm);

    /* The list of one section may cover the sliding layers as well. */
    llm = parse_good(
        "layers: 2\npattern: SF\nattention: {heads: 8, k_dim: 16, kv_heads: [4, 2]}\n"
        "sliding: {window: 8}\n");
    assert_int_equal(llm->layers[0].n_head_kv, 4);
    assert_int_equal(llm->layers[1].n_head_kv, 2);
    kvs_llm_destroy(llm);
}

/* bytes / all parameters: one layer of 64 x (128 + 64) + 128 x 64 + 3 x 64 x 128 = 45,056,
 * twice 6,400. */
static void test_weight_bytes(void **state)
{
    (void)state;
    struct kvs_llm *llm = parse_good("layers: 1\npattern: F\n" ATTENTION
                                     "weights: {label: Q8_0, block: 32, bytes: 115712B}\n");
    assert_int_equal(llm->stored_params, 45056 + 2 * 6400);
    assert_true(llm->weight_bytes_per_param == 2.0);
    assert_int_equal(llm->weight_block, 32);
    kvs_llm_destroy(llm);
}

static void test_given_params(void **state)
{
    (void)state;
    struct kvs_llm *llm =
        parse_good("layers: 2\npattern: FN\n" ATTENTION "params: {pre: 7, post: 5, head: 3}\n"
                   "kernels: {pre: 1, post: 2, none: 4, head: 8}\n"
                   "v_transposed: true\ntensor_split: false\ntied: true\n");
    assert_int_equal(llm->layers[0].pre_params, 7);
    assert_int_equal(llm->layers[0].post_params, 5);
    assert_int_equal(llm->layers[1].post_params, 3 * 64 * 128);
    assert_int_equal(llm->layers[1].post_kernels, 4);
    assert_int_equal(llm->head_params, 3);
    assert_int_equal(llm->stored_params, 7 + 5 + 3 + 3 * 64 * 128);
    assert_true(llm->is_v_transposed);
    assert_false(llm->can_split_tensor);
    kvs_llm_destroy(llm);
}

/* The largest values of every key: sums stay below 2^64 (active: 2^54.6 per layer at most). */
static void test_largest_values_do_not_wrap(void **state)
{
    (void)state;
    static const char text[] =
        "kind: model\nname: huge\nevidence: synthetic\nsource: a test\nlayers: 1024\n"
        "pattern: F\nhidden: 262144\nvocab: 16777216\n"
        "attention: {heads: 4096, kv_heads: 4096, k_dim: 16384, gate: true}\n"
        "experts: {count: 4096, used: 4096, width: 1048576, shared: 64}\n";
    struct kvs_diags diags;
    struct kvs_llm *llm = NULL;
    kvs_diags_init(&diags);
    assert_int_equal(kvs_llm_parse("huge.yaml", text, sizeof(text) - 1, &diags, &llm, NULL),
                     KVS_OK);
    const double h = 262144;
    const double layer = h * 4096 * 16384 * 5 + 3 * h * 1048576 * (4096 + 64) + h * 4096;
    const double want = 1024 * layer + 2 * h * 16777216;
    assert_true(fabs((double)llm->stored_params / want - 1) < 1e-9);
    kvs_llm_destroy(llm);
    kvs_diags_fini(&diags);
}

static void test_missing_file(void **state)
{
    (void)state;
    struct kvs_diags diags;
    struct kvs_error err = {0};
    struct kvs_llm *llm = NULL;
    kvs_diags_init(&diags);
    assert_int_equal(kvs_llm_load("no/such/model.yaml", &diags, &llm, &err), KVS_ENOTFOUND);
    assert_int_equal(diags.n_errors, 1);
    assert_string_equal(diags.errors[0].text, err.text);
    assert_null(llm);
    kvs_diags_fini(&diags);
}

/* A fault gives the first of its own file even when diags hold those of another. */
static void test_error_is_the_first_of_this_file(void **state)
{
    (void)state;
    struct kvs_diags diags;
    struct kvs_error err = {0};
    struct kvs_llm *llm = NULL;
    kvs_diags_init(&diags);
    assert_int_not_equal(parse_lines("layers: 0\n", &diags, &llm, &err), KVS_OK);
    const size_t n_before = diags.n_errors;
    assert_true(n_before >= 2); /* layers, pattern */
    assert_int_not_equal(parse_lines("layers: 1\npattern: X\n", &diags, &llm, &err), KVS_OK);
    assert_true(diags.n_errors > n_before);
    assert_string_equal(err.path, "pattern");
    kvs_diags_fini(&diags);
    kvs_llm_destroy(NULL);
}

/* Diags that are full already still make a bad file fail. */
static void test_full_diags(void **state)
{
    (void)state;
    struct kvs_diags diags;
    struct kvs_error err = {0};
    struct kvs_llm *llm = NULL;
    kvs_diags_init(&diags);
    (void)kvs_error_set(&err, KVS_EIO, "another file");
    for (unsigned i = 0; i < KVS_DIAGS_MAX; i++)
        kvs_diags_add(&diags, &err);
    assert_int_not_equal(parse_lines("layers: 0\n", &diags, &llm, NULL), KVS_OK);
    assert_null(llm);
    assert_int_equal(diags.n_errors, KVS_DIAGS_MAX);
    assert_true(diags.n_dropped >= 2);
    kvs_diags_fini(&diags);
}

/* The whole file of docs/model-format.md: 32 layers, the sixth and the last full. */
static void test_documented_example(void **state)
{
    (void)state;
    char *page = NULL;
    size_t n = 0;
    struct kvs_diags diags;
    struct kvs_llm *llm = NULL;
    const char *path = KVS_SOURCE_DIR "/docs/model-format.md";
    assert_int_equal(kvs_file_read(path, 1u << 20, &page, &n, NULL), KVS_OK);
    const char *start = strstr(page, "```yaml\n");
    assert_non_null(start);
    start += strlen("```yaml\n");
    const char *end = strstr(start, "```");
    assert_non_null(end);
    kvs_diags_init(&diags);
    const kvs_status status =
        kvs_llm_parse("example", start, (size_t)(end - start), &diags, &llm, NULL);
    kvs_diags_print(&diags, stderr);
    assert_int_equal(status, KVS_OK);
    assert_int_equal(llm->n_layer, 32);
    assert_int_equal(llm->layers[31].kind_index, 5);
    assert_int_equal(llm->layers[31].kind, KVS_LAYER_FULL);
    assert_int_equal(llm->layers[0].n_head_kv, 4);
    kvs_llm_destroy(llm);
    kvs_diags_fini(&diags);
    kvs_mem_free(page);
}

/* The n-th allocation fails, for every n: an error, and nothing left behind. */
static void test_out_of_memory(void **state)
{
    (void)state;
    const char *lines = "layers: 4\npattern: FSLN\n" ATTENTION SLIDING RECURRENT;
    const uint64_t live_bytes = kvs_mem_live_bytes();
    kvs_status status = KVS_ENOMEM;
    uint64_t n = 0;
    while (status != KVS_OK) {
        struct kvs_diags diags;
        struct kvs_llm *llm = NULL;
        kvs_diags_init(&diags);
        kvs_mem_fail_after(++n);
        status = parse_lines(lines, &diags, &llm, NULL);
        kvs_mem_fail_after(0);
        assert_true((status == KVS_OK) == (llm != NULL));
        kvs_llm_destroy(llm);
        kvs_diags_fini(&diags);
        assert_int_equal(kvs_mem_live_bytes(), live_bytes);
        assert_true(n < 1000);
    }
    assert_true(n > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_kv_heads_per_layer),
        cmocka_unit_test(test_weight_bytes),
        cmocka_unit_test(test_given_params),
        cmocka_unit_test(test_largest_values_do_not_wrap),
        cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_error_is_the_first_of_this_file),
        cmocka_unit_test(test_full_diags),
        cmocka_unit_test(test_documented_example),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
