/*
 * New rows on their way from the device that computed them to the cache on the host.
 *
 * Each stage has a place of its own in its devices' buffers of new rows and in staging, K's rows
 * and then V's. So a row that is stored, however late, can be told from that of another layer,
 * and a plan that forgets to compute or to copy one is refused.
 */
#include "sched/build_internal.h"

static uint64_t store_row_bytes(const struct kvs_build *b, uint32_t stage, uint32_t device)
{
    const struct kvs_stage_part *part = &b->graph->stages.items[stage].parts[device];
    return kvs_build_stores(b, stage, device) ? part->k_bytes + part->v_bytes : 0;
}

kvs_status kvs_build_place_rows(struct kvs_build *b)
{
    size_t n_stages = b->graph->stages.n, n_devices = b->graph->n_devices;
    uint64_t n_rows = kvs_case_batch_rows(b->c);
    void *memory;
    KVS_TRY(kvs_mem_alloc(n_stages * n_devices, sizeof *b->rows, &memory, b->err));
    b->rows = memory;
    for (uint32_t s = 0; s < n_stages; s++) {
        for (uint32_t d = 0; d < n_devices; d++) {
            uint64_t size_bytes = n_rows * store_row_bytes(b, s, d);
            b->rows[s * n_devices + d] = (struct kvs_build_rows){
                .offset = b->devices[d].new_bytes, .staged = b->staging_bytes};
            b->devices[d].new_bytes += size_bytes;
            b->staging_bytes += size_bytes;
        }
    }
    return KVS_OK;
}

/* A side's rows of one stream, or of all together, where they lie one after another. */
struct store_rows {
    uint64_t offset; /* from where the stage's rows begin */
    uint32_t width;  /* of a row */
    uint32_t n;
};

static struct store_rows store_rows_of(const struct kvs_build *b, uint32_t stage,
                                       uint32_t device, kvs_kv_side side)
{
    const struct kvs_stage_part *part = &b->graph->stages.items[stage].parts[device];
    uint32_t n = (uint32_t)kvs_case_batch_rows(b->c);
    uint64_t width = side == KVS_KV_SIDE_K ? part->k_bytes : part->v_bytes;
    KVS_ASSERT(width <= UINT32_MAX);
    return (struct store_rows){.offset = side == KVS_KV_SIDE_K ? 0 : n * part->k_bytes,
                               .width = (uint32_t)width,
                               .n = n};
}

static struct kvs_range store_range(uint16_t buffer, uint64_t offset,
                                    const struct store_rows *rows)
{
    return (struct kvs_range){.buffer = buffer,
                              .offset = offset + rows->offset,
                              .width = rows->width,
                              .pitch = rows->width,
                              .rows = rows->n};
}

/* On the device that computed them. */
static struct kvs_range store_new(const struct kvs_build *b, uint32_t stage, uint32_t device,
                                  const struct store_rows *rows)
{
    const struct kvs_build_rows *at = &b->rows[stage * b->graph->n_devices + device];
    return store_range(b->devices[device].buf_new, at->offset, rows);
}

static struct kvs_range store_staged(const struct kvs_build *b, uint32_t stage, uint32_t device,
                                     const struct store_rows *rows)
{
    const struct kvs_build_rows *at = &b->rows[stage * b->graph->n_devices + device];
    return store_range(b->buf_staging, at->staged, rows);
}

/* One stream's rows of a side, those with a cell of their own: `cells`. */
static struct store_rows store_stream(const struct kvs_build *b, const struct store_rows *side,
                                      uint32_t stream, const struct kvs_range *cells)
{
    struct store_rows rows = *side;
    rows.n = cells->rows;
    rows.offset += (uint64_t)stream * kvs_case_stream_rows(b->c) * side->width;
    return rows;
}

