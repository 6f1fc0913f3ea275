/* Copies of window rows: where they lie in the cache, where they go in a slot. */
#include "sched/build_internal.h"

/* One side of a stage on one device during the open segment. */
struct window_side {
    uint16_t cache;      /* buffer */
    uint64_t row_bytes;  /* in the cache */
    uint64_t offset;     /* of the device's heads inside a row */
    uint64_t width;      /* bytes of the device's heads */
    uint64_t cells;      /* rows per stream in the cache */
    uint64_t slot_first; /* offset of this side in the slot */
    uint64_t slot_pitch; /* between streams in the slot */
    struct kvs_window window;
    uint32_t advance; /* rows per step and stream */
};

static struct window_side window_side_of(const struct kvs_build *b, uint32_t s, uint32_t device,
                                         kvs_kv_side side)
{
    const struct kvs_stage *stage = &b->graph->stages.items[s];
    const struct kvs_stage_part *part = &stage->parts[device];
    const struct kvs_llm_layer *layer = &b->c->llm->layers[stage->layer];
    const struct kvs_workload *w = &b->c->workload;
    struct window_side v = {.cells = kvs_case_layer_cells(b->c, layer),
                            .window = kvs_case_window(b->c, layer, b->step)};
    v.advance = w->is_frozen ? 0 : w->is_unified ? w->n_parallel : 1;
    uint64_t k_pitch = kvs_ring_run_bytes(v.window.window_rows, part->k_bytes);
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
        v.slot_pitch = kvs_ring_run_bytes(v.window.window_rows, part->v_bytes);
    }
    return v;
}

/* Rows [first, first + n) of one stream; the steps make early grow and late shrink. */
struct window_rows {
    uint64_t first;
    uint64_t n;
    int32_t first_step;
    int32_t n_step;
};

static struct window_rows window_rows_of(const struct window_side *v, kvs_part part)
{
    const struct kvs_window *w = &v->window;
    int32_t step = (int32_t)v->advance;
    switch (part) {
    case KVS_PART_EARLY:
        return (struct window_rows){.n = w->early_rows, .n_step = step};
    case KVS_PART_LATE:
        return (struct window_rows){.first = w->early_rows,
                                    .n = w->window_rows - w->early_rows,
                                    .first_step = step,
                                    .n_step = -step};
    case KVS_PART_WHOLE:
        break;
    }
    return (struct window_rows){.n = w->window_rows};
}

/* The rows of one stream in the cache: as many rows of the device's width. */
static struct kvs_range window_source(const struct window_side *v,
                                      const struct window_rows *rows, uint32_t stream)
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

/* The same rows in the slot: packed. */
static struct kvs_range window_target(const struct window_side *v,
                                      const struct window_rows *rows, uint16_t slot_buffer,
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
static bool window_can_merge(const struct window_side *v)
{
    return v->cells * v->row_bytes <= UINT32_MAX &&
           v->advance * v->row_bytes <= KVS_RANGE_MAX_WIDTH_STEP;
}

/* All streams as one strided copy: a row of it is one stream's run. */
static void window_merge(const struct window_side *v, const struct window_rows *rows,
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
    if (is_first && copy->after != KVS_NO_OP)
        KVS_TRY(kvs_plan_add_dep(b->plan, copy->after, 0, copy->after_kind, b->err));
    if (is_first && copy->has_chain)
        KVS_TRY(kvs_plan_add_dep(b->plan, copy->chain, 0, KVS_DEP_PACING, b->err));
    KVS_TRY(kvs_plan_add_access(b->plan, source, KVS_ACCESS_READ, b->err));
    return kvs_plan_add_access(b->plan, target, KVS_ACCESS_WRITE, b->err);
}

kvs_status kvs_build_window_copy(struct kvs_build *b, const struct kvs_build_copy *copy,
                                 kvs_op_id *first, kvs_op_id *last)
{
    kvs_op_id id = KVS_NO_OP, first_id = KVS_NO_OP;
    struct window_side v = window_side_of(b, copy->stage, copy->device, copy->side);
    struct window_rows rows = window_rows_of(&v, copy->part);
    uint16_t slot = b->devices[copy->device].buf_slots[copy->slot];
    uint32_t n_streams = kvs_case_n_streams(b->c);
    bool is_whole_row = v.width == v.row_bytes;
    bool is_merged = is_whole_row && n_streams > 1 && window_can_merge(&v);
    uint32_t n_copies = is_merged ? 1 : n_streams;
    if (v.width > 0 && (rows.n > 0 || rows.n_step > 0)) {
        for (uint32_t i = 0; i < n_copies; i++) {
            struct kvs_range source = window_source(&v, &rows, i);
            struct kvs_range target = window_target(&v, &rows, slot, i);
            if (is_merged)
                window_merge(&v, &rows, n_streams, &source, &target);
            KVS_TRY(window_emit(b, copy, is_merged || !is_whole_row, i == 0, &source, &target,
                                &id));
            first_id = i == 0 ? id : first_id;
        }
    }
    if (first)
        *first = first_id;
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
        struct window_side v = window_side_of(b, stage, device, (kvs_kv_side)side);
        struct window_rows rows = window_rows_of(&v, KVS_PART_LATE);
        for (uint32_t i = 0; v.width > 0 && i < kvs_case_n_streams(b->c); i++) {
            struct kvs_range source = window_source(&v, &rows, i);
            struct kvs_range target =
                window_target(&v, &rows, b->devices[device].buf_slots[slot], i);
            KVS_TRY(kvs_plan_add_access(b->plan, &source, KVS_ACCESS_READ, b->err));
            KVS_TRY(kvs_plan_add_access(b->plan, &target, KVS_ACCESS_WRITE, b->err));
        }
    }
    return KVS_OK;
}

/* Rows that this step writes, in the cache, for one stream. */
static struct kvs_range window_new_rows(const struct kvs_build *b, const struct window_side *v,
                                        uint32_t stream)
{
    uint64_t n = kvs_case_stream_rows(b->c);
    struct window_rows rows = {
        .first = v->window.early_rows, .n = n, .first_step = (int32_t)v->advance};
    if (rows.first + n > v->cells) /* a full sliding window wraps inside the batch */
        rows.n = v->cells - rows.first;
    return window_source(v, &rows, stream);
}

kvs_status kvs_build_window_reads(struct kvs_build *b, uint32_t stage, uint32_t device,
                                  uint32_t slot)
{
    for (unsigned side = KVS_KV_SIDE_K; side <= KVS_KV_SIDE_V; side++) {
        struct window_side v = window_side_of(b, stage, device, (kvs_kv_side)side);
        struct window_rows rows = window_rows_of(&v, KVS_PART_WHOLE);
        for (uint32_t i = 0; v.width > 0 && i < kvs_case_n_streams(b->c); i++) {
            struct kvs_range cache = window_source(&v, &rows, i);
            struct kvs_range fresh = window_new_rows(b, &v, i);
            struct kvs_range read =
                window_target(&v, &rows, b->devices[device].buf_slots[slot], i);
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
        struct window_side v = window_side_of(b, stage, device, (kvs_kv_side)side);
        bytes += kvs_case_n_streams(b->c) * v.window.window_rows * v.width;
    }
    return bytes;
}

struct kvs_range kvs_build_new_cells(const struct kvs_build *b, uint32_t stage, uint32_t device,
                                     kvs_kv_side side, uint32_t stream)
{
    struct window_side v = window_side_of(b, stage, device, side);
    return window_new_rows(b, &v, stream);
}
