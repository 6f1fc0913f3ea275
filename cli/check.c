/* kvsim check: reads a file of any kind, resolves it, proves a plan, and says what it read. */
#include <inttypes.h>
#include <string.h>

#include "cli/catalogue.h"
#include "cli/check_print.h"
#include "cli/command.h"
#include "formats/plan_lines.h"
#include "sched/plan_check.h"
#include "study/sweep.h"

static const struct kvs_option_group *const groups[] = {&kvs_catalogue_group,
                                                        &kvs_common_group};
static const char *const examples[] = {"kvsim check ./my-box.yaml", "kvsim check qwen3-8b",
                                       "kvsim plan -d 4096 -kvpd 1 | kvsim check -", NULL};
static const struct kvs_options_spec spec = {
    .program = "kvsim check",
    .summary =
        "Reads machine, card, model, experiment or plan files and prints what they mean, "
        "with units\nand origins. A plan is proved: no byte read before it is there or "
        "overwritten while read.\nA NAME is looked up in the catalogue.",
    .operands = "FILE|NAME...",
    .min_operands = 1,
    .max_operands = 1024,
    .groups = groups,
    .n_groups = KVS_COUNT_OF(groups),
    .examples = examples};

struct check {
    struct kvs_catalogue catalogue;
    struct kvs_diags diags;
    struct kvs_text out;
    const char *name; /* for messages */
    const char *data;
    size_t n;
};

static kvs_status check_machine(struct check *c, struct kvs_error *err)
{
    struct kvs_machine *machine;
    KVS_TRY(kvs_machine_parse(c->name, c->data, c->n, kvs_catalogue_gpu, &c->catalogue,
                              &c->diags, &machine, err));
    kvs_status status = kvs_check_print_machine(machine, &c->out, err);
    kvs_machine_destroy(machine);
    return status;
}

/* A card alone is read as the one card of a machine. */
static const char *check_card_lookup(void *context, const char *name, size_t *out_n,
                                     const char **out_file, const char **out_nearest)
{
    const struct check *c = context;
    (void)name;
    (void)out_nearest;
    *out_n = c->n;
    *out_file = c->name;
    return c->data;
}

static kvs_status check_card(struct check *c, struct kvs_error *err)
{
    struct kvs_text yaml = {0};
    struct kvs_machine *machine;
    const char *slash = strrchr(c->name, '/');
    const char *base = slash != NULL ? slash + 1 : c->name;
    size_t n = strlen(base);
    if (n > 5 && strcmp(base + n - 5, ".yaml") == 0)
        n -= 5;
    kvs_text_printf(&yaml,
                    "kind: machine\nname: card\ndevices: [{gpu: \"%.*s\", pcie: gen4x16}]\n",
                    (int)n, base);
    kvs_status status = yaml.status;
    if (status == KVS_OK)
        status = kvs_machine_parse(c->name, yaml.data, yaml.n, check_card_lookup, c, &c->diags,
                                   &machine, err);
    if (status == KVS_OK) {
        status = kvs_check_print_card(machine, &c->out, err);
        kvs_machine_destroy(machine);
    }
    kvs_text_fini(&yaml);
    return status;
}

static kvs_status check_model(struct check *c, struct kvs_error *err)
{
    struct kvs_llm *llm;
    KVS_TRY(kvs_llm_parse(c->name, c->data, c->n, &c->diags, &llm, err));
    kvs_check_print_model(llm, &c->out);
    kvs_llm_destroy(llm);
    return KVS_OK;
}

/* The machine and the model must be there, and fit the shares. */
static kvs_status check_resolve(struct check *c, struct kvs_experiment *experiment,
                                struct kvs_error *err)
{
    struct kvs_catalogue_entry entry;
    struct kvs_machine *machine = NULL;
    struct kvs_llm *llm = NULL;
    struct kvs_product *product = NULL;
    kvs_status status;
    KVS_TRY(kvs_catalogue_find(&c->catalogue, "machine", experiment->machine, &entry, err));
    KVS_TRY(kvs_machine_parse(entry.path, entry.data, entry.n, kvs_catalogue_gpu, &c->catalogue,
                              &c->diags, &machine, err));
    KVS_TRY_GOTO(kvs_catalogue_find(&c->catalogue, "llm", experiment->model, &entry, err), out);
    KVS_TRY_GOTO(kvs_llm_parse(entry.path, entry.data, entry.n, &c->diags, &llm, err), out);
    KVS_TRY_GOTO(kvs_experiment_complete(experiment, machine->n_devices, err), out);
    KVS_TRY_GOTO(kvs_product_create(experiment, machine, llm, &product, err), out);
    kvs_check_print_experiment(experiment, kvs_product_n(product), &c->out);
out:
    kvs_product_destroy(product);
    kvs_llm_destroy(llm);
    kvs_machine_destroy(machine);
    if (status != KVS_OK && err != NULL && err->file[0] == '\0')
        (void)snprintf(err->file, sizeof err->file, "%s", c->name);
    return status;
}