/* All rows of both sides, which lie one after another. */
static struct store_rows store_both(const struct kvs_build *b, uint32_t stage, uint32_t device)
{
    struct store_rows rows = store_rows_of(b, stage, device, KVS_KV_SIDE_K);
    rows.width += store_rows_of(b, stage, device, KVS_KV_SIDE_V).width;
    return rows;
}

/* Has a full sliding window no cell for some of the rows? */
static bool store_is_cut(const struct kvs_build *b, uint32_t stage, uint32_t device)
{
    struct kvs_range cells = kvs_build_new_cells(b, stage, device, KVS_KV_SIDE_K, 0);
    return cells.rows != kvs_case_stream_rows(b->c);
}

/* The cells of every side and stream, in the order in which their rows lie. */
static kvs_status store_add_cells(struct kvs_build *b, uint32_t stage, uint32_t device,
                                  kvs_access_mode mode)
{
    for (unsigned side = KVS_KV_SIDE_K; side <= KVS_KV_SIDE_V; side++)
        for (uint32_t i = 0; i < kvs_case_n_streams(b->c); i++) {
            struct kvs_range cells =
                kvs_build_new_cells(b, stage, device, (kvs_kv_side)side, i);
            if (cells.width > 0)
                KVS_TRY(kvs_plan_add_access(b->plan, &cells, mode, b->err));
        }
    return KVS_OK;
}

/* One stream's rows of one side: rows without a cell are computed all the same. */
static kvs_status store_write_stream(struct kvs_build *b, uint32_t stage, uint32_t device,
                                     kvs_kv_side side, uint32_t stream)
{
    struct store_rows all = store_rows_of(b, stage, device, side);
    struct kvs_range cells = kvs_build_new_cells(b, stage, device, side, stream);
    struct store_rows rows = store_stream(b, &all, stream, &cells);
    struct kvs_range made = store_new(b, stage, device, &rows);
    if (all.width == 0)
        return KVS_OK;
    KVS_TRY(kvs_plan_add_access(b->plan, &made, KVS_ACCESS_WRITE, b->err));
    KVS_TRY(kvs_plan_add_access(b->plan, &cells, KVS_ACCESS_CELLS, b->err));
    rows.offset += (uint64_t)rows.n * rows.width;
    rows.n = kvs_case_stream_rows(b->c) - rows.n;
    made = store_new(b, stage, device, &rows);
    return kvs_plan_add_access(b->plan, &made, KVS_ACCESS_WRITE, b->err);
}

kvs_status kvs_build_row_writes(struct kvs_build *b, uint32_t stage, uint32_t device)
{
    if (!store_is_cut(b, stage, device)) {
        struct store_rows rows = store_both(b, stage, device);
        struct kvs_range made = store_new(b, stage, device, &rows);
        KVS_TRY(kvs_plan_add_access(b->plan, &made, KVS_ACCESS_WRITE, b->err));
        return store_add_cells(b, stage, device, KVS_ACCESS_CELLS);
    }
    for (unsigned side = KVS_KV_SIDE_K; side <= KVS_KV_SIDE_V; side++)
        for (uint32_t i = 0; i < kvs_case_n_streams(b->c); i++)
            KVS_TRY(store_write_stream(b, stage, device, (kvs_kv_side)side, i));
    return KVS_OK;
}

/* A blocking copy of one side's rows to staging. */
static kvs_status store_copy(struct kvs_build *b, uint32_t stage, uint32_t device,
                             kvs_kv_side side)
{
    struct store_rows rows = store_rows_of(b, stage, device, side);
    struct kvs_range source = store_new(b, stage, device, &rows);
    struct kvs_range target = store_staged(b, stage, device, &rows);
    struct kvs_op op = {.kind = KVS_OP_COPY,
                        .tag = KVS_TAG_STORE,
                        .flags = KVS_OP_BLOCKS | KVS_OP_D2H,
                        .queue = b->devices[device].q_blocking,
                        .layer = (uint16_t)b->graph->stages.items[stage].layer};
    if (rows.width == 0)
        return KVS_OK;
    KVS_TRY(kvs_plan_add_op(b->plan, &op, NULL, b->err));
    KVS_TRY(kvs_plan_add_access(b->plan, &source, KVS_ACCESS_READ, b->err));
    return kvs_plan_add_access(b->plan, &target, KVS_ACCESS_WRITE, b->err);
}

