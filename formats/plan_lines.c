/* Writing a plan as JSON Lines; values that are the default are left out. */
#include "formats/plan_lines.h"

#include "base/json.h"
#include "formats/plan_lines_parts.h"

static const char *const lines_places[] = {
#define LINES_PLACE(place, name) name,
    KVS_PLAN_PLACE_MAP(LINES_PLACE)
#undef LINES_PLACE
};

static const char *const lines_modes[] = {
#define LINES_MODE(mode, key) key,
    KVS_PLAN_ACCESS_MAP(LINES_MODE)
#undef LINES_MODE
};

static void lines_end(struct kvs_json_writer *w)
{
    kvs_json_end(w, '}');
    kvs_text_puts(w->text, "\n");
}

static void lines_put(struct kvs_json_writer *w, const char *key, uint64_t value,
                      uint64_t left_out)
{
    if (value != left_out)
        kvs_json_u64(w, key, value);
}

static void lines_put_signed(struct kvs_json_writer *w, const char *key, int64_t value)
{
    if (value != 0)
        kvs_json_i64(w, key, value);
}

static void lines_put_true(struct kvs_json_writer *w, const char *key, bool is_set)
{
    if (is_set)
        kvs_json_bool(w, key, true);
}

static void lines_write_places(const struct kvs_plan *plan, struct kvs_json_writer *w)
{
    for (size_t i = 1; i < plan->queues.n; i++) {
        kvs_json_begin(w, NULL, '{');
        kvs_json_str(w, "queue", plan->queues.items[i].name);
        kvs_json_u64(w, "device", plan->queues.items[i].device);
        lines_end(w);
    }
    for (size_t i = 0; i < plan->buffers.n; i++) {
        const struct kvs_buffer *buffer = &plan->buffers.items[i];
        kvs_json_begin(w, NULL, '{');
        kvs_json_str(w, "buffer", buffer->name);
        kvs_json_str(w, "place", lines_places[buffer->place]);
        if (buffer->place == KVS_PLACE_DEVICE)
            kvs_json_u64(w, "device", buffer->device);
        kvs_json_u64(w, "size", buffer->size_bytes);
        lines_put(w, "valid", buffer->valid_bytes, 0);
        lines_put(w, "run", buffer->run_bytes, 0);
        lines_put(w, "filled", buffer->filled_bytes, 0);
        lines_put(w, "layer", buffer->layer, KVS_NO_LAYER);
        lines_end(w);
    }
    for (size_t i = 0; i < plan->rings.n; i++) {
        kvs_json_begin(w, NULL, '{');
        kvs_json_u64(w, "ring", plan->rings.items[i].device);
        kvs_json_u64(w, "slots", plan->rings.items[i].n_slots);
        kvs_json_u64(w, "slot_bytes", plan->rings.items[i].slot_bytes);
        lines_end(w);
    }
}

static void lines_write_figures(const struct kvs_op *op, struct kvs_json_writer *w)
{
    switch ((kvs_op_kind)op->kind) {
    case KVS_OP_COMPUTE:
        lines_put(w, "params", op->compute.params, 0);
        lines_put(w, "kv_bytes", op->compute.kv_bytes, 0);
        lines_put(w, "kernels", op->compute.n_kernels, 0);
        lines_put(w, "queries", op->compute.n_queries, 0);
        break;
    case KVS_OP_COLLECTIVE:
        lines_put(w, "bytes", op->collective.size_bytes, 0);
        kvs_json_u64(w, "group", op->collective.group);
        kvs_json_u64(w, "members", op->collective.n_members);
        break;
    case KVS_OP_HOST:
        lines_put(w, "calls", op->host.n_calls, 0);
        break;
    case KVS_OP_WAIT:
    case KVS_OP_COPY:
    case KVS_OP_KIND_COUNT:
        break;
    }
}

static void lines_write_deps(const struct kvs_segment *segment, const struct kvs_op *op,
                             struct kvs_json_writer *w)
{
    if (op->n_dep == 0)
        return;
    kvs_json_begin(w, "deps", '[');
    for (uint32_t i = op->first_dep; i < op->first_dep + op->n_dep; i++) {
        const struct kvs_dep *dep = &segment->deps.items[i];
        kvs_json_begin(w, NULL, '{');
        kvs_json_u64(w, "op", dep->op);
        lines_put(w, "back", dep->distance, 0);
        lines_put_true(w, "pacing", dep->kind == KVS_DEP_PACING);
        kvs_json_end(w, '}');
    }
    kvs_json_end(w, ']');
}

