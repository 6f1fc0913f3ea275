/* Any text through every parser of quantities; what is accepted keeps base/units.h's word. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void demand(bool claim)
{
    if (!claim)
        abort();
}

static bool is_good(kvs_status status, const struct kvs_error *err)
{
    demand(status == KVS_OK || (err->status == status && err->text[0] != '\0'));
    return status == KVS_OK;
}

static void parse_all(const char *text)
{
    struct kvs_error err;
    char buf[KVS_UNITS_BUF];
    uint64_t whole = 0;
    kvs_time ps = 0;
    double value = 0;
    double again = 0;
    if (is_good(kvs_parse_bytes(text, &whole, &err), &err))
        demand(strlen(kvs_format_bytes(whole, buf, sizeof(buf))) < sizeof(buf) - 1);
    if (is_good(kvs_parse_time(text, &ps, &err), &err))
        demand(ps >= 0 && ps <= INT64_MAX / 4 &&
               strlen(kvs_format_time(ps, buf, sizeof(buf))) < sizeof(buf) - 1);
    if (is_good(kvs_parse_rate(text, &value, &err), &err))
        demand(isfinite(value) && value >= 0 &&
               kvs_format_rate(value, buf, sizeof(buf)) == buf);
    if (is_good(kvs_parse_flops(text, &value, &err), &err))
        demand(isfinite(value) && value >= 0);
    if (is_good(kvs_parse_frac(text, &value, &err), &err))
        demand(isfinite(value) && value >= 0);
    (void)is_good(kvs_parse_u64(text, &whole, &err), &err);
    if (is_good(kvs_parse_f64(text, &value, &err), &err)) {
        kvs_format_f64(value, buf, sizeof(buf));
        demand(kvs_parse_f64(buf, &again, &err) == KVS_OK);
        demand(memcmp(&value, &again, sizeof(value)) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    void *text;
    if (kvs_mem_alloc(n + 1, 1, &text, NULL) != KVS_OK)
        return 0;
    if (n > 0)
        memcpy(text, data, n);
    parse_all(text);
    kvs_mem_free(text);
    return 0;
}
