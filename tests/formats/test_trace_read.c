/* A written trace read back as totals, and two of them merged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "formats/trace_read.h"
#include "tests/formats/perfetto_fixture.h"
#include "tests/formats/perfetto_trace.h"

/* Two copies of one tag, one of another, a wait that does not count, and a device without a
 * name. Times in microseconds. */
static const char by_hand[] =
    "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
    "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"a\"}}\n"
    ",{\"name\":\"deliver L3\",\"ph\":\"X\",\"pid\":1,\"tid\":3,\"cat\":\"engine\",\"ts\":1.5,"
    "\"dur\":2,\"args\":{\"kind\":\"copy\",\"token\":0,\"segment\":0,\"op\":0,\"bytes\":10}}\n"
    ",{\"name\":\"deliver L14\",\"ph\":\"X\",\"pid\":1,\"tid\":3,\"cat\":\"engine\",\"ts\":4,"
    "\"dur\":0.25,\"args\":{\"kind\":\"copy\",\"token\":2,\"segment\":0,\"op\":1,\"bytes\":5}}"
    "\n"
    ",{\"name\":\"deliver L14\",\"ph\":\"X\",\"pid\":1,\"tid\":9,\"cat\":\"queue\",\"ts\":4,"
    "\"dur\":9,\"args\":{\"kind\":\"copy\",\"token\":2,\"segment\":0,\"op\":1}}\n"
    ",{\"name\":\"sample\",\"ph\":\"X\",\"pid\":0,\"tid\":1,\"cat\":\"engine\",\"ts\":5,"
    "\"dur\":1,\"args\":{\"kind\":\"host\",\"token\":2,\"segment\":0,\"op\":2}}\n"
    ",{\"name\":\"deliver\",\"ph\":\"s\",\"pid\":1,\"tid\":3,\"cat\":\"flow\",\"id\":1,\"ts\":"
    "4}\n"
    "]}\n";

static void test_totals(void **state)
{
    struct kvs_trace_totals t = {0};
    (void)state;
    assert_true(kvs_is_trace(by_hand, strlen(by_hand)));
    assert_false(kvs_is_trace("{\"machine\":\"m\"}", 15));
    assert_false(kvs_is_trace("{", 1));
    assert_int_equal(kvs_trace_read("f", by_hand, strlen(by_hand), &t, NULL), KVS_OK);
    assert_int_equal(t.items.n, 2);
    assert_int_equal(t.n_tokens, 3);
    assert_true(t.end_us == 6.0);
    const struct kvs_trace_total *deliver = kvs_trace_find(&t, "a", "copy", "deliver");
    assert_non_null(deliver);
    assert_int_equal(deliver->n, 2);
    assert_int_equal(deliver->bytes, 15);
    assert_true(deliver->us == 2.25);
    assert_non_null(kvs_trace_find(&t, "process 0", "host", "sample"));
    assert_null(kvs_trace_find(&t, "b", "copy", "deliver"));
    kvs_trace_totals_fini(&t);
}

static int64_t largest_pid(const struct kvs_json_value *events, struct kvs_json_doc *doc)
{
    int64_t largest = 0;
    for (size_t i = 0; i < kvs_json_array_len(events); i++) {
        int64_t pid = 0;
        assert_int_equal(kvs_json_get_i64(doc, kvs_json_array_item(events, i), "pid", true, 0,
                                          100, &pid, NULL),
                         KVS_OK);
        largest = pid > largest ? pid : largest;
    }
    return largest;
}

