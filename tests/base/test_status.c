/* Error records, their printed form, and the collector with its cap. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/status.h"
#include "tests/base/base_test.h"

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(kvs_status_name(KVS_OK), "KVS_OK");
    assert_string_equal(kvs_status_name(KVS_ENUMERIC), "KVS_ENUMERIC");
    assert_string_equal(kvs_status_text(KVS_ENOMEM), "out of memory");
    assert_string_equal(kvs_status_name((kvs_status)99), "KVS_?");
}

static void test_set_clears_place_and_hint(void **state)
{
    (void)state;
    struct kvs_error err;
    assert_int_equal(kvs_error_at(&err, KVS_EINVAL, "f", 3, 4, "%d", 5), KVS_EINVAL);
    kvs_error_hint(&err, "try");
    assert_int_equal(kvs_error_set(&err, KVS_ERANGE, "got \"%s\"", err.text), KVS_ERANGE);
    assert_string_equal(err.text, "got \"5\"");
    assert_string_equal(err.file, "");
    assert_string_equal(err.hint, "");
    assert_int_equal(err.line, 0);
    assert_int_equal(kvs_error_set(NULL, KVS_EIO, "x"), KVS_EIO);
    assert_int_equal(kvs_error_at(NULL, KVS_EIO, NULL, 1, 1, "x"), KVS_EIO);
    kvs_error_hint(NULL, "x");
}

static void test_text_is_one_printable_line(void **state)
{
    (void)state;
    struct kvs_error err;
    char longer[600];
    memset(longer, 'x', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    kvs_error_set(&err, KVS_EINVAL, "a\nb\x1b[31m\xff \xc3\xa9");
    assert_string_equal(err.text, "a?b?[31m? \xc3\xa9");
    kvs_error_set(&err, KVS_EINVAL, "%s", longer);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_string_equal(err.text + sizeof(err.text) - 4, "...");
}

static void assert_prints(const struct kvs_error *err, const char *expected)
{
    char buf[256] = "";
    FILE *out = tmpfile();
    assert_non_null(out);
    kvs_error_print(err, out);
    rewind(out);
    size_t n = fread(buf, 1, sizeof(buf) - 1, out);
    fclose(out);
    buf[n] = '\0';
    assert_string_equal(buf, expected);
}

static void test_print(void **state)
{
    (void)state;
    struct kvs_error err;
    kvs_error_at(&err, KVS_EINVAL, "m.yaml", 12, 11, "expected bytes");
    strcpy(err.path, "devices[0].memory");
    kvs_error_hint(&err, "add a unit");
    assert_prints(&err,
                  "m.yaml:12:11: devices[0].memory: expected bytes\n  hint: add a unit\n");
    kvs_error_at(&err, KVS_EINVAL, "m.yaml", 12, 0, "bad");
    assert_prints(&err, "m.yaml:12: bad\n");
    kvs_error_at(&err, KVS_EINVAL, "--link", 0, 0, "bad");
    assert_prints(&err, "--link: bad\n");
    kvs_error_set(&err, KVS_EINVAL, "bad");
    assert_prints(&err, "bad\n");
}

static void test_diags(void **state)
{
    (void)state;
    struct kvs_diags diags;
    struct kvs_error err;
    kvs_diags_init(&diags);
    assert_int_equal(kvs_diags_status(&diags, &err), KVS_OK);
    for (int i = 0; i < KVS_DIAGS_MAX + 7; i++) {
        kvs_error_set(&err, i == 0 ? KVS_ERANGE : KVS_EINVAL, "error %d", i);
        kvs_diags_add(&diags, &err);
    }
    assert_int_equal(diags.n_errors, KVS_DIAGS_MAX);
    assert_int_equal(diags.n_dropped, 7);
    assert_int_equal(kvs_diags_status(&diags, &err), KVS_ERANGE);
    assert_string_equal(err.text, "error 0");
    assert_string_equal(diags.errors[KVS_DIAGS_MAX - 1].text, "error 99");
    kvs_diags_fini(&diags);
    assert_int_equal(diags.n_dropped, 0);
}

static void test_diags_without_memory(void **state)
{
    (void)state;
    struct kvs_diags diags;
    struct kvs_error err;
    kvs_diags_init(&diags);
    kvs_error_set(&err, KVS_EINVAL, "x");
    kvs_mem_fail_after(1);
    kvs_diags_add(&diags, &err);
    assert_int_equal(kvs_diags_status(&diags, &err), KVS_ENOMEM);
    kvs_diags_fini(&diags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_set_clears_place_and_hint),
        cmocka_unit_test(test_text_is_one_printable_line),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_diags),
        cmocka_unit_test(test_diags_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
