/* YAML text to a tree of our own, from libyaml's events; what a strict reader refuses. */
#include "base/yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/yaml_node.h"

struct yaml_reader {
    yaml_parser_t parser;
    struct kvs_yaml *doc;
    struct kvs_yaml_node *open; /* innermost open collection, NULL at the top */
    unsigned depth;             /* open collections */
    const char *key;            /* in a map: key that waits for its value, else NULL */
    yaml_mark_t key_mark;
    bool has_document;
    bool is_done;
};

static unsigned yaml_number(size_t zero_based)
{
    return zero_based < UINT32_MAX ? (unsigned)zero_based + 1 : UINT32_MAX;
}

static KVS_PRINTF(4, 5) kvs_status
    yaml_refuse(const struct yaml_reader *reader, yaml_mark_t mark, struct kvs_error *err,
                const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return kvs_error_at(err, KVS_ESYNTAX, reader->doc->name, yaml_number(mark.line),
                        yaml_number(mark.column), "%s", text);
}

/* libyaml's complaint in our words. */
static kvs_status yaml_parser_failed(const struct yaml_reader *reader, const char *bytes,
                                     size_t n, struct kvs_error *err)
{
    const yaml_parser_t *parser = &reader->parser;
    const char *problem = parser->problem != NULL ? parser->problem : "cannot be parsed";
    if (parser->error == YAML_MEMORY_ERROR)
        return kvs_error_set(err, KVS_ENOMEM, "out of memory while parsing YAML");
    if (parser->error == YAML_READER_ERROR) {
        unsigned line;
        unsigned column;
        kvs_yaml_locate(bytes, parser->problem_offset < n ? parser->problem_offset : n, &line,
                        &column);
        return kvs_error_at(err, KVS_ESYNTAX, reader->doc->name, line, column,
                            "not valid YAML: %s", problem);
    }
    yaml_mark_t mark = parser->problem_mark;
    if (parser->context != NULL)
        yaml_refuse(reader, mark, err, "not valid YAML: %s (%s)", problem, parser->context);
    else
        yaml_refuse(reader, mark, err, "not valid YAML: %s", problem);
    if (mark.index < n && bytes[mark.index] == '\t')
        kvs_error_hint(err, "indent with blanks, not with tabs");
    else if (strstr(problem, "mapping values are not allowed") != NULL ||
             strstr(problem, "did not find expected key") != NULL ||
             strstr(problem, "did not find expected '-'") != NULL)
        kvs_error_hint(err, "keys that belong together begin in the same column; look at this "
                            "line and the one above");
    return KVS_ESYNTAX;
}

static kvs_status yaml_copy_text(struct yaml_reader *reader, const yaml_event_t *event,
                                 const char **out, struct kvs_error *err)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t n = event->data.scalar.length;
    if (memchr(text, '\0', n) != NULL)
        return yaml_refuse(reader, event->start_mark, err, "text must not contain \\0");
    return kvs_arena_copy(&reader->doc->arena, text, n, out, err);
}

static kvs_status yaml_take_key(struct yaml_reader *reader, const yaml_event_t *event,
                                struct kvs_error *err)
{
    if (event->type != YAML_SCALAR_EVENT)
        return yaml_refuse(reader, event->start_mark, err,
                           "a key must be a single word or text, got a %s",
                           event->type == YAML_MAPPING_START_EVENT ? "map" : "sequence");
    if (event->data.scalar.length == 0)
        return yaml_refuse(reader, event->start_mark, err, "empty key");
    reader->key_mark = event->start_mark;
    return yaml_copy_text(reader, event, &reader->key, err);
}

static void yaml_attach(struct yaml_reader *reader, struct kvs_yaml_node *node)
{
    struct kvs_yaml_node *parent = reader->open;
    node->parent = parent;
    if (parent == NULL) {
        reader->doc->root = node;
        return;
    }
    node->index = parent->n++;
    node->key = reader->key;
    node->key_line = yaml_number(reader->key_mark.line);
    node->key_column = yaml_number(reader->key_mark.column);
    reader->key = NULL;
    if (parent->last != NULL)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
}

