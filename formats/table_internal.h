/* What a table is made of; private to formats/table*.c. */
#ifndef KVS_FORMATS_TABLE_INTERNAL_H
#define KVS_FORMATS_TABLE_INTERNAL_H

#include "base/arena.h"
#include "base/array.h"
#include "formats/table.h"

struct table_cell {
    const char *text; /* in the arena, terminated; holds no zero byte */
    unsigned line;    /* where it begins, from 1 */
    unsigned column;
};

struct kvs_table {
    const char *name; /* in the arena */
    size_t n_columns; /* at least 1 once parsed */
    size_t n_comments;
    KVS_ARRAY(struct table_cell) cells; /* [1 + n_rows][n_columns], the header first */
    struct kvs_arena arena;
};

#endif
