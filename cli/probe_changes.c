/* Two machines of the same shape, figure by figure. */
#include "cli/probe_changes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "formats/row_figures.h"
#include "models/copy.h"

#define CHANGES_LEAST_S 0.1e-6 /* nothing here takes so little that this would matter */
/* Host calls drifted by as much within minutes on one virtual H200, and a token has some hundred. */
#define CHANGES_LEAST_HOST_S 0.5e-6

struct changes {
    const struct kvs_machine *was, *is;
    const struct kvs_probe_report *report;
    struct kvs_text *out;
    size_t n, n_compared;
};

static void changes_figure(struct changes *c, const struct kvs_figure *was,
                           const struct kvs_figure *is)
{
    char before[KVS_UNITS_BUF], now[KVS_UNITS_BUF], lo[KVS_UNITS_BUF], hi[KVS_UNITS_BUF];
    const struct kvs_param *p = was->param, *q = is->param;
    if (!kvs_probe_report_has(c->report, q))
        return;
    c->n_compared++;
    bool is_host = strncmp(is->name, "host.", 5) == 0;
    double least = was->unit != KVS_UNIT_TIME ? 0
                   : is_host                  ? CHANGES_LEAST_HOST_S
                                              : CHANGES_LEAST_S;
    if (!kvs_probe_has_changed(p, q, least))
        return;
    c->n++;
    kvs_text_printf(
        c->out, "%s: was %s (%s), is %s (%s to %s)", is->name,
        kvs_figure_format(p->value, was->unit, KVS_FIGURE_DIGITS, before, sizeof before),
        kvs_origin_name(p->origin),
        kvs_figure_format(q->value, is->unit, KVS_FIGURE_DIGITS, now, sizeof now),
        kvs_figure_format(q->lo, is->unit, KVS_FIGURE_DIGITS, lo, sizeof lo),
        kvs_figure_format(q->hi, is->unit, KVS_FIGURE_DIGITS, hi, sizeof hi));
    if (p->value > 0)
        kvs_text_printf(c->out, ", %+.1f%%", (q->value / p->value - 1) * 100);
    kvs_text_puts(c->out, "\n");
}

static kvs_status changes_list(const struct kvs_machine *machine, struct kvs_figures *out,
                               struct kvs_error *err)
{
    for (uint32_t l = 0; l < machine->n_links; l++)
        if (!kvs_link_is_of_device(machine, &machine->links[l]))
            KVS_TRY(kvs_figures_add_link(out, &machine->links[l], err));
    for (uint32_t d = 0; d < machine->n_devices; d++)
        KVS_TRY(kvs_figures_add_device(out, machine, d, err));
    return kvs_figures_add_host(out, machine, err);
}

static kvs_status changes_figures(struct changes *c, struct kvs_error *err)
{
    struct kvs_figures was = {0}, is = {0};
    kvs_status status = changes_list(c->was, &was, err);
    if (status == KVS_OK)
        status = changes_list(c->is, &is, err);
    KVS_ASSERT(status != KVS_OK || was.n == is.n);
    for (size_t i = 0; i < is.n && status == KVS_OK; i++)
        changes_figure(c, &was.items[i], &is.items[i]);
    KVS_ARRAY_FREE(&was);
    KVS_ARRAY_FREE(&is);
    return status;
}

/* A word of a rule: what was measured, where it is not the file's. */
static void changes_word(struct changes *c, const void *measured, const char *device,
                         const char *key, const char *was, const char *is, bool is_same)
{
    if (!kvs_probe_report_has(c->report, measured))
        return;
    c->n_compared++;
    if (is_same)
        return;
    c->n++;
    kvs_text_printf(c->out, "%s%s: was %s, is %s\n", device, key, was, is);
}

/* Widths that were measured, against the file's curve. */
static void changes_curve(struct changes *c, const struct kvs_device *was,
                          const struct kvs_device *is)
{
    const struct kvs_row_curve *curve = &is->engines.row_curve;
    if (!kvs_probe_report_has(c->report, curve))
        return;
    for (uint32_t i = 0; i < curve->n; i++) {
        double share = kvs_row_efficiency(&was->engines.row_curve, curve->width_bytes[i]);
        struct kvs_param before = {.value = share, .lo = share, .hi = share};
        struct kvs_param now = {.value = curve->efficiency[i],
                                .lo = curve->efficiency[i],
                                .hi = curve->efficiency[i]};
        c->n_compared++;
        if (!kvs_probe_has_changed(&before, &now, 0))
            continue;
        c->n++;
        kvs_text_printf(c->out,
                        "%s.engines.row_curve: rows of %" PRIu32
                        " B were copied at %.3f of the rate, are at %.3f\n",
                        is->name, curve->width_bytes[i], before.value, now.value);
    }
}

