/* Any text is a sweep or an error with a message; never more values than the limit. */
#include <string.h>

#include "cli/sweep.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char text[64];
    if (n >= sizeof(text))
        return 0;
    memcpy(text, data, n);
    text[n] = '\0';
    struct kvs_sweep sweep = {0};
    struct kvs_error err = {0};
    kvs_status status = kvs_sweep_add(&sweep, "-d", text, &err);
    KVS_ASSERT(status == KVS_OK ? sweep.n > 0 : err.text[0] != '\0');
    KVS_ASSERT(sweep.n <= KVS_SWEEP_MAX);
    kvs_sweep_fini(&sweep);
    return 0;
}
