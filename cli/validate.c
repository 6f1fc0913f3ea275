/* kvsim validate: every measured table that an experiment names, predicted again. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/job.h"
#include "cli/judge.h"
#include "cli/settings.h"
#include "formats/md_table.h"
#include "study/compare.h"

static const struct kvs_option validate_options[] = {
    {.name = "rows",
     .kind = KVS_OPTION_FLAG,
     .is_common = true,
     .help = "list every row, not only the sums"},
};
static const struct kvs_option_group validate_group = {"Validation", validate_options,
                                                       KVS_COUNT_OF(validate_options)};
static const struct kvs_option_group *const groups[] = {
    &kvs_judge_group,     &validate_group,      &kvs_inputs_group, &kvs_workload_group,
    &kvs_placement_group, &kvs_transport_group, &kvs_common_group};
static const char *const examples[] = {"kvsim validate", "kvsim validate --rows --tolerance 2%",
                                       "kvsim validate x4-bound --machine ./my-box.yaml", NULL};
static const struct kvs_options_spec spec = {
    .program = "kvsim validate",
    .summary =
        "Predicts every measured row that the repository ships, and says how far off the "
        "predictions\nare, beside a naive model: the sum of compute and copies for ordered, "
        "the longer of the two\nfor the others. Without EXPERIMENT: all experiments that "
        "name a measured table.",
    .operands = "[EXPERIMENT...]",
    .max_operands = 64,
    .groups = groups,
    .n_groups = KVS_COUNT_OF(groups),
    .examples = examples};

struct validated_row {
    uint64_t n_depth;
    char arm[64];
};

/* One experiment's measured rows. */
struct validated {
    char experiment[64];
    char table[128];
    struct validated_row *rows;           /* owned, [n] */
    double *predicted, *measured, *naive; /* owned, [n] each, one allocation */
    size_t n;
    struct kvs_accuracy accuracy, naive_accuracy;
};

struct validate {
    const struct kvs_options *options; /* borrowed */
    struct kvs_console console;
    struct kvs_catalogue catalogue;
    struct kvs_diags diags;
    KVS_ARRAY(struct validated) tables;
};

static void validated_fini(struct validated *t)
{
    kvs_mem_free(t->rows);
    kvs_mem_free(t->predicted);
}

static double validate_naive_ts(const struct kvs_row *row)
{
    struct kvs_result result = {.policy = row->policy,
                                .n_parallel = (double)row->n_parallel,
                                .declined = (double)row->n_declined,
                                .compute_ms = row->compute_ms,
                                .copies_ms = row->copies_ms};
    return kvs_naive_ts(&result);
}

/* Was it measured, on an engine that serves copies as the machine's own does? */
static bool validate_counts(const struct kvs_job *job, const struct kvs_row *row)
{
    return isfinite(row->measured_ts) && row->c.machine->devices[0].engines.arbitration ==
                                             job->machine->devices[0].engines.arbitration;
}

static kvs_status validate_judge(struct validated *t, const struct kvs_job *job,
                                 const struct kvs_rows *rows, struct kvs_error *err)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(3 * rows->n, sizeof(double), &memory, err));
    t->predicted = memory;
    t->measured = t->predicted + rows->n;
    t->naive = t->measured + rows->n;
    KVS_TRY(kvs_mem_alloc(rows->n, sizeof *t->rows, &memory, err));
    t->rows = memory;
    for (size_t i = 0; i < rows->n; i++) {
        const struct kvs_row *row = &rows->items[i];
        if (!validate_counts(job, row))
            continue;
        t->rows[t->n].n_depth = row->n_depth;
        (void)snprintf(t->rows[t->n].arm, sizeof t->rows->arm, "%s", row->arm_name);
        t->predicted[t->n] = row->predicted_ts;
        t->measured[t->n] = row->measured_ts;
        t->naive[t->n++] = validate_naive_ts(row);
    }
    t->accuracy = kvs_accuracy_of(t->predicted, t->measured, t->n);
    t->naive_accuracy = kvs_accuracy_of(t->naive, t->measured, t->n);
    return KVS_OK;
}

static kvs_status validate_nothing(const struct kvs_job *s, struct kvs_error *err)
{
    kvs_error_at(err, KVS_EINVAL, s->experiment.name, 0, 0,
                 "no measured row of %s matches these settings, machine %s and model %s",
                 s->experiment.measured, s->machine->name, s->llm->name);
    kvs_error_hint(err, "rows belong to a machine and a build by name: a file of your own is "
                        "judged where it has both");
    return KVS_EINVAL;
}

