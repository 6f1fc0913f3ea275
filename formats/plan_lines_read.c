/* Reading a plan from JSON Lines: lines, header, queues, buffers, rings, segments. */
#include "formats/plan_lines.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "formats/plan_lines_parts.h"
#include "formats/plan_lines_reader.h"

kvs_status kvs_plan_reader_fault(struct kvs_plan_reader *r, const char *path, const char *fmt,
                                 ...)
{
    char text[sizeof r->err->text];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    kvs_status status = kvs_error_at(r->err, KVS_EINVAL, r->name, r->line, 0, "%s", text);
    if (r->err && path)
        snprintf(r->err->path, sizeof r->err->path, "%s", path);
    return status;
}

kvs_status kvs_plan_reader_int(struct kvs_plan_reader *r, const struct kvs_json_value *obj,
                               const char *key, bool required, int64_t min, int64_t max,
                               int64_t *out)
{
    return kvs_json_get_i64(r->doc, obj, key, required, min, max, out, r->err);
}

kvs_status kvs_plan_reader_name(struct kvs_plan_reader *r, const struct kvs_plan_names *names,
                                const char *what, const char *path, const char *text,
                                uint32_t *out)
{
    if (kvs_plan_names_find(names, text, out))
        return KVS_OK;
    kvs_status status = kvs_plan_reader_fault(r, path, "unknown %s \"%.60s\"", what, text);
    const char *nearest = kvs_plan_names_nearest(names, text);
    if (nearest)
        kvs_error_hint(r->err, "did you mean \"%s\"?", nearest);
    else
        kvs_error_hint(r->err, "declare it with a %s line before the first segment", what);
    return status;
}

static kvs_status read_declared(struct kvs_plan_reader *r, const char *what,
                                struct kvs_plan_names *names, size_t id, const char **out)
{
    struct kvs_plan_name name = {.id = (uint32_t)id, .line = r->line};
    KVS_TRY(kvs_json_get_str(r->doc, r->root, what, true, out, r->err));
    size_t n = strlen(*out);
    if (n == 0 || n >= sizeof name.text)
        return kvs_plan_reader_fault(r, what, "a name has 1 to %zu bytes, got %zu",
                                     sizeof name.text - 1, n);
    if (r->is_sealed)
        return kvs_plan_reader_fault(r, what, "%ss come before setup and the first segment",
                                     what);
    memcpy(name.text, *out, n + 1);
    return KVS_ARRAY_PUSH(&names->items, name, r->err);
}

static kvs_status read_device(struct kvs_plan_reader *r, const char *key, uint16_t *out)
{
    int64_t device = 0;
    KVS_TRY(kvs_plan_reader_int(r, r->root, key, true, 0, (int64_t)r->plan->n_devices - 1,
                                &device));
    *out = (uint16_t)device;
    return KVS_OK;
}

static kvs_status read_origin_text(struct kvs_plan_reader *r, const char *key, char *to,
                                   size_t cap)
{
    const char *text = "";
    KVS_TRY(kvs_json_get_str(r->doc, r->root, key, false, &text, r->err));
    if (strlen(text) >= cap)
        return kvs_plan_reader_fault(r, key, "has at most %zu bytes", cap - 1);
    (void)snprintf(to, cap, "%s", text);
    return KVS_OK;
}

static kvs_status read_origin(struct kvs_plan_reader *r, struct kvs_plan_origin *origin)
{
    int64_t depth = -1, n_parallel = 0;
#define READ_ORIGIN(key) KVS_TRY(read_origin_text(r, #key, origin->key, sizeof origin->key));
    KVS_PLAN_ORIGIN_TEXT_MAP(READ_ORIGIN)
#undef READ_ORIGIN
    KVS_TRY(kvs_plan_reader_int(r, r->root, "n_parallel", false, 0, UINT32_MAX, &n_parallel));
    KVS_TRY(kvs_plan_reader_int(r, r->root, "depth", false, 0, INT64_MAX, &depth));
    origin->n_parallel = (uint32_t)n_parallel;
    origin->has_depth = depth >= 0;
    origin->depth = origin->has_depth ? (uint64_t)depth : 0;
    return KVS_OK;
}

