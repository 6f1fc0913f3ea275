/* Typed getters: a scalar's text becomes a value, or an error says what was expected. */
#include "base/yaml.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/yaml_node.h"

/* The value found, for messages. */
static const char *yaml_found(const struct kvs_yaml_node *node, char *buf, size_t cap)
{
    if (node->kind == KVS_YAML_MAP)
        return "a map";
    if (node->kind == KVS_YAML_SEQ)
        return "a sequence";
    if (kvs_yaml_is_null(node))
        return "nothing";
    snprintf(buf, cap, "\"%.80s\"", node->text);
    return buf;
}

static void yaml_complain_type(struct kvs_yaml *doc, const struct kvs_yaml_node *node,
                               const char *expected)
{
    char found[128];
    kvs_yaml_complain(doc, node, NULL, "expected %s, got %s", expected,
                      yaml_found(node, found, sizeof(found)));
}

static const struct kvs_yaml_node *yaml_get_kind(struct kvs_yaml *doc,
                                                 const struct kvs_yaml_node *map,
                                                 const char *key, kvs_presence presence,
                                                 kvs_yaml_kind kind, const char *expected)
{
    const struct kvs_yaml_node *node = kvs_yaml_get(doc, map, key, presence);
    if (node == NULL || node->kind == kind)
        return node;
    yaml_complain_type(doc, node, expected);
    return NULL;
}

const struct kvs_yaml_node *kvs_yaml_get_map(struct kvs_yaml *doc,
                                             const struct kvs_yaml_node *map, const char *key,
                                             kvs_presence presence)
{
    return yaml_get_kind(doc, map, key, presence, KVS_YAML_MAP, "a map");
}

const struct kvs_yaml_node *kvs_yaml_get_seq(struct kvs_yaml *doc,
                                             const struct kvs_yaml_node *map, const char *key,
                                             kvs_presence presence)
{
    return yaml_get_kind(doc, map, key, presence, KVS_YAML_SEQ, "a sequence");
}

/* Text of a scalar that is not null, else a complaint and NULL. */
static const char *yaml_text(struct kvs_yaml *doc, const struct kvs_yaml_node *node,
                             const char *expected)
{
    if (node->kind == KVS_YAML_SCALAR && !kvs_yaml_is_null(node))
        return node->text;
    yaml_complain_type(doc, node, expected);
    return NULL;
}

/* The scalar under key, and its node for messages. */
static const char *yaml_get_text(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                                 const char *key, kvs_presence presence, const char *expected,
                                 const struct kvs_yaml_node **out_node)
{
    *out_node = kvs_yaml_get(doc, map, key, presence);
    return *out_node != NULL ? yaml_text(doc, *out_node, expected) : NULL;
}

/* Passes on the error of a parser of base/units.h, with the place of the node. */
static bool yaml_resolved(struct kvs_yaml *doc, const struct kvs_yaml_node *node,
                          kvs_status status, struct kvs_error *err)
{
    if (status == KVS_OK)
        return true;
    kvs_yaml_report(doc, node, err);
    return false;
}

bool kvs_yaml_get_str(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                      kvs_presence presence, const char **out)
{
    const struct kvs_yaml_node *node;
    const char *text = yaml_get_text(doc, map, key, presence, "text", &node);
    if (text == NULL)
        return false;
    if (text[0] == '\0') {
        kvs_yaml_complain(doc, node, NULL, "must not be empty");
        return false;
    }
    *out = text;
    return true;
}

bool kvs_yaml_get_bool(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                       kvs_presence presence, bool *out)
{
    const struct kvs_yaml_node *node;
    const char *text = yaml_get_text(doc, map, key, presence, "true or false", &node);
    if (text == NULL)
        return false;
    bool is_true = strcmp(text, "true") == 0;
    if (!is_true && strcmp(text, "false") != 0) {
        yaml_complain_type(doc, node, "true or false");
        return false;
    }
    *out = is_true;
    return true;
}

static void yaml_complain_range(struct kvs_yaml *doc, const struct kvs_yaml_node *node,
                                const char *min, const char *max)
{
    struct kvs_error err;
    if (max == NULL)
        kvs_error_set(&err, KVS_ERANGE, "must be at least %s, got %.80s", min, node->text);
    else if (min == NULL)
        kvs_error_set(&err, KVS_ERANGE, "must be at most %s, got %.80s", max, node->text);
    else
        kvs_error_set(&err, KVS_ERANGE, "must be between %s and %s, got %.80s", min, max,
                      node->text);
    kvs_yaml_report(doc, node, &err);
}