static void changes_device(struct changes *c, uint32_t d)
{
    static const char *const rules[] = {"sticky", "fifo"};        /* as the enum */
    static const char *const first_turns[] = {"free", "chained"}; /* as the enum */
    const struct kvs_device *was = &c->was->devices[d], *is = &c->is->devices[d];
    const struct kvs_link *before = &c->was->links[was->link], *now = &c->is->links[is->link];
    char slot_was[32], slot_is[32];
    changes_word(c, &is->engines.arbitration, is->name, ".engines.arbitration",
                 rules[was->engines.arbitration], rules[is->engines.arbitration],
                 was->engines.arbitration == is->engines.arbitration);
    changes_word(c, &is->engines.first_turn, is->name, ".engines.first_turn",
                 first_turns[was->engines.first_turn], first_turns[is->engines.first_turn],
                 was->engines.first_turn == is->engines.first_turn);
    (void)snprintf(slot_was, sizeof slot_was, "gen%ux%u", before->gen, before->lanes);
    (void)snprintf(slot_is, sizeof slot_is, "gen%ux%u", now->gen, now->lanes);
    changes_word(c, &now->gen, is->name, ".pcie", slot_was, slot_is,
                 before->gen == 0 || (before->gen == now->gen && before->lanes == now->lanes));
    changes_curve(c, was, is);
}

/* The slowest link above the device's own, 0: none has a rate. */
static double changes_above_Bps(const struct kvs_machine *m, uint32_t d)
{
    double rate_Bps = 0;
    for (int32_t l = m->links[m->devices[d].link].parent; l >= 0; l = m->links[l].parent)
        if (m->links[l].mode != KVS_LINK_UNLIMITED &&
            (rate_Bps <= 0 || m->links[l].rate[KVS_H2D].value < rate_Bps))
            rate_Bps = m->links[l].rate[KVS_H2D].value;
    return rate_Bps;
}

/* Links that were found to be shared: does the file have one as slow above their devices? */
static void changes_group(struct changes *c, const struct kvs_probe_group *group)
{
    char buf[KVS_UNITS_BUF];
    for (uint32_t d = 0; d < c->was->n_devices && d < KVS_PROBE_MAX_GPUS; d++) {
        double rate_Bps = changes_above_Bps(c->was, d);
        struct kvs_param before = {.value = rate_Bps, .lo = rate_Bps, .hi = rate_Bps};
        if ((group->devices >> d & 1) == 0)
            continue;
        c->n_compared++;
        if (!kvs_probe_has_changed(&before, &group->rate[KVS_H2D], 0))
            continue;
        c->n++;
        kvs_text_printf(c->out, "%s: shares a link of %s with other devices, which the file ",
                        c->was->devices[d].name,
                        kvs_format_rate(group->rate[KVS_H2D].value, buf, sizeof buf));
        if (rate_Bps > 0)
            kvs_text_printf(c->out, "has at %s\n", kvs_format_rate(rate_Bps, buf, sizeof buf));
        else
            kvs_text_puts(c->out, "does not have\n");
    }
}

kvs_status kvs_probe_changes(const struct kvs_machine *was, const struct kvs_machine *is,
                             const struct kvs_probe_report *report, struct kvs_text *out,
                             size_t *out_n, struct kvs_error *err)
{
    static const char *const backends[] = {"nccl-p2p", "nccl-host", "host"}; /* as the enum */
    struct changes c = {.was = was, .is = is, .report = report, .out = out};
    KVS_TRY(changes_figures(&c, err));
    for (uint32_t d = 0; d < is->n_devices; d++)
        changes_device(&c, d);
    changes_word(&c, &is->collective.backend, "", "collective.backend",
                 backends[was->collective.backend], backends[is->collective.backend],
                 was->collective.backend == is->collective.backend);
    for (size_t i = 0; i < report->groups.n; i++)
        changes_group(&c, &report->groups.items[i]);
    kvs_text_printf(out, "%zu of %zu measured figures have changed\n", c.n, c.n_compared);
    *out_n = c.n;
    return out->status == KVS_OK ? KVS_OK : kvs_error_set(err, out->status, "out of memory");
}
