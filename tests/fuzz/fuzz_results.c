/* Any bytes as rows of a result: an answer, never a crash; a row that was read has every key. */
#include <stdint.h>

#include "formats/row_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct kvs_results results = {0};
    struct kvs_error err = {0};
    if (kvs_results_read("fuzz.jsonl", (const char *)data, n, &results, &err) != KVS_OK)
        KVS_ASSERT(err.text[0] != '\0');
    for (size_t i = 0; i < results.items.n; i++) {
        for (size_t k = 0; k < KVS_RESULT_N_KEYS; k++)
            KVS_ASSERT(results.items.items[i].keys[k] != NULL);
        KVS_ASSERT(kvs_result_is_same(&results.items.items[i], &results.items.items[i]));
    }
    kvs_results_fini(&results);
    return 0;
}
