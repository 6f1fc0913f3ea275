/* The JSON writer: text appended piece by piece, no tree. */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "base/utf8.h"

static void json_put_escape(struct kvs_text *text, unsigned char byte)
{
    static const char specials[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const char *at = memchr(specials, byte, sizeof(specials) - 1);
    if (at != NULL)
        kvs_text_printf(text, "\\%c", letters[at - specials]);
    else
        kvs_text_printf(text, "\\u%04x", byte);
}

/* Runs of harmless bytes are appended whole. */
static void json_put_string(struct kvs_text *text, const char *string)
{
    size_t n = strlen(string);
    size_t run = 0;
    kvs_text_puts(text, "\"");
    for (size_t i = 0; i < n;) {
        unsigned char byte = (unsigned char)string[i];
        size_t len = kvs_utf8_len(string + i, n - i);
        if (len > 0 && byte >= 0x20 && byte != '"' && byte != '\\') {
            i += len;
            continue;
        }
        kvs_text_append(text, string + run, i - run);
        if (len == 0)
            kvs_text_puts(text, "\\ufffd");
        else
            json_put_escape(text, byte);
        run = ++i;
    }
    kvs_text_append(text, string + run, n - run);
    kvs_text_puts(text, "\"");
}

/* The comma and the key before a value. */
static void json_put_lead(struct kvs_json_writer *w, const char *key)
{
    if (w->needs_comma)
        kvs_text_puts(w->text, ",");
    w->needs_comma = w->depth > 0;
    if (key == NULL)
        return;
    json_put_string(w->text, key);
    kvs_text_puts(w->text, ":");
}

void kvs_json_begin(struct kvs_json_writer *w, const char *key, char bracket)
{
    KVS_ASSERT(bracket == '{' || bracket == '[');
    json_put_lead(w, key);
    kvs_text_append(w->text, &bracket, 1);
    w->depth++;
    w->needs_comma = false;
}

void kvs_json_end(struct kvs_json_writer *w, char bracket)
{
    KVS_ASSERT((bracket == '}' || bracket == ']') && w->depth > 0);
    kvs_text_append(w->text, &bracket, 1);
    w->depth--;
    w->needs_comma = w->depth > 0;
}

void kvs_json_str(struct kvs_json_writer *w, const char *key, const char *value)
{
    json_put_lead(w, key);
    if (value == NULL)
        kvs_text_puts(w->text, "null");
    else
        json_put_string(w->text, value);
}

void kvs_json_i64(struct kvs_json_writer *w, const char *key, int64_t value)
{
    json_put_lead(w, key);
    kvs_text_printf(w->text, "%" PRId64, value);
}

void kvs_json_u64(struct kvs_json_writer *w, const char *key, uint64_t value)
{
    json_put_lead(w, key);
    kvs_text_printf(w->text, "%" PRIu64, value);
}

void kvs_json_f64(struct kvs_json_writer *w, const char *key, double value)
{
    char buf[KVS_UNITS_BUF];
    json_put_lead(w, key);
    kvs_text_puts(w->text, isfinite(value) ? kvs_format_f64(value, buf, sizeof(buf)) : "null");
}

void kvs_json_bool(struct kvs_json_writer *w, const char *key, bool value)
{
    json_put_lead(w, key);
    kvs_text_puts(w->text, value ? "true" : "false");
}