static void lines_write_accesses(const struct kvs_plan *plan, const char *key,
                                 const struct kvs_range *ranges, size_t n,
                                 struct kvs_json_writer *w)
{
    if (n == 0)
        return;
    kvs_json_begin(w, key, '[');
    for (const struct kvs_range *range = ranges; range < ranges + n; range++) {
        kvs_json_begin(w, NULL, '{');
        kvs_json_str(w, lines_modes[range->mode], plan->buffers.items[range->buffer].name);
        lines_put(w, "at", range->offset, 0);
        lines_put(w, "rows", range->rows, 1);
        kvs_json_u64(w, "width", range->width);
        lines_put(w, "pitch", range->pitch, range->width);
        lines_put_signed(w, "at_step", range->offset_step);
        lines_put_signed(w, "rows_step", range->rows_step);
        lines_put_signed(w, "width_step", range->width_step);
        kvs_json_end(w, '}');
    }
    kvs_json_end(w, ']');
}

static void lines_write_op(const struct kvs_plan *plan, const struct kvs_segment *segment,
                           kvs_op_id id, struct kvs_json_writer *w)
{
    const struct kvs_op *op = &segment->ops.items[id];
    kvs_json_begin(w, NULL, '{');
    kvs_json_str(w, "op", kvs_op_kind_name((kvs_op_kind)op->kind));
    kvs_json_u64(w, "id", id);
    if (op->queue != KVS_HOST_QUEUE)
        kvs_json_str(w, "queue", plan->queues.items[op->queue].name);
    kvs_json_str(w, "tag", kvs_tag_name((kvs_tag)op->tag));
    lines_put(w, "layer", op->layer, KVS_NO_LAYER);
    lines_put(w, "phase", op->phase, 0);
#define LINES_FLAG(flag, key) lines_put_true(w, key, (op->flags & (flag)) != 0);
    KVS_PLAN_FLAG_MAP(LINES_FLAG)
#undef LINES_FLAG
    lines_write_figures(op, w);
    lines_write_deps(segment, op, w);
    lines_write_accesses(plan, "access", kvs_segment_accesses(segment, op), op->n_access, w);
    lines_end(w);
}

static void lines_write_origin(const struct kvs_plan_origin *origin, struct kvs_json_writer *w)
{
#define LINES_ORIGIN(key)                                                                      \
    if (origin->key[0] != '\0')                                                                \
        kvs_json_str(w, #key, origin->key);
    KVS_PLAN_ORIGIN_TEXT_MAP(LINES_ORIGIN)
#undef LINES_ORIGIN
    lines_put(w, "n_parallel", origin->n_parallel, 0);
    if (origin->has_depth)
        kvs_json_u64(w, "depth", origin->depth);
}

void kvs_plan_lines_write(const struct kvs_plan *plan, struct kvs_text *out)
{
    struct kvs_json_writer w = {.text = out};
    kvs_json_begin(&w, NULL, '{');
    kvs_json_u64(&w, "kvsim_plan", KVS_PLAN_VERSION);
    kvs_json_str(&w, "policy", plan->policy);
    kvs_json_u64(&w, "devices", plan->n_devices);
    lines_write_origin(&plan->origin, &w);
    lines_end(&w);
    lines_write_places(plan, &w);
    for (size_t i = 0; i + 1 < plan->setup.n; i += 2) {
        kvs_json_begin(&w, NULL, '{');
        lines_write_accesses(plan, "setup", &plan->setup.items[i], 2, &w);
        lines_end(&w);
    }
    for (size_t s = 0; s < plan->segments.n; s++) {
        const struct kvs_segment *segment = &plan->segments.items[s];
        kvs_json_begin(&w, NULL, '{');
        kvs_json_u64(&w, "segment", s);
        kvs_json_u64(&w, "tokens", segment->n_tokens);
        lines_put(&w, "period", segment->period, 1);
        lines_put_true(&w, "barrier", segment->has_barrier);
        lines_end(&w);
        for (kvs_op_id id = 0; id < segment->ops.n; id++)
            lines_write_op(plan, segment, id, &w);
    }
}
