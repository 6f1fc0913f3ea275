/* kvsim plan: the plan of one configuration under one policy, as JSON Lines on stdout. */
#include "cli/job.h"
#include "cli/settings.h"
#include "formats/plan_lines.h"
#include "formats/plan_origin.h"
#include "sched/plan_check.h"

static const struct kvs_option_group *const groups[] = {
    &kvs_inputs_group, &kvs_workload_group, &kvs_placement_group, &kvs_transport_group,
    &kvs_common_group};
static const char *const examples[] = {
    "kvsim plan -d 16384 --policy pipelined > token.plan",
    "kvsim plan --machine rtx4070 -d 4096 -n 8 -kvpd 1 | kvsim check -",
    "kvsim plan --machine rtx4070 -d 4096 --policy ordered | kvsim predict --machine rtx4070 "
    "-d "
    "4096 --plan -",
    NULL};
static const struct kvs_options_spec spec = {
    .program = "kvsim plan",
    .summary =
        "Writes the exact operations of the generated tokens as JSON Lines, proved free "
        "of races.\nThe flags and EXPERIMENT are those of kvsim predict; they must leave "
        "one configuration\nand one policy.",
    .operands = "[EXPERIMENT]",
    .max_operands = 1,
    .groups = groups,
    .n_groups = KVS_COUNT_OF(groups),
    .examples = examples};

static kvs_status plan_write(const struct kvs_job *s, struct kvs_error *err)
{
    const struct kvs_arm *arm = &s->experiment.arms.items[0];
    struct kvs_configuration configuration;
    struct kvs_plan *plan;
    struct kvs_text text = {0};
    kvs_product_get(s->product, 0, &configuration);
    kvs_arm_apply(arm, &configuration.c.transport);
    KVS_TRY(kvs_case_check(&configuration.c, err));
    KVS_TRY(arm->policy->plan(&configuration.c, NULL, &plan, err));
    kvs_status status = kvs_plan_check(plan, NULL, NULL, err);
    if (status == KVS_OK) {
        (void)snprintf(plan->policy, sizeof plan->policy, "%s", arm->name);
        kvs_plan_origin_of(&configuration.c, &plan->origin);
        kvs_plan_lines_write(plan, &text);
        status = kvs_print(&text, stdout, err);
    }
    kvs_text_fini(&text);
    kvs_plan_destroy(plan);
    return status;
}

int kvs_command_plan(int argc, const char *const *argv)
{
    struct kvs_options *options;
    struct kvs_error err = {0};
    struct kvs_diags diags;
    struct kvs_job s = {0};
    int code;
    size_t n;
    if (!kvs_command_parse(&spec, argc, argv, &options, &code))
        return code;
    struct kvs_console console = kvs_console_of(options);
    struct kvs_catalogue catalogue = {.dir = kvs_options_str(options, "catalogue")};
    const char *const *names = kvs_options_operands(options, &n);
    kvs_diags_init(&diags);
    kvs_status status =
        kvs_job_open(&s, &catalogue, n > 0 ? names[0] : NULL, options, &diags, &err);
    if (status == KVS_OK)
        status = kvs_job_needs_one(&s, "kvsim plan", &err);
    if (status == KVS_OK) {
        kvs_job_warn(&s, &console);
        status = plan_write(&s, &err);
    }
    code = status == KVS_OK ? KVS_EXIT_OK : kvs_fail(status, &diags, &err);
    kvs_job_fini(&s);
    kvs_diags_fini(&diags);
    kvs_catalogue_fini(&catalogue);
    kvs_options_destroy(options);
    return code;
}
