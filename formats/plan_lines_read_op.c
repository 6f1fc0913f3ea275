/* Reading one operation of a plan: its figures, dependencies and accesses. */
#include "formats/plan_lines_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "formats/plan_lines_parts.h"

#define READ_COMMON                                                                            \
    "op", "id", "queue", "tag", "layer", "phase", "blocks", "kernel", "d2h", "2d", "pageable", \
        "light", "subgraph", "deps", "access"

/* Executors keep a table by group. */
#define READ_MAX_GROUP 1048575

static kvs_status read_enum(struct kvs_plan_reader *r, const char *key,
                            const char *const *names, size_t n, uint8_t *out)
{
    const char *text = NULL;
    KVS_TRY(kvs_json_get_str(r->doc, r->root, key, true, &text, r->err));
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], text) != 0)
            continue;
        *out = (uint8_t)i;
        return KVS_OK;
    }
    kvs_status status = kvs_plan_reader_fault(r, key, "unknown %s \"%.40s\"",
                                              strcmp(key, "op") == 0 ? "kind" : key, text);
    const char *nearest = kvs_nearest(text, names, n);
    if (nearest)
        kvs_error_hint(r->err, "did you mean \"%s\"?", nearest);
    return status;
}

static kvs_status read_keys(struct kvs_plan_reader *r, kvs_op_kind kind)
{
    static const char *const compute[] = {READ_COMMON, "params", "kv_bytes", "kernels",
                                          "queries"};
    static const char *const collective[] = {READ_COMMON, "bytes", "group", "members"};
    static const char *const host[] = {READ_COMMON, "calls"};
    static const char *const other[] = {READ_COMMON};
    const char *const *known = other;
    size_t n = KVS_COUNT_OF(other);
    if (kind == KVS_OP_COMPUTE) {
        known = compute;
        n = KVS_COUNT_OF(compute);
    } else if (kind == KVS_OP_COLLECTIVE) {
        known = collective;
        n = KVS_COUNT_OF(collective);
    } else if (kind == KVS_OP_HOST) {
        known = host;
        n = KVS_COUNT_OF(host);
    }
    return kvs_json_only_keys(r->doc, r->root, known, n, r->err);
}

static kvs_status read_figures(struct kvs_plan_reader *r, struct kvs_op *op)
{
    int64_t a = 0, b = 0, c = 0, d = 0;
    if (op->kind == KVS_OP_COMPUTE) {
        KVS_TRY(kvs_plan_reader_int(r, r->root, "params", false, 0, INT64_MAX, &a));
        KVS_TRY(kvs_plan_reader_int(r, r->root, "kv_bytes", false, 0, INT64_MAX, &b));
        KVS_TRY(kvs_plan_reader_int(r, r->root, "kernels", false, 0, UINT32_MAX, &c));
        KVS_TRY(kvs_plan_reader_int(r, r->root, "queries", false, 0, UINT32_MAX, &d));
        op->compute.params = (uint64_t)a;
        op->compute.kv_bytes = (uint64_t)b;
        op->compute.n_kernels = (uint32_t)c;
        op->compute.n_queries = (uint32_t)d;
    } else if (op->kind == KVS_OP_COLLECTIVE) {
        KVS_TRY(kvs_plan_reader_int(r, r->root, "bytes", false, 0, INT64_MAX, &a));
        KVS_TRY(kvs_plan_reader_int(r, r->root, "group", true, 0, READ_MAX_GROUP, &b));
        KVS_TRY(kvs_plan_reader_int(r, r->root, "members", true, 1, UINT32_MAX, &c));
        op->collective.size_bytes = (uint64_t)a;
        op->collective.group = (uint32_t)b;
        op->collective.n_members = (uint32_t)c;
    } else if (op->kind == KVS_OP_HOST) {
        KVS_TRY(kvs_plan_reader_int(r, r->root, "calls", false, 0, UINT32_MAX, &a));
        op->host.n_calls = (uint32_t)a;
    }
    return KVS_OK;
}