/* is_named: without a row that matches there is nothing to say. */
static kvs_status validate_job(struct validate *v, struct kvs_job *s, bool is_named,
                               struct kvs_error *err)
{
    struct validated t = {0};
    struct kvs_rows rows = {0};
    struct kvs_job_run run = {.console = &v->console};
    KVS_TRY(kvs_measured_load(s, &v->catalogue, &v->console, err));
    if (s->measured == NULL)
        return kvs_error_set(err, KVS_ENOTFOUND, "%s: its measured rows, %s, are not here",
                             s->experiment.name, s->experiment.measured);
    (void)snprintf(t.experiment, sizeof t.experiment, "%s", s->experiment.name);
    (void)snprintf(t.table, sizeof t.table, "%s", s->experiment.measured);
    kvs_status status = kvs_job_run(s, &run, &rows, err);
    if (status == KVS_OK)
        status = validate_judge(&t, s, &rows, err);
    if (status == KVS_OK && t.n == 0 && is_named)
        status = validate_nothing(s, err);
    if (status == KVS_OK)
        status = KVS_ARRAY_PUSH(&v->tables, t, err);
    if (status != KVS_OK)
        validated_fini(&t);
    KVS_ARRAY_FREE(&rows);
    return status;
}

/* is_named: it was asked for, so it must have measured rows. */
static kvs_status validate_experiment(struct validate *v, const char *name, bool is_named,
                                      struct kvs_error *err)
{
    struct kvs_job s = {0};
    kvs_status status = kvs_job_open(&s, &v->catalogue, name, v->options, &v->diags, err);
    if (status == KVS_OK && s.experiment.measured != NULL)
        status = validate_job(v, &s, is_named, err);
    else if (status == KVS_OK && is_named)
        status = kvs_error_at(err, KVS_EINVAL, name, 0, 0, "names no measured rows");
    kvs_job_fini(&s);
    return status;
}

static kvs_status validate_all(struct validate *v, struct kvs_error *err)
{
    size_t n;
    const char *const *operands = kvs_options_operands(v->options, &n);
    struct kvs_catalogue_names names = {0};
    kvs_status status = KVS_OK;
    KVS_TRY(kvs_judge_check(v->options, err));
    for (size_t i = 0; i < n; i++)
        KVS_TRY(validate_experiment(v, operands[i], true, err));
    if (n > 0)
        return KVS_OK;
    status = kvs_catalogue_list(&v->catalogue, "experiment", &names, err);
    for (size_t i = 0; i < names.n && status == KVS_OK; i++)
        status = validate_experiment(v, names.items[i], false, err);
    KVS_ARRAY_FREE(&names);
    return status;
}

static void validate_print_rows(const struct validated *t, struct kvs_text *out)
{
    struct kvs_md_table md = {0};
    kvs_md_title(&md, true, "n_depth", "");
    kvs_md_title(&md, false, "policy", "");
    kvs_md_title(&md, true, "predicted", "t/s");
    kvs_md_title(&md, true, "measured", "t/s");
    kvs_md_title(&md, true, "err", "");
    kvs_md_title(&md, true, "naive", "t/s");
    kvs_md_title(&md, true, "err", "");
    for (size_t i = 0; i < t->n; i++) {
        kvs_md_cell(&md, "%llu", (unsigned long long)t->rows[i].n_depth);
        kvs_md_cell(&md, "%s", t->rows[i].arm);
        kvs_md_number(&md, t->predicted[i]);
        kvs_md_number(&md, t->measured[i]);
        kvs_md_percent(&md, (t->predicted[i] / t->measured[i] - 1.0) * 100.0);
        kvs_md_number(&md, t->naive[i]);
        kvs_md_percent(&md, (t->naive[i] / t->measured[i] - 1.0) * 100.0);
    }
    kvs_text_printf(out, "%s, measured in %s\n\n", t->experiment, t->table);
    kvs_md_print(&md, out);
    kvs_md_fini(&md);
    kvs_text_puts(out, "\n");
}

static void validate_sum(struct kvs_md_table *md, const struct validated *t,
                         const struct kvs_accuracy *a)
{
    if (a->n == 0) {
        for (unsigned i = 0; i < 3; i++)
            kvs_md_cell(md, "-");
        return;
    }
    const struct validated_row *worst = &t->rows[a->worst];
    kvs_md_cell(md, "%.1f%%", a->mean_frac * 100.0);
    kvs_md_percent(md, a->bias_frac * 100.0);
    kvs_md_cell(md, "%+.1f%% (%s at %llu)", a->worst_frac * 100.0, worst->arm,
                (unsigned long long)worst->n_depth);
}

