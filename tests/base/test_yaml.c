/* What the strict YAML reader accepts, and the exact place and words of what it refuses. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/yaml.h"
#include "tests/base/base_test.h"

static struct kvs_yaml *parse(const char *text, struct kvs_diags *diags)
{
    struct kvs_yaml *doc = NULL;
    struct kvs_error err;
    kvs_diags_init(diags);
    if (kvs_yaml_parse("m.yaml", text, strlen(text), diags, &doc, &err) != KVS_OK)
        fail_msg("%u:%u: %s", err.line, err.column, err.text);
    return doc;
}

static const char machine_text[] = "# a machine\n"
                                   "name: 'it''s [one'\n"
                                   "memory: 512MiB\n"
                                   "latency: 31us\n"
                                   "n: 3\n"
                                   "share: 0.25\n"
                                   "is_fast: true\n"
                                   "kind: ring\n"
                                   "unset: ~\n"
                                   "devices:\n"
                                   "  - {id: 0, link: gen4x16}\n"
                                   "  - id: 1\n"
                                   "    link: \"gen3x4\"\n"
                                   "counts: [1, 2, 3]\n";

static void test_values(void **state)
{
    (void)state;
    static const char *const kinds[] = {"tree", "ring"};
    struct kvs_diags diags;
    struct kvs_yaml *doc = parse(machine_text, &diags);
    const struct kvs_yaml_node *root = kvs_yaml_root(doc);
    const char *name = NULL;
    uint64_t memory_bytes = 0;
    kvs_time latency_ps = 0;
    uint64_t n = 0;
    double share = 0;
    bool is_fast = false;
    unsigned kind = 0;
    assert_true(kvs_yaml_get_str(doc, root, "name", KVS_REQUIRED, &name));
    assert_string_equal(name, "it's [one");
    assert_true(kvs_yaml_get_bytes(doc, root, "memory", KVS_REQUIRED, &memory_bytes));
    assert_int_equal(memory_bytes, 536870912);
    assert_true(kvs_yaml_get_time(doc, root, "latency", KVS_REQUIRED, &latency_ps));
    assert_int_equal(latency_ps, 31000000);
    assert_true(kvs_yaml_get_u64(doc, root, "n", KVS_REQUIRED, 1, 3, &n));
    assert_int_equal(n, 3);
    assert_true(kvs_yaml_get_f64(doc, root, "share", KVS_REQUIRED, 0, 1, &share));
    assert_near(share, 0.25, 0);
    assert_true(kvs_yaml_get_bool(doc, root, "is_fast", KVS_REQUIRED, &is_fast));
    assert_true(is_fast);
    assert_true(kvs_yaml_get_enum(doc, root, "kind", KVS_REQUIRED, kinds, 2, &kind));
    assert_int_equal(kind, 1);
    assert_true(kvs_yaml_is_null(kvs_yaml_get(doc, root, "unset", KVS_OPTIONAL)));
    assert_null(kvs_yaml_get(doc, root, "absent", KVS_OPTIONAL));
    assert_int_equal(diags.n_errors, 0);
    kvs_yaml_destroy(doc);
    kvs_diags_fini(&diags);
}

static void test_collections_and_places(void **state)
{
    (void)state;
    struct kvs_diags diags;
    struct kvs_yaml *doc = parse(machine_text, &diags);
    const struct kvs_yaml_node *root = kvs_yaml_root(doc);
    const struct kvs_yaml_node *devices = kvs_yaml_get_seq(doc, root, "devices", KVS_REQUIRED);
    const struct kvs_yaml_node *value = NULL;
    struct kvs_error place = {0};
    uint64_t count = 0;
    assert_int_equal(kvs_yaml_len(devices), 2);
    assert_int_equal(kvs_yaml_len(root), 10);
    assert_null(kvs_yaml_item(devices, 2));
    assert_null(kvs_yaml_scalar(devices));
    assert_int_equal(kvs_yaml_node_kind(kvs_yaml_item(devices, 1)), KVS_YAML_MAP);
    const char *key = kvs_yaml_pair(doc, kvs_yaml_item(devices, 1), 1, &value);
    assert_string_equal(key, "link");
    assert_string_equal(kvs_yaml_scalar(value), "gen3x4");
    kvs_yaml_place(doc, value, &place);
    assert_string_equal(place.path, "devices[1].link");
    assert_string_equal(place.file, "m.yaml");
    assert_int_equal(place.line, 13);
    assert_int_equal(place.column, 11);
    const struct kvs_yaml_node *counts = kvs_yaml_get_seq(doc, root, "counts", KVS_REQUIRED);
    assert_true(kvs_yaml_node_u64(doc, kvs_yaml_item(counts, 2), 0, 9, &count));
    assert_int_equal(count, 3);
    kvs_yaml_destroy(doc);
    kvs_diags_fini(&diags);
}

/* Checks diagnostic i in its printed form. */
static void assert_diag(const struct kvs_diags *diags, size_t i, const char *expected)
{
    char buf[1200] = "";
    FILE *out = tmpfile();
    assert_non_null(out);
    assert_true(i < diags->n_errors);
    kvs_error_print(&diags->errors[i], out);
    rewind(out);
    size_t n = fread(buf, 1, sizeof(buf) - 1, out);
    fclose(out);
    buf[n] = '\0';
    assert_string_equal(buf, expected);
}

