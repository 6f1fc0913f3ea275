/* A table in memory: cells in row order, their text in an arena. The syntax is in table_read.c.
 */
#include "formats/table.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/units.h"
#include "formats/table_internal.h"

static size_t table_find(const struct kvs_table *table, const char *column)
{
    for (size_t i = 0; i < table->n_columns; i++)
        if (strcmp(table->cells.items[i].text, column) == 0)
            return i;
    return SIZE_MAX;
}

/* Header cells come first, so row r starts after (r + 1) lines of cells. */
static const struct table_cell *table_cell_at(const struct kvs_table *table, size_t row,
                                              size_t column)
{
    KVS_ASSERT(row < kvs_table_n_rows(table) && column < table->n_columns);
    return &table->cells.items[(row + 1) * table->n_columns + column];
}

static kvs_status table_unknown_column(const struct kvs_table *table, const char *column,
                                       struct kvs_error *err)
{
    const char *names[KVS_TABLE_MAX_COLUMNS];
    kvs_error_at(err, KVS_ENOTFOUND, table->name, table->cells.items[0].line, 0,
                 "no column \"%.80s\"", column);
    for (size_t i = 0; i < table->n_columns; i++)
        names[i] = table->cells.items[i].text;
    const char *nearest = kvs_nearest(column, names, table->n_columns);
    if (nearest)
        kvs_error_hint(err, "did you mean %s?", nearest);
    return KVS_ENOTFOUND;
}

static kvs_status table_get(const struct kvs_table *table, size_t row, const char *column,
                            const struct table_cell **out, struct kvs_error *err)
{
    size_t index = table_find(table, column);
    if (index == SIZE_MAX)
        return table_unknown_column(table, column, err);
    *out = table_cell_at(table, row, index);
    return KVS_OK;
}

/* Adds the place to an error about the text of a cell. */
static kvs_status table_place(const struct kvs_table *table, const struct table_cell *cell,
                              const char *column, kvs_status status, struct kvs_error *err)
{
    if (status == KVS_OK || !err)
        return status;
    struct kvs_error found = *err;
    kvs_error_at(err, status, table->name, cell->line, cell->column, "%s", found.text);
    size_t n = strlen(column);
    n = n < sizeof err->path ? n : sizeof err->path - 1;
    memcpy(err->path, column, n);
    err->path[n] = '\0';
    return status;
}

kvs_status kvs_table_str(const struct kvs_table *table, size_t row, const char *column,
                         const char **out, struct kvs_error *err)
{
    const struct table_cell *cell;
    KVS_TRY(table_get(table, row, column, &cell, err));
    *out = cell->text;
    return KVS_OK;
}

kvs_status kvs_table_u64(const struct kvs_table *table, size_t row, const char *column,
                         uint64_t *out, struct kvs_error *err)
{
    const struct table_cell *cell;
    KVS_TRY(table_get(table, row, column, &cell, err));
    return table_place(table, cell, column, kvs_parse_u64(cell->text, out, err), err);
}

kvs_status kvs_table_f64(const struct kvs_table *table, size_t row, const char *column,
                         double *out, struct kvs_error *err)
{
    const struct table_cell *cell;
    KVS_TRY(table_get(table, row, column, &cell, err));
    return table_place(table, cell, column, kvs_parse_f64(cell->text, out, err), err);
}

bool kvs_table_is_empty(const struct kvs_table *table, size_t row, const char *column)
{
    size_t index = table_find(table, column);
    return index == SIZE_MAX || table_cell_at(table, row, index)->text[0] == '\0';
}

bool kvs_table_has_column(const struct kvs_table *table, const char *column)
{
    return table_find(table, column) != SIZE_MAX;
}

const char *kvs_table_column_name(const struct kvs_table *table, size_t column)
{
    KVS_ASSERT(column < table->n_columns);
    return table->cells.items[column].text;
}

size_t kvs_table_n_columns(const struct kvs_table *table)
{
    return table->n_columns;
}

size_t kvs_table_n_rows(const struct kvs_table *table)
{
    return table->cells.n / table->n_columns - 1;
}

size_t kvs_table_n_comments(const struct kvs_table *table)
{
    return table->n_comments;
}

unsigned kvs_table_row_line(const struct kvs_table *table, size_t row)
{
    return table_cell_at(table, row, 0)->line;
}

kvs_status kvs_table_load(const char *path, struct kvs_table **out, struct kvs_error *err)
{
    char *bytes;
    size_t n;
    KVS_TRY(kvs_file_read(path, KVS_TABLE_MAX_BYTES, &bytes, &n, err));
    kvs_status status = kvs_table_parse(path, bytes, n, out, err);
    kvs_mem_free(bytes);
    return status;
}

void kvs_table_destroy(struct kvs_table *table)
{
    if (!table)
        return;
    KVS_ARRAY_FREE(&table->cells);
    kvs_arena_fini(&table->arena);
    kvs_mem_free(table);
}
