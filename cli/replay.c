/* kvsim replay: what kvsim predict predicts, and the same plans run for real beside it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/executors.h"
#include "cli/experiments.h"
#include "cli/replay_gpus.h"
#include "cli/replay_run.h"
#include "cli/settings.h"
#include "cli/stop.h"

enum replay_compute { COMPUTE_AUTO, COMPUTE_SPIN, COMPUTE_STREAM };
static const char *const compute_choices[] = {"auto", "spin", "stream", NULL}; /* as the enum */
static const char *const collective_choices[] = {"auto", "nccl", "host", NULL};

/* Without a GPU a modelled second takes many: so few where flags do not say how many. */
enum { REPLAY_CPU_TOKENS = 4, REPLAY_CPU_REPETITIONS = 3 };

static const struct kvs_option execution_options[] = {
    {.name = "executor",
     .kind = KVS_OPTION_ENUM,
     .metavar = "NAME",
     .fallback = "auto",
     .choices = kvs_executor_names,
     .is_common = true,
     .help = "what runs the plans; auto: the best that can run here"},
    {.name = "repetitions",
     .alias = "-r",
     .kind = KVS_OPTION_U64,
     .metavar = "N",
     .fallback = "5",
     .min = 1,
     .max = 100000,
     .is_common = true,
     .help = "measured runs of each policy; the policies take turns; without a GPU 3"},
    {.name = "warmup",
     .kind = KVS_OPTION_U64,
     .metavar = "N",
     .fallback = "1",
     .max = 1000,
     .help = "runs of each policy before them, not measured; without a GPU none"},
    {.name = "control",
     .kind = KVS_OPTION_FLAG,
     .is_common = true,
     .help = "run the first policy once more as the last one: no difference should be found"},
    {.name = "verify",
     .kind = KVS_OPTION_FLAG,
     .help = "overwrite bytes once they are used, so that a missing copy changes the digest"},
    {.name = "time-scale",
     .kind = KVS_OPTION_STRING,
     .metavar = "X",
     .fallback = "0",
     .help = "host: seconds that a modelled second takes; 0: as few as this computer keeps up "
             "with"},
    {.name = "map",
     .kind = KVS_OPTION_SWEEP,
     .metavar = "GPU",
     .max = UINT16_MAX,
     .help = "cuda: the GPU of each device of the machine, such as 0,0; default: one each"},
    {.name = "compute",
     .kind = KVS_OPTION_ENUM,
     .metavar = "KIND",
     .fallback = "auto",
     .choices = compute_choices,
     .help = "cuda: kernels that take the modelled time, or that read the weights"},
    {.name = "collective",
     .kind = KVS_OPTION_ENUM,
     .metavar = "HOW",
     .fallback = "auto",
     .choices = collective_choices,
     .help = "cuda: all-reduces by NCCL, through host memory, or as the GPUs allow"},
    {.name = "emulate",
     .kind = KVS_OPTION_ENUM,
     .metavar = "HOW",
     .fallback = "no",
     .choices = kvs_replay_emulations,
     .help =
         "cuda: play the machine on the GPUs at hand; links: its copy engines and links, by "
         "threads; bytes: so many more bytes that a faster link takes its time (one device)"},
    {.name = "trace",
     .kind = KVS_OPTION_STRING,
     .metavar = "FILE",
     .is_common = true,
     .help = "write one more, recorded run of each policy for ui.perfetto.dev; takes one "
             "configuration"},
    {.name = "plan",
     .kind = KVS_OPTION_STRING,
     .metavar = "FILE",
     .help = "run a plan from a file (kvsim plan writes one) on one configuration, once it is "
             "proved"},
};
static const struct kvs_option_group execution_group = {"Execution", execution_options,
                                                        KVS_COUNT_OF(execution_options)};
static const struct kvs_option_group *const groups[] = {
    &kvs_inputs_group, &kvs_workload_group, &kvs_placement_group, &kvs_transport_group,
    &execution_group,  &kvs_output_group,   &kvs_common_group};
