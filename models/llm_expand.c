/* From what a model file says to layers and their weights. Formulas: models/llm.h. */
#include "models/llm_file.h"

/* Weights of one layer, values: read before and from its attention on, and kept but not read.
 */
struct llm_weights {
    uint64_t pre;
    uint64_t post;
    uint64_t idle;
};

static void weights_add_attention(const struct kvs_llm_file *file,
                                  const struct kvs_llm_attention *a,
                                  const struct kvs_llm_layer *layer, struct llm_weights *w)
{
    const uint64_t hidden = file->hidden;
    const uint64_t q_columns = (uint64_t)a->n_head * a->k_dim * (a->has_gate ? 2 : 1);
    const uint64_t v_dim = a->is_k_eq_v ? 0 : a->v_dim;
    /* A layer that reads another's cache projects no K and V of its own. */
    const uint64_t kv_columns =
        layer->kv_source < 0 ? layer->n_head_kv * (a->k_dim + v_dim) : 0;
    w->pre += hidden * (q_columns + kv_columns);
    w->post += (uint64_t)a->n_head * a->v_dim * hidden;
}

/* K's up-projection is absorbed into Q, V's follows the attention. */
static void weights_add_mla(const struct kvs_llm_file *file, struct llm_weights *w)
{
    const struct kvs_llm_mla *m = &file->mla;
    const uint64_t hidden = file->hidden;
    const uint64_t n_head = file->attention.n_head;
    const uint64_t q_columns = n_head * ((uint64_t)m->nope_dim + m->rope_dim);
    const uint64_t q_rank = m->q_lora_rank;
    w->pre += q_rank > 0 ? hidden * q_rank + q_rank * q_columns : hidden * q_columns;
    w->pre += hidden * ((uint64_t)m->kv_lora_rank + m->rope_dim);
    w->pre += n_head * m->nope_dim * m->kv_lora_rank;
    w->post += n_head * m->value_dim * m->kv_lora_rank;
    w->post += n_head * m->value_dim * hidden;
}

static bool ffn_has_layer(const struct kvs_llm_ffn *ffn, char letter)
{
    if (ffn->on == NULL)
        return true;
    for (const char *c = ffn->on; *c != '\0'; c++) {
        if (*c == letter)
            return true;
    }
    return false;
}

static void weights_add_ffn(const struct kvs_llm_file *file, uint32_t i, struct llm_weights *w)
{
    const struct kvs_llm_ffn *ffn = &file->ffn;
    const uint64_t per_width = (uint64_t)ffn->n_matrix * file->hidden;
    if (!ffn_has_layer(ffn, file->letters[i]))
        return;
    const bool has_experts = ffn->n_expert > 0 && i >= ffn->n_dense_lead;
    if (!has_experts || ffn->is_dense_beside)
        w->post += per_width * ffn->dense_width;
    if (!has_experts)
        return;
    const uint64_t n_idle = ffn->n_expert - ffn->n_expert_used;
    w->post += per_width * ffn->expert_width * ffn->n_expert_used;
    w->post += per_width * ffn->shared_width * ffn->n_shared;
    w->post += (uint64_t)file->hidden * ffn->n_expert; /* router */
    w->idle += per_width * ffn->expert_width * n_idle;
}

static struct llm_weights layer_weights(const struct kvs_llm_file *file, uint32_t i,
                                        const struct kvs_llm_layer *layer)
{
    struct llm_weights w = {0};
    const bool has_attention = layer->kind == KVS_LAYER_FULL || layer->kind == KVS_LAYER_SWA;
    if (has_attention && file->params.is_present) {
        w.pre = file->params.pre;
        w.post = file->params.post;
        return w;
    }
    if (layer->kind == KVS_LAYER_RECURRENT)
        w.post += file->recurrent.params;
    else if (has_attention && file->mla.is_present)
        weights_add_mla(file, &w);
    else if (has_attention)
        weights_add_attention(
            file, layer->kind == KVS_LAYER_FULL ? &file->attention : &file->sliding, layer, &w);
    weights_add_ffn(file, i, &w);
    return w;
}

static kvs_layer_kind layer_kind(char letter)
{
    switch (letter) {
    case KVS_LETTER_FULL:
        return KVS_LAYER_FULL;
    case KVS_LETTER_SWA:
        return KVS_LAYER_SWA;
    case KVS_LETTER_RECURRENT:
        return KVS_LAYER_RECURRENT;
    default:
        return KVS_LAYER_NONE;
    }
}

/* The last owner of the same kind, as the Gemma 3n and 4 models share. */
static int32_t layer_kv_source(const struct kvs_llm_file *file, uint32_t i)
{
    uint32_t owner = file->n_layer - file->n_shared_kv_layers;
    if (i < owner)
        return -1;
    while (owner > 0 && file->letters[owner - 1] != file->letters[i])
        owner--;
    return (int32_t)owner - 1;
}

static void layer_set_shape(const struct kvs_llm_file *file, uint32_t i,
                            struct kvs_llm_layer *layer)
{
    layer->kind = layer_kind(file->letters[i]);
    layer->kv_source = -1;
    if (layer->kind != KVS_LAYER_FULL && layer->kind != KVS_LAYER_SWA)
        return;
    const struct kvs_llm_attention *a =
        layer->kind == KVS_LAYER_FULL ? &file->attention : &file->sliding;
    layer->kv_source = layer_kv_source(file, i);
    layer->n_head = a->n_head;
    layer->n_head_kv = file->n_head_kv[layer->kv_source < 0 ? i : (uint32_t)layer->kv_source];
    layer->k_dim =
        file->mla.is_present ? file->mla.kv_lora_rank + file->mla.rope_dim : a->k_dim;
    layer->v_dim = file->mla.is_present ? 0 : a->v_dim;
}

static void layer_set_kernels(const struct kvs_llm_file *file, struct kvs_llm_layer *layer)
{
    const struct kvs_llm_kernels *k = &file->kernels;
    switch (layer->kind) {
    case KVS_LAYER_FULL:
    case KVS_LAYER_SWA:
        layer->pre_kernels = k->pre;
        layer->post_kernels = k->post;
        return;
    case KVS_LAYER_RECURRENT:
        layer->post_kernels = k->recurrent;
        return;
    case KVS_LAYER_NONE:
        layer->post_kernels = layer->post_params > 0 ? k->none : 0;
        return;
    }
}

void kvs_llm_expand(const struct kvs_llm_file *file, struct kvs_llm *llm)
{
    uint32_t n_of_kind[KVS_LAYER_NONE + 1] = {0};
    const uint64_t embedding = (uint64_t)file->vocab * file->hidden;
    llm->head_params = file->params.is_present ? file->params.head : embedding;
    llm->head_kernels = file->kernels.head;
    llm->stored_params = llm->head_params + (file->is_tied ? 0 : embedding);
    for (uint32_t i = 0; i < file->n_layer; i++) {
        struct kvs_llm_layer *layer = &llm->layers[i];
        layer_set_shape(file, i, layer);
        layer->kind_index = n_of_kind[layer->kind]++;
        const struct llm_weights w = layer_weights(file, i, layer);
        layer->pre_params = w.pre;
        layer->post_params = w.post;
        layer_set_kernels(file, layer);
        llm->stored_params += w.pre + w.post + w.idle;
        if (layer->kind == KVS_LAYER_RECURRENT)
            llm->recurrent_bytes_per_seq += file->recurrent.state_bytes;
    }
}
