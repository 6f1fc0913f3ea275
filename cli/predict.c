/* kvsim predict: experiments or flags in, rows out. */
#include "cli/experiments.h"
#include "cli/settings.h"
#include "formats/perfetto.h"

enum predict_compute { COMPUTE_SPIN, COMPUTE_STREAM };
static const char *const compute_choices[] = {"spin", "stream", NULL}; /* as the enum */

static const struct kvs_option compute_options[] = {
    {.name = "compute",
     .kind = KVS_OPTION_ENUM,
     .metavar = "KIND",
     .fallback = "spin",
     .choices = compute_choices,
     .help =
         "kernels of replay --compute: those that take a model's time, or kvsim's own, which "
         "read the weights"},
};
static const struct kvs_option_group compute_group = {"Compute", compute_options,
                                                      KVS_COUNT_OF(compute_options)};

static const struct kvs_option file_options[] = {
    {.name = "trace",
     .kind = KVS_OPTION_STRING,
     .metavar = "FILE",
     .is_common = true,
     .help = "write the timeline for ui.perfetto.dev; takes one configuration and one policy"},
    {.name = "plan",
     .kind = KVS_OPTION_STRING,
     .metavar = "FILE",
     .help = "predict a plan from a file (kvsim plan writes one) on one configuration"},
};
static const struct kvs_option_group file_group = {"Files", file_options,
                                                   KVS_COUNT_OF(file_options)};
static const struct kvs_option_group *const groups[] = {
    &kvs_inputs_group, &kvs_workload_group, &kvs_placement_group, &kvs_transport_group,
    &compute_group,    &kvs_output_group,   &file_group,          &kvs_common_group};
static const char *const examples[] = {
    "kvsim predict --machine ./my-box.yaml -m qwen3-8b -d '4096-65536*2' -kvpd 0,1,2",
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

static kvs_status predict_rows(struct kvs_experiments *p, const struct kvs_job *s,
                               struct kvs_job_run *run, struct kvs_error *err)
{
    struct kvs_row_context context = kvs_job_context(s);
    struct kvs_rows rows = {0};
    kvs_status status = kvs_job_run(s, run, &rows, err);
    if (status == KVS_EPLAN)
        kvs_given_place(&p->given, err);
    if (p->worst == KVS_OK)
        p->worst = run->worst;
    if (status == KVS_OK)
        status = kvs_output_experiment(&p->output, &context, &rows, err);
    KVS_ARRAY_FREE(&rows);
    return status;
}

static kvs_status predict_job(void *context, struct kvs_job *s, struct kvs_error *err)
{
    struct kvs_experiments *p = context;
    const char *trace = kvs_options_str(p->options, "trace");
    struct kvs_timeline timeline = {0};
    struct kvs_plan *plan = NULL;
    struct kvs_job_run run = {.console = &p->console};
    kvs_output_run(&p->output, p->options, &run);
    KVS_TRY(kvs_measured_load(s, &p->catalogue, &p->console, err));
    KVS_TRY(kvs_given_use(&p->given, s, &run, err));
    if (kvs_options_enum(p->options, "compute") == COMPUTE_STREAM)
        kvs_job_stream(s, &p->console);
    if (trace != NULL) {
        KVS_TRY(kvs_job_needs_one(s, "--trace", err));
        KVS_TRY(kvs_output_check_trace(trace, err));
        run.timeline = &timeline;
        run.plan = run.given == NULL ? &plan : NULL;
    }
    kvs_job_warn(s, &p->console);
    kvs_status status = predict_rows(p, s, &run, err);
    if (status == KVS_OK && trace != NULL && run.worst == KVS_OK)
        status = predict_trace(s, run.given != NULL ? run.given : plan, &timeline, trace, err);
    kvs_plan_destroy(plan);
    kvs_timeline_fini(&timeline);
    return status;
}

int kvs_command_predict(int argc, const char *const *argv)
{
    struct kvs_experiments e;
    struct kvs_error err = {0};
    int code;
    if (!kvs_experiments_open(&e, &spec, argc, argv, &code))
        return code;
    struct kvs_experiments_work work = {.context = &e, .run = predict_job};
    kvs_status status = kvs_experiments_run(&e, &work, &err);
    return kvs_experiments_close(&e, status, &err);
}
