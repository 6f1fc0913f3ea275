/* The md table: a line per configuration, its arms side by side. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/md_table.h"
#include "formats/row_internal.h"

/* What the lines of one table have in common. */
struct md_layout {
    const struct kvs_row_context *context;
    const struct kvs_row *rows;
    size_t n;
    bool is_replay;
    struct kvs_row_notes notes;
    bool has_measured[KVS_EXPERIMENT_MAX_ARMS];
    int marker_width[KVS_EXPERIMENT_MAX_ARMS];
};

static const char *md_marker(struct kvs_row_notes *notes, const struct kvs_row *row, char *buf,
                             size_t cap)
{
    const size_t numbers[] = {kvs_row_note_error(notes, row), kvs_row_note_decline(notes, row),
                              kvs_row_note_edge(notes, row)};
    size_t n = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < KVS_COUNT_OF(numbers); i++)
        if (numbers[i] > 0)
            n += (size_t)snprintf(buf + n, cap - n, " [%zu]", numbers[i]);
    return buf;
}

static void md_survey(struct md_layout *layout)
{
    char buf[96];
    for (size_t i = 0; i < layout->n; i++) {
        const struct kvs_row *row = &layout->rows[i];
        int width = (int)strlen(md_marker(&layout->notes, row, buf, sizeof buf));
        if (width > layout->marker_width[row->arm])
            layout->marker_width[row->arm] = width;
        if (isfinite(row->measured_ts))
            layout->has_measured[row->arm] = true;
    }
}

/* Depth, and the settings that vary; the others stand above the table. */
static bool md_shows(const struct kvs_experiment *experiment, unsigned setting)
{
    return setting == KVS_SETTING_DEPTH || experiment->values[setting].n > 1;
}

static void md_titles(struct kvs_md_table *t, const struct md_layout *layout)
{
    const struct kvs_experiment *experiment = layout->context->experiment;
    for (unsigned s = 0; s < KVS_SETTING_COUNT; s++) {
        kvs_setting setting = (kvs_setting)s;
        bool is_number =
            kvs_setting_names(setting) == NULL && setting != KVS_SETTING_TENSOR_SPLIT;
        if (md_shows(experiment, s))
            kvs_md_title(t, is_number,
                         s == KVS_SETTING_DEPTH ? "n_depth" : kvs_setting_key(setting),
                         s == KVS_SETTING_KVPB ? "MiB" : "");
    }
    for (size_t a = 0; a < experiment->arms.n; a++) {
        kvs_md_title(t, true, experiment->arms.items[a].name, "t/s");
        if (layout->has_measured[a]) {
            kvs_md_title(t, true, "measured", "");
            kvs_md_title(t, true, "err", "");
        }
        if (a > 0)
            kvs_md_title(t, true, "gain", "");
        if (a > 0 && layout->is_replay && layout->has_measured[a])
            kvs_md_title(t, true, "measured gain", "");
    }
    kvs_md_title(t, true, "bound", "t/s");
    if (!layout->is_replay)
        kvs_md_title(t, true, "share", "");
    kvs_md_title(t, false, "bottleneck", "");
    if (!layout->is_replay)
        kvs_md_title(t, false, "runner-up", "");
}

/* A rate, and how far half of the interval of its median reaches. */
static void md_measured(struct kvs_md_table *t, const struct kvs_row *row)
{
    double half_ts = row != NULL ? (row->ci_hi_ts - row->ci_lo_ts) / 2.0 : (double)NAN;
    if (isfinite(half_ts))
        kvs_md_cell(t, "%.2f \xc2\xb1 %.2f", row->measured_ts, half_ts);
    else
        kvs_md_number(t, row != NULL ? row->measured_ts : (double)NAN);
}

/* first NULL: the first arm did not run. */
static void md_measured_gain(struct kvs_md_table *t, const struct kvs_row *row,
                             const struct kvs_row *first)
{
    bool is_known = row != NULL && first != NULL;
    if (is_known && row->diff_lo_ms <= 0.0 && row->diff_hi_ms >= 0.0)
        kvs_md_cell(t, "no difference");
    else
        kvs_md_percent(t, is_known ? (row->measured_ts / first->measured_ts - 1.0) * 100.0
                                   : (double)NAN);
}

