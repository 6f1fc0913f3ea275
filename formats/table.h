/*
 * Measured tables: CSV files with a header line, read strictly. traces/README.md describes
 * them.
 *
 *     # Decode rate, one card. Source: pr92.
 *     build,n_depth,method,avg_ts
 *     current,4096,"probe, 256 MiB",29.9557
 *
 * Form: RFC 4180, UTF-8, lines ended by LF or CRLF. A line that starts with `#` is a comment,
 * wherever it stands. The first other line names the columns: letters, digits and `_`, each
 * name once. Every later line is a row with as many cells. A cell with a comma, a quote, a line
 * end, a leading `#` or outer blanks is quoted; a quote inside is doubled. Empty lines are
 * refused.
 *
 * Errors carry file, line and column (both from 1, columns in characters), and from the typed
 * getters the column's name as path: `rows.csv:3:9: n_depth: expected a whole number such as
 * 32, got "x"`. Only the first error of a file is reported.
 */
#ifndef KVS_FORMATS_TABLE_H
#define KVS_FORMATS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define KVS_TABLE_MAX_COLUMNS 256u
#define KVS_TABLE_MAX_BYTES   ((size_t)16 << 20)

struct kvs_table;

/* Reads bytes under a display name (borrowed for the call). Returns to caller:
 * kvs_table_destroy. */
kvs_status kvs_table_parse(const char *name, const char *bytes, size_t n,
                           struct kvs_table **out, struct kvs_error *err) KVS_MUST_USE;
/* The same from a file ("-" = stdin) of at most KVS_TABLE_MAX_BYTES. */
kvs_status kvs_table_load(const char *path, struct kvs_table **out,
                          struct kvs_error *err) KVS_MUST_USE;
void kvs_table_destroy(struct kvs_table *table);

size_t kvs_table_n_rows(const struct kvs_table *table);
size_t kvs_table_n_columns(const struct kvs_table *table);
size_t kvs_table_n_comments(const struct kvs_table *table); /* comment lines */
const char *kvs_table_column_name(const struct kvs_table *table, size_t column);
bool kvs_table_has_column(const struct kvs_table *table, const char *column);
/* The line a row begins on, for messages about it. */
unsigned kvs_table_row_line(const struct kvs_table *table, size_t row);

/*
 * The cell of a row (< n_rows) under a column name. An unknown column is KVS_ENOTFOUND and
 * names the nearest. The text is borrowed until destroy; an empty cell is "". The other two
 * refuse an empty cell like any text that is not a number: ask kvs_table_is_empty first where
 * it may be.
 */
kvs_status kvs_table_str(const struct kvs_table *table, size_t row, const char *column,
                         const char **out, struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_table_u64(const struct kvs_table *table, size_t row, const char *column,
                         uint64_t *out, struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_table_f64(const struct kvs_table *table, size_t row, const char *column,
                         double *out, struct kvs_error *err) KVS_MUST_USE;
/* True for an empty cell, and where the table has no such column. */
bool kvs_table_is_empty(const struct kvs_table *table, size_t row, const char *column);

#endif
