/* Copies of window rows: where they lie in the cache, where they go in a slot. */
#include "sched/build_internal.h"

struct kvs_build_side kvs_build_side_of(const struct kvs_build *b, uint32_t s, uint32_t device,
                                        kvs_kv_side side)
{
    const struct kvs_stage *stage = kvs_build_cached(b, s);
    const struct kvs_stage_part *part = &stage->parts[device];
    const struct kvs_llm_layer *layer = &b->c->llm->layers[stage->layer];
    struct kvs_build_side v = {.cells = kvs_case_layer_cells(b->c, layer),
                               .advance = kvs_case_advance_rows(b->c),
                               .window = kvs_case_window(b->c, layer, b->step)};
    uint64_t slot_rows = b->slot_rows > 0 ? b->slot_rows : v.window.window_rows;
    uint64_t k_pitch = kvs_ring_run_bytes(slot_rows, part->k_bytes);
    if (side == KVS_KV_SIDE_K) {
        v.cache = b->cache_k[s];
        v.row_bytes = stage->k_row_bytes;
        v.offset = part->k_offset;
        v.width = part->k_bytes;
        v.slot_pitch = k_pitch;
    } else {
        v.cache = b->cache_v[s];
        v.row_bytes = stage->v_row_bytes;
        v.offset = part->v_offset;
        v.width = part->v_bytes;
        v.slot_first = k_pitch * kvs_case_n_streams(b->c);
        v.slot_pitch = kvs_ring_run_bytes(slot_rows, part->v_bytes);
    }
    return v;
}

struct kvs_build_span kvs_build_new_span(const struct kvs_build *b,
                                         const struct kvs_build_side *v)
{
    struct kvs_build_span rows = {.first = v->window.early_rows,
                                  .n = kvs_case_stream_rows(b->c),
                                  .first_step = (int32_t)v->advance};
    if (rows.first + rows.n > v->cells) /* a full sliding window wraps inside the batch */
        rows.n = v->cells - rows.first;
    return rows;
}

/* The rows that a copy moves of every stream: early grows and late shrinks. */
static struct kvs_build_span window_rows_of(const struct kvs_build_side *v, kvs_part part,
                                            uint64_t n_rows)
{
    const struct kvs_window *w = &v->window;
    int32_t step = (int32_t)v->advance;
    switch (part) {
    case KVS_PART_FIRST:
        return (struct kvs_build_span){.n = n_rows};
    case KVS_PART_EARLY:
        return (struct kvs_build_span){.n = w->early_rows, .n_step = step};
    case KVS_PART_LATE:
        return (struct kvs_build_span){.first = w->early_rows,
                                       .n = w->window_rows - w->early_rows,
                                       .first_step = step,
                                       .n_step = -step};
    case KVS_PART_WHOLE:
        break;
    }
    return (struct kvs_build_span){.n = w->window_rows};
}

struct kvs_range kvs_build_cache_rows(const struct kvs_build_side *v,
                                      const struct kvs_build_span *rows, uint32_t stream)
{
    return (struct kvs_range){.buffer = v->cache,
                              .offset =
                                  (stream * v->cells + rows->first) * v->row_bytes + v->offset,
                              .offset_step = rows->first_step * (int32_t)v->row_bytes,
                              .width = (uint32_t)v->width,
                              .pitch = (uint32_t)v->row_bytes,
                              .rows = (uint32_t)rows->n,
                              .rows_step = (int16_t)rows->n_step};
}

struct kvs_range kvs_build_slot_rows(const struct kvs_build_side *v,
                                     const struct kvs_build_span *rows, uint16_t slot_buffer,
                                     uint32_t stream)
{
    return (struct kvs_range){.buffer = slot_buffer,
                              .offset = v->slot_first + stream * v->slot_pitch +
                                        rows->first * v->width,
                              .offset_step = rows->first_step * (int32_t)v->width,
                              .width = (uint32_t)v->width,
                              .pitch = (uint32_t)v->width,
                              .rows = (uint32_t)rows->n,
                              .rows_step = (int16_t)rows->n_step};
}

/* A strided copy has 32-bit pitches; so long a cache is copied stream by stream. */
static bool window_can_merge(const struct kvs_build_side *v)
{
    return v->cells * v->row_bytes <= UINT32_MAX &&
           v->advance * v->row_bytes <= KVS_RANGE_MAX_WIDTH_STEP;
}

/* All streams as one strided copy: a row of it is one stream's run. */
static void window_merge(const struct kvs_build_side *v, const struct kvs_build_span *rows,
                         uint32_t n_streams, struct kvs_range *source, struct kvs_range *target)
{
    uint32_t width = (uint32_t)(rows->n * v->row_bytes);
    int64_t width_step = rows->n_step * (int64_t)v->row_bytes;
    source->rows = target->rows = n_streams;
    source->rows_step = target->rows_step = 0;
    source->width = target->width = width;
    kvs_range_set_width_step(source, width_step);
    kvs_range_set_width_step(target, width_step);
    source->pitch = (uint32_t)(v->cells * v->row_bytes);
    target->pitch = (uint32_t)v->slot_pitch;
}

static kvs_status window_emit(struct kvs_build *b, const struct kvs_build_copy *copy,
                              bool is_2d, bool is_first, const struct kvs_range *source,
                              const struct kvs_range *target, kvs_op_id *out)
{
    struct kvs_op op = {.kind = KVS_OP_COPY,
                        .tag = (uint8_t)copy->tag,
                        .flags = copy->flags,
                        .queue = copy->queue,
                        .layer = (uint16_t)b->graph->stages.items[copy->stage].layer};
    if (is_2d)
        op.flags |= KVS_OP_2D;
    if (!b->c->workload.is_pinned)
        op.flags |= KVS_OP_PAGEABLE;
    KVS_TRY(kvs_plan_add_op(b->plan, &op, out, b->err));
    for (uint32_t i = 0; is_first && i < copy->n_deps; i++)
        KVS_TRY(kvs_plan_add_dep(b->plan, copy->deps[i].op, copy->deps[i].distance,
                                 (kvs_dep_kind)copy->deps[i].kind, b->err));
    KVS_TRY(kvs_plan_add_access(b->plan, source, KVS_ACCESS_READ, b->err));
    return kvs_plan_add_access(b->plan, target, KVS_ACCESS_WRITE, b->err);
}

