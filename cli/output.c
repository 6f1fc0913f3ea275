/* Rows to stdout and stderr. */
#include "cli/output.h"

#include <string.h>

static const char *const format_choices[] = {"md", "csv", "json", "jsonl", NULL};
static const char *const second_choices[] = {"md", "csv", "json", "jsonl", "none", NULL};

static const struct kvs_option output_options[] = {
    {.name = "output",
     .alias = "-o",
     .kind = KVS_OPTION_ENUM,
     .metavar = "FORMAT",
     .fallback = "md",
     .choices = format_choices,
     .is_common = true,
     .help = "format on stdout"},
    {.name = "output-err",
     .alias = "-oe",
     .kind = KVS_OPTION_ENUM,
     .metavar = "FORMAT",
     .fallback = "none",
     .choices = second_choices,
     .help = "a second format, on stderr"},
    {.name = "no-edges",
     .kind = KVS_OPTION_FLAG,
     .help = "do not look for a second answer where the first hangs on microseconds"},
    {.name = "no-ranges",
     .kind = KVS_OPTION_FLAG,
     .help = "do not run the ends of figures that were not measured"},
    {.name = "dry-run",
     .kind = KVS_OPTION_FLAG,
     .help = "print how many predictions there would be, and make none"},
};
const struct kvs_option_group kvs_output_group = {"Output", output_options,
                                                  KVS_COUNT_OF(output_options)};

static FILE *output_stream(size_t i)
{
    return i == 0 ? stdout : stderr;
}

void kvs_output_open(struct kvs_output *output, const struct kvs_options *options)
{
    unsigned second = kvs_options_enum(options, "output-err");
    *output = (struct kvs_output){0};
    output->writers[0].format = (kvs_row_format)kvs_options_enum(options, "output");
    output->writers[1].format = second < KVS_ROW_NONE ? (kvs_row_format)second : KVS_ROW_NONE;
}

void kvs_output_run(struct kvs_output *output, const struct kvs_options *options,
                    struct kvs_job_run *run)
{
    run->has_edges = !kvs_options_flag(options, "no-edges");
    run->has_ranges = !kvs_options_flag(options, "no-ranges");
    for (size_t i = 0; i < KVS_COUNT_OF(output->writers); i++) {
        run->writers[i] = &output->writers[i];
        run->streams[i] = output_stream(i);
    }
}

kvs_status kvs_output_experiment(struct kvs_output *output,
                                 const struct kvs_row_context *context,
                                 const struct kvs_rows *rows, struct kvs_error *err)
{
    for (size_t i = 0; i < KVS_COUNT_OF(output->writers); i++) {
        kvs_row_write_experiment(&output->writers[i], context, rows->items, rows->n);
        KVS_TRY(kvs_print(&output->writers[i].out, output_stream(i), err));
    }
    return KVS_OK;
}

kvs_status kvs_output_end(struct kvs_output *output, uint64_t seed, struct kvs_error *err)
{
    for (size_t i = 0; i < KVS_COUNT_OF(output->writers); i++) {
        kvs_row_write_end(&output->writers[i], KVS_VERSION, seed);
        KVS_TRY(kvs_print(&output->writers[i].out, output_stream(i), err));
    }
    return KVS_OK;
}

void kvs_output_close(struct kvs_output *output)
{
    for (size_t i = 0; i < KVS_COUNT_OF(output->writers); i++)
        kvs_row_writer_fini(&output->writers[i]);
}

kvs_status kvs_output_dry_run(const struct kvs_job *job, struct kvs_error *err)
{
    struct kvs_text text = {0};
    size_t n = kvs_product_n(job->product), n_arms = job->experiment.arms.n;
    kvs_text_printf(&text, "%s: %zu configuration%s x %zu polic%s: %zu prediction%s\n",
                    job->experiment.name != NULL ? job->experiment.name : "flags", n,
                    n == 1 ? "" : "s", n_arms, n_arms == 1 ? "y" : "ies", n * n_arms,
                    n * n_arms == 1 ? "" : "s");
    kvs_status status = kvs_print(&text, stdout, err);
    kvs_text_fini(&text);
    return status;
}

kvs_status kvs_output_check_trace(const char *path, struct kvs_error *err)
{
    if (strcmp(path, "-") != 0)
        return kvs_file_check_writable(path, err);
    kvs_error_at(err, KVS_EINVAL, "--trace", 0, 0,
                 "takes a file, got \"-\": standard output has the rows");
    kvs_error_hint(err, "--trace trace.json");
    return KVS_EINVAL;
}
