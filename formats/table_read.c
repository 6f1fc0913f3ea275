/* The syntax of tables: a cursor over the bytes that knows line and column, one line at a time.
 */
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "formats/table_internal.h"

struct table_reader {
    struct kvs_table *table;
    const char *at;
    const char *end;
    unsigned line;
    unsigned column;
    struct kvs_text cell; /* text of the cell at hand, quotes resolved */
    struct kvs_error *err;
};

#define TABLE_FAIL(r, ...)                                                                     \
    kvs_error_at((r)->err, KVS_ESYNTAX, (r)->table->name, (r)->line, (r)->column, __VA_ARGS__)

static bool table_is_at(const struct table_reader *r, char byte)
{
    return r->at < r->end && *r->at == byte;
}

/* Length of the line end under the cursor: 0 when there is none. */
static size_t table_line_end(const struct table_reader *r)
{
    if (table_is_at(r, '\n'))
        return 1;
    return r->end - r->at >= 2 && r->at[0] == '\r' && r->at[1] == '\n' ? 2 : 0;
}

static void table_next_line(struct table_reader *r)
{
    r->at += table_line_end(r);
    r->line++;
    r->column = 1;
}

/* Moves over one character, or over a line end inside quotes. */
static kvs_status table_step(struct table_reader *r)
{
    if (table_line_end(r) > 0) {
        table_next_line(r);
        return KVS_OK;
    }
    size_t n = kvs_utf8_len(r->at, (size_t)(r->end - r->at));
    if (n == 0)
        return TABLE_FAIL(r, "not UTF-8: byte 0x%02x", (unsigned char)*r->at);
    if ((unsigned char)*r->at < 0x20 && *r->at != '\t')
        return TABLE_FAIL(r, "control character 0x%02x", (unsigned char)*r->at);
    r->at += n;
    r->column++;
    return KVS_OK;
}

static kvs_status table_skip_comment(struct table_reader *r)
{
    while (r->at < r->end && table_line_end(r) == 0)
        KVS_TRY(table_step(r));
    table_next_line(r);
    r->table->n_comments++;
    return KVS_OK;
}

static bool table_is_cell_end(const struct table_reader *r)
{
    return r->at == r->end || *r->at == ',' || table_line_end(r) > 0;
}

static kvs_status table_read_quoted(struct table_reader *r)
{
    struct table_reader open = *r;
    KVS_TRY(table_step(r));
    for (;;) {
        if (r->at == r->end)
            return TABLE_FAIL(&open, "quote is never closed");
        const char *from = r->at;
        bool is_quote = *r->at == '"';
        KVS_TRY(table_step(r));
        if (is_quote && !table_is_at(r, '"'))
            break;
        if (is_quote)
            KVS_TRY(table_step(r));
        kvs_text_append(&r->cell, from, is_quote ? 1 : (size_t)(r->at - from));
    }
    if (!table_is_cell_end(r))
        return TABLE_FAIL(r, "expected a comma or the end of the line after a closing quote");
    return KVS_OK;
}

static bool table_is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static kvs_status table_read_plain(struct table_reader *r)
{
    const char *from = r->at;
    if (r->at < r->end && table_is_blank(*r->at))
        return TABLE_FAIL(r, "blank before a cell: remove it, or quote the cell");
    while (!table_is_cell_end(r)) {
        if (*r->at == '"')
            return TABLE_FAIL(r, "quote inside a cell that does not start with one");
        KVS_TRY(table_step(r));
    }
    if (r->at > from && table_is_blank(r->at[-1])) {
        r->column--;
        return TABLE_FAIL(r, "blank after a cell: remove it, or quote the cell");
    }
    kvs_text_append(&r->cell, from, (size_t)(r->at - from));
    return KVS_OK;
}