kvs_status kvs_build_window_copy(struct kvs_build *b, const struct kvs_build_copy *copy,
                                 kvs_op_id *last)
{
    kvs_op_id id = KVS_NO_OP;
    struct kvs_build_side v = kvs_build_side_of(b, copy->stage, copy->device, copy->side);
    struct kvs_build_span rows = window_rows_of(&v, copy->part, copy->n_rows);
    uint16_t slot = b->devices[copy->device].buf_slots[copy->slot];
    uint32_t n_streams = kvs_case_n_streams(b->c);
    bool is_whole_row = v.width == v.row_bytes;
    bool is_merged = is_whole_row && n_streams > 1 && window_can_merge(&v);
    uint32_t n_copies = is_merged ? 1 : n_streams;
    if (v.width > 0 && (rows.n > 0 || rows.n_step > 0 || copy->part == KVS_PART_FIRST)) {
        for (uint32_t i = 0; i < n_copies; i++) {
            struct kvs_range source = kvs_build_cache_rows(&v, &rows, i);
            struct kvs_range target = kvs_build_slot_rows(&v, &rows, slot, i);
            if (is_merged)
                window_merge(&v, &rows, n_streams, &source, &target);
            KVS_TRY(window_emit(b, copy, is_merged || !is_whole_row, i == 0, &source, &target,
                                &id));
        }
    }
    if (last)
        *last = id;
    return KVS_OK;
}

kvs_status kvs_build_late_kernel(struct kvs_build *b, uint32_t stage, uint32_t device,
                                 uint32_t slot)
{
    struct kvs_op op = {.kind = KVS_OP_COPY,
                        .tag = KVS_TAG_LATE,
                        .flags = KVS_OP_VIA_KERNEL,
                        .queue = b->devices[device].q_compute,
                        .layer = (uint16_t)b->graph->stages.items[stage].layer};
    if (!kvs_build_holds(b, stage, device))
        return KVS_OK;
    KVS_TRY(kvs_plan_add_op(b->plan, &op, NULL, b->err));
    for (unsigned side = KVS_KV_SIDE_K; side <= KVS_KV_SIDE_V; side++) {
        struct kvs_build_side v = kvs_build_side_of(b, stage, device, (kvs_kv_side)side);
        struct kvs_build_span rows = window_rows_of(&v, KVS_PART_LATE, 0);
        for (uint32_t i = 0; v.width > 0 && i < kvs_case_n_streams(b->c); i++) {
            struct kvs_range source = kvs_build_cache_rows(&v, &rows, i);
            struct kvs_range target =
                kvs_build_slot_rows(&v, &rows, b->devices[device].buf_slots[slot], i);
            KVS_TRY(kvs_plan_add_access(b->plan, &source, KVS_ACCESS_READ, b->err));
            KVS_TRY(kvs_plan_add_access(b->plan, &target, KVS_ACCESS_WRITE, b->err));
        }
    }
    return KVS_OK;
}

kvs_status kvs_build_window_reads(struct kvs_build *b, uint32_t stage, uint32_t device,
                                  uint32_t slot)
{
    for (unsigned side = KVS_KV_SIDE_K; side <= KVS_KV_SIDE_V; side++) {
        struct kvs_build_side v = kvs_build_side_of(b, stage, device, (kvs_kv_side)side);
        struct kvs_build_span rows = window_rows_of(&v, KVS_PART_WHOLE, 0);
        struct kvs_build_span made = kvs_build_new_span(b, &v);
        for (uint32_t i = 0; v.width > 0 && i < kvs_case_n_streams(b->c); i++) {
            struct kvs_range cache = kvs_build_cache_rows(&v, &rows, i);
            struct kvs_range fresh = kvs_build_cache_rows(&v, &made, i);
            struct kvs_range read =
                kvs_build_slot_rows(&v, &rows, b->devices[device].buf_slots[slot], i);
            KVS_TRY(kvs_plan_add_access(b->plan, &read, KVS_ACCESS_READ, b->err));
            KVS_TRY(kvs_plan_add_access(b->plan, &cache, KVS_ACCESS_EXPECT, b->err));
            KVS_TRY(kvs_plan_add_access(b->plan, &fresh, KVS_ACCESS_FRESH, b->err));
        }
    }
    return KVS_OK;
}

uint64_t kvs_build_window_bytes(const struct kvs_build *b, uint32_t stage, uint32_t device)
{
    uint64_t bytes = 0;
    for (unsigned side = KVS_KV_SIDE_K; side <= KVS_KV_SIDE_V; side++) {
        struct kvs_build_side v = kvs_build_side_of(b, stage, device, (kvs_kv_side)side);
        bytes += kvs_case_n_streams(b->c) * v.window.window_rows * v.width;
    }
    return bytes;
}

struct kvs_range kvs_build_new_cells(const struct kvs_build *b, uint32_t stage, uint32_t device,
                                     kvs_kv_side side, uint32_t stream)
{
    struct kvs_build_side v = kvs_build_side_of(b, stage, device, side);
    struct kvs_build_span made = kvs_build_new_span(b, &v);
    return kvs_build_cache_rows(&v, &made, stream);
}
