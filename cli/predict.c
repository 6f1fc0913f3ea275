/* kvsim predict: experiments or flags in, rows out. */
#include <inttypes.h>
#include <string.h>

#include "cli/job.h"
#include "cli/settings.h"
#include "formats/perfetto.h"
#include "formats/plan_lines.h"
#include "formats/plan_origin.h"
#include "sched/plan_check.h"

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
    {.name = "trace",
     .kind = KVS_OPTION_STRING,
     .metavar = "FILE",
     .is_common = true,
     .help = "write the timeline for ui.perfetto.dev; takes one configuration and one policy"},
    {.name = "plan",
     .kind = KVS_OPTION_STRING,
     .metavar = "FILE",
     .help = "predict a plan from a file (kvsim plan writes one) on one configuration"},
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
static const struct kvs_option_group output_group = {"Output", output_options,
                                                     KVS_COUNT_OF(output_options)};
static const struct kvs_option_group *const groups[] = {
    &kvs_inputs_group,    &kvs_workload_group, &kvs_placement_group,
    &kvs_transport_group, &output_group,       &kvs_common_group};
static const char *const examples[] = {
    "kvsim predict --machine ./my-box.yaml -m qwen3-8b -d 4096-65536*2 -kvpd 0,1,2",
    "kvsim predict x4-bound -d 16384 --policy ordered,pipelined+yield -o json",
    "kvsim predict --machine rtx4070 -d 16384 --policy pipelined --trace token.json", NULL};
static const struct kvs_options_spec spec = {
    .program = "kvsim predict",
    .summary =
        "Predicts decode rates under each policy, the bound that no schedule beats, and "
        "what limits.\nWithout EXPERIMENT: the experiment " KVS_DEFAULT_EXPERIMENT
        ", or with --machine or -m the flags\nand defaults alone. Flags override what an "
        "experiment says.",
    .operands = "[EXPERIMENT...]",
    .max_operands = 64,
    .groups = groups,
    .n_groups = KVS_COUNT_OF(groups),
    .examples = examples};

/* State of one call. */
struct predict {
    const struct kvs_options *options; /* borrowed */
    struct kvs_console console;
    struct kvs_catalogue catalogue;
    struct kvs_diags diags;
    struct kvs_row_writer writers[2]; /* stdout, stderr */
    struct kvs_plan *plan;            /* given with --plan, or NULL */
    kvs_status worst;
};

/* Says where the plan and the job's one configuration part; returns true when they may be
 * compared. */
static bool predict_is_own_plan(const struct predict *p, const struct kvs_job *s)
{
    const struct kvs_plan_origin *made = &p->plan->origin;
    struct kvs_configuration configuration;
    struct kvs_plan_origin here;
    struct kvs_text differences = {0};
    kvs_product_get(s->product, 0, &configuration);
    kvs_plan_origin_of(&configuration.c, &here);
    kvs_plan_origin_differences(made, &here, &differences);
    bool is_own = differences.n == 0 && kvs_plan_origin_is_known(made);
    if (differences.n > 0)
        kvs_console_warn(&p->console,
                         "the plan was made for another case: %s; it is run as it is, without "
                         "a bound or measured rows beside it",
                         differences.data);
    else if (!is_own)
        kvs_console_warn(&p->console, "the plan does not say which machine, model and depth it "
                                      "was made for, so no bound or measured rows are shown");
    kvs_text_fini(&differences);
    return is_own;
}

/* A fault of the plan lies in its file. */
static void predict_place(const struct predict *p, struct kvs_error *err)
{
    const char *path = kvs_options_str(p->options, "plan");
    if (p->plan != NULL && err != NULL && err->file[0] == '\0')
        (void)snprintf(err->file, sizeof err->file, "%s",
                       strcmp(path, "-") == 0 ? "stdin" : path);
}

