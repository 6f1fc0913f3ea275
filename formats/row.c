/* The columns of a row, once, and what is written from them alone: csv and lines of JSON. */
#include "formats/row.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "formats/row_internal.h"

typedef enum column_kind { STR, CHARS, U64, F64, BOOL, HASH, ALL_TS, ALL_NS } column_kind;

struct column {
    const char *name;
    size_t offset;
    column_kind kind;
};

#define COLUMN(name, field, kind)                                                              \
    {                                                                                          \
        name, offsetof(struct kvs_row, field), kind                                            \
    }

static const struct column columns[] = {
    COLUMN("kvsim_version", version, STR),
    COLUMN("build", build, STR),
    COLUMN("experiment", experiment, STR),
    COLUMN("machine", machine, STR),
    COLUMN("model", model, STR),
    COLUMN("weights", weights, STR),
    COLUMN("type_k", type_k, STR),
    COLUMN("type_v", type_v, STR),
    COLUMN("split_mode", split_mode, STR),
    COLUMN("tensor_split", tensor_split, STR),
    COLUMN("head_split", head_split, STR),
    COLUMN("no_kv_offload", is_host_kv, BOOL),
    COLUMN("kv_cpu_pinned", is_pinned, BOOL),
    COLUMN("kv_gpu_layers", kv_gpu_layers, U64),
    COLUMN("n_parallel", n_parallel, U64),
    COLUMN("kv_unified", is_unified, BOOL),
    COLUMN("n_rows", n_rows, U64),
    COLUMN("n_ctx", n_ctx, U64),
    COLUMN("arbitration", arbitration, STR),
    COLUMN("n_gen", n_gen, U64),
    COLUMN("n_depth", n_depth, U64),
    COLUMN("avg_ts", avg_ts, F64),
    COLUMN("arm", arm_name, STR),
    COLUMN("policy", policy, STR),
    COLUMN("kvpd", kvpd, U64),
    COLUMN("kvpb", kvpb_mib, F64),
    COLUMN("declined", n_declined, U64),
    COLUMN("decline_reason", decline_reason, STR),
    COLUMN("predicted_ts", predicted_ts, F64),
    COLUMN("predicted_ms", predicted_ms, F64),
    COLUMN("predicted_lo_ts", lo_ts, F64),
    COLUMN("predicted_hi_ts", hi_ts, F64),
    COLUMN("edge_ts", edge_ts, F64),
    COLUMN("edge_reason", edge_reason, CHARS),
    COLUMN("bound_ts", bound_ts, F64),
    COLUMN("bound_term", bound_term, STR),
    COLUMN("bound_name", bound_name, CHARS),
    COLUMN("share", share, F64),
    COLUMN("bottleneck", bottleneck, CHARS),
    COLUMN("bottleneck_busy", bottleneck_busy, F64),
    COLUMN("runner_up", runner_up, CHARS),
    COLUMN("runner_up_busy", runner_up_busy, F64),
    COLUMN("exposed_ms", exposed_ms, F64),
    COLUMN("loop_ms", loop_ms, F64),
    COLUMN("copy_ms", copy_ms, F64),
    COLUMN("wait_ms", wait_ms, F64),
    COLUMN("issue_ms", issue_ms, F64),
    COLUMN("early_mib", early_mib, F64),
    COLUMN("late_mib", late_mib, F64),
    COLUMN("measured_ts", measured_ts, F64),
    COLUMN("err_pct", err_pct, F64),
    COLUMN("seed", seed, U64),
    COLUMN("machine_hash", machine_hash, HASH),
    COLUMN("model_hash", model_hash, HASH),
    COLUMN("schema_version", schema_version, U64),
    COLUMN("llama_flags", llama_flags, CHARS),
    COLUMN("error", error, CHARS),
};

/* Behind the others, in rows that were run for real. */
static const struct column replay_columns[] = {
    COLUMN("executor", executor, STR),     COLUMN("stddev_ts", stddev_ts, F64),
    COLUMN("samples_ts", samples, ALL_TS), COLUMN("samples_ns", samples, ALL_NS),
    COLUMN("median_ts", median_ts, F64),   COLUMN("ci95_lo", ci_lo_ts, F64),
    COLUMN("ci95_hi", ci_hi_ts, F64),      COLUMN("digest", digest, CHARS),
    COLUMN("min_ms", min_ms, F64),         COLUMN("mad_ms", mad_ms, F64),
    COLUMN("n_outliers", n_outliers, U64), COLUMN("diff_ms", diff_ms, F64),
    COLUMN("diff_lo_ms", diff_lo_ms, F64), COLUMN("diff_hi_ms", diff_hi_ms, F64),
    COLUMN("compute_ms", compute_ms, F64), COLUMN("copies_ms", copies_ms, F64),
    COLUMN("time_scale", time_scale, F64), COLUMN("compute", compute, STR),
};

