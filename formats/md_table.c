/* Cells as text behind each other, and their widths once all are there. */
#include "formats/md_table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void kvs_md_cell(struct kvs_md_table *t, const char *fmt, ...)
{
    char buf[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(buf, sizeof buf, fmt, args);
    va_end(args);
    if (t->status == KVS_OK)
        t->status = KVS_ARRAY_PUSH(&t->cells, t->text.n, NULL);
    kvs_text_append(&t->text, buf, strlen(buf) + 1);
}

void kvs_md_title(struct kvs_md_table *t, bool is_number, const char *title, const char *unit)
{
    kvs_md_cell(t, "%s%s%s", title, unit[0] != '\0' ? " " : "", unit);
    if (t->status == KVS_OK)
        t->status = KVS_ARRAY_PUSH(&t->is_number, is_number, NULL);
}

void kvs_md_number(struct kvs_md_table *t, double value)
{
    if (isfinite(value))
        kvs_md_cell(t, "%.2f", value);
    else
        kvs_md_cell(t, "-");
}

void kvs_md_percent(struct kvs_md_table *t, double percent)
{
    if (fabs(percent) < 0.05)
        kvs_md_cell(t, "0.0%%");
    else if (isfinite(percent))
        kvs_md_cell(t, "%+.1f%%", percent);
    else
        kvs_md_cell(t, "-");
}

static const char *md_at(const struct kvs_md_table *t, size_t line, size_t column)
{
    return t->text.data + t->cells.items[line * t->is_number.n + column];
}

/* Characters, not bytes. */
static size_t md_width(const char *cell)
{
    size_t n = 0;
    for (; *cell != '\0'; cell++)
        n += ((unsigned char)*cell & 0xc0u) != 0x80u;
    return n;
}

static void md_print_line(const struct kvs_md_table *t, const size_t *widths, size_t line,
                          struct kvs_text *out)
{
    for (size_t c = 0; c < t->is_number.n; c++) {
        const char *cell = md_at(t, line, c);
        int gap = (int)(widths[c] - md_width(cell));
        if (t->is_number.items[c])
            kvs_text_printf(out, "| %*s%s ", gap, "", cell);
        else
            kvs_text_printf(out, "| %s%*s ", cell, gap, "");
    }
    kvs_text_puts(out, "|\n");
}

static void md_print_rule(const struct kvs_md_table *t, const size_t *widths,
                          struct kvs_text *out)
{
    for (size_t c = 0; c < t->is_number.n; c++) {
        kvs_text_puts(out, "|-");
        for (size_t i = 0; i < widths[c]; i++)
            kvs_text_puts(out, "-");
        kvs_text_puts(out, t->is_number.items[c] ? ":" : "-");
    }
    kvs_text_puts(out, "|\n");
}

void kvs_md_print(struct kvs_md_table *t, struct kvs_text *out)
{
    void *memory;
    if (t->status != KVS_OK || t->text.status != KVS_OK || t->is_number.n == 0 ||
        kvs_mem_alloc(t->is_number.n, sizeof(size_t), &memory, NULL) != KVS_OK) {
        out->status = KVS_ENOMEM;
        return;
    }
    size_t *widths = memory;
    for (size_t i = 0; i < t->cells.n; i++) {
        size_t n = md_width(md_at(t, i / t->is_number.n, i % t->is_number.n));
        if (n > widths[i % t->is_number.n])
            widths[i % t->is_number.n] = n;
    }
    md_print_line(t, widths, 0, out);
    md_print_rule(t, widths, out);
    for (size_t line = 1; line < t->cells.n / t->is_number.n; line++)
        md_print_line(t, widths, line, out);
    kvs_mem_free(widths);
}

void kvs_md_fini(struct kvs_md_table *t)
{
    KVS_ARRAY_FREE(&t->cells);
    KVS_ARRAY_FREE(&t->is_number);
    kvs_text_fini(&t->text);
}
