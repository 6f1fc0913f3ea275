/*
 * Layers whose cache stays on the devices. Each device has the rows of its own heads, packed, in
 * a buffer for K and one for V, filled before the first token. A compute writes a layer's new
 * rows there and reads its window there. The buffers on the host only name the cells.
 *
 * Under layer split a layer that reads another one's cells may be on another device than they
 * are. It reads them in host memory, to which the new rows are then written as well.
 */
#include "sched/build_internal.h"

static uint32_t resident_number(const struct kvs_build *b, uint32_t index)
{
    return (uint32_t)b->graph->stages.n + index;
}

/* Buffers of K and V on a device, [2]. */
static uint16_t *resident_home(const struct kvs_build *b, uint32_t s, uint32_t device)
{
    size_t index = s - b->graph->stages.n;
    return &b->homes[(index * b->graph->n_devices + device) * 2];
}

/* A stream's rows where a device has them. */
static struct kvs_range resident_rows(const struct kvs_build_side *v, uint16_t home,
                                      const struct kvs_build_span *rows, uint32_t stream)
{
    return (struct kvs_range){.buffer = home,
                              .offset = (stream * v->cells + rows->first) * v->width,
                              .offset_step = rows->first_step * (int32_t)v->width,
                              .width = (uint32_t)v->width,
                              .pitch = (uint32_t)v->width,
                              .rows = (uint32_t)rows->n};
}

static kvs_status resident_add_home(struct kvs_build *b, uint32_t s, uint32_t device,
                                    kvs_kv_side side)
{
    struct kvs_build_side v = kvs_build_side_of(b, s, device, side);
    struct kvs_build_span all = {.n = v.cells};
    uint16_t *home = &resident_home(b, s, device)[side];
    struct kvs_build_buffer buffer = {.place = KVS_PLACE_DEVICE,
                                      .device = (uint16_t)device,
                                      .size_bytes =
                                          kvs_case_n_streams(b->c) * v.cells * v.width};
    if (v.width == 0)
        return KVS_OK;
    KVS_TRY(kvs_build_add_buffer(b, &buffer, home, "d%u.%c.%u", device,
                                 side == KVS_KV_SIDE_K ? 'k' : 'v',
                                 kvs_build_cached(b, s)->layer));
    for (uint32_t i = 0; i < kvs_case_n_streams(b->c); i++) {
        struct kvs_range source = kvs_build_cache_rows(&v, &all, i);
        struct kvs_range target = resident_rows(&v, *home, &all, i);
        KVS_TRY(kvs_plan_add_setup(b->plan, &source, &target, b->err));
    }
    return KVS_OK;
}

kvs_status kvs_build_homes(struct kvs_build *b)
{
    size_t n = b->graph->residents.n, n_devices = b->graph->n_devices;
    void *memory;
    KVS_TRY(kvs_mem_alloc(2 * n * n_devices, sizeof *b->homes, &memory, b->err));
    b->homes = memory;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t d = 0; d < n_devices; d++)
            for (unsigned side = KVS_KV_SIDE_K; side <= KVS_KV_SIDE_V; side++)
                if (kvs_build_stores(b, resident_number(b, i), d))
                    KVS_TRY(resident_add_home(b, resident_number(b, i), d, (kvs_kv_side)side));
    return KVS_OK;
}

/* Does a layer that holds none of the owner's cells on its device read them? */
static bool resident_is_read_elsewhere(const struct kvs_build *b, uint32_t owner)
{
    for (uint32_t i = 0; i < b->graph->residents.n; i++)
        for (uint32_t d = 0; d < b->graph->n_devices; d++)
            if (kvs_build_owner(b, resident_number(b, i)) == owner &&
                kvs_build_holds(b, resident_number(b, i), d) && !kvs_build_holds(b, owner, d))
                return true;
    return false;
}

/* All streams at once: a row is one stream's run. An operation has room for 65,535 accesses. */
static struct kvs_range resident_merge(struct kvs_range first, const struct kvs_build_side *v,
                                       uint32_t n_streams)
{
    uint64_t row_bytes = first.pitch;
    first.width *= first.rows;
    first.pitch = (uint32_t)(v->cells * row_bytes);
    first.rows = n_streams;
    return first;
}

static bool resident_can_merge(const struct kvs_build *b, const struct kvs_build_side *v)
{
    return kvs_case_n_streams(b->c) > 1 && v->cells * v->row_bytes <= UINT32_MAX;
}

