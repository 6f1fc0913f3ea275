/* kvsim probe: measures this machine and writes its file, or says what has changed. */
#include <stdlib.h>
#include <string.h>

#include "cli/catalogue.h"
#include "cli/command.h"
#include "cli/probe_changes.h"
#include "cli/probe_machine.h"
#include "cli/stop.h"

#define PROBE_BUDGET_S 60.0
#define PROBE_NAME     "probed"

static const struct kvs_option probe_options[] = {
    {.name = "output",
     .alias = "-o",
     .kind = KVS_OPTION_STRING,
     .metavar = "FILE",
     .is_common = true,
     .help = "the machine file to write; default: standard output"},
    {.name = "against",
     .kind = KVS_OPTION_STRING,
     .metavar = "FILE",
     .is_common = true,
     .help = "compare what is measured with a machine file, and list what has changed (exit "
             "code 3); -o then writes the file with the new figures"},
    {.name = "only",
     .kind = KVS_OPTION_LIST,
     .metavar = "PART",
     .choices = kvs_probe_part_names,
     .is_common = true,
     .help =
         "measure these parts alone; the other figures are defaults, or those of --against"},
    {.name = "name",
     .kind = KVS_OPTION_STRING,
     .metavar = "NAME",
     .fallback = PROBE_NAME,
     .help = "of the machine, in the file"},
    {.name = "list",
     .kind = KVS_OPTION_FLAG,
     .is_common = true,
     .help = "print what would be measured, and measure nothing"},
};
static const struct kvs_option_group probe_group = {"Probe", probe_options,
                                                    KVS_COUNT_OF(probe_options)};
static const struct kvs_option_group *const groups[] = {&probe_group, &kvs_catalogue_group,
                                                        &kvs_common_group};
static const char *const examples[] = {
    "kvsim probe -o my-box.yaml", "kvsim predict --machine ./my-box.yaml -m qwen3-8b",
    "kvsim probe --against ./my-box.yaml --only links,topology", NULL};
static const struct kvs_options_spec spec = {
    .program = "kvsim probe",
    .summary =
        "Measures the GPUs of this machine, their links, copy engines and host, in at most a "
        "minute,\nand writes the machine file that kvsim predict --machine takes. Leave the "
        "machine idle meanwhile.",
    .groups = groups,
    .n_groups = KVS_COUNT_OF(groups),
    .examples = examples};

struct probe {
    const struct kvs_options *options; /* borrowed */
    struct kvs_console console;
    struct kvs_catalogue catalogue;
    struct kvs_diags diags;
    struct kvs_machine *file; /* owned; of --against, NULL without */
    struct kvs_machine
        *machine;            /* owned; what is measured. A clone of file, when there is one */
    struct kvs_probe *probe; /* owned */
    struct kvs_probe_report report;
    struct kvs_text text;
    size_t n_changes;
};

static void probe_progress(void *context, size_t done, size_t n, const char *what)
{
    const struct probe *p = context;
    kvs_console_progress(&p->console, done, n, what);
}

static void probe_warn(void *context, const char *text)
{
    const struct probe *p = context;
    kvs_console_progress(&p->console, 1, 1, ""); /* the line is drawn anew with the next step */
    kvs_console_warn(&p->console, "%s", text);
}

static unsigned probe_parts(const struct kvs_options *options)
{
    size_t n;
    unsigned parts = 0;
    if (!kvs_options_is_given(options, "only"))
        return KVS_PROBE_ALL;
    const uint64_t *choices = kvs_options_list_choices(options, "only", &n);
    for (size_t i = 0; i < n; i++)
        parts |= 1u << choices[i];
    return parts;
}

static kvs_status probe_list(struct probe *p, struct kvs_error *err)
{
    unsigned parts = probe_parts(p->options);
    int part = -1;
    for (int k = 0; k < KVS_PROBE_N_PARTS; k++)
        for (size_t s = 0; s < KVS_PROBE_N_STEPS; s++) {
            const struct kvs_probe_step *step = &kvs_probe_steps[s];
            if ((int)step->part != k || (parts >> k & 1) == 0)
                continue;
            if (part != k)
                kvs_text_printf(&p->text, "%s%s\n", p->text.n > 0 ? "\n" : "",
                                kvs_probe_part_names[k]);
            part = k;
            kvs_text_printf(&p->text, "  %s\n    by %s\n", step->figures, step->how);
        }
    return kvs_print(&p->text, stdout, err);
}

/* The file is read before anything is measured: a fault in it costs no minute. */
static kvs_status probe_read_file(struct probe *p, struct kvs_error *err)
{
    const char *path = kvs_options_str(p->options, "against");
    struct kvs_catalogue_entry entry;
    if (path == NULL)
        return KVS_OK;
    KVS_TRY(kvs_catalogue_find(&p->catalogue, "machine", path, &entry, err));
    return kvs_machine_parse(entry.path, entry.data, entry.n, kvs_catalogue_gpu, &p->catalogue,
                             &p->diags, &p->file, err);
}

