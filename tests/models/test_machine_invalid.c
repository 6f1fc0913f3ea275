/* Every case of tests/data/invalid/machine, and nesting made here. */
#include "models/machine.h"

#include "tests/invalid_cases.h"

#define CASES_DIR KVS_SOURCE_DIR "/tests/data/invalid/machine"

/* A catalogue with one good card, one broken and one that calls itself something else. */
static const char *fake_lookup(void *context, const char *gpu_name, size_t *out_n,
                               const char **out_file, const char **out_nearest)
{
    (void)out_file;
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

    kvs_diags_init(&diags);
    kvs_status status =
        kvs_machine_parse("input.yaml", bytes, n, fake_lookup, NULL, &diags, &machine, &err);
    assert_true(status != KVS_OK);
    assert_int_equal(status, err.status);
    assert_null(machine);
    return invalid_printed(&diags);
}

static void test_cases(void **state)
{
    (void)state;
    invalid_cases_run(CASES_DIR, 35, complaints_of);
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
