/* What stands under a table: the numbered notes, then what the whole table rests on. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "formats/row_figures.h"
#include "formats/row_internal.h"

static void foot_interval(struct kvs_text *out, const struct kvs_param *param, kvs_unit unit)
{
    char lo[KVS_UNITS_BUF], hi[KVS_UNITS_BUF];
    if (param->lo < param->hi)
        kvs_text_printf(out, ", %s to %s",
                        kvs_figure_format(param->lo, unit, KVS_FIGURE_DIGITS, lo, sizeof lo),
                        kvs_figure_format(param->hi, unit, KVS_FIGURE_DIGITS, hi, sizeof hi));
}

static void foot_link(const struct kvs_device *device, const struct kvs_link *link,
                      struct kvs_text *out)
{
    const struct kvs_param *rate = &link->rate[KVS_H2D];
    char buf[KVS_UNITS_BUF];
    kvs_text_printf(
        out, "%s %s (", device->name,
        kvs_figure_format(rate->value, KVS_UNIT_RATE, KVS_FIGURE_DIGITS, buf, sizeof buf));
    if (link->is_rate_measured) {
        kvs_text_puts(out, kvs_origin_name(rate->origin));
    } else {
        double raw_Bps = kvs_pcie_raw_Bps(link->gen, link->lanes);
        kvs_text_printf(
            out, "gen%ux%u %s x %.2f", link->gen, link->lanes,
            kvs_figure_format(raw_Bps, KVS_UNIT_RATE, KVS_FIGURE_DIGITS, buf, sizeof buf),
            rate->value / raw_Bps);
    }
    foot_interval(out, rate, KVS_UNIT_RATE);
    kvs_text_puts(out, ")");
}

static void foot_links(const struct kvs_row *row, struct kvs_text *out)
{
    const struct kvs_machine *machine = row->c.machine;
    const char *before = "- links, host to device: ";
    for (uint32_t d = 0; d < machine->n_devices; d++) {
        const struct kvs_link *link = &machine->links[machine->devices[d].link];
        if (!kvs_case_uses_device(&row->c, d) || link->mode == KVS_LINK_UNLIMITED)
            continue;
        kvs_text_puts(out, before);
        foot_link(&machine->devices[d], link, out);
        before = "; ";
    }
    if (before[0] == ';')
        kvs_text_puts(out, "\n");
}

static void foot_compute(const struct kvs_row *row, struct kvs_text *out)
{
    const struct kvs_machine *machine = row->c.machine;
    const char *before = "- compute: ";
    char buf[KVS_UNITS_BUF];
    for (uint32_t d = 0; d < machine->n_devices; d++) {
        const struct kvs_device *device = &machine->devices[d];
        if (!kvs_case_uses_device(&row->c, d))
            continue;
        struct kvs_compute_cost cost = kvs_case_compute_cost(&row->c, d);
        kvs_text_printf(out, "%s%s ", before, device->name);
        before = "; ";
        if (cost.is_measured && !cost.profile) {
            kvs_text_printf(out, "kvsim's own kernels, %s (%s)",
                            kvs_figure_format(device->stream.rate.value, KVS_UNIT_RATE,
                                              KVS_FIGURE_DIGITS, buf, sizeof buf),
                            kvs_origin_name(device->stream.rate.origin));
            continue;
        }
        if (cost.profile == &row->c.llm->program) {
            kvs_text_printf(out, "the program's (%s)",
                            kvs_origin_name(cost.profile->fixed.origin));
            continue;
        }
        if (cost.is_measured) {
            kvs_text_printf(out, "profile (%s", kvs_origin_name(cost.profile->fixed.origin));
            if (cost.profile->kv_type != row->c.workload.type_k)
                kvs_text_printf(out, ", with %s", kvs_kv_type_name(cost.profile->kv_type));
            kvs_text_puts(out, ")");
            continue;
        }
        kvs_text_printf(out, "not measured: %s x %.2f",
                        kvs_figure_format(device->memory_rate.value, KVS_UNIT_RATE,
                                          KVS_FIGURE_DIGITS, buf, sizeof buf),
                        device->memory_efficiency.value);
        foot_interval(out, &device->memory_efficiency, KVS_UNIT_FRAC);
    }
    kvs_text_puts(out, "\n");
}

static void foot_memory(const struct kvs_row *row, struct kvs_text *out)
{
    const struct kvs_machine *machine = row->c.machine;
    const char *before = "- memory: not checked on ";
    for (uint32_t d = 0; d < machine->n_devices; d++) {
        if (machine->devices[d].is_memory_known || !kvs_case_uses_device(&row->c, d))
            continue;
        kvs_text_printf(out, "%s%s", before, machine->devices[d].name);
        before = ", ";
    }
    if (before[0] == ',')
        kvs_text_puts(out, ", whose size is unknown\n");
}

/* "n_depth 4096, type_k q8_0": depth and what varies. */
static void foot_configuration(const struct kvs_experiment *e, const struct kvs_row *row,
                               struct kvs_text *out)
{
    const char *before = "";
    for (unsigned s = 0; s < KVS_SETTING_COUNT; s++) {
        bool is_depth = s == KVS_SETTING_DEPTH;
        if (e->values[s].n < 2 && !is_depth)
            continue;
        kvs_text_printf(out, "%s%s ", before,
                        is_depth ? "n_depth" : kvs_setting_key((kvs_setting)s));
        kvs_experiment_print_value(e, (kvs_setting)s, row->values[s], out);
        before = ", ";
    }
}

