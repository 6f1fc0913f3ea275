/* The JSON writer's bytes, and what the strict reader accepts and refuses. */
#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "tests/base/base_test.h"

static void test_writer(void **state)
{
    (void)state;
    struct kvs_text text = {0};
    struct kvs_json_writer w = {.text = &text};
    kvs_json_begin(&w, NULL, '{');
    kvs_json_str(&w, "b", "q\"\\\n\x01/\xc3\xa9\xff");
    kvs_json_str(&w, "a", NULL);
    kvs_json_begin(&w, "list", '[');
    kvs_json_i64(&w, NULL, INT64_MIN);
    kvs_json_u64(&w, NULL, UINT64_MAX);
    kvs_json_begin(&w, NULL, '{');
    kvs_json_end(&w, '}');
    kvs_json_f64(&w, NULL, 0.1);
    kvs_json_f64(&w, NULL, (double)NAN);
    kvs_json_f64(&w, NULL, -(double)INFINITY);
    kvs_json_end(&w, ']');
    kvs_json_bool(&w, "t", true);
    kvs_json_end(&w, '}');
    kvs_text_puts(&text, "\n");
    kvs_json_bool(&w, NULL, false); /* a second value at the top: no comma */
    assert_string_equal(text.data,
                        "{\"b\":\"q\\\"\\\\\\n\\u0001/\xc3\xa9\\ufffd\",\"a\":null,"
                        "\"list\":[-9223372036854775808,18446744073709551615,{},0.1,null,null],"
                        "\"t\":true}\nfalse");
    kvs_text_fini(&text);
}

static struct kvs_json_doc *parse(const char *text)
{
    struct kvs_json_doc *doc = NULL;
    struct kvs_error err;
    if (kvs_json_parse("p.jsonl", text, strlen(text), 40, &doc, &err) != KVS_OK)
        fail_msg("%u:%u: %s", err.line, err.column, err.text);
    return doc;
}

static void test_values(void **state)
{
    (void)state;
    struct kvs_json_doc *doc = parse("{\"s\":\"x\",\"i\":-5,\"f\":2.5,\"b\":true,\"n\":null,"
                                     "\"a\":[1,2.0,9223372036854775807]}");
    const struct kvs_json_value *root = kvs_json_root(doc);
    const struct kvs_json_value *array = NULL;
    const char *s = NULL;
    int64_t i = 0;
    double f = 0;
    bool b = false;
    assert_int_equal(kvs_json_get_str(doc, root, "s", true, &s, NULL), KVS_OK);
    assert_string_equal(s, "x");
    assert_int_equal(kvs_json_get_i64(doc, root, "i", true, -5, -5, &i, NULL), KVS_OK);
    assert_int_equal(i, -5);
    assert_int_equal(kvs_json_get_f64(doc, root, "f", true, 0, 9, &f, NULL), KVS_OK);
    assert_near(f, 2.5, 0);
    assert_int_equal(kvs_json_get_f64(doc, root, "i", true, -9, 9, &f, NULL), KVS_OK);
    assert_near(f, -5, 0);
    assert_int_equal(kvs_json_get_bool(doc, root, "b", true, &b, NULL), KVS_OK);
    assert_true(b);
    assert_int_equal(kvs_json_get_str(doc, root, "n", false, &s, NULL), KVS_OK);
    assert_int_equal(kvs_json_get_str(doc, root, "absent", false, &s, NULL), KVS_OK);
    assert_string_equal(s, "x");
    assert_int_equal(kvs_json_get(doc, root, "a", true, &array, NULL), KVS_OK);
    assert_int_equal(kvs_json_array_len(array), 3);
    assert_int_equal(kvs_json_array_len(root), 0);
    assert_true(kvs_json_as_i64(kvs_json_array_item(array, 0), 1, 1, &i));
    assert_false(kvs_json_as_i64(kvs_json_array_item(array, 1), 0, 9, &i));
    assert_true(kvs_json_as_i64(kvs_json_array_item(array, 2), 0, INT64_MAX, &i));
    assert_true(i == INT64_MAX);
    assert_null(kvs_json_array_item(array, 3));
    kvs_json_destroy(doc);
    kvs_json_destroy(NULL);
}

static void assert_fault(kvs_status got, const struct kvs_error *err, kvs_status status,
                         const char *path, const char *says)
{
    assert_int_equal(got, status);
    assert_int_equal(err->status, status);
    assert_string_equal(err->file, "p.jsonl");
    assert_int_equal(err->line, 41);
    assert_string_equal(err->path, path);
    assert_string_equal(err->text, says);
}