static kvs_status read_header(struct kvs_plan_reader *r)
{
    static const char *const known[] = {
#define READ_ORIGIN(key) #key,
        KVS_PLAN_ORIGIN_TEXT_MAP(READ_ORIGIN)
#undef READ_ORIGIN
            "n_parallel",
        "depth", "kvsim_plan", "policy", "devices"};
    const struct kvs_json_value *version_value = NULL;
    int64_t version = 0, n_devices = 0;
    const char *policy = "";
    KVS_TRY(kvs_json_get(r->doc, r->root, "kvsim_plan", false, &version_value, r->err));
    if (!version_value)
        return kvs_plan_reader_fault(
            r, NULL, "not a plan: the first line must be {\"kvsim_plan\":%d, ...}",
            KVS_PLAN_VERSION);
    KVS_TRY(kvs_plan_reader_int(r, r->root, "kvsim_plan", true, 0, INT64_MAX, &version));
    if (version != KVS_PLAN_VERSION)
        return kvs_plan_reader_fault(r, "kvsim_plan",
                                     "version %" PRId64 " is not known, only %d", version,
                                     KVS_PLAN_VERSION);
    KVS_TRY(kvs_json_only_keys(r->doc, r->root, known, KVS_COUNT_OF(known), r->err));
    KVS_TRY(kvs_json_get_str(r->doc, r->root, "policy", true, &policy, r->err));
    KVS_TRY(
        kvs_plan_reader_int(r, r->root, "devices", true, 1, KVS_HOST_DEVICE - 1, &n_devices));
    if (strlen(policy) >= sizeof r->plan->policy)
        return kvs_plan_reader_fault(r, "policy", "a policy's name has at most %zu bytes",
                                     sizeof r->plan->policy - 1);
    KVS_TRY(kvs_plan_create(policy, (uint16_t)n_devices, &r->plan, r->err));
    KVS_TRY(read_origin(r, &r->plan->origin));
    struct kvs_plan_name host = {.text = "host"};
    return KVS_ARRAY_PUSH(&r->queues.items, host, r->err);
}

static kvs_status read_queue(struct kvs_plan_reader *r)
{
    static const char *const known[] = {"queue", "device"};
    const char *name = NULL;
    uint16_t device = 0, id = 0;
    KVS_TRY(kvs_json_only_keys(r->doc, r->root, known, KVS_COUNT_OF(known), r->err));
    KVS_TRY(read_declared(r, "queue", &r->queues, r->plan->queues.n, &name));
    KVS_TRY(read_device(r, "device", &device));
    return kvs_plan_add_queue(r->plan, device, name, &id, r->err);
}

static kvs_status read_place(struct kvs_plan_reader *r, uint16_t *out)
{
    static const char *const names[] = {
#define READ_PLACE(place, name) name,
        KVS_PLAN_PLACE_MAP(READ_PLACE)
#undef READ_PLACE
    };
    const char *text = NULL;
    KVS_TRY(kvs_json_get_str(r->doc, r->root, "place", true, &text, r->err));
    for (uint16_t i = 0; i < KVS_COUNT_OF(names); i++) {
        if (strcmp(names[i], text) != 0)
            continue;
        *out = i;
        return KVS_OK;
    }
    return kvs_plan_reader_fault(r, "place",
                                 "expected pinned, pageable or device, got \"%.40s\"", text);
}

static kvs_status read_buffer(struct kvs_plan_reader *r)
{
    static const char *const keys[] = {"buffer", "place",  "size",  "valid",
                                       "run",    "filled", "layer", "device"};
    struct kvs_buffer buffer = {.device = KVS_HOST_DEVICE};
    const char *name = NULL;
    int64_t size = 0, valid = 0, run = 0, filled = 0, layer = KVS_NO_LAYER;
    uint32_t id = 0;
    KVS_TRY(read_declared(r, "buffer", &r->buffers, r->plan->buffers.n, &name));
    KVS_TRY(read_place(r, &buffer.place));
    bool is_device = buffer.place == KVS_PLACE_DEVICE;
    KVS_TRY(kvs_json_only_keys(r->doc, r->root, keys, KVS_COUNT_OF(keys) - !is_device, r->err));
    if (is_device)
        KVS_TRY(read_device(r, "device", &buffer.device));
    KVS_TRY(kvs_plan_reader_int(r, r->root, "size", true, 0, INT64_MAX, &size));
    KVS_TRY(kvs_plan_reader_int(r, r->root, "valid", false, 0, size, &valid));
    KVS_TRY(kvs_plan_reader_int(r, r->root, "run", false, 0, valid, &run));
    KVS_TRY(kvs_plan_reader_int(r, r->root, "filled", false, 0, run, &filled));
    KVS_TRY(kvs_plan_reader_int(r, r->root, "layer", false, 0, KVS_NO_LAYER - 1, &layer));
    snprintf(buffer.name, sizeof buffer.name, "%s", name);
    buffer.size_bytes = (uint64_t)size;
    buffer.valid_bytes = (uint64_t)valid;
    buffer.run_bytes = (uint64_t)run;
    buffer.filled_bytes = (uint64_t)filled;
    buffer.layer = (uint16_t)layer;
    return kvs_plan_add_buffer(r->plan, &buffer, &id, r->err);
}

