/* The JSON document: rows first, then what the rows of each experiment share. */
#include <inttypes.h>
#include <stdio.h>

#include "formats/row_figures.h"
#include "formats/row_internal.h"

static void json_setting(struct kvs_json_writer *json, const struct kvs_experiment *experiment,
                         kvs_setting setting)
{
    const struct kvs_values *values = &experiment->values[setting];
    kvs_json_begin(json, kvs_setting_key(setting), '[');
    for (size_t i = 0; i < values->n; i++) {
        struct kvs_text text = {0};
        bool is_text =
            kvs_setting_names(setting) != NULL || setting == KVS_SETTING_TENSOR_SPLIT;
        kvs_experiment_print_value(experiment, setting, values->items[i], &text);
        if (kvs_setting_is_bool(setting))
            kvs_json_bool(json, NULL, values->items[i] != 0);
        else if (is_text)
            kvs_json_str(json, NULL, text.data);
        else if (setting == KVS_SETTING_KVPB)
            kvs_json_f64(json, NULL, (double)values->items[i] / (double)KVS_MIB);
        else
            kvs_json_u64(json, NULL, values->items[i]);
        if (text.status != KVS_OK)
            json->text->status = text.status;
        kvs_text_fini(&text);
    }
    kvs_json_end(json, ']');
}

static void json_settings(struct kvs_json_writer *json, const struct kvs_experiment *experiment)
{
    kvs_json_begin(json, "settings", '{');
    for (unsigned s = 0; s < KVS_SETTING_COUNT; s++)
        json_setting(json, experiment, (kvs_setting)s);
    kvs_json_begin(json, "arms", '[');
    for (size_t i = 0; i < experiment->arms.n; i++)
        kvs_json_str(json, NULL, experiment->arms.items[i].name);
    kvs_json_end(json, ']');
    kvs_json_end(json, '}');
}

static void json_figures(struct kvs_json_writer *json, const struct kvs_figures *figures)
{
    kvs_json_begin(json, "figures", '[');
    for (size_t i = 0; i < figures->n; i++) {
        const struct kvs_figure *figure = &figures->items[i];
        if (!figure->is_major)
            continue;
        kvs_json_begin(json, NULL, '{');
        kvs_json_str(json, "name", figure->name);
        kvs_json_f64(json, "value", figure->param->value);
        kvs_json_str(json, "unit", kvs_figure_unit(figure->unit));
        kvs_json_f64(json, "lo", figure->param->lo);
        kvs_json_f64(json, "hi", figure->param->hi);
        kvs_json_str(json, "origin", kvs_origin_name(figure->param->origin));
        kvs_json_str(json, "build", figure->param->build);
        kvs_json_str(json, "source", figure->param->source);
        kvs_json_end(json, '}');
    }
    kvs_json_end(json, ']');
}

static void json_device(struct kvs_json_writer *json, const struct kvs_row *row, uint32_t d)
{
    const struct kvs_device *device = &row->c.machine->devices[d];
    const struct kvs_link *link = &row->c.machine->links[device->link];
    bool is_measured = kvs_case_compute_cost(&row->c, d).is_measured;
    kvs_json_begin(json, NULL, '{');
    kvs_json_str(json, "name", device->name);
    kvs_json_str(json, "gpu", device->gpu);
    kvs_json_str(json, "link", link->name);
    kvs_json_f64(json, "share", kvs_case_share(&row->c, d));
    kvs_json_f64(json, "h2d_Bps", link->rate[KVS_H2D].value);
    kvs_json_bool(json, "is_rate_measured", link->is_rate_measured);
    kvs_json_bool(json, "is_compute_measured", is_measured);
    kvs_json_bool(json, "is_memory_known", device->is_memory_known);
    kvs_json_end(json, '}');
}

