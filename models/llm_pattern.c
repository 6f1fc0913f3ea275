/* Layer patterns: a period of letters, repeated, with exceptions at either end. */
#include "models/llm_file.h"

#include <string.h>

bool kvs_llm_has_letter(const struct kvs_llm_file *file, char letter)
{
    return strchr(file->letters, letter) != NULL;
}

/* Copies letters without blanks into out [n_max + 1]; complains and gives 0 when they are
 * wrong. */
static uint32_t pattern_letters(struct kvs_yaml *doc, const struct kvs_yaml_node *node,
                                const char *text, uint32_t n_max, char *out)
{
    uint32_t n = 0;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == ' ')
            continue;
        if (strchr("FSLN", *c) == NULL) {
            kvs_yaml_complain(
                doc, node,
                "letters: F full attention, S sliding window, L recurrent, N neither",
                "letter %u is \"%c\", expected F, S, L or N", n + 1,
                *c >= ' ' && *c <= '~' ? *c : '?');
            return 0;
        }
        if (n == n_max) {
            kvs_yaml_complain(doc, node, NULL, "more letters than layers, expected at most %u",
                              n_max);
            return 0;
        }
        out[n++] = *c;
    }
    out[n] = '\0';
    if (n == 0)
        kvs_yaml_complain(doc, node, NULL, "no letters, expected F, S, L or N");
    return n;
}

/* Letters under a key of the map form: 0 when absent or wrong. */
static uint32_t pattern_get(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                            const char *key, kvs_presence presence, uint32_t n_max, char *out)
{
    const char *text = NULL;
    if (!kvs_yaml_get_str(doc, map, key, presence, &text))
        return 0;
    return pattern_letters(doc, kvs_yaml_get(doc, map, key, KVS_OPTIONAL), text, n_max, out);
}

/* Repeats period over out[0..n); a last period that is cut off must have been asked for. */
static bool pattern_fill(struct kvs_yaml *doc, const struct kvs_yaml_node *node,
                         const char *period, uint32_t n_period, bool may_cut, uint32_t n,
                         char *out)
{
    if (n % n_period != 0 && !may_cut) {
        kvs_yaml_complain(
            doc, node,
            "write every layer, or {letters: ..., cut: true} to stop inside a period",
            "%u layers are not a whole number of periods of %u letters", n, n_period);
        return false;
    }
    for (uint32_t i = 0; i < n; i++)
        out[i] = period[i % n_period];
    return true;
}

static void pattern_read_map(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                             struct kvs_llm_file *file)
{
    char period[KVS_LLM_MAX_LAYERS + 1] = "";
    char first[KVS_LLM_MAX_LAYERS + 1] = "";
    char last[KVS_LLM_MAX_LAYERS + 1] = "";
    bool may_cut = false;
    const uint32_t n = file->n_layer;
    const uint32_t n_period = pattern_get(doc, map, "letters", KVS_REQUIRED, n, period);
    const uint32_t n_first = pattern_get(doc, map, "first", KVS_OPTIONAL, n, first);
    const uint32_t n_last = pattern_get(doc, map, "last", KVS_OPTIONAL, n, last);
    (void)kvs_yaml_get_bool(doc, map, "cut", KVS_OPTIONAL, &may_cut);
    kvs_yaml_end_map(doc, map);
    if (n_period == 0)
        return;
    memcpy(file->letters, first, n_first);
    if (!pattern_fill(doc, map, period, n_period, may_cut, n - n_first,
                      file->letters + n_first)) {
        file->letters[0] = '\0';
        return;
    }
    memcpy(file->letters + n - n_last, last, n_last);
    file->letters[n] = '\0';
}

void kvs_llm_pattern_read(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                          struct kvs_llm_file *file)
{
    const struct kvs_yaml_node *node = kvs_yaml_get(doc, root, "pattern", KVS_REQUIRED);
    if (node == NULL || file->n_layer == 0)
        return;
    if (kvs_yaml_node_kind(node) == KVS_YAML_MAP) {
        pattern_read_map(doc, node, file);
        return;
    }
    const char *text = NULL;
    char period[KVS_LLM_MAX_LAYERS + 1];
    if (!kvs_yaml_get_str(doc, root, "pattern", KVS_REQUIRED, &text))
        return;
    const uint32_t n_period = pattern_letters(doc, node, text, file->n_layer, period);
    if (n_period == 0 ||
        !pattern_fill(doc, node, period, n_period, false, file->n_layer, file->letters))
        return;
    file->letters[file->n_layer] = '\0';
}
