/* kvsim compare: two results side by side, rows or timelines. */
#include "cli/compare.h"

#include <stdio.h>
#include <string.h>

#include "cli/judge.h"
#include "formats/trace_read.h"

#define COMPARE_MAX_BYTES ((size_t)1 << 30)

static const struct kvs_option compare_options[] = {
    {.name = "trace",
     .kind = KVS_OPTION_STRING,
     .metavar = "FILE",
     .is_common = true,
     .help = "write two timelines as one for ui.perfetto.dev"},
};
static const struct kvs_option_group compare_group = {"Comparison", compare_options,
                                                      KVS_COUNT_OF(compare_options)};
static const struct kvs_option_group *const groups[] = {&kvs_judge_group, &compare_group,
                                                        &kvs_common_group};
static const char *const examples[] = {
    "kvsim compare predicted.jsonl measured.jsonl --tolerance 3%",
    "kvsim compare measured.jsonl",
    "kvsim compare predicted-trace.json measured-trace.json --trace both.json", NULL};
static const struct kvs_options_spec spec = {
    .program = "kvsim compare",
    .summary =
        "Sets predictions beside measurements: rows of predict or replay (-o json, jsonl), "
        "matched by\nconfiguration and policy, with the errors of a naive model; or two "
        "timelines (--trace), added\nup by device and operation. B is measured, A predicted; "
        "one file of rows alone has both.",
    .operands = "A [B]",
    .min_operands = 1,
    .max_operands = 2,
    .groups = groups,
    .n_groups = KVS_COUNT_OF(groups),
    .examples = examples};

static kvs_status compare_read(struct kvs_compared *file, const char *path,
                               struct kvs_error *err)
{
    const char *slash = strrchr(path, '/');
    file->path = path;
    file->label = slash != NULL ? slash + 1 : path;
    return kvs_file_read(path, COMPARE_MAX_BYTES, &file->bytes, &file->n, err);
}

static kvs_status compare_files(struct kvs_comparison *c, struct kvs_error *err)
{
    size_t n;
    const char *const *paths = kvs_options_operands(c->options, &n);
    c->is_one_file = n == 1;
    KVS_TRY(compare_read(&c->files[0], paths[0], err));
    if (c->is_one_file)
        c->files[1] = c->files[0];
    else
        KVS_TRY(compare_read(&c->files[1], paths[1], err));
    if (strcmp(c->files[0].label, c->files[1].label) == 0)
        for (size_t i = 0; i < 2; i++)
            c->files[i].label = c->files[i].path;
    return KVS_OK;
}

static kvs_status compare_all(struct kvs_comparison *c, struct kvs_error *err)
{
    bool is_trace[2];
    KVS_TRY(compare_files(c, err));
    for (size_t i = 0; i < 2; i++)
        is_trace[i] = kvs_is_trace(c->files[i].bytes, c->files[i].n);
    if (is_trace[0] != is_trace[1])
        return kvs_error_at(err, KVS_EINVAL, c->files[is_trace[0] ? 1 : 0].path, 0, 0,
                            "holds rows, and %s a timeline",
                            c->files[is_trace[0] ? 0 : 1].path);
    if (is_trace[0])
        return kvs_compare_traces(c, err);
    if (kvs_options_is_given(c->options, "trace"))
        return kvs_error_at(err, KVS_EINVAL, "--trace", 0, 0,
                            "takes two timelines, got rows in %s", c->files[0].path);
    return kvs_compare_rows(c, err);
}

int kvs_command_compare(int argc, const char *const *argv)
{
    struct kvs_options *options;
    struct kvs_error err = {0};
    struct kvs_text text = {0};
    int code;
    if (!kvs_command_parse(&spec, argc, argv, &options, &code))
        return code;
    struct kvs_comparison c = {
        .options = options, .is_json = kvs_judge_is_json(options), .text = &text};
    kvs_status status = compare_all(&c, &err);
    if (status == KVS_OK)
        status = kvs_print(&text, stdout, &err);
    code = status != KVS_OK ? kvs_fail(status, NULL, &err)
           : c.is_outside   ? KVS_EXIT_TOLERANCE
                            : KVS_EXIT_OK;
    kvs_text_fini(&text);
    kvs_mem_free(c.files[0].bytes);
    if (!c.is_one_file)
        kvs_mem_free(c.files[1].bytes);
    kvs_options_destroy(options);
    return code;
}
