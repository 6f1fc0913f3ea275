/*
 * What a model file says, before it is expanded into layers. Internal to models/llm*.c;
 * docs/model-format.md describes the keys. Counts are bounded below so that every product of
 * the expansion fits 64 bits: at most 2^10 layers of at most 2^53 weights or bytes each.
 */
#ifndef KVS_MODELS_LLM_FILE_H
#define KVS_MODELS_LLM_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/yaml.h"
#include "models/llm.h"

#define KVS_LLM_MAX_LAYERS 1024u
#define KVS_LLM_MAX_PARAMS (UINT64_C(1) << 50) /* weights of a layer, bytes of its state */

/* One letter of a pattern per layer. */
enum {
    KVS_LETTER_FULL = 'F',
    KVS_LETTER_SWA = 'S',
    KVS_LETTER_RECURRENT = 'L',
    KVS_LETTER_NONE = 'N'
};

/* Sections `attention` and `sliding`. */
struct kvs_llm_attention {
    uint32_t n_head;
    uint32_t k_dim;
    uint32_t v_dim;
    bool has_gate;  /* the Q projection also yields a gate: twice the columns */
    bool is_k_eq_v; /* no V projection; V is cached all the same */
};

struct kvs_llm_mla {
    bool is_present;
    uint32_t kv_lora_rank;
    uint32_t rope_dim;
    uint32_t nope_dim;
    uint32_t value_dim;
    uint32_t q_lora_rank; /* 0: Q is projected directly */
};

/* Per recurrent layer. */
struct kvs_llm_recurrent {
    uint64_t state_bytes;
    uint64_t params;
};

struct kvs_llm_ffn {
    uint32_t dense_width; /* 0: no dense layer */
    uint32_t n_matrix;    /* 3 with a gate, 2 without */
    const char *on;       /* borrowed letters of the layers that have an FFN; NULL: all */
    uint32_t n_expert;    /* 0: no experts */
    uint32_t n_expert_used;
    uint32_t expert_width;
    uint32_t n_shared;
    uint32_t shared_width;
    uint32_t n_dense_lead; /* first layers that are dense */
    bool is_dense_beside;  /* experts and the dense FFN in the same layer */
};

struct kvs_llm_kernels {
    uint32_t pre;
    uint32_t post;
    uint32_t recurrent;
    uint32_t none;
    uint32_t head;
};

/* Section `params`: a program whose weights are given, not derived. */
struct kvs_llm_params {
    bool is_present;
    uint64_t pre;
    uint64_t post;
    uint64_t head;
};

/* Section `program`: the time that such a program asks for, whatever the device. */
struct kvs_llm_program {
    bool is_present;
    struct kvs_param fixed;
    struct kvs_param per_row;
};

struct kvs_llm_file {
    const char *name; /* strings are borrowed from the document */
    const char *evidence;
    const char *source;
    uint32_t n_layer;
    char letters[KVS_LLM_MAX_LAYERS + 1]; /* [n_layer], terminated; "": the pattern is wrong */
    uint32_t hidden;
    uint32_t vocab;
    bool is_tied;
    struct kvs_llm_attention attention;
    struct kvs_llm_attention sliding;
    uint32_t n_head_kv[KVS_LLM_MAX_LAYERS]; /* [n_layer], 0 where there is no attention */
    uint32_t window;
    struct kvs_llm_mla mla;
    struct kvs_llm_recurrent recurrent;
    uint32_t n_shared_kv_layers;
    struct kvs_llm_ffn ffn;
    struct kvs_llm_kernels kernels;
    struct kvs_llm_params params;
    struct kvs_llm_program program;
    uint64_t rotation_k_bytes;
    uint64_t rotation_v_bytes;
    const char *weight_label; /* "" when the file gives none */
    uint32_t weight_block;
    double weight_bits;    /* per parameter; unused when weight_bytes > 0 */
    uint64_t weight_bytes; /* of the whole file, or 0 */
    bool can_split_tensor;
    bool is_v_transposed;
};

/*
 * Reads every section; faults are added to doc's diags. The result is whole only when none was
 * added. Borrows doc for as long as file is used.
 */
void kvs_llm_file_read(struct kvs_yaml *doc, struct kvs_llm_file *file);

/* Reads `pattern` into letters; file->n_layer is set. */
void kvs_llm_pattern_read(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                          struct kvs_llm_file *file);
bool kvs_llm_has_letter(const struct kvs_llm_file *file, char letter);

/* Reads `recurrent`, `ffn`, `experts` and their companions. */
void kvs_llm_recurrent_read(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                            struct kvs_llm_file *file);
void kvs_llm_ffn_read(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                      struct kvs_llm_file *file);

/* Reads `attention`, `sliding`, `mla` and `shared_kv_layers`. */
void kvs_llm_attention_read(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                            struct kvs_llm_file *file);

/* kvs_yaml_get_u64 for 32-bit fields. */
bool kvs_llm_get_u32(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                     kvs_presence presence, uint32_t min, uint32_t max, uint32_t *out);

/*
 * Expands a faultless file: layers and totals of *llm, whose layers [file->n_layer] are zeroed.
 */
void kvs_llm_expand(const struct kvs_llm_file *file, struct kvs_llm *llm);

#endif