/* Devices and figures; those of the first row's configuration. */
static void json_machine(struct kvs_json_writer *json, const struct kvs_row_context *context,
                         const struct kvs_row *row)
{
    struct kvs_figures figures = {0};
    kvs_status status = KVS_OK;
    kvs_json_begin(json, "devices", '[');
    for (uint32_t d = 0; d < context->machine->n_devices; d++)
        json_device(json, row, d);
    kvs_json_end(json, ']');
    for (uint32_t l = 0; l < context->machine->n_links && status == KVS_OK; l++) {
        if (!kvs_link_is_of_device(context->machine, &context->machine->links[l]))
            status = kvs_figures_add_link(&figures, &context->machine->links[l], NULL);
    }
    for (uint32_t d = 0; d < context->machine->n_devices && status == KVS_OK; d++)
        if (kvs_case_uses_device(&row->c, d))
            status = kvs_figures_add_device(&figures, context->machine, d, NULL);
    if (status == KVS_OK)
        status = kvs_figures_add_host(&figures, context->machine, NULL);
    json_figures(json, &figures);
    if (status != KVS_OK)
        json->text->status = status;
    KVS_ARRAY_FREE(&figures);
}

static void json_replay(struct kvs_json_writer *json, const struct kvs_row_replay *replay)
{
    if (replay == NULL)
        return;
    kvs_json_begin(json, "replay", '{');
    kvs_json_str(json, "executor", replay->executor);
    kvs_json_bool(json, "is_measured", replay->is_measured);
    kvs_json_u64(json, "repetitions", replay->n_repetitions);
    kvs_json_u64(json, "warmup", replay->n_warmup);
    kvs_json_end(json, '}');
}

void kvs_row_json_experiment(struct kvs_json_writer *json,
                             const struct kvs_row_context *context, const struct kvs_row *row)
{
    char hash[24];
    const struct kvs_experiment *experiment = context->experiment;
    kvs_json_begin(json, NULL, '{');
    kvs_json_str(json, "name", experiment->name);
    kvs_json_str(json, "question", experiment->question);
    kvs_json_str(json, "machine", context->machine->name);
    (void)snprintf(hash, sizeof hash, "%016" PRIx64, context->machine_hash);
    kvs_json_str(json, "machine_hash", hash);
    kvs_json_str(json, "model", context->llm->name);
    (void)snprintf(hash, sizeof hash, "%016" PRIx64, context->model_hash);
    kvs_json_str(json, "model_hash", hash);
    kvs_json_str(json, "measured", experiment->measured);
    json_settings(json, experiment);
    json_replay(json, context->replay);
    json_machine(json, context, row);
    kvs_json_end(json, '}');
}

static void json_separate(struct kvs_text *text, size_t n_before)
{
    kvs_text_puts(text, n_before > 0 ? ",\n" : "");
}

void kvs_row_write_experiment(struct kvs_row_writer *w, const struct kvs_row_context *context,
                              const struct kvs_row *rows, size_t n)
{
    if (n == 0)
        return;
    if (w->format == KVS_ROW_MD) {
        kvs_text_puts(&w->out, w->n_experiments > 0 ? "\n" : "");
        kvs_row_md(&w->out, context, rows, n);
    }
    if (w->format == KVS_ROW_JSON) {
        struct kvs_json_writer json = {.text = &w->rows};
        for (size_t i = 0; i < n; i++) {
            json_separate(&w->rows, w->rows.n);
            kvs_row_json(&json, &rows[i]);
        }
        json_separate(&w->experiments, w->experiments.n);
        json = (struct kvs_json_writer){.text = &w->experiments};
        kvs_row_json_experiment(&json, context, &rows[0]);
    }
    w->n_experiments++;
}

void kvs_row_write_end(struct kvs_row_writer *w, const char *version, uint64_t seed)
{
    if (w->format != KVS_ROW_JSON)
        return;
    kvs_text_printf(&w->out,
                    "{\"schema_version\":%d,\"kvsim_version\":\"%s\",\"seed\":%" PRIu64
                    ",\n\"rows\":[\n%s\n],\n\"experiments\":[\n%s\n]}\n",
                    KVS_ROW_SCHEMA_VERSION, version, seed,
                    w->rows.data != NULL ? w->rows.data : "",
                    w->experiments.data != NULL ? w->experiments.data : "");
    if (w->rows.status != KVS_OK)
        w->out.status = w->rows.status;
    if (w->experiments.status != KVS_OK)
        w->out.status = w->experiments.status;
}