/* What the host reads of staging: rows that this token computed, on the device that made them.
 */
static kvs_status store_reads(struct kvs_build *b, uint32_t stage, uint32_t device,
                              const struct store_rows *rows)
{
    struct kvs_range staged = store_staged(b, stage, device, rows);
    struct kvs_range made = store_new(b, stage, device, rows);
    KVS_TRY(kvs_plan_add_access(b->plan, &staged, KVS_ACCESS_READ, b->err));
    KVS_TRY(kvs_plan_add_access(b->plan, &made, KVS_ACCESS_EXPECT, b->err));
    return kvs_plan_add_access(b->plan, &made, KVS_ACCESS_FRESH, b->err);
}

/* The host moves a device's rows to their cells. */
static kvs_status store_cells(struct kvs_build *b, uint32_t stage, uint32_t device)
{
    if (!store_is_cut(b, stage, device)) {
        struct store_rows rows = store_both(b, stage, device);
        KVS_TRY(store_reads(b, stage, device, &rows));
        return store_add_cells(b, stage, device, KVS_ACCESS_WRITE);
    }
    for (unsigned side = KVS_KV_SIDE_K; side <= KVS_KV_SIDE_V; side++) {
        struct store_rows all = store_rows_of(b, stage, device, (kvs_kv_side)side);
        for (uint32_t i = 0; all.width > 0 && i < kvs_case_n_streams(b->c); i++) {
            struct kvs_range cells =
                kvs_build_new_cells(b, stage, device, (kvs_kv_side)side, i);
            struct store_rows rows = store_stream(b, &all, i, &cells);
            KVS_TRY(store_reads(b, stage, device, &rows));
            KVS_TRY(kvs_plan_add_access(b->plan, &cells, KVS_ACCESS_WRITE, b->err));
        }
    }
    return KVS_OK;
}

static kvs_status store_host(struct kvs_build *b, uint32_t stage)
{
    struct kvs_op op = {.kind = KVS_OP_HOST,
                        .tag = KVS_TAG_STORE,
                        .queue = KVS_HOST_QUEUE,
                        .layer = (uint16_t)b->graph->stages.items[stage].layer,
                        .host = {.n_calls = (uint32_t)kvs_case_batch_rows(b->c)}};
    KVS_TRY(kvs_plan_add_op(b->plan, &op, NULL, b->err));
    for (uint32_t d = 0; d < b->graph->n_devices; d++)
        if (kvs_build_stores(b, stage, d))
            KVS_TRY(store_cells(b, stage, d));
    return KVS_OK;
}

kvs_status kvs_build_store(struct kvs_build *b, uint32_t stage)
{
    bool is_owner = b->graph->stages.items[stage].cache_stage == stage;
    KVS_TRY(kvs_build_wait(b, KVS_TAG_CONSUMER, (uint16_t)b->graph->stages.items[stage].layer));
    for (uint32_t d = 0; d < b->graph->n_devices; d++)
        if (kvs_build_holds(b, stage, d))
            KVS_TRY(kvs_plan_add_dep(b->plan, b->devices[d].last_compute, 0, KVS_DEP_HAZARD,
                                     b->err));
    if (!is_owner)
        return KVS_OK; /* the layer reads another one's cells */
    for (unsigned side = KVS_KV_SIDE_K; side <= KVS_KV_SIDE_V; side++)
        for (uint32_t d = 0; d < b->graph->n_devices; d++)
            if (kvs_build_stores(b, stage, d))
                KVS_TRY(store_copy(b, stage, d, (kvs_kv_side)side));
    return store_host(b, stage);
}
