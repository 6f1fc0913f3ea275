/* kvsim plot: runs an experiment, writes its data, and lets gnuplot draw the figures. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli/job.h"
#include "cli/settings.h"

static const struct kvs_option plot_options[] = {
    {.name = "output",
     .alias = "-o",
     .kind = KVS_OPTION_STRING,
     .metavar = "DIR",
     .is_common = true,
     .help = "folder for the figures and data/ (default: the experiment's own)"},
};
static const struct kvs_option_group plot_group = {"Output", plot_options,
                                                   KVS_COUNT_OF(plot_options)};
static const struct kvs_option_group *const groups[] = {
    &kvs_inputs_group,    &kvs_workload_group, &kvs_placement_group,
    &kvs_transport_group, &plot_group,         &kvs_common_group};
static const char *const examples[] = {
    "kvsim plot x4-bound", "kvsim plot context-sweep --output figures",
    "kvsim plot experiments/equal-links/experiment.yaml", NULL};
static const struct kvs_options_spec spec = {
    .program = "kvsim plot",
    .summary =
        "Runs an experiment, writes data/rows.dat beside its plot.gp, and draws NAME.png "
        "and NAME.svg\nwith gnuplot. Run it where experiments/ is, or give the path of "
        "the experiment file.",
    .operands = "NAME",
    .min_operands = 1,
    .max_operands = 1,
    .groups = groups,
    .n_groups = KVS_COUNT_OF(groups),
    .examples = examples};

struct plot {
    struct kvs_job job;
    struct kvs_text folder; /* has plot.gp */
    const char *output;     /* folder of the figures; borrowed */
};

/* A block per arm and combination of settings other than depth; gnuplot finds it by its name.
 */
static void plot_block_name(const struct kvs_job *s, const struct kvs_row *row,
                            struct kvs_text *out)
{
    kvs_text_puts(out, row->arm_name);
    for (unsigned k = 0; k < KVS_SETTING_DEPTH; k++) {
        if (s->experiment.values[k].n < 2)
            continue;
        kvs_text_puts(out, " ");
        kvs_experiment_print_value(&s->experiment, (kvs_setting)k, row->values[k], out);
    }
}

static void plot_number(double value, struct kvs_text *out)
{
    if (isfinite(value))
        kvs_text_printf(out, " %.6g", value);
    else
        kvs_text_puts(out, " NaN");
}

static void plot_row(const struct kvs_row *row, struct kvs_text *out)
{
    const double numbers[] = {row->predicted_ts, row->predicted_ms, row->bound_ts,
                              row->share,        row->edge_ts,      row->lo_ts,
                              row->hi_ts,        row->measured_ts};
    kvs_text_printf(out, "%" PRIu64, row->n_depth);
    for (size_t i = 0; i < KVS_COUNT_OF(numbers); i++)
        plot_number(numbers[i], out);
    kvs_text_puts(out, "\n");
}

/* True when both rows belong to one curve: same arm, same settings but for depth. */
static bool plot_is_same_block(const struct kvs_row *a, const struct kvs_row *b)
{
    return a->arm == b->arm &&
           memcmp(a->values, b->values, KVS_SETTING_DEPTH * sizeof a->values[0]) == 0;
}

static void plot_data(const struct kvs_job *s, const struct kvs_rows *rows,
                      struct kvs_text *out)
{
    kvs_text_printf(out,
                    "# kvsim %s, experiment %s %016" PRIx64 ", machine %s %016" PRIx64
                    ", model %s %016" PRIx64 ", seed %" PRIu64 "\n",
                    KVS_VERSION, s->experiment.name, s->experiment_hash, s->machine->name,
                    s->machine_hash, s->llm->name, s->model_hash, s->seed);
    kvs_text_puts(out, "# n_depth predicted_ts predicted_ms bound_ts share edge_ts lo_ts hi_ts "
                       "measured_ts; a block per curve, found by its name\n");
    for (size_t i = 0; i < rows->n; i++) {
        bool is_new = true;
        for (size_t j = 0; j < i && is_new; j++)
            is_new = !plot_is_same_block(&rows->items[i], &rows->items[j]);
        if (!is_new)
            continue;
        kvs_text_puts(out, "\n\n# ");
        plot_block_name(s, &rows->items[i], out);
        kvs_text_puts(out, "\n");
        for (size_t j = i; j < rows->n; j++)
            if (plot_is_same_block(&rows->items[i], &rows->items[j]))
                plot_row(&rows->items[j], out);
    }
}