/* A scalar or the start of a collection: the next key or value of the open collection. */
static kvs_status yaml_take_node(struct yaml_reader *reader, const yaml_event_t *event,
                                 struct kvs_error *err)
{
    if (reader->open != NULL && reader->open->kind == KVS_YAML_MAP && reader->key == NULL)
        return yaml_take_key(reader, event, err);
    if (event->type != YAML_SCALAR_EVENT && ++reader->depth > KVS_YAML_MAX_DEPTH)
        return yaml_refuse(reader, event->start_mark, err,
                           "nested deeper than the limit of %d levels", KVS_YAML_MAX_DEPTH);
    void *fresh = NULL;
    KVS_TRY(kvs_arena_alloc(&reader->doc->arena, 1, sizeof(struct kvs_yaml_node), &fresh, err));
    struct kvs_yaml_node *node = fresh;
    node->line = yaml_number(event->start_mark.line);
    node->column = yaml_number(event->start_mark.column);
    yaml_attach(reader, node);
    if (event->type == YAML_SCALAR_EVENT) {
        node->kind = KVS_YAML_SCALAR;
        node->is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        return yaml_copy_text(reader, event, &node->text, err);
    }
    node->kind = event->type == YAML_MAPPING_START_EVENT ? KVS_YAML_MAP : KVS_YAML_SEQ;
    reader->open = node;
    return KVS_OK;
}

/* By key, equal keys in file order. */
static int yaml_compare_keys(const void *a, const void *b)
{
    const struct kvs_yaml_node *const *left = a;
    const struct kvs_yaml_node *const *right = b;
    int order = strcmp((*left)->key, (*right)->key);
    if (order != 0)
        return order;
    return (*left)->index < (*right)->index ? -1 : (*left)->index > (*right)->index;
}

/* The first pair whose key was there before; sorted is the map's items in order of keys. */
static kvs_status yaml_refuse_duplicates(struct kvs_yaml *doc, struct kvs_yaml_node **sorted,
                                         size_t n, struct kvs_error *err)
{
    const struct kvs_yaml_node *again = NULL;
    const struct kvs_yaml_node *before = NULL;
    qsort(sorted, n, sizeof(*sorted), yaml_compare_keys);
    for (size_t i = 1; i < n; i++)
        if (strcmp(sorted[i]->key, sorted[i - 1]->key) == 0 &&
            (again == NULL || sorted[i]->index < again->index)) {
            again = sorted[i];
            before = sorted[i - 1];
        }
    if (again == NULL)
        return KVS_OK;
    kvs_error_at(err, KVS_ESYNTAX, doc->name, again->key_line, again->key_column,
                 "duplicate key \"%.80s\", first on line %u", again->key, before->key_line);
    return KVS_ESYNTAX;
}

static kvs_status yaml_close(struct yaml_reader *reader, struct kvs_error *err)
{
    struct kvs_yaml_node *node = reader->open;
    void *items = NULL;
    KVS_TRY(kvs_arena_alloc(&reader->doc->arena, node->n, sizeof(*node->items), &items, err));
    node->items = items;
    size_t i = 0;
    for (struct kvs_yaml_node *child = node->first; child != NULL; child = child->next)
        node->items[i++] = child;
    if (node->kind == KVS_YAML_MAP && node->n > 1) {
        KVS_TRY(yaml_refuse_duplicates(reader->doc, node->items, node->n, err));
        for (struct kvs_yaml_node *child = node->first; child != NULL; child = child->next)
            node->items[child->index] = child;
    }
    reader->depth--;
    reader->open = node->parent;
    return KVS_OK;
}

static kvs_status yaml_refuse_extras(const struct yaml_reader *reader, yaml_mark_t mark,
                                     const yaml_char_t *anchor, const yaml_char_t *tag,
                                     struct kvs_error *err)
{
    if (anchor != NULL)
        return yaml_refuse(reader, mark, err, "anchors are not supported, got \"&%.80s\"",
                           (const char *)anchor);
    if (tag != NULL)
        return yaml_refuse(reader, mark, err, "tags are not supported, got \"%.80s\"",
                           (const char *)tag);
    return KVS_OK;
}

static kvs_status yaml_start_document(struct yaml_reader *reader, const yaml_event_t *event,
                                      struct kvs_error *err)
{
    if (reader->has_document)
        return yaml_refuse(reader, event->start_mark, err, "more than one document in a file");
    if (event->data.document_start.tag_directives.start !=
        event->data.document_start.tag_directives.end)
        return yaml_refuse(reader, event->start_mark, err, "tags are not supported, got %%TAG");
    reader->has_document = true;
    return KVS_OK;
}

