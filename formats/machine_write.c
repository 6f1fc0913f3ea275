/*
 * Writes a machine part by part. The list of figures (formats/row_figures.h) says what there is
 * and under which key; a machine read from a few lines says what a reader fills in by itself.
 */
#include "formats/machine_write.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "formats/machine_write_parts.h"
#include "formats/row_figures.h"

struct machine_writer {
    const struct kvs_machine *machine;
    struct kvs_machine *defaults; /* a device with a profile, about which nothing is said */
    struct kvs_text *out;
};

static const char *const backends[] = {"nccl-p2p", "nccl-host", "host"}; /* as the enum */

/* A backend has defaults of its own. */
static kvs_status write_defaults(struct machine_writer *w)
{
    struct kvs_text yaml = {0};
    struct kvs_diags diags;
    kvs_diags_init(&diags);
    kvs_text_printf(&yaml,
                    "{kind: machine, name: a, collective: {backend: %s}, devices: [{pcie: "
                    "gen1x1, memory_rate: 1GB/s, flops: 1TFLOP/s, profiles: [{model: a, "
                    "kv_type: f16, fixed: 1s, per_row: 1s}]}]}",
                    backends[w->machine->collective.backend]);
    kvs_status status = yaml.status;
    if (status == KVS_OK)
        status = kvs_machine_parse("defaults", yaml.data, yaml.n, NULL, NULL, &diags,
                                   &w->defaults, NULL);
    kvs_diags_fini(&diags);
    kvs_text_fini(&yaml);
    return status;
}

static bool write_is_same(double a, double b)
{
    return !(a < b) && !(a > b);
}

static bool write_is_default(const struct kvs_param *param, const struct kvs_param *preset)
{
    return param->origin == KVS_ORIGIN_DEFAULT && preset->origin == KVS_ORIGIN_DEFAULT &&
           param->build[0] == '\0' && strcmp(param->source, preset->source) == 0 &&
           write_is_same(param->value, preset->value) && write_is_same(param->lo, preset->lo) &&
           write_is_same(param->hi, preset->hi);
}

static void write_figure(struct machine_writer *w, int indent, const char *key,
                         const struct kvs_param *param, kvs_unit unit)
{
    kvs_text_printf(w->out, "%*s%s: ", indent, "", key);
    kvs_machine_write_figure(param, unit, w->out);
    kvs_text_puts(w->out, "\n");
}

static bool write_is_plain_word(const char *word)
{
    static const char *const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return word[0] != '\0' && strchr(letters, word[0]) != NULL && strcmp(word, "null") != 0 &&
           word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                             "._-")] == '\0';
}

/* A name, in quotes where YAML could see more in it. */
static void write_word(struct machine_writer *w, int indent, const char *key, const char *word)
{
    kvs_text_printf(w->out, "%*s%s: ", indent, "", key);
    if (write_is_plain_word(word))
        kvs_text_puts(w->out, word);
    else
        kvs_machine_write_text(word, w->out);
    kvs_text_puts(w->out, "\n");
}

/* Those figures of the list that lie in part[size_bytes), unless they are as in preset. */
static void write_figures(struct machine_writer *w, int indent,
                          const struct kvs_figures *figures, const void *part,
                          size_t size_bytes, const void *preset)
{
    for (size_t i = 0; i < figures->n; i++) {
        const struct kvs_figure *figure = &figures->items[i];
        const char *at = (const char *)figure->param, *base = part;
        if (at < base || at >= base + size_bytes)
            continue;
        const void *same = (const char *)preset + (at - base);
        const char *dot = strrchr(figure->name, '.');
        if (preset == NULL || !write_is_default(figure->param, same))
            write_figure(w, indent, dot != NULL ? dot + 1 : figure->name, figure->param,
                         figure->unit);
    }
}

static bool write_is_same_param(const struct kvs_param *a, const struct kvs_param *b)
{
    return a->origin == b->origin && write_is_same(a->value, b->value) &&
           write_is_same(a->lo, b->lo) && write_is_same(a->hi, b->hi) &&
           strcmp(a->source, b->source) == 0 && strcmp(a->build, b->build) == 0;
}

static void write_link_rates(struct machine_writer *w, int indent, const struct kvs_link *link)
{
    const struct kvs_param *rate = link->rate;
    if (link->gen > 0)
        kvs_text_printf(w->out, "%*spcie: gen%ux%u\n", indent, "", link->gen, link->lanes);
    if (link->is_rate_measured)
        write_figure(w, indent, "h2d", &rate[KVS_H2D], KVS_UNIT_RATE);
    else if (link->efficiency.origin != KVS_ORIGIN_DEFAULT)
        write_figure(w, indent, "efficiency", &link->efficiency, KVS_UNIT_FRAC);
    if (link->mode == KVS_LINK_SHARED)
        return;
    bool is_as_h2d = link->is_rate_measured
                         ? rate[KVS_D2H].origin == KVS_ORIGIN_DEFAULT
                         : write_is_same_param(&rate[KVS_D2H], &rate[KVS_H2D]);
    if (!is_as_h2d)
        write_figure(w, indent, "d2h", &rate[KVS_D2H], KVS_UNIT_RATE);
    if (link->opposite[KVS_H2D].origin != KVS_ORIGIN_DEFAULT)
        write_figure(w, indent, "opposite_h2d", &link->opposite[KVS_H2D], KVS_UNIT_RATE);
    if (link->opposite[KVS_D2H].origin != KVS_ORIGIN_DEFAULT)
        write_figure(w, indent, "opposite_d2h", &link->opposite[KVS_D2H], KVS_UNIT_RATE);
}

