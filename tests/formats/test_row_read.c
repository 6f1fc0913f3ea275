/* Rows read back from lines and from a document; what is missing is named. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/row_read.h"

#define ROW(depth, more)                                                                       \
    "{\"machine\":\"m\",\"model\":\"l\",\"weights\":\"\",\"type_k\":\"q8_0\",\"type_v\":"      \
    "\"f16\","                                                                                 \
    "\"split_mode\":\"none\",\"tensor_split\":\"\",\"head_split\":\"even\","                   \
    "\"kv_cpu_pinned\":true,\"kv_gpu_layers\":0,\"n_parallel\":2,\"kv_unified\":false,"        \
    "\"n_rows\":1,\"n_ctx\":0,\"arbitration\":\"machine\",\"n_gen\":8,\"n_depth\":" depth      \
    ",\"kvpb\":0.5,\"arm\":\"pipelined+n2\",\"policy\":\"pipelined\"" more "}"

static const char *key_of(const struct kvs_result *row, const char *key)
{
    for (size_t i = 0; i < KVS_RESULT_N_KEYS; i++)
        if (strcmp(kvs_result_keys[i], key) == 0)
            return row->keys[i];
    fail_msg("no key %s", key);
    return NULL;
}

static void test_lines(void **state)
{
    static const char text[] =
        ROW("4096", ",\"predicted_ts\":3.5,\"measured_ts\":null,\"unknown\":[1]") "\n" ROW(
            "8192",
            ",\"declined\":1,\"compute_ms\":2,\"copies_ms\":4.5,\"measured_ts\":9") "\n";
    struct kvs_results r = {0};
    (void)state;
    assert_int_equal(kvs_results_read("f", text, strlen(text), &r, NULL), KVS_OK);
    assert_int_equal(r.items.n, 2);
    const struct kvs_result *first = &r.items.items[0], *second = &r.items.items[1];
    assert_string_equal(key_of(first, "n_depth"), "4096");
    assert_string_equal(key_of(first, "kv_cpu_pinned"), "true");
    assert_string_equal(key_of(first, "kvpb"), "0.5");
    assert_string_equal(key_of(first, "arm"), "pipelined+n2");
    assert_string_equal(first->policy, "pipelined");
    assert_true(first->predicted_ts == 3.5 && isnan(first->measured_ts));
    assert_true(first->n_parallel == 2 && isnan(first->declined));
    assert_true(isnan(first->compute_ms));
    assert_true(second->declined == 1 && second->compute_ms == 2 && second->copies_ms == 4.5);
    assert_true(second->measured_ts == 9);
    assert_true(kvs_result_is_same(first, first));
    assert_false(kvs_result_is_same(first, second));
    kvs_results_fini(&r);
}

static void test_document(void **state)
{
    static const char *const texts[] = {
        "{\"schema_version\":1,\n\"rows\":[\n" ROW("1", "") ",\n" ROW("2", "") "\n]}\n",
        "{\"rows\":[" ROW("1", "") "," ROW("2", "") "]}", /* on one line */
        ROW("1", "") "\n\n" ROW("2", ""),                 /* a blank line, no end of line */
    };
    (void)state;
    for (size_t i = 0; i < KVS_COUNT_OF(texts); i++) {
        struct kvs_results r = {0};
        assert_int_equal(kvs_results_read("f", texts[i], strlen(texts[i]), &r, NULL), KVS_OK);
        assert_int_equal(r.items.n, 2);
        assert_string_equal(key_of(&r.items.items[1], "n_depth"), "2");
        kvs_results_fini(&r);
    }
}

static void test_refused(void **state)
{
    static const struct {
        const char *text;
        unsigned line;
        const char *error;
    } cases[] = {
        {"", 0, "is empty, expected rows"},
        {ROW("1", "") "\n{\"a\":1}\n", 2, "missing key \"machine\""},
        {ROW("\"x\"", ""), 1, "expected an integer, got \"x\""},
        {ROW("-1", ""), 1, "must be at least 0, got -1"},
        {ROW("1", ",\"measured_ts\":\"fast\""), 1, "expected a number, got \"fast\""},
    };
    (void)state;
    for (size_t i = 0; i < KVS_COUNT_OF(cases); i++) {
        struct kvs_results r = {0};
        struct kvs_error err = {0};
        assert_int_not_equal(
            kvs_results_read("f", cases[i].text, strlen(cases[i].text), &r, &err), KVS_OK);
        assert_string_equal(err.text, cases[i].error);
        assert_string_equal(err.file, "f");
        assert_int_equal(err.line, cases[i].line);
        kvs_results_fini(&r);
    }
}

static void test_no_memory(void **state)
{
    static const char text[] = ROW("1", "") "\n" ROW("2", "") "\n";
    uint64_t before = kvs_mem_live_bytes();
    size_t n_refused = 0;
    (void)state;
    for (uint64_t n = 1;; n++) {
        struct kvs_results r = {0};
        kvs_mem_fail_after(n);
        kvs_status status = kvs_results_read("f", text, strlen(text), &r, NULL);
        kvs_mem_fail_after(0);
        bool is_done = status == KVS_OK && r.items.n == 2;
        kvs_results_fini(&r);
        assert_int_equal(kvs_mem_live_bytes(), before);
        if (is_done)
            break;
        n_refused++;
        assert_true(n < 1000);
    }
    assert_true(n_refused > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_document),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
