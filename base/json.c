/* Reading JSON: jansson parses; the checks before it and the getters after it are ours. */
#include "base/json.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/utf8.h"

enum { JSON_MAX_DEPTH = 64 };

struct kvs_json_doc {
    char *name; /* owned */
    json_t *root;
    unsigned line; /* of the document when it has only one, else 0 */
};

static once_flag json_hooks_once = ONCE_FLAG_INIT;
static _Thread_local bool json_is_starved; /* an allocation of this thread's parse failed */

static void *json_take(size_t size_bytes)
{
    void *ptr = NULL;
    if (kvs_mem_alloc(size_bytes, 1, &ptr, NULL) != KVS_OK)
        json_is_starved = true;
    return ptr;
}

static void json_set_hooks(void)
{
    json_set_alloc_funcs(json_take, kvs_mem_free);
}

static const json_t *json_of(const struct kvs_json_value *value)
{
    return (const json_t *)value;
}

static const struct kvs_json_value *json_value(const json_t *json)
{
    return (const struct kvs_json_value *)json;
}

/* jansson's iterators want a value they could change; ours are only read. */
static json_t *json_iterable(const json_t *json)
{
    return (json_t *)(uintptr_t)json;
}

/* jansson recurses per level, so depth is counted on the bytes first. */
static kvs_status json_check_depth(const char *name, const char *bytes, size_t n,
                                   unsigned line_base, struct kvs_error *err)
{
    unsigned depth = 0;
    unsigned line = line_base + 1;
    bool is_quoted = false;
    for (size_t i = 0; i < n; i++) {
        char c = bytes[i];
        if (c == '\n')
            line++;
        if (c == '"')
            is_quoted = !is_quoted;
        else if (is_quoted && c == '\\')
            i++;
        else if (!is_quoted && (c == '[' || c == '{') && ++depth > JSON_MAX_DEPTH)
            return kvs_error_at(err, KVS_ESYNTAX, name, line, 0,
                                "nested deeper than the limit of %d levels", JSON_MAX_DEPTH);
        else if (!is_quoted && (c == ']' || c == '}') && depth > 0)
            depth--;
    }
    return KVS_OK;
}

/* Whether the text fits on one line, blank space around it aside. */
static bool json_is_one_line(const char *bytes, size_t n)
{
    while (n > 0 && strchr(" \t\r\n", bytes[n - 1]) != NULL)
        n--;
    return n == 0 || memchr(bytes, '\n', n) == NULL;
}

static kvs_status json_parse_root(const char *name, const char *bytes, size_t n,
                                  unsigned line_base, json_t **out, struct kvs_error *err)
{
    json_error_t fault = {.line = -1};
    json_is_starved = false;
    *out = json_loadb(bytes, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &fault);
    if (*out != NULL)
        return KVS_OK;
    if (json_is_starved)
        return kvs_error_set(err, KVS_ENOMEM, "out of memory while parsing JSON");
    unsigned line = fault.line > 0 ? (unsigned)fault.line : 1;
    unsigned column = fault.column > 0 ? (unsigned)fault.column : 0;
    return kvs_error_at(err, KVS_ESYNTAX, name, line_base + line, column, "not valid JSON: %s",
                        fault.text);
}

kvs_status kvs_json_parse(const char *name, const char *bytes, size_t n, unsigned line_base,
                          struct kvs_json_doc **out, struct kvs_error *err)
{
    call_once(&json_hooks_once, json_set_hooks);
    KVS_TRY(json_check_depth(name, bytes, n, line_base, err));
    void *fresh = NULL;
    KVS_TRY(kvs_mem_alloc(1, sizeof(struct kvs_json_doc), &fresh, err));
    struct kvs_json_doc *doc = fresh;
    doc->line = json_is_one_line(bytes, n) ? line_base + 1 : 0;
    kvs_status status;
    KVS_TRY_GOTO(kvs_mem_strdup(name, &doc->name, err), fail);
    KVS_TRY_GOTO(json_parse_root(name, bytes, n, line_base, &doc->root, err), fail);
    *out = doc;
    return KVS_OK;
fail:
    kvs_json_destroy(doc);
    return status;
}

void kvs_json_destroy(struct kvs_json_doc *doc)
{
    if (doc == NULL)
        return;
    json_decref(doc->root);
    kvs_mem_free(doc->name);
    kvs_mem_free(doc);
}