#define FOOT_MAX_RANGES 8 /* lines; csv and json have them all */

/* How far the answer moves with the figures that nobody measured; a line per configuration. */
static void foot_ranges(const struct kvs_row_context *context, const struct kvs_row *rows,
                        size_t n, struct kvs_text *out)
{
    size_t last = SIZE_MAX, n_lines = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_new = rows[i].configuration != last;
        if (!isfinite(rows[i].lo_ts))
            continue;
        last = rows[i].configuration;
        n_lines += is_new;
        if (n_lines == 1 && is_new)
            kvs_text_puts(out, "- figures that were not measured leave these ranges:");
        if (n_lines > FOOT_MAX_RANGES)
            continue;
        if (is_new) {
            kvs_text_puts(out, "\n  - ");
            foot_configuration(context->experiment, &rows[i], out);
        }
        kvs_text_printf(out, "%s %s between %.2f and %.2f t/s", is_new ? ":" : ",",
                        rows[i].arm_name, rows[i].lo_ts, rows[i].hi_ts);
    }
    if (n_lines > FOOT_MAX_RANGES)
        kvs_text_printf(out, "\n  - ... and %zu more, in csv or json",
                        n_lines - FOOT_MAX_RANGES);
    if (n_lines > 0)
        kvs_text_puts(out, "\n");
}

static bool foot_needs_patch(const struct kvs_arm *arm)
{
    return arm->streams != KVS_STREAMS_ONE || arm->yield != KVS_YIELD_NONE ||
           arm->late != KVS_LATE_COPY;
}

/* Rows by the hash of their flags without depth, and room for their depths. */
struct foot_flags {
    const struct kvs_row *rows;
    size_t n;
    uint64_t *hashes; /* [n] */
    uint64_t *depths; /* [n], scratch */
};

#define FOOT_MIN_RANGE 4 /* depths in equal steps that are written first-last+step */

/* Depths from `at` on in equal steps upwards. */
static size_t foot_equal_steps(const uint64_t *depths, size_t n, size_t at)
{
    size_t end = at + 1;
    while (end < n && depths[end] > depths[end - 1] &&
           depths[end] - depths[end - 1] == depths[at + 1] - depths[at])
        end++;
    return end - at;
}

