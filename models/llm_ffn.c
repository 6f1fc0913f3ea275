/* The feed-forward and recurrent sections of a model file. */
#include "models/llm_file.h"

#include <string.h>

#define LLM_MAX_WIDTH          (1u << 20)
#define LLM_MAX_EXPERTS        4096u
#define LLM_MAX_SHARED_EXPERTS 64u

/* Shape of a state-space or delta-rule mixer: f32 state and convolution tail, and projections.
 */
struct llm_mixer {
    uint32_t d_state;
    uint32_t d_inner;
    uint32_t conv;
    uint32_t groups;
    uint32_t heads;
    unsigned form;
};

static const char *const mixer_keys[] = {"form", "d_state", "d_inner",
                                         "conv", "groups",  "heads"};
static const char *const mixer_forms[] = {"gated-delta", "mamba2"};

static void recurrent_from_mixer(const struct llm_mixer *m, uint64_t hidden,
                                 struct kvs_llm_recurrent *out)
{
    const uint64_t conv_columns = m->d_inner + 2 * (uint64_t)m->groups * m->d_state;
    const uint64_t state = (uint64_t)m->d_state * m->d_inner;
    /* Scalars per head and token: a delta rule has alpha and beta, Mamba 2 has dt. */
    const uint64_t n_scalar = (m->form == 0 ? 2 : 1) * (uint64_t)m->heads;
    const uint64_t in_columns = conv_columns + m->d_inner + n_scalar;
    out->state_bytes = 4 * (state + (m->conv - 1) * conv_columns);
    out->params = hidden * in_columns + (uint64_t)m->d_inner * hidden + m->conv * conv_columns;
}

static void recurrent_read_state(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                                 struct kvs_llm_recurrent *out)
{
    for (size_t i = 0; i < KVS_COUNT_OF(mixer_keys); i++) {
        const struct kvs_yaml_node *node = kvs_yaml_get(doc, map, mixer_keys[i], KVS_OPTIONAL);
        if (node != NULL)
            kvs_yaml_complain(doc, node, "give state_bytes and params, or the shape",
                              "has no meaning together with state_bytes");
    }
    if (kvs_yaml_get_bytes(doc, map, "state_bytes", KVS_REQUIRED, &out->state_bytes) &&
        out->state_bytes > KVS_LLM_MAX_PARAMS)
        kvs_yaml_complain(doc, kvs_yaml_get(doc, map, "state_bytes", KVS_REQUIRED), NULL,
                          "must be at most 1 PiB per layer");
    (void)kvs_yaml_get_u64(doc, map, "params", KVS_REQUIRED, 0, KVS_LLM_MAX_PARAMS,
                           &out->params);
}

void kvs_llm_recurrent_read(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                            struct kvs_llm_file *file)
{
    const bool is_used = kvs_llm_has_letter(file, KVS_LETTER_RECURRENT);
    const struct kvs_yaml_node *map =
        kvs_yaml_get_map(doc, root, "recurrent", is_used ? KVS_REQUIRED : KVS_OPTIONAL);
    if (map == NULL)
        return;
    if (!is_used && file->letters[0] != '\0')
        kvs_yaml_complain(doc, map, NULL, "the pattern has no L layer that would use it");
    if (kvs_yaml_get(doc, map, "state_bytes", KVS_OPTIONAL) != NULL) {
        recurrent_read_state(doc, map, &file->recurrent);
        kvs_yaml_end_map(doc, map);
        return;
    }
    struct llm_mixer m = {.conv = 1};
    (void)kvs_yaml_get_enum(doc, map, "form", KVS_REQUIRED, mixer_forms,
                            KVS_COUNT_OF(mixer_forms), &m.form);
    (void)kvs_llm_get_u32(doc, map, "d_state", KVS_REQUIRED, 1, 1u << 14, &m.d_state);
    (void)kvs_llm_get_u32(doc, map, "d_inner", KVS_REQUIRED, 1, 1u << 20, &m.d_inner);
    (void)kvs_llm_get_u32(doc, map, "conv", KVS_REQUIRED, 1, 64, &m.conv);
    (void)kvs_llm_get_u32(doc, map, "groups", KVS_REQUIRED, 0, 1024, &m.groups);
    (void)kvs_llm_get_u32(doc, map, "heads", KVS_REQUIRED, 1, 1u << 14, &m.heads);
    kvs_yaml_end_map(doc, map);
    recurrent_from_mixer(&m, file->hidden, &file->recurrent);
}