const struct kvs_json_value *kvs_json_root(const struct kvs_json_doc *doc)
{
    return json_value(doc->root);
}

/* Path of target below at, appended to path[n..cap). Only runs when there is an error to
 * report. */
static bool json_find_path(const json_t *at, const json_t *target, char *path, size_t n,
                           size_t cap)
{
    path[n] = '\0';
    if (at == target)
        return true;
    const char *key;
    json_t *child;
    json_object_foreach(json_iterable(at), key, child)
    {
        int wrote = snprintf(path + n, cap - n, "%s%s", n > 0 ? "." : "", key);
        size_t end = wrote > 0 && (size_t)wrote < cap - n ? n + (size_t)wrote : cap - 1;
        if (json_find_path(child, target, path, end, cap))
            return true;
    }
    for (size_t i = 0; i < json_array_size(at); i++) {
        int wrote = snprintf(path + n, cap - n, "[%zu]", i);
        size_t end = wrote > 0 && (size_t)wrote < cap - n ? n + (size_t)wrote : cap - 1;
        if (json_find_path(json_array_get(at, i), target, path, end, cap))
            return true;
    }
    path[n] = '\0';
    return false;
}

/* Adds file, line and the path of obj, or of its key, to *err; returns its status. */
static kvs_status json_place(const struct kvs_json_doc *doc, const struct kvs_json_value *obj,
                             const char *key, kvs_status status, struct kvs_error *err)
{
    if (err == NULL)
        return status;
    char path[sizeof(err->path)] = "";
    snprintf(err->file, sizeof(err->file), "%s", doc->name);
    err->line = doc->line;
    if (json_is_object(json_of(obj)) || json_is_array(json_of(obj)))
        json_find_path(doc->root, json_of(obj), path, 0, sizeof(path));
    const char *dot = path[0] != '\0' && key != NULL ? "." : "";
    size_t n = strlen(path);
    snprintf(path + n, sizeof(path) - n, "%s%s", dot, key != NULL ? key : "");
    kvs_utf8_make_printable(path);
    memcpy(err->path, path, sizeof(path));
    return status;
}

static const char *json_found(const json_t *json, char *buf, size_t cap)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        snprintf(buf, cap, "\"%.80s\"", json_string_value(json));
        return buf;
    case JSON_INTEGER:
        snprintf(buf, cap, "%" JSON_INTEGER_FORMAT, json_integer_value(json));
        return buf;
    case JSON_REAL:
        return kvs_format_f64(json_real_value(json), buf, cap);
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    case JSON_NULL:
        return "null";
    }
    return "?";
}

static kvs_status json_wrong(const struct kvs_json_doc *doc, const struct kvs_json_value *obj,
                             const char *key, const struct kvs_json_value *value,
                             const char *expected, struct kvs_error *err)
{
    char found[128];
    kvs_status status = kvs_error_set(err, KVS_EINVAL, "expected %s, got %s", expected,
                                      json_found(json_of(value), found, sizeof(found)));
    return json_place(doc, obj, key, status, err);
}

kvs_status kvs_json_get(const struct kvs_json_doc *doc, const struct kvs_json_value *obj,
                        const char *key, bool required, const struct kvs_json_value **out,
                        struct kvs_error *err)
{
    if (!json_is_object(json_of(obj)))
        return json_wrong(doc, obj, NULL, obj, "an object", err);
    const json_t *value = json_object_get(json_of(obj), key);
    if (value != NULL && (required || !json_is_null(value)))
        *out = json_value(value);
    if (value != NULL || !required)
        return KVS_OK;
    return json_place(doc, obj, NULL, kvs_error_set(err, KVS_EINVAL, "missing key \"%s\"", key),
                      err);
}

kvs_status kvs_json_get_str(const struct kvs_json_doc *doc, const struct kvs_json_value *obj,
                            const char *key, bool required, const char **out,
                            struct kvs_error *err)
{
    const struct kvs_json_value *value = NULL;
    KVS_TRY(kvs_json_get(doc, obj, key, required, &value, err));
    if (value == NULL)
        return KVS_OK;
    if (!json_is_string(json_of(value)))
        return json_wrong(doc, obj, key, value, "a string", err);
    *out = json_string_value(json_of(value));
    return KVS_OK;
}