/* The plan's policy and tokens take the place of the job's. */
static kvs_status predict_use_plan(struct predict *p, struct kvs_job *s,
                                   struct kvs_job_run *run, struct kvs_error *err)
{
    struct kvs_arm arm = {.policy = &kvs_policy_ordered};
    uint32_t n_tokens = kvs_plan_n_tokens(p->plan);
    size_t n;
    const uint64_t *asked = kvs_options_sweep(p->options, "n-gen", &n);
    if (n > 0 && (n > 1 || asked[0] != n_tokens))
        kvs_console_warn(&p->console, "-n is passed over: the plan has %u token%s",
                         (unsigned)n_tokens, n_tokens == 1 ? "" : "s");
    kvs_status status = kvs_job_set_n_gen(s, n_tokens, err);
    if (status == KVS_ERANGE && err != NULL) {
        predict_place(p, err);
        (void)snprintf(err->path, sizeof err->path, "tokens");
    }
    if (status != KVS_OK)
        return status;
    if (kvs_product_n(s->product) != 1)
        return kvs_job_needs_one(s, "--plan", err);
    run->given = p->plan;
    run->is_named_by_plan = kvs_arm_parse(p->plan->policy, &arm, NULL) != KVS_OK;
    if (run->is_named_by_plan)
        (void)snprintf(arm.name, sizeof arm.name, "%s", p->plan->policy);
    run->is_foreign = !predict_is_own_plan(p, s);
    s->experiment.arms.n = 0;
    return kvs_experiment_add_arm(&s->experiment, &arm, err);
}

static kvs_status predict_trace_needs_file(struct kvs_error *err)
{
    kvs_error_at(err, KVS_EINVAL, "--trace", 0, 0,
                 "takes a file, got \"-\": standard output has the rows");
    kvs_error_hint(err, "--trace trace.json");
    return KVS_EINVAL;
}

static kvs_status predict_trace(const struct kvs_job *s, const struct kvs_plan *plan,
                                const struct kvs_timeline *timeline, const char *path,
                                struct kvs_error *err)
{
    struct kvs_text text = {0};
    kvs_status status = kvs_perfetto_write(plan, timeline, s->machine, &text, err);
    if (status == KVS_OK && text.status != KVS_OK)
        status = kvs_error_set(err, text.status, "out of memory while writing the trace");
    if (status == KVS_OK)
        status = kvs_file_write(path, text.data, text.n, err);
    kvs_text_fini(&text);
    return status;
}

static kvs_status predict_print(struct predict *p, const struct kvs_job *s,
                                const struct kvs_rows *rows, struct kvs_error *err)
{
    struct kvs_row_context context = kvs_job_context(s);
    FILE *const streams[] = {stdout, stderr};
    for (size_t i = 0; i < KVS_COUNT_OF(p->writers); i++) {
        kvs_row_write_experiment(&p->writers[i], &context, rows->items, rows->n);
        KVS_TRY(kvs_print(&p->writers[i].out, streams[i], err));
    }
    return KVS_OK;
}

static kvs_status predict_job(struct predict *p, struct kvs_job *s, struct kvs_error *err)
{
    const char *trace = kvs_options_str(p->options, "trace");
    struct kvs_timeline timeline = {0};
    struct kvs_plan *plan = NULL;
    struct kvs_rows rows = {0};
    struct kvs_job_run run = {
        .console = &p->console,
        .has_edges = !kvs_options_flag(p->options, "no-edges"),
        .has_ranges = !kvs_options_flag(p->options, "no-ranges"),
        .writers = {&p->writers[0], &p->writers[1]},
        .streams = {stdout, stderr},
    };
    KVS_TRY(kvs_measured_load(s, &p->catalogue, &p->console, err));
    if (p->plan != NULL)
        KVS_TRY(predict_use_plan(p, s, &run, err));
    if (trace != NULL) {
        KVS_TRY(kvs_job_needs_one(s, "--trace", err));
        if (strcmp(trace, "-") == 0)
            return predict_trace_needs_file(err);
        KVS_TRY(kvs_file_check_writable(trace, err));
        run.timeline = &timeline;
        run.plan = p->plan == NULL ? &plan : NULL;
    }
    kvs_job_warn(s, &p->console);
    kvs_status status = kvs_job_run(s, &run, &rows, err);
    if (status == KVS_EPLAN)
        predict_place(p, err);
    if (p->worst == KVS_OK)
        p->worst = run.worst;
    if (status == KVS_OK)
        status = predict_print(p, s, &rows, err);
    if (status == KVS_OK && trace != NULL && run.worst == KVS_OK)
        status = predict_trace(s, p->plan != NULL ? p->plan : plan, &timeline, trace, err);
    kvs_plan_destroy(plan);
    kvs_timeline_fini(&timeline);
    KVS_ARRAY_FREE(&rows);
    return status;
}