/* row NULL: this arm did not run; nor did the first when that is NULL. */
static void md_arm(struct kvs_md_table *t, struct md_layout *layout, size_t arm,
                   const struct kvs_row *row, const struct kvs_row *first)
{
    char buf[96] = "";
    double ts = row != NULL ? row->predicted_ts : (double)NAN;
    double first_ts = first != NULL ? first->predicted_ts : (double)NAN;
    if (row != NULL)
        (void)md_marker(&layout->notes, row, buf, sizeof buf);
    if (isfinite(ts))
        kvs_md_cell(t, "%.2f%-*s", ts, layout->marker_width[arm], buf);
    else
        kvs_md_cell(t, "-%-*s", layout->marker_width[arm], buf);
    if (layout->has_measured[arm]) {
        md_measured(t, row);
        kvs_md_percent(t, row != NULL ? row->err_pct : (double)NAN);
    }
    if (arm > 0)
        kvs_md_percent(t, (ts / first_ts - 1.0) * 100.0);
    if (arm > 0 && layout->is_replay && layout->has_measured[arm])
        md_measured_gain(t, row, first);
}

static void md_busy(struct kvs_md_table *t, const char *name, double busy)
{
    if (name[0] != '\0' && isfinite(busy))
        kvs_md_cell(t, "%s %.0f%%", name, busy * 100.0);
    else
        kvs_md_cell(t, "-");
}

/* The fastest arm that moves the cache; `resident` does not, and answers to no bound of a link.
 */
static const struct kvs_row *md_fastest(const struct kvs_row *rows, size_t n)
{
    const struct kvs_row *best = &rows[0];
    for (size_t i = 1; i < n; i++) {
        bool is_better = rows[i].predicted_ts > best->predicted_ts ||
                         !isfinite(best->predicted_ts) || !best->is_host_kv;
        if (is_better && rows[i].is_host_kv && isfinite(rows[i].predicted_ts))
            best = &rows[i];
    }
    return best;
}

/* The n rows of one configuration. */
static void md_line(struct kvs_md_table *t, struct md_layout *layout,
                    const struct kvs_row *rows, size_t n)
{
    const struct kvs_experiment *experiment = layout->context->experiment;
    const struct kvs_row *best = md_fastest(rows, n);
    for (unsigned s = 0; s < KVS_SETTING_COUNT; s++) {
        struct kvs_text value = {0};
        if (!md_shows(experiment, s))
            continue;
        kvs_experiment_print_value(experiment, (kvs_setting)s, rows->values[s], &value);
        kvs_md_cell(t, "%s", value.data != NULL ? value.data : "");
        kvs_text_fini(&value);
    }
    const struct kvs_row *first = rows[0].arm == 0 ? &rows[0] : NULL;
    for (size_t a = 0, i = 0; a < experiment->arms.n; a++) {
        bool has_row = i < n && rows[i].arm == a;
        md_arm(t, layout, a, has_row ? &rows[i] : NULL, first);
        i += has_row;
    }
    kvs_md_number(t, best->bound_ts);
    if (isfinite(best->share) && !layout->is_replay)
        kvs_md_cell(t, "%.0f%%", best->share * 100.0);
    else if (!layout->is_replay)
        kvs_md_cell(t, "-");
    md_busy(t, best->bottleneck, best->bottleneck_busy);
    if (!layout->is_replay)
        md_busy(t, best->runner_up, best->runner_up_busy);
}

static void md_head_placement(struct kvs_text *out, const struct kvs_experiment *e,
                              const struct kvs_row *row)
{
    bool has_shares = e->values[KVS_SETTING_TENSOR_SPLIT].n == 1;
    if (row->c.machine->n_devices < 2)
        return;
    if (e->values[KVS_SETTING_SPLIT_MODE].n == 1)
        kvs_text_printf(out, ", split %s%s%s", row->split_mode, has_shares ? " " : "",
                        has_shares ? row->tensor_split : "");
    else if (has_shares)
        kvs_text_printf(out, ", shares %s", row->tensor_split);
}

