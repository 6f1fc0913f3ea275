/* The tree from outside: access, paths and places, errors, known and unknown keys. */
#include "base/yaml_node.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"

const struct kvs_yaml_node *kvs_yaml_root(const struct kvs_yaml *doc)
{
    return doc->root;
}

kvs_yaml_kind kvs_yaml_node_kind(const struct kvs_yaml_node *node)
{
    return node->kind;
}

unsigned kvs_yaml_line(const struct kvs_yaml_node *node)
{
    return node->line;
}

size_t kvs_yaml_len(const struct kvs_yaml_node *node)
{
    return node->n;
}

const struct kvs_yaml_node *kvs_yaml_item(const struct kvs_yaml_node *seq, size_t i)
{
    return seq->kind == KVS_YAML_SEQ && i < seq->n ? seq->items[i] : NULL;
}

const char *kvs_yaml_pair(struct kvs_yaml *doc, const struct kvs_yaml_node *map, size_t i,
                          const struct kvs_yaml_node **out_value)
{
    (void)doc;
    if (map->kind != KVS_YAML_MAP || i >= map->n)
        return NULL;
    map->items[i]->is_known = true;
    *out_value = map->items[i];
    return map->items[i]->key;
}

const char *kvs_yaml_scalar(const struct kvs_yaml_node *node)
{
    return node->kind == KVS_YAML_SCALAR ? node->text : NULL;
}

bool kvs_yaml_is_null(const struct kvs_yaml_node *node)
{
    return node->kind == KVS_YAML_SCALAR && node->is_plain &&
           (node->text[0] == '\0' || strcmp(node->text, "~") == 0 ||
            strcmp(node->text, "null") == 0);
}

struct kvs_yaml_node *kvs_yaml_mutable(const struct kvs_yaml *doc,
                                       const struct kvs_yaml_node *node)
{
    return node->parent != NULL ? node->parent->items[node->index] : doc->root;
}

/* Writes the path from the root; a path that is too long is cut at its end. */
static void yaml_path(const struct kvs_yaml_node *node, char *buf, size_t cap)
{
    const struct kvs_yaml_node *chain[KVS_YAML_MAX_DEPTH + 1];
    size_t depth = 0;
    for (; node->parent != NULL && depth < KVS_COUNT_OF(chain); node = node->parent)
        chain[depth++] = node;
    size_t n = 0;
    buf[0] = '\0';
    while (depth > 0 && n < cap - 1) {
        const struct kvs_yaml_node *step = chain[--depth];
        int wrote = step->key != NULL
                        ? snprintf(buf + n, cap - n, "%s%s", n > 0 ? "." : "", step->key)
                        : snprintf(buf + n, cap - n, "[%zu]", step->index);
        n += wrote > 0 ? (size_t)wrote : 0;
    }
    kvs_utf8_make_printable(buf);
}

void kvs_yaml_place(const struct kvs_yaml *doc, const struct kvs_yaml_node *node,
                    struct kvs_error *out)
{
    snprintf(out->file, sizeof(out->file), "%s", doc->name);
    out->line = node->line;
    out->column = node->column;
    yaml_path(node, out->path, sizeof(out->path));
}

void kvs_yaml_report(struct kvs_yaml *doc, const struct kvs_yaml_node *node,
                     struct kvs_error *err)
{
    kvs_yaml_place(doc, node, err);
    kvs_diags_add(doc->diags, err);
}

