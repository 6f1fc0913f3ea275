/* Reads `kind: experiment`: strings, then every setting as one value or a list, then the arms.
 */
#include <string.h>

#include "base/yaml.h"
#include "formats/experiment.h"

struct experiment_reader {
    struct kvs_yaml *doc;
    struct kvs_experiment *experiment;
};

/* A fault of the file is a complaint at node; only lack of memory is passed up. */
static kvs_status reader_judge(struct experiment_reader *r, const struct kvs_yaml_node *node,
                               kvs_status status, const struct kvs_error *fault,
                               struct kvs_error *err)
{
    if (status == KVS_OK)
        return KVS_OK;
    if (status == KVS_ENOMEM) {
        if (err != NULL)
            *err = *fault;
        return status;
    }
    kvs_yaml_complain(r->doc, node, fault->hint[0] != '\0' ? fault->hint : NULL, "%s",
                      fault->text);
    return KVS_OK;
}

static kvs_status reader_add_arm(struct kvs_experiment *experiment, const char *text,
                                 struct kvs_error *err)
{
    struct kvs_arm arm;
    KVS_TRY(kvs_arm_parse(text, &arm, err));
    for (size_t i = 0; i < experiment->arms.n; i++)
        if (strcmp(experiment->arms.items[i].name, arm.name) == 0)
            return kvs_error_set(err, KVS_EINVAL, "%s stands in the list already", arm.name);
    return kvs_experiment_add_arm(experiment, &arm, err);
}

/* One scalar of a setting's list; KVS_SETTING_COUNT stands for the arms. */
static kvs_status reader_value(struct experiment_reader *r, const struct kvs_yaml_node *node,
                               unsigned setting, struct kvs_error *err)
{
    struct kvs_error fault = {0};
    const char *text = kvs_yaml_scalar(node);
    kvs_status status;
    if (text == NULL || kvs_yaml_is_null(node) || text[0] == '\0') {
        kvs_yaml_complain(r->doc, node, NULL, "expected a value or a list of values, got %s",
                          kvs_yaml_node_kind(node) == KVS_YAML_MAP   ? "a map"
                          : kvs_yaml_node_kind(node) == KVS_YAML_SEQ ? "a sequence"
                                                                     : "nothing");
        return KVS_OK;
    }
    if (setting == KVS_SETTING_COUNT)
        status = reader_add_arm(r->experiment, text, &fault);
    else
        status = kvs_experiment_add_text(r->experiment, (kvs_setting)setting, text, &fault);
    if (status == KVS_OK && setting == KVS_SETTING_TENSOR_SPLIT)
        r->experiment->splits.items[r->experiment->splits.n - 1].line = kvs_yaml_line(node);
    return reader_judge(r, node, status, &fault, err);
}

static kvs_status reader_list(struct experiment_reader *r, const char *key, unsigned setting,
                              struct kvs_error *err)
{
    const struct kvs_yaml_node *node =
        kvs_yaml_get(r->doc, kvs_yaml_root(r->doc), key, KVS_OPTIONAL);
    if (node == NULL)
        return KVS_OK;
    if (kvs_yaml_node_kind(node) != KVS_YAML_SEQ)
        return reader_value(r, node, setting, err);
    if (kvs_yaml_len(node) == 0)
        kvs_yaml_complain(r->doc, node, "leave the key out for its default",
                          "the list is empty");
    for (size_t i = 0; i < kvs_yaml_len(node); i++)
        KVS_TRY(reader_value(r, kvs_yaml_item(node, i), setting, err));
    return KVS_OK;
}

static kvs_status reader_str(struct experiment_reader *r, const char *key,
                             kvs_presence presence, char **field, struct kvs_error *err)
{
    const char *text;
    if (!kvs_yaml_get_str(r->doc, kvs_yaml_root(r->doc), key, presence, &text))
        return KVS_OK;
    KVS_TRY(kvs_experiment_set_str(field, text, err));
    for (char *c = *field; *c != '\0'; c++)
        if (*c == '\n' || *c == '\t')
            *c = ' ';
    for (size_t n = strlen(*field); n > 0 && (*field)[n - 1] == ' '; n--)
        (*field)[n - 1] = '\0';
    return KVS_OK;
}