static void md_head_workload(struct kvs_text *out, const struct kvs_experiment *e,
                             const struct kvs_row *row)
{
    bool is_unified = row->is_unified && e->values[KVS_SETTING_UNIFIED].n == 1;
    if (!row->is_pinned && e->values[KVS_SETTING_PINNED].n == 1)
        kvs_text_puts(out, ", pageable");
    if (row->n_parallel > 1 && e->values[KVS_SETTING_N_PARALLEL].n == 1)
        kvs_text_printf(out, ", %" PRIu64 " sequences%s", row->n_parallel,
                        is_unified ? " in one cache" : "");
    else if (e->values[KVS_SETTING_N_PARALLEL].n > 1 && is_unified)
        kvs_text_puts(out, ", one cache for all sequences");
    if (e->values[KVS_SETTING_N_GEN].n == 1)
        kvs_text_printf(out, ", %" PRIu64 " token%s", row->n_gen, row->n_gen == 1 ? "" : "s");
}

/* Settings that few change: said when they are not what they are by themselves. */
static void md_head_rare(struct kvs_text *out, const struct kvs_experiment *e,
                         const struct kvs_row *row)
{
    static const struct {
        kvs_setting setting;
        uint64_t usual;
    } rare[] = {{KVS_SETTING_HEAD_SPLIT, 0},  {KVS_SETTING_N_ROWS, 1},
                {KVS_SETTING_N_CTX, 0},       {KVS_SETTING_KV_GPU_LAYERS, 0},
                {KVS_SETTING_ARBITRATION, 0}, {KVS_SETTING_FROZEN, 0},
                {KVS_SETTING_WINDOW_ROWS, 0}};
    for (size_t i = 0; i < KVS_COUNT_OF(rare); i++) {
        kvs_setting setting = rare[i].setting;
        if (e->values[setting].n != 1 || row->values[setting] == rare[i].usual)
            continue;
        kvs_text_printf(out, ", %s ", kvs_setting_key(setting));
        kvs_experiment_print_value(e, setting, row->values[setting], out);
    }
}

static bool md_has_ring(const struct kvs_experiment *e)
{
    bool has_ring = false;
    for (size_t a = 0; a < e->arms.n; a++)
        has_ring |= e->arms.items[a].lookahead > 0;
    return has_ring;
}

/* "rtx4070, qwen3.8-27b UD-IQ2_M, K q8_0, V q8_0, ...": what does not vary. */
static void md_head(struct kvs_text *out, const struct md_layout *layout)
{
    const struct kvs_row_context *context = layout->context;
    const struct kvs_experiment *e = context->experiment;
    const struct kvs_row *row = &layout->rows[0];
    if (e->name != NULL)
        kvs_text_printf(out, "%s: %s\n", e->name, e->question != NULL ? e->question : "");
    kvs_text_printf(out, "%s, %s%s%s", row->machine, row->model,
                    row->weights[0] != '\0' ? " " : "", row->weights);
    if (e->values[KVS_SETTING_TYPE_K].n == 1)
        kvs_text_printf(out, ", K %s", row->type_k);
    if (e->values[KVS_SETTING_TYPE_V].n == 1)
        kvs_text_printf(out, ", V %s", row->type_v);
    md_head_placement(out, e, row);
    md_head_workload(out, e, row);
    if (e->values[KVS_SETTING_KVPB].n == 1 && md_has_ring(e)) {
        if (row->kvpb_mib > 0)
            kvs_text_printf(out, ", ring budget %.10g MiB", row->kvpb_mib);
        else
            kvs_text_puts(out, ", no ring budget");
    }
    md_head_rare(out, e, row);
    kvs_text_puts(out, "\n\n");
}

void kvs_row_md(struct kvs_text *out, const struct kvs_row_context *context,
                const struct kvs_row *rows, size_t n)
{
    struct md_layout layout = {
        .context = context, .rows = rows, .n = n, .is_replay = context->replay != NULL};
    struct kvs_md_table table = {0};
    md_survey(&layout);
    md_head(out, &layout);
    md_titles(&table, &layout);
    for (size_t i = 0, k; i < n; i += k) {
        for (k = 1; i + k < n && rows[i + k].configuration == rows[i].configuration;)
            k++;
        md_line(&table, &layout, &rows[i], k);
    }
    kvs_md_print(&table, out);
    kvs_row_notes_print(&layout.notes, context, rows, n, out);
    if (layout.notes.status != KVS_OK)
        out->status = layout.notes.status;
    kvs_row_notes_fini(&layout.notes);
    kvs_md_fini(&table);
}
