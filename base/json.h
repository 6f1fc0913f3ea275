/*
 * JSON behind our names: a writer that needs no tree, and jansson for reading.
 *
 * The writer prints compact JSON on one line, keys in call order, integers exactly, and doubles
 * in the fewest digits that read back the same; NaN and infinities become null. Strings are
 * escaped, bytes that are not UTF-8 become U+FFFD. A failed allocation sticks in text->status.
 */
#ifndef KVS_BASE_JSON_H
#define KVS_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

struct kvs_json_writer {
    struct kvs_text *text; /* borrowed */
    unsigned depth;
    bool needs_comma;
};

/* key is NULL inside arrays and at the top. */
void kvs_json_begin(struct kvs_json_writer *w, const char *key, char bracket); /* '{' or '[' */
void kvs_json_end(struct kvs_json_writer *w, char bracket);                    /* '}' or ']' */
void kvs_json_str(struct kvs_json_writer *w, const char *key,
                  const char *value); /* NULL: null */
void kvs_json_i64(struct kvs_json_writer *w, const char *key, int64_t value);
void kvs_json_u64(struct kvs_json_writer *w, const char *key, uint64_t value);
void kvs_json_f64(struct kvs_json_writer *w, const char *key, double value);
void kvs_json_bool(struct kvs_json_writer *w, const char *key, bool value);

/* Reading. A value is borrowed from its document. Depth is limited to 64, duplicate keys
 * refused. */
struct kvs_json_doc;
struct kvs_json_value;

/* Parses one JSON text. line_base is added to reported lines (for JSON Lines). */
kvs_status kvs_json_parse(const char *name, const char *bytes, size_t n, unsigned line_base,
                          struct kvs_json_doc **out, struct kvs_error *err) KVS_MUST_USE;
void kvs_json_destroy(struct kvs_json_doc *doc);
const struct kvs_json_value *kvs_json_root(const struct kvs_json_doc *doc);

/*
 * Strict getters in the manner of yaml.h, first error only: a missing required key, a wrong
 * type or a value out of range fills *err (path such as ops[7].size_bytes; the line when the
 * document has only one) and returns its status. With required = false a key that is absent or
 * null leaves *out untouched and is KVS_OK. Integers: exact only. min and max are inclusive.
 */
kvs_status kvs_json_get(const struct kvs_json_doc *doc, const struct kvs_json_value *obj,
                        const char *key, bool required, const struct kvs_json_value **out,
                        struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_json_get_str(const struct kvs_json_doc *doc, const struct kvs_json_value *obj,
                            const char *key, bool required, const char **out,
                            struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_json_get_i64(const struct kvs_json_doc *doc, const struct kvs_json_value *obj,
                            const char *key, bool required, int64_t min, int64_t max,
                            int64_t *out, struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_json_get_f64(const struct kvs_json_doc *doc, const struct kvs_json_value *obj,
                            const char *key, bool required, double min, double max, double *out,
                            struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_json_get_bool(const struct kvs_json_doc *doc, const struct kvs_json_value *obj,
                             const char *key, bool required, bool *out,
                             struct kvs_error *err) KVS_MUST_USE;
size_t kvs_json_array_len(const struct kvs_json_value *array); /* 0 unless an array */
const struct kvs_json_value *kvs_json_array_item(const struct kvs_json_value *array, size_t i);
/* The item as an exact integer in [min, max]; false otherwise. */
bool kvs_json_as_i64(const struct kvs_json_value *value, int64_t min, int64_t max,
                     int64_t *out);
/* Refuses keys of obj outside known[0..n), naming the nearest. */
kvs_status kvs_json_only_keys(const struct kvs_json_doc *doc, const struct kvs_json_value *obj,
                              const char *const *known, size_t n,
                              struct kvs_error *err) KVS_MUST_USE;

#endif