static void validate_print(const struct validate *v, struct kvs_text *out)
{
    struct kvs_md_table md = {0};
    kvs_md_title(&md, false, "experiment", "");
    kvs_md_title(&md, true, "rows", "");
    for (unsigned naive = 0; naive < 2; naive++) {
        kvs_md_title(&md, true, naive ? "naive mean" : "mean error", "");
        kvs_md_title(&md, true, "signed", "");
        kvs_md_title(&md, false, "worst", "");
    }
    for (size_t i = 0; i < v->tables.n; i++) {
        const struct validated *t = &v->tables.items[i];
        if (kvs_options_flag(v->options, "rows"))
            validate_print_rows(t, out);
        kvs_md_cell(&md, "%s", t->experiment);
        kvs_md_cell(&md, "%zu", t->n);
        validate_sum(&md, t, &t->accuracy);
        validate_sum(&md, t, &t->naive_accuracy);
    }
    kvs_md_print(&md, out);
    kvs_md_fini(&md);
    kvs_text_puts(out, "\n- error: predicted over measured rate, less one; naive: compute and "
                       "copies for ordered, the longer of them for the others\n");
}

static void validate_print_json(const struct validate *v, struct kvs_text *out)
{
    struct kvs_json_writer w = {.text = out};
    kvs_json_begin(&w, NULL, '[');
    for (size_t i = 0; i < v->tables.n; i++) {
        const struct validated *t = &v->tables.items[i];
        kvs_json_begin(&w, NULL, '{');
        kvs_json_str(&w, "experiment", t->experiment);
        kvs_json_str(&w, "table", t->table);
        kvs_judge_json(&w, "prediction", &t->accuracy);
        kvs_judge_json(&w, "naive", &t->naive_accuracy);
        kvs_json_begin(&w, "rows", '[');
        for (size_t k = 0; k < t->n; k++) {
            kvs_json_begin(&w, NULL, '{');
            kvs_json_u64(&w, "n_depth", t->rows[k].n_depth);
            kvs_json_str(&w, "arm", t->rows[k].arm);
            kvs_json_f64(&w, "predicted_ts", t->predicted[k]);
            kvs_json_f64(&w, "measured_ts", t->measured[k]);
            kvs_json_f64(&w, "naive_ts", t->naive[k]);
            kvs_json_end(&w, '}');
        }
        kvs_json_end(&w, ']');
        kvs_json_end(&w, '}');
    }
    kvs_json_end(&w, ']');
    kvs_text_puts(out, "\n");
}

/* Says which tables are outside the tolerance. */
static bool validate_is_outside(const struct validate *v)
{
    bool is_outside = false;
    for (size_t i = 0; i < v->tables.n; i++) {
        char of[80];
        (void)snprintf(of, sizeof of, "%s: ", v->tables.items[i].experiment);
        is_outside |= kvs_judge_is_outside(v->options, of, &v->tables.items[i].accuracy);
    }
    return is_outside;
}

static void validate_fini(struct validate *v)
{
    for (size_t i = 0; i < v->tables.n; i++)
        validated_fini(&v->tables.items[i]);
    KVS_ARRAY_FREE(&v->tables);
    kvs_diags_fini(&v->diags);
    kvs_catalogue_fini(&v->catalogue);
}

int kvs_command_validate(int argc, const char *const *argv)
{
    struct kvs_options *options;
    struct kvs_error err = {0};
    struct kvs_text text = {0};
    int code;
    if (!kvs_command_parse(&spec, argc, argv, &options, &code))
        return code;
    struct validate v = {.options = options, .console = kvs_console_of(options)};
    v.catalogue.dir = kvs_options_str(options, "catalogue");
    kvs_diags_init(&v.diags);
    kvs_status status = validate_all(&v, &err);
    if (status == KVS_OK && kvs_judge_is_json(options))
        validate_print_json(&v, &text);
    else if (status == KVS_OK)
        validate_print(&v, &text);
    if (status == KVS_OK)
        status = kvs_print(&text, stdout, &err);
    code = status != KVS_OK          ? kvs_fail(status, &v.diags, &err)
           : validate_is_outside(&v) ? KVS_EXIT_TOLERANCE
                                     : KVS_EXIT_OK;
    kvs_text_fini(&text);
    validate_fini(&v);
    kvs_options_destroy(options);
    return code;
}