static kvs_status check_experiment(struct check *c, struct kvs_error *err)
{
    struct kvs_experiment experiment;
    KVS_TRY(kvs_experiment_parse(c->name, c->data, c->n, &c->diags, &experiment, err));
    kvs_status status = check_resolve(c, &experiment, err);
    kvs_experiment_fini(&experiment);
    return status;
}

/* Where the budget ended before the tokens did. */
static void check_print_cut(const struct kvs_plan_check_report *report, struct kvs_text *out)
{
    if (report->is_cut)
        kvs_text_printf(out,
                        "  not every token was examined: that would take more than %" PRIu64
                        " steps (operations, accesses)\n  ranges with different steps that "
                        "meet only in a token left out are not seen\n",
                        KVS_PLAN_CHECK_MAX_OPS);
}

static kvs_status check_plan(struct check *c, struct kvs_error *err)
{
    struct kvs_plan *plan;
    struct kvs_plan_check_report report = {0};
    KVS_TRY(kvs_plan_lines_read(c->name, c->data, c->n, &plan, err));
    kvs_status status = kvs_plan_check(plan, &KVS_PLAN_CHECK_ALL, &report, err);
    if (status == KVS_OK) {
        kvs_check_print_plan(plan, &report, &c->out);
        check_print_cut(&report, &c->out);
    } else if (err != NULL && err->file[0] == '\0') {
        (void)snprintf(err->file, sizeof err->file, "%s", c->name);
    }
    kvs_plan_destroy(plan);
    return status;
}

static const struct check_kind {
    const char *name;
    kvs_status (*check)(struct check *c, struct kvs_error *err);
} kinds[] = {{"machine", check_machine},
             {"gpu", check_card},
             {"model", check_model},
             {"experiment", check_experiment}};

/* The kind: of a YAML file decides who reads it. */
static kvs_status check_yaml(struct check *c, struct kvs_error *err)
{
    struct kvs_yaml *doc;
    const char *names[KVS_COUNT_OF(kinds)];
    unsigned kind = KVS_COUNT_OF(kinds);
    for (size_t i = 0; i < KVS_COUNT_OF(kinds); i++)
        names[i] = kinds[i].name;
    KVS_TRY(kvs_yaml_parse(c->name, c->data, c->n, &c->diags, &doc, err));
    if (kvs_yaml_node_kind(kvs_yaml_root(doc)) != KVS_YAML_MAP)
        kvs_yaml_complain(doc, kvs_yaml_root(doc), NULL,
                          "expected a map that starts with kind: machine, gpu, model or "
                          "experiment");
    else
        (void)kvs_yaml_get_enum(doc, kvs_yaml_root(doc), "kind", KVS_REQUIRED, names,
                                KVS_COUNT_OF(kinds), &kind);
    kvs_yaml_destroy(doc);
    KVS_TRY(kvs_diags_status(&c->diags, err));
    return kinds[kind].check(c, err);
}

/* A name of the catalogue, where there is no such file. */
static kvs_status check_name(struct check *c, const char *name, struct kvs_error *err)
{
    struct kvs_catalogue_entry entry;
    KVS_TRY(kvs_catalogue_find_any(&c->catalogue, name, &entry, err));
    c->name = entry.path;
    c->data = entry.data;
    c->n = entry.n;
    return check_yaml(c, err);
}

static kvs_status check_file(struct check *c, const char *path, struct kvs_error *err)
{
    char *data;
    kvs_status found =
        kvs_catalogue_read_file(path, KVS_PLAN_LINES_MAX_BYTES, &data, &c->n, err);
    if (found == KVS_ENOTFOUND)
        return check_name(c, path, err);
    KVS_TRY(found);
    c->name = strcmp(path, "-") == 0 ? "stdin" : path;
    c->data = data;
    size_t blank = strspn(data, " \t\r\n");
    kvs_status status = data[blank] == '{' ? check_plan(c, err) : check_yaml(c, err);
    kvs_mem_free(data);
    return status;
}

int kvs_command_check(int argc, const char *const *argv)
{
    struct kvs_options *options;
    int code, worst = KVS_EXIT_OK;
    size_t n;
    if (!kvs_command_parse(&spec, argc, argv, &options, &code))
        return code;
    struct check c = {.catalogue = {.dir = kvs_options_str(options, "catalogue")}};
    const char *const *paths = kvs_options_operands(options, &n);
    for (size_t i = 0; i < n; i++) {
        struct kvs_error err = {0};
        kvs_diags_init(&c.diags);
        kvs_status status = check_file(&c, paths[i], &err);
        if (status == KVS_OK)
            status = kvs_print(&c.out, stdout, &err);
        c.out.n = 0;
        code = status == KVS_OK ? KVS_EXIT_OK : kvs_fail(status, &c.diags, &err);
        worst = worst == KVS_EXIT_OK ? code : worst;
        kvs_diags_fini(&c.diags);
    }
    kvs_text_fini(&c.out);
    kvs_catalogue_fini(&c.catalogue);
    kvs_options_destroy(options);
    return worst;
}