static kvs_status table_read_cell(struct table_reader *r)
{
    struct kvs_table *table = r->table;
    struct table_cell cell = {.line = r->line, .column = r->column};
    r->cell.n = 0;
    KVS_TRY(table_is_at(r, '"') ? table_read_quoted(r) : table_read_plain(r));
    if (r->cell.status != KVS_OK)
        return kvs_error_set(r->err, r->cell.status, "%s", kvs_status_text(r->cell.status));
    cell.text = "";
    if (r->cell.n > 0)
        KVS_TRY(kvs_arena_copy(&table->arena, r->cell.data, r->cell.n, &cell.text, r->err));
    return KVS_ARRAY_PUSH(&table->cells, cell, r->err);
}

/* All cells of a line, and the end of the line. */
static kvs_status table_read_line(struct table_reader *r, size_t *out_n)
{
    if (table_line_end(r) > 0)
        return TABLE_FAIL(r, "empty line");
    for (*out_n = 0;; r->at++, r->column++) {
        if (*out_n == KVS_TABLE_MAX_COLUMNS)
            return TABLE_FAIL(r, "more than %u cells in a line", KVS_TABLE_MAX_COLUMNS);
        KVS_TRY(table_read_cell(r));
        ++*out_n;
        if (!table_is_at(r, ','))
            break;
    }
    return KVS_OK;
}

static bool table_is_name(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    return n > 0 && text[n] == '\0' && (text[0] < '0' || text[0] > '9');
}

static kvs_status table_check_header(struct table_reader *r)
{
    const struct table_cell *cells = r->table->cells.items;
    for (size_t i = 0; i < r->table->n_columns; i++) {
        r->line = cells[i].line;
        r->column = cells[i].column;
        if (!table_is_name(cells[i].text))
            return TABLE_FAIL(
                r, "column names are letters, digits and _, no digit first, got \"%.80s\"",
                cells[i].text);
        for (size_t k = 0; k < i; k++)
            if (strcmp(cells[k].text, cells[i].text) == 0)
                return TABLE_FAIL(r, "column \"%.80s\" is there twice", cells[i].text);
    }
    return KVS_OK;
}

static kvs_status table_read_header(struct table_reader *r)
{
    KVS_TRY(table_read_line(r, &r->table->n_columns));
    struct table_reader after = *r;
    KVS_TRY(table_check_header(r));
    *r = after;
    table_next_line(r);
    return KVS_OK;
}

static kvs_status table_read_row(struct table_reader *r)
{
    size_t n;
    unsigned line = r->line;
    size_t n_columns = r->table->n_columns;
    KVS_TRY(table_read_line(r, &n));
    if (n != n_columns)
        return kvs_error_at(r->err, KVS_ESYNTAX, r->table->name, line, 1,
                            "expected %zu cells as in the header, got %zu", n_columns, n);
    table_next_line(r);
    return KVS_OK;
}

static kvs_status table_read(struct table_reader *r)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (r->end - r->at >= 3 && memcmp(r->at, mark, 3) == 0)
        r->at += 3;
    while (r->at < r->end) {
        if (*r->at == '#')
            KVS_TRY(table_skip_comment(r));
        else if (r->table->n_columns == 0)
            KVS_TRY(table_read_header(r));
        else
            KVS_TRY(table_read_row(r));
    }
    return r->table->n_columns > 0 ? KVS_OK : TABLE_FAIL(r, "no header line");
}

kvs_status kvs_table_parse(const char *name, const char *bytes, size_t n,
                           struct kvs_table **out, struct kvs_error *err)
{
    void *memory;
    kvs_status status;
    KVS_TRY(kvs_mem_alloc(1, sizeof(struct kvs_table), &memory, err));
    struct table_reader r = {
        .table = memory, .at = bytes, .end = bytes + n, .line = 1, .column = 1, .err = err};
    KVS_TRY_GOTO(kvs_arena_copy(&r.table->arena, name, strlen(name), &r.table->name, err), out);
    KVS_TRY_GOTO(table_read(&r), out);
    *out = r.table;
out:
    kvs_text_fini(&r.cell);
    if (status != KVS_OK)
        kvs_table_destroy(r.table);
    return status;
}
