/* Queues and buffers of a plan, and its life. */
#include "sched/build_internal.h"

#include <stdarg.h>
#include <stdio.h>

static kvs_status build_buffer(struct kvs_build *b, kvs_place place, uint16_t device,
                               uint64_t size_bytes, bool is_valid, uint16_t *out,
                               const char *fmt, ...) KVS_PRINTF(7, 8);

static kvs_status build_buffer(struct kvs_build *b, kvs_place place, uint16_t device,
                               uint64_t size_bytes, bool is_valid, uint16_t *out,
                               const char *fmt, ...)
{
    struct kvs_buffer buffer = {.size_bytes = size_bytes,
                                .valid_bytes = is_valid ? size_bytes : 0,
                                .place = (uint16_t)place,
                                .device = device,
                                .layer = KVS_NO_LAYER};
    va_list args;
    va_start(args, fmt);
    vsnprintf(buffer.name, sizeof buffer.name, fmt, args);
    va_end(args);
    uint32_t id;
    KVS_TRY(kvs_plan_add_buffer(b->plan, &buffer, &id, b->err));
    *out = (uint16_t)id;
    return KVS_OK;
}

static kvs_status build_queue(struct kvs_build *b, uint32_t device, const char *role,
                              uint16_t *out)
{
    char name[24];
    snprintf(name, sizeof name, "d%u.%s", device, role);
    return kvs_plan_add_queue(b->plan, (uint16_t)device, name, out, b->err);
}

static kvs_status build_device(struct kvs_build *b, uint32_t d)
{
    struct kvs_build_device *device = &b->devices[d];
    uint16_t id = (uint16_t)d;
    KVS_TRY(build_queue(b, d, "compute", &device->q_compute));
    KVS_TRY(build_queue(b, d, "blocking", &device->q_blocking));
    KVS_TRY(build_buffer(b, KVS_PLACE_DEVICE, id, device->new_bytes, false, &device->buf_new,
                         "d%u.new", d));
    KVS_TRY(build_buffer(b, KVS_PLACE_DEVICE, id, kvs_build_rotation_bytes(b), false,
                         &device->buf_rotation, "d%u.rotation", d));
    KVS_TRY(build_buffer(b, KVS_PLACE_DEVICE, id, kvs_build_hidden_bytes(b), false,
                         &device->buf_hidden, "d%u.hidden", d));
    device->last_compute = KVS_NO_OP;
    return build_buffer(b, KVS_PLACE_DEVICE, id, 4, false, &device->buf_logits, "d%u.logits",
                        d);
}

/* One side of a layer's cache on the host: for each stream its cells, the first of them filled.
 */
static kvs_status build_cache(struct kvs_build *b, uint32_t layer, char side,
                              uint64_t row_bytes, uint16_t *out)
{
    kvs_place place =
        b->c->workload.is_pinned ? KVS_PLACE_HOST_PINNED : KVS_PLACE_HOST_PAGEABLE;
    uint64_t cells = kvs_case_layer_cells(b->c, &b->c->llm->layers[layer]);
    uint64_t used = kvs_case_used_rows(b->c, 0);
    KVS_TRY(build_buffer(b, place, KVS_HOST_DEVICE,
                         kvs_case_n_streams(b->c) * cells * row_bytes, true, out, "cache.%c.%u",
                         side, layer));
    struct kvs_buffer *buffer = &b->plan->buffers.items[*out];
    buffer->layer = (uint16_t)layer;
    buffer->run_bytes = cells * row_bytes;
    buffer->filled_bytes = (used < cells ? used : cells) * row_bytes;
    return KVS_OK;
}

static kvs_status build_caches(struct kvs_build *b)
{
    for (size_t s = 0; s < b->graph->stages.n; s++) {
        const struct kvs_stage *stage = &b->graph->stages.items[s];
        if (stage->cache_stage != s) { /* an earlier layer's cells */
            b->cache_k[s] = b->cache_k[stage->cache_stage];
            b->cache_v[s] = b->cache_v[stage->cache_stage];
            continue;
        }
        KVS_TRY(build_cache(b, stage->layer, 'k', stage->k_row_bytes, &b->cache_k[s]));
        KVS_TRY(build_cache(b, stage->layer, 'v', stage->v_row_bytes, &b->cache_v[s]));
    }
    uint64_t hidden = kvs_build_hidden_bytes(b);
    KVS_TRY(build_buffer(b, KVS_PLACE_HOST_PINNED, KVS_HOST_DEVICE,
                         hidden + kvs_build_rotation_bytes(b), true, &b->buf_inputs, "inputs"));
    KVS_TRY(build_buffer(b, KVS_PLACE_HOST_PINNED, KVS_HOST_DEVICE, hidden + 1, false,
                         &b->buf_hop, "hop"));
    return build_buffer(b, KVS_PLACE_HOST_PINNED, KVS_HOST_DEVICE, b->staging_bytes, false,
                        &b->buf_staging, "staging");
}

