/* The tree behind base/yaml.h. Private to base/yaml*.c. */
#ifndef KVS_BASE_YAML_NODE_H
#define KVS_BASE_YAML_NODE_H

#include "base/arena.h"
#include "base/yaml.h"

struct kvs_yaml_asked {
    const char *key;
    const struct kvs_yaml_asked *next;
};

struct kvs_yaml_node {
    kvs_yaml_kind kind;
    bool is_plain; /* a scalar without quotes or | > */
    unsigned line; /* of the value, 1-based */
    unsigned column;
    struct kvs_yaml_node *parent; /* NULL for the root */
    size_t index;                 /* among the parent's items */
    const char *text;             /* scalars: terminated */

    /* As the value of a map: its key, and whether a getter asked for it. */
    const char *key;
    unsigned key_line;
    unsigned key_column;
    bool is_known;

    struct kvs_yaml_node **items; /* [n], in file order */
    size_t n;
    bool is_refused; /* a getter has already complained that this is not a map */
    const struct kvs_yaml_asked
        *asked; /* maps: keys that getters asked for, each once, newest first */

    /* While parsing: children as a list, so that the arena never moves them. */
    struct kvs_yaml_node *first;
    struct kvs_yaml_node *last;
    struct kvs_yaml_node *next;
};

struct kvs_yaml {
    const char *name;
    struct kvs_diags *diags; /* borrowed */
    struct kvs_yaml_node *root;
    struct kvs_arena arena; /* owns nodes, texts and asked keys */
};

/*
 * What can be refused before libyaml reads a byte: size, NUL, bytes that are not UTF-8, absurd
 * nesting. *err has the place.
 */
kvs_status kvs_yaml_precheck(const char *name, const char *bytes, size_t n,
                             struct kvs_error *err) KVS_MUST_USE;

/* The node without const, found through its owner. */
struct kvs_yaml_node *kvs_yaml_mutable(const struct kvs_yaml *doc,
                                       const struct kvs_yaml_node *node);

/* Adds *err, which has status, text and hint, at node's place. */
void kvs_yaml_report(struct kvs_yaml *doc, const struct kvs_yaml_node *node,
                     struct kvs_error *err);

/* Place of a byte, 1-based, columns in characters as libyaml counts them. */
void kvs_yaml_locate(const char *bytes, size_t offset, unsigned *out_line,
                     unsigned *out_column);

#endif