void kvs_yaml_complain(struct kvs_yaml *doc, const struct kvs_yaml_node *node, const char *hint,
                       const char *fmt, ...)
{
    struct kvs_error err;
    char text[sizeof(err.text)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    kvs_error_set(&err, KVS_EINVAL, "%s", text);
    if (hint != NULL)
        kvs_error_hint(&err, "%s", hint);
    kvs_yaml_report(doc, node, &err);
}

/* Remembers that key is one a getter of map asks for; a failure to do so is itself reported. */
static void yaml_note_asked(struct kvs_yaml *doc, struct kvs_yaml_node *map, const char *key)
{
    for (const struct kvs_yaml_asked *asked = map->asked; asked != NULL; asked = asked->next)
        if (strcmp(asked->key, key) == 0)
            return;
    struct kvs_error err;
    void *fresh = NULL;
    kvs_status status =
        kvs_arena_alloc(&doc->arena, 1, sizeof(struct kvs_yaml_asked), &fresh, &err);
    if (status == KVS_OK) {
        struct kvs_yaml_asked *asked = fresh;
        status = kvs_arena_copy(&doc->arena, key, strlen(key), &asked->key, &err);
        asked->next = map->asked;
        if (status == KVS_OK)
            map->asked = asked;
    }
    if (status != KVS_OK)
        kvs_yaml_report(doc, map, &err);
}

static const char *yaml_kind_noun(const struct kvs_yaml_node *node)
{
    if (node->kind == KVS_YAML_SCALAR)
        return kvs_yaml_is_null(node) ? "nothing" : "a single value";
    return node->kind == KVS_YAML_MAP ? "a map" : "a sequence";
}

const struct kvs_yaml_node *kvs_yaml_get(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                                         const char *key, kvs_presence presence)
{
    struct kvs_yaml_node *asked_map = kvs_yaml_mutable(doc, map);
    if (map->kind != KVS_YAML_MAP) {
        if (!asked_map->is_refused)
            kvs_yaml_complain(doc, map, NULL, "expected a map with the key \"%s\", got %s", key,
                              yaml_kind_noun(map));
        asked_map->is_refused = true;
        return NULL;
    }
    yaml_note_asked(doc, asked_map, key);
    for (size_t i = 0; i < map->n; i++)
        if (strcmp(map->items[i]->key, key) == 0) {
            map->items[i]->is_known = true;
            return map->items[i];
        }
    if (presence == KVS_REQUIRED)
        kvs_yaml_complain(doc, map, NULL, "missing key \"%s\"", key);
    return NULL;
}

/* "did you mean ...? known here: ..." from known[0..n). */
static void yaml_hint_known(struct kvs_error *err, const char *key, const char *const *known,
                            size_t n)
{
    struct kvs_text hint = {0};
    const char *nearest = kvs_nearest(key, known, n);
    if (nearest != NULL)
        kvs_text_printf(&hint, "did you mean \"%s\"? ", nearest);
    kvs_text_puts(&hint, n > 0 ? "known here: " : "no key is known here");
    for (size_t i = 0; i < n; i++)
        kvs_text_printf(&hint, "%s%s", i > 0 ? ", " : "", known[i]);
    if (hint.status == KVS_OK)
        kvs_error_hint(err, "%s", hint.data);
    kvs_text_fini(&hint);
}

static void yaml_report_unknown(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                                const struct kvs_yaml_node *pair, const char *const *known,
                                size_t n)
{
    struct kvs_error err;
    kvs_error_set(&err, KVS_EINVAL, "unknown key \"%.80s\"", pair->key);
    yaml_hint_known(&err, pair->key, known, n);
    kvs_yaml_place(doc, map, &err);
    err.line = pair->key_line;
    err.column = pair->key_column;
    kvs_diags_add(doc->diags, &err);
}

/* Known keys in the order first asked for; the list runs newest first. */
static kvs_status yaml_known_keys(const struct kvs_yaml_node *map, void **out, size_t *out_n,
                                  struct kvs_error *err)
{
    size_t n = 0;
    for (const struct kvs_yaml_asked *asked = map->asked; asked != NULL; asked = asked->next)
        n++;
    KVS_TRY(kvs_mem_alloc(n, sizeof(const char *), out, err));
    const char **known = *out;
    size_t left = n;
    for (const struct kvs_yaml_asked *asked = map->asked; asked != NULL; asked = asked->next)
        known[--left] = asked->key;
    *out_n = n;
    return KVS_OK;
}

void kvs_yaml_end_map(struct kvs_yaml *doc, const struct kvs_yaml_node *map)
{
    if (map->kind != KVS_YAML_MAP)
        return;
    size_t n_unknown = 0;
    for (size_t i = 0; i < map->n; i++)
        n_unknown += map->items[i]->is_known ? 0 : 1;
    if (n_unknown == 0)
        return;
    struct kvs_error err;
    void *known = NULL;
    size_t n = 0;
    if (yaml_known_keys(map, &known, &n, &err) != KVS_OK) {
        kvs_yaml_report(doc, map, &err);
        return;
    }
    for (size_t i = 0; i < map->n; i++)
        if (!map->items[i]->is_known)
            yaml_report_unknown(doc, map, map->items[i], known, n);
    kvs_mem_free(known);
}