/* Which cells the rows of streams [first, first + n) are. */
static kvs_status resident_add_cells(struct kvs_build *b, const struct kvs_build_side *v,
                                     const struct kvs_build_span *rows, uint32_t first,
                                     uint32_t n)
{
    if (n > 1 && v->width == v->row_bytes) {
        struct kvs_range cells = resident_merge(kvs_build_cache_rows(v, rows, first), v, n);
        return kvs_plan_add_access(b->plan, &cells, KVS_ACCESS_CELLS, b->err);
    }
    for (uint32_t i = first; i < first + n; i++) {
        struct kvs_range cells = kvs_build_cache_rows(v, rows, i);
        KVS_TRY(kvs_plan_add_access(b->plan, &cells, KVS_ACCESS_CELLS, b->err));
    }
    return KVS_OK;
}

/* Every stream's rows at home are read or written, and said to be these cells. */
static kvs_status resident_touch(struct kvs_build *b, const struct kvs_build_side *v,
                                 uint16_t home, const struct kvs_build_span *rows,
                                 kvs_access_mode mode)
{
    uint32_t n_streams = kvs_case_n_streams(b->c);
    uint32_t at_once = resident_can_merge(b, v) ? n_streams : 1;
    for (uint32_t i = 0; i < n_streams; i += at_once) {
        struct kvs_range range = resident_rows(v, home, rows, i);
        if (at_once > 1)
            range = resident_merge(range, v, n_streams);
        KVS_TRY(kvs_plan_add_access(b->plan, &range, mode, b->err));
        if (mode != KVS_ACCESS_FRESH)
            KVS_TRY(resident_add_cells(b, v, rows, i, at_once));
    }
    return KVS_OK;
}

/* The same for rows in host memory. */
static kvs_status resident_touch_host(struct kvs_build *b, const struct kvs_build_side *v,
                                      const struct kvs_build_span *rows, kvs_access_mode mode)
{
    for (uint32_t i = 0; i < kvs_case_n_streams(b->c); i++) {
        struct kvs_range range = kvs_build_cache_rows(v, rows, i);
        KVS_TRY(kvs_plan_add_access(b->plan, &range, mode, b->err));
        if (mode != KVS_ACCESS_FRESH)
            KVS_TRY(kvs_plan_add_access(b->plan, &range, KVS_ACCESS_CELLS, b->err));
    }
    return KVS_OK;
}

static kvs_status resident_writes(struct kvs_build *b, uint32_t s, uint32_t device,
                                  kvs_kv_side side)
{
    struct kvs_build_side v = kvs_build_side_of(b, s, device, side);
    struct kvs_build_span rows = kvs_build_new_span(b, &v);
    if (v.width == 0)
        return KVS_OK;
    KVS_TRY(resident_touch(b, &v, resident_home(b, s, device)[side], &rows, KVS_ACCESS_WRITE));
    return resident_is_read_elsewhere(b, s)
               ? resident_touch_host(b, &v, &rows, KVS_ACCESS_WRITE)
               : KVS_OK;
}

static kvs_status resident_reads(struct kvs_build *b, uint32_t s, uint32_t device,
                                 kvs_kv_side side)
{
    uint32_t owner = kvs_build_owner(b, s);
    struct kvs_build_side v = kvs_build_side_of(b, s, device, side);
    struct kvs_build_span window = {.n = v.window.window_rows};
    struct kvs_build_span made = kvs_build_new_span(b, &v);
    if (v.width == 0)
        return KVS_OK;
    if (!kvs_build_holds(b, owner, device)) {
        KVS_TRY(resident_touch_host(b, &v, &window, KVS_ACCESS_READ));
        return resident_touch_host(b, &v, &made, KVS_ACCESS_FRESH);
    }
    uint16_t home = resident_home(b, owner, device)[side];
    KVS_TRY(resident_touch(b, &v, home, &window, KVS_ACCESS_READ));
    return resident_touch(b, &v, home, &made, KVS_ACCESS_FRESH);
}

kvs_status kvs_build_resident_accesses(struct kvs_build *b, const struct kvs_piece *piece,
                                       uint32_t device)
{
    for (uint32_t i = 0; i < piece->n_residents; i++) {
        uint32_t s = resident_number(b, piece->first_resident + i);
        if (!kvs_build_holds(b, s, device))
            continue;
        for (unsigned side = KVS_KV_SIDE_K; side <= KVS_KV_SIDE_V; side++)
            if (kvs_build_stores(b, s, device))
                KVS_TRY(resident_writes(b, s, device, (kvs_kv_side)side));
        for (unsigned side = KVS_KV_SIDE_K; side <= KVS_KV_SIDE_V; side++)
            KVS_TRY(resident_reads(b, s, device, (kvs_kv_side)side));
    }
    return KVS_OK;
}