static kvs_status predict_dry_run(const struct kvs_job *s, struct kvs_error *err)
{
    struct kvs_text text = {0};
    size_t n = kvs_product_n(s->product);
    kvs_text_printf(&text, "%s: %zu configuration%s x %zu polic%s: %zu prediction%s\n",
                    s->experiment.name != NULL ? s->experiment.name : "flags", n,
                    n == 1 ? "" : "s", s->experiment.arms.n,
                    s->experiment.arms.n == 1 ? "y" : "ies", n * s->experiment.arms.n,
                    n * s->experiment.arms.n == 1 ? "" : "s");
    kvs_status status = kvs_print(&text, stdout, err);
    kvs_text_fini(&text);
    return status;
}

static kvs_status predict_experiment(struct predict *p, const char *name, struct kvs_error *err)
{
    struct kvs_job s = {0};
    kvs_status status = kvs_job_open(&s, &p->catalogue, name, p->options, &p->diags, err);
    if (status == KVS_OK && kvs_options_flag(p->options, "dry-run"))
        status = predict_dry_run(&s, err);
    else if (status == KVS_OK)
        status = predict_job(p, &s, err);
    kvs_job_fini(&s);
    return status;
}

/* Every token of a plan from a file is proved, before any of its predictions. */
static kvs_status predict_prove_plan(const struct predict *p, struct kvs_error *err)
{
    struct kvs_plan_check_report report = {0};
    kvs_status status = kvs_plan_check(p->plan, &KVS_PLAN_CHECK_ALL, &report, err);
    if (status != KVS_OK)
        predict_place(p, err);
    if (status == KVS_OK && report.is_cut)
        kvs_console_warn(&p->console,
                         "not every token of the plan was proved: that would take more than "
                         "%" PRIu64 " steps (operations, accesses)",
                         KVS_PLAN_CHECK_MAX_OPS);
    return status;
}

static kvs_status predict_read_plan(struct predict *p, struct kvs_error *err)
{
    const char *path = kvs_options_str(p->options, "plan");
    char *data;
    size_t n;
    if (path == NULL)
        return KVS_OK;
    KVS_TRY(kvs_file_read(path, KVS_PLAN_LINES_MAX_BYTES, &data, &n, err));
    kvs_status status =
        kvs_plan_lines_read(strcmp(path, "-") == 0 ? "stdin" : path, data, n, &p->plan, err);
    kvs_mem_free(data);
    return status == KVS_OK ? predict_prove_plan(p, err) : status;
}

static kvs_status predict_all(struct predict *p, struct kvs_error *err)
{
    FILE *const streams[] = {stdout, stderr};
    size_t n;
    const char *const *names = kvs_options_operands(p->options, &n);
    KVS_TRY(predict_read_plan(p, err));
    if (n == 0)
        KVS_TRY(predict_experiment(p, NULL, err));
    for (size_t i = 0; i < n; i++)
        KVS_TRY(predict_experiment(p, names[i], err));
    if (kvs_options_flag(p->options, "dry-run"))
        return KVS_OK;
    for (size_t i = 0; i < KVS_COUNT_OF(p->writers); i++) {
        kvs_row_write_end(&p->writers[i], KVS_VERSION, kvs_options_u64(p->options, "seed"));
        KVS_TRY(kvs_print(&p->writers[i].out, streams[i], err));
    }
    return KVS_OK;
}

int kvs_command_predict(int argc, const char *const *argv)
{
    struct kvs_options *options;
    struct kvs_error err = {0};
    int code;
    if (!kvs_command_parse(&spec, argc, argv, &options, &code))
        return code;
    struct predict p = {.options = options, .console = kvs_console_of(options)};
    p.catalogue.dir = kvs_options_str(options, "catalogue");
    p.writers[0].format = (kvs_row_format)kvs_options_enum(options, "output");
    unsigned second = kvs_options_enum(options, "output-err");
    p.writers[1].format = second < KVS_ROW_NONE ? (kvs_row_format)second : KVS_ROW_NONE;
    kvs_diags_init(&p.diags);
    kvs_status status = predict_all(&p, &err);
    code = status != KVS_OK ? kvs_fail(status, &p.diags, &err) : kvs_exit_code(p.worst);
    for (size_t i = 0; i < KVS_COUNT_OF(p.writers); i++)
        kvs_row_writer_fini(&p.writers[i]);
    kvs_plan_destroy(p.plan);
    kvs_diags_fini(&p.diags);
    kvs_catalogue_fini(&p.catalogue);
    kvs_options_destroy(options);
    return code;
}