static void test_getter_errors(void **state)
{
    (void)state;
    static const char *const known[] = {"size_bytes", "kind"};
    struct kvs_json_doc *doc = parse(
        "{\"ops\":[{\"size_bytes\":1},{\"size_bytes\":-4096,\"knd\":1.5,\"kind\":[]}]}\n");
    const struct kvs_json_value *ops = NULL;
    struct kvs_error err;
    int64_t i = 7;
    double f = 7;
    bool b = false;
    const char *s = NULL;
    assert_int_equal(kvs_json_get(doc, kvs_json_root(doc), "ops", true, &ops, NULL), KVS_OK);
    const struct kvs_json_value *op = kvs_json_array_item(ops, 1);
    assert_fault(kvs_json_get_i64(doc, op, "size_bytes", true, 1, INT64_MAX, &i, &err), &err,
                 KVS_ERANGE, "ops[1].size_bytes", "must be at least 1, got -4096");
    assert_fault(kvs_json_get_i64(doc, op, "size_bytes", true, 1, 9, &i, &err), &err,
                 KVS_ERANGE, "ops[1].size_bytes", "must be between 1 and 9, got -4096");
    assert_fault(kvs_json_get_i64(doc, op, "knd", true, 1, 9, &i, &err), &err, KVS_EINVAL,
                 "ops[1].knd", "expected an integer, got 1.5");
    assert_fault(kvs_json_get_f64(doc, op, "size_bytes", true, 0, 0.5, &f, &err), &err,
                 KVS_ERANGE, "ops[1].size_bytes", "must be between 0 and 0.5, got -4096");
    assert_fault(kvs_json_get_f64(doc, op, "kind", true, 0, 1, &f, &err), &err, KVS_EINVAL,
                 "ops[1].kind", "expected a number, got an array");
    assert_fault(kvs_json_get_bool(doc, op, "knd", true, &b, &err), &err, KVS_EINVAL,
                 "ops[1].knd", "expected true or false, got 1.5");
    assert_fault(kvs_json_get_str(doc, op, "absent", true, &s, &err), &err, KVS_EINVAL,
                 "ops[1]", "missing key \"absent\"");
    assert_fault(kvs_json_get_str(doc, ops, "x", true, &s, &err), &err, KVS_EINVAL, "ops",
                 "expected an object, got an array");
    assert_fault(kvs_json_only_keys(doc, op, known, 2, &err), &err, KVS_EINVAL, "ops[1]",
                 "unknown key \"knd\"");
    assert_string_equal(err.hint, "did you mean \"kind\"?");
    assert_int_equal(kvs_json_only_keys(doc, kvs_json_array_item(ops, 0), known, 2, NULL),
                     KVS_OK);
    assert_true(i == 7 && f > 6 && !b && s == NULL);
    kvs_json_destroy(doc);
}

static void test_syntax(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned line;
    } bad[] = {
        {"", 41},     {"{", 41},           {"{}\n\n{}", 43}, {"{\"a\":1,\n\"a\":2}", 42},
        {"[1,]", 41}, {"{\"a\":NaN}", 41}, {"\"\xff\"", 41}, {"[99999999999999999999]", 41},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(bad); i++) {
        struct kvs_json_doc *doc = NULL;
        struct kvs_error err;
        assert_int_equal(
            kvs_json_parse("p.jsonl", bad[i].text, strlen(bad[i].text), 40, &doc, &err),
            KVS_ESYNTAX);
        assert_int_equal(err.line, bad[i].line);
        assert_null(doc);
    }
}

static void test_depth(void **state)
{
    (void)state;
    char text[140];
    struct kvs_json_doc *doc = NULL;
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    assert_int_equal(kvs_json_parse("p", text + 1, 128, 0, &doc, NULL), KVS_OK);
    kvs_json_destroy(doc);
    assert_int_equal(kvs_json_parse("p", text, 130, 0, &doc, NULL), KVS_ESYNTAX);
    doc = parse(
        "\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[\"");
    kvs_json_destroy(doc);
}

static void test_without_memory(void **state)
{
    (void)state;
    const char text[] = "{\"a\":[1,2.5,\"x\",{\"b\":null}],\"c\":\"\\u00e9\"}";
    uint64_t start_bytes = kvs_mem_live_bytes();
    uint64_t n = 0;
    kvs_status status;
    do {
        struct kvs_json_doc *doc = NULL;
        kvs_mem_fail_after(++n);
        status = kvs_json_parse("p", text, sizeof(text) - 1, 0, &doc, NULL);
        assert_true(status == KVS_OK || status == KVS_ENOMEM);
        kvs_json_destroy(doc);
        assert_int_equal(kvs_mem_live_bytes(), start_bytes);
    } while (status != KVS_OK && n < 1000);
    kvs_mem_fail_after(0);
    assert_int_equal(status, KVS_OK);
    assert_in_range(n, 10, 999); /* jansson's own allocations are among them */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writer),        cmocka_unit_test(test_values),
        cmocka_unit_test(test_getter_errors), cmocka_unit_test(test_syntax),
        cmocka_unit_test(test_depth),         cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
