/* Strings that grow, whole files, and nearest names. */
#ifndef KVS_BASE_TEXT_H
#define KVS_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A growing, always terminated string. Zero-initialise; an allocation failure sticks in
 * `status` and turns further appends into no-ops, so a writer checks once at the end. */
struct kvs_text {
    char *data; /* owned, terminated once anything was appended, else NULL */
    size_t n;   /* bytes without the terminator */
    size_t capacity;
    kvs_status status;
};

void kvs_text_append(struct kvs_text *text, const char *bytes, size_t n);
void kvs_text_puts(struct kvs_text *text, const char *string);
void kvs_text_printf(struct kvs_text *text, const char *fmt, ...) KVS_PRINTF(2, 3);
void kvs_text_fini(struct kvs_text *text);

/* Reads a whole file or pipe ("-" = stdin; no directory), at most max_bytes; terminated with a
 * zero that is not counted. Returns to caller: kvs_mem_free. Errors name the file. */
kvs_status kvs_file_read(const char *path, size_t max_bytes, char **out_data, size_t *out_n,
                         struct kvs_error *err) KVS_MUST_USE;
/* Writes atomically (temporary file beside it, then rename); devices and pipes are written in
 * place. */
kvs_status kvs_file_write(const char *path, const char *data, size_t n,
                          struct kvs_error *err) KVS_MUST_USE;
/* KVS_EIO when kvs_file_write could not begin: to be asked before work whose result goes there.
 * What is at path stays as it is. */
kvs_status kvs_file_check_writable(const char *path, struct kvs_error *err) KVS_MUST_USE;

/* The candidate nearest to word (Damerau-Levenshtein, at most a third of its length away, ties
 * to the first; case, blanks, - and _ do not count), or NULL. candidates: [n]. */
const char *kvs_nearest(const char *word, const char *const *candidates, size_t n);

#endif
