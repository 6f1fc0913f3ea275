/* The attention sections of a model file, and which layers they are for. */
#include "models/llm_file.h"

#include <string.h>

#define LLM_MAX_HEADS  4096u
#define LLM_MAX_DIM    16384u
#define LLM_MAX_WINDOW (1u << 24)

static void attention_check_kv(struct kvs_yaml *doc, const struct kvs_yaml_node *node,
                               const struct kvs_llm_attention *section, uint32_t n_head_kv)
{
    if (section->n_head % n_head_kv != 0)
        kvs_yaml_complain(doc, node, NULL,
                          "%u query heads are not a whole number for each of %u KV heads",
                          section->n_head, n_head_kv);
}

/* One entry per layer, 0 for every layer whose letter is not covered. */
static void attention_read_kv_list(struct kvs_yaml *doc, const struct kvs_yaml_node *seq,
                                   const struct kvs_llm_attention *section, const char *covers,
                                   struct kvs_llm_file *file)
{
    const size_t n = kvs_yaml_len(seq);
    if (file->letters[0] == '\0')
        return;
    if (n != file->n_layer) {
        kvs_yaml_complain(doc, seq,
                          "one entry per layer, 0 where the layer has no such attention",
                          "%zu entries, expected %u", n, file->n_layer);
        return;
    }
    for (uint32_t i = 0; i < file->n_layer; i++) {
        const struct kvs_yaml_node *item = kvs_yaml_item(seq, i);
        const bool is_covered = strchr(covers, file->letters[i]) != NULL;
        uint64_t value = 0;
        if (!kvs_yaml_node_u64(doc, item, is_covered ? 1 : 0, LLM_MAX_HEADS, &value))
            continue;
        file->n_head_kv[i] = (uint32_t)value;
        if (is_covered)
            attention_check_kv(doc, item, section, (uint32_t)value);
        else if (value != 0)
            kvs_yaml_complain(doc, item, NULL,
                              "must be 0, since layer %u (%c) takes no heads from here", i,
                              file->letters[i]);
    }
}

static void attention_read_kv(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                              const struct kvs_llm_attention *section, kvs_presence presence,
                              const char *covers, struct kvs_llm_file *file)
{
    const struct kvs_yaml_node *node = kvs_yaml_get(doc, map, "kv_heads", presence);
    if (node == NULL)
        return;
    if (kvs_yaml_node_kind(node) == KVS_YAML_SEQ) {
        attention_read_kv_list(doc, node, section, covers, file);
        return;
    }
    uint32_t n_head_kv = 0;
    if (!kvs_llm_get_u32(doc, map, "kv_heads", presence, 1, LLM_MAX_HEADS, &n_head_kv))
        return;
    attention_check_kv(doc, node, section, n_head_kv);
    for (uint32_t i = 0; file->letters[i] != '\0'; i++) {
        if (strchr(covers, file->letters[i]) != NULL)
            file->n_head_kv[i] = n_head_kv;
    }
}

/* Keys that both sections know. *section holds the defaults. */
static void attention_read_shape(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                                 kvs_presence presence, struct kvs_llm_attention *section)
{
    (void)kvs_llm_get_u32(doc, map, "heads", presence, 1, LLM_MAX_HEADS, &section->n_head);
    const bool has_k =
        kvs_llm_get_u32(doc, map, "k_dim", presence, 1, LLM_MAX_DIM, &section->k_dim);
    if (has_k)
        section->v_dim = section->k_dim;
    (void)kvs_llm_get_u32(doc, map, "v_dim", KVS_OPTIONAL, 1, LLM_MAX_DIM, &section->v_dim);
    (void)kvs_yaml_get_bool(doc, map, "gate", KVS_OPTIONAL, &section->has_gate);
    (void)kvs_yaml_get_bool(doc, map, "k_eq_v", KVS_OPTIONAL, &section->is_k_eq_v);
}