bool kvs_yaml_node_u64(struct kvs_yaml *doc, const struct kvs_yaml_node *node, uint64_t min,
                       uint64_t max, uint64_t *out)
{
    struct kvs_error err;
    uint64_t value = 0;
    const char *text = yaml_text(doc, node, "a whole number such as 32");
    if (text == NULL || !yaml_resolved(doc, node, kvs_parse_u64(text, &value, &err), &err))
        return false;
    if (value < min || value > max) {
        char low[32];
        char high[32];
        snprintf(low, sizeof(low), "%llu", (unsigned long long)min);
        snprintf(high, sizeof(high), "%llu", (unsigned long long)max);
        yaml_complain_range(doc, node, low, max < UINT64_MAX ? high : NULL);
        return false;
    }
    *out = value;
    return true;
}

bool kvs_yaml_get_u64(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                      kvs_presence presence, uint64_t min, uint64_t max, uint64_t *out)
{
    const struct kvs_yaml_node *node = kvs_yaml_get(doc, map, key, presence);
    return node != NULL && kvs_yaml_node_u64(doc, node, min, max, out);
}

bool kvs_yaml_get_f64(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                      kvs_presence presence, double min, double max, double *out)
{
    const struct kvs_yaml_node *node;
    struct kvs_error err;
    double value = 0;
    const char *text = yaml_get_text(doc, map, key, presence, "a number such as 0.5", &node);
    if (text == NULL || !yaml_resolved(doc, node, kvs_parse_f64(text, &value, &err), &err))
        return false;
    if (value < min || value > max) {
        char low[KVS_UNITS_BUF];
        char high[KVS_UNITS_BUF];
        kvs_format_f64(min, low, sizeof(low));
        kvs_format_f64(max, high, sizeof(high));
        yaml_complain_range(doc, node, min > -1e300 ? low : NULL, max < 1e300 ? high : NULL);
        return false;
    }
    *out = value;
    return true;
}

bool kvs_yaml_get_bytes(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                        kvs_presence presence, uint64_t *out_bytes)
{
    const struct kvs_yaml_node *node;
    struct kvs_error err;
    const char *text = yaml_get_text(doc, map, key, presence, "bytes such as 512MiB", &node);
    return text != NULL &&
           yaml_resolved(doc, node, kvs_parse_bytes(text, out_bytes, &err), &err);
}

bool kvs_yaml_get_time(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                       kvs_presence presence, kvs_time *out_ps)
{
    const struct kvs_yaml_node *node;
    struct kvs_error err;
    const char *text = yaml_get_text(doc, map, key, presence, "a time such as 31us", &node);
    return text != NULL && yaml_resolved(doc, node, kvs_parse_time(text, out_ps, &err), &err);
}

static void yaml_complain_enum(struct kvs_yaml *doc, const struct kvs_yaml_node *node,
                               const char *const *names, size_t n)
{
    char found[128];
    char hint[128];
    struct kvs_text known = {0};
    for (size_t i = 0; i < n; i++)
        kvs_text_printf(&known, "%s%s", i > 0 ? ", " : "", names[i]);
    const char *nearest =
        node->kind == KVS_YAML_SCALAR ? kvs_nearest(node->text, names, n) : NULL;
    if (nearest != NULL)
        snprintf(hint, sizeof(hint), "did you mean \"%s\"?", nearest);
    kvs_yaml_complain(doc, node, nearest != NULL ? hint : NULL, "expected one of %s; got %s",
                      known.data != NULL ? known.data : "the known names",
                      yaml_found(node, found, sizeof(found)));
    kvs_text_fini(&known);
}

bool kvs_yaml_get_enum(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                       kvs_presence presence, const char *const *names, size_t n, unsigned *out)
{
    const struct kvs_yaml_node *node = kvs_yaml_get(doc, map, key, presence);
    if (node == NULL)
        return false;
    for (unsigned i = 0; node->kind == KVS_YAML_SCALAR && i < n; i++)
        if (strcmp(node->text, names[i]) == 0) {
            *out = i;
            return true;
        }
    yaml_complain_enum(doc, node, names, n);
    return false;
}
