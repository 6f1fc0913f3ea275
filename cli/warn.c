/* Warnings about a job: shapes from memory, and strided copies that fall off a cliff. */
#include <string.h>

#include "cli/job.h"
#include "models/split.h"

static bool warn_is_odd(uint64_t width_bytes)
{
    return width_bytes % 4 == 2;
}

/* Width of the first strided copy whose rows are 2 bytes off a multiple of 4, or 0. */
static uint64_t warn_odd_width(const struct kvs_case *c, const struct kvs_llm_layer *layer,
                               const uint32_t *heads)
{
    uint64_t pitches[] = {kvs_kv_k_row_bytes(layer, c->workload.type_k),
                          kvs_kv_v_row_bytes(layer, c->workload.type_v)};
    uint64_t head_bytes[] = {kvs_kv_head_bytes(layer->k_dim, c->workload.type_k),
                             kvs_kv_head_bytes(layer->v_dim, c->workload.type_v)};
    for (size_t side = 0; side < 2; side++) {
        if (pitches[side] == 0)
            continue;
        if (warn_is_odd(pitches[side]))
            return pitches[side];
        for (uint32_t d = 0; d < c->machine->n_devices; d++)
            if (heads[d] > 0 && warn_is_odd(head_bytes[side] * heads[d]))
                return head_bytes[side] * heads[d];
    }
    return 0;
}

static uint64_t warn_case(const struct kvs_case *c, const double *shares, uint32_t *heads)
{
    for (uint32_t l = 0; l < c->llm->n_layer; l++) {
        const struct kvs_llm_layer *layer = &c->llm->layers[l];
        if (!kvs_llm_layer_has_cache(layer) ||
            kvs_split_heads(c->placement.rule, layer, c->llm->weight_block, shares,
                            c->machine->n_devices, heads, NULL, NULL) != KVS_OK)
            continue;
        uint64_t width = warn_odd_width(c, layer, heads);
        if (width > 0)
            return width;
    }
    return 0;
}

/* One warning for the whole job: the first configuration under tensor split that has it. */
static void warn_pitch(const struct kvs_job *s, const struct kvs_console *console)
{
    void *shares, *heads;
    uint64_t width = 0;
    if (!s->llm->can_split_tensor || s->machine->n_devices < 2)
        return;
    if (kvs_mem_alloc(s->machine->n_devices, sizeof(double), &shares, NULL) != KVS_OK)
        return;
    if (kvs_mem_alloc(s->machine->n_devices, sizeof(uint32_t), &heads, NULL) != KVS_OK) {
        kvs_mem_free(shares);
        return;
    }
    for (size_t i = 0; i < kvs_product_n(s->product) && width == 0; i++) {
        struct kvs_configuration configuration;
        kvs_product_get(s->product, i, &configuration);
        if (configuration.c.placement.mode != KVS_SPLIT_TENSOR)
            continue;
        const double *given = configuration.c.placement.shares;
        for (uint32_t d = 0; d < s->machine->n_devices; d++)
            ((double *)shares)[d] = given != NULL ? given[d] : 1.0;
        width = warn_case(&configuration.c, shares, heads);
    }
    if (width > 0)
        kvs_console_warn(console,
                         "tensor split of %s copies rows of %llu bytes, 2 off a multiple of 4; "
                         "some drivers copy such rows 50 times slower, which is not predicted; "
                         "try another cache type or split",
                         s->llm->name, (unsigned long long)width);
    kvs_mem_free(shares);
    kvs_mem_free(heads);
}

void kvs_job_stream(struct kvs_job *job, const struct kvs_console *console)
{
    kvs_product_set_compute(job->product, KVS_COMPUTE_STREAMED);
    for (uint32_t d = 0; d < job->machine->n_devices; d++)
        if (!kvs_compute_knows_streaming(&job->machine->devices[d]))
            kvs_console_warn(console,
                             "machine %s: %s has no figures under stream:, so the time of "
                             "kvsim's own kernels is predicted as that of a model's; kvsim "
                             "probe measures them",
                             job->machine->name, job->machine->devices[d].name);
}

void kvs_job_warn(const struct kvs_job *job, const struct kvs_console *console)
{
    if (strcmp(job->llm->evidence, "recalled") == 0)
        kvs_console_warn(
            console,
            "the shape of %s is from memory, so its bytes may be wrong; compare it "
            "with the published configuration",
            job->llm->name);
    warn_pitch(job, console);
}
