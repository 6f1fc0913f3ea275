/* Rows and their writers: columns, flags, the JSON read back, and tables compared with text
 * written by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "formats/row.h"

/* Two devices whose every figure is stated, and a model of one layer: nothing of the catalogue.
 */
static const char machine_yaml[] =
    "kind: machine\nname: box\nbuild: b1\ndevices:\n"
    "  - {name: a, gpu: {memory: 12GiB, memory_rate: 500GB/s, flops: 50TFLOP/s},\n"
    "     h2d: {value: 24.8GB/s, origin: fitted, interval: [24.6GB/s, 25GB/s]}}\n"
    "  - {name: b, gpu: {memory_rate: 400GB/s, flops: 50TFLOP/s}, pcie: gen3x4}\n";
static const char model_yaml[] =
    "kind: model\nname: tiny\nevidence: synthetic\nsource: \"by hand\"\nlayers: 1\npattern: F\n"
    "hidden: 0\nattention: {heads: 2, kv_heads: 2, k_dim: 32}\n"
    "params: {pre: 1000, post: 1000, head: 1000}\n";
static const char experiment_yaml[] =
    "kind: experiment\nname: e\nquestion: Why?\nmachine: box\nmodel: tiny\n"
    "split_mode: tensor\ntensor_split: 50/50\nkvpb: 512\nn_gen: 8\n"
    "depth: [4096, 16384]\narms: [ordered, pipelined+n4]\n";

struct fixture {
    struct kvs_experiment experiment;
    struct kvs_machine *machine;
    struct kvs_llm *llm;
    struct kvs_row_context context;
    struct kvs_row rows[4]; /* depth 4096: ordered, pipelined; depth 16384: the same */
};

static void fixture_row(struct fixture *f, size_t i)
{
    uint64_t values[KVS_SETTING_COUNT];
    struct kvs_case c;
    for (unsigned s = 0; s < KVS_SETTING_COUNT; s++)
        values[s] = f->experiment.values[s].n > 0 ? f->experiment.values[s].items[0] : 0;
    values[KVS_SETTING_DEPTH] = f->experiment.values[KVS_SETTING_DEPTH].items[i / 2];
    kvs_case_init(&c);
    c.machine = f->machine;
    c.llm = f->llm;
    c.placement.mode = KVS_SPLIT_TENSOR;
    c.placement.shares = f->experiment.splits.items[0].items;
    kvs_arm_apply(&f->experiment.arms.items[i % 2], &c.transport);
    kvs_row_init(&f->rows[i], &f->context, &c, values, i % 2);
    f->rows[i].configuration = i / 2;
}

static int setup(void **state)
{
    static struct fixture f;
    struct kvs_diags diags;
    memset(&f, 0, sizeof f);
    kvs_diags_init(&diags);
    kvs_status status = kvs_machine_parse("m", machine_yaml, strlen(machine_yaml), NULL, NULL,
                                          &diags, &f.machine, NULL);
    if (status == KVS_OK)
        status = kvs_llm_parse("l", model_yaml, strlen(model_yaml), &diags, &f.llm, NULL);
    if (status == KVS_OK)
        status = kvs_experiment_parse("e", experiment_yaml, strlen(experiment_yaml), &diags,
                                      &f.experiment, NULL);
    if (status == KVS_OK)
        status = kvs_experiment_complete(&f.experiment, 2, NULL);
    kvs_diags_print(&diags, stderr);
    kvs_diags_fini(&diags);
    f.context = (struct kvs_row_context){.version = "9.9",
                                         .experiment = &f.experiment,
                                         .machine = f.machine,
                                         .llm = f.llm,
                                         .seed = 7,
                                         .machine_hash = 0xab,
                                         .model_hash = 0xcd};
    for (size_t i = 0; i < 4 && status == KVS_OK; i++)
        fixture_row(&f, i);
    *state = &f;
    return status == KVS_OK ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    kvs_llm_destroy(f->llm);
    kvs_machine_destroy(f->machine);
    kvs_experiment_fini(&f->experiment);
    return 0;
}

