/*
 * The last rows of every stage on its devices (kvs_case_tail_first). Compute writes its new rows
 * there and reads them there; a kernel stores them in the cache, from where deliveries bring them
 * once the tail has left them behind.
 *
 * A device has a ring of rows per stage, stream and side: row r lies at r mod ring_rows. Rows that
 * reach over its end are two ranges, cut at a row that is the same for all tokens of a segment.
 */
#include "sched/build_internal.h"

static uint64_t tail_new_row(const struct kvs_build *b)
{
    return kvs_case_used_rows(b->c, b->step);
}

/* Rows that this step writes; all rows of the tail, these included. */
static struct kvs_build_span tail_made(const struct kvs_build *b)
{
    return (struct kvs_build_span){.first = tail_new_row(b),
                                   .n = kvs_case_stream_rows(b->c),
                                   .first_step = (int32_t)kvs_case_advance_rows(b->c)};
}

static struct kvs_build_span tail_all(const struct kvs_build *b)
{
    uint64_t first = kvs_case_tail_first(b->c, b->step);
    return (struct kvs_build_span){.first = first,
                                   .n = tail_new_row(b) + kvs_case_stream_rows(b->c) - first,
                                   .n_step = (int32_t)kvs_case_advance_rows(b->c)};
}

/* Rows without the ring's end between them: one span, or two. */
struct tail_parts {
    struct kvs_build_span items[2];
    uint32_t n;
};

static struct tail_parts tail_cut(const struct kvs_build *b, const struct kvs_build_span *rows)
{
    uint64_t ring = b->tail.ring_rows, end = rows->first + rows->n;
    if (rows->n == 0)
        return (struct tail_parts){.n = 0};
    uint64_t cut = (end - 1) / ring * ring;
    if (cut <= rows->first)
        return (struct tail_parts){.items = {*rows}, .n = 1};
    return (struct tail_parts){
        .items = {{.first = rows->first,
                   .n = cut - rows->first,
                   .first_step = rows->first_step,
                   .n_step = -rows->first_step},
                  {.first = cut, .n = end - cut, .n_step = rows->first_step + rows->n_step}},
        .n = 2};
}

/* A stage's rows of one stream and side on a device. */
static struct kvs_range tail_rows(const struct kvs_build *b, uint32_t stage, uint32_t device,
                                  kvs_kv_side side, const struct kvs_build_span *rows,
                                  uint32_t stream)
{
    const struct kvs_stage_part *part = &b->graph->stages.items[stage].parts[device];
    uint64_t ring = b->tail.ring_rows, n_streams = kvs_case_n_streams(b->c);
    uint64_t width = side == KVS_KV_SIDE_K ? part->k_bytes : part->v_bytes;
    uint64_t base = side == KVS_KV_SIDE_K ? 0 : n_streams * ring * part->k_bytes;
    return (struct kvs_range){.buffer = b->tail.buffers[stage * b->graph->n_devices + device],
                              .offset = base + (stream * ring + rows->first % ring) * width,
                              .offset_step = rows->first_step * (int32_t)width,
                              .width = (uint32_t)width,
                              .pitch = (uint32_t)width,
                              .rows = (uint32_t)rows->n,
                              .rows_step = (int16_t)rows->n_step};
}

/* What is done with each pair of rows in the tail and the same rows in the cache. */
typedef kvs_status (*tail_pair_fn)(struct kvs_build *b, const struct kvs_range *tail,
                                   const struct kvs_range *cache);

static kvs_status tail_each(struct kvs_build *b, uint32_t stage, uint32_t device,
                            kvs_kv_side side, uint32_t stream,
                            const struct kvs_build_span *rows, tail_pair_fn pair)
{
    struct kvs_build_side v = kvs_build_side_of(b, stage, device, side);
    struct tail_parts parts = tail_cut(b, rows);
    for (uint32_t i = 0; v.width > 0 && i < parts.n; i++) {
        struct kvs_range tail = tail_rows(b, stage, device, side, &parts.items[i], stream);
        struct kvs_range cache = kvs_build_cache_rows(&v, &parts.items[i], stream);
        KVS_TRY(pair(b, &tail, &cache));
    }
    return KVS_OK;
}

/* All sides and streams of a stage on a device. */
static kvs_status tail_every(struct kvs_build *b, uint32_t stage, uint32_t device,
                             const struct kvs_build_span *rows, tail_pair_fn pair)
{
    for (unsigned side = KVS_KV_SIDE_K; side <= KVS_KV_SIDE_V; side++)
        for (uint32_t i = 0; i < kvs_case_n_streams(b->c); i++)
            KVS_TRY(tail_each(b, stage, device, (kvs_kv_side)side, i, rows, pair));
    return KVS_OK;
}

static kvs_status tail_pair_setup(struct kvs_build *b, const struct kvs_range *tail,
                                  const struct kvs_range *cache)
{
    return kvs_plan_add_setup(b->plan, cache, tail, b->err);
}

