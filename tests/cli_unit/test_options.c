/* Flags, values, messages and help of cli/options.h, against a small command made for the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cli/options.h"

static const char *const types[] = {"f16", "q8_0", "q4_0", NULL};
static const char *const splits[] = {"none", "layer", "tensor", NULL};

static const struct kvs_option workload[] = {
    {.name = "depth",
     .alias = "-d --n-depth",
     .kind = KVS_OPTION_SWEEP,
     .metavar = "N",
     .fallback = "4096",
     .min = 1,
     .max = 65536,
     .is_common = true,
     .help = "rows already in the cache"},
    {.name = "cache-type-k",
     .alias = "-ctk",
     .kind = KVS_OPTION_LIST,
     .metavar = "TYPE",
     .fallback = "f16",
     .choices = types,
     .help = "type of K"},
    {.name = "no-kv-offload",
     .alias = "-nkvo",
     .kind = KVS_OPTION_FLAG,
     .help =
         "keep the cache in host memory, where every layer of it has to be fetched again for "
         "every token"},
    {.name = "policy", .kind = KVS_OPTION_LIST, .metavar = "NAME", .help = "schedules"},
};
static const struct kvs_option machine[] = {
    {.name = "machine",
     .alias = "-m",
     .kind = KVS_OPTION_STRING,
     .metavar = "FILE",
     .is_common = true,
     .help = "machine file"},
    {.name = "split-mode",
     .alias = "-sm",
     .kind = KVS_OPTION_ENUM,
     .metavar = "MODE",
     .fallback = "tensor",
     .choices = splits,
     .help = "how layers are divided"},
    {.name = "budget",
     .kind = KVS_OPTION_BYTES,
     .metavar = "BYTES",
     .max = 1 << 30,
     .help = "ring"},
    {.name = "seed", .kind = KVS_OPTION_U64, .metavar = "N", .fallback = "1", .help = "seed"},
    {.name = "tolerance",
     .kind = KVS_OPTION_FRAC,
     .metavar = "X",
     .fallback = "5%",
     .help = "limit"},
};
static const struct kvs_option_group workload_group = {"Workload", workload, 4};
static const struct kvs_option_group machine_group = {"Machine", machine, 5};
static const struct kvs_option_group *const groups[] = {&machine_group, &workload_group};
static const char *const examples[] = {"kvsim try -m two.yaml -d 4096", "kvsim try -nkvo",
                                       NULL};
static const struct kvs_options_spec spec = {.program = "kvsim try",
                                             .summary = "Tries things.",
                                             .operands = "[FILE...]",
                                             .max_operands = 2,
                                             .groups = groups,
                                             .n_groups = 2,
                                             .examples = examples};

/* Splits line at blanks (the storage must outlive the options) and parses it. */
static kvs_status parse(char *line, struct kvs_options **out, struct kvs_error *err)
{
    static const char *argv[32];
    int argc = 0;
    for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    return kvs_options_parse(&spec, argc, argv, out, err);
}

static void test_defaults(void **state)
{
    (void)state;
    struct kvs_options *o;
    struct kvs_error err;
    char line[] = "";
    assert_int_equal(parse(line, &o, &err), KVS_OK);
    size_t n;
    assert_int_equal(kvs_options_sweep(o, "depth", &n)[0], 4096);
    assert_int_equal(n, 1);
    assert_string_equal(kvs_options_list(o, "cache-type-k", &n)[0], "f16");
    assert_false(kvs_options_flag(o, "no-kv-offload"));
    assert_null(kvs_options_str(o, "machine"));
    assert_int_equal(kvs_options_enum(o, "split-mode"), 2);
    assert_int_equal(kvs_options_u64(o, "seed"), 1);
    assert_true(kvs_options_frac(o, "tolerance") > 0.0499 &&
                kvs_options_frac(o, "tolerance") < 0.0501);
    assert_false(kvs_options_is_given(o, "seed"));
    kvs_options_list(o, "policy", &n);
    assert_int_equal(n, 0);
    assert_int_equal(kvs_options_help(o), KVS_HELP_NONE);
    kvs_options_destroy(o);
}

