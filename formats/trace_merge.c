/* Events of two traces line by line, with numbers of processes and arrows moved on. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "formats/trace_read.h"

struct merge {
    struct kvs_text *out;
    const struct kvs_trace_file *file;
    const char *label; /* escaped, with its colon */
    uint64_t first_process, first_id;
    uint64_t end_process, end_id; /* behind the largest so far */
    bool needs_comma;
};

/* Where `what` stands in [at, end), or NULL. */
static const char *merge_find(const char *at, const char *end, const char *what)
{
    size_t n = strlen(what);
    for (; (size_t)(end - at) >= n; at++)
        if (memcmp(at, what, n) == 0)
            return at;
    return NULL;
}

/* Copies up to the end of `key`, and puts the number behind it plus `more`. Returns what is left,
 * or NULL where there is no such key. */
static const char *merge_number(struct merge *m, const char *at, const char *end,
                                const char *key, uint64_t more, uint64_t *out)
{
    const char *found = merge_find(at, end, key);
    uint64_t number = 0;
    if (found == NULL)
        return NULL;
    found += strlen(key);
    kvs_text_append(m->out, at, (size_t)(found - at));
    for (at = found; at < end && *at >= '0' && *at <= '9' && number < UINT32_MAX; at++)
        number = number * 10 + (uint64_t)(*at - '0');
    if (at == found)
        return NULL;
    *out = number + more;
    kvs_text_printf(m->out, "%" PRIu64, *out);
    return at;
}

static void merge_later(uint64_t *end, uint64_t number)
{
    if (number >= *end)
        *end = number + 1;
}

/* An event from {"name" to its closing brace; false when it is not as kvsim writes it. The keys
 * stand in fixed order, and a text cannot hold them, since its quotes are escaped. */
static bool merge_event(struct merge *m, const char *at, const char *end)
{
    bool names_process = merge_find(at, end, "{\"name\":\"process_name\"") == at;
    bool sorts_process = merge_find(at, end, "{\"name\":\"process_sort_index\"") == at;
    bool is_arrow = merge_find(at, end, "\",\"ph\":\"s\"") != NULL ||
                    merge_find(at, end, "\",\"ph\":\"f\"") != NULL;
    uint64_t number;
    kvs_text_puts(m->out, m->needs_comma ? "\n," : "\n");
    m->needs_comma = true;
    at = merge_number(m, at, end, "\",\"pid\":", m->first_process, &number);
    if (at == NULL)
        return false;
    merge_later(&m->end_process, number);
    if (names_process) {
        const char *name = merge_find(at, end, "{\"name\":\"");
        if (name == NULL)
            return false;
        name += strlen("{\"name\":\"");
        kvs_text_append(m->out, at, (size_t)(name - at));
        kvs_text_puts(m->out, m->label);
        at = name;
    } else if (sorts_process) {
        at = merge_number(m, at, end, "{\"sort_index\":", m->first_process, &number);
    } else if (is_arrow) {
        at = merge_number(m, at, end, "\",\"id\":", m->first_id, &number);
        if (at != NULL)
            merge_later(&m->end_id, number);
    }
    if (at == NULL)
        return false;
    kvs_text_append(m->out, at, (size_t)(end - at));
    return true;
}

static kvs_status merge_file(struct merge *m, struct kvs_error *err)
{
    const char *at = m->file->bytes, *end = at + m->file->n;
    for (unsigned line = 1; at < end; line++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        const char *stop = next != NULL ? next : end;
        const char *from = at < stop && *at == ',' ? at + 1 : at;
        const char *to = stop > from && stop[-1] == ',' ? stop - 1 : stop;
        at = next != NULL ? next + 1 : end;
        bool is_frame = line == 1 ? to > from && to[-1] == '[' : from == to || *from == ']';
        if (!is_frame && (line == 1 || !merge_event(m, from, to)))
            return kvs_error_at(err, KVS_EINVAL, m->file->name, line, 0,
                                "expected an event as kvsim writes it, one a line");
    }
    return KVS_OK;
}

/* The label as it stands inside a JSON text, without the closing quote. */
static void merge_label(const char *label, struct kvs_text *out)
{
    struct kvs_text quoted = {0}, full = {0};
    struct kvs_json_writer w = {.text = &quoted};
    kvs_text_printf(&full, "%s: ", label);
    kvs_json_str(&w, NULL, full.data);
    if (quoted.n >= 2)
        kvs_text_append(out, quoted.data + 1, quoted.n - 2);
    if (quoted.status != KVS_OK || full.status != KVS_OK)
        out->status = KVS_ENOMEM;
    kvs_text_fini(&quoted);
    kvs_text_fini(&full);
}

kvs_status kvs_trace_merge(const struct kvs_trace_file files[2], struct kvs_text *out,
                           struct kvs_error *err)
{
    struct merge m = {.out = out};
    kvs_text_puts(out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    for (size_t i = 0; i < 2; i++) {
        struct kvs_text label = {0};
        m.file = &files[i];
        m.first_process = m.end_process;
        m.first_id = m.end_id;
        merge_label(files[i].label, &label);
        m.label = label.data != NULL ? label.data : "";
        kvs_status status = label.status != KVS_OK ? label.status : merge_file(&m, err);
        kvs_text_fini(&label);
        KVS_TRY(status);
    }
    kvs_text_puts(out, "\n]}\n");
    return out->status != KVS_OK ? kvs_error_set(err, out->status, "out of memory") : KVS_OK;
}
