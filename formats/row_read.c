/* One object per row, from lines of JSON or from the rows of one document. */
#include "formats/row_read.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/units.h"
#include "models/compute.h"

typedef enum result_kind {
    RESULT_TEXT,
    RESULT_COUNT,
    RESULT_NUMBER,
    RESULT_BOOL,
    RESULT_COMPUTE
} result_kind;

const char *const kvs_result_keys[KVS_RESULT_N_KEYS] = {
    "machine",    "model",        "weights",    "type_k",        "type_v",
    "split_mode", "tensor_split", "head_split", "kv_cpu_pinned", "kv_gpu_layers",
    "n_parallel", "kv_unified",   "n_rows",     "n_ctx",         "arbitration",
    "n_gen",      "n_depth",      "kvpb",       "compute",       "arm"};
static const result_kind result_kinds[KVS_RESULT_N_KEYS] = {
    RESULT_TEXT,  RESULT_TEXT,  RESULT_TEXT,   RESULT_TEXT,    RESULT_TEXT,
    RESULT_TEXT,  RESULT_TEXT,  RESULT_TEXT,   RESULT_BOOL,    RESULT_COUNT,
    RESULT_COUNT, RESULT_BOOL,  RESULT_COUNT,  RESULT_COUNT,   RESULT_TEXT,
    RESULT_COUNT, RESULT_COUNT, RESULT_NUMBER, RESULT_COMPUTE, RESULT_TEXT};

struct reader {
    struct kvs_results *out;
    const struct kvs_json_doc *doc;
    const struct kvs_json_value *row;
    struct kvs_error *err;
};

static kvs_status reader_keep(struct reader *r, const char *text, const char **out)
{
    return kvs_arena_copy(&r->out->arena, text, strlen(text), out, r->err);
}

static kvs_status reader_key(struct reader *r, size_t i, const char **out)
{
    const char *key = kvs_result_keys[i], *text = "";
    char buf[KVS_UNITS_BUF];
    int64_t count = 0;
    double number = 0.0;
    bool flag = false;
    switch (result_kinds[i]) {
    case RESULT_TEXT:
        KVS_TRY(kvs_json_get_str(r->doc, r->row, key, true, &text, r->err));
        return reader_keep(r, text, out);
    case RESULT_COMPUTE: /* rows that were only predicted do not say */
        text = kvs_compute_kind_names[KVS_COMPUTE_MODELLED];
        KVS_TRY(kvs_json_get_str(r->doc, r->row, key, false, &text, r->err));
        return reader_keep(r, text, out);
    case RESULT_COUNT:
        KVS_TRY(kvs_json_get_i64(r->doc, r->row, key, true, 0, INT64_MAX, &count, r->err));
        (void)snprintf(buf, sizeof buf, "%" PRId64, count);
        return reader_keep(r, buf, out);
    case RESULT_NUMBER:
        KVS_TRY(kvs_json_get_f64(r->doc, r->row, key, true, 0.0, DBL_MAX, &number, r->err));
        return reader_keep(r, kvs_format_f64(number, buf, sizeof buf), out);
    case RESULT_BOOL:
        KVS_TRY(kvs_json_get_bool(r->doc, r->row, key, true, &flag, r->err));
        return reader_keep(r, flag ? "true" : "false", out);
    }
    return KVS_OK;
}

static kvs_status reader_number(struct reader *r, const char *key, double *out)
{
    *out = (double)NAN;
    return kvs_json_get_f64(r->doc, r->row, key, false, 0.0, DBL_MAX, out, r->err);
}

static kvs_status reader_row(struct reader *r)
{
    struct kvs_result result = {0};
    const char *policy = NULL, *executor = "";
    for (size_t i = 0; i < KVS_RESULT_N_KEYS; i++) {
        KVS_TRY(reader_key(r, i, &result.keys[i]));
        result.hash = kvs_hash(result.keys[i], strlen(result.keys[i]), result.hash);
    }
    KVS_TRY(kvs_json_get_str(r->doc, r->row, "policy", true, &policy, r->err));
    KVS_TRY(reader_keep(r, policy, &result.policy));
    KVS_TRY(kvs_json_get_str(r->doc, r->row, "executor", false, &executor, r->err));
    KVS_TRY(reader_keep(r, executor, &result.executor));
    KVS_TRY(reader_number(r, "predicted_ts", &result.predicted_ts));
    KVS_TRY(reader_number(r, "measured_ts", &result.measured_ts));
    KVS_TRY(reader_number(r, "n_parallel", &result.n_parallel));
    KVS_TRY(reader_number(r, "declined", &result.declined));
    KVS_TRY(reader_number(r, "compute_ms", &result.compute_ms));
    KVS_TRY(reader_number(r, "copies_ms", &result.copies_ms));
    return KVS_ARRAY_PUSH(&r->out->items, result, r->err);
}

/* The rows of a document, or the document as a row. */
static kvs_status reader_document(struct reader *r)
{
    const struct kvs_json_value *root = kvs_json_root(r->doc), *rows = NULL;
    r->row = root;
    KVS_TRY(kvs_json_get(r->doc, root, "rows", false, &rows, r->err));
    if (rows == NULL)
        return reader_row(r);
    for (size_t i = 0; i < kvs_json_array_len(rows); i++) {
        r->row = kvs_json_array_item(rows, i);
        KVS_TRY(reader_row(r));
    }
    return KVS_OK;
}

static kvs_status results_parse(const char *name, const char *bytes, size_t n,
                                unsigned line_base, struct kvs_results *out,
                                struct kvs_error *err)
{
    struct kvs_json_doc *doc;
    KVS_TRY(kvs_json_parse(name, bytes, n, line_base, &doc, err));
    struct reader reader = {.out = out, .doc = doc, .err = err};
    kvs_status status = reader_document(&reader);
    kvs_json_destroy(doc);
    return status;
}

/* Whether the first line is a document of its own. */
static bool results_are_lines(const char *bytes, size_t n_first)
{
    struct kvs_json_doc *doc;
    if (kvs_json_parse("", bytes, n_first, 0, &doc, NULL) != KVS_OK)
        return false;
    kvs_json_destroy(doc);
    return true;
}

kvs_status kvs_results_read(const char *name, const char *bytes, size_t n,
                            struct kvs_results *out, struct kvs_error *err)
{
    if (n == 0)
        return kvs_error_at(err, KVS_EINVAL, name, 0, 0, "is empty, expected rows");
    const char *end = memchr(bytes, '\n', n);
    size_t n_line = end != NULL ? (size_t)(end - bytes) : n;
    if (!results_are_lines(bytes, n_line))
        return results_parse(name, bytes, n, 0, out, err);
    unsigned line = 0;
    for (size_t at = 0; at < n; at += n_line + 1, line++) {
        end = memchr(bytes + at, '\n', n - at);
        n_line = end != NULL ? (size_t)(end - (bytes + at)) : n - at;
        if (n_line > 0)
            KVS_TRY(results_parse(name, bytes + at, n_line, line, out, err));
    }
    return KVS_OK;
}

void kvs_results_fini(struct kvs_results *results)
{
    KVS_ARRAY_FREE(&results->items);
    kvs_arena_fini(&results->arena);
}

bool kvs_result_is_same(const struct kvs_result *a, const struct kvs_result *b)
{
    if (a->hash != b->hash)
        return false;
    for (size_t i = 0; i < KVS_RESULT_N_KEYS; i++)
        if (strcmp(a->keys[i], b->keys[i]) != 0)
            return false;
    return true;
}