static void test_values(void **state)
{
    (void)state;
    struct kvs_options *o;
    struct kvs_error err;
    char line[] =
        "a.jsonl -d 1-3 --n-depth=4096-16384*2 -ctk q8_0,f16 -ctk q4_0 -nkvo --machine=x=y "
        "-sm layer --budget 512MiB --seed 7 --seed 8 --cache_type_k f16 -- -";
    assert_int_equal(parse(line, &o, &err), KVS_OK);
    size_t n;
    const uint64_t depths[] = {1, 2, 3, 4096, 8192, 16384};
    const uint64_t *depth = kvs_options_sweep(o, "depth", &n);
    assert_int_equal(n, 6);
    assert_memory_equal(depth, depths, sizeof(depths));
    const uint64_t types_want[] = {1, 0, 2, 0};
    const uint64_t *types_got = kvs_options_list_choices(o, "cache-type-k", &n);
    assert_int_equal(n, 4);
    assert_memory_equal(types_got, types_want, sizeof(types_want));
    assert_string_equal(kvs_options_list(o, "cache-type-k", &n)[2], "q4_0");
    assert_true(kvs_options_flag(o, "no-kv-offload"));
    assert_string_equal(kvs_options_str(o, "machine"), "x=y");
    assert_int_equal(kvs_options_enum(o, "split-mode"), 1);
    assert_int_equal(kvs_options_u64(o, "budget"), 536870912); /* 512 * 1024 * 1024 */
    assert_int_equal(kvs_options_u64(o, "seed"), 8);
    assert_true(kvs_options_is_given(o, "seed"));
    const char *const *operands = kvs_options_operands(o, &n);
    assert_int_equal(n, 2);
    assert_string_equal(operands[0], "a.jsonl");
    assert_string_equal(operands[1], "-");
    kvs_options_destroy(o);
}

struct bad_case {
    const char *line, *file, *text; /* text: a part of the message */
};

static void test_bad_lines(void **state)
{
    (void)state;
    static const struct bad_case cases[] = {
        {"--machin x", "--machin", "unknown flag; did you mean --machine?"},
        {"-cpk f16", "-cpk", "did you mean -ctk?"},
        {"--zzzzzzzz", "--zzzzzzzz", "unknown flag"},
        {"-5", "-5", "unknown flag"},
        {"--machine", "--machine", "needs a value (FILE)"},
        {"--machine --seed 3", "--machine", "got the flag --seed"},
        {"--machine=", "--machine", "got an empty one"},
        {"-nkvo=1", "-nkvo", "takes no value, got \"1\""},
        {"-sm tensr", "-sm",
         "unknown value \"tensr\"; known: none, layer, tensor; did you mean tensor?"},
        {"-sm 9", "-sm", "unknown value \"9\"; known: none, layer, tensor"},
        {"-ctk f16,q8", "-ctk", "unknown value \"q8\""},
        {"-ctk f16,,q8_0", "-ctk", "empty item in \"f16,,q8_0\""},
        {"-d 0", "-d", "must be 1 to 65536, got 0"},
        {"-d 65536-65537", "-d", "got 65537"},
        {"-d 4096-x", "-d 4096-x", "invalid range: \"x\" is not a whole number"},
        {"--seed 1.5", "--seed", ""},
        {"--budget 512", "--budget", ""},
        {"--budget 2GiB", "--budget",
         "must be 0 to 1073741824 bytes, got 2147483648 (\"2GiB\")"},
        {"--tolerance x", "--tolerance", ""},
        {"a b c", "c", "unexpected argument; kvsim try takes 2"},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(cases); i++) {
        char line[128];
        struct kvs_options *o;
        struct kvs_error err = {0};
        snprintf(line, sizeof(line), "%s", cases[i].line);
        kvs_status status = parse(line, &o, &err);
        if (status == KVS_OK || o != NULL || strcmp(err.file, cases[i].file) != 0 ||
            strstr(err.text, cases[i].text) == NULL)
            fail_msg("%s: status %d, got %s: %s", cases[i].line, (int)status, err.file,
                     err.text);
        assert_int_equal(err.status, status);
    }
    assert_int_equal(kvs_mem_live_bytes(), 0);
}