kvs_status kvs_build_create(const struct kvs_case *c, const char *policy,
                            struct kvs_build **out, struct kvs_error *err)
{
    void *memory;
    KVS_TRY(kvs_case_check(c, err));
    KVS_TRY(kvs_mem_alloc(1, sizeof(struct kvs_build), &memory, err));
    struct kvs_build *b = memory;
    b->c = c;
    b->err = err;
    kvs_status status;
    KVS_TRY_GOTO(kvs_graph_create(c, &b->graph, err), fail);
    uint32_t n_devices = b->graph->n_devices;
    KVS_TRY_GOTO(kvs_plan_create(policy, (uint16_t)n_devices, &b->plan, err), fail);
    KVS_TRY_GOTO(kvs_mem_alloc(n_devices, sizeof *b->devices, &memory, err), fail);
    b->devices = memory;
    KVS_TRY_GOTO(kvs_mem_alloc(2 * b->graph->stages.n, sizeof *b->cache_k, &memory, err), fail);
    b->cache_k = memory;
    b->cache_v = b->cache_k + b->graph->stages.n;
    KVS_TRY_GOTO(kvs_build_place_rows(b), fail);
    for (uint32_t d = 0; d < n_devices; d++)
        KVS_TRY_GOTO(build_device(b, d), fail);
    KVS_TRY_GOTO(build_caches(b), fail);
    *out = b;
    return KVS_OK;
fail:
    kvs_build_destroy(b);
    return status;
}

void kvs_build_destroy(struct kvs_build *b)
{
    if (!b)
        return;
    kvs_graph_destroy(b->graph);
    kvs_plan_destroy(b->plan);
    kvs_mem_free(b->devices);
    kvs_mem_free(b->cache_k);
    kvs_mem_free(b->rows);
    kvs_mem_free(b);
}

struct kvs_plan *kvs_build_finish(struct kvs_build *b)
{
    struct kvs_plan *plan = b->plan;
    b->plan = NULL;
    kvs_build_destroy(b);
    return plan;
}

kvs_status kvs_build_slots(struct kvs_build *b, uint32_t device, uint32_t n_slots,
                           uint64_t slot_bytes)
{
    struct kvs_build_device *d = &b->devices[device];
    for (uint32_t i = 0; i < n_slots; i++) {
        if (i < d->n_slots) {
            struct kvs_buffer *buffer = &b->plan->buffers.items[d->buf_slots[i]];
            if (buffer->size_bytes < slot_bytes)
                buffer->size_bytes = slot_bytes;
            continue;
        }
        KVS_TRY(build_buffer(b, KVS_PLACE_DEVICE, (uint16_t)device, slot_bytes, false,
                             &d->buf_slots[i], "d%u.slot%u", device, i));
        d->n_slots = i + 1;
    }
    return KVS_OK;
}

kvs_status kvs_build_begin_segment(struct kvs_build *b, uint32_t step, uint32_t n_tokens,
                                   bool has_barrier)
{
    b->step = step;
    b->n_groups = 0;
    for (uint32_t d = 0; d < b->graph->n_devices; d++)
        b->devices[d].last_compute = KVS_NO_OP;
    return kvs_plan_add_segment(b->plan, n_tokens, has_barrier, b->err);
}

bool kvs_build_stores(const struct kvs_build *b, uint32_t stage, uint32_t device)
{
    return b->graph->stages.items[stage].cache_stage == stage &&
           kvs_build_holds(b, stage, device);
}

bool kvs_build_holds(const struct kvs_build *b, uint32_t stage, uint32_t device)
{
    return b->graph->stages.items[stage].parts[device].n_heads > 0;
}

uint64_t kvs_build_hidden_bytes(const struct kvs_build *b)
{
    return sizeof(float) * b->c->llm->hidden * kvs_case_batch_rows(b->c);
}

uint64_t kvs_build_rotation_bytes(const struct kvs_build *b)
{
    return b->c->llm->rotation_k_bytes + b->c->llm->rotation_v_bytes;
}
