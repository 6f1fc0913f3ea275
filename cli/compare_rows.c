/* Matched rows, their errors, and those of the naive model. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/compare.h"
#include "cli/judge.h"
#include "formats/md_table.h"
#include "study/compare.h"

enum { ARM_KEY = KVS_RESULT_N_KEYS - 1 };

struct rows {
    struct kvs_comparison *c;
    struct kvs_results results[2];
    struct kvs_result_pairs pairs;
    size_t predicted_from; /* which file says what is predicted */
    size_t measured_from;
    bool is_prediction_only;              /* neither file has measured anything */
    double *predicted, *measured, *naive; /* [n_pairs], one allocation */
    bool shows[KVS_RESULT_N_KEYS];        /* keys that vary, and n_depth */
    struct kvs_accuracy accuracy, naive_accuracy;
};

static bool rows_has_measured(const struct kvs_results *results)
{
    for (size_t i = 0; i < results->items.n; i++)
        if (isfinite(results->items.items[i].measured_ts))
            return true;
    return false;
}

/* B has measured, or else A; what neither has measured is B's prediction. */
static void rows_choose_sides(struct rows *r)
{
    bool is_from_a = !rows_has_measured(&r->results[1]) && rows_has_measured(&r->results[0]);
    r->measured_from = is_from_a ? 0 : 1;
    r->predicted_from = 1 - r->measured_from;
    r->is_prediction_only = !is_from_a && !rows_has_measured(&r->results[1]);
}

static const struct kvs_result *rows_at(const struct rows *r, size_t pair, size_t file)
{
    size_t i = file == 0 ? r->pairs.items[pair].a : r->pairs.items[pair].b;
    return &r->results[file].items.items[i];
}

static kvs_status rows_fill(struct rows *r, struct kvs_error *err)
{
    size_t n = r->pairs.n;
    void *memory;
    KVS_TRY(kvs_mem_alloc(3 * n, sizeof(double), &memory, err));
    r->predicted = memory;
    r->measured = r->predicted + n;
    r->naive = r->measured + n;
    for (size_t i = 0; i < n; i++) {
        const struct kvs_result *measured = rows_at(r, i, r->measured_from);
        r->predicted[i] = rows_at(r, i, r->predicted_from)->predicted_ts;
        r->measured[i] = r->is_prediction_only ? measured->predicted_ts : measured->measured_ts;
        r->naive[i] = kvs_naive_ts(rows_at(r, i, r->predicted_from));
        if (!isfinite(r->naive[i]))
            r->naive[i] = kvs_naive_ts(measured);
        for (size_t k = 0; k < KVS_RESULT_N_KEYS; k++)
            r->shows[k] |=
                strcmp(measured->keys[k], rows_at(r, 0, r->measured_from)->keys[k]) != 0 ||
                strcmp(kvs_result_keys[k], "n_depth") == 0;
    }
    r->shows[ARM_KEY] = true;
    r->accuracy = kvs_accuracy_of(r->predicted, r->measured, n);
    r->naive_accuracy = kvs_accuracy_of(r->naive, r->measured, n);
    return KVS_OK;
}

static double rows_error_pct(double predicted, double measured)
{
    return (predicted / measured - 1.0) * 100.0;
}

static void rows_table(const struct rows *r)
{
    struct kvs_md_table t = {0};
    for (size_t k = 0; k < KVS_RESULT_N_KEYS; k++)
        if (r->shows[k])
            kvs_md_title(&t, strncmp(kvs_result_keys[k], "n_", 2) == 0,
                         k == ARM_KEY ? "policy" : kvs_result_keys[k], "");
    kvs_md_title(&t, true, "predicted", "t/s");
    kvs_md_title(&t, true, r->is_prediction_only ? "the other" : "measured", "t/s");
    kvs_md_title(&t, true, "err", "");
    if (r->naive_accuracy.n > 0) {
        kvs_md_title(&t, true, "naive", "t/s");
        kvs_md_title(&t, true, "err", "");
    }
    for (size_t i = 0; i < r->pairs.n; i++) {
        for (size_t k = 0; k < KVS_RESULT_N_KEYS; k++)
            if (r->shows[k])
                kvs_md_cell(&t, "%s", rows_at(r, i, r->measured_from)->keys[k]);
        kvs_md_number(&t, r->predicted[i]);
        kvs_md_number(&t, r->measured[i]);
        kvs_md_percent(&t, rows_error_pct(r->predicted[i], r->measured[i]));
        if (r->naive_accuracy.n == 0)
            continue;
        kvs_md_number(&t, r->naive[i]);
        kvs_md_percent(&t, rows_error_pct(r->naive[i], r->measured[i]));
    }
    kvs_md_print(&t, r->c->text);
    kvs_md_fini(&t);
}

static void rows_accuracy(const struct rows *r, const char *what, const struct kvs_accuracy *a)
{
    const struct kvs_result *worst = rows_at(r, a->worst, r->measured_from);
    const char *before = "";
    if (a->n == 0)
        return;
    kvs_text_printf(r->c->text, "- %s: mean error %.1f%%, signed %+.1f%%, worst %+.1f%% (",
                    what, a->mean_frac * 100.0, a->bias_frac * 100.0, a->worst_frac * 100.0);
    for (size_t k = 0; k < KVS_RESULT_N_KEYS; k++) {
        if (!r->shows[k])
            continue;
        if (k == ARM_KEY)
            kvs_text_printf(r->c->text, "%s%s", before, worst->keys[k]);
        else
            kvs_text_printf(r->c->text, "%s%s %s", before, kvs_result_keys[k], worst->keys[k]);
        before = ", ";
    }
    kvs_text_printf(r->c->text, "), %zu row%s\n", a->n, a->n == 1 ? "" : "s");
}