/* Round numbers: 100 ms and 50 ms a token at 4,096 rows, a bound of 40 ms. */
static void fill(struct kvs_row *row, double ms)
{
    row->predicted_ms = ms;
    row->predicted_ts = row->avg_ts = 1e3 / ms;
    row->bound_ts = 25.0;
    row->bound_term = "link";
    row->share = 40.0 / ms;
    (void)snprintf(row->bottleneck, sizeof row->bottleneck, "b.h2d");
    row->bottleneck_busy = 0.8;
    (void)snprintf(row->runner_up, sizeof row->runner_up, "a.compute");
    row->runner_up_busy = 0.3;
}

static void test_flags(void **state)
{
    struct fixture *f = *state;
    struct kvs_text text = {0};
    assert_string_equal(f->rows[0].llama_flags, "-nkvo --kv-cpu-pinned -ctk q8_0 -ctv q8_0 -sm "
                                                "tensor -ts 50/50 -kvpd 0 -n 8 -d 4096");
    assert_string_equal(
        f->rows[3].llama_flags,
        "-nkvo --kv-cpu-pinned -ctk q8_0 -ctv q8_0 -sm tensor -ts 50/50 -kvpd 4 "
        "-kvpb 512 -n 8 -d 16384");
    struct kvs_row row = f->rows[1];
    row.is_host_kv = false; /* resident */
    row.tensor_split = "";
    row.n_gen = 128; /* llama-bench's default */
    row.n_parallel = 4;
    row.is_unified = true;
    row.n_ctx = 8192;
    kvs_row_print_flags(&row, false, &text);
    assert_string_equal(text.data, "-ctk q8_0 -ctv q8_0 -sm tensor -ts 1/1 -np 4 -kvu -c 8192");
    kvs_text_fini(&text);
}

/* Cell i of a CSV line without quotes. */
static void csv_cell_is(const char *line, size_t i, const char *expected)
{
    for (; i > 0; i--)
        line = strchr(line, ',') + 1;
    size_t n = strcspn(line, ",\n");
    char cell[128];
    (void)snprintf(cell, sizeof cell, "%.*s", (int)n, line);
    assert_string_equal(cell, expected);
}

static size_t csv_column(const char *header, const char *name)
{
    size_t i = 0;
    for (const char *at = header;; at = strchr(at, ',') + 1, i++) {
        size_t n = strcspn(at, ",\n");
        if (n == strlen(name) && strncmp(at, name, n) == 0)
            return i;
        if (at[n] == '\n')
            fail_msg("no column %s", name);
    }
}

static void test_csv(void **state)
{
    struct fixture *f = *state;
    struct kvs_row_writer w = {.format = KVS_ROW_CSV};
    fill(&f->rows[0], 100.0);
    f->rows[0].measured_ts = 8.0;
    kvs_row_write(&w, &f->rows[0]);
    kvs_row_write(&w, &f->rows[1]);
    const char *line = strchr(w.out.data, '\n') + 1;
    csv_cell_is(line, csv_column(w.out.data, "machine"), "box");
    csv_cell_is(line, csv_column(w.out.data, "no_kv_offload"), "1");
    csv_cell_is(line, csv_column(w.out.data, "n_depth"), "4096");
    csv_cell_is(line, csv_column(w.out.data, "avg_ts"), "10");
    csv_cell_is(line, csv_column(w.out.data, "kvpb"), "512");
    csv_cell_is(line, csv_column(w.out.data, "share"), "0.4");
    csv_cell_is(line, csv_column(w.out.data, "measured_ts"), "8");
    csv_cell_is(line, csv_column(w.out.data, "edge_ts"), "");
    csv_cell_is(line, csv_column(w.out.data, "machine_hash"), "00000000000000ab");
    csv_cell_is(line, csv_column(w.out.data, "seed"), "7");
    line = strchr(line, '\n') + 1; /* one header for all rows */
    csv_cell_is(line, csv_column(w.out.data, "arm"), "pipelined+n4");
    csv_cell_is(line, csv_column(w.out.data, "policy"), "pipelined");
    csv_cell_is(line, csv_column(w.out.data, "kvpd"), "4");
    csv_cell_is(line, csv_column(w.out.data, "predicted_ts"), "");
    assert_null(strchr(strchr(line, '\n') + 1, '\n'));
    kvs_row_writer_fini(&w);
}

