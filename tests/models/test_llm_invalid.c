/* Files that are no models: every case of tests/data/invalid/model, and nesting made here. */
#define _POSIX_C_SOURCE 200809L

#include "models/llm.h"

#include "tests/invalid_cases.h"
#include "tests/models/catalogue.h"

#define CASES_DIR KVS_SOURCE_DIR "/tests/data/invalid/model"

static char *complaints_of(const char *bytes, size_t n)
{
    struct kvs_diags diags;
    struct kvs_error err = {0};
    struct kvs_llm *llm = NULL;
    kvs_diags_init(&diags);
    const kvs_status status = kvs_llm_parse("input.yaml", bytes, n, &diags, &llm, &err);
    assert_int_not_equal(status, KVS_OK);
    assert_null(llm);
    assert_true(diags.n_errors > 0);
    assert_int_equal(err.status, status);
    assert_string_equal(err.text, diags.errors[0].text);
    return invalid_printed(&diags);
}

static void test_every_case(void **state)
{
    (void)state;
    invalid_cases_run(CASES_DIR, 25, complaints_of);
}

static void expect_said(const char *bytes, size_t n, const char *text)
{
    char *found = complaints_of(bytes, n);
    assert_string_equal(found, text);
    kvs_mem_free(found);
}

/* Brackets and indentation, far deeper than any file needs: refused at once, without a crash.
 */
static void test_deep_nesting(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    char *bytes = malloc(DEPTH + 16);
    assert_non_null(bytes);
    memcpy(bytes, "pattern: ", 9);
    memset(bytes + 9, '[', DEPTH);
    expect_said(bytes, DEPTH + 9, "input.yaml:1: nested deeper than the limit of 64 levels\n");
    memset(bytes + 9, '{', DEPTH);
    expect_said(bytes, DEPTH + 9, "input.yaml:1: nested deeper than the limit of 64 levels\n");
    free(bytes);
}

static void test_huge_file(void **state)
{
    (void)state;
    const size_t n = (size_t)KVS_YAML_MAX_BYTES + 1;
    char *bytes = malloc(n);
    assert_non_null(bytes);
    memset(bytes, '#', n);
    expect_said(bytes, n, "input.yaml: file is larger than the limit of 4194304 bytes\n");
    free(bytes);
}

/* Every prefix of a good file is refused or, where a whole key is cut off, read without fault.
 */
static void test_every_prefix(void **state)
{
    (void)state;
    char *bytes = NULL;
    size_t n = 0;
    unsigned n_refused = 0;
    const char *path = KVS_SOURCE_DIR "/models/llm/gemma-4-e4b.yaml";
    assert_int_equal(kvs_file_read(path, KVS_YAML_MAX_BYTES, &bytes, &n, NULL), KVS_OK);
    for (size_t cut = 0; cut < n; cut++) {
        struct kvs_diags diags;
        struct kvs_llm *llm = NULL;
        kvs_diags_init(&diags);
        const kvs_status status = kvs_llm_parse("cut.yaml", bytes, cut, &diags, &llm, NULL);
        assert_int_equal(status == KVS_OK, diags.n_errors == 0);
        assert_int_equal(status == KVS_OK, llm != NULL);
        n_refused += status != KVS_OK;
        kvs_llm_destroy(llm);
        kvs_diags_fini(&diags);
    }
    assert_true(n_refused > n / 2);
    kvs_mem_free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_case),
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_huge_file),
        cmocka_unit_test(test_every_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
