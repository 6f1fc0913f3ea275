/* Reads, proves and places a plan from a file. */
#include "cli/given.h"

#include <inttypes.h>
#include <string.h>

#include "formats/plan_lines.h"
#include "formats/plan_origin.h"
#include "sched/plan_check.h"

/* Says where the plan and the job's one configuration part; returns true when they may be
 * compared. */
static bool given_is_own(const struct kvs_given *given, const struct kvs_job *job)
{
    const struct kvs_plan_origin *made = &given->plan->origin;
    struct kvs_configuration configuration;
    struct kvs_plan_origin here;
    struct kvs_text differences = {0};
    kvs_product_get(job->product, 0, &configuration);
    kvs_plan_origin_of(&configuration.c, &here);
    kvs_plan_origin_differences(made, &here, &differences);
    bool is_own = differences.n == 0 && kvs_plan_origin_is_known(made);
    if (differences.n > 0)
        kvs_console_warn(given->console,
                         "the plan was made for another case: %s; it is run as it is, without "
                         "a bound or measured rows beside it",
                         differences.data);
    else if (!is_own)
        kvs_console_warn(given->console,
                         "the plan does not say which machine, model and depth it "
                         "was made for, so no bound or measured rows are shown");
    kvs_text_fini(&differences);
    return is_own;
}

/* A fault of the plan lies in its file. */
void kvs_given_place(const struct kvs_given *given, struct kvs_error *err)
{
    const char *path = kvs_options_str(given->options, "plan");
    if (given->plan != NULL && err != NULL && err->file[0] == '\0')
        (void)snprintf(err->file, sizeof err->file, "%s",
                       strcmp(path, "-") == 0 ? "stdin" : path);
}

/* The plan's policy and tokens take the place of the job's. */
kvs_status kvs_given_use(const struct kvs_given *given, struct kvs_job *job,
                         struct kvs_job_run *run, struct kvs_error *err)
{
    struct kvs_arm arm = {.policy = &kvs_policy_ordered};
    if (given->plan == NULL)
        return KVS_OK;
    uint32_t n_tokens = kvs_plan_n_tokens(given->plan);
    size_t n;
    const uint64_t *asked = kvs_options_sweep(given->options, "n-gen", &n);
    if (n > 0 && (n > 1 || asked[0] != n_tokens))
        kvs_console_warn(given->console, "-n is passed over: the plan has %u token%s",
                         (unsigned)n_tokens, n_tokens == 1 ? "" : "s");
    kvs_status status = kvs_job_set_n_gen(job, n_tokens, err);
    if (status == KVS_ERANGE && err != NULL) {
        kvs_given_place(given, err);
        (void)snprintf(err->path, sizeof err->path, "tokens");
    }
    if (status != KVS_OK)
        return status;
    if (kvs_product_n(job->product) != 1)
        return kvs_job_needs_one(job, "--plan", err);
    run->given = given->plan;
    run->is_named_by_plan = kvs_arm_parse(given->plan->policy, &arm, NULL) != KVS_OK;
    if (run->is_named_by_plan)
        (void)snprintf(arm.name, sizeof arm.name, "%s", given->plan->policy);
    run->is_foreign = !given_is_own(given, job);
    job->experiment.arms.n = 0;
    return kvs_experiment_add_arm(&job->experiment, &arm, err);
}

/* Every token of a plan from a file is proved, before any of its predictions. */
static kvs_status given_prove(const struct kvs_given *given, struct kvs_error *err)
{
    struct kvs_plan_check_report report = {0};
    kvs_status status = kvs_plan_check(given->plan, &KVS_PLAN_CHECK_ALL, &report, err);
    if (status != KVS_OK)
        kvs_given_place(given, err);
    if (status == KVS_OK && report.is_cut)
        kvs_console_warn(given->console,
                         "not every token of the plan was proved: that would take more than "
                         "%" PRIu64 " steps (operations, accesses)",
                         KVS_PLAN_CHECK_MAX_OPS);
    return status;
}

kvs_status kvs_given_read(struct kvs_given *given, const struct kvs_options *options,
                          const struct kvs_console *console, struct kvs_error *err)
{
    const char *path = kvs_options_str(options, "plan");
    char *data;
    size_t n;
    given->options = options;
    given->console = console;
    if (path == NULL)
        return KVS_OK;
    KVS_TRY(kvs_file_read(path, KVS_PLAN_LINES_MAX_BYTES, &data, &n, err));
    kvs_status status = kvs_plan_lines_read(strcmp(path, "-") == 0 ? "stdin" : path, data, n,
                                            &given->plan, err);
    kvs_mem_free(data);
    return status == KVS_OK ? given_prove(given, err) : status;
}

void kvs_given_fini(struct kvs_given *given)
{
    kvs_plan_destroy(given->plan);
    given->plan = NULL;
}