/* RFC 4180: a cell with a comma or a quote is quoted, a quote inside is doubled. */
static void test_csv_quotes(void **state)
{
    struct fixture *f = *state;
    struct kvs_row_writer w = {.format = KVS_ROW_CSV};
    (void)snprintf(f->rows[0].error, sizeof f->rows[0].error, "a \"b\", c");
    kvs_row_write(&w, &f->rows[0]);
    assert_non_null(strstr(w.out.data, ",\"a \"\"b\"\", c\"\n"));
    kvs_row_writer_fini(&w);
}

static double number_of(const struct kvs_json_doc *doc, const struct kvs_json_value *row,
                        const char *key)
{
    double value = -1.0;
    assert_int_equal(kvs_json_get_f64(doc, row, key, true, -1e18, 1e18, &value, NULL), KVS_OK);
    return value;
}

static void string_is(const struct kvs_json_doc *doc, const struct kvs_json_value *obj,
                      const char *key, const char *expected)
{
    const char *value = NULL;
    assert_int_equal(kvs_json_get_str(doc, obj, key, true, &value, NULL), KVS_OK);
    assert_string_equal(value, expected);
}

static void test_json(void **state)
{
    struct fixture *f = *state;
    struct kvs_row_writer w = {.format = KVS_ROW_JSON};
    struct kvs_json_doc *doc;
    const struct kvs_json_value *rows, *experiments, *settings, *list;
    int64_t n;
    fill(&f->rows[0], 100.0);
    kvs_row_write_experiment(&w, &f->context, f->rows, 2);
    kvs_row_write_end(&w, "9.9", 7);
    assert_int_equal(kvs_json_parse("o", w.out.data, w.out.n, 0, &doc, NULL), KVS_OK);
    const struct kvs_json_value *root = kvs_json_root(doc);
    assert_true(number_of(doc, root, "schema_version") == KVS_ROW_SCHEMA_VERSION);
    string_is(doc, root, "kvsim_version", "9.9");
    assert_true(number_of(doc, root, "seed") == 7.0);

    assert_int_equal(kvs_json_get(doc, root, "rows", true, &rows, NULL), KVS_OK);
    assert_int_equal(kvs_json_array_len(rows), 2);
    const struct kvs_json_value *row = kvs_json_array_item(rows, 0);
    assert_true(number_of(doc, row, "avg_ts") == 10.0);
    assert_true(number_of(doc, row, "bound_ts") == 25.0);
    string_is(doc, row, "bottleneck", "b.h2d");
    const char *absent = "untouched";
    assert_int_equal(kvs_json_get_str(doc, row, "edge_ts", false, &absent, NULL), KVS_OK);
    assert_string_equal(absent, "untouched"); /* null */

    assert_int_equal(kvs_json_get(doc, root, "experiments", true, &experiments, NULL), KVS_OK);
    const struct kvs_json_value *e = kvs_json_array_item(experiments, 0);
    string_is(doc, e, "machine_hash", "00000000000000ab");
    assert_int_equal(kvs_json_get(doc, e, "settings", true, &settings, NULL), KVS_OK);
    assert_int_equal(kvs_json_get(doc, settings, "depth", true, &list, NULL), KVS_OK);
    assert_int_equal(kvs_json_array_len(list), 2);
    assert_true(kvs_json_as_i64(kvs_json_array_item(list, 1), 0, 1 << 20, &n));
    assert_int_equal(n, 16384);
    assert_int_equal(kvs_json_get(doc, e, "devices", true, &list, NULL), KVS_OK);
    assert_int_equal(kvs_json_array_len(list), 2);
    /* gen3 x4: 8 GT/s x 4 lanes x 128/130 / 8 bits, times the default efficiency 0.80 */
    double rate = number_of(doc, kvs_json_array_item(list, 1), "h2d_Bps");
    assert_true(fabs(rate - 0.80 * 8e9 * 4 * 128 / 130 / 8) < 1e3);
    assert_int_equal(kvs_json_get(doc, e, "figures", true, &list, NULL), KVS_OK);
    string_is(doc, kvs_json_array_item(list, 0), "name", "a.h2d");
    string_is(doc, kvs_json_array_item(list, 0), "origin", "fitted");
    assert_true(number_of(doc, kvs_json_array_item(list, 0), "lo") == 24.6e9);
    kvs_json_destroy(doc);
    kvs_row_writer_fini(&w);
}