static kvs_status read_head(struct kvs_plan_reader *r, struct kvs_op *op)
{
    static const struct {
        const char *key;
        uint8_t flag;
    } flags[] = {
#define READ_FLAG(bits, name) {.key = name, .flag = bits},
        KVS_PLAN_FLAG_MAP(READ_FLAG)
#undef READ_FLAG
    };
    bool is_host = op->kind == KVS_OP_HOST || op->kind == KVS_OP_WAIT;
    const char *queue = is_host ? "host" : NULL;
    int64_t layer = KVS_NO_LAYER, phase = 0;
    uint32_t id = 0;
    KVS_TRY(kvs_json_get_str(r->doc, r->root, "queue", !is_host, &queue, r->err));
    KVS_TRY(kvs_plan_reader_name(r, &r->queues, "queue", "queue", queue, &id));
    op->queue = (uint16_t)id;
    KVS_TRY(kvs_plan_reader_int(r, r->root, "layer", false, 0, KVS_NO_LAYER - 1, &layer));
    KVS_TRY(kvs_plan_reader_int(r, r->root, "phase", false, 0, UINT16_MAX, &phase));
    op->layer = (uint16_t)layer;
    op->phase = (uint16_t)phase;
    for (size_t i = 0; i < KVS_COUNT_OF(flags); i++) {
        bool is_set = false;
        KVS_TRY(kvs_json_get_bool(r->doc, r->root, flags[i].key, false, &is_set, r->err));
        op->flags |= is_set ? flags[i].flag : 0;
    }
    return read_figures(r, op);
}

/* A list is left out rather than empty, so an empty one is as wrong as no list at all. */
static kvs_status read_list(struct kvs_plan_reader *r, const char *key,
                            const struct kvs_json_value **out, size_t *out_n)
{
    *out = NULL;
    *out_n = 0;
    KVS_TRY(kvs_json_get(r->doc, r->root, key, false, out, r->err));
    if (!*out)
        return KVS_OK;
    *out_n = kvs_json_array_len(*out);
    if (*out_n == 0 || *out_n > UINT16_MAX)
        return kvs_plan_reader_fault(r, key, "expected a list of 1 to %u objects",
                                     (unsigned)UINT16_MAX);
    return KVS_OK;
}

static kvs_status read_item(struct kvs_plan_reader *r, const char *key,
                            const struct kvs_json_value *list, size_t index,
                            const struct kvs_json_value **out)
{
    const struct kvs_json_value *none = NULL;
    *out = kvs_json_array_item(list, index);
    kvs_status status = kvs_json_get(r->doc, *out, "", false, &none, r->err);
    if (status != KVS_OK && r->err)
        snprintf(r->err->path, sizeof r->err->path, "%s[%zu]", key, index);
    return status;
}

static kvs_status read_deps(struct kvs_plan_reader *r)
{
    static const char *const known[] = {"op", "back", "pacing"};
    const struct kvs_json_value *list;
    size_t n;
    KVS_TRY(read_list(r, "deps", &list, &n));
    for (size_t i = 0; i < n; i++) {
        const struct kvs_json_value *item;
        int64_t op = 0, back = 0;
        bool is_pacing = false;
        KVS_TRY(read_item(r, "deps", list, i, &item));
        KVS_TRY(kvs_plan_reader_int(r, item, "op", true, 0, UINT32_MAX - 1, &op));
        KVS_TRY(kvs_plan_reader_int(r, item, "back", false, 0, UINT16_MAX, &back));
        KVS_TRY(kvs_json_get_bool(r->doc, item, "pacing", false, &is_pacing, r->err));
        KVS_TRY(kvs_json_only_keys(r->doc, item, known, KVS_COUNT_OF(known), r->err));
        KVS_TRY(kvs_plan_add_dep(r->plan, (kvs_op_id)op, (uint16_t)back,
                                 is_pacing ? KVS_DEP_PACING : KVS_DEP_HAZARD, r->err));
    }
    return KVS_OK;
}

