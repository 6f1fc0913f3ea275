/* A figure of a YAML file: units, limits, origins and intervals. */
#include "models/param.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Reads key p of a one-line document; *out_first is the text of the first error, or "". */
static bool param_read(const char *yaml, kvs_unit unit, double min, double max,
                       struct kvs_param *out, char *out_first, size_t cap)
{
    struct kvs_diags diags;
    struct kvs_yaml *doc = NULL;
    struct kvs_error err;

    kvs_diags_init(&diags);
    assert_int_equal(kvs_yaml_parse("p.yaml", yaml, strlen(yaml), &diags, &doc, &err), KVS_OK);
    bool is_good =
        kvs_param_get(doc, kvs_yaml_root(doc), "p", KVS_OPTIONAL, unit, min, max, out);
    (void)snprintf(out_first, cap, "%s", diags.n_errors ? diags.errors[0].text : "");
    kvs_yaml_destroy(doc);
    kvs_diags_fini(&diags);
    return is_good;
}

/* Values by hand; suffixes as units.h states them: k M G T decimal, Ki Mi Gi binary, b = B/8.
 */
static void test_units(void **state)
{
    static const struct {
        const char *yaml;
        kvs_unit unit;
        double value;
    } cases[] = {
        {"p: 1.46us", KVS_UNIT_TIME, 1.46e-6},
        {"p: 0.6ms", KVS_UNIT_TIME, 0.6e-3},
        {"p: 2s", KVS_UNIT_TIME, 2},
        {"p: 24.83GB/s", KVS_UNIT_RATE, 24.83e9},
        {"p: 196Gb/s", KVS_UNIT_RATE, 24.5e9},
        {"p: 1GiB/s", KVS_UNIT_RATE, 1073741824},
        {"p: 24KiB", KVS_UNIT_BYTES, 24576},
        {"p: 119kB", KVS_UNIT_BYTES, 119000},
        {"p: 58.3TFLOP/s", KVS_UNIT_FLOPS, 58.3e12},
        {"p: 7%", KVS_UNIT_FRAC, 0.07},
        {"p: 0.65", KVS_UNIT_FRAC, 0.65},
        {"p: 2", KVS_UNIT_PLAIN, 2},
        {"p: {value: 3us}", KVS_UNIT_TIME, 3e-6},
    };
    (void)state;
    for (size_t i = 0; i < KVS_COUNT_OF(cases); i++) {
        struct kvs_param param = {
            .value = -1, .origin = KVS_ORIGIN_DEFAULT, .source = "preset"};
        char first[512];

        assert_true(
            param_read(cases[i].yaml, cases[i].unit, 0, 1e15, &param, first, sizeof first));
        assert_string_equal(first, "");
        assert_true(fabs(param.value / cases[i].value - 1) <= 1e-14);
        assert_true(param.lo == param.value && param.hi == param.value);
        assert_int_equal(param.origin, KVS_ORIGIN_STATED);
        assert_string_equal(param.source, "");
    }
}

static void test_map_keeps_everything(void **state)
{
    struct kvs_param param = {0};
    char first[512];

    (void)state;
    assert_true(
        param_read("p: {value: 24.83GB/s, origin: fitted, interval: [24.6GB/s, 25GB/s], "
                   "build: current, source: \"slope less attention\"}",
                   KVS_UNIT_RATE, DBL_MIN, 1e15, &param, first, sizeof first));
    assert_true(fabs(param.value - 24.83e9) <= 1);
    assert_true(fabs(param.lo - 24.6e9) <= 1);
    assert_true(fabs(param.hi - 25e9) <= 1);
    assert_int_equal(param.origin, KVS_ORIGIN_FITTED);
    assert_string_equal(param.build, "current");
    assert_string_equal(param.source, "slope less attention");
}

static void test_origin_names(void **state)
{
    static const char *const names[] = {"default",  "stated", "datasheet",
                                        "measured", "fitted", "inferred"};
    (void)state;
    for (unsigned i = 0; i < KVS_COUNT_OF(names); i++) {
        struct kvs_param param = {0};
        char yaml[64];
        char first[512];

        (void)snprintf(yaml, sizeof yaml, "p: {value: 1us, origin: %s}", names[i]);
        assert_true(param_read(yaml, KVS_UNIT_TIME, 0, 1, &param, first, sizeof first));
        assert_int_equal(param.origin, (kvs_origin)i);
        assert_string_equal(kvs_origin_name(param.origin), names[i]);
    }
}

