/* Any bytes as a machine file, and the same bytes as the card it names: an answer, never a
 * crash. */
#include <stdint.h>

#include "models/machine.h"

struct fuzz_bytes {
    const char *data;
    size_t n;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *fuzz_lookup(void *context, const char *gpu_name, size_t *out_n,
                               const char **out_file, const char **out_nearest)
{
    (void)out_file;
    static const char card[] = "kind: gpu\nname: rtx4070\nmemory: 12GiB\nmemory_rate: 504GB/s\n"
                               "flops: 58.3TFLOP/s\n";
    const struct fuzz_bytes *bytes = context;

    *out_nearest = "rtx4070";
    if (gpu_name[0] == 'r') {
        *out_n = sizeof card - 1;
        return card;
    }
    *out_n = bytes->n;
    return gpu_name[0] == 'x' ? bytes->data : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fuzz_bytes bytes = {(const char *)data, n};
    struct kvs_machine *machine = NULL;
    struct kvs_diags diags;
    struct kvs_error err;

    kvs_diags_init(&diags);
    kvs_status status = kvs_machine_parse("fuzz.yaml", bytes.data, n, fuzz_lookup, &bytes,
                                          &diags, &machine, &err);
    KVS_ASSERT((status == KVS_OK) == (machine != NULL));
    KVS_ASSERT((status == KVS_OK) == (diags.n_errors == 0));
    for (uint32_t i = 0; machine && i < machine->n_links; i++)
        KVS_ASSERT(machine->links[i].parent < (int32_t)i);
    for (uint32_t i = 0; machine && i < machine->n_devices; i++)
        KVS_ASSERT(machine->devices[i].link < machine->n_links);
    kvs_machine_destroy(machine);
    kvs_diags_fini(&diags);
    return 0;
}