/* rows x width, and the last byte, must fit what sizes are counted in. */
static bool read_range_fits(const struct kvs_range *range)
{
    uint64_t left = INT64_MAX - range->offset;
    if (range->rows == 0 || range->width == 0)
        return true;
    if (range->width > left || range->width > INT64_MAX / range->rows)
        return false;
    left -= range->width;
    return range->pitch == 0 || range->rows - 1 <= left / range->pitch;
}

static kvs_status read_range(struct kvs_plan_reader *r, const struct kvs_json_value *item,
                             const char *key, size_t index, struct kvs_range *out)
{
    int64_t at = 0, rows = 1, width = 0, pitch, at_step = 0, rows_step = 0, width_step = 0;
    KVS_TRY(kvs_plan_reader_int(r, item, "at", false, 0, INT64_MAX, &at));
    KVS_TRY(kvs_plan_reader_int(r, item, "rows", false, 0, UINT32_MAX, &rows));
    KVS_TRY(kvs_plan_reader_int(r, item, "width", true, 0, UINT32_MAX, &width));
    pitch = width;
    KVS_TRY(kvs_plan_reader_int(r, item, "pitch", false, 0, UINT32_MAX, &pitch));
    KVS_TRY(kvs_plan_reader_int(r, item, "at_step", false, INT32_MIN, INT32_MAX, &at_step));
    KVS_TRY(kvs_plan_reader_int(r, item, "rows_step", false, INT16_MIN, INT16_MAX, &rows_step));
    KVS_TRY(kvs_plan_reader_int(r, item, "width_step", false, -KVS_RANGE_MAX_WIDTH_STEP,
                                KVS_RANGE_MAX_WIDTH_STEP, &width_step));
    out->offset = (uint64_t)at;
    out->rows = (uint32_t)rows;
    out->width = (uint32_t)width;
    out->pitch = (uint32_t)pitch;
    out->offset_step = (int32_t)at_step;
    out->rows_step = (int16_t)rows_step;
    kvs_range_set_width_step(out, width_step);
    if (read_range_fits(out))
        return KVS_OK;
    char path[40];
    snprintf(path, sizeof path, "%s[%zu]", key, index);
    return kvs_plan_reader_fault(r, path,
                                 "%" PRIu32 " rows of %" PRIu32 " bytes, pitch %" PRIu32
                                 ", from %" PRIu64 " are more than can be counted",
                                 out->rows, out->width, out->pitch, out->offset);
}

/* An item of the list `key`: a range and its mode. */
static kvs_status read_access(struct kvs_plan_reader *r, const char *key,
                              const struct kvs_json_value *list, size_t index,
                              struct kvs_range *out)
{
    static const char *const modes[] = {
#define READ_MODE(mode, key) key,
        KVS_PLAN_ACCESS_MAP(READ_MODE)
#undef READ_MODE
    };
    static const char *const known[] = {"read",  "write",   "expect",    "fresh",
                                        "cells", "at",      "rows",      "width",
                                        "pitch", "at_step", "rows_step", "width_step"};
    struct kvs_range range = {0};
    const char *buffer = NULL;
    unsigned n_modes = 0, mode = 0;
    uint32_t id = 0;
    char path[48];
    const struct kvs_json_value *item;
    KVS_TRY(read_item(r, key, list, index, &item));
    KVS_TRY(kvs_json_only_keys(r->doc, item, known, KVS_COUNT_OF(known), r->err));
    for (unsigned i = 0; i < KVS_COUNT_OF(modes); i++) {
        const char *text = NULL;
        KVS_TRY(kvs_json_get_str(r->doc, item, modes[i], false, &text, r->err));
        if (!text)
            continue;
        n_modes++;
        mode = i;
        buffer = text;
    }
    snprintf(path, sizeof path, "%s[%zu]", key, index);
    if (n_modes != 1)
        return kvs_plan_reader_fault(
            r, path,
            "needs one of read, write, expect, fresh, cells with the name of a buffer, has %u",
            n_modes);
    snprintf(path, sizeof path, "%s[%zu].%s", key, index, modes[mode]);
    KVS_TRY(kvs_plan_reader_name(r, &r->buffers, "buffer", path, buffer, &id));
    range.buffer = (uint16_t)id;
    KVS_TRY(read_range(r, item, key, index, &range));
    range.mode = mode & 7u;
    *out = range;
    return KVS_OK;
}