static kvs_status read_ring(struct kvs_plan_reader *r)
{
    static const char *const known[] = {"ring", "slots", "slot_bytes"};
    struct kvs_ring ring = {0};
    int64_t n_slots = 0, slot_bytes = 0;
    KVS_TRY(kvs_json_only_keys(r->doc, r->root, known, KVS_COUNT_OF(known), r->err));
    KVS_TRY(read_device(r, "ring", &ring.device));
    KVS_TRY(kvs_plan_reader_int(r, r->root, "slots", true, 0, UINT16_MAX, &n_slots));
    KVS_TRY(kvs_plan_reader_int(r, r->root, "slot_bytes", true, 0, INT64_MAX, &slot_bytes));
    ring.n_slots = (uint16_t)n_slots;
    ring.slot_bytes = (uint64_t)slot_bytes;
    return KVS_ARRAY_PUSH(&r->plan->rings, ring, r->err);
}

/* Dependencies may name later operations, so they are looked at when the segment is complete.
 */
static kvs_status read_end_segment(struct kvs_plan_reader *r)
{
    if (r->plan->segments.n == 0)
        return KVS_OK;
    const struct kvs_segment *segment = &r->plan->segments.items[r->plan->segments.n - 1];
    for (size_t i = 0; i < segment->ops.n; i++) {
        const struct kvs_op *op = &segment->ops.items[i];
        for (uint32_t d = 0; d < op->n_dep; d++) {
            kvs_op_id on = segment->deps.items[op->first_dep + d].op;
            if (on < segment->ops.n)
                continue;
            char path[40];
            snprintf(path, sizeof path, "deps[%" PRIu32 "].op", d);
            r->line = r->op_lines.items[i];
            return kvs_plan_reader_fault(
                r, path, "no operation %" PRIu32 ", the segment has %zu", on, segment->ops.n);
        }
    }
    r->op_lines.n = 0;
    return KVS_OK;
}

static kvs_status read_seal(struct kvs_plan_reader *r)
{
    const struct kvs_plan_name *first, *second;
    const char *what = "queue";
    bool is_unique = kvs_plan_names_seal(&r->queues, &first, &second);
    if (is_unique) {
        what = "buffer";
        is_unique = kvs_plan_names_seal(&r->buffers, &first, &second);
    }
    r->is_sealed = true;
    if (is_unique)
        return KVS_OK;
    r->line = second->line;
    if (first->line == 0)
        return kvs_plan_reader_fault(r, what, "\"%s\" is the host's own, which needs no line",
                                     first->text);
    return kvs_plan_reader_fault(r, what, "\"%s\" is taken by line %u", first->text,
                                 first->line);
}

static kvs_status read_setup(struct kvs_plan_reader *r)
{
    if (r->plan->segments.n > 0)
        return kvs_plan_reader_fault(r, "setup", "setup comes before the first segment");
    if (!r->is_sealed)
        KVS_TRY(read_seal(r));
    return kvs_plan_reader_setup(r);
}

