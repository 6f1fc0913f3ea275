/*
 * Files that are no models: tests/data/invalid/model/<case>/input.yaml and, in `error`, all
 * that is printed for it. KVS_UPDATE_GOLDEN=1 rewrites the errors; read the difference before
 * keeping it.
 */
#define _POSIX_C_SOURCE 200809L

#include "models/llm.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/yaml.h"
#include "tests/models/catalogue.h"

#define CASES_DIR   KVS_SOURCE_DIR "/tests/data/invalid/model"
#define MIN_CASES   25
#define PRINTED_MAX 16384

/* What kvs_diags_print says about bytes, in out [PRINTED_MAX]. They must be refused. */
static void refuse(const char *bytes, size_t n, char *out)
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
    FILE *file = tmpfile();
    assert_non_null(file);
    kvs_diags_print(&diags, file);
    rewind(file);
    const size_t n_printed = fread(out, 1, PRINTED_MAX - 1, file);
    out[n_printed] = '\0';
    (void)fclose(file);
    kvs_diags_fini(&diags);
}

static void check_case(const char *name)
{
    char path[512];
    char printed[PRINTED_MAX];
    char *input = NULL;
    char *want = NULL;
    size_t n_input = 0;
    size_t n_want = 0;
    (void)snprintf(path, sizeof(path), "%s/%s/input.yaml", CASES_DIR, name);
    assert_int_equal(kvs_file_read(path, KVS_YAML_MAX_BYTES, &input, &n_input, NULL), KVS_OK);
    refuse(input, n_input, printed);
    kvs_mem_free(input);
    (void)snprintf(path, sizeof(path), "%s/%s/error", CASES_DIR, name);
    if (getenv("KVS_UPDATE_GOLDEN") != NULL)
        assert_int_equal(kvs_file_write(path, printed, strlen(printed), NULL), KVS_OK);
    assert_int_equal(kvs_file_read(path, PRINTED_MAX, &want, &n_want, NULL), KVS_OK);
    if (strcmp(printed, want) != 0)
        fail_msg("%s: printed\n%sexpected\n%s", name, printed, want);
    kvs_mem_free(want);
}

static void test_every_case(void **state)
{
    (void)state;
    unsigned n = 0;
    DIR *dir = opendir(CASES_DIR);
    assert_non_null(dir);
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (entry->d_name[0] == '.')
            continue;
        check_case(entry->d_name);
        n++;
    }
    (void)closedir(dir);
    assert_true(n >= MIN_CASES);
}

/* Brackets and indentation, far deeper than any file needs: refused at once, without a crash.
 */
static void test_deep_nesting(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    char printed[PRINTED_MAX];
    char *bytes = malloc(DEPTH + 16);
    assert_non_null(bytes);
    memcpy(bytes, "pattern: ", 9);
    memset(bytes + 9, '[', DEPTH);
    refuse(bytes, DEPTH + 9, printed);
    assert_string_equal(printed, "input.yaml:1: nested deeper than the limit of 64 levels\n");
    memset(bytes + 9, '{', DEPTH);
    refuse(bytes, DEPTH + 9, printed);
    assert_string_equal(printed, "input.yaml:1: nested deeper than the limit of 64 levels\n");
    free(bytes);
}

static void test_huge_file(void **state)
{
    (void)state;
    const size_t n = (size_t)KVS_YAML_MAX_BYTES + 1;
    char printed[PRINTED_MAX];
    char *bytes = malloc(n);
    assert_non_null(bytes);
    memset(bytes, '#', n);
    refuse(bytes, n, printed);
    assert_string_equal(printed,
                        "input.yaml: file is larger than the limit of 4194304 bytes\n");
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
