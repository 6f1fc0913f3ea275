/*
 * The shape of a language model: what its layers read, keep and cache. Plain data, no cost.
 *
 * A file under models/llm/ (docs/model-format.md) says only what the published configuration
 * says; the loader expands patterns into one `struct kvs_llm_layer` per layer.
 *
 * Weight counts are parameters read for one token ("active": used and shared experts only):
 *   full/SWA attention, pre   = hidden x heads x k_dim x (1 + gate)
 *                               + hidden x kv_heads x (k_dim + v_dim)
 *   full/SWA attention, post  = heads x v_dim x hidden + ffn
 *   MLA                       = its low-rank factors
 *   recurrent                 = its projections (pre 0: a recurrent layer has no staged cache)
 *   ffn                       = 3 x hidden x ffn width, active experts, router, shared expert
 *   head                      = vocab x hidden
 * A layer that reads another layer's cache projects no K and V; with k_eq_v there is no V
 * projection.
 */
#ifndef KVS_MODELS_LLM_H
#define KVS_MODELS_LLM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "models/profile.h"

typedef enum kvs_layer_kind {
    KVS_LAYER_FULL,      /* attention over the whole context: cache grows */
    KVS_LAYER_SWA,       /* attention over a sliding window */
    KVS_LAYER_RECURRENT, /* linear attention, Mamba, ...: constant state on the device */
    KVS_LAYER_NONE       /* no attention and no state (no-op block, MoE or MLP mixer) */
} kvs_layer_kind;

struct kvs_llm_layer {
    kvs_layer_kind kind;
    uint32_t kind_index;  /* number of earlier layers of the same kind */
    uint32_t n_head;      /* query heads; 0 where there is no attention */
    uint32_t n_head_kv;   /* cached heads; 1 for MLA */
    uint32_t k_dim;       /* values per cached K head; MLA: kv_lora_rank + rope */
    uint32_t v_dim;       /* values per cached V head; 0: no V cache (MLA) */
    int32_t kv_source;    /* -1: owns its cache; else the layer whose cache it reads */
    uint64_t pre_params;  /* weights read before its attention, values */
    uint64_t post_params; /* weights read from its attention on, values */
    uint32_t pre_kernels;
    uint32_t post_kernels;
};

/* Does it attend to a cache, its own or another layer's? Such layers are staged or resident. */
static inline bool kvs_llm_layer_has_cache(const struct kvs_llm_layer *layer)
{
    return layer->kind == KVS_LAYER_FULL || layer->kind == KVS_LAYER_SWA;
}

struct kvs_llm {
    char name[64];
    char
        evidence[16]; /* config, partly, checked, test-fixture, recalled, measured, synthetic */
    char source[256];
    uint32_t n_layer;
    struct kvs_llm_layer *layers; /* owned, [n_layer] */
    uint32_t hidden;              /* values of the hidden state */
    uint32_t vocab;
    uint32_t swa_window;              /* rows; 0 when no layer is SWA */
    uint64_t recurrent_bytes_per_seq; /* f32 state of all recurrent layers */
    uint64_t head_params;             /* LM head, read once per token */
    uint64_t stored_params;           /* every weight of the file: all experts, the embedding */
    uint32_t head_kernels;
    char weight_label[32]; /* quantisation, such as UD-IQ2_M, or "" */
    uint32_t weight_block; /* values per block of the weight type: 256 (k-quants), 32, 1 */
    double weight_bytes_per_param; /* > 0 */
    uint64_t rotation_k_bytes;     /* constants copied once per token, blocking; 0: none */
    uint64_t rotation_v_bytes;
    struct kvs_compute_profile program; /* what a synthetic program asks of any device */
    bool has_program;
    bool can_split_tensor; /* false: llama.cpp refuses -sm tensor for this architecture */
    bool is_v_transposed;  /* cache keeps V transposed: the pipelined transport declines */
};

/*
 * Reads a model file, or the bytes of one under a display name. Errors: every fault of the file
 * goes to stderr-ready diags; *err gets the first. Returns to caller: kvs_llm_destroy.
 */
kvs_status kvs_llm_load(const char *path, struct kvs_diags *diags, struct kvs_llm **out,
                        struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_llm_parse(const char *name, const char *bytes, size_t n, struct kvs_diags *diags,
                         struct kvs_llm **out, struct kvs_error *err) KVS_MUST_USE;
void kvs_llm_destroy(struct kvs_llm *llm);

/* Weights read per token: all layers and the head, values. */
uint64_t kvs_llm_active_params(const struct kvs_llm *llm);

#endif