/* An object per line, each a document of its own. */
static void test_jsonl(void **state)
{
    struct fixture *f = *state;
    struct kvs_row_writer w = {.format = KVS_ROW_JSONL};
    for (size_t i = 0; i < 2; i++) {
        struct kvs_json_doc *doc;
        kvs_row_write(&w, &f->rows[i]);
        assert_int_equal(w.out.data[w.out.n - 1], '\n');
        assert_int_equal(kvs_json_parse("l", w.out.data, w.out.n - 1, 0, &doc, NULL), KVS_OK);
        string_is(doc, kvs_json_root(doc), "arm", i == 0 ? "ordered" : "pipelined+n4");
        kvs_json_destroy(doc);
        w.out.n = 0;
    }
    kvs_row_writer_fini(&w);
}

/* The decline of docs in numbers: 6 slots x 35 MiB = 210 MiB against 128 MiB; a look-ahead of 1
 * needs 3 slots, 105 MiB. */
static void decline(struct kvs_row *row)
{
    row->n_segments = 1;
    row->n_declined = 1;
    row->decline_reason = kvs_decline_text(KVS_DECLINE_BUDGET);
    row->kvpb_mib = 128.0;
    row->ring = kvs_ring_choose(4, 35 * KVS_MIB, 35 * KVS_MIB, 128 * KVS_MIB, 0, UINT64_MAX);
}

static void test_md(void **state)
{
    static const char expected[] =
        "e: Why?\n"
        "box, tiny, K q8_0, V q8_0, split tensor 50/50, 8 tokens, ring budget 512 MiB\n"
        "\n"
        "| n_depth | ordered t/s | measured |    err | pipelined+n4 t/s |    gain | bound t/s "
        "| "
        "share | bottleneck | runner-up     |\n"
        "|--------:|------------:|---------:|-------:|-----------------:|--------:|----------:|"
        "-"
        "-----:|------------|---------------|\n"
        "|    4096 |       10.00 |     8.00 | +25.0% |        20.00 [1] | +100.0% |     25.00 "
        "|  "
        " 80% | b.h2d 80%  | a.compute 30% |\n"
        "|   16384 |        5.00 |        - |      - |         5.00 [2] |    0.0% |     25.00 "
        "|  "
        " 20% | b.h2d 80%  | a.compute 30% |\n"
        "\n"
        "[1] 20.00 or 12.50 t/s: the engine's first turn\n"
        "[2] ran ordered, ring larger than the budget: 6 slots x 35.0 MiB = 210.0 MiB, budget "
        "128 MiB; would fit: -kvpb 210 or -kvpd 1\n"
        "\n"
        "- gain over the first policy; share of the bound, bottleneck and runner-up (busy "
        "share "
        "of a token) of the fastest\n"
        "- links, host to device: a 24.80 GB/s (fitted, 24.60 GB/s to 25.00 GB/s); b 3.15 GB/s "
        "(gen3x4 3.94 GB/s x 0.80, 2.76 GB/s to 3.54 GB/s)\n"
        "- compute: a not measured: 500.00 GB/s x 0.65, 0.5 to 0.8; b not measured: 400.00 "
        "GB/s "
        "x 0.65, 0.5 to 0.8\n"
        "- memory: not checked on b, whose size is unknown\n"
        "- figures that were not measured leave these ranges:\n"
        "  - n_depth 4096: pipelined+n4 between 15.00 and 22.00 t/s\n"
        "- flags of the llama.cpp fork:\n"
        "  - `-nkvo --kv-cpu-pinned -ctk q8_0 -ctv q8_0 -sm tensor -ts 50/50 -kvpd 0 -n 8 -d "
        "4096,16384`\n"
        "  - `-nkvo --kv-cpu-pinned -ctk q8_0 -ctv q8_0 -sm tensor -ts 50/50 -kvpd 4 -kvpb 512 "
        "-n 8 -d 4096`\n"
        "  - `-nkvo --kv-cpu-pinned -ctk q8_0 -ctv q8_0 -sm tensor -ts 50/50 -kvpd 4 -kvpb 128 "
        "-n 8 -d 16384`\n";
    struct fixture *f = *state;
    struct kvs_row_writer w = {.format = KVS_ROW_MD};
    fill(&f->rows[0], 100.0);
    fill(&f->rows[1], 50.0);
    fill(&f->rows[2], 200.0);
    fill(&f->rows[3], 200.0);
    f->rows[0].measured_ts = 8.0;
    f->rows[0].err_pct = 25.0;
    f->rows[1].edge_ts = 12.5;
    (void)snprintf(f->rows[1].edge_reason, sizeof f->rows[1].edge_reason,
                   "the engine's first turn");
    f->rows[1].lo_ts = 15.0;
    f->rows[1].hi_ts = 22.0;
    decline(&f->rows[3]);
    kvs_row_write_experiment(&w, &f->context, f->rows, 4);
    assert_string_equal(w.out.data, expected);
    kvs_row_writer_fini(&w);
}