static void write_link(struct machine_writer *w, int indent, const struct kvs_link *link)
{
    static const char *const modes[] = {"duplex", "shared", "unlimited"}; /* as the enum */
    if (link->mode != KVS_LINK_DUPLEX)
        kvs_text_printf(w->out, "%*smode: %s\n", indent, "", modes[link->mode]);
    if (link->mode != KVS_LINK_UNLIMITED)
        write_link_rates(w, indent, link);
    if (link->latency.origin != KVS_ORIGIN_DEFAULT)
        write_figure(w, indent, "latency", &link->latency, KVS_UNIT_TIME);
}

/* A link that stands in its device: called as it, no other device's, and not the topmost. */
static bool write_is_inside(const struct kvs_machine *m, const struct kvs_device *device)
{
    const struct kvs_link *link = &m->links[device->link];
    unsigned n_users = 0;
    for (uint32_t d = 0; d < m->n_devices; d++)
        n_users += m->devices[d].link == device->link;
    return n_users == 1 && link->parent >= 0 && strcmp(link->name, device->name) == 0;
}

static bool write_is_link_inside(const struct kvs_machine *m, uint32_t link)
{
    for (uint32_t d = 0; d < m->n_devices; d++)
        if (m->devices[d].link == link)
            return write_is_inside(m, &m->devices[d]);
    return false;
}

/* The root that a reader makes when a device has a link of its own and no parent. */
static bool write_is_implied(const struct kvs_machine *m, uint32_t link)
{
    const struct kvs_link *root = &m->links[link];
    if (strcmp(root->name, "root") != 0 || root->parent >= 0 ||
        root->mode != KVS_LINK_UNLIMITED || root->latency.origin != KVS_ORIGIN_DEFAULT)
        return false;
    for (uint32_t d = 0; d < m->n_devices; d++)
        if (m->links[m->devices[d].link].parent == (int32_t)link &&
            write_is_inside(m, &m->devices[d]))
            return true;
    return false;
}

static void write_links(struct machine_writer *w)
{
    const struct kvs_machine *m = w->machine;
    bool has_head = false;
    for (uint32_t l = 0; l < m->n_links; l++) {
        if (write_is_link_inside(m, l) || write_is_implied(m, l))
            continue;
        kvs_text_puts(w->out, has_head ? "" : "\nlinks:\n");
        has_head = true;
        write_word(w, 2, "- name", m->links[l].name);
        if (m->links[l].parent >= 0)
            write_word(w, 4, "parent", m->links[m->links[l].parent].name);
        write_link(w, 4, &m->links[l]);
    }
}

static void write_row_curve(struct machine_writer *w, const struct kvs_row_curve *curve)
{
    char number[KVS_UNITS_BUF];
    if (curve->n == 0)
        return;
    kvs_text_puts(w->out, "      row_curve:\n");
    if (curve->source[0] != '\0') {
        kvs_text_puts(w->out, "        source: ");
        kvs_machine_write_text(curve->source, w->out);
        kvs_text_puts(w->out, "\n");
    }
    kvs_text_puts(w->out, "        points:\n");
    for (uint32_t i = 0; i < curve->n; i++)
        kvs_text_printf(w->out, "          - [%" PRIu32 "B, %s]\n", curve->width_bytes[i],
                        kvs_format_f64(curve->efficiency[i], number, sizeof number));
}

static void write_engines(struct machine_writer *w, const struct kvs_figures *figures,
                          const struct kvs_device *device)
{
    static const char *const rules[] = {"sticky", "fifo"};        /* as the enum */
    static const char *const first_turns[] = {"free", "chained"}; /* as the enum */
    const struct kvs_engines *engines = &device->engines;
    kvs_text_printf(w->out, "    engines:\n      arbitration: %s\n      first_turn: %s\n",
                    rules[engines->arbitration], first_turns[engines->first_turn]);
    write_figures(w, 6, figures, engines, sizeof *engines, &w->defaults->devices[0].engines);
    write_row_curve(w, &engines->row_curve);
}

static void write_stream(struct machine_writer *w, const struct kvs_figures *figures,
                         const struct kvs_stream_kernels *stream)
{
    if (stream->rate.value <= 0.0)
        return;
    kvs_text_puts(w->out, "    stream:\n");
    write_figures(w, 6, figures, stream, sizeof *stream, &w->defaults->devices[0].stream);
}