static const char *const examples[] = {
    "kvsim replay x4-bound -d 4096 -n 8 --executor serial --verify",
    "kvsim replay --machine h200 -m qwen3-8b -d 16384 --policy ordered,pipelined --control",
    "kvsim replay --machine h200 -d 4096 -n 4 --executor cuda --trace measured.json", NULL};
static const struct kvs_options_spec spec = {
    .program = "kvsim replay",
    .summary =
        "Predicts as kvsim predict does, and runs the same plans with real bytes: what was "
        "measured\nstands beside what was predicted, and every policy must have read the same "
        "bytes.\nWithout EXPERIMENT: the experiment " KVS_DEFAULT_EXPERIMENT
        ", or with --machine or -m the flags\nand defaults alone. Flags override what an "
        "experiment says.",
    .operands = "[EXPERIMENT...]",
    .max_operands = 64,
    .groups = groups,
    .n_groups = KVS_COUNT_OF(groups),
    .examples = examples};

/* State of one call. */
struct replay {
    struct kvs_experiments e;
    struct kvs_replay_options how;
    struct kvs_replay_gpus gpus;
    bool has_said_alone;
    bool has_unequal;
};

static kvs_status replay_time_scale(struct replay *p, struct kvs_error *err)
{
    kvs_status status =
        kvs_parse_f64(kvs_options_str(p->e.options, "time-scale"), &p->how.run.time_scale, err);
    if (status != KVS_OK && err != NULL)
        (void)snprintf(err->file, sizeof err->file, "--time-scale");
    if (status == KVS_OK && !(p->how.run.time_scale >= 0.0 && isfinite(p->how.run.time_scale)))
        return kvs_error_at(err, KVS_ERANGE, "--time-scale", 0, 0, "must be 0 or more");
    return status;
}

static bool replay_is_on_gpu(const struct replay *p)
{
    return strcmp(p->how.exec->name, "cuda") == 0;
}

static void replay_read_counts(struct replay *p)
{
    const struct kvs_options *o = p->e.options;
    p->how.n_repetitions = (uint32_t)kvs_options_u64(o, "repetitions");
    p->how.n_warmup = (uint32_t)kvs_options_u64(o, "warmup");
    if (replay_is_on_gpu(p))
        return;
    if (!kvs_options_is_given(o, "repetitions"))
        p->how.n_repetitions = REPLAY_CPU_REPETITIONS;
    if (!kvs_options_is_given(o, "warmup"))
        p->how.n_warmup = 0;
}

static kvs_status replay_read_options(struct replay *p, struct kvs_error *err)
{
    const struct kvs_options *o = p->e.options;
    KVS_TRY(kvs_executor_choose(kvs_options_enum(o, "executor"), &p->how.exec, err));
    KVS_TRY(replay_time_scale(p, err));
    replay_read_counts(p);
    p->how.run.seed = kvs_options_u64(o, "seed");
    p->how.run.verifies = kvs_options_flag(o, "verify");
    p->how.run.collective = (kvs_exec_collective)kvs_options_enum(o, "collective");
    p->how.run.stop = kvs_stop_flag();
    p->gpus.emulation = (kvs_replay_emulation)kvs_options_enum(o, "emulate");
    if (p->gpus.emulation != KVS_REPLAY_EMULATE_NO && !replay_is_on_gpu(p))
        return kvs_error_at(err, KVS_EINVAL, "--emulate", 0, 0,
                            "plays a machine on GPUs, for the executor cuda, not %s",
                            p->how.exec->name);
    if (!kvs_options_is_given(o, "trace"))
        return KVS_OK;
    if (!p->how.exec->is_measured)
        return kvs_error_at(err, KVS_EINVAL, "--trace", 0, 0,
                            "the executor %s has no times to record", p->how.exec->name);
    return kvs_output_check_trace(kvs_options_str(o, "trace"), err);
}

