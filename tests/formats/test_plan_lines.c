/* Plan lines: exact round trips, the example of docs/plan-format.md, and files that are
 * refused. */
#include "tests/sched/plan_fixture.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "formats/plan_lines.h"
#include "sched/plan_check.h"

enum { MAX_BYTES = 1 << 20 };

static char *read_file(const char *path, size_t *n)
{
    char *bytes = NULL;
    FIXTURE_OK(kvs_file_read(path, MAX_BYTES, &bytes, n, err));
    return bytes;
}

/* The text of a plan read from bytes. Free with kvs_text_fini. */
static struct kvs_text rewrite(const char *bytes, size_t n)
{
    struct kvs_plan *plan = NULL;
    struct kvs_text text = {0};
    FIXTURE_OK(kvs_plan_lines_read("plan.jsonl", bytes, n, &plan, err));
    FIXTURE_OK(kvs_plan_check(plan, NULL, NULL, err));
    kvs_plan_lines_write(plan, &text);
    assert_int_equal(text.status, KVS_OK);
    kvs_plan_destroy(plan);
    return text;
}

static void test_round_trip(void **state)
{
    (void)state;
    struct fixture f = fixture_good();
    struct kvs_ring ring = {.n_slots = 3, .slot_bytes = 2 * FIXTURE_HALF};
    FIXTURE_OK(KVS_ARRAY_PUSH(&f.plan->rings, ring, err));
    fixture_at(&f, f.attention[1])->compute.n_kernels = 24;
    fixture_last(&f)->deps.items[0].kind = KVS_DEP_PACING;
    FIXTURE_OK(kvs_plan_add_segment(f.plan, 1, true, err));
    fixture_segment(&f, true);
    f.plan->origin =
        (struct kvs_plan_origin){"box", "tiny", "layer", "0.5/0.5", "f16", "q8_0", 4, true, 0};
    struct kvs_text text = {0};
    kvs_plan_lines_write(f.plan, &text);
    assert_non_null(strstr(text.data, ",\"machine\":\"box\",\"model\":\"tiny\",\"split_mode\":"
                                      "\"layer\",\"shares\":\"0.5/0.5\",\"type_k\":\"f16\","
                                      "\"type_v\":\"q8_0\",\"n_parallel\":4,\"depth\":0}\n"));
    kvs_plan_destroy(f.plan);
    struct kvs_text again = rewrite(text.data, text.n);
    assert_string_equal(text.data, again.data);
    kvs_text_fini(&text);
    kvs_text_fini(&again);
}

static void test_example(void **state)
{
    (void)state;
    size_t n = 0, n_doc = 0;
    char *bytes = read_file(KVS_SOURCE_DIR "/tests/data/plans/example.jsonl", &n);
    char *doc = read_file(KVS_SOURCE_DIR "/docs/plan-format.md", &n_doc);
    assert_non_null(strstr(doc, bytes)); /* the document shows this very file */
    struct kvs_text again = rewrite(bytes, n);
    assert_string_equal(again.data, bytes);
    kvs_text_fini(&again);

    struct kvs_plan *plan = NULL;
    FIXTURE_OK(kvs_plan_lines_read("example.jsonl", bytes, n, &plan, err));
    const struct kvs_segment *s = &plan->segments.items[0];
    assert_string_equal(plan->policy, "by-hand");
    assert_int_equal(plan->n_devices, 1);
    assert_true(plan->origin.has_depth);
    assert_int_equal(plan->origin.depth, 64);
    assert_string_equal(plan->origin.model, "");
    assert_int_equal(plan->queues.n, 3);
    assert_int_equal(plan->buffers.items[3].size_bytes, 2048);
    assert_int_equal(plan->rings.items[0].slot_bytes, 2048);
    assert_int_equal(s->n_tokens, 64);
    assert_int_equal(s->ops.n, 9);
    assert_int_equal(s->deps.items[0].op, 6);
    assert_int_equal(s->deps.items[0].distance, 1);
    assert_int_equal(s->deps.items[0].kind, KVS_DEP_PACING);
    assert_int_equal(s->ops.items[3].flags, KVS_OP_BLOCKS | KVS_OP_D2H);
    assert_int_equal(s->ops.items[0].layer, KVS_NO_LAYER);
    assert_int_equal(s->ops.items[6].compute.params, 4000000);
    const struct kvs_range *row = &s->accesses.items[s->ops.items[4].first_access + 1];
    assert_int_equal(row->mode, KVS_ACCESS_WRITE);
    assert_int_equal(row->offset, 1024);
    assert_int_equal(row->offset_step, 16);
    assert_int_equal(row->rows, 1);
    assert_int_equal(row->pitch, 16);
    kvs_plan_destroy(plan);
    kvs_mem_free(bytes);
    kvs_mem_free(doc);
}

