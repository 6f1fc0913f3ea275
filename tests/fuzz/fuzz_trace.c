/* Any bytes as a trace: an answer, never a crash; what can be merged can be read again. */
#include <stdint.h>

#include "formats/trace_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static kvs_status read_trace(const char *bytes, size_t n)
{
    struct kvs_trace_totals totals = {0};
    kvs_status status = kvs_trace_read("fuzz.json", bytes, n, &totals, NULL);
    kvs_trace_totals_fini(&totals);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *bytes = n > 0 ? (const char *)data : "";
    const struct kvs_trace_file files[2] = {{"a", "a", bytes, n}, {"b", "b\"", bytes, n}};
    struct kvs_text out = {0};
    struct kvs_error err = {0};
    (void)kvs_is_trace(bytes, n);
    kvs_status status = read_trace(bytes, n);
    if (kvs_trace_merge(files, &out, &err) != KVS_OK)
        KVS_ASSERT(err.text[0] != '\0');
    else if (status == KVS_OK)
        (void)read_trace(out.data, out.n);
    kvs_text_fini(&out);
    return 0;
}
