/* libFuzzer target: any bytes as an experiment file. */
#include <stddef.h>
#include <stdint.h>

#include "formats/experiment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kvs_experiment experiment;
    struct kvs_diags diags;
    kvs_diags_init(&diags);
    kvs_status status =
        kvs_experiment_parse("fuzz.yaml", (const char *)data, size, &diags, &experiment, NULL);
    KVS_ASSERT((status == KVS_OK) == (diags.n_errors + diags.n_dropped == 0));
    if (status == KVS_OK && kvs_experiment_complete(&experiment, 2, NULL) == KVS_OK) {
        for (unsigned s = 0; s < KVS_SETTING_COUNT; s++)
            KVS_ASSERT(experiment.values[s].n > 0 || s == KVS_SETTING_TENSOR_SPLIT);
        KVS_ASSERT(experiment.arms.n > 0);
    }
    kvs_experiment_fini(&experiment);
    kvs_diags_fini(&diags);
    return 0;
}
