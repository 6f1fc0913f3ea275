/* kvsim list: what the catalogue holds, a line each. */
#include <string.h>

#include "base/yaml.h"
#include "cli/catalogue.h"
#include "cli/command.h"
#include "formats/experiment_arm.h"
#include "models/kv.h"

static const struct kvs_option_group *const groups[] = {&kvs_catalogue_group};
static const char *const examples[] = {"kvsim list", "kvsim list models",
                                       "kvsim list policies machines", NULL};
static const struct kvs_options_spec spec = {
    .program = "kvsim list",
    .summary = "Lists what can be named on the command line. Without an argument: everything.",
    .operands = "[machines|models|gpus|experiments|policies...]",
    .max_operands = 5,
    .groups = groups,
    .n_groups = KVS_COUNT_OF(groups),
    .examples = examples};

/* The text under `key` of a catalogue file, or "". */
static void list_yaml_text(const struct kvs_catalogue_entry *entry, const char *key,
                           struct kvs_text *out)
{
    struct kvs_diags diags;
    struct kvs_yaml *doc;
    const char *text = "";
    kvs_diags_init(&diags);
    if (kvs_yaml_parse(entry->path, entry->data, entry->n, &diags, &doc, NULL) == KVS_OK) {
        if (kvs_yaml_node_kind(kvs_yaml_root(doc)) == KVS_YAML_MAP)
            (void)kvs_yaml_get_str(doc, kvs_yaml_root(doc), key, KVS_OPTIONAL, &text);
        kvs_text_append(out, text, strcspn(text, "\n"));
        kvs_yaml_destroy(doc);
    }
    kvs_diags_fini(&diags);
}

/* "64 layers, 16 with a growing cache: 34816 bytes per token at q8_0". */
static void list_model(const struct kvs_catalogue_entry *entry, struct kvs_text *out)
{
    struct kvs_diags diags;
    struct kvs_llm *llm;
    kvs_diags_init(&diags);
    if (kvs_llm_parse(entry->path, entry->data, entry->n, &diags, &llm, NULL) == KVS_OK) {
        unsigned n_full = 0, n_swa = 0;
        for (uint32_t l = 0; l < llm->n_layer; l++) {
            n_full += llm->layers[l].kind == KVS_LAYER_FULL;
            n_swa += llm->layers[l].kind == KVS_LAYER_SWA;
        }
        kvs_text_printf(out, "%u layers, %u full", (unsigned)llm->n_layer, n_full);
        if (n_swa > 0)
            kvs_text_printf(out, " and %u sliding (%u rows)", n_swa, (unsigned)llm->swa_window);
        kvs_text_printf(
            out, "; %llu B per token at q8_0",
            (unsigned long long)kvs_kv_growing_bytes_per_token(llm, KVS_KV_Q8_0, KVS_KV_Q8_0));
        if (strcmp(llm->evidence, "recalled") == 0)
            kvs_text_puts(out, "; shape from memory");
        if (strcmp(llm->evidence, "synthetic") == 0)
            kvs_text_puts(out, "; synthetic, not a language model");
        kvs_llm_destroy(llm);
    } else {
        kvs_text_puts(out, "has errors, see kvsim check");
    }
    kvs_diags_fini(&diags);
}

static void list_describe(const char *kind, const struct kvs_catalogue_entry *entry,
                          struct kvs_text *out)
{
    if (strcmp(kind, "llm") == 0)
        list_model(entry, out);
    else
        list_yaml_text(entry, strcmp(kind, "experiment") == 0 ? "question" : "description",
                       out);
}