static kvs_status tail_pair_read(struct kvs_build *b, const struct kvs_range *tail,
                                 const struct kvs_range *cache)
{
    KVS_TRY(kvs_plan_add_access(b->plan, tail, KVS_ACCESS_READ, b->err));
    return kvs_plan_add_access(b->plan, cache, KVS_ACCESS_CELLS, b->err);
}

static kvs_status tail_pair_fresh(struct kvs_build *b, const struct kvs_range *tail,
                                  const struct kvs_range *cache)
{
    (void)cache;
    return kvs_plan_add_access(b->plan, tail, KVS_ACCESS_FRESH, b->err);
}

static kvs_status tail_pair_write(struct kvs_build *b, const struct kvs_range *tail,
                                  const struct kvs_range *cache)
{
    KVS_TRY(kvs_plan_add_access(b->plan, tail, KVS_ACCESS_WRITE, b->err));
    return kvs_plan_add_access(b->plan, cache, KVS_ACCESS_CELLS, b->err);
}

static kvs_status tail_pair_store(struct kvs_build *b, const struct kvs_range *tail,
                                  const struct kvs_range *cache)
{
    KVS_TRY(kvs_plan_add_access(b->plan, tail, KVS_ACCESS_READ, b->err));
    return kvs_plan_add_access(b->plan, cache, KVS_ACCESS_WRITE, b->err);
}

bool kvs_build_rewrites(const struct kvs_build *b)
{
    return kvs_case_stream_rows(b->c) > kvs_case_advance_rows(b->c);
}

/* A stage's ring on a device, with the rows that are there before the first token. */
static kvs_status tail_add_ring(struct kvs_build *b, uint32_t stage, uint32_t device)
{
    const struct kvs_stage_part *part = &b->graph->stages.items[stage].parts[device];
    struct kvs_build_span rows = tail_all(b);
    struct kvs_build_buffer buffer = {.place = KVS_PLACE_DEVICE,
                                      .device = (uint16_t)device,
                                      .size_bytes = kvs_case_n_streams(b->c) *
                                                    b->tail.ring_rows *
                                                    (part->k_bytes + part->v_bytes)};
    uint16_t *out = &b->tail.buffers[stage * b->graph->n_devices + device];
    KVS_TRY(kvs_build_add_buffer(b, &buffer, out, "d%u.tail%u", device, stage));
    rows.n -= kvs_case_stream_rows(b->c);
    return tail_every(b, stage, device, &rows, tail_pair_setup);
}

kvs_status kvs_build_keep_tail(struct kvs_build *b)
{
    size_t n_stages = b->graph->stages.n, n_devices = b->graph->n_devices;
    uint64_t rotation = kvs_build_rotation_bytes(b);
    void *memory;
    KVS_TRY(kvs_mem_alloc(n_stages * n_devices, sizeof *b->tail.buffers, &memory, b->err));
    struct kvs_llm_layer full = {.kind = KVS_LAYER_FULL};
    b->tail.buffers = memory;
    b->tail.ring_rows = kvs_case_tail_ring_rows(b->c);
    b->slot_rows = kvs_case_window(b->c, &full, b->c->workload.n_gen - 1).window_rows;
    for (uint32_t d = 0; d < n_devices; d++) {
        KVS_TRY(kvs_build_add_queue(b, d, "store", &b->devices[d].q_store));
        struct kvs_range from =
            kvs_build_run(b->buf_inputs, kvs_build_hidden_bytes(b), rotation);
        struct kvs_range to = kvs_build_run(b->devices[d].buf_rotation, 0, rotation);
        if (rotation > 0)
            KVS_TRY(kvs_plan_add_setup(b->plan, &from, &to, b->err));
        for (uint32_t s = 0; s < n_stages; s++)
            if (kvs_build_holds(b, s, d))
                KVS_TRY(tail_add_ring(b, s, d));
    }
    return KVS_OK;
}

kvs_status kvs_build_tail_prime(struct kvs_build *b, uint32_t stage, uint32_t device,
                                uint32_t slot)
{
    struct kvs_build_span rows = {.n = kvs_case_tail_first(b->c, 0)};
    uint16_t buffer = b->devices[device].buf_slots[slot];
    for (unsigned side = KVS_KV_SIDE_K; side <= KVS_KV_SIDE_V; side++) {
        struct kvs_build_side v = kvs_build_side_of(b, stage, device, (kvs_kv_side)side);
        for (uint32_t i = 0; rows.n > 0 && v.width > 0 && i < kvs_case_n_streams(b->c); i++) {
            struct kvs_range source = kvs_build_cache_rows(&v, &rows, i);
            struct kvs_range target = kvs_build_slot_rows(&v, &rows, buffer, i);
            KVS_TRY(kvs_plan_add_setup(b->plan, &source, &target, b->err));
        }
    }
    return KVS_OK;
}