static kvs_status plot_make_folder(const char *path, struct kvs_error *err)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return KVS_OK;
    return kvs_error_at(err, KVS_EIO, path, 0, 0, "cannot make the folder: %s",
                        strerror(errno));
}

static kvs_status plot_write_data(const struct plot *p, const struct kvs_rows *rows,
                                  struct kvs_error *err)
{
    struct kvs_text path = {0}, data = {0};
    kvs_status status = plot_make_folder(p->output, err);
    kvs_text_printf(&path, "%s/data", p->output);
    if (status == KVS_OK && path.status == KVS_OK)
        status = plot_make_folder(path.data, err);
    kvs_text_puts(&path, "/rows.dat");
    plot_data(&p->job, rows, &data);
    if (status == KVS_OK && (path.status != KVS_OK || data.status != KVS_OK))
        status = kvs_error_set(err, KVS_ENOMEM, "out of memory while writing the data");
    if (status == KVS_OK)
        status = kvs_file_write(path.data, data.data, data.n, err);
    kvs_text_fini(&path);
    kvs_text_fini(&data);
    return status;
}

extern char **environ;

static kvs_status plot_spawn(char *const *argv, struct kvs_error *err)
{
    pid_t pid;
    int state;
    int code = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
    if (code == ENOENT) {
        kvs_error_set(err, KVS_EIO, "gnuplot is not installed; the data is written");
        kvs_error_hint(err, "on Debian and Ubuntu: apt-get install gnuplot-nox");
        return KVS_EIO;
    }
    if (code != 0)
        return kvs_error_set(err, KVS_EIO, "cannot start gnuplot: %s", strerror(code));
    if (waitpid(pid, &state, 0) < 0)
        return kvs_error_set(err, KVS_EIO, "lost gnuplot: %s", strerror(errno));
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
        return kvs_error_set(err, KVS_EIO, "gnuplot failed; its message stands above");
    return KVS_OK;
}

/* plot.gp finds `data`, the file of rows, and `figure`, the path of a figure without its
 * ending. */
static kvs_status plot_draw(const struct plot *p, struct kvs_error *err)
{
    char program[] = "gnuplot";
    char flag[] = "-e";
    struct kvs_text script = {0}, variables = {0};
    kvs_text_printf(&script, "%s/plot.gp", p->folder.data);
    kvs_text_printf(&variables, "data='%s/data/rows.dat'; figure='%s/%s'", p->output, p->output,
                    p->job.experiment.name);
    kvs_status status = script.status != KVS_OK ? script.status : variables.status;
    if (status == KVS_OK) {
        char *const argv[] = {program, flag, variables.data, script.data, NULL};
        status = plot_spawn(argv, err);
    } else {
        kvs_error_set(err, status, "out of memory");
    }
    kvs_text_fini(&script);
    kvs_text_fini(&variables);
    return status;
}

/* True when p->folder has a plot.gp; out of memory shows in p->folder.status. */
static bool plot_has_script(struct plot *p)
{
    struct kvs_text script = {0};
    struct stat info;
    kvs_text_printf(&script, "%s/plot.gp", p->folder.data != NULL ? p->folder.data : "");
    bool has_script = script.status == KVS_OK && stat(script.data, &info) == 0;
    if (script.status != KVS_OK)
        p->folder.status = script.status;
    kvs_text_fini(&script);
    return has_script;
}

