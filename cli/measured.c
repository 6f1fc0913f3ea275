/* Measured rows beside predicted ones: finds the table, and the rows that match. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/job.h"

/* Where a path of an experiment may start: here, at the catalogue, near the experiment's file
 * (its folder, or the root above experiments/NAME), or at the checkout. */
static kvs_status measured_try(struct kvs_job *s, const char *folder, size_t n_folder,
                               const char *between, struct kvs_error *err)
{
    struct kvs_text path = {0};
    kvs_text_append(&path, folder, n_folder);
    kvs_text_puts(&path, between);
    kvs_text_puts(&path, s->experiment.measured);
    kvs_status status = path.status != KVS_OK ? kvs_error_set(err, path.status, "out of memory")
                                              : kvs_table_load(path.data, &s->measured, err);
    kvs_text_fini(&path);
    return status;
}

kvs_status kvs_measured_load(struct kvs_job *job, struct kvs_catalogue *catalogue,
                             const struct kvs_console *console, struct kvs_error *err)
{
    const char *dir = catalogue->dir, *root = kvs_checkout_root();
    const char *slash = strrchr(job->file, '/');
    size_t n_folder = slash != NULL ? (size_t)(slash - job->file) + 1 : 0;
    if (job->experiment.measured == NULL)
        return KVS_OK;
    kvs_status status = measured_try(job, "", 0, "", err);
    if (status == KVS_ENOTFOUND && dir != NULL)
        status = measured_try(job, dir, strlen(dir), "/", err);
    if (status == KVS_ENOTFOUND && job->file[0] != '\0')
        status = measured_try(job, job->file, n_folder, "", err);
    if (status == KVS_ENOTFOUND && job->file[0] != '\0')
        status = measured_try(job, job->file, n_folder, "../../", err);
    if (status == KVS_ENOTFOUND && root != NULL)
        status = measured_try(job, root, strlen(root), "/", err);
    if (status != KVS_ENOTFOUND)
        return status;
    kvs_console_warn(
        console,
        "%s is not here, so no measured figures are shown; run from the folder that "
        "has it",
        job->experiment.measured);
    return KVS_OK;
}

/* True when the table has no such column, the row names no such text, or both are equal. */
static bool measured_is_text(const struct kvs_table *table, size_t i, const char *column,
                             const char *text)
{
    const char *cell;
    if (!kvs_table_has_column(table, column) || text[0] == '\0')
        return true;
    return kvs_table_str(table, i, column, &cell, NULL) == KVS_OK && strcmp(cell, text) == 0;
}

static bool measured_is_count(const struct kvs_table *table, size_t i, const char *column,
                              uint64_t value)
{
    uint64_t cell;
    if (!kvs_table_has_column(table, column))
        return true;
    return kvs_table_u64(table, i, column, &cell, NULL) == KVS_OK && cell == value;
}

/* The budget decides whether there is a ring, not how fast it is: where the ring was accepted,
 * any budget may be compared. */
static bool measured_matches(const struct kvs_table *table, size_t i, const struct kvs_row *row)
{
    return measured_is_text(table, i, "machine", row->machine) &&
           measured_is_text(table, i, "build", row->build) &&
           measured_is_text(table, i, "model", row->model) &&
           measured_is_text(table, i, "weights", row->weights) &&
           measured_is_text(table, i, "split_mode", row->split_mode) &&
           measured_is_text(table, i, "type_k", row->type_k) &&
           measured_is_text(table, i, "policy", row->policy) &&
           measured_is_text(table, i, "arm", row->arm_name) &&
           measured_is_count(table, i, "n_depth", row->n_depth) &&
           measured_is_count(table, i, "n_gen", row->n_gen) &&
           measured_is_count(table, i, "kvpd", row->kvpd) &&
           (row->n_declined == 0 ||
            measured_is_count(table, i, "kvpb_mib", (uint64_t)row->kvpb_mib));
}

/* Rows of a table without arms are those of plain policies. */
static bool measured_has_options(const struct kvs_table *table, const struct kvs_row *row)
{
    const struct kvs_transport *transport = &row->c.transport;
    return kvs_table_has_column(table, "arm") ||
           (transport->streams == KVS_STREAMS_ONE && transport->yield == KVS_YIELD_NONE &&
            transport->late == KVS_LATE_COPY);
}

static bool measured_is_shared_equally(const struct kvs_case *c)
{
    for (uint32_t d = 1; d < c->machine->n_devices; d++)
        if (fabs(kvs_case_share(c, d) - kvs_case_share(c, 0)) > 1e-9)
            return c->placement.mode == KVS_SPLIT_NONE;
    return true;
}

/* What measured rows do not vary: any other value was not measured. Rows of an engine that serves
 * copies otherwise are shown beside them all the same: that is what the two are compared for. */
static bool measured_may_match(const struct kvs_table *table, const struct kvs_row *row)
{
    return row->is_pinned && row->n_parallel == 1 && row->n_rows == 1 &&
           row->kv_gpu_layers == 0 && strcmp(row->type_k, row->type_v) == 0 &&
           row->c.placement.rule == KVS_SPLIT_LLAMA_META_2026_08 &&
           measured_is_shared_equally(&row->c) && measured_has_options(table, row);
}

double kvs_measured_ts(const struct kvs_table *table, const struct kvs_row *row)
{
    double sum = 0.0;
    size_t n = 0;
    if (table == NULL || !measured_may_match(table, row))
        return (double)NAN;
    for (size_t i = 0; i < kvs_table_n_rows(table); i++) {
        double ts;
        if (!measured_matches(table, i, row) ||
            kvs_table_f64(table, i, "avg_ts", &ts, NULL) != KVS_OK)
            continue;
        sum += ts;
        n++;
    }
    return n > 0 ? sum / (double)n : (double)NAN;
}