static kvs_status read_segment(struct kvs_plan_reader *r)
{
    static const char *const known[] = {"segment", "tokens", "period", "barrier"};
    int64_t n_tokens = 0, period = 1, number = 0, next = (int64_t)r->plan->segments.n;
    bool has_barrier = false;
    KVS_TRY(read_end_segment(r));
    if (!r->is_sealed)
        KVS_TRY(read_seal(r));
    KVS_TRY(kvs_json_only_keys(r->doc, r->root, known, KVS_COUNT_OF(known), r->err));
    KVS_TRY(kvs_plan_reader_int(r, r->root, "segment", true, 0, INT64_MAX, &number));
    if (number != next)
        return kvs_plan_reader_fault(r, "segment", "expected %" PRId64 ", got %" PRId64, next,
                                     number);
    KVS_TRY(kvs_plan_reader_int(r, r->root, "tokens", true, 1, UINT32_MAX, &n_tokens));
    if (n_tokens > (int64_t)UINT32_MAX - kvs_plan_n_tokens(r->plan))
        return kvs_plan_reader_fault(r, "tokens",
                                     "with the segments before, %" PRId64
                                     " tokens are more than the %" PRIu32
                                     " that a plan may have",
                                     kvs_plan_n_tokens(r->plan) + n_tokens, UINT32_MAX);
    KVS_TRY(kvs_plan_reader_int(r, r->root, "period", false, 1, UINT16_MAX, &period));
    KVS_TRY(kvs_json_get_bool(r->doc, r->root, "barrier", false, &has_barrier, r->err));
    KVS_TRY(kvs_plan_add_segment(r->plan, (uint32_t)n_tokens, has_barrier, r->err));
    r->plan->segments.items[r->plan->segments.n - 1].period = (uint16_t)period;
    return KVS_OK;
}

/* What a line is, is said by the first of these keys that it has. */
static kvs_status read_line(struct kvs_plan_reader *r)
{
    static const struct {
        const char *key;
        kvs_status (*read)(struct kvs_plan_reader *r);
    } kinds[] = {{"op", kvs_plan_reader_op}, {"segment", read_segment}, {"setup", read_setup},
                 {"ring", read_ring},        {"buffer", read_buffer},   {"queue", read_queue}};
    const char *keys[KVS_COUNT_OF(kinds)];
    if (!r->plan)
        return read_header(r);
    for (size_t i = 0; i < KVS_COUNT_OF(kinds); i++) {
        const struct kvs_json_value *value = NULL;
        KVS_TRY(kvs_json_get(r->doc, r->root, kinds[i].key, false, &value, r->err));
        if (value)
            return kinds[i].read(r);
        keys[i] = kinds[i].key;
    }
    KVS_TRY(kvs_json_only_keys(r->doc, r->root, keys, KVS_COUNT_OF(keys), r->err));
    return kvs_plan_reader_fault(
        r, NULL, "expected a line with one of op, segment, setup, ring, buffer, queue");
}

static bool read_is_blank(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] == '\0' || !strchr(" \t\r", bytes[i]))
            return false;
    return true;
}

static kvs_status read_lines(struct kvs_plan_reader *r, const char *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        const char *end = memchr(bytes + at, '\n', n - at);
        size_t length = end ? (size_t)(end - bytes) - at : n - at;
        r->line++;
        if (!read_is_blank(bytes + at, length)) {
            struct kvs_json_doc *doc = NULL;
            KVS_TRY(kvs_json_parse(r->name, bytes + at, length, r->line - 1, &doc, r->err));
            r->doc = doc;
            r->root = kvs_json_root(doc);
            kvs_status status = read_line(r);
            kvs_json_destroy(doc);
            KVS_TRY(status);
        }
        at += length + 1;
    }
    if (!r->plan)
        return kvs_plan_reader_fault(r, NULL, "no plan in this file: it has no header line");
    if (r->plan->segments.n == 0)
        return kvs_plan_reader_fault(r, NULL, "the plan ends without a segment line");
    return read_end_segment(r);
}

kvs_status kvs_plan_lines_read(const char *name, const char *bytes, size_t n,
                               struct kvs_plan **out, struct kvs_error *err)
{
    struct kvs_plan_reader r = {.name = name, .err = err};
    kvs_status status = read_lines(&r, bytes, n);
    KVS_ARRAY_FREE(&r.queues.items);
    KVS_ARRAY_FREE(&r.buffers.items);
    KVS_ARRAY_FREE(&r.op_lines);
    if (status == KVS_OK)
        *out = r.plan;
    else
        kvs_plan_destroy(r.plan);
    return status;
}