/* Absent: the preset stays. */
static void test_absent_keeps_preset(void **state)
{
    struct kvs_param param = kvs_param_default(3.6e-6, 1e-6, 4e-6, "a source");
    char first[512];

    (void)state;
    assert_false(param_read("q: 1us", KVS_UNIT_TIME, 0, 1, &param, first, sizeof first));
    assert_string_equal(first, "");
    assert_true(param.value == 3.6e-6 && param.lo == 1e-6 && param.hi == 4e-6);
    assert_int_equal(param.origin, KVS_ORIGIN_DEFAULT);
    assert_string_equal(param.source, "a source");
}

/* A wrong figure leaves the preset and says what was wrong: the words must be in the text. */
static void test_refused(void **state)
{
    static const struct {
        const char *yaml;
        kvs_unit unit;
        double min;
        double max;
        const char *words;
    } cases[] = {
        {"p: 31", KVS_UNIT_TIME, 0, 1, "expected a time such as 31us, got \"31\""},
        {"p: 31GB", KVS_UNIT_TIME, 0, 1, "expected a time"},
        {"p: 24GB", KVS_UNIT_RATE, 0, 1e15, "expected a rate"},
        {"p: -3us", KVS_UNIT_TIME, 0, 1, "negative"},
        {"p: 2s", KVS_UNIT_TIME, 0, 1, "must be between"},
        {"p: 0GB/s", KVS_UNIT_RATE, DBL_MIN, 1e15, "must be above 0"},
        {"p: 1B/s", KVS_UNIT_RATE, 0, 1e15, "must be at least 1kB/s"},
        {"p: gen4x16", KVS_UNIT_RATE, 0, 1e15, "raw link rate"},
        {"p: 101%", KVS_UNIT_FRAC, 0, 1, "must be between 0 and 1, got \"101%\""},
        {"p:", KVS_UNIT_TIME, 0, 1, "got nothing"},
        {"p: [1us]", KVS_UNIT_TIME, 0, 1, "got a list"},
        {"p: {value: {}}", KVS_UNIT_TIME, 0, 1, "got a map"},
        {"p: {origin: fitted}", KVS_UNIT_TIME, 0, 1, "value"},
        {"p: {value: 1us, origin: guessed}", KVS_UNIT_TIME, 0, 1, "guessed"},
        {"p: {value: 1us, sauce: x}", KVS_UNIT_TIME, 0, 1, "sauce"},
        {"p: {value: 1us, interval: [3us, 2us]}", KVS_UNIT_TIME, 0, 1,
         "reversed: 3us is above 2us"},
        {"p: {value: 1us, interval: [2us, 3us]}", KVS_UNIT_TIME, 0, 1,
         "2us to 3us does not contain the value 1us"},
        {"p: {value: 1us, interval: [1us]}", KVS_UNIT_TIME, 0, 1, "list of two"},
        {"p: {value: 1us, interval: 1us}", KVS_UNIT_TIME, 0, 1, "list of two"},
        {"p: {value: 0.5, interval: [0.1, 1.1]}", KVS_UNIT_FRAC, 0, 1,
         "must be between 0 and 1"},
    };
    (void)state;
    for (size_t i = 0; i < KVS_COUNT_OF(cases); i++) {
        struct kvs_param param = kvs_param_default(42, 42, 42, "preset");
        char first[512];

        (void)param_read(cases[i].yaml, cases[i].unit, cases[i].min, cases[i].max, &param,
                         first, sizeof first);
        if (!strstr(first, cases[i].words))
            fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].yaml, first, cases[i].words);
        if (!strstr(cases[i].yaml, "guessed") && !strstr(cases[i].yaml, "sauce"))
            assert_true(param.value == 42);
    }
}

/* One line: breaks become blanks, the end is trimmed; what does not fit is refused whole. */
static void test_text(void **state)
{
    static const char yaml[] = "a: |\n  one\n  two\nb: 12345678\n";
    struct kvs_diags diags;
    struct kvs_yaml *doc = NULL;
    char buf[8] = "preset";

    (void)state;
    kvs_diags_init(&diags);
    assert_int_equal(kvs_yaml_parse("t.yaml", yaml, strlen(yaml), &diags, &doc, NULL), KVS_OK);
    assert_true(
        kvs_param_get_text(doc, kvs_yaml_root(doc), "a", KVS_REQUIRED, buf, sizeof buf));
    assert_string_equal(buf, "one two");
    assert_false(
        kvs_param_get_text(doc, kvs_yaml_root(doc), "b", KVS_REQUIRED, buf, sizeof buf));
    assert_string_equal(buf, "one two");
    assert_int_equal(diags.n_errors, 1);
    assert_string_equal(diags.errors[0].text, "longer than 7 bytes");
    kvs_yaml_destroy(doc);
    kvs_diags_fini(&diags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units),        cmocka_unit_test(test_map_keeps_everything),
        cmocka_unit_test(test_origin_names), cmocka_unit_test(test_absent_keeps_preset),
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