/* Ten configurations in equal steps of depth, then one more: their flags are one range and a
 * value, and of their ranges eight are listed. */
static void test_md_long(void **state)
{
    struct fixture *f = *state;
    struct kvs_row rows[11];
    struct kvs_row_writer w = {.format = KVS_ROW_MD};
    for (size_t i = 0; i < KVS_COUNT_OF(rows); i++) {
        rows[i] = f->rows[1];
        fill(&rows[i], 50.0);
        rows[i].configuration = i;
        rows[i].n_depth = i < 10 ? 1024 * (i + 1) : 65536;
        rows[i].lo_ts = 15.0;
        rows[i].hi_ts = 22.0;
    }
    kvs_row_write_experiment(&w, &f->context, rows, KVS_COUNT_OF(rows));
    assert_non_null(strstr(w.out.data, " -n 8 -d 1024-10240+1024,65536`\n"));
    size_t n = 0;
    for (const char *at = w.out.data; (at = strstr(at, " between 15.00")) != NULL; at++)
        n++;
    assert_int_equal(n, 8);
    assert_non_null(strstr(w.out.data, "\n  - ... and 3 more, in csv or json\n"));
    kvs_row_writer_fini(&w);
}

/* What does not vary stands above the table, what varies in it, depth always. */
static void test_md_head(void **state)
{
    struct fixture *f = *state;
    struct kvs_row_writer w = {.format = KVS_ROW_MD};
    struct kvs_row row = f->rows[0];
    assert_int_equal(kvs_experiment_add(&f->experiment, KVS_SETTING_TYPE_K, KVS_KV_F16, NULL),
                     KVS_OK);
    kvs_experiment_clear(&f->experiment, KVS_SETTING_DEPTH);
    assert_int_equal(kvs_experiment_add(&f->experiment, KVS_SETTING_DEPTH, 4096, NULL), KVS_OK);
    f->experiment.values[KVS_SETTING_N_ROWS].items[0] = row.values[KVS_SETTING_N_ROWS] = 4;
    fill(&row, 100.0);
    kvs_row_write_experiment(&w, &f->context, &row, 1);
    assert_non_null(strstr(
        w.out.data, "\nbox, tiny, V q8_0, split tensor 50/50, 8 tokens, ring budget 512 MiB, "
                    "n_rows 4\n\n| type_k | n_depth | ordered t/s "));
    kvs_row_writer_fini(&w);
}