/* Agreement with what was paced by the same figures shows less than it seems. */
static void rows_say_paced(const struct rows *r)
{
    bool is_host = false, is_emulated = false;
    for (size_t i = 0; i < r->pairs.n && !r->is_prediction_only; i++) {
        const char *executor = rows_at(r, i, r->measured_from)->executor;
        is_host = is_host || strcmp(executor, "host") == 0;
        is_emulated = is_emulated || strstr(executor, "emulated") != NULL;
    }
    if (is_host)
        kvs_text_puts(
            r->c->text,
            "- measured by the executor host, whose links and compute are paced by the "
            "machine file: it shows the plan and its waits, nothing of the hardware\n");
    if (is_emulated)
        kvs_text_puts(r->c->text, "- emulated: shows the plan and its waits at that machine's "
                                  "pace, nothing of its hardware\n");
}

static void rows_print_md(const struct rows *r)
{
    const struct kvs_comparison *c = r->c;
    size_t n_left[2];
    for (size_t i = 0; i < 2; i++)
        n_left[i] = r->results[i].items.n - r->pairs.n;
    kvs_text_printf(c->text, "predicted: %s; %s: %s\n\n", c->files[r->predicted_from].label,
                    r->is_prediction_only
                        ? "nothing was measured, compared with the predictions of"
                        : "measured",
                    c->files[r->measured_from].label);
    rows_table(r);
    kvs_text_puts(c->text, "\n");
    rows_accuracy(r, "prediction", &r->accuracy);
    rows_accuracy(r, "naive model (ordered: compute and copies; else the longer of them)",
                  &r->naive_accuracy);
    rows_say_paced(r);
    if (n_left[0] + n_left[1] > 0)
        kvs_text_printf(c->text, "- without a partner: %zu row%s of %s, %zu of %s\n", n_left[0],
                        n_left[0] == 1 ? "" : "s", c->files[0].label, n_left[1],
                        c->files[1].label);
}

static void rows_print_json(const struct rows *r)
{
    struct kvs_json_writer w = {.text = r->c->text};
    kvs_json_begin(&w, NULL, '{');
    kvs_json_str(&w, "predicted_from", r->c->files[r->predicted_from].path);
    kvs_json_str(&w, "measured_from", r->c->files[r->measured_from].path);
    kvs_json_bool(&w, "is_measured", !r->is_prediction_only);
    kvs_judge_json(&w, "prediction", &r->accuracy);
    kvs_judge_json(&w, "naive", &r->naive_accuracy);
    kvs_json_begin(&w, "rows", '[');
    for (size_t i = 0; i < r->pairs.n; i++) {
        kvs_json_begin(&w, NULL, '{');
        for (size_t k = 0; k < KVS_RESULT_N_KEYS; k++)
            kvs_json_str(&w, kvs_result_keys[k], rows_at(r, i, r->measured_from)->keys[k]);
        kvs_json_f64(&w, "predicted_ts", r->predicted[i]);
        kvs_json_f64(&w, "measured_ts", r->measured[i]);
        kvs_json_f64(&w, "err_pct", rows_error_pct(r->predicted[i], r->measured[i]));
        kvs_json_f64(&w, "naive_ts", r->naive[i]);
        kvs_json_f64(&w, "naive_err_pct", rows_error_pct(r->naive[i], r->measured[i]));
        kvs_json_end(&w, '}');
    }
    kvs_json_end(&w, ']');
    kvs_json_end(&w, '}');
    kvs_text_puts(r->c->text, "\n");
}

static kvs_status rows_run(struct rows *r, struct kvs_error *err)
{
    struct kvs_comparison *c = r->c;
    for (size_t i = 0; i < 2; i++)
        KVS_TRY(kvs_results_read(c->files[i].path, c->files[i].bytes, c->files[i].n,
                                 &r->results[i], err));
    rows_choose_sides(r);
    KVS_TRY(kvs_judge_check(c->options, err));
    KVS_TRY(kvs_results_match(&r->results[0], &r->results[1], &r->pairs, err));
    if (r->pairs.n == 0)
        return kvs_error_at(err, KVS_EINVAL, c->files[1].path, 0, 0,
                            "no row has the configuration and policy of one in %s",
                            c->files[0].path);
    KVS_TRY(rows_fill(r, err));
    if (r->accuracy.n == 0)
        return kvs_error_at(err, KVS_EINVAL, c->files[1].path, 0, 0,
                            "no row with both a prediction and something to compare it with");
    if (c->is_json)
        rows_print_json(r);
    else
        rows_print_md(r);
    r->c->is_outside = kvs_judge_is_outside(r->c->options, "", &r->accuracy);
    return KVS_OK;
}

kvs_status kvs_compare_rows(struct kvs_comparison *c, struct kvs_error *err)
{
    struct rows r = {.c = c};
    kvs_status status = rows_run(&r, err);
    for (size_t i = 0; i < 2; i++)
        kvs_results_fini(&r.results[i]);
    KVS_ARRAY_FREE(&r.pairs);
    kvs_mem_free(r.predicted);
    return status;
}
