/* Queues and buffers of a plan, and its life. */
#include "sched/build_internal.h"

#include <stdarg.h>
#include <stdio.h>

kvs_status kvs_build_add_buffer(struct kvs_build *b, const struct kvs_build_buffer *buffer,
                                uint16_t *out, const char *fmt, ...)
{
    struct kvs_buffer added = {.size_bytes = buffer->size_bytes,
                               .valid_bytes = buffer->is_valid ? buffer->size_bytes : 0,
                               .place = (uint16_t)buffer->place,
                               .device = buffer->device,
                               .layer = KVS_NO_LAYER};
    va_list args;
    va_start(args, fmt);
    vsnprintf(added.name, sizeof added.name, fmt, args);
    va_end(args);
    uint32_t id;
    KVS_TRY(kvs_plan_add_buffer(b->plan, &added, &id, b->err));
    *out = (uint16_t)id;
    return KVS_OK;
}

kvs_status kvs_build_add_queue(struct kvs_build *b, uint32_t device, const char *role,
                               uint16_t *out)
{
    char name[24];
    snprintf(name, sizeof name, "d%u.%s", device, role);
    return kvs_plan_add_queue(b->plan, (uint16_t)device, name, out, b->err);
}

/* A buffer of a device that holds nothing yet. */
static kvs_status build_device_buffer(struct kvs_build *b, uint32_t d, const char *role,
                                      uint64_t size_bytes, uint16_t *out)
{
    struct kvs_build_buffer buffer = {
        .place = KVS_PLACE_DEVICE, .device = (uint16_t)d, .size_bytes = size_bytes};
    return kvs_build_add_buffer(b, &buffer, out, "d%u.%s", d, role);
}

static kvs_status build_host_buffer(struct kvs_build *b, const char *name, uint64_t size_bytes,
                                    bool is_valid, uint16_t *out)
{
    struct kvs_build_buffer buffer = {.place = KVS_PLACE_HOST_PINNED,
                                      .device = KVS_HOST_DEVICE,
                                      .size_bytes = size_bytes,
                                      .is_valid = is_valid};
    return kvs_build_add_buffer(b, &buffer, out, "%s", name);
}

static void build_forget(struct kvs_build_device *device)
{
    device->last_compute = device->last_attention = device->last_store = KVS_NO_OP;
}

static kvs_status build_device(struct kvs_build *b, uint32_t d)
{
    struct kvs_build_device *device = &b->devices[d];
    uint64_t rotation = kvs_build_rotation_bytes(b), hidden = kvs_build_hidden_bytes(b);
    build_forget(device);
    KVS_TRY(kvs_build_add_queue(b, d, "compute", &device->q_compute));
    KVS_TRY(kvs_build_add_queue(b, d, "blocking", &device->q_blocking));
    KVS_TRY(build_device_buffer(b, d, "new", device->new_bytes, &device->buf_new));
    KVS_TRY(build_device_buffer(b, d, "rotation", rotation, &device->buf_rotation));
    KVS_TRY(build_device_buffer(b, d, "hidden", hidden, &device->buf_hidden));
    return build_device_buffer(b, d, "logits", 4, &device->buf_logits);
}

/* One side of a layer's cache on the host: for each stream its cells, the first of them filled.
 */
static kvs_status build_cache(struct kvs_build *b, uint32_t layer, char side,
                              uint64_t row_bytes, uint16_t *out)
{
    uint64_t cells = kvs_case_layer_cells(b->c, &b->c->llm->layers[layer]);
    uint64_t used = kvs_case_used_rows(b->c, 0);
    struct kvs_build_buffer cache = {
        .place = b->c->workload.is_pinned ? KVS_PLACE_HOST_PINNED : KVS_PLACE_HOST_PAGEABLE,
        .device = KVS_HOST_DEVICE,
        .size_bytes = kvs_case_n_streams(b->c) * cells * row_bytes,
        .is_valid = true};
    KVS_TRY(kvs_build_add_buffer(b, &cache, out, "cache.%c.%u", side, layer));
    struct kvs_buffer *buffer = &b->plan->buffers.items[*out];
    buffer->layer = (uint16_t)layer;
    buffer->run_bytes = cells * row_bytes;
    buffer->filled_bytes = (used < cells ? used : cells) * row_bytes;
    return KVS_OK;
}