/* The one arm that has no ring names no budget, and its flags are llama.cpp's own. */
static void test_md_resident(void **state)
{
    struct fixture *f = *state;
    struct kvs_row_writer w = {.format = KVS_ROW_MD};
    f->experiment.arms.n = 0;
    struct kvs_arm arm;
    assert_int_equal(kvs_arm_parse("resident", &arm, NULL), KVS_OK);
    assert_int_equal(kvs_experiment_add_arm(&f->experiment, &arm, NULL), KVS_OK);
    fixture_row(f, 0);
    fill(&f->rows[0], 100.0);
    kvs_row_write_experiment(&w, &f->context, f->rows, 1);
    assert_non_null(strstr(w.out.data, ", 8 tokens\n\n"));
    assert_non_null(strstr(w.out.data, "- llama.cpp flags:\n  - `-ctk q8_0 "));
    assert_null(strstr(w.out.data, "fork"));
    kvs_row_writer_fini(&w);
}

/* A row that could not run has no number, and says why once. */
static void test_md_error(void **state)
{
    struct fixture *f = *state;
    struct kvs_row_writer w = {.format = KVS_ROW_MD};
    fill(&f->rows[0], 100.0);
    (void)snprintf(f->rows[1].error, sizeof f->rows[1].error, "a: does not fit");
    kvs_row_write_experiment(&w, &f->context, f->rows, 2);
    assert_non_null(strstr(w.out.data, "|            - [1] |    - |"));
    assert_non_null(strstr(w.out.data, "\n[1] a: does not fit\n"));
    kvs_row_writer_fini(&w);
}

static const double sample_ts[] = {12.5, 10.0};
static const uint64_t sample_ns[] = {640000000, 800000000};
static const struct kvs_row_replay replayed = {"host", true, 2, 1};

/* As if the first two rows had been run: 8 t/s and 16 t/s were measured. */
static void replay(struct fixture *f)
{
    f->context.replay = &replayed;
    for (size_t i = 0; i < 4; i++)
        fixture_row(f, i);
    for (size_t i = 0; i < 2; i++) {
        struct kvs_row *row = &f->rows[i];
        fill(row, i == 0 ? 100.0 : 50.0);
        row->measured_ts = row->median_ts = i == 0 ? 8.0 : 16.0;
        row->err_pct = 25.0;
        row->ci_lo_ts = row->measured_ts - 0.25;
        row->ci_hi_ts = row->measured_ts + 0.75;
        row->samples = (struct kvs_row_samples){sample_ts, sample_ns, 2};
        (void)snprintf(row->digest, sizeof row->digest, "00000000000000ef");
    }
    f->rows[1].diff_ms = f->rows[1].diff_lo_ms = f->rows[1].diff_hi_ms = -50.0;
}

/* Columns of its own stand behind all others; a list is one cell, or an array. */
static void test_replay_columns(void **state)
{
    struct fixture *f = *state;
    struct kvs_row_writer csv = {.format = KVS_ROW_CSV}, json = {.format = KVS_ROW_JSONL};
    struct kvs_json_doc *doc;
    const struct kvs_json_value *list = NULL;
    int64_t ns = 0;
    replay(f);
    kvs_row_write(&csv, &f->rows[0]);
    assert_true(csv_column(csv.out.data, "executor") == csv_column(csv.out.data, "error") + 1);
    const char *line = strchr(csv.out.data, '\n') + 1;
    csv_cell_is(line, csv_column(csv.out.data, "executor"), "host");
    csv_cell_is(line, csv_column(csv.out.data, "samples_ts"), "12.5;10");
    csv_cell_is(line, csv_column(csv.out.data, "samples_ns"), "640000000;800000000");
    csv_cell_is(line, csv_column(csv.out.data, "ci95_hi"), "8.75");
    csv_cell_is(line, csv_column(csv.out.data, "digest"), "00000000000000ef");
    csv_cell_is(line, csv_column(csv.out.data, "diff_ms"), "");
    kvs_row_write(&json, &f->rows[0]);
    assert_int_equal(kvs_json_parse("l", json.out.data, json.out.n - 1, 0, &doc, NULL), KVS_OK);
    assert_int_equal(kvs_json_get(doc, kvs_json_root(doc), "samples_ns", true, &list, NULL),
                     KVS_OK);
    assert_int_equal(kvs_json_array_len(list), 2);
    assert_true(kvs_json_as_i64(kvs_json_array_item(list, 1), 0, INT64_MAX, &ns));
    assert_int_equal(ns, 800000000);
    kvs_json_destroy(doc);
    kvs_row_writer_fini(&csv);
    kvs_row_writer_fini(&json);
}