static void test_getter_errors(void **state)
{
    (void)state;
    static const char *const kinds[] = {"tree", "ring"};
    struct kvs_diags diags;
    struct kvs_yaml *doc = parse("devices:\n"
                                 "  - memory: 12\n"
                                 "    n: 70\n"
                                 "    m: 0\n"
                                 "    share: 1.5\n"
                                 "    fast: yes\n"
                                 "    kind: rin\n"
                                 "    name: ''\n"
                                 "    time:\n"
                                 "    links: 3\n",
                                 &diags);
    const struct kvs_yaml_node *seq =
        kvs_yaml_get_seq(doc, kvs_yaml_root(doc), "devices", KVS_REQUIRED);
    const struct kvs_yaml_node *map = kvs_yaml_item(seq, 0);
    uint64_t whole = 7;
    double value = 7;
    bool flag = true;
    unsigned kind = 7;
    const char *name = NULL;
    kvs_time ps = 7;
    assert_false(kvs_yaml_get_bytes(doc, map, "memory", KVS_REQUIRED, &whole));
    assert_false(kvs_yaml_get_u64(doc, map, "n", KVS_REQUIRED, 1, 64, &whole));
    assert_false(kvs_yaml_get_u64(doc, map, "m", KVS_REQUIRED, 1, UINT64_MAX, &whole));
    assert_false(kvs_yaml_get_f64(doc, map, "share", KVS_REQUIRED, 0, 1, &value));
    assert_false(kvs_yaml_get_bool(doc, map, "fast", KVS_REQUIRED, &flag));
    assert_false(kvs_yaml_get_enum(doc, map, "kind", KVS_REQUIRED, kinds, 2, &kind));
    assert_false(kvs_yaml_get_str(doc, map, "name", KVS_REQUIRED, &name));
    assert_false(kvs_yaml_get_time(doc, map, "time", KVS_REQUIRED, &ps));
    assert_null(kvs_yaml_get_seq(doc, map, "links", KVS_REQUIRED));
    assert_null(kvs_yaml_get_map(doc, map, "absent", KVS_REQUIRED));
    assert_true(whole == 7 && flag && kind == 7 && name == NULL && ps == 7 && value > 6);
    assert_diag(&diags, 0,
                "m.yaml:2:13: devices[0].memory: expected bytes such as 512MiB, got \"12\"\n"
                "  hint: add a unit: 12GiB?\n");
    assert_diag(&diags, 1, "m.yaml:3:8: devices[0].n: must be between 1 and 64, got 70\n");
    assert_diag(&diags, 2, "m.yaml:4:8: devices[0].m: must be at least 1, got 0\n");
    assert_diag(&diags, 3, "m.yaml:5:12: devices[0].share: must be between 0 and 1, got 1.5\n");
    assert_diag(&diags, 4,
                "m.yaml:6:11: devices[0].fast: expected true or false, got \"yes\"\n");
    assert_diag(&diags, 5,
                "m.yaml:7:11: devices[0].kind: expected one of tree, ring; got \"rin\"\n"
                "  hint: did you mean \"ring\"?\n");
    assert_diag(&diags, 6, "m.yaml:8:11: devices[0].name: must not be empty\n");
    assert_diag(&diags, 7,
                "m.yaml:9:10: devices[0].time: expected a time such as 31us, got nothing\n");
    assert_diag(&diags, 8, "m.yaml:10:12: devices[0].links: expected a sequence, got \"3\"\n");
    assert_diag(&diags, 9, "m.yaml:2:5: devices[0]: missing key \"absent\"\n");
    assert_int_equal(diags.n_errors, 10);
    kvs_yaml_destroy(doc);
    kvs_diags_fini(&diags);
}

