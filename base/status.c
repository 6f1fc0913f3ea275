/* Status names, error records and the collector of all errors of one input. */
#include "base/status.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

static const char *const status_names[] = {
#define STATUS_NAME(name, text) "KVS_" #name,
    KVS_STATUS_MAP(STATUS_NAME)
#undef STATUS_NAME
};

static const char *const status_texts[] = {
#define STATUS_TEXT(name, text) text,
    KVS_STATUS_MAP(STATUS_TEXT)
#undef STATUS_TEXT
};

const char *kvs_status_name(kvs_status status)
{
    return (size_t)status < KVS_COUNT_OF(status_names) ? status_names[status] : "KVS_?";
}

const char *kvs_status_text(kvs_status status)
{
    return (size_t)status < KVS_COUNT_OF(status_texts) ? status_texts[status]
                                                       : "unknown status";
}

/* One line of printable text, whatever the arguments hold. Arguments may point into buf. */
static KVS_PRINTF(3, 0) void status_print(char *buf, size_t cap, const char *fmt, va_list args)
{
    char line[512];
    size_t limit = cap < sizeof(line) ? cap : sizeof(line);
    int n = vsnprintf(line, limit, fmt, args);
    if (n < 0)
        line[0] = '\0';
    else if ((size_t)n >= limit)
        memcpy(line + limit - 4, "...", 4);
    kvs_utf8_make_printable(line);
    memcpy(buf, line, strlen(line) + 1);
}

static KVS_PRINTF(3, 4) void status_printf(char *buf, size_t cap, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    status_print(buf, cap, fmt, args);
    va_end(args);
}

kvs_status kvs_error_set(struct kvs_error *err, kvs_status status, const char *fmt, ...)
{
    if (err == NULL)
        return status;
    va_list args;
    va_start(args, fmt);
    status_print(err->text, sizeof(err->text), fmt, args);
    va_end(args);
    err->status = status;
    err->line = err->column = 0;
    err->file[0] = err->path[0] = err->hint[0] = '\0';
    return status;
}

kvs_status kvs_error_at(struct kvs_error *err, kvs_status status, const char *file,
                        unsigned line, unsigned column, const char *fmt, ...)
{
    if (err == NULL)
        return status;
    va_list args;
    va_start(args, fmt);
    status_print(err->text, sizeof(err->text), fmt, args);
    va_end(args);
    status_printf(err->file, sizeof(err->file), "%s", file != NULL ? file : "");
    err->status = status;
    err->line = line;
    err->column = column;
    err->path[0] = err->hint[0] = '\0';
    return status;
}

void kvs_error_hint(struct kvs_error *err, const char *fmt, ...)
{
    if (err == NULL)
        return;
    va_list args;
    va_start(args, fmt);
    status_print(err->hint, sizeof(err->hint), fmt, args);
    va_end(args);
}

void kvs_error_print(const struct kvs_error *err, FILE *out)
{
    if (err->file[0] != '\0') {
        fprintf(out, "%s:", err->file);
        if (err->line != 0)
            fprintf(out, "%u:", err->line);
        if (err->line != 0 && err->column != 0)
            fprintf(out, "%u:", err->column);
        fputc(' ', out);
    }
    if (err->path[0] != '\0')
        fprintf(out, "%s: ", err->path);
    fprintf(out, "%s\n", err->text);
    if (err->hint[0] != '\0')
        fprintf(out, "  hint: %s\n", err->hint);
}

void kvs_diags_init(struct kvs_diags *diags)
{
    *diags = (struct kvs_diags){0};
}

void kvs_diags_fini(struct kvs_diags *diags)
{
    kvs_mem_free(diags->errors);
    kvs_diags_init(diags);
}

void kvs_diags_add(struct kvs_diags *diags, const struct kvs_error *err)
{
    if (diags->n_errors == diags->capacity && diags->n_errors < KVS_DIAGS_MAX) {
        size_t want = diags->capacity == 0 ? 4 : diags->capacity * 2;
        want = want < KVS_DIAGS_MAX ? want : KVS_DIAGS_MAX;
        void *errors = diags->errors;
        if (kvs_mem_resize(&errors, want, sizeof(*diags->errors), NULL) == KVS_OK) {
            diags->errors = errors;
            diags->capacity = want;
        }
    }
    if (diags->n_errors < diags->capacity)
        diags->errors[diags->n_errors++] = *err;
    else
        diags->n_dropped++;
}

void kvs_diags_print(const struct kvs_diags *diags, FILE *out)
{
    for (size_t i = 0; i < diags->n_errors; i++)
        kvs_error_print(&diags->errors[i], out);
    if (diags->n_dropped > 0)
        fprintf(out, "and %zu more error%s\n", diags->n_dropped,
                diags->n_dropped == 1 ? "" : "s");
}

kvs_status kvs_diags_status(const struct kvs_diags *diags, struct kvs_error *err)
{
    if (diags->n_errors == 0) {
        if (diags->n_dropped == 0)
            return KVS_OK;
        return kvs_error_set(err, KVS_ENOMEM, "out of memory while collecting %zu errors",
                             diags->n_dropped);
    }
    if (err != NULL)
        *err = diags->errors[0];
    return diags->errors[0].status;
}

void kvs_assert_fail(const char *cond, const char *file, int line)
{
    fprintf(stderr, "%s:%d: internal error: %s\n", file, line, cond);
    abort();
}