static kvs_status build_caches(struct kvs_build *b)
{
    for (uint32_t s = 0; s < b->graph->stages.n + b->graph->residents.n; s++) {
        const struct kvs_stage *stage = kvs_build_cached(b, s);
        uint32_t owner = kvs_build_owner(b, s);
        if (owner != s) { /* an earlier layer's cells */
            b->cache_k[s] = b->cache_k[owner];
            b->cache_v[s] = b->cache_v[owner];
            continue;
        }
        KVS_TRY(build_cache(b, stage->layer, 'k', stage->k_row_bytes, &b->cache_k[s]));
        KVS_TRY(build_cache(b, stage->layer, 'v', stage->v_row_bytes, &b->cache_v[s]));
    }
    uint64_t hidden = kvs_build_hidden_bytes(b);
    KVS_TRY(build_host_buffer(b, "inputs", hidden + kvs_build_rotation_bytes(b), true,
                              &b->buf_inputs));
    KVS_TRY(build_host_buffer(b, "hop", hidden + 1, false, &b->buf_hop));
    return build_host_buffer(b, "staging", b->staging_bytes, false, &b->buf_staging);
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
    size_t n_cached = b->graph->stages.n + b->graph->residents.n;
    KVS_TRY_GOTO(kvs_mem_alloc(2 * n_cached, sizeof *b->cache_k, &memory, err), fail);
    b->cache_k = memory;
    b->cache_v = b->cache_k + n_cached;
    KVS_TRY_GOTO(kvs_build_place_rows(b), fail);
    for (uint32_t d = 0; d < n_devices; d++)
        KVS_TRY_GOTO(build_device(b, d), fail);
    KVS_TRY_GOTO(build_caches(b), fail);
    KVS_TRY_GOTO(kvs_build_homes(b), fail);
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
    kvs_mem_free(b->homes);
    kvs_mem_free(b->tail.buffers);
    kvs_mem_free(b->rows);
    KVS_ARRAY_FREE(&b->later);
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
        struct kvs_build_buffer slot = {
            .place = KVS_PLACE_DEVICE, .device = (uint16_t)device, .size_bytes = slot_bytes};
        KVS_TRY(kvs_build_add_buffer(b, &slot, &d->buf_slots[i], "d%u.slot%u", device, i));
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
        build_forget(&b->devices[d]);
    return kvs_plan_add_segment(b->plan, n_tokens, has_barrier, b->err);
}

const struct kvs_stage *kvs_build_cached(const struct kvs_build *b, uint32_t s)
{
    size_t n = b->graph->stages.n;
    return s < n ? &b->graph->stages.items[s] : &b->graph->residents.items[s - n];
}

uint32_t kvs_build_owner(const struct kvs_build *b, uint32_t s)
{
    uint32_t n = (uint32_t)b->graph->stages.n;
    return kvs_build_cached(b, s)->cache_stage + (s < n ? 0 : n);
}

bool kvs_build_holds(const struct kvs_build *b, uint32_t stage, uint32_t device)
{
    return kvs_build_cached(b, stage)->parts[device].n_heads > 0;
}

bool kvs_build_stores(const struct kvs_build *b, uint32_t stage, uint32_t device)
{
    return kvs_build_owner(b, stage) == stage && kvs_build_holds(b, stage, device);
}

void kvs_build_copy_after(struct kvs_build_copy *copy, kvs_op_id op, uint16_t distance,
                          kvs_dep_kind kind)
{
    if (op == KVS_NO_OP)
        return;
    KVS_ASSERT(copy->n_deps < KVS_BUILD_MAX_DEPS);
    copy->deps[copy->n_deps++] =
        (struct kvs_dep){.op = op, .distance = distance, .kind = (uint16_t)kind};
}

kvs_status kvs_build_add_later(struct kvs_build *b, const kvs_op_id *op, kvs_dep_kind kind)
{
    const struct kvs_segment *segment = &b->plan->segments.items[b->plan->segments.n - 1];
    struct kvs_build_later later = {.dep = (uint32_t)segment->deps.n, .op = op};
    KVS_TRY(kvs_plan_add_dep(b->plan, 0, 1, kind, b->err));
    return KVS_ARRAY_PUSH(&b->later, later, b->err);
}

void kvs_build_settle(struct kvs_build *b)
{
    struct kvs_dep *deps = b->plan->segments.items[b->plan->segments.n - 1].deps.items;
    for (size_t i = 0; i < b->later.n; i++)
        deps[b->later.items[i].dep].op = *b->later.items[i].op;
    b->later.n = 0;
}

struct kvs_range kvs_build_run(uint16_t buffer, uint64_t offset, uint64_t size_bytes)
{
    uint32_t width = (uint32_t)size_bytes;
    KVS_ASSERT(width == size_bytes);
    return (struct kvs_range){
        .buffer = buffer, .offset = offset, .width = width, .pitch = width, .rows = 1};
}

uint64_t kvs_build_hidden_bytes(const struct kvs_build *b)
{
    return sizeof(float) * b->c->llm->hidden * kvs_case_batch_rows(b->c);
}

uint64_t kvs_build_rotation_bytes(const struct kvs_build *b)
{
    return b->c->llm->rotation_k_bytes + b->c->llm->rotation_v_bytes;
}