static void attention_read_mla(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                               const struct kvs_yaml_node *attention, struct kvs_llm_file *file)
{
    static const char *const unused[] = {"kv_heads", "k_dim", "v_dim", "gate", "k_eq_v"};
    const struct kvs_yaml_node *map = kvs_yaml_get_map(doc, root, "mla", KVS_REQUIRED);
    struct kvs_llm_mla *mla = &file->mla;
    (void)kvs_llm_get_u32(doc, attention, "heads", KVS_REQUIRED, 1, LLM_MAX_HEADS,
                          &file->attention.n_head);
    for (size_t i = 0; i < KVS_COUNT_OF(unused); i++) {
        const struct kvs_yaml_node *node =
            kvs_yaml_get(doc, attention, unused[i], KVS_OPTIONAL);
        if (node != NULL)
            kvs_yaml_complain(doc, node,
                              "MLA caches kv_lora_rank + rope_dim values per layer, and no V",
                              "has no meaning together with mla");
    }
    if (map == NULL)
        return;
    (void)kvs_llm_get_u32(doc, map, "kv_lora_rank", KVS_REQUIRED, 1, LLM_MAX_DIM,
                          &mla->kv_lora_rank);
    (void)kvs_llm_get_u32(doc, map, "rope_dim", KVS_REQUIRED, 0, LLM_MAX_DIM, &mla->rope_dim);
    (void)kvs_llm_get_u32(doc, map, "nope_dim", KVS_REQUIRED, 1, LLM_MAX_DIM, &mla->nope_dim);
    (void)kvs_llm_get_u32(doc, map, "value_dim", KVS_REQUIRED, 1, LLM_MAX_DIM, &mla->value_dim);
    (void)kvs_llm_get_u32(doc, map, "q_lora_rank", KVS_OPTIONAL, 0, LLM_MAX_DIM,
                          &mla->q_lora_rank);
    kvs_yaml_end_map(doc, map);
    for (uint32_t i = 0; file->letters[i] != '\0'; i++)
        file->n_head_kv[i] = file->letters[i] == KVS_LETTER_FULL ? 1 : 0;
    if (kvs_llm_has_letter(file, KVS_LETTER_SWA))
        kvs_yaml_complain(doc, map, NULL, "for F layers only, and the pattern has S");
}

static void attention_read_sliding(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                                   struct kvs_llm_file *file)
{
    file->sliding = file->attention;
    file->sliding.has_gate = false;
    file->sliding.is_k_eq_v = false;
    attention_read_shape(doc, map, KVS_OPTIONAL, &file->sliding);
    (void)kvs_llm_get_u32(doc, map, "window", KVS_REQUIRED, 1, LLM_MAX_WINDOW, &file->window);
    const bool has_heads = kvs_yaml_get(doc, map, "heads", KVS_OPTIONAL) != NULL;
    attention_read_kv(doc, map, &file->sliding, has_heads ? KVS_REQUIRED : KVS_OPTIONAL, "S",
                      file);
    kvs_yaml_end_map(doc, map);
}

/* A section must be there when a layer has its letter, and only then. */
static const struct kvs_yaml_node *
attention_section(struct kvs_yaml *doc, const struct kvs_yaml_node *root, const char *key,
                  bool is_used, const char *letters, const struct kvs_llm_file *file)
{
    const struct kvs_yaml_node *map =
        kvs_yaml_get_map(doc, root, key, is_used ? KVS_REQUIRED : KVS_OPTIONAL);
    if (map != NULL && !is_used && file->letters[0] != '\0')
        kvs_yaml_complain(doc, map, NULL, "the pattern has no %s layer that would use it",
                          letters);
    return map;
}

/* The last layers own no cache and need an earlier layer of their kind to read. */
static void attention_read_shared(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                                  struct kvs_llm_file *file)
{
    if (file->n_layer == 0 ||
        !kvs_llm_get_u32(doc, root, "shared_kv_layers", KVS_OPTIONAL, 0, file->n_layer - 1,
                         &file->n_shared_kv_layers) ||
        file->letters[0] == '\0')
        return;
    const uint32_t n_owner = file->n_layer - file->n_shared_kv_layers;
    for (uint32_t i = n_owner; i < file->n_layer; i++) {
        const char letter = file->letters[i];
        const bool has_cache = letter == KVS_LETTER_FULL || letter == KVS_LETTER_SWA;
        if (has_cache && memchr(file->letters, letter, n_owner) == NULL) {
            kvs_yaml_complain(
                doc, kvs_yaml_get(doc, root, "shared_kv_layers", KVS_OPTIONAL), NULL,
                "layer %u (%c) has no %c layer before it whose cache it could read", i, letter,
                letter);
            return;
        }
    }
}

void kvs_llm_attention_read(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                            struct kvs_llm_file *file)
{
    const bool has_full = kvs_llm_has_letter(file, KVS_LETTER_FULL);
    const bool has_swa = kvs_llm_has_letter(file, KVS_LETTER_SWA);
    const struct kvs_yaml_node *attention =
        attention_section(doc, root, "attention", has_full || has_swa, "F or S", file);
    const struct kvs_yaml_node *sliding =
        attention_section(doc, root, "sliding", has_swa, "S", file);
    file->mla.is_present = kvs_yaml_get(doc, root, "mla", KVS_OPTIONAL) != NULL;
    if (attention != NULL && file->mla.is_present) {
        attention_read_mla(doc, root, attention, file);
        kvs_yaml_end_map(doc, attention);
    } else if (attention != NULL) {
        const bool is_kv_shared =
            sliding == NULL || kvs_yaml_get(doc, sliding, "kv_heads", KVS_OPTIONAL) == NULL;
        attention_read_shape(doc, attention, KVS_REQUIRED, &file->attention);
        attention_read_kv(doc, attention, &file->attention, KVS_REQUIRED,
                          is_kv_shared ? "FS" : "F", file);
        kvs_yaml_end_map(doc, attention);
    }
    if (sliding != NULL && !file->mla.is_present)
        attention_read_sliding(doc, sliding, file);
    attention_read_shared(doc, root, file);
}