static kvs_status list_kind(struct kvs_catalogue *catalogue, const char *kind,
                            struct kvs_text *out, struct kvs_error *err)
{
    struct kvs_catalogue_names names = {0};
    struct kvs_catalogue_entry entry;
    size_t width = 0;
    kvs_status status = kvs_catalogue_list(catalogue, kind, &names, err);
    for (size_t i = 0; i < names.n; i++)
        width = strlen(names.items[i]) > width ? strlen(names.items[i]) : width;
    for (size_t i = 0; i < names.n && status == KVS_OK; i++) {
        struct kvs_text line = {0};
        status = kvs_catalogue_find(catalogue, kind, names.items[i], &entry, err);
        if (status == KVS_OK)
            list_describe(kind, &entry, &line);
        if (line.n > 0)
            kvs_text_printf(out, "  %-*s  %s\n", (int)width, names.items[i], line.data);
        else
            kvs_text_printf(out, "  %s\n", names.items[i]);
        kvs_text_fini(&line);
    }
    KVS_ARRAY_FREE(&names);
    return status;
}

static void list_policies(struct kvs_text *out)
{
    for (size_t i = 0; i < kvs_n_policies; i++)
        kvs_text_printf(out, "  %-12s  %s [%s]\n", kvs_policies[i]->name,
                        kvs_policies[i]->summary, kvs_policies[i]->source);
    kvs_text_puts(out, "  options of pipelined, joined by + (nN of continuous too):\n");
    for (size_t i = 0; i < kvs_n_arm_options; i++)
        kvs_text_printf(out, "    %-12s  %s\n", kvs_arm_options[i].name,
                        kvs_arm_options[i].summary);
}

static const struct list_topic {
    const char *word;
    const char *kind; /* of the catalogue; NULL: policies */
} topics[] = {{"machines", "machine"},
              {"models", "llm"},
              {"gpus", "gpu"},
              {"experiments", "experiment"},
              {"policies", NULL}};

static kvs_status list_topic(struct kvs_catalogue *catalogue, const struct list_topic *topic,
                             struct kvs_text *out, struct kvs_error *err)
{
    kvs_text_printf(out, "%s%s\n", out->n > 0 ? "\n" : "", topic->word);
    if (topic->kind != NULL)
        return list_kind(catalogue, topic->kind, out, err);
    list_policies(out);
    return KVS_OK;
}

static kvs_status list_word(struct kvs_catalogue *catalogue, const char *word,
                            struct kvs_text *out, struct kvs_error *err)
{
    const char *words[KVS_COUNT_OF(topics)];
    for (size_t i = 0; i < KVS_COUNT_OF(topics); i++) {
        words[i] = topics[i].word;
        if (strcmp(word, words[i]) == 0)
            return list_topic(catalogue, &topics[i], out, err);
    }
    const char *nearest = kvs_nearest(word, words, KVS_COUNT_OF(topics));
    kvs_error_at(err, KVS_EINVAL, word, 0, 0,
                 "cannot list this; known: machines, models, gpus, experiments, policies");
    if (nearest != NULL)
        kvs_error_hint(err, "did you mean %s?", nearest);
    return KVS_EINVAL;
}

int kvs_command_list(int argc, const char *const *argv)
{
    struct kvs_options *options;
    struct kvs_error err = {0};
    struct kvs_text text = {0};
    kvs_status status = KVS_OK;
    int code;
    size_t n;
    if (!kvs_command_parse(&spec, argc, argv, &options, &code))
        return code;
    struct kvs_catalogue catalogue = {.dir = kvs_options_str(options, "catalogue")};
    const char *const *words = kvs_options_operands(options, &n);
    for (size_t i = 0; i < n && status == KVS_OK; i++)
        status = list_word(&catalogue, words[i], &text, &err);
    for (size_t i = 0; n == 0 && i < KVS_COUNT_OF(topics) && status == KVS_OK; i++)
        status = list_topic(&catalogue, &topics[i], &text, &err);
    if (status == KVS_OK)
        status = kvs_print(&text, stdout, &err);
    code = status == KVS_OK ? KVS_EXIT_OK : kvs_fail(status, NULL, &err);
    kvs_text_fini(&text);
    kvs_catalogue_fini(&catalogue);
    kvs_options_destroy(options);
    return code;
}