/* What reading and then checking says, as kvs_error_print prints it. */
static char *complaint(const char *bytes, size_t n)
{
    static char text[2048];
    struct kvs_error err = {0};
    struct kvs_plan *plan = NULL;
    kvs_status status = kvs_plan_lines_read("input.jsonl", bytes, n, &plan, &err);
    if (status == KVS_OK)
        status = kvs_plan_check(plan, NULL, NULL, &err);
    kvs_plan_destroy(plan);
    memset(text, 0, sizeof text);
    if (status == KVS_OK)
        return text;
    FILE *file = tmpfile();
    assert_non_null(file);
    kvs_error_print(&err, file);
    rewind(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    return text;
}

static void test_invalid(void **state)
{
    (void)state;
    const char *root = KVS_SOURCE_DIR "/tests/data/invalid/plan";
    unsigned n_cases = 0;
    DIR *dir = opendir(root);
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (entry->d_name[0] == '.')
            continue;
        char path[512];
        size_t n = 0, n_error = 0;
        snprintf(path, sizeof path, "%s/%s/input.jsonl", root, entry->d_name);
        char *bytes = read_file(path, &n);
        snprintf(path, sizeof path, "%s/%s/error", root, entry->d_name);
        char *expected = read_file(path, &n_error);
        const char *got = complaint(bytes, n);
        if (strcmp(got, expected) != 0)
            fail_msg("%s: got\n%sexpected\n%s", entry->d_name, got, expected);
        kvs_mem_free(bytes);
        kvs_mem_free(expected);
        n_cases++;
    }
    closedir(dir);
    assert_true(n_cases >= 20);
}

/* Every line of the example cut short at every byte is refused, or says the same as the whole.
 */
static void test_cut_short(void **state)
{
    (void)state;
    size_t n = 0;
    char *bytes = read_file(KVS_SOURCE_DIR "/tests/data/plans/example.jsonl", &n);
    for (size_t cut = 0; cut < n; cut++) {
        struct kvs_plan *plan = NULL;
        struct kvs_error err = {0};
        kvs_status status = kvs_plan_lines_read("cut.jsonl", bytes, cut, &plan, &err);
        bool is_line_end = bytes[cut] == '\n' || (cut > 0 && bytes[cut - 1] == '\n');
        if (status == KVS_OK)
            assert_true(is_line_end);
        else
            assert_true(err.line > 0 || cut == 0);
        if (status == KVS_OK)
            kvs_plan_destroy(plan);
    }
    kvs_mem_free(bytes);
}

/* Each allocation fails once: no crash, no leak, and the status says why. */
static void test_starved(void **state)
{
    (void)state;
    size_t n = 0;
    char *bytes = read_file(KVS_SOURCE_DIR "/tests/data/plans/example.jsonl", &n);
    uint64_t before = kvs_mem_live_bytes();
    kvs_status status = KVS_ENOMEM;
    for (uint64_t nth = 1; status != KVS_OK; nth++) {
        struct kvs_plan *plan = NULL;
        struct kvs_text text = {0};
        kvs_mem_fail_after(nth);
        status = kvs_plan_lines_read("plan.jsonl", bytes, n, &plan, NULL);
        if (status == KVS_OK)
            status = kvs_plan_check(plan, NULL, NULL, NULL);
        if (status == KVS_OK)
            status = kvs_plan_explain_dep(plan, 0, 0, &text, NULL);
        kvs_mem_fail_after(0);
        assert_true(status == KVS_OK || status == KVS_ENOMEM);
        kvs_plan_destroy(plan);
        kvs_text_fini(&text);
        assert_int_equal(kvs_mem_live_bytes(), before);
    }
    kvs_mem_free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_example),
        cmocka_unit_test(test_invalid),    cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_starved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