static void test_replay_md(void **state)
{
    static const char expected[] =
        "| n_depth | ordered t/s |    measured |    err | pipelined+n4 t/s |     measured |    "
        "err |    gain | measured gain | bound t/s | bottleneck |\n"
        "|--------:|------------:|------------:|-------:|-----------------:|-------------:|----"
        "---:|--------:|--------------:|----------:|------------|\n"
        "|    4096 |       10.00 | 8.00 \xc2\xb1 0.50 | +25.0% |            20.00 | 16.00 "
        "\xc2\xb1 0.50 | +25.0% | +100.0% |       +100.0% |     25.00 | b.h2d 80%  |\n"
        "\n"
        "- executor host: 2 repetitions after 1 warm-up run; digests of a line are equal\n"
        "- measured: rate of the median time, \xc2\xb1 half of its 95% interval; gain over the "
        "first policy, no difference where the 95% interval of paired differences covers 0\n"
        "- bottleneck of the fastest policy, as predicted, with its busy share of a token\n";
    struct fixture *f = *state;
    struct kvs_row_writer w = {.format = KVS_ROW_MD};
    replay(f);
    kvs_row_write_experiment(&w, &f->context, f->rows, 2);
    const char *at = strstr(w.out.data, "| n_depth");
    assert_non_null(at);
    assert_memory_equal(at, expected, strlen(expected));
    w.out.n = 0;
    f->rows[1].diff_hi_ms = 1.0; /* the interval covers 0 */
    (void)snprintf(f->rows[1].digest, sizeof f->rows[1].digest, "00000000000000ee");
    kvs_row_write_experiment(&w, &f->context, f->rows, 2);
    assert_non_null(strstr(w.out.data, "| +100.0% | no difference |"));
    assert_non_null(strstr(w.out.data, "warm-up run; DIGESTS DIFFER\n"));
    kvs_row_writer_fini(&w);
}

/* Any allocation of a writer may fail: the status sticks and nothing leaks. */
static void test_out_of_memory(void **state)
{
    struct fixture *f = *state;
    static const kvs_row_format formats[] = {KVS_ROW_MD, KVS_ROW_JSON, KVS_ROW_CSV};
    uint64_t live = kvs_mem_live_bytes();
    for (size_t i = 0; i < KVS_COUNT_OF(formats); i++) {
        kvs_status status = KVS_ENOMEM;
        for (uint64_t n = 1; status != KVS_OK; n++) {
            struct kvs_row_writer w = {.format = formats[i]};
            kvs_mem_fail_after(n);
            kvs_row_write(&w, &f->rows[0]);
            kvs_row_write_experiment(&w, &f->context, f->rows, 4);
            kvs_row_write_end(&w, "9.9", 7);
            kvs_mem_fail_after(0);
            status = w.out.status;
            kvs_row_writer_fini(&w);
            assert_int_equal(kvs_mem_live_bytes(), live);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_flags, setup, teardown),
        cmocka_unit_test_setup_teardown(test_csv, setup, teardown),
        cmocka_unit_test_setup_teardown(test_csv_quotes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_json, setup, teardown),
        cmocka_unit_test_setup_teardown(test_jsonl, setup, teardown),
        cmocka_unit_test_setup_teardown(test_md, setup, teardown),
        cmocka_unit_test_setup_teardown(test_md_long, setup, teardown),
        cmocka_unit_test_setup_teardown(test_md_head, setup, teardown),
        cmocka_unit_test_setup_teardown(test_md_resident, setup, teardown),
        cmocka_unit_test_setup_teardown(test_md_error, setup, teardown),
        cmocka_unit_test_setup_teardown(test_out_of_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_replay_columns, setup, teardown),
        cmocka_unit_test_setup_teardown(test_replay_md, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
