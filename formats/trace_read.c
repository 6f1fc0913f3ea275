/* Slices of a parsed trace, added up by device, kind and tag. */
#include "formats/trace_read.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

#define TRACE_MAX_PROCESS 100000

struct tracer {
    struct kvs_trace_totals *out;
    const struct kvs_json_doc *doc;
    KVS_ARRAY(const char *) processes; /* by number; NULL: not named */
    struct kvs_error *err;
};

/* The first line of a trace names its time unit or its events. */
bool kvs_is_trace(const char *bytes, size_t n)
{
    static const char *const starts[] = {"{\"displayTimeUnit\"", "{\"traceEvents\""};
    for (size_t i = 0; i < KVS_COUNT_OF(starts); i++)
        if (n >= strlen(starts[i]) && memcmp(bytes, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

static kvs_status tracer_keep(struct tracer *t, const char *text, size_t n, const char **out)
{
    return kvs_arena_copy(&t->out->arena, text, n, out, t->err);
}

static kvs_status tracer_name_process(struct tracer *t, const struct kvs_json_value *event,
                                      int64_t pid)
{
    const struct kvs_json_value *args = NULL;
    const char *name = NULL, *kept;
    KVS_TRY(kvs_json_get(t->doc, event, "args", true, &args, t->err));
    KVS_TRY(kvs_json_get_str(t->doc, args, "name", true, &name, t->err));
    KVS_TRY(tracer_keep(t, name, strlen(name), &kept));
    while ((int64_t)t->processes.n <= pid)
        KVS_TRY(KVS_ARRAY_PUSH(&t->processes, NULL, t->err));
    t->processes.items[pid] = kept;
    return KVS_OK;
}

/* "deliver L7" is of the tag "deliver". */
static size_t tracer_tag_length(const char *name)
{
    size_t n = strlen(name), end = n;
    while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9')
        end--;
    return end < n && end >= 2 && name[end - 1] == 'L' && name[end - 2] == ' ' ? end - 2 : n;
}

static kvs_status tracer_total(struct tracer *t, const char *process, const char *kind,
                               const char *name, struct kvs_trace_total **out)
{
    size_t n_tag = tracer_tag_length(name);
    struct kvs_trace_total fresh = {0};
    for (size_t i = 0; i < t->out->items.n; i++) {
        struct kvs_trace_total *total = &t->out->items.items[i];
        if (strcmp(total->process, process) == 0 && strcmp(total->kind, kind) == 0 &&
            strlen(total->tag) == n_tag && memcmp(total->tag, name, n_tag) == 0) {
            *out = total;
            return KVS_OK;
        }
    }
    KVS_TRY(tracer_keep(t, process, strlen(process), &fresh.process));
    KVS_TRY(tracer_keep(t, kind, strlen(kind), &fresh.kind));
    KVS_TRY(tracer_keep(t, name, n_tag, &fresh.tag));
    KVS_TRY(KVS_ARRAY_PUSH(&t->out->items, fresh, t->err));
    *out = &t->out->items.items[t->out->items.n - 1];
    return KVS_OK;
}

static kvs_status tracer_slice(struct tracer *t, const struct kvs_json_value *event,
                               const char *name, int64_t pid)
{
    const struct kvs_json_value *args = NULL;
    struct kvs_trace_total *total;
    const char *kind = NULL, *process = NULL;
    int64_t token = 0, bytes = 0;
    double ts = 0.0, dur = 0.0;
    char number[32];
    KVS_TRY(kvs_json_get(t->doc, event, "args", true, &args, t->err));
    KVS_TRY(kvs_json_get_str(t->doc, args, "kind", true, &kind, t->err));
    KVS_TRY(kvs_json_get_i64(t->doc, args, "token", true, 0, INT64_MAX, &token, t->err));
    KVS_TRY(kvs_json_get_i64(t->doc, args, "bytes", false, 0, INT64_MAX, &bytes, t->err));
    KVS_TRY(kvs_json_get_f64(t->doc, event, "ts", true, 0.0, DBL_MAX, &ts, t->err));
    KVS_TRY(kvs_json_get_f64(t->doc, event, "dur", true, 0.0, DBL_MAX, &dur, t->err));
    if (pid < (int64_t)t->processes.n)
        process = t->processes.items[pid];
    (void)snprintf(number, sizeof number, "process %lld", (long long)pid);
    KVS_TRY(tracer_total(t, process != NULL ? process : number, kind, name, &total));
    total->n++;
    total->bytes += (uint64_t)bytes;
    total->us += dur;
    t->out->end_us = fmax(t->out->end_us, ts + dur);
    if ((uint64_t)token >= t->out->n_tokens)
        t->out->n_tokens = (uint64_t)token + 1;
    return KVS_OK;
}

/* What an engine did; waits and queues are the same operations once more. */
static kvs_status tracer_event(struct tracer *t, const struct kvs_json_value *event)
{
    const char *name = "", *phase = "", *category = "";
    int64_t pid = 0;
    KVS_TRY(kvs_json_get_str(t->doc, event, "name", true, &name, t->err));
    KVS_TRY(kvs_json_get_str(t->doc, event, "ph", true, &phase, t->err));
    KVS_TRY(kvs_json_get_i64(t->doc, event, "pid", true, 0, TRACE_MAX_PROCESS, &pid, t->err));
    KVS_TRY(kvs_json_get_str(t->doc, event, "cat", false, &category, t->err));
    if (strcmp(phase, "M") == 0 && strcmp(name, "process_name") == 0)
        return tracer_name_process(t, event, pid);
    if (strcmp(phase, "X") == 0 && strcmp(category, "engine") == 0)
        return tracer_slice(t, event, name, pid);
    return KVS_OK;
}

kvs_status kvs_trace_read(const char *name, const char *bytes, size_t n,
                          struct kvs_trace_totals *out, struct kvs_error *err)
{
    struct kvs_json_doc *doc;
    const struct kvs_json_value *events = NULL;
    KVS_TRY(kvs_json_parse(name, bytes, n, 0, &doc, err));
    struct tracer t = {.out = out, .doc = doc, .err = err};
    kvs_status status =
        kvs_json_get(doc, kvs_json_root(doc), "traceEvents", true, &events, err);
    size_t n_events = status == KVS_OK ? kvs_json_array_len(events) : 0;
    for (size_t i = 0; i < n_events && status == KVS_OK; i++)
        status = tracer_event(&t, kvs_json_array_item(events, i));
    KVS_ARRAY_FREE(&t.processes);
    kvs_json_destroy(doc);
    return status;
}

void kvs_trace_totals_fini(struct kvs_trace_totals *totals)
{
    KVS_ARRAY_FREE(&totals->items);
    kvs_arena_fini(&totals->arena);
}

const struct kvs_trace_total *kvs_trace_find(const struct kvs_trace_totals *totals,
                                             const char *process, const char *kind,
                                             const char *tag)
{
    for (size_t i = 0; i < totals->items.n; i++) {
        const struct kvs_trace_total *total = &totals->items.items[i];
        if (strcmp(total->process, process) == 0 && strcmp(total->kind, kind) == 0 &&
            strcmp(total->tag, tag) == 0)
            return total;
    }
    return NULL;
}