kvs_status kvs_json_get_i64(const struct kvs_json_doc *doc, const struct kvs_json_value *obj,
                            const char *key, bool required, int64_t min, int64_t max,
                            int64_t *out, struct kvs_error *err)
{
    const struct kvs_json_value *value = NULL;
    KVS_TRY(kvs_json_get(doc, obj, key, required, &value, err));
    if (value == NULL || kvs_json_as_i64(value, min, max, out))
        return KVS_OK;
    if (!json_is_integer(json_of(value)))
        return json_wrong(doc, obj, key, value, "an integer", err);
    int64_t got = json_integer_value(json_of(value));
    kvs_status status;
    if (max == INT64_MAX)
        status = kvs_error_set(err, KVS_ERANGE, "must be at least %" PRId64 ", got %" PRId64,
                               min, got);
    else
        status = kvs_error_set(err, KVS_ERANGE,
                               "must be between %" PRId64 " and %" PRId64 ", got %" PRId64, min,
                               max, got);
    return json_place(doc, obj, key, status, err);
}

kvs_status kvs_json_get_f64(const struct kvs_json_doc *doc, const struct kvs_json_value *obj,
                            const char *key, bool required, double min, double max, double *out,
                            struct kvs_error *err)
{
    const struct kvs_json_value *value = NULL;
    KVS_TRY(kvs_json_get(doc, obj, key, required, &value, err));
    if (value == NULL)
        return KVS_OK;
    if (!json_is_number(json_of(value)))
        return json_wrong(doc, obj, key, value, "a number", err);
    double got = json_number_value(json_of(value));
    if (got >= min && got <= max) {
        *out = got;
        return KVS_OK;
    }
    char low[KVS_UNITS_BUF];
    char high[KVS_UNITS_BUF];
    char found[KVS_UNITS_BUF];
    kvs_status status = kvs_error_set(err, KVS_ERANGE, "must be between %s and %s, got %s",
                                      kvs_format_f64(min, low, sizeof(low)),
                                      kvs_format_f64(max, high, sizeof(high)),
                                      kvs_format_f64(got, found, sizeof(found)));
    return json_place(doc, obj, key, status, err);
}

kvs_status kvs_json_get_bool(const struct kvs_json_doc *doc, const struct kvs_json_value *obj,
                             const char *key, bool required, bool *out, struct kvs_error *err)
{
    const struct kvs_json_value *value = NULL;
    KVS_TRY(kvs_json_get(doc, obj, key, required, &value, err));
    if (value == NULL)
        return KVS_OK;
    if (!json_is_boolean(json_of(value)))
        return json_wrong(doc, obj, key, value, "true or false", err);
    *out = json_is_true(json_of(value));
    return KVS_OK;
}

size_t kvs_json_array_len(const struct kvs_json_value *array)
{
    return json_array_size(json_of(array));
}

const struct kvs_json_value *kvs_json_array_item(const struct kvs_json_value *array, size_t i)
{
    return json_value(json_array_get(json_of(array), i));
}

bool kvs_json_as_i64(const struct kvs_json_value *value, int64_t min, int64_t max, int64_t *out)
{
    if (!json_is_integer(json_of(value)))
        return false;
    int64_t got = json_integer_value(json_of(value));
    if (got < min || got > max)
        return false;
    *out = got;
    return true;
}

kvs_status kvs_json_only_keys(const struct kvs_json_doc *doc, const struct kvs_json_value *obj,
                              const char *const *known, size_t n, struct kvs_error *err)
{
    const char *key;
    json_t *value;
    if (!json_is_object(json_of(obj)))
        return json_wrong(doc, obj, NULL, obj, "an object", err);
    json_object_foreach(json_iterable(json_of(obj)), key, value)
    {
        size_t i = 0;
        while (i < n && strcmp(key, known[i]) != 0)
            i++;
        if (i < n)
            continue;
        kvs_status status = kvs_error_set(err, KVS_EINVAL, "unknown key \"%.80s\"", key);
        const char *nearest = kvs_nearest(key, known, n);
        if (nearest != NULL)
            kvs_error_hint(err, "did you mean \"%s\"?", nearest);
        return json_place(doc, obj, NULL, status, err);
    }
    return KVS_OK;
}
