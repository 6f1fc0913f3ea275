/* Cross product of settings, and machines that differ from the file's in one respect. */
#include "study/sweep.h"

#include <string.h>

#include "base/mem.h"

struct kvs_product {
    const struct kvs_experiment *experiment; /* borrowed */
    const struct kvs_machine *machine;       /* borrowed */
    const struct kvs_llm *llm;               /* borrowed */
    kvs_compute_kind compute;
    struct kvs_machine *arbitrated[2]; /* owned: all engines sticky, all fifo; or NULL */
    size_t n;
};

static kvs_status product_arbitrate(struct kvs_product *p, struct kvs_error *err)
{
    const struct kvs_values *values = &p->experiment->values[KVS_SETTING_ARBITRATION];
    for (size_t i = 0; i < values->n; i++) {
        bool is_fifo = values->items[i] == KVS_ARBITRATION_FIFO;
        struct kvs_machine **machine = &p->arbitrated[is_fifo];
        if (values->items[i] == KVS_ARBITRATION_MACHINE || *machine != NULL)
            continue;
        KVS_TRY(kvs_machine_clone(p->machine, machine, err));
        for (uint32_t d = 0; d < (*machine)->n_devices; d++)
            (*machine)->devices[d].engines.arbitration =
                is_fifo ? KVS_ARB_FIFO : KVS_ARB_STICKY;
    }
    return KVS_OK;
}

/* tensor_split alone may be empty: one way, equal shares. */
static size_t product_radix(const struct kvs_product *p, unsigned setting)
{
    size_t n = p->experiment->values[setting].n;
    return n > 0 ? n : 1;
}

static kvs_status product_count(struct kvs_product *p, struct kvs_error *err)
{
    p->n = 1;
    for (unsigned s = 0; s < KVS_SETTING_COUNT; s++) {
        size_t radix = product_radix(p, s);
        if (radix > KVS_PRODUCT_MAX / p->n)
            return kvs_error_set(err, KVS_ERANGE, "more than %u configurations",
                                 KVS_PRODUCT_MAX);
        p->n *= radix;
    }
    return KVS_OK;
}

kvs_status kvs_product_create(const struct kvs_experiment *experiment,
                              const struct kvs_machine *machine, const struct kvs_llm *llm,
                              struct kvs_product **out, struct kvs_error *err)
{
    void *memory;
    kvs_status status;
    KVS_TRY(kvs_mem_alloc(1, sizeof **out, &memory, err));
    struct kvs_product *p = memory;
    p->experiment = experiment;
    p->machine = machine;
    p->llm = llm;
    KVS_TRY_GOTO(product_count(p, err), fail);
    KVS_TRY_GOTO(product_arbitrate(p, err), fail);
    *out = p;
    return KVS_OK;
fail:
    kvs_product_destroy(p);
    return status;
}

void kvs_product_destroy(struct kvs_product *product)
{
    if (product == NULL)
        return;
    for (size_t i = 0; i < KVS_COUNT_OF(product->arbitrated); i++)
        kvs_machine_clone_destroy(product->arbitrated[i]);
    kvs_mem_free(product);
}

size_t kvs_product_n(const struct kvs_product *product)
{
    return product->n;
}

uint64_t kvs_configuration_value(const struct kvs_product *product,
                                 const struct kvs_configuration *configuration,
                                 kvs_setting setting)
{
    const struct kvs_values *values = &product->experiment->values[setting];
    return values->n > 0 ? values->items[configuration->at[setting]] : 0;
}

static void product_workload(const struct kvs_product *p, struct kvs_configuration *f)
{
    struct kvs_workload *w = &f->c.workload;
    w->depth = kvs_configuration_value(p, f, KVS_SETTING_DEPTH);
    w->n_gen = (uint32_t)kvs_configuration_value(p, f, KVS_SETTING_N_GEN);
    w->n_parallel = (uint32_t)kvs_configuration_value(p, f, KVS_SETTING_N_PARALLEL);
    w->is_unified = kvs_configuration_value(p, f, KVS_SETTING_UNIFIED) != 0;
    w->n_rows = (uint32_t)kvs_configuration_value(p, f, KVS_SETTING_N_ROWS);
    w->n_ctx = kvs_configuration_value(p, f, KVS_SETTING_N_CTX);
    w->type_k = (kvs_kv_type)kvs_configuration_value(p, f, KVS_SETTING_TYPE_K);
    w->type_v = (kvs_kv_type)kvs_configuration_value(p, f, KVS_SETTING_TYPE_V);
    w->is_pinned = kvs_configuration_value(p, f, KVS_SETTING_PINNED) != 0;
    w->is_frozen = kvs_configuration_value(p, f, KVS_SETTING_FROZEN) != 0;
    w->window_rows = kvs_configuration_value(p, f, KVS_SETTING_WINDOW_ROWS);
}

static void product_placement(const struct kvs_product *p, struct kvs_configuration *f)
{
    struct kvs_placement *place = &f->c.placement;
    const struct kvs_values *splits = &p->experiment->values[KVS_SETTING_TENSOR_SPLIT];
    place->mode = (kvs_split_mode)kvs_configuration_value(p, f, KVS_SETTING_SPLIT_MODE);
    place->rule = (kvs_split_rule)kvs_configuration_value(p, f, KVS_SETTING_HEAD_SPLIT);
    place->kv_gpu_layers = (uint32_t)kvs_configuration_value(p, f, KVS_SETTING_KV_GPU_LAYERS);
    if (splits->n > 0)
        place->shares =
            p->experiment->splits.items[splits->items[f->at[KVS_SETTING_TENSOR_SPLIT]]].items;
}

void kvs_product_set_compute(struct kvs_product *product, kvs_compute_kind compute)
{
    product->compute = compute;
}

void kvs_product_get(const struct kvs_product *product, size_t i, struct kvs_configuration *out)
{
    memset(out, 0, sizeof *out);
    for (unsigned s = KVS_SETTING_COUNT; s-- > 0;) {
        size_t radix = product_radix(product, s);
        out->at[s] = i % radix;
        i /= radix;
    }
    kvs_case_init(&out->c);
    out->c.llm = product->llm;
    out->c.machine = product->machine;
    out->c.compute = product->compute;
    uint64_t arbitration = kvs_configuration_value(product, out, KVS_SETTING_ARBITRATION);
    if (arbitration != KVS_ARBITRATION_MACHINE)
        out->c.machine = product->arbitrated[arbitration == KVS_ARBITRATION_FIFO];
    product_workload(product, out);
    product_placement(product, out);
    uint64_t budget = kvs_configuration_value(product, out, KVS_SETTING_KVPB);
    out->c.transport.budget_bytes = budget > 0 ? budget : UINT64_MAX;
}