static kvs_status probe_make_machine(struct probe *p, struct kvs_error *err)
{
    const struct kvs_probe_facts *facts = kvs_probe_facts(p->probe);
    if (p->file == NULL)
        return kvs_probe_skeleton(facts, kvs_options_str(p->options, "name"), &p->catalogue,
                                  &p->machine, err);
    if (p->file->n_devices != facts->n_gpus) {
        kvs_error_at(err, KVS_EINVAL, "--against", 0, 0,
                     "\"%s\" has %u device%s, this machine %u GPU%s", p->file->name,
                     p->file->n_devices, p->file->n_devices == 1 ? "" : "s", facts->n_gpus,
                     facts->n_gpus == 1 ? "" : "s");
        kvs_error_hint(err, "CUDA_VISIBLE_DEVICES chooses GPUs");
        return KVS_EINVAL;
    }
    return kvs_machine_clone(p->file, &p->machine, err);
}

static kvs_status probe_measure(struct probe *p, struct kvs_error *err)
{
    struct kvs_probe_options options = {.parts = probe_parts(p->options),
                                        .budget_s = PROBE_BUDGET_S,
                                        .stop = kvs_stop_flag(),
                                        .progress = probe_progress,
                                        .warn = probe_warn,
                                        .context = p};
    KVS_TRY(kvs_probe_open(&options, &p->probe, err));
    KVS_TRY(probe_make_machine(p, err));
    return kvs_probe_measure(p->probe, p->machine, &p->report, err);
}

/* What has changed goes to stdout, and the file, if one is asked for, elsewhere. */
static kvs_status probe_compare(struct probe *p, struct kvs_error *err)
{
    if (p->file == NULL)
        return KVS_OK;
    KVS_TRY(kvs_probe_changes(p->file, p->machine, &p->report, &p->text, &p->n_changes, err));
    return kvs_print(&p->text, stdout, err);
}

static kvs_status probe_write(struct probe *p, struct kvs_error *err)
{
    const struct kvs_probe_facts *facts = kvs_probe_facts(p->probe);
    const char *path = kvs_options_str(p->options, "output");
    if (p->file != NULL && path == NULL)
        return KVS_OK;
    for (size_t i = 0; i < p->report.groups.n; i++)
        KVS_TRY(kvs_probe_add_group(p->machine, &p->report.groups.items[i], err));
    if (p->file == NULL)
        kvs_probe_describe(facts, p->machine);
    if (kvs_probe_file(facts, &p->report, p->machine, &p->text) != KVS_OK)
        return kvs_error_set(err, KVS_ENOMEM, "out of memory");
    if (path == NULL || strcmp(path, "-") == 0)
        return kvs_print(&p->text, stdout, err);
    return kvs_file_write(path, p->text.data, p->text.n, err);
}

/* A name that the file could not hold is refused before a minute is spent. */
static kvs_status probe_check_name(const struct probe *p, struct kvs_error *err)
{
    const char *name = kvs_options_str(p->options, "name");
    size_t n =
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+:");
    if (name[n] == '\0' && n < sizeof p->machine->name)
        return KVS_OK;
    return kvs_error_at(err, KVS_EINVAL, "--name", 0, 0,
                        "up to %zu letters, digits and . _ - + :, got \"%.80s\"",
                        sizeof p->machine->name - 1, name);
}

static kvs_status probe_all(struct probe *p, struct kvs_error *err)
{
    const char *path = kvs_options_str(p->options, "output");
    KVS_TRY(probe_check_name(p, err));
    if (kvs_options_flag(p->options, "list"))
        return probe_list(p, err);
    KVS_TRY(probe_read_file(p, err));
    if (path != NULL && strcmp(path, "-") != 0)
        KVS_TRY(kvs_file_check_writable(path, err));
    kvs_stop_listen();
    KVS_TRY(probe_measure(p, err));
    KVS_TRY(probe_compare(p, err));
    return probe_write(p, err);
}

static void probe_fini(struct probe *p)
{
    kvs_probe_close(p->probe);
    kvs_probe_report_fini(&p->report);
    if (p->file != NULL)
        kvs_machine_clone_destroy(p->machine);
    else
        kvs_machine_destroy(p->machine);
    kvs_machine_destroy(p->file);
    kvs_text_fini(&p->text);
    kvs_diags_fini(&p->diags);
    kvs_catalogue_fini(&p->catalogue);
}

int kvs_command_probe(int argc, const char *const *argv)
{
    struct kvs_options *options;
    struct kvs_error err = {0};
    int code;
    if (!kvs_command_parse(&spec, argc, argv, &options, &code))
        return code;
    struct probe p = {.options = options, .console = kvs_console_of(options)};
    p.catalogue.dir = kvs_options_str(options, "catalogue");
    kvs_diags_init(&p.diags);
    kvs_status status = probe_all(&p, &err);
    if (status != KVS_OK) {
        kvs_console_progress(&p.console, 1, 1, "");
        code = kvs_fail(status, &p.diags, &err);
    } else {
        code = p.n_changes > 0 ? KVS_EXIT_TOLERANCE : KVS_EXIT_OK;
    }
    if (status == KVS_ESTOPPED)
        code = kvs_stop_exit_code();
    probe_fini(&p);
    kvs_options_destroy(options);
    return code;
}
