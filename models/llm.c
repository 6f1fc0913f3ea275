/* Entry points for model shapes: YAML in, struct kvs_llm out. */
#include "models/llm.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/yaml.h"
#include "models/llm_file.h"

void kvs_llm_destroy(struct kvs_llm *llm)
{
    if (llm == NULL)
        return;
    kvs_mem_free(llm->layers);
    kvs_mem_free(llm);
}

static void llm_copy_text(char *out, size_t capacity, const char *text)
{
    (void)snprintf(out, capacity, "%s", text);
}

static void llm_set_weights(const struct kvs_llm_file *file, struct kvs_llm *llm)
{
    llm_copy_text(llm->weight_label, sizeof(llm->weight_label), file->weight_label);
    llm->weight_block = file->weight_block;
    llm->weight_bytes_per_param = file->weight_bits / 8.0;
    if (file->weight_bytes > 0 && llm->stored_params > 0)
        llm->weight_bytes_per_param = (double)file->weight_bytes / (double)llm->stored_params;
}

/* Spinning does not touch device memory, and an idle clock's pace is the same as a busy one's. */
static void llm_set_program(const struct kvs_llm_file *file, struct kvs_llm *llm)
{
    static const char nothing[] = "a program's time is its own";
    struct kvs_compute_profile *p = &llm->program;
    llm->has_program = file->program.is_present;
    if (!llm->has_program)
        return;
    llm_copy_text(p->model, sizeof(p->model), file->name);
    p->head_share = 1.0;
    p->kv_type = KVS_KV_Q8_0;
    p->fixed = file->program.fixed;
    p->per_row = file->program.per_row;
    p->per_query_row = kvs_param_default(0, 0, 0, nothing);
    p->copy_slowdown = p->busy_slowdown = p->per_query_row;
    p->busy_threshold = kvs_param_default(1, 1, 1, nothing);
}

static kvs_status llm_create(const struct kvs_llm_file *file, struct kvs_llm **out,
                             struct kvs_error *err)
{
    void *memory = NULL;
    KVS_TRY(kvs_mem_alloc(1, sizeof(struct kvs_llm), &memory, err));
    struct kvs_llm *llm = memory;
    const kvs_status status = kvs_mem_alloc(file->n_layer, sizeof(*llm->layers), &memory, err);
    if (status != KVS_OK) {
        kvs_llm_destroy(llm);
        return status;
    }
    llm->layers = memory;
    llm->n_layer = file->n_layer;
    llm_copy_text(llm->name, sizeof(llm->name), file->name);
    llm_copy_text(llm->evidence, sizeof(llm->evidence), file->evidence);
    llm_copy_text(llm->source, sizeof(llm->source), file->source);
    llm->hidden = file->hidden;
    llm->vocab = file->vocab;
    llm->swa_window = file->window;
    llm->rotation_k_bytes = file->rotation_k_bytes;
    llm->rotation_v_bytes = file->rotation_v_bytes;
    llm->can_split_tensor = file->can_split_tensor;
    llm->is_v_transposed = file->is_v_transposed;
    llm_set_program(file, llm);
    kvs_llm_expand(file, llm);
    llm_set_weights(file, llm);
    *out = llm;
    return KVS_OK;
}

/* The first error that was added to diags since it held n_before, or KVS_OK. */
static kvs_status llm_new_status(const struct kvs_diags *diags, size_t n_before,
                                 struct kvs_error *err)
{
    if (diags->n_errors + diags->n_dropped == n_before)
        return KVS_OK;
    if (n_before >= diags->n_errors)
        return kvs_diags_status(diags, err); /* it was dropped */
    if (err != NULL)
        *err = diags->errors[n_before];
    return diags->errors[n_before].status;
}

static kvs_status llm_from_bytes(const char *name, const char *bytes, size_t n,
                                 struct kvs_diags *diags, struct kvs_llm **out,
                                 struct kvs_error *err)
{
    struct kvs_llm_file file;
    struct kvs_yaml *doc = NULL;
    const size_t n_before = diags->n_errors + diags->n_dropped;
    KVS_TRY(kvs_yaml_parse(name, bytes, n, diags, &doc, err));
    kvs_llm_file_read(doc, &file);
    kvs_status status = llm_new_status(diags, n_before, err);
    if (status == KVS_OK)
        status = llm_create(&file, out, err);
    kvs_yaml_destroy(doc);
    return status;
}

/* Errors that ended the reading early (syntax, memory) are not in diags yet. */
static kvs_status llm_report(kvs_status status, const struct kvs_error *fault, size_t n_before,
                             struct kvs_diags *diags, struct kvs_error *err)
{
    if (status == KVS_OK)
        return KVS_OK;
    if (diags->n_errors + diags->n_dropped == n_before)
        kvs_diags_add(diags, fault);
    if (err != NULL)
        *err = *fault;
    return status;
}

kvs_status kvs_llm_parse(const char *name, const char *bytes, size_t n, struct kvs_diags *diags,
                         struct kvs_llm **out, struct kvs_error *err)
{
    struct kvs_error fault = {0};
    const size_t n_before = diags->n_errors + diags->n_dropped;
    const kvs_status status = llm_from_bytes(name, bytes, n, diags, out, &fault);
    return llm_report(status, &fault, n_before, diags, err);
}

kvs_status kvs_llm_load(const char *path, struct kvs_diags *diags, struct kvs_llm **out,
                        struct kvs_error *err)
{
    char *bytes = NULL;
    size_t n = 0;
    struct kvs_error fault = {0};
    const size_t n_before = diags->n_errors + diags->n_dropped;
    const kvs_status status = kvs_file_read(path, KVS_YAML_MAX_BYTES, &bytes, &n, &fault);
    if (status != KVS_OK)
        return llm_report(status, &fault, n_before, diags, err);
    const kvs_status parsed = kvs_llm_parse(path, bytes, n, diags, out, err);
    kvs_mem_free(bytes);
    return parsed;
}

uint64_t kvs_llm_active_params(const struct kvs_llm *llm)
{
    uint64_t sum = llm->head_params;
    for (uint32_t i = 0; i < llm->n_layer; i++)
        sum += llm->layers[i].pre_params + llm->layers[i].post_params;
    return sum;
}