/* The folder of the experiment's file; or experiments/NAME in the catalogue or here, else in
 * the checkout. */
static kvs_status plot_find_folder(struct plot *p, const struct kvs_catalogue *catalogue,
                                   const char *name, struct kvs_error *err)
{
    const char *file = p->job.file;
    const char *slash = strrchr(file, '/');
    const char *root = kvs_checkout_root();
    if (slash != NULL)
        kvs_text_append(&p->folder, file, (size_t)(slash - file));
    else if (file[0] != '\0')
        kvs_text_puts(&p->folder, ".");
    else if (catalogue->dir != NULL)
        kvs_text_printf(&p->folder, "%s/experiments/%s", catalogue->dir, name);
    else
        kvs_text_printf(&p->folder, "experiments/%s", name);
    bool has_script = plot_has_script(p);
    if (!has_script && file[0] == '\0' && root != NULL) {
        p->folder.n = 0;
        kvs_text_printf(&p->folder, "%s/experiments/%s", root, name);
        has_script = plot_has_script(p);
    }
    if (p->folder.status != KVS_OK)
        return kvs_error_set(err, KVS_ENOMEM, "out of memory");
    if (has_script)
        return KVS_OK;
    kvs_error_at(err, KVS_ENOTFOUND, p->folder.data, 0, 0, "has no plot.gp");
    kvs_error_hint(err, "run it where experiments/ is, or give the experiment file's path");
    return KVS_ENOTFOUND;
}

static kvs_status plot_run(struct plot *p, const struct kvs_options *options,
                           struct kvs_catalogue *catalogue, const struct kvs_console *console,
                           struct kvs_diags *diags, struct kvs_error *err)
{
    size_t n;
    struct kvs_rows rows = {0};
    struct kvs_job_run run = {.console = console, .has_edges = true, .has_ranges = true};
    const char *name = kvs_options_operands(options, &n)[0];
    KVS_TRY(kvs_job_open(&p->job, catalogue, name, options, diags, err));
    KVS_TRY(plot_find_folder(p, catalogue, name, err));
    KVS_TRY(kvs_measured_load(&p->job, catalogue, console, err));
    p->output = kvs_options_is_given(options, "output") ? kvs_options_str(options, "output")
                                                        : p->folder.data;
    kvs_job_warn(&p->job, console);
    kvs_status status = kvs_job_run(&p->job, &run, &rows, err);
    if (status == KVS_OK)
        status = plot_write_data(p, &rows, err);
    if (status == KVS_OK)
        status = plot_draw(p, err);
    if (status == KVS_OK && printf("%s/%s.png\n%s/%s.svg\n", p->output, p->job.experiment.name,
                                   p->output, p->job.experiment.name) < 0)
        status = kvs_error_set(err, KVS_EIO, "cannot write the results");
    KVS_ARRAY_FREE(&rows);
    return status;
}

int kvs_command_plot(int argc, const char *const *argv)
{
    struct kvs_options *options;
    struct kvs_error err = {0};
    struct kvs_diags diags;
    struct plot p = {.output = NULL};
    int code;
    if (!kvs_command_parse(&spec, argc, argv, &options, &code))
        return code;
    struct kvs_console console = kvs_console_of(options);
    struct kvs_catalogue catalogue = {.dir = kvs_options_str(options, "catalogue")};
    kvs_diags_init(&diags);
    kvs_status status = plot_run(&p, options, &catalogue, &console, &diags, &err);
    code = status == KVS_OK ? KVS_EXIT_OK : kvs_fail(status, &diags, &err);
    kvs_job_fini(&p.job);
    kvs_text_fini(&p.folder);
    kvs_diags_fini(&diags);
    kvs_catalogue_fini(&catalogue);
    kvs_options_destroy(options);
    return code;
}