static void test_unknown_keys(void **state)
{
    (void)state;
    struct kvs_diags diags;
    uint64_t n = 0;
    struct kvs_yaml *doc = parse("memry: 1B\nlinks: 3\nzz: 1\ndata: 1\n", &diags);
    const struct kvs_yaml_node *root = kvs_yaml_root(doc);
    const struct kvs_yaml_node *value;
    kvs_yaml_get_u64(doc, root, "links", KVS_OPTIONAL, 0, 9, &n);
    kvs_yaml_get_u64(doc, root, "memory", KVS_OPTIONAL, 0, 9, &n);
    kvs_yaml_get_u64(doc, root, "memory", KVS_OPTIONAL, 0, 9, &n);
    assert_string_equal(kvs_yaml_pair(doc, root, 3, &value), "data");
    kvs_yaml_end_map(doc, root);
    assert_diag(&diags, 0,
                "m.yaml:1:1: unknown key \"memry\"\n"
                "  hint: did you mean \"memory\"? known here: links, memory\n");
    assert_diag(&diags, 1,
                "m.yaml:3:1: unknown key \"zz\"\n  hint: known here: links, memory\n");
    assert_int_equal(diags.n_errors, 2);
    kvs_yaml_destroy(doc);
    kvs_diags_fini(&diags);
}

static void test_not_a_map_is_said_once(void **state)
{
    (void)state;
    struct kvs_diags diags;
    uint64_t n = 0;
    struct kvs_yaml *doc = parse("- 1\n", &diags);
    const struct kvs_yaml_node *root = kvs_yaml_root(doc);
    assert_false(kvs_yaml_get_u64(doc, root, "a", KVS_OPTIONAL, 0, 9, &n));
    assert_false(kvs_yaml_get_u64(doc, root, "b", KVS_REQUIRED, 0, 9, &n));
    kvs_yaml_end_map(doc, root);
    assert_int_equal(diags.n_errors, 1);
    assert_diag(&diags, 0, "m.yaml:1:1: expected a map with the key \"a\", got a sequence\n");
    kvs_yaml_destroy(doc);
    kvs_diags_fini(&diags);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned line;
        unsigned column;
        const char *says;
    } rows[] = {
        {"", 1, 1, "nothing in this file, expected keys and values"},
        {"# only\n", 1, 1, "nothing in this file, expected keys and values"},
        {"a: 1\nb: 2\na: 3\n", 3, 1, "duplicate key \"a\", first on line 1"},
        {"b: {x: 1, 'x': 2}\n", 1, 11, "duplicate key \"x\", first on line 1"},
        {"a: &x 1\n", 1, 4, "anchors are not supported, got \"&x\""},
        {"a: *x\n", 1, 4, "aliases are not supported, got \"*x\""},
        {"a: !t 1\n", 1, 4, "tags are not supported, got \"!t\""},
        {"a: !!str 1\n", 1, 4, "tags are not supported, got \"tag:yaml.org,2002:str\""},
        {"a: ! 1\n", 1, 4, "tags are not supported, got \"!\""},
        {"%TAG ! tag:x,2000:\n---\na: 1\n", 1, 1, "tags are not supported, got %TAG"},
        {"a: 1\n---\nb: 1\n", 2, 1, "more than one document in a file"},
        {"[1]: 2\n", 1, 1, "a key must be a single word or text, got a sequence"},
        {"? {a: 1}\n: 2\n", 1, 3, "a key must be a single word or text, got a map"},
        {"{'': 2}\n", 1, 2, "empty key"},
        {"a: \"x\\0y\"\n", 1, 4, "text must not contain \\0"},
        {"\xc3\xa9: \xff\n", 1, 4, "expected UTF-8, got the byte 0xFF"},
        {"a: \x01\n", 1, 4, "not valid YAML: control characters are not allowed"},
        {"a: [1, 2\nb: 3\n", 2, 2, NULL}, /* words and place are libyaml's */
        {"a: 'x\n", 2, 1, NULL},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(rows); i++) {
        struct kvs_diags diags;
        struct kvs_yaml *doc = NULL;
        struct kvs_error err;
        uint64_t start_bytes = kvs_mem_live_bytes();
        kvs_diags_init(&diags);
        assert_int_equal(
            kvs_yaml_parse("m.yaml", rows[i].text, strlen(rows[i].text), &diags, &doc, &err),
            KVS_ESYNTAX);
        assert_null(doc);
        if (rows[i].says != NULL)
            assert_string_equal(err.text, rows[i].says);
        assert_string_equal(err.file, "m.yaml");
        assert_int_equal(err.line, rows[i].line);
        assert_int_equal(err.column, rows[i].column);
        assert_int_equal(kvs_mem_live_bytes(), start_bytes);
    }
}

