/* The top level of a model file: reads every section into struct kvs_llm_file. */
#include "models/llm_file.h"

#include <float.h>
#include <string.h>

#define LLM_MAX_HIDDEN  (1u << 18)
#define LLM_MAX_VOCAB   (1u << 24)
#define LLM_MAX_KERNELS 10000u
#define LLM_MAX_S       3600.0 /* of a synthetic token */

/*
 * Kernels of a layer where a file says nothing: round figures for a decode graph without
 * fusion. They matter only where kernels are submitted one by one.
 */
static const struct kvs_llm_kernels default_kernels = {
    .pre = 10, .post = 14, .recurrent = 20, .none = 6, .head = 2};

/* Bits per parameter of a 4-bit k-quant file, and its block. */
#define LLM_DEFAULT_BITS  4.5
#define LLM_DEFAULT_BLOCK 256u

bool kvs_llm_get_u32(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                     kvs_presence presence, uint32_t min, uint32_t max, uint32_t *out)
{
    uint64_t value = 0;
    if (!kvs_yaml_get_u64(doc, map, key, presence, min, max, &value))
        return false;
    *out = (uint32_t)value;
    return true;
}

static void file_get_text(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                          const char *key, kvs_presence presence, size_t max_bytes,
                          const char **out)
{
    if (kvs_yaml_get_str(doc, map, key, presence, out) && strlen(*out) > max_bytes)
        kvs_yaml_complain(doc, kvs_yaml_get(doc, map, key, presence), NULL,
                          "%zu bytes long, expected at most %zu", strlen(*out), max_bytes);
}

static void file_read_identity(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                               struct kvs_llm_file *file)
{
    static const char *const evidences[] = {"config",   "partly",   "checked",  "test-fixture",
                                            "recalled", "measured", "synthetic"};
    unsigned evidence = 0;
    file_get_text(doc, root, "name", KVS_REQUIRED, sizeof(((struct kvs_llm *)0)->name) - 1,
                  &file->name);
    (void)kvs_yaml_get_enum(doc, root, "evidence", KVS_REQUIRED, evidences,
                            KVS_COUNT_OF(evidences), &evidence);
    file->evidence = evidences[evidence];
    file_get_text(doc, root, "source", KVS_REQUIRED, sizeof(((struct kvs_llm *)0)->source) - 1,
                  &file->source);
}

static void file_read_weights(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                              struct kvs_llm_file *file)
{
    file->weight_label = "";
    file->weight_block = LLM_DEFAULT_BLOCK;
    file->weight_bits = LLM_DEFAULT_BITS;
    const struct kvs_yaml_node *map = kvs_yaml_get_map(doc, root, "weights", KVS_OPTIONAL);
    if (map == NULL)
        return;
    file_get_text(doc, map, "label", KVS_OPTIONAL,
                  sizeof(((struct kvs_llm *)0)->weight_label) - 1, &file->weight_label);
    if (kvs_llm_get_u32(doc, map, "block", KVS_OPTIONAL, 1, 256, &file->weight_block) &&
        (file->weight_block & (file->weight_block - 1)) != 0)
        kvs_yaml_complain(doc, kvs_yaml_get(doc, map, "block", KVS_OPTIONAL), NULL,
                          "must be a power of two, got %u", file->weight_block);
    const bool has_bytes =
        kvs_yaml_get_bytes(doc, map, "bytes", KVS_OPTIONAL, &file->weight_bytes);
    const bool has_bits = kvs_yaml_get_f64(doc, map, "bits_per_param", KVS_OPTIONAL, 0.1, 64.0,
                                           &file->weight_bits);
    if (has_bytes && file->weight_bytes == 0)
        kvs_yaml_complain(doc, kvs_yaml_get(doc, map, "bytes", KVS_OPTIONAL), NULL,
                          "must be > 0");
    if (has_bytes && has_bits)
        kvs_yaml_complain(doc, map, NULL, "give bytes or bits_per_param, not both");
    kvs_yaml_end_map(doc, map);
}

static void file_read_kernels(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                              struct kvs_llm_file *file)
{
    struct kvs_llm_kernels *k = &file->kernels;
    *k = default_kernels;
    const struct kvs_yaml_node *map = kvs_yaml_get_map(doc, root, "kernels", KVS_OPTIONAL);
    if (map == NULL)
        return;
    (void)kvs_llm_get_u32(doc, map, "pre", KVS_OPTIONAL, 0, LLM_MAX_KERNELS, &k->pre);
    (void)kvs_llm_get_u32(doc, map, "post", KVS_OPTIONAL, 0, LLM_MAX_KERNELS, &k->post);
    (void)kvs_llm_get_u32(doc, map, "recurrent", KVS_OPTIONAL, 0, LLM_MAX_KERNELS,
                          &k->recurrent);
    (void)kvs_llm_get_u32(doc, map, "none", KVS_OPTIONAL, 0, LLM_MAX_KERNELS, &k->none);
    (void)kvs_llm_get_u32(doc, map, "head", KVS_OPTIONAL, 0, LLM_MAX_KERNELS, &k->head);
    kvs_yaml_end_map(doc, map);
}