uint32_t kvs_build_tail_steps(const struct kvs_build *b, uint32_t step)
{
    uint32_t n = kvs_case_steps_with_same_window(b->c, step);
    uint64_t first = kvs_case_used_rows(b->c, step), a = kvs_case_advance_rows(b->c);
    uint64_t last = first + kvs_case_stream_rows(b->c) - 1;
    uint64_t cut = last / b->tail.ring_rows * b->tail.ring_rows;
    if (cut <= first || a == 0)
        return n;
    uint64_t n_cut = (cut - first + a - 1) / a; /* tokens whose new rows are cut */
    return n_cut < n ? (uint32_t)n_cut : n;
}

kvs_status kvs_build_tail_inputs(struct kvs_build *b)
{
    uint64_t hidden = kvs_build_hidden_bytes(b);
    bool is_mirrored = b->c->placement.mode == KVS_SPLIT_TENSOR;
    for (uint32_t d = 0; hidden > 0 && d < b->graph->n_devices; d++) {
        struct kvs_op op = {.kind = KVS_OP_COPY,
                            .tag = KVS_TAG_INPUT,
                            .flags = KVS_OP_VIA_KERNEL,
                            .queue = b->devices[d].q_compute,
                            .layer = KVS_NO_LAYER};
        struct kvs_range source = kvs_build_run(b->buf_inputs, 0, hidden);
        struct kvs_range target = kvs_build_run(b->devices[d].buf_hidden, 0, hidden);
        if (!is_mirrored && (int32_t)d != b->graph->pieces.items[0].device)
            continue;
        KVS_TRY(kvs_plan_add_op(b->plan, &op, NULL, b->err));
        KVS_TRY(kvs_plan_add_access(b->plan, &source, KVS_ACCESS_READ, b->err));
        KVS_TRY(kvs_plan_add_access(b->plan, &target, KVS_ACCESS_WRITE, b->err));
    }
    return KVS_OK;
}

kvs_status kvs_build_tail_store(struct kvs_build *b, uint32_t stage)
{
    struct kvs_build_span rows = tail_made(b);
    for (uint32_t d = 0; d < b->graph->n_devices; d++) {
        struct kvs_build_device *device = &b->devices[d];
        struct kvs_op op = {.kind = KVS_OP_COPY,
                            .tag = KVS_TAG_STORE,
                            .flags = KVS_OP_VIA_KERNEL | KVS_OP_D2H,
                            .queue = device->q_store,
                            .layer = (uint16_t)b->graph->stages.items[stage].layer};
        if (!kvs_build_stores(b, stage, d))
            continue;
        KVS_TRY(kvs_plan_add_op(b->plan, &op, &device->last_store, b->err));
        KVS_TRY(kvs_plan_add_dep(b->plan, device->last_compute, 0, KVS_DEP_HAZARD, b->err));
        KVS_TRY(tail_every(b, stage, d, &rows, tail_pair_store));
    }
    return KVS_OK;
}

/* Of a side and stream: the delivered rows, then those of the tail. */
static kvs_status tail_reads_stream(struct kvs_build *b, uint32_t stage, uint32_t device,
                                    uint32_t slot, kvs_kv_side side, uint32_t stream)
{
    struct kvs_build_side v = kvs_build_side_of(b, stage, device, side);
    struct kvs_build_span tail = tail_all(b), made = tail_made(b);
    struct kvs_build_span delivered = {.n = tail.first};
    struct kvs_range cache = kvs_build_cache_rows(&v, &delivered, stream);
    struct kvs_range read =
        kvs_build_slot_rows(&v, &delivered, b->devices[device].buf_slots[slot], stream);
    if (v.width > 0 && delivered.n > 0) {
        KVS_TRY(kvs_plan_add_access(b->plan, &read, KVS_ACCESS_READ, b->err));
        KVS_TRY(kvs_plan_add_access(b->plan, &cache, KVS_ACCESS_EXPECT, b->err));
    }
    KVS_TRY(tail_each(b, stage, device, side, stream, &tail, tail_pair_read));
    return tail_each(b, stage, device, side, stream, &made, tail_pair_fresh);
}

kvs_status kvs_build_tail_reads(struct kvs_build *b, uint32_t stage, uint32_t device,
                                uint32_t slot)
{
    for (unsigned side = KVS_KV_SIDE_K; side <= KVS_KV_SIDE_V; side++)
        for (uint32_t i = 0; i < kvs_case_n_streams(b->c); i++)
            KVS_TRY(tail_reads_stream(b, stage, device, slot, (kvs_kv_side)side, i));
    return KVS_OK;
}

kvs_status kvs_build_tail_writes(struct kvs_build *b, uint32_t stage, uint32_t device)
{
    struct kvs_build_span made = tail_made(b);
    return tail_every(b, stage, device, &made, tail_pair_write);
}