static kvs_status yaml_take_event(struct yaml_reader *reader, const yaml_event_t *event,
                                  struct kvs_error *err)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return yaml_start_document(reader, event, err);
    case YAML_ALIAS_EVENT:
        return yaml_refuse(reader, event->start_mark, err,
                           "aliases are not supported, got \"*%.80s\"",
                           (const char *)event->data.alias.anchor);
    case YAML_SCALAR_EVENT:
        KVS_TRY(yaml_refuse_extras(reader, event->start_mark, event->data.scalar.anchor,
                                   event->data.scalar.tag, err));
        return yaml_take_node(reader, event, err);
    case YAML_SEQUENCE_START_EVENT:
        KVS_TRY(yaml_refuse_extras(reader, event->start_mark, event->data.sequence_start.anchor,
                                   event->data.sequence_start.tag, err));
        return yaml_take_node(reader, event, err);
    case YAML_MAPPING_START_EVENT:
        KVS_TRY(yaml_refuse_extras(reader, event->start_mark, event->data.mapping_start.anchor,
                                   event->data.mapping_start.tag, err));
        return yaml_take_node(reader, event, err);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return yaml_close(reader, err);
    case YAML_STREAM_END_EVENT:
        reader->is_done = true;
        return KVS_OK;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return KVS_OK;
    }
    return KVS_OK;
}

static kvs_status yaml_read(struct yaml_reader *reader, const char *bytes, size_t n,
                            struct kvs_error *err)
{
    yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader->parser, (const unsigned char *)bytes, n);
    while (!reader->is_done) {
        yaml_event_t event;
        if (!yaml_parser_parse(&reader->parser, &event))
            return yaml_parser_failed(reader, bytes, n, err);
        kvs_status status = yaml_take_event(reader, &event, err);
        yaml_event_delete(&event);
        KVS_TRY(status);
    }
    if (reader->doc->root == NULL)
        return kvs_error_at(err, KVS_ESYNTAX, reader->doc->name, 1, 1,
                            "nothing in this file, expected keys and values");
    return KVS_OK;
}

static kvs_status yaml_build(struct kvs_yaml *doc, const char *name, const char *bytes,
                             size_t n, struct kvs_error *err)
{
    KVS_TRY(kvs_arena_copy(&doc->arena, name, strlen(name), &doc->name, err));
    KVS_TRY(kvs_yaml_precheck(name, bytes, n, err));
    struct yaml_reader reader = {.doc = doc};
    if (!yaml_parser_initialize(&reader.parser))
        return kvs_error_set(err, KVS_ENOMEM, "out of memory while parsing YAML");
    kvs_status status = yaml_read(&reader, bytes, n, err);
    yaml_parser_delete(&reader.parser);
    return status;
}

kvs_status kvs_yaml_parse(const char *name, const char *bytes, size_t n,
                          struct kvs_diags *diags, struct kvs_yaml **out, struct kvs_error *err)
{
    void *fresh = NULL;
    KVS_TRY(kvs_mem_alloc(1, sizeof(struct kvs_yaml), &fresh, err));
    struct kvs_yaml *doc = fresh;
    doc->diags = diags;
    kvs_status status = yaml_build(doc, name, bytes, n, err);
    if (status != KVS_OK) {
        kvs_yaml_destroy(doc);
        return status;
    }
    *out = doc;
    return KVS_OK;
}

kvs_status kvs_yaml_load(const char *path, struct kvs_diags *diags, struct kvs_yaml **out,
                         struct kvs_error *err)
{
    char *bytes = NULL;
    size_t n = 0;
    KVS_TRY(kvs_file_read(path, KVS_YAML_MAX_BYTES, &bytes, &n, err));
    kvs_status status = kvs_yaml_parse(path, bytes, n, diags, out, err);
    kvs_mem_free(bytes);
    return status;
}

void kvs_yaml_destroy(struct kvs_yaml *doc)
{
    if (doc == NULL)
        return;
    kvs_arena_fini(&doc->arena);
    kvs_mem_free(doc);
}