/* Column i of a row, NULL behind the last. */
static const struct column *column_at(const struct kvs_row *row, size_t i)
{
    if (i < KVS_COUNT_OF(columns))
        return &columns[i];
    i -= KVS_COUNT_OF(columns);
    return row->executor != NULL && i < KVS_COUNT_OF(replay_columns) ? &replay_columns[i]
                                                                     : NULL;
}

static const char *column_str(const struct column *column, const void *at)
{
    return column->kind == CHARS ? (const char *)at : *(const char *const *)at;
}

static void csv_str(struct kvs_text *out, const char *text)
{
    if (text[strcspn(text, ",\"\r\n#")] == '\0' && text[0] != ' ') {
        kvs_text_puts(out, text);
        return;
    }
    kvs_text_puts(out, "\"");
    for (; *text != '\0'; text++)
        kvs_text_append(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    kvs_text_puts(out, "\"");
}

/* "7.1;7.2": a list in one cell. */
static void csv_samples(struct kvs_text *out, const struct kvs_row_samples *samples, bool is_ts)
{
    char buf[KVS_UNITS_BUF];
    for (size_t i = 0; i < samples->n; i++) {
        kvs_text_puts(out, i > 0 ? ";" : "");
        if (is_ts)
            kvs_text_puts(out, kvs_format_f64(samples->ts[i], buf, sizeof buf));
        else
            kvs_text_printf(out, "%" PRIu64, samples->ns[i]);
    }
}

static void csv_cell(struct kvs_text *out, const struct column *column, const void *at)
{
    char buf[KVS_UNITS_BUF];
    switch (column->kind) {
    case STR:
    case CHARS:
        csv_str(out, column_str(column, at));
        break;
    case U64:
        kvs_text_printf(out, "%" PRIu64, *(const uint64_t *)at);
        break;
    case F64:
        if (isfinite(*(const double *)at))
            kvs_text_puts(out, kvs_format_f64(*(const double *)at, buf, sizeof buf));
        break;
    case BOOL:
        kvs_text_puts(out, *(const bool *)at ? "1" : "0");
        break;
    case HASH:
        kvs_text_printf(out, "%016" PRIx64, *(const uint64_t *)at);
        break;
    case ALL_TS:
    case ALL_NS:
        csv_samples(out, at, column->kind == ALL_TS);
        break;
    }
}

static void csv_write(struct kvs_text *out, const struct kvs_row *row, bool has_header)
{
    const struct column *column;
    for (size_t i = 0; has_header && (column = column_at(row, i)) != NULL; i++)
        kvs_text_printf(out, "%s%s", i > 0 ? "," : "", column->name);
    kvs_text_puts(out, has_header ? "\n" : "");
    for (size_t i = 0; (column = column_at(row, i)) != NULL; i++) {
        kvs_text_puts(out, i > 0 ? "," : "");
        csv_cell(out, column, (const char *)row + column->offset);
    }
    kvs_text_puts(out, "\n");
}

static void row_json_samples(struct kvs_json_writer *json, const char *name,
                             const struct kvs_row_samples *samples, bool is_ts)
{
    kvs_json_begin(json, name, '[');
    for (size_t i = 0; i < samples->n; i++) {
        if (is_ts)
            kvs_json_f64(json, NULL, samples->ts[i]);
        else
            kvs_json_u64(json, NULL, samples->ns[i]);
    }
    kvs_json_end(json, ']');
}

static void row_json_cell(struct kvs_json_writer *json, const struct column *column,
                          const void *at)
{
    char hash[24];
    switch (column->kind) {
    case STR:
    case CHARS:
        kvs_json_str(json, column->name, column_str(column, at));
        break;
    case U64:
        kvs_json_u64(json, column->name, *(const uint64_t *)at);
        break;
    case F64:
        kvs_json_f64(json, column->name, *(const double *)at);
        break;
    case BOOL:
        kvs_json_bool(json, column->name, *(const bool *)at);
        break;
    case HASH:
        (void)snprintf(hash, sizeof hash, "%016" PRIx64, *(const uint64_t *)at);
        kvs_json_str(json, column->name, hash);
        break;
    case ALL_TS:
    case ALL_NS:
        row_json_samples(json, column->name, at, column->kind == ALL_TS);
        break;
    }
}

void kvs_row_json(struct kvs_json_writer *json, const struct kvs_row *row)
{
    const struct column *column;
    kvs_json_begin(json, NULL, '{');
    for (size_t i = 0; (column = column_at(row, i)) != NULL; i++)
        row_json_cell(json, column, (const char *)row + column->offset);
    kvs_json_end(json, '}');
}

static void row_init_results(struct kvs_row *row)
{
    double *const results[] = {
        &row->avg_ts,     &row->predicted_ts,    &row->predicted_ms,   &row->lo_ts,
        &row->hi_ts,      &row->edge_ts,         &row->bound_ts,       &row->share,
        &row->exposed_ms, &row->bottleneck_busy, &row->runner_up_busy, &row->loop_ms,
        &row->copy_ms,    &row->wait_ms,         &row->issue_ms,       &row->early_mib,
        &row->late_mib,   &row->measured_ts,     &row->err_pct,        &row->stddev_ts,
        &row->median_ts,  &row->ci_lo_ts,        &row->ci_hi_ts,       &row->min_ms,
        &row->mad_ms,     &row->diff_ms,         &row->diff_lo_ms,     &row->diff_hi_ms,
        &row->compute_ms, &row->copies_ms,       &row->time_scale,
    };
    for (size_t i = 0; i < KVS_COUNT_OF(results); i++)
        *results[i] = (double)NAN;
    row->decline_reason = row->bound_term = "";
}

static const char *row_name(const struct kvs_row *row, kvs_setting setting)
{
    return kvs_setting_names(setting)[row->values[setting]];
}

static void row_init_settings(struct kvs_row *row, const struct kvs_experiment *experiment)
{
    row->type_k = row_name(row, KVS_SETTING_TYPE_K);
    row->type_v = row_name(row, KVS_SETTING_TYPE_V);
    row->split_mode = row_name(row, KVS_SETTING_SPLIT_MODE);
    row->compute = kvs_compute_kind_names[row->c.compute];
    row->head_split = row_name(row, KVS_SETTING_HEAD_SPLIT);
    row->arbitration = row_name(row, KVS_SETTING_ARBITRATION);
    row->tensor_split =
        experiment->values[KVS_SETTING_TENSOR_SPLIT].n > 0
            ? experiment->splits.items[row->values[KVS_SETTING_TENSOR_SPLIT]].text
            : "";
    row->is_pinned = row->values[KVS_SETTING_PINNED] != 0;
    row->is_unified = row->values[KVS_SETTING_UNIFIED] != 0;
    row->n_parallel = row->values[KVS_SETTING_N_PARALLEL];
    row->n_rows = row->values[KVS_SETTING_N_ROWS];
    row->n_ctx = row->values[KVS_SETTING_N_CTX];
    row->kv_gpu_layers = row->values[KVS_SETTING_KV_GPU_LAYERS];
    row->n_gen = row->values[KVS_SETTING_N_GEN];
    row->n_depth = row->values[KVS_SETTING_DEPTH];
    row->kvpb_mib = (double)row->values[KVS_SETTING_KVPB] / (double)KVS_MIB;
}

void kvs_row_init(struct kvs_row *row, const struct kvs_row_context *context,
                  const struct kvs_case *c, const uint64_t values[KVS_SETTING_COUNT],
                  size_t arm)
{
    const struct kvs_arm *a = &context->experiment->arms.items[arm];
    struct kvs_text flags = {0};
    memset(row, 0, sizeof *row);
    row->c = *c;
    row->arm = arm;
    memcpy(row->values, values, sizeof row->values);
    row->version = context->version;
    row->build = context->machine->build;
    row->experiment = context->experiment->name != NULL ? context->experiment->name : "";
    row->machine = context->machine->name;
    row->model = context->llm->name;
    row->weights = context->llm->weight_label;
    row_init_settings(row, context->experiment);
    row->arm_name = a->name;
    row->policy = a->policy->name;
    row->is_host_kv = a->policy != &kvs_policy_resident;
    row->kvpd = a->lookahead;
    row->seed = context->seed;
    row->machine_hash = context->machine_hash;
    row->model_hash = context->model_hash;
    row->schema_version = KVS_ROW_SCHEMA_VERSION;
    row->executor = context->replay != NULL ? context->replay->executor : NULL;
    row_init_results(row);
    kvs_row_print_flags(row, true, &flags);
    (void)snprintf(row->llama_flags, sizeof row->llama_flags, "%s",
                   flags.data != NULL ? flags.data : "");
    kvs_text_fini(&flags);
}

void kvs_row_write(struct kvs_row_writer *w, const struct kvs_row *row)
{
    if (w->format == KVS_ROW_CSV)
        csv_write(&w->out, row, w->n_rows == 0);
    if (w->format == KVS_ROW_JSONL) {
        struct kvs_json_writer json = {.text = &w->out};
        kvs_row_json(&json, row);
        kvs_text_puts(&w->out, "\n");
    }
    w->n_rows++;
}

void kvs_row_writer_fini(struct kvs_row_writer *w)
{
    kvs_text_fini(&w->out);
    kvs_text_fini(&w->rows);
    kvs_text_fini(&w->experiments);
}