/* What runs where. */
static kvs_status replay_place(struct replay *p, const struct kvs_job *s, struct kvs_error *err)
{
    KVS_TRY(kvs_replay_place(&p->gpus, p->e.options, s->machine, p->e.given.plan != NULL, err));
    p->how.run.map = p->gpus.is_given ? p->gpus.map : NULL;
    p->how.run.emulates_links = p->gpus.emulation == KVS_REPLAY_EMULATE_LINKS;
    if (replay_is_on_gpu(p))
        kvs_replay_warn_cards(&p->gpus, s->machine, &p->e.console);
    return KVS_OK;
}

/* Kernels that read the weights where no time is known that others could take. */
static bool replay_streams(const struct replay *p, const struct kvs_job *s)
{
    unsigned choice = kvs_options_enum(p->e.options, "compute");
    struct kvs_configuration each;
    if (!replay_is_on_gpu(p) || choice != COMPUTE_AUTO ||
        p->gpus.emulation != KVS_REPLAY_EMULATE_NO)
        return replay_is_on_gpu(p) && choice == COMPUTE_STREAM;
    for (size_t i = 0; i < kvs_product_n(s->product); i++) {
        kvs_product_get(s->product, i, &each);
        for (uint32_t d = 0; d < s->machine->n_devices; d++)
            if (kvs_case_uses_device(&each.c, d) &&
                !kvs_case_compute_cost(&each.c, d).is_measured)
                return true;
    }
    return false;
}

static void replay_choose_compute(const struct replay *p, struct kvs_job *s)
{
    if (replay_streams(p, s))
        kvs_job_stream(s, &p->e.console);
}

/* The first arm once more, behind the others. */
static kvs_status replay_add_control(const struct replay *p, struct kvs_job *s,
                                     struct kvs_error *err)
{
    struct kvs_arm arm = s->experiment.arms.items[0];
    char name[sizeof arm.name + sizeof KVS_REPLAY_CONTROL];
    if (!kvs_options_flag(p->e.options, "control"))
        return KVS_OK;
    if (s->experiment.arms.n >= KVS_EXPERIMENT_MAX_ARMS)
        return kvs_error_at(err, KVS_ERANGE, "--control", 0, 0, "at most %d policies",
                            KVS_EXPERIMENT_MAX_ARMS);
    (void)snprintf(name, sizeof name, "%s" KVS_REPLAY_CONTROL, arm.name);
    (void)snprintf(arm.name, sizeof arm.name, "%.*s", (int)sizeof arm.name - 1, name);
    return KVS_ARRAY_PUSH(&s->experiment.arms, arm, err);
}

static kvs_status replay_prepare(struct replay *p, struct kvs_job *s, struct kvs_job_run *run,
                                 struct kvs_error *err)
{
    size_t n = kvs_product_n(s->product);
    kvs_output_run(&p->e.output, p->e.options, run);
    KVS_TRY(replay_place(p, s, err));
    KVS_TRY(kvs_given_use(&p->e.given, s, run, err));
    replay_choose_compute(p, s);
    KVS_TRY(replay_add_control(p, s, err));
    if (kvs_options_is_given(p->e.options, "trace") && n != 1) {
        kvs_error_at(err, KVS_EINVAL, "--trace", 0, 0, "takes one configuration, got %zu", n);
        kvs_error_hint(err, "choose with -d 16384");
        return KVS_EINVAL;
    }
    kvs_job_warn(s, &p->e.console);
    return KVS_OK;
}

static kvs_status replay_configurations(struct kvs_replay_work *work, struct kvs_rows *rows,
                                        struct kvs_error *err)
{
    size_t n = kvs_product_n(work->job->product);
    KVS_TRY(KVS_ARRAY_RESERVE(rows, n * work->job->experiment.arms.n, err));
    for (size_t i = 0; i < n; i++) {
        kvs_status status = kvs_replay_configuration(work, i, rows, err);
        if (status == KVS_ESTOPPED)
            return kvs_error_set(err, status, "stopped: %zu of %zu configurations are done", i,
                                 n);
        KVS_TRY(status);
    }
    return KVS_OK;
}