static void write_profile(struct machine_writer *w, const struct kvs_figures *figures,
                          const struct kvs_compute_profile *profile)
{
    struct kvs_compute_profile preset = w->defaults->devices[0].profiles[0];
    char number[KVS_UNITS_BUF];
    /* its default depends on the links */
    if (profile->copy_slowdown.origin == KVS_ORIGIN_DEFAULT &&
        strcmp(profile->copy_slowdown.source, preset.copy_slowdown.source) == 0)
        preset.copy_slowdown = profile->copy_slowdown;
    write_word(w, 6, "- model", profile->model);
    if (profile->weights[0] != '\0')
        write_word(w, 8, "weights", profile->weights);
    write_word(w, 8, "kv_type", kvs_kv_type_name(profile->kv_type));
    if (profile->head_share < 1.0)
        kvs_text_printf(w->out, "        head_share: %s\n",
                        kvs_format_f64(profile->head_share, number, sizeof number));
    write_figures(w, 8, figures, profile, sizeof *profile, &preset);
}

static void write_device(struct machine_writer *w, uint32_t d,
                         const struct kvs_figures *figures)
{
    const struct kvs_machine *m = w->machine;
    const struct kvs_device *device = &m->devices[d];
    const struct kvs_link *link = &m->links[device->link];
    const char *parent = link->parent >= 0 ? m->links[link->parent].name : "";
    const struct kvs_device *preset = &w->defaults->devices[0];
    size_t card_bytes = sizeof *device - offsetof(struct kvs_device, memory_bytes);
    write_word(w, 2, "- name", device->name);
    if (device->gpu[0] != '\0')
        write_word(w, 4, "gpu", device->gpu);
    if (!write_is_inside(m, device))
        write_word(w, 4, "link", link->name);
    else if (strcmp(parent, "root") != 0)
        write_word(w, 4, "parent", parent);
    if (write_is_inside(m, device))
        write_link(w, 4, link);
    write_figures(w, 4, figures, &device->memory_bytes, card_bytes, &preset->memory_bytes);
    write_engines(w, figures, device);
    write_stream(w, figures, &device->stream);
    kvs_text_puts(w->out, device->n_profiles > 0 ? "    profiles:\n" : "");
    for (uint32_t p = 0; p < device->n_profiles; p++)
        write_profile(w, figures, &device->profiles[p]);
}

static void write_host(struct machine_writer *w, const struct kvs_figures *figures)
{
    const struct kvs_host *host = &w->machine->host;
    kvs_text_printf(w->out, "\nhost:\n  submit: %s\n",
                    host->submit == KVS_SUBMIT_GRAPH ? "graph" : "kernels");
    write_figures(w, 2, figures, host, sizeof *host, &w->defaults->host);
}

/* Also where there is one device, and nobody lists its figures. */
static void write_collective(struct machine_writer *w)
{
    const struct kvs_collective *c = &w->machine->collective;
    const struct kvs_collective *preset = &w->defaults->collective;
    const struct {
        const char *key;
        const struct kvs_param *param, *preset;
        kvs_unit unit;
    } fields[] = {{"latency", &c->latency, &preset->latency, KVS_UNIT_TIME},
                  {"trips", &c->trips, &preset->trips, KVS_UNIT_PLAIN},
                  {"rate", &c->rate, &preset->rate, KVS_UNIT_RATE}};
    bool has_more = w->machine->n_devices > 1 || c->backend != KVS_BACKEND_NCCL_HOST;
    for (size_t i = 0; i < KVS_COUNT_OF(fields); i++)
        has_more |= !write_is_default(fields[i].param, fields[i].preset);
    if (!has_more)
        return;
    kvs_text_printf(w->out, "\ncollective:\n  backend: %s\n", backends[c->backend]);
    for (size_t i = 0; i < KVS_COUNT_OF(fields); i++)
        if (!write_is_default(fields[i].param, fields[i].preset))
            write_figure(w, 2, fields[i].key, fields[i].param, fields[i].unit);
}

kvs_status kvs_machine_write(const struct kvs_machine *machine, struct kvs_text *out)
{
    struct machine_writer w = {.machine = machine, .out = out};
    struct kvs_figures figures = {0};
    kvs_status status = KVS_OK;
    KVS_TRY_GOTO(write_defaults(&w), out);
    kvs_text_puts(out, "kind: machine\n");
    write_word(&w, 0, "name", machine->name);
    if (machine->description[0] != '\0') {
        kvs_text_puts(out, "description: ");
        kvs_machine_write_text(machine->description, out);
        kvs_text_puts(out, "\n");
    }
    if (machine->build[0] != '\0')
        write_word(&w, 0, "build", machine->build);
    write_links(&w);
    kvs_text_puts(out, "\ndevices:\n");
    for (uint32_t d = 0; d < machine->n_devices; d++) {
        figures.n = 0;
        KVS_TRY_GOTO(kvs_figures_add_device(&figures, machine, d, NULL), out);
        write_device(&w, d, &figures);
    }
    figures.n = 0;
    KVS_TRY_GOTO(kvs_figures_add_host(&figures, machine, NULL), out);
    write_host(&w, &figures);
    write_collective(&w);
    status = out->status;
out:
    KVS_ARRAY_FREE(&figures);
    kvs_machine_destroy(w.defaults);
    if (status != KVS_OK && out->status == KVS_OK)
        out->status = status;
    return status;
}