static void test_zero_byte_and_tab(void **state)
{
    (void)state;
    struct kvs_diags diags;
    struct kvs_yaml *doc = NULL;
    struct kvs_error err;
    kvs_diags_init(&diags);
    assert_int_equal(kvs_yaml_parse("m", "a: 1\nb: \0", 9, &diags, &doc, &err), KVS_ESYNTAX);
    assert_int_equal(err.line, 2);
    assert_int_equal(err.column, 4);
    assert_string_equal(err.text, "expected text, got a zero byte");
    assert_int_equal(kvs_yaml_parse("m", "a:\n\tb: 1\n", 9, &diags, &doc, &err), KVS_ESYNTAX);
    assert_int_equal(err.line, 2);
    assert_string_equal(err.hint, "indent with blanks, not with tabs");
}

/* depth levels of [ or {a: or "- " around a scalar. */
static kvs_status parse_nested(const char *open, const char *close, size_t depth,
                               unsigned *line)
{
    struct kvs_text text = {0};
    struct kvs_diags diags;
    struct kvs_yaml *doc = NULL;
    struct kvs_error err = {0};
    for (size_t i = 0; i < depth; i++)
        kvs_text_puts(&text, open);
    kvs_text_puts(&text, "1");
    for (size_t i = 0; i < depth; i++)
        kvs_text_puts(&text, close);
    kvs_diags_init(&diags);
    kvs_status status = kvs_yaml_parse("m", text.data, text.n, &diags, &doc, &err);
    *line = err.line;
    if (status != KVS_OK)
        assert_string_equal(err.text, "nested deeper than the limit of 64 levels");
    kvs_yaml_destroy(doc);
    kvs_text_fini(&text);
    return status;
}

static void test_depth(void **state)
{
    (void)state;
    static const char *const nests[][2] = {{"[", "]"}, {"{a: ", "}"}, {"- ", ""}};
    unsigned line;
    for (size_t i = 0; i < KVS_COUNT_OF(nests); i++) {
        assert_int_equal(parse_nested(nests[i][0], nests[i][1], 64, &line), KVS_OK);
        assert_int_equal(parse_nested(nests[i][0], nests[i][1], 65, &line), KVS_ESYNTAX);
        assert_int_equal(line, 1);
        /* a million levels are refused before libyaml, whose cost is quadratic */
        assert_int_equal(parse_nested(nests[i][0], nests[i][1], 800000, &line), KVS_ESYNTAX);
    }
}