static void ffn_read_experts(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                             struct kvs_llm_file *file)
{
    struct kvs_llm_ffn *ffn = &file->ffn;
    (void)kvs_llm_get_u32(doc, map, "count", KVS_REQUIRED, 1, LLM_MAX_EXPERTS, &ffn->n_expert);
    const uint32_t max_used = ffn->n_expert > 0 ? ffn->n_expert : LLM_MAX_EXPERTS;
    (void)kvs_llm_get_u32(doc, map, "used", KVS_REQUIRED, 1, max_used, &ffn->n_expert_used);
    (void)kvs_llm_get_u32(doc, map, "width", KVS_REQUIRED, 1, LLM_MAX_WIDTH,
                          &ffn->expert_width);
    (void)kvs_llm_get_u32(doc, map, "shared", KVS_OPTIONAL, 0, LLM_MAX_SHARED_EXPERTS,
                          &ffn->n_shared);
    ffn->shared_width = ffn->expert_width;
    if (kvs_llm_get_u32(doc, map, "shared_width", KVS_OPTIONAL, 1, LLM_MAX_WIDTH,
                        &ffn->shared_width) &&
        ffn->n_shared == 0)
        kvs_yaml_complain(doc, kvs_yaml_get(doc, map, "shared_width", KVS_OPTIONAL), NULL,
                          "has no meaning without shared experts");
    (void)kvs_llm_get_u32(doc, map, "dense_lead", KVS_OPTIONAL, 0, KVS_LLM_MAX_LAYERS,
                          &ffn->n_dense_lead);
    (void)kvs_yaml_get_bool(doc, map, "beside_dense", KVS_OPTIONAL, &ffn->is_dense_beside);
    kvs_yaml_end_map(doc, map);
}

static void ffn_read_layers(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                            struct kvs_llm_file *file)
{
    if (kvs_yaml_get_str(doc, root, "ffn_layers", KVS_OPTIONAL, &file->ffn.on) &&
        strspn(file->ffn.on, "FSLN") != strlen(file->ffn.on))
        kvs_yaml_complain(doc, kvs_yaml_get(doc, root, "ffn_layers", KVS_OPTIONAL), NULL,
                          "expected letters of F, S, L and N");
}

void kvs_llm_ffn_read(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                      struct kvs_llm_file *file)
{
    struct kvs_llm_ffn *ffn = &file->ffn;
    bool has_gate = true;
    const struct kvs_yaml_node *experts = kvs_yaml_get_map(doc, root, "experts", KVS_OPTIONAL);
    if (experts != NULL)
        ffn_read_experts(doc, experts, file);
    const bool is_dense = experts == NULL || ffn->n_dense_lead > 0 || ffn->is_dense_beside;
    const bool is_required = is_dense && !file->params.is_present;
    if (kvs_llm_get_u32(doc, root, "ffn", is_required ? KVS_REQUIRED : KVS_OPTIONAL, 0,
                        LLM_MAX_WIDTH, &ffn->dense_width) &&
        !is_dense)
        kvs_yaml_complain(
            doc, kvs_yaml_get(doc, root, "ffn", KVS_OPTIONAL),
            "the dense width counts with experts.dense_lead or experts.beside_dense",
            "no layer has a dense FFN");
    (void)kvs_yaml_get_bool(doc, root, "ffn_gated", KVS_OPTIONAL, &has_gate);
    ffn->n_matrix = has_gate ? 3 : 2;
    ffn_read_layers(doc, root, file);
}