static void file_read_params(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                             struct kvs_llm_file *file)
{
    struct kvs_llm_params *p = &file->params;
    const struct kvs_yaml_node *map = kvs_yaml_get_map(doc, root, "params", KVS_OPTIONAL);
    if (map == NULL)
        return;
    p->is_present = true;
    (void)kvs_yaml_get_u64(doc, map, "pre", KVS_REQUIRED, 0, KVS_LLM_MAX_PARAMS, &p->pre);
    (void)kvs_yaml_get_u64(doc, map, "post", KVS_REQUIRED, 0, KVS_LLM_MAX_PARAMS, &p->post);
    (void)kvs_yaml_get_u64(doc, map, "head", KVS_REQUIRED, 0, KVS_LLM_MAX_PARAMS, &p->head);
    kvs_yaml_end_map(doc, map);
}

static void file_read_program(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                              struct kvs_llm_file *file)
{
    struct kvs_llm_program *p = &file->program;
    const struct kvs_yaml_node *map = kvs_yaml_get_map(doc, root, "program", KVS_OPTIONAL);
    if (map == NULL)
        return;
    p->is_present = true;
    if (!file->params.is_present)
        kvs_yaml_complain(doc, map, "give params: {pre, post, head} as well",
                          "for a synthetic program, which has params");
    (void)kvs_param_get(doc, map, "fixed", KVS_REQUIRED, KVS_UNIT_TIME, DBL_MIN, LLM_MAX_S,
                        &p->fixed);
    if (file->params.is_present &&
        file->params.pre + file->params.post + file->params.head == 0)
        kvs_yaml_complain(doc, map, "its time is shared out by params",
                          "a program without any weights has no operation to take its time");
    p->per_row = kvs_param_default(0, 0, 0, "not stated: no row takes time");
    (void)kvs_param_get(doc, map, "per_row", KVS_OPTIONAL, KVS_UNIT_TIME, 0, LLM_MAX_S,
                        &p->per_row);
    kvs_yaml_end_map(doc, map);
}

static void file_read_transport(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                                struct kvs_llm_file *file)
{
    const struct kvs_yaml_node *map = kvs_yaml_get_map(doc, root, "rotation", KVS_OPTIONAL);
    if (map != NULL) {
        (void)kvs_yaml_get_bytes(doc, map, "k", KVS_OPTIONAL, &file->rotation_k_bytes);
        (void)kvs_yaml_get_bytes(doc, map, "v", KVS_OPTIONAL, &file->rotation_v_bytes);
        kvs_yaml_end_map(doc, map);
    }
    file->can_split_tensor = true;
    (void)kvs_yaml_get_bool(doc, root, "tensor_split", KVS_OPTIONAL, &file->can_split_tensor);
    (void)kvs_yaml_get_bool(doc, root, "v_transposed", KVS_OPTIONAL, &file->is_v_transposed);
}

void kvs_llm_file_read(struct kvs_yaml *doc, struct kvs_llm_file *file)
{
    static const char *const kinds[] = {"model"};
    const struct kvs_yaml_node *root = kvs_yaml_root(doc);
    unsigned kind = 0;
    memset(file, 0, sizeof(*file));
    if (!kvs_yaml_get_enum(doc, root, "kind", KVS_REQUIRED, kinds, KVS_COUNT_OF(kinds),
                           &kind) &&
        kvs_yaml_get(doc, root, "kind", KVS_OPTIONAL) != NULL)
        return; /* another kind of file: its keys would all be unknown */
    file_read_identity(doc, root, file);
    (void)kvs_llm_get_u32(doc, root, "layers", KVS_REQUIRED, 1, KVS_LLM_MAX_LAYERS,
                          &file->n_layer);
    file_read_params(doc, root, file);
    file_read_program(doc, root, file);
    /* a synthetic program may have no hidden state: then nothing enters or hops */
    (void)kvs_llm_get_u32(doc, root, "hidden", KVS_REQUIRED, file->params.is_present ? 0 : 1,
                          LLM_MAX_HIDDEN, &file->hidden);
    (void)kvs_llm_get_u32(doc, root, "vocab",
                          file->params.is_present ? KVS_OPTIONAL : KVS_REQUIRED, 1,
                          LLM_MAX_VOCAB, &file->vocab);
    (void)kvs_yaml_get_bool(doc, root, "tied", KVS_OPTIONAL, &file->is_tied);
    kvs_llm_pattern_read(doc, root, file);
    kvs_llm_attention_read(doc, root, file);
    kvs_llm_recurrent_read(doc, root, file);
    kvs_llm_ffn_read(doc, root, file);
    file_read_kernels(doc, root, file);
    file_read_weights(doc, root, file);
    file_read_transport(doc, root, file);
    kvs_yaml_end_map(doc, root);
}
