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

static struct kvs_range store_range(const struct kvs_build *b, uint16_t buffer, uint64_t offset,
                                    uint64_t row_bytes)
{
    uint32_t width = (uint32_t)row_bytes;
    KVS_ASSERT(width == row_bytes);
    return (struct kvs_range){.buffer = buffer,
                              .offset = offset,
                              .width = width,
                              .pitch = width,
                              .rows = (uint32_t)kvs_case_batch_rows(b->c)};
}

struct kvs_range kvs_build_new_rows(const struct kvs_build *b, uint32_t stage, uint32_t device)
{
    const struct kvs_build_rows *at = &b->rows[stage * b->graph->n_devices + device];
    return store_range(b, b->devices[device].buf_new, at->offset,
                       store_row_bytes(b, stage, device));
}

static struct kvs_range store_staged(const struct kvs_build *b, uint32_t stage, uint32_t device)
{
    const struct kvs_build_rows *at = &b->rows[stage * b->graph->n_devices + device];
    return store_range(b, b->buf_staging, at->staged, store_row_bytes(b, stage, device));
}

/* A blocking copy of one side's rows to staging. */
static kvs_status store_copy(struct kvs_build *b, uint32_t stage, uint32_t device,
                             kvs_kv_side side)
{
    const struct kvs_stage_part *part = &b->graph->stages.items[stage].parts[device];
    uint64_t row_bytes = side == KVS_KV_SIDE_K ? part->k_bytes : part->v_bytes;
    uint64_t skip =
        side == KVS_KV_SIDE_K ? 0 : part->k_bytes * (uint64_t)kvs_case_batch_rows(b->c);
    struct kvs_range source = kvs_build_new_rows(b, stage, device);
    struct kvs_range target = store_staged(b, stage, device);
    struct kvs_op op = {.kind = KVS_OP_COPY,
                        .tag = KVS_TAG_STORE,
                        .flags = KVS_OP_BLOCKS | KVS_OP_D2H,
                        .queue = b->devices[device].q_blocking,
                        .layer = (uint16_t)b->graph->stages.items[stage].layer};
    if (row_bytes == 0)
        return KVS_OK;
    source = store_range(b, source.buffer, source.offset + skip, row_bytes);
    target = store_range(b, target.buffer, target.offset + skip, row_bytes);
    KVS_TRY(kvs_plan_add_op(b->plan, &op, NULL, b->err));
    KVS_TRY(kvs_plan_add_access(b->plan, &source, KVS_ACCESS_READ, b->err));
    return kvs_plan_add_access(b->plan, &target, KVS_ACCESS_WRITE, b->err);
}

/* What the host reads of a device's rows: they came from where this token computed them. */
static kvs_status store_reads(struct kvs_build *b, uint32_t stage, uint32_t device)
{
    struct kvs_range staged = store_staged(b, stage, device);
    struct kvs_range rows = kvs_build_new_rows(b, stage, device);
    KVS_TRY(kvs_plan_add_access(b->plan, &staged, KVS_ACCESS_READ, b->err));
    KVS_TRY(kvs_plan_add_access(b->plan, &rows, KVS_ACCESS_EXPECT, b->err));
    return kvs_plan_add_access(b->plan, &rows, KVS_ACCESS_FRESH, b->err);
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
            KVS_TRY(store_reads(b, stage, d));
    for (uint32_t d = 0; d < b->graph->n_devices; d++)
        if (kvs_build_stores(b, stage, d))
            KVS_TRY(kvs_build_cache_writes(b, stage, d));
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
