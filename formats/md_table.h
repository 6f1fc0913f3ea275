/*
 * Markdown tables whose columns are padded to line up. Titles first, one per column, then cells
 * line by line; a failed allocation sticks and is told by the printer.
 */
#ifndef KVS_FORMATS_MD_TABLE_H
#define KVS_FORMATS_MD_TABLE_H

#include <stdbool.h>

#include "base/array.h"
#include "base/text.h"

/* Zero-initialise; release with kvs_md_fini. */
struct kvs_md_table {
    struct kvs_text text;      /* every cell ends with a zero */
    KVS_ARRAY(size_t) cells;   /* offsets into text, titles first */
    KVS_ARRAY(bool) is_number; /* [n_columns], filled by the titles: right-aligned */
    kvs_status status;
};

/* "title unit", or the title alone when unit is "". */
void kvs_md_title(struct kvs_md_table *t, bool is_number, const char *title, const char *unit);
void kvs_md_cell(struct kvs_md_table *t, const char *fmt, ...) KVS_PRINTF(2, 3);
/* "12.30", or "-" when it is not finite. */
void kvs_md_number(struct kvs_md_table *t, double value);
/* "+1.2%", or "-". */
void kvs_md_percent(struct kvs_md_table *t, double percent);

/* Appends the table to out; out->status tells of a failed allocation. */
void kvs_md_print(struct kvs_md_table *t, struct kvs_text *out);
void kvs_md_fini(struct kvs_md_table *t);

#endif