static bool reader_check_kind(struct experiment_reader *r)
{
    const struct kvs_yaml_node *root = kvs_yaml_root(r->doc);
    const char *kind = NULL;
    if (kvs_yaml_node_kind(root) != KVS_YAML_MAP) {
        kvs_yaml_complain(r->doc, root, NULL,
                          "expected a map that starts with kind: experiment");
        return false;
    }
    if (!kvs_yaml_get_str(r->doc, root, "kind", KVS_REQUIRED, &kind))
        return false;
    if (strcmp(kind, "experiment") == 0)
        return true;
    const char *hint = strcmp(kind, "machine") == 0 ? "a machine goes behind --machine"
                       : strcmp(kind, "model") == 0 ? "a model goes behind --model"
                                                    : NULL;
    kvs_yaml_complain(r->doc, kvs_yaml_get(r->doc, root, "kind", KVS_OPTIONAL), hint,
                      "expected kind experiment, got \"%.40s\"", kind);
    return false;
}

/* What one value may not say about another. */
static void reader_check(struct experiment_reader *r)
{
    const struct kvs_yaml_node *root = kvs_yaml_root(r->doc);
    const struct kvs_values *frozen = &r->experiment->values[KVS_SETTING_FROZEN];
    bool is_frozen = frozen->n > 0;
    for (size_t i = 0; i < frozen->n; i++)
        is_frozen = is_frozen && frozen->items[i] == 1;
    const struct kvs_values *rows = &r->experiment->values[KVS_SETTING_WINDOW_ROWS];
    for (size_t i = 0; i < rows->n; i++) {
        if (rows->items[i] > 0 && !is_frozen) {
            kvs_yaml_complain(r->doc, kvs_yaml_get(r->doc, root, "window_rows", KVS_OPTIONAL),
                              "add frozen: true", "a fixed window needs frozen positions");
            return;
        }
    }
}

static kvs_status reader_read(struct experiment_reader *r, struct kvs_error *err)
{
    struct kvs_experiment *e = r->experiment;
    if (!reader_check_kind(r))
        return KVS_OK;
    KVS_TRY(reader_str(r, "name", KVS_REQUIRED, &e->name, err));
    KVS_TRY(reader_str(r, "question", KVS_REQUIRED, &e->question, err));
    KVS_TRY(reader_str(r, "machine", KVS_REQUIRED, &e->machine, err));
    KVS_TRY(reader_str(r, "model", KVS_REQUIRED, &e->model, err));
    KVS_TRY(reader_str(r, "measured", KVS_OPTIONAL, &e->measured, err));
    for (unsigned s = 0; s < KVS_SETTING_COUNT; s++)
        KVS_TRY(reader_list(r, kvs_setting_key((kvs_setting)s), s, err));
    KVS_TRY(reader_list(r, "arms", KVS_SETTING_COUNT, err));
    reader_check(r);
    kvs_yaml_end_map(r->doc, kvs_yaml_root(r->doc));
    return KVS_OK;
}

kvs_status kvs_experiment_parse(const char *name, const char *bytes, size_t n,
                                struct kvs_diags *diags, struct kvs_experiment *out,
                                struct kvs_error *err)
{
    struct kvs_error fault = {0};
    size_t n_before = diags->n_errors;
    struct experiment_reader r = {.experiment = out};
    *out = (struct kvs_experiment){0};
    kvs_status status = kvs_yaml_parse(name, bytes, n, diags, &r.doc, &fault);
    if (status != KVS_OK) {
        if (diags->n_errors == n_before)
            kvs_diags_add(diags, &fault);
        if (err != NULL)
            *err = fault;
        return status;
    }
    status = reader_read(&r, err);
    if (status == KVS_OK)
        status = kvs_diags_status(diags, err);
    kvs_yaml_destroy(r.doc);
    if (status != KVS_OK)
        kvs_experiment_fini(out);
    return status;
}
