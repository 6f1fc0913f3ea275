/* Prints back what was read, with units and origins. */
#include "cli/check_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/row_figures.h"
#include "models/kv.h"

static const char *print_s(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void print_figure(const struct kvs_figure *figure, struct kvs_text *out)
{
    const struct kvs_param *p = figure->param;
    char value[KVS_UNITS_BUF], lo[KVS_UNITS_BUF], hi[KVS_UNITS_BUF];
    bool is_none = p->value == 0.0 && figure->zero != NULL;
    kvs_text_printf(out, "  %-36s %14s  %s", figure->name,
                    is_none ? figure->zero
                            : kvs_figure_format(p->value, figure->unit, KVS_FIGURE_DIGITS,
                                                value, sizeof value),
                    kvs_origin_name(p->origin));
    if (p->lo < p->hi)
        kvs_text_printf(
            out, ", %s to %s",
            kvs_figure_format(p->lo, figure->unit, KVS_FIGURE_DIGITS, lo, sizeof lo),
            kvs_figure_format(p->hi, figure->unit, KVS_FIGURE_DIGITS, hi, sizeof hi));
    if (p->build[0] != '\0')
        kvs_text_printf(out, ", build %s", p->build);
    if (p->source[0] != '\0')
        kvs_text_printf(out, ": %s", p->source);
    kvs_text_puts(out, "\n");
}

static void print_figures(const struct kvs_figures *figures, size_t from, struct kvs_text *out)
{
    for (size_t i = from; i < figures->n; i++)
        print_figure(&figures->items[i], out);
}

static void print_link(const struct kvs_machine *machine, const struct kvs_link *link,
                       struct kvs_text *out)
{
    static const char *const modes[] = {"duplex", "shared by both directions", "no limit"};
    kvs_text_printf(out, "link %s: %s", link->name, modes[link->mode]);
    if (link->gen > 0)
        kvs_text_printf(out, ", gen%ux%u", link->gen, link->lanes);
    if (link->mode != KVS_LINK_UNLIMITED)
        kvs_text_puts(out, link->is_rate_measured ? ", rate as given" : ", raw x efficiency");
    kvs_text_printf(out, ", under %s\n",
                    link->parent < 0 ? "host memory" : machine->links[link->parent].name);
}

static void print_device(const struct kvs_machine *machine, const struct kvs_device *device,
                         struct kvs_text *out)
{
    kvs_text_printf(out, "device %s: %s, on link %s, %u copy engine%s served %s%s\n",
                    device->name, device->gpu[0] != '\0' ? device->gpu : "card without a name",
                    machine->links[device->link].name, (unsigned)device->engines.n_engines,
                    print_s(device->engines.n_engines),
                    device->engines.arbitration == KVS_ARB_STICKY ? "stream by stream (sticky)"
                                                                  : "first come first served",
                    device->is_memory_known ? "" : ", memory not known: not checked");
}

kvs_status kvs_check_print_machine(const struct kvs_machine *machine, struct kvs_text *out,
                                   struct kvs_error *err)
{
    struct kvs_figures figures = {0};
    kvs_status status = KVS_OK;
    size_t from = 0;
    kvs_text_printf(out, "machine %s%s%s\n", machine->name,
                    machine->description[0] != '\0' ? ": " : "", machine->description);
    if (machine->build[0] != '\0')
        kvs_text_printf(out, "build %s\n", machine->build);
    for (uint32_t l = 0; l < machine->n_links; l++) {
        print_link(machine, &machine->links[l], out);
        if (kvs_link_is_of_device(machine, &machine->links[l]))
            continue;
        KVS_TRY_GOTO(kvs_figures_add_link(&figures, &machine->links[l], err), out);
        print_figures(&figures, from, out);
        from = figures.n;
    }
    for (uint32_t d = 0; d < machine->n_devices; d++) {
        print_device(machine, &machine->devices[d], out);
        KVS_TRY_GOTO(kvs_figures_add_device(&figures, machine, d, err), out);
        print_figures(&figures, from, out);
        from = figures.n;
    }
    kvs_text_printf(out, "host: a split is submitted %s\n",
                    machine->host.submit == KVS_SUBMIT_GRAPH ? "as a graph"
                                                             : "kernel by kernel");
    KVS_TRY_GOTO(kvs_figures_add_host(&figures, machine, err), out);
    print_figures(&figures, from, out);
out:
    KVS_ARRAY_FREE(&figures);
    return status;
}

kvs_status kvs_check_print_card(const struct kvs_machine *machine, struct kvs_text *out,
                                struct kvs_error *err)
{
    struct kvs_figures figures = {0};
    const struct kvs_device *device = &machine->devices[0];
    kvs_status status = kvs_figures_add_device(&figures, machine, 0, err);
    kvs_text_printf(out, "gpu %s: %u copy engine%s\n", device->gpu,
                    (unsigned)device->engines.n_engines, print_s(device->engines.n_engines));
    for (size_t i = 0; i < figures.n && status == KVS_OK; i++) {
        const void *param = figures.items[i].param;
        bool is_of_card = (const char *)param >= (const char *)device &&
                          (const char *)param < (const char *)(device + 1);
        if (!is_of_card)
            continue;
        char *name = figures.items[i].name;
        memmove(name, name + strlen(device->name) + 1, strlen(name) - strlen(device->name));
        print_figure(&figures.items[i], out);
    }
    KVS_ARRAY_FREE(&figures);
    return status;
}

static void print_layers(const struct kvs_llm *llm, struct kvs_text *out)
{
    static const char *const kinds[] = {"full attention", "sliding window", "recurrent",
                                        "without attention"};
    unsigned counts[KVS_COUNT_OF(kinds)] = {0};
    for (uint32_t l = 0; l < llm->n_layer; l++)
        counts[llm->layers[l].kind]++;
    kvs_text_printf(out, "  layers             %u:", (unsigned)llm->n_layer);
    for (size_t k = 0, n = 0; k < KVS_COUNT_OF(kinds); k++)
        if (counts[k] > 0)
            kvs_text_printf(out, "%s %u %s", n++ > 0 ? "," : "", counts[k], kinds[k]);
    if (llm->swa_window > 0)
        kvs_text_printf(out, ", window %u rows", (unsigned)llm->swa_window);
    kvs_text_puts(out, "\n");
}

static void print_cache(const struct kvs_llm *llm, struct kvs_text *out)
{
    static const kvs_kv_type types[] = {KVS_KV_F16, KVS_KV_Q8_0, KVS_KV_Q4_0};
    kvs_text_puts(out, "  cache per token   ");
    for (size_t i = 0; i < KVS_COUNT_OF(types); i++)
        kvs_text_printf(out, "%s %" PRIu64 " B at %s", i > 0 ? "," : "",
                        kvs_kv_growing_bytes_per_token(llm, types[i], types[i]),
                        kvs_kv_type_name(types[i]));
    uint64_t swa = kvs_kv_swa_bytes_per_cell(llm, KVS_KV_Q8_0, KVS_KV_Q8_0);
    if (swa > 0)
        kvs_text_printf(out, "; sliding layers %" PRIu64 " B per window cell at q8_0", swa);
    kvs_text_puts(out, "\n");
}

void kvs_check_print_model(const struct kvs_llm *llm, struct kvs_text *out)
{
    char buf[KVS_UNITS_BUF], stored[KVS_UNITS_BUF];
    double active = (double)kvs_llm_active_params(llm);
    kvs_text_printf(out, "model %s\n", llm->name);
    kvs_text_printf(out, "  shape              %s: %s\n", llm->evidence, llm->source);
    print_layers(llm, out);
    print_cache(llm, out);
    kvs_text_printf(
        out, "  read per token     %.2f G weights, %s%s%s\n", active * 1e-9,
        kvs_format_bytes((uint64_t)(active * llm->weight_bytes_per_param), buf, sizeof buf),
        llm->weight_label[0] != '\0' ? " as " : "", llm->weight_label);
    kvs_text_printf(
        out, "  stored             %.2f G weights, %s\n", (double)llm->stored_params * 1e-9,
        kvs_format_bytes((uint64_t)((double)llm->stored_params * llm->weight_bytes_per_param),
                         stored, sizeof stored));
    if (llm->recurrent_bytes_per_seq > 0)
        kvs_text_printf(out, "  recurrent state    %s per sequence\n",
                        kvs_format_bytes(llm->recurrent_bytes_per_seq, buf, sizeof buf));
    kvs_text_printf(out, "  tensor split       %s\n",
                    llm->can_split_tensor ? "yes" : "refused by llama.cpp");
    if (llm->is_v_transposed)
        kvs_text_puts(out,
                      "  V                  transposed: the pipelined transport declines\n");
}

void kvs_check_print_experiment(const struct kvs_experiment *experiment,
                                size_t n_configurations, struct kvs_text *out)
{
    kvs_text_printf(out, "experiment %s: %s\n", experiment->name, experiment->question);
    kvs_text_printf(out, "  %-14s %s\n  %-14s %s\n", "machine", experiment->machine, "model",
                    experiment->model);
    for (unsigned s = 0; s < KVS_SETTING_COUNT; s++) {
        const struct kvs_values *values = &experiment->values[s];
        if (values->n == 0)
            continue;
        kvs_text_printf(out, "  %-14s", kvs_setting_key((kvs_setting)s));
        for (size_t i = 0; i < values->n; i++) {
            kvs_text_puts(out, i > 0 ? ", " : " ");
            kvs_experiment_print_value(experiment, (kvs_setting)s, values->items[i], out);
        }
        kvs_text_puts(out, s == KVS_SETTING_KVPB ? " MiB\n" : "\n");
    }
    kvs_text_printf(out, "  %-14s", "arms");
    for (size_t a = 0; a < experiment->arms.n; a++)
        kvs_text_printf(out, "%s%s", a > 0 ? ", " : " ", experiment->arms.items[a].name);
    if (experiment->measured != NULL)
        kvs_text_printf(out, "\n  %-14s %s", "measured", experiment->measured);
    kvs_text_printf(out, "\n  %-14s %zu configuration%s x %zu arm%s\n", "runs",
                    n_configurations, print_s(n_configurations), experiment->arms.n,
                    print_s(experiment->arms.n));
}

void kvs_check_print_plan(const struct kvs_plan *plan,
                          const struct kvs_plan_check_report *report, struct kvs_text *out)
{
    char buf[KVS_UNITS_BUF];
    size_t n_ops = 0;
    for (size_t s = 0; s < plan->segments.n; s++)
        n_ops += plan->segments.items[s].ops.n;
    uint32_t n_tokens = kvs_plan_n_tokens(plan);
    kvs_text_printf(out,
                    "plan %s: %u device%s, %zu queue%s, %zu buffer%s, %u token%s in %zu "
                    "segment%s, %zu operation%s\n",
                    plan->policy, (unsigned)plan->n_devices, print_s(plan->n_devices),
                    plan->queues.n, print_s(plan->queues.n), plan->buffers.n,
                    print_s(plan->buffers.n), (unsigned)n_tokens, print_s(n_tokens),
                    plan->segments.n, print_s(plan->segments.n), n_ops, print_s(n_ops));
    for (size_t r = 0; r < plan->rings.n; r++)
        kvs_text_printf(out, "  ring of device %u: %u slots of %s\n",
                        (unsigned)plan->rings.items[r].device,
                        (unsigned)plan->rings.items[r].n_slots,
                        kvs_format_bytes(plan->rings.items[r].slot_bytes, buf, sizeof buf));
    kvs_text_printf(out,
                    "  proved over %u token%s: %" PRIu64 " operations, %" PRIu64
                    " accesses, every byte in time and none overwritten while read\n",
                    (unsigned)report->n_tokens, print_s(report->n_tokens), report->n_ops,
                    report->n_accesses);
}
