/* What the files of the row writers share; only for formats/row*.c. */
#ifndef KVS_FORMATS_ROW_INTERNAL_H
#define KVS_FORMATS_ROW_INTERNAL_H

#include "base/json.h"
#include "formats/row.h"

/* The row as a JSON object with every column. */
void kvs_row_json(struct kvs_json_writer *json, const struct kvs_row *row);
void kvs_row_json_experiment(struct kvs_json_writer *json,
                             const struct kvs_row_context *context, const struct kvs_row *row);

void kvs_row_md(struct kvs_text *out, const struct kvs_row_context *context,
                const struct kvs_row *rows, size_t n);

/* Numbered notes of a table: a text has one number however many rows refer to it. */
struct kvs_row_notes {
    KVS_ARRAY(char *) items; /* owned */
    kvs_status status;
};
/* Number of the note that a row needs, from 1; 0: none. */
size_t kvs_row_note_edge(struct kvs_row_notes *notes, const struct kvs_row *row);
size_t kvs_row_note_decline(struct kvs_row_notes *notes, const struct kvs_row *row);
size_t kvs_row_note_error(struct kvs_row_notes *notes, const struct kvs_row *row);
/* All numbered notes, then those of the whole table: ranges, links, compute, memory, flags. */
void kvs_row_notes_print(const struct kvs_row_notes *notes,
                         const struct kvs_row_context *context, const struct kvs_row *rows,
                         size_t n, struct kvs_text *out);
void kvs_row_notes_fini(struct kvs_row_notes *notes);

#endif