static void foot_depths(const uint64_t *depths, size_t n, struct kvs_text *out)
{
    for (size_t i = 0; i < n;) {
        size_t n_steps = foot_equal_steps(depths, n, i);
        kvs_text_printf(out, "%s%" PRIu64, i > 0 ? "," : " -d ", depths[i]);
        if (n_steps >= FOOT_MIN_RANGE)
            kvs_text_printf(out, "-%" PRIu64 "+%" PRIu64, depths[i + n_steps - 1],
                            depths[i + 1] - depths[i]);
        i += n_steps >= FOOT_MIN_RANGE ? n_steps : 1;
    }
}

/* Flags of row i, and the depths of all rows from i on that share its flags. */
static void foot_flags_line(const struct foot_flags *f, size_t i, struct kvs_text *out)
{
    size_t n_depths = 0;
    kvs_text_puts(out, "  - `");
    kvs_row_print_flags(&f->rows[i], false, out);
    for (size_t k = i; k < f->n; k++) {
        bool is_seen = f->hashes[k] != f->hashes[i];
        for (size_t j = 0; j < n_depths && !is_seen; j++)
            is_seen = f->depths[j] == f->rows[k].n_depth;
        if (!is_seen)
            f->depths[n_depths++] = f->rows[k].n_depth;
    }
    foot_depths(f->depths, n_depths, out);
    kvs_text_puts(out, "`\n");
}

/* The lines of rows with the cache on the host, whose flags are the fork's, or of the others. */
static void foot_flags_lines(const struct foot_flags *f, bool is_host_kv, struct kvs_text *out)
{
    const char *title =
        is_host_kv ? "- flags of the llama.cpp fork:\n" : "- llama.cpp flags:\n";
    for (size_t i = 0; i < f->n; i++) {
        bool is_seen = f->rows[i].is_host_kv != is_host_kv || f->hashes[i] == 0;
        for (size_t j = 0; j < i && !is_seen; j++)
            is_seen = f->hashes[j] == f->hashes[i];
        if (is_seen)
            continue;
        kvs_text_puts(out, title);
        title = "";
        foot_flags_line(f, i, out);
    }
}

static void foot_flags(const struct kvs_row_context *context, const struct kvs_row *rows,
                       size_t n, struct kvs_text *out)
{
    void *memory;
    bool needs_patch = false, has_continuous = false;
    if (kvs_mem_alloc(2 * n, sizeof(uint64_t), &memory, NULL) != KVS_OK) {
        out->status = KVS_ENOMEM;
        return;
    }
    struct foot_flags f = {rows, n, memory, (uint64_t *)memory + n};
    for (size_t i = 0; i < n; i++) {
        struct kvs_text text = {0};
        kvs_row_print_flags(&rows[i], false, &text);
        f.hashes[i] = text.n > 0 ? kvs_hash(text.data, text.n, 0) : 0;
        has_continuous |= text.n == 0;
        kvs_text_fini(&text);
    }
    foot_flags_lines(&f, false, out);
    foot_flags_lines(&f, true, out);
    for (size_t a = 0; a < context->experiment->arms.n; a++)
        needs_patch |= foot_needs_patch(&context->experiment->arms.items[a]);
    if (needs_patch)
        kvs_text_puts(out, "- per-slot, yield and late-kernel have no flag in llama.cpp: their "
                           "flags are those of plain pipelined\n");
    if (has_continuous)
        kvs_text_puts(out, "- continuous is neither in llama.cpp nor in its fork\n");
    kvs_mem_free(memory);
}

/* Rows of one configuration whose digest is not that of its first row with one. */
static bool foot_digests_are_equal(const struct kvs_row *rows, size_t n)
{
    const struct kvs_row *first = NULL;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].digest[0] == '\0')
            continue;
        if (first == NULL || first->configuration != rows[i].configuration)
            first = &rows[i];
        if (strcmp(first->digest, rows[i].digest) != 0)
            return false;
    }
    return true;
}