/* Rows that are done are printed whatever came after them. */
static kvs_status replay_rows(struct replay *p, struct kvs_replay_work *work,
                              struct kvs_error *err)
{
    struct kvs_row_context context = kvs_replay_context(work);
    struct kvs_rows rows = {0};
    struct kvs_error why = {0};
    kvs_status status = replay_configurations(work, &rows, err);
    if (status == KVS_EPLAN)
        kvs_given_place(&p->e.given, err);
    kvs_status printed = kvs_output_experiment(&p->e.output, &context, &rows, &why);
    if (status == KVS_OK && printed != KVS_OK && err != NULL)
        *err = why;
    KVS_ARRAY_FREE(&rows);
    return status == KVS_OK ? printed : status;
}

/* What is emulated says so wherever the executor's name is shown. */
static const char *replay_executor(const struct replay *p)
{
    return p->gpus.emulation == KVS_REPLAY_EMULATE_LINKS   ? "cuda, emulated links"
           : p->gpus.emulation == KVS_REPLAY_EMULATE_BYTES ? "cuda, emulated by bytes"
                                                           : p->how.exec->name;
}

static kvs_status replay_job(void *context, struct kvs_job *s, struct kvs_error *err)
{
    struct replay *p = context;
    const char *trace = kvs_options_str(p->e.options, "trace");
    struct kvs_job_run run = {.console = &p->e.console};
    KVS_TRY(replay_prepare(p, s, &run, err));
    struct kvs_replay_work work = {.job = s,
                                   .run = &run,
                                   .options = p->how,
                                   .factor = p->gpus.factor,
                                   .replay = {.executor = replay_executor(p),
                                              .is_measured = p->how.exec->is_measured,
                                              .n_repetitions = p->how.n_repetitions,
                                              .n_warmup = p->how.n_warmup},
                                   .wants_traces = trace != NULL,
                                   .has_said_alone = p->has_said_alone};
    kvs_status status = replay_rows(p, &work, err);
    if (status == KVS_OK && trace != NULL)
        status = kvs_replay_write_trace(&work, trace, err);
    if (p->e.worst == KVS_OK)
        p->e.worst = run.worst;
    p->has_said_alone |= work.has_said_alone;
    p->has_unequal |= work.has_unequal;
    kvs_replay_work_fini(&work);
    return status;
}

/* Tokens are all alike but for the growing window: a few of them show what many would. */
static kvs_status replay_limit_tokens(void *context, struct kvs_job *s, struct kvs_error *err)
{
    const struct replay *p = context;
    const struct kvs_values *n_gen = &s->experiment.values[KVS_SETTING_N_GEN];
    uint64_t most = 0;
    for (size_t i = 0; i < n_gen->n; i++)
        most = n_gen->items[i] > most ? n_gen->items[i] : most;
    if (replay_is_on_gpu(p) || kvs_options_is_given(p->e.options, "n-gen") ||
        kvs_options_is_given(p->e.options, "plan") || most <= REPLAY_CPU_TOKENS)
        return KVS_OK;
    kvs_console_warn(&p->e.console,
                     "without a GPU %d tokens are generated instead of %" PRIu64
                     ", predicted ones too; -n %" PRIu64 " runs all",
                     REPLAY_CPU_TOKENS, most, most);
    return kvs_job_set_n_gen(s, REPLAY_CPU_TOKENS, err);
}

static int replay_exit_code(const struct replay *p, kvs_status status, int code)
{
    if (kvs_stop_exit_code() != 0)
        return kvs_stop_exit_code();
    return status == KVS_OK && p->has_unequal ? KVS_EXIT_DIGEST : code;
}

int kvs_command_replay(int argc, const char *const *argv)
{
    struct replay p = {0};
    struct kvs_error err = {0};
    int code;
    if (!kvs_experiments_open(&p.e, &spec, argc, argv, &code))
        return code;
    struct kvs_experiments_work work = {
        .context = &p, .adjust = replay_limit_tokens, .run = replay_job};
    kvs_status status = replay_read_options(&p, &err);
    if (status == KVS_OK) {
        kvs_stop_listen();
        status = kvs_experiments_run(&p.e, &work, &err);
    }
    code = kvs_experiments_close(&p.e, status, &err);
    return replay_exit_code(&p, status, code);
}