/* A real trace and the one by hand: nothing is lost, and no number is used twice. */
static void test_merge(void **state)
{
    struct fixture *f = *state;
    struct trace t;
    struct kvs_text both = {0};
    struct kvs_trace_totals totals = {0};
    struct kvs_json_doc *doc;
    const struct kvs_json_value *events = NULL;
    write_trace(f, &t);
    const struct kvs_trace_file files[2] = {{"one.json", "say \"one\"", t.text.data, t.text.n},
                                            {"two.json", "two", by_hand, strlen(by_hand)}};
    assert_int_equal(kvs_trace_merge(files, &both, NULL), KVS_OK);
    assert_int_equal(kvs_json_parse("both", both.data, both.n, 0, &doc, NULL), KVS_OK);
    assert_int_equal(kvs_json_get(doc, kvs_json_root(doc), "traceEvents", true, &events, NULL),
                     KVS_OK);
    assert_int_equal(kvs_json_array_len(events), t.n + 6);
    assert_int_equal(largest_pid(events, doc), 3); /* 0 and 1, then 2 and 3 */
    kvs_json_destroy(doc);
    assert_non_null(strstr(both.data, "{\"name\":\"say \\\"one\\\": host\"}"));
    assert_non_null(strstr(both.data, "\"pid\":3,\"args\":{\"name\":\"two: a\"}"));
    assert_int_equal(kvs_trace_read("both", both.data, both.n, &totals, NULL), KVS_OK);
    assert_non_null(kvs_trace_find(&totals, "two: a", "copy", "deliver"));
    kvs_trace_totals_fini(&totals);
    kvs_text_fini(&both);
    destroy_trace(&t);
}

static void test_refused(void **state)
{
    static const char no_events[] = "{\"displayTimeUnit\":\"ms\"}";
    static const char no_kind[] = "{\"traceEvents\":[{\"name\":\"x\",\"ph\":\"X\",\"pid\":1,"
                                  "\"cat\":\"engine\",\"args\":{}}]}";
    static const char foreign[] = "{\"traceEvents\":[\n{\"ph\":\"X\",\n\"pid\":1}\n]}\n";
    struct kvs_trace_totals t = {0};
    struct kvs_text out = {0};
    struct kvs_error err = {0};
    const struct kvs_trace_file files[2] = {{"a", "a", foreign, strlen(foreign)},
                                            {"b", "b", by_hand, strlen(by_hand)}};
    (void)state;
    assert_int_equal(kvs_trace_read("f", no_events, strlen(no_events), &t, &err), KVS_EINVAL);
    assert_string_equal(err.text, "missing key \"traceEvents\"");
    assert_int_equal(kvs_trace_read("f", no_kind, strlen(no_kind), &t, &err), KVS_EINVAL);
    assert_string_equal(err.text, "missing key \"kind\"");
    assert_int_equal(kvs_trace_merge(files, &out, &err), KVS_EINVAL);
    assert_int_equal(err.line, 2);
    const char *flat = "{\"traceEvents\":[{\"name\":\"x\",\"ph\":\"X\",\"pid\":1}]}";
    const struct kvs_trace_file on_one_line[2] = {{"a", "a", flat, strlen(flat)}, files[1]};
    assert_int_equal(kvs_trace_merge(on_one_line, &out, &err), KVS_EINVAL);
    assert_int_equal(err.line, 1);
    kvs_text_fini(&out);
    kvs_trace_totals_fini(&t);
}

static void test_no_memory(void **state)
{
    uint64_t before = kvs_mem_live_bytes();
    kvs_status status = KVS_ENOMEM;
    const struct kvs_trace_file files[2] = {{"a", "a", by_hand, strlen(by_hand)},
                                            {"b", "b", by_hand, strlen(by_hand)}};
    (void)state;
    for (uint64_t n = 1; status != KVS_OK; n++) {
        struct kvs_trace_totals t = {0};
        struct kvs_text out = {0};
        assert_true(n < 1000);
        kvs_mem_fail_after(n);
        status = kvs_trace_read("f", by_hand, strlen(by_hand), &t, NULL);
        if (status == KVS_OK)
            status = kvs_trace_merge(files, &out, NULL);
        kvs_mem_fail_after(0);
        kvs_trace_totals_fini(&t);
        kvs_text_fini(&out);
        assert_int_equal(kvs_mem_live_bytes(), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_totals),
        cmocka_unit_test_setup_teardown(test_merge, setup, teardown),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