static void foot_digests(const struct kvs_row *rows, size_t n, struct kvs_text *out)
{
    size_t n_digests = 0;
    for (size_t i = 0; i < n; i++)
        n_digests += rows[i].digest[0] != '\0';
    if (n_digests == 0)
        kvs_text_puts(out, "no bytes were moved");
    else if (!foot_digests_are_equal(rows, n))
        kvs_text_puts(out, "DIGESTS DIFFER");
    else if (n_digests > 1)
        kvs_text_puts(out, "digests of a line are equal");
    else
        kvs_text_printf(out, "digest %s", rows[0].digest);
}

static const char *foot_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* " at 10 times the model's time": an executor that slows everything down alike. */
static void foot_time_scale(const struct kvs_row *rows, size_t n, struct kvs_text *out)
{
    double least = 0.0, most = 0.0;
    for (size_t i = 0; i < n; i++) {
        double scale = rows[i].time_scale; /* NaN: not run */
        least = scale > 0.0 && (least == 0.0 || scale < least) ? scale : least;
        most = scale > most ? scale : most;
    }
    if (most == 0.0 || (least == 1.0 && most == 1.0))
        return;
    kvs_text_printf(out, " at %g", least);
    if (most > least)
        kvs_text_printf(out, " to %g", most);
    kvs_text_puts(out, " times the model's time");
}

/* What ran, and how to read what it measured. */
static void foot_replay(const struct kvs_row_context *context, const struct kvs_row *rows,
                        size_t n, struct kvs_text *out)
{
    const struct kvs_row_replay *replay = context->replay;
    bool has_gain = context->experiment->arms.n > 1;
    kvs_text_printf(out, "- executor %s%s", replay->executor,
                    replay->is_measured ? "" : ", which measures no time");
    foot_time_scale(rows, n, out);
    kvs_text_printf(out, ": %u repetition%s after %u warm-up run%s; ", replay->n_repetitions,
                    foot_plural(replay->n_repetitions), replay->n_warmup,
                    foot_plural(replay->n_warmup));
    foot_digests(rows, n, out);
    kvs_text_puts(out, "\n");
    if (strstr(replay->executor, "emulated"))
        kvs_text_puts(out,
                      "- emulated: shows what the plans give at this machine's pace, by real "
                      "bytes and waits; it says nothing of the machine's own hardware\n");
    if (replay->is_measured)
        kvs_text_printf(out,
                        "- measured: rate of the median time, \xc2\xb1 half of its 95%% "
                        "interval%s\n",
                        has_gain ? "; gain over the first policy, no difference where the 95% "
                                   "interval of paired differences covers 0"
                                 : "");
    else if (has_gain)
        kvs_text_puts(out, "- gain over the first policy\n");
    kvs_text_puts(out, "- bottleneck of the fastest policy, as predicted, with its busy share "
                       "of a token\n");
}

void kvs_row_notes_print(const struct kvs_row_notes *notes,
                         const struct kvs_row_context *context, const struct kvs_row *rows,
                         size_t n, struct kvs_text *out)
{
    kvs_text_puts(out, "\n");
    for (size_t i = 0; i < notes->items.n; i++)
        kvs_text_printf(out, "[%zu] %s\n", i + 1, notes->items.items[i]);
    if (notes->items.n > 0)
        kvs_text_puts(out, "\n");
    if (context->replay != NULL)
        foot_replay(context, rows, n, out);
    else if (context->experiment->arms.n > 1)
        kvs_text_puts(out, "- gain over the first policy; share of the bound, bottleneck and "
                           "runner-up (busy share of a token) of the fastest\n");
    else
        kvs_text_puts(out,
                      "- share of the bound; bottleneck and runner-up with their busy share "
                      "of a token\n");
    foot_links(&rows[0], out);
    foot_compute(&rows[0], out);
    foot_memory(&rows[0], out);
    foot_ranges(context, rows, n, out);
    foot_flags(context, rows, n, out);
}