static void test_help_ends_parsing(void **state)
{
    (void)state;
    struct kvs_options *o;
    char shorter[] = "-nkvo -h --nonsense";
    assert_int_equal(parse(shorter, &o, NULL), KVS_OK);
    assert_int_equal(kvs_options_help(o), KVS_HELP_SHORT);
    kvs_options_destroy(o);
    char longer[] = "--help";
    assert_int_equal(parse(longer, &o, NULL), KVS_OK);
    assert_int_equal(kvs_options_help(o), KVS_HELP_FULL);
    kvs_options_destroy(o);
}

static const char short_help[] =
    "Usage: kvsim try [options] [FILE...]\n"
    "\n"
    "Tries things.\n"
    "\n"
    "Machine\n"
    "  -m, --machine FILE        machine file\n"
    "\n"
    "Workload\n"
    "  -d, --n-depth, --depth N  rows already in the cache; 1 to 65536; sweeps\n"
    "                            (default 4096)\n"
    "\n"
    "All flags: kvsim try --help\n"
    "\n"
    "Example\n"
    "  kvsim try -m two.yaml -d 4096\n";

static void test_help_text(void **state)
{
    (void)state;
    struct kvs_text text = {0};
    kvs_options_print_help(&spec, KVS_HELP_SHORT, &text);
    assert_string_equal(text.data, short_help);
    kvs_text_fini(&text);

    kvs_options_print_help(&spec, KVS_HELP_FULL, &text);
    assert_non_null(strstr(
        text.data,
        "  -sm, --split-mode MODE    how layers are divided: none, layer, tensor (default\n"
        "                            tensor)\n"));
    assert_non_null(
        strstr(text.data, "\nExamples\n  kvsim try -m two.yaml -d 4096\n  kvsim try -nkvo\n"));
    for (const char *line = text.data; *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
    kvs_text_fini(&text);
}

static void check_refused(struct kvs_option first, struct kvs_option second, const char *text)
{
    const struct kvs_option both[] = {first, second};
    const struct kvs_option_group group = {"G", both, 2};
    const struct kvs_option_group *const list[] = {&group};
    const struct kvs_options_spec bad = {
        .program = "p", .summary = "s", .groups = list, .n_groups = 1};
    struct kvs_error err = {0};
    assert_int_not_equal(kvs_options_check(&bad, &err), KVS_OK);
    assert_non_null(strstr(err.text, text));
}

static void test_table_rules(void **state)
{
    (void)state;
    struct kvs_error err;
    assert_int_equal(kvs_options_check(&spec, &err), KVS_OK);
    const struct kvs_option good = {.name = "good", .alias = "-g", .help = "h"};
    check_refused(good, (struct kvs_option){.name = "x", .alias = "-y -g", .help = "h"},
                  "twice");
    check_refused(good, (struct kvs_option){.name = "help", .help = "h"}, "twice");
    check_refused(good, (struct kvs_option){.name = "x", .help = "h", .metavar = "N"},
                  "metavar");
    check_refused(good, (struct kvs_option){.name = "x"}, "no help");
    check_refused(
        good,
        (struct kvs_option){.name = "x", .kind = KVS_OPTION_ENUM, .metavar = "M", .help = "h"},
        "choices");
    check_refused(good,
                  (struct kvs_option){.name = "x",
                                      .kind = KVS_OPTION_SWEEP,
                                      .metavar = "N",
                                      .fallback = "3-1",
                                      .help = "h"},
                  "goes down");
    assert_int_equal(kvs_mem_live_bytes(), 0);
}

/* Every allocation of a parse fails once; nothing leaks, the status says why. */
static void test_no_memory(void **state)
{
    (void)state;
    for (uint64_t n = 1;; n++) {
        char line[] = "-d 1-9 -ctk f16,q8_0 --policy a,b file";
        struct kvs_options *o;
        kvs_mem_fail_after(n);
        kvs_status status = parse(line, &o, NULL);
        kvs_mem_fail_after(0);
        if (status == KVS_OK) {
            assert_true(n > 5);
            kvs_options_destroy(o);
            break;
        }
        assert_int_equal(status, KVS_ENOMEM);
        assert_null(o);
        assert_int_equal(kvs_mem_live_bytes(), 0);
    }
    assert_int_equal(kvs_mem_live_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),  cmocka_unit_test(test_values),
        cmocka_unit_test(test_bad_lines), cmocka_unit_test(test_help_ends_parsing),
        cmocka_unit_test(test_help_text), cmocka_unit_test(test_table_rules),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