static kvs_status read_accesses(struct kvs_plan_reader *r)
{
    const struct kvs_json_value *list;
    size_t n;
    KVS_TRY(read_list(r, "access", &list, &n));
    for (size_t i = 0; i < n; i++) {
        struct kvs_range range;
        KVS_TRY(read_access(r, "access", list, i, &range));
        KVS_TRY(kvs_plan_add_access(r->plan, &range, (kvs_access_mode)range.mode, r->err));
    }
    return KVS_OK;
}

kvs_status kvs_plan_reader_setup(struct kvs_plan_reader *r)
{
    static const char *const known[] = {"setup"};
    const struct kvs_json_value *list;
    size_t n;
    KVS_TRY(kvs_json_only_keys(r->doc, r->root, known, KVS_COUNT_OF(known), r->err));
    KVS_TRY(read_list(r, "setup", &list, &n));
    for (size_t i = 0; i + 1 < n; i += 2) {
        struct kvs_range pair[2];
        for (unsigned k = 0; k < 2; k++)
            KVS_TRY(read_access(r, "setup", list, i + k, &pair[k]));
        if (pair[0].mode != KVS_ACCESS_READ || pair[1].mode != KVS_ACCESS_WRITE)
            return kvs_plan_reader_fault(r, "setup", "items %zu and %zu are no read and write",
                                         i, i + 1);
        KVS_TRY(kvs_plan_add_setup(r->plan, &pair[0], &pair[1], r->err));
    }
    return n % 2 == 0 ? KVS_OK
                      : kvs_plan_reader_fault(
                            r, "setup", "needs pairs of a read and a write, has %zu items", n);
}

kvs_status kvs_plan_reader_op(struct kvs_plan_reader *r)
{
    static const char *const kinds[] = {
#define READ_KIND(id, name) name,
        KVS_OP_KIND_MAP(READ_KIND)
#undef READ_KIND
    };
    static const char *const tags[] = {
#define READ_TAG(id, name) name,
        KVS_TAG_MAP(READ_TAG)
#undef READ_TAG
    };
    struct kvs_op op = {0};
    if (r->plan->segments.n == 0)
        return kvs_plan_reader_fault(r, NULL, "an operation before the first segment line");
    int64_t next = (int64_t)r->op_lines.n, id = next;
    KVS_TRY(read_enum(r, "op", kinds, KVS_COUNT_OF(kinds), &op.kind));
    KVS_TRY(read_keys(r, (kvs_op_kind)op.kind));
    KVS_TRY(kvs_plan_reader_int(r, r->root, "id", false, 0, UINT32_MAX, &id));
    if (id != next)
        return kvs_plan_reader_fault(r, "id",
                                     "expected %" PRId64 ", the operation's place in its "
                                     "segment, got %" PRId64,
                                     next, id);
    KVS_TRY(read_enum(r, "tag", tags, KVS_COUNT_OF(tags), &op.tag));
    KVS_TRY(read_head(r, &op));
    KVS_TRY(kvs_plan_add_op(r->plan, &op, NULL, r->err));
    KVS_TRY(KVS_ARRAY_PUSH(&r->op_lines, r->line, r->err));
    KVS_TRY(read_deps(r));
    return read_accesses(r);
}
