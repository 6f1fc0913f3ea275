/* Any bytes as a table: an answer, never a crash; a table that was read has whole rows. */
#include <stdint.h>

#include "formats/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct kvs_table *table = NULL;
    struct kvs_error err = {0};
    kvs_status status = kvs_table_parse("fuzz.csv", (const char *)data, n, &table, &err);
    KVS_ASSERT((status == KVS_OK) == (table != NULL));
    if (!table) {
        KVS_ASSERT(err.text[0] != '\0' && err.line > 0 && err.column > 0);
        return 0;
    }
    unsigned line = 0;
    for (size_t row = 0; row < kvs_table_n_rows(table); row++) {
        KVS_ASSERT(kvs_table_row_line(table, row) > line);
        line = kvs_table_row_line(table, row);
        for (size_t i = 0; i < kvs_table_n_columns(table); i++) {
            const char *column = kvs_table_column_name(table, i);
            const char *text = NULL;
            double value;
            KVS_ASSERT(kvs_table_str(table, row, column, &text, &err) == KVS_OK);
            KVS_ASSERT(kvs_table_is_empty(table, row, column) == (text[0] == '\0'));
            if (kvs_table_f64(table, row, column, &value, &err) != KVS_OK)
                KVS_ASSERT(err.line >= line && err.column > 0);
        }
    }
    kvs_table_destroy(table);
    return 0;
}