static void test_brackets_in_text_are_not_nesting(void **state)
{
    (void)state;
    struct kvs_text text = {0};
    struct kvs_diags diags;
    kvs_text_puts(&text, "a: '");
    for (int i = 0; i < 5000; i++)
        kvs_text_puts(&text, "[");
    kvs_text_puts(&text, "'\nb: \"\\\"");
    for (int i = 0; i < 5000; i++)
        kvs_text_puts(&text, "{");
    kvs_text_puts(&text, "\" # ");
    for (int i = 0; i < 5000; i++)
        kvs_text_puts(&text, "[");
    kvs_text_puts(&text, "\nit's: plain [\n");
    for (int i = 0; i < 5000; i++)
        kvs_text_printf(&text, "k%d: [1, {x: 2}]\n", i);
    struct kvs_yaml *doc = parse(text.data, &diags);
    assert_int_equal(kvs_yaml_len(kvs_yaml_root(doc)), 5003);
    kvs_yaml_destroy(doc);
    kvs_text_fini(&text);
}

static void test_size(void **state)
{
    (void)state;
    struct kvs_diags diags;
    struct kvs_yaml *doc = NULL;
    struct kvs_error err;
    void *bytes;
    kvs_diags_init(&diags);
    assert_int_equal(kvs_mem_alloc(KVS_YAML_MAX_BYTES + 1, 1, &bytes, NULL), KVS_OK);
    memset(bytes, 'x', KVS_YAML_MAX_BYTES + 1);
    assert_int_equal(kvs_yaml_parse("m", bytes, KVS_YAML_MAX_BYTES + 1, &diags, &doc, &err),
                     KVS_ERANGE);
    assert_int_equal(kvs_yaml_parse("m", bytes, KVS_YAML_MAX_BYTES, &diags, &doc, &err),
                     KVS_OK);
    kvs_yaml_destroy(doc);
    kvs_mem_free(bytes);
    assert_int_equal(kvs_yaml_load("/nonexistent.yaml", &diags, &doc, &err), KVS_ENOTFOUND);
}

/* One use of the reader, from parse to diagnostics. */
static kvs_status use_reader(void)
{
    struct kvs_diags diags;
    struct kvs_yaml *doc = NULL;
    uint64_t n = 0;
    const char text[] = "a: {b: [1, 2]}\nc: 1\n";
    kvs_diags_init(&diags);
    kvs_status status = kvs_yaml_parse("m", text, sizeof(text) - 1, &diags, &doc, NULL);
    if (status == KVS_OK) {
        const struct kvs_yaml_node *root = kvs_yaml_root(doc);
        kvs_yaml_get_map(doc, root, "a", KVS_REQUIRED);
        for (int i = 0; i < 800; i++) { /* enough keys for a second arena chunk */
            char key[16];
            snprintf(key, sizeof(key), "key%d", i);
            kvs_yaml_get(doc, root, key, KVS_OPTIONAL);
        }
        kvs_yaml_get_u64(doc, root, "c", KVS_REQUIRED, 0, 9, &n);
        kvs_yaml_end_map(doc, root);
        status = kvs_diags_status(&diags, NULL);
    }
    kvs_yaml_destroy(doc);
    kvs_diags_fini(&diags);
    return status;
}

static void test_without_memory(void **state)
{
    (void)state;
    uint64_t start_bytes = kvs_mem_live_bytes();
    uint64_t n = 0;
    kvs_status status;
    do {
        kvs_mem_fail_after(++n);
        status = use_reader();
        assert_true(status == KVS_OK || status == KVS_ENOMEM);
        assert_int_equal(kvs_mem_live_bytes(), start_bytes);
    } while (status != KVS_OK && n < 1000);
    kvs_mem_fail_after(0);
    assert_int_equal(status, KVS_OK);
    assert_in_range(n, 4, 999); /* document, first chunk, at least one more, then success */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_collections_and_places),
        cmocka_unit_test(test_getter_errors),
        cmocka_unit_test(test_unknown_keys),
        cmocka_unit_test(test_not_a_map_is_said_once),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_zero_byte_and_tab),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_brackets_in_text_are_not_nesting),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
