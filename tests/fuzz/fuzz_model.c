/* libFuzzer target: any bytes as a model file. */
#include <stddef.h>
#include <stdint.h>

#include "models/kv.h"
#include "models/llm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kvs_diags diags;
    struct kvs_llm *llm = NULL;
    kvs_diags_init(&diags);
    const kvs_status status =
        kvs_llm_parse("fuzz.yaml", (const char *)data, size, &diags, &llm, NULL);
    KVS_ASSERT((status == KVS_OK) == (llm != NULL));
    KVS_ASSERT((status == KVS_OK) == (diags.n_errors + diags.n_dropped == 0));
    if (llm != NULL) {
        const uint64_t active = kvs_llm_active_params(llm);
        KVS_ASSERT(active <= llm->stored_params);
        (void)kvs_kv_cache_bytes(llm, KVS_KV_Q8_0, KVS_KV_F16, 4096, 1024, 1);
    }
    kvs_llm_destroy(llm);
    kvs_diags_fini(&diags);
    return 0;
}
