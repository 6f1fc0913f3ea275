/*
 * YAML for files written by people, read strictly: libyaml's events, our own walker.
 *
 * Refused, each with file:line:column: duplicate keys, anchors and aliases, tags, more than one
 * document, non-scalar keys, nesting deeper than KVS_YAML_MAX_DEPTH and files larger than
 * KVS_YAML_MAX_BYTES (both checked before libyaml sees the bytes, since it is quadratic in
 * depth), bytes that are not UTF-8, NUL. Scalars stay text: typed getters resolve them.
 *
 * Syntax: the first error ends the parse. Semantics: getters add to doc's diags and go on, so
 * all errors of a file are reported in one run. Usage:
 *
 *     struct kvs_yaml *doc;
 *     KVS_TRY(kvs_yaml_load("m.yaml", &diags, &doc, err));
 *     const struct kvs_yaml_node *root = kvs_yaml_root(doc);
 *     kvs_yaml_get_bytes(doc, root, "memory", KVS_REQUIRED, &memory_bytes);
 *     kvs_yaml_end_map(doc, root);      // unknown keys, with the nearest known key
 *     kvs_yaml_destroy(doc);
 *
 * "Known" keys of a map are those that any getter has asked for.
 */
#ifndef KVS_BASE_YAML_H
#define KVS_BASE_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/units.h"

#define KVS_YAML_MAX_BYTES (4u << 20)
#define KVS_YAML_MAX_DEPTH 64

struct kvs_yaml;
struct kvs_yaml_node;

typedef enum kvs_yaml_kind { KVS_YAML_SCALAR, KVS_YAML_SEQ, KVS_YAML_MAP } kvs_yaml_kind;
typedef enum kvs_presence { KVS_OPTIONAL, KVS_REQUIRED } kvs_presence;

/* Parses a file, or bytes under a display name. diags is borrowed until destroy. */
kvs_status kvs_yaml_load(const char *path, struct kvs_diags *diags, struct kvs_yaml **out,
                         struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_yaml_parse(const char *name, const char *bytes, size_t n,
                          struct kvs_diags *diags, struct kvs_yaml **out,
                          struct kvs_error *err) KVS_MUST_USE;
void kvs_yaml_destroy(struct kvs_yaml *doc); /* NULL is fine */

const struct kvs_yaml_node *kvs_yaml_root(const struct kvs_yaml *doc); /* never NULL */
kvs_yaml_kind kvs_yaml_node_kind(const struct kvs_yaml_node *node);
unsigned kvs_yaml_line(const struct kvs_yaml_node *node); /* of the value, from 1 */
size_t kvs_yaml_len(const struct kvs_yaml_node *node); /* items of a seq, pairs of a map, 0 */
const struct kvs_yaml_node *kvs_yaml_item(const struct kvs_yaml_node *seq, size_t i);
/* Key i of a map, in file order, with its value; for maps whose keys are data. Marks it as
 * known. NULL past the end. */
const char *kvs_yaml_pair(struct kvs_yaml *doc, const struct kvs_yaml_node *map, size_t i,
                          const struct kvs_yaml_node **out_value);
const char *kvs_yaml_scalar(const struct kvs_yaml_node *node); /* text, NULL unless a scalar */
bool kvs_yaml_is_null(const struct kvs_yaml_node *node);       /* unquoted empty, ~ or null */

/* Adds an error at node's place. The path is the node's own (devices[1].link). */
void kvs_yaml_complain(struct kvs_yaml *doc, const struct kvs_yaml_node *node, const char *hint,
                       const char *fmt, ...) KVS_PRINTF(4, 5);

/*
 * Getters: look up key in map. Absent: false, and an error when KVS_REQUIRED. Present but
 * wrong: an error (what was found, what is expected) and false. Good: *out is set, true. *out
 * is untouched on false, so preset it with the default. min/max are inclusive.
 */
const struct kvs_yaml_node *kvs_yaml_get(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                                         const char *key, kvs_presence presence);
const struct kvs_yaml_node *kvs_yaml_get_map(struct kvs_yaml *doc,
                                             const struct kvs_yaml_node *map, const char *key,
                                             kvs_presence presence);
const struct kvs_yaml_node *kvs_yaml_get_seq(struct kvs_yaml *doc,
                                             const struct kvs_yaml_node *map, const char *key,
                                             kvs_presence presence);
/* Borrowed until doc is destroyed. Refuses the empty string. */
bool kvs_yaml_get_str(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                      kvs_presence presence, const char **out);
bool kvs_yaml_get_bool(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                       kvs_presence presence, bool *out);
bool kvs_yaml_get_u64(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                      kvs_presence presence, uint64_t min, uint64_t max, uint64_t *out);
bool kvs_yaml_get_f64(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                      kvs_presence presence, double min, double max, double *out);
bool kvs_yaml_get_bytes(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                        kvs_presence presence, uint64_t *out_bytes);
bool kvs_yaml_get_time(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                       kvs_presence presence, kvs_time *out_ps);
/* One of names[0..n); *out is the index. The error names them all, and the nearest. */
bool kvs_yaml_get_enum(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                       kvs_presence presence, const char *const *names, size_t n,
                       unsigned *out);

/* The same resolution for a node that is not a map's value (a sequence item). */
bool kvs_yaml_node_u64(struct kvs_yaml *doc, const struct kvs_yaml_node *node, uint64_t min,
                       uint64_t max, uint64_t *out);

/* Reports every key of map that no getter asked for. Call last. */
void kvs_yaml_end_map(struct kvs_yaml *doc, const struct kvs_yaml_node *map);

/* Place of a node, for messages built elsewhere. */
void kvs_yaml_place(const struct kvs_yaml *doc, const struct kvs_yaml_node *node,
                    struct kvs_error *out);

#endif
