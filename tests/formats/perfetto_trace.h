/* Reads a written trace back and looks things up in it. */
#ifndef KVS_TESTS_FORMATS_PERFETTO_TRACE_H
#define KVS_TESTS_FORMATS_PERFETTO_TRACE_H

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "formats/perfetto.h"
#include "tests/formats/perfetto_fixture.h"

/* An event of the parsed trace; names are borrowed from the document. */
struct event {
    const char *name;
    char ph;
    int64_t pid;
    int64_t tid;
    int64_t id;
    const char *cat;
    kvs_time ts_ps;
    kvs_time dur_ps;
    const char *label; /* args.name */
    double value;      /* args' counter value */
    const struct kvs_json_value *args;
};

struct trace {
    struct kvs_text text;
    struct kvs_json_doc *doc;
    struct event events[160];
    size_t n;
};

static inline kvs_time get_ps(const struct trace *t, const struct kvs_json_value *event,
                              const char *key)
{
    double us = -1.0;
    assert_int_equal(kvs_json_get_f64(t->doc, event, key, true, 0.0, 1e9, &us, NULL), KVS_OK);
    return (kvs_time)llround(us * 1e6);
}

static inline void read_event(const struct trace *t, const struct kvs_json_value *value,
                              struct event *e)
{
    const struct kvs_json_doc *doc = t->doc;
    const char *ph = NULL;
    *e = (struct event){.tid = -1, .id = -1};
    assert_int_equal(kvs_json_get_str(doc, value, "name", true, &e->name, NULL), KVS_OK);
    assert_int_equal(kvs_json_get_str(doc, value, "ph", true, &ph, NULL), KVS_OK);
    assert_int_equal(strlen(ph), 1);
    e->ph = ph[0];
    assert_int_equal(kvs_json_get_i64(doc, value, "pid", true, 0, 1, &e->pid, NULL), KVS_OK);
    assert_int_equal(kvs_json_get_i64(doc, value, "tid", false, 0, 1 << 30, &e->tid, NULL),
                     KVS_OK);
    assert_int_equal(kvs_json_get_i64(doc, value, "id", false, 0, 1 << 30, &e->id, NULL),
                     KVS_OK);
    assert_int_equal(kvs_json_get_str(doc, value, "cat", false, &e->cat, NULL), KVS_OK);
    assert_int_equal(kvs_json_get(doc, value, "args", false, &e->args, NULL), KVS_OK);
    if (e->ph == 'M')
        assert_int_equal(kvs_json_get_str(doc, e->args, "name", false, &e->label, NULL),
                         KVS_OK);
    else
        e->ts_ps = get_ps(t, value, "ts");
    if (e->ph == 'X')
        e->dur_ps = get_ps(t, value, "dur");
    if (e->ph == 'C')
        assert_int_equal(kvs_json_get_f64(doc, e->args,
                                          strcmp(e->name, "ring") == 0 ? "bytes" : "GB/s", true,
                                          0.0, 1e12, &e->value, NULL),
                         KVS_OK);
}

static inline void write_trace(struct fixture *f, struct trace *t)
{
    struct kvs_error err = {0};
    const struct kvs_json_value *events = NULL;
    const char *unit = NULL;
    *t = (struct trace){0};
    if (kvs_perfetto_write(f->plan, &f->timeline, &f->machine, &t->text, &err) != KVS_OK)
        fail_msg("%s", err.text);
    if (kvs_json_parse("trace", t->text.data, t->text.n, 0, &t->doc, &err) != KVS_OK)
        fail_msg("%u:%u: %s", err.line, err.column, err.text);
    const struct kvs_json_value *root = kvs_json_root(t->doc);
    assert_int_equal(kvs_json_get_str(t->doc, root, "displayTimeUnit", true, &unit, NULL),
                     KVS_OK);
    assert_string_equal(unit, "ms");
    assert_int_equal(kvs_json_get(t->doc, root, "traceEvents", true, &events, NULL), KVS_OK);
    t->n = kvs_json_array_len(events);
    assert_true(t->n > 0 && t->n <= KVS_COUNT_OF(t->events));
    for (size_t i = 0; i < t->n; i++)
        read_event(t, kvs_json_array_item(events, i), &t->events[i]);
}

static inline void destroy_trace(struct trace *t)
{
    kvs_json_destroy(t->doc);
    kvs_text_fini(&t->text);
}

/* Track number of a name in process pid; -1 when there is none. */
static inline int64_t track_of(const struct trace *t, int64_t pid, const char *label)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct event *e = &t->events[i];
        if (strcmp(e->name, "thread_name") == 0 && e->pid == pid && e->label &&
            strcmp(e->label, label) == 0)
            return e->tid;
    }
    return -1;
}

static inline const struct event *find_slice(const struct trace *t, int64_t tid,
                                             const char *name, kvs_time from_ps)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct event *e = &t->events[i];
        if (e->ph == 'X' && e->tid == tid && strcmp(e->name, name) == 0 && e->ts_ps == from_ps)
            return e;
    }
    return NULL;
}

static inline void assert_slice(const struct trace *t, int64_t tid, const char *name,
                                kvs_time from_ps, kvs_time to_ps)
{
    const struct event *e = find_slice(t, tid, name, from_ps);
    if (!e)
        fail_msg("no slice \"%s\" on track %lld", name, (long long)tid);
    assert_int_equal(e->dur_ps, to_ps - from_ps);
}

#endif
