/* Every case of tests/data/invalid/machine: input.yaml gives exactly the text of `error`.
 * KVS_UPDATE_GOLDEN=1 rewrites the texts; the diff is to be read before it is committed. */
#include "models/machine.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"

#define CASES_DIR KVS_SOURCE_DIR "/tests/data/invalid/machine"

/* A catalogue with one good card, one broken and one that calls itself something else. */
static const char *fake_lookup(void *context, const char *gpu_name, size_t *out_n,
                               const char **out_nearest)
{
    static const struct {
        const char *name;
        const char *yaml;
    } cards[] = {
        {"rtx4070", "kind: gpu\nname: rtx4070\nmemory: 12GiB\nmemory_rate: 504GB/s\n"
                    "flops: 58.3TFLOP/s\n"},
        {"broken", "kind: gpu\nname: [unclosed\n"},
        {"faulty",
         "kind: gpu\nname: other\nmemory: 12\nmemory_rate: 504GB/s\nflop: 1TFLOP/s\n"},
        {"machine", "kind: machine\nname: machine\n"},
    };
    (void)context;
    for (size_t i = 0; i < KVS_COUNT_OF(cards); i++) {
        if (strcmp(cards[i].name, gpu_name) == 0) {
            *out_n = strlen(cards[i].yaml);
            return cards[i].yaml;
        }
    }
    const char *const names[] = {cards[0].name};
    *out_nearest = kvs_nearest(gpu_name, names, KVS_COUNT_OF(names));
    return NULL;
}

/* What kvs_diags_print says of the bytes. Returns to caller: kvs_mem_free. */
static char *complaints_of(const char *bytes, size_t n)
{
    struct kvs_machine *machine = NULL;
    struct kvs_diags diags;
    struct kvs_error err;
    void *text = NULL;
    FILE *out = tmpfile();

    assert_non_null(out);
    kvs_diags_init(&diags);
    kvs_status status =
        kvs_machine_parse("input.yaml", bytes, n, fake_lookup, NULL, &diags, &machine, &err);
    assert_true(status != KVS_OK);
    assert_int_equal(status, err.status);
    assert_null(machine);
    kvs_diags_print(&diags, out);
    kvs_diags_fini(&diags);

    long size_bytes = ftell(out);
    assert_true(size_bytes > 0);
    assert_int_equal(kvs_mem_alloc((size_t)size_bytes + 1, 1, &text, NULL), KVS_OK);
    rewind(out);
    assert_int_equal(fread(text, 1, (size_t)size_bytes, out), size_bytes);
    (void)fclose(out);
    return text;
}

static bool run_case(const char *name)
{
    char path[512];
    char *input = NULL;
    char *expected = NULL;
    size_t n = 0;
    size_t n_expected = 0;

    (void)snprintf(path, sizeof path, CASES_DIR "/%s/input.yaml", name);
    assert_int_equal(kvs_file_read(path, 8 << 20, &input, &n, NULL), KVS_OK);
    char *found = complaints_of(input, n);
    (void)snprintf(path, sizeof path, CASES_DIR "/%s/error", name);
    if (getenv("KVS_UPDATE_GOLDEN"))
        assert_int_equal(kvs_file_write(path, found, strlen(found), NULL), KVS_OK);
    assert_int_equal(kvs_file_read(path, 1 << 20, &expected, &n_expected, NULL), KVS_OK);

    bool is_same = strcmp(found, expected) == 0;
    if (!is_same)
        print_error("%s\n--- expected\n%s--- found\n%s", name, expected, found);
    kvs_mem_free(found);
    kvs_mem_free(expected);
    kvs_mem_free(input);
    return is_same;
}

static void test_cases(void **state)
{
    DIR *dir = opendir(CASES_DIR);
    unsigned n = 0;
    unsigned n_wrong = 0;

    (void)state;
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (entry->d_name[0] == '.')
            continue;
        n_wrong += !run_case(entry->d_name);
        n++;
    }
    assert_int_equal(closedir(dir), 0);
    assert_int_equal(n_wrong, 0);
    assert_true(n >= 35);
}

/* prefix, then n times unit, then suffix */
static void check_generated(const char *prefix, const char *unit, unsigned n,
                            const char *suffix, const char *words)
{
    struct kvs_text text = {0};

    kvs_text_puts(&text, prefix);
    for (unsigned i = 0; i < n; i++)
        kvs_text_puts(&text, unit);
    kvs_text_puts(&text, suffix);
    assert_int_equal(text.status, KVS_OK);
    char *found = complaints_of(text.data, text.n);
    if (!strstr(found, words))
        fail_msg("\"%.300s\" does not say \"%s\"", found, words);
    kvs_mem_free(found);
    kvs_text_fini(&text);
}

static void test_deep_nesting(void **state)
{
    (void)state;
    check_generated("kind: machine\nname: m\ndevices: ", "[", 100, "", "deep");
    check_generated("kind: machine\nname: m\ndevices: ", "[", 200000, "", "deep");
    check_generated("kind: machine\nname: m\ndevices: ", "{a: ", 100000, "", "deep");
}

static void test_too_many(void **state)
{
    (void)state;
    check_generated("kind: machine\nname: m\ndevices:\n", "- {gpu: rtx4070, pcie: gen4x8}\n",
                    1025, "", "expected 1 to 1024 devices, got 1025");
    check_generated("kind: machine\nname: m\nlinks:\n", "- {name: a, h2d: 1GB/s}\n", 4097,
                    "devices: [{gpu: rtx4070, pcie: gen4x8}]\n",
                    "expected at most 4096 links, got 4097");
}

/* Without a catalogue every name of a card is unknown. */
static void test_no_catalogue(void **state)
{
    static const char yaml[] =
        "kind: machine\nname: m\ndevices: [{gpu: rtx4070, pcie: gen4x8}]\n";
    struct kvs_machine *machine = NULL;
    struct kvs_diags diags;

    (void)state;
    kvs_diags_init(&diags);
    assert_int_equal(
        kvs_machine_parse("m.yaml", yaml, strlen(yaml), NULL, NULL, &diags, &machine, NULL),
        KVS_EINVAL);
    assert_int_equal(diags.n_errors, 1);
    assert_string_equal(diags.errors[0].text, "unknown gpu \"rtx4070\"");
    kvs_diags_fini(&diags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_no_catalogue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
