/*
 * Arrows from copies to the compute that reads them, and counters. Everything follows from one
 * walk over starts and ends in time: a copy that ends waits for a compute that starts and reads
 * its bytes, and leaves the ring when that compute ends.
 */
#include <stdlib.h>

#include "formats/perfetto_internal.h"

#define FLOW_NONE UINT32_MAX

/* What counts first at one instant: ends, then starts, then ends of what took no time. */
typedef enum flow_order { FLOW_END, FLOW_START, FLOW_END_AT_ONCE } flow_order;

struct flow_edge {
    kvs_time at_ps;
    uint32_t item;
    uint32_t order; /* flow_order */
};

/* A copy whose bytes lie in a slot. */
struct flow_pending {
    uint32_t copy;
    uint32_t reader; /* item, FLOW_NONE before it started */
};

typedef enum flow_counter { FLOW_H2D, FLOW_D2H, FLOW_RING, FLOW_N_COUNTERS } flow_counter;

struct flow_device {
    uint64_t value[FLOW_N_COUNTERS];        /* B/s, B/s, bytes */
    uint64_t shown[FLOW_N_COUNTERS];        /* last written */
    KVS_ARRAY(struct flow_pending) pending; /* by end of the copy */
};

struct flow {
    struct perfetto *p;
    struct flow_device *devices; /* owned, [n_devices] */
    struct flow_edge *edges;     /* owned, [n_edges] */
    size_t n_edges;
};

static kvs_time flow_duration(const struct perfetto_item *item)
{
    return item->span->end_ps - item->span->start_ps;
}

/* Whole bytes per second, so that sums return to exactly zero. */
static uint64_t flow_rate_Bps(const struct perfetto_item *item)
{
    kvs_time dur_ps = flow_duration(item);
    if (dur_ps == 0)
        return 0;
    return (uint64_t)((double)item->size_bytes * 1e12 / (double)dur_ps + 0.5);
}

static bool flow_fills_slot(const struct perfetto_item *item)
{
    return item->op->kind == KVS_OP_COPY && item->dir == KVS_H2D &&
           (item->op->tag == KVS_TAG_DELIVER || item->op->tag == KVS_TAG_LATE);
}

static int flow_compare(const void *a, const void *b)
{
    const struct flow_edge *x = a, *y = b;
    if (x->at_ps != y->at_ps)
        return x->at_ps < y->at_ps ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static void flow_add_edges(struct flow *f, uint32_t i)
{
    const struct perfetto_item *item = &f->p->items[i];
    bool is_copy = item->op->kind == KVS_OP_COPY;
    if (item->process == 0 || (!is_copy && item->op->kind != KVS_OP_COMPUTE))
        return;
    bool is_at_once = !is_copy && flow_duration(item) == 0;
    f->edges[f->n_edges++] =
        (struct flow_edge){.at_ps = item->span->start_ps, .item = i, .order = FLOW_START};
    f->edges[f->n_edges++] =
        (struct flow_edge){.at_ps = item->span->end_ps,
                           .item = i,
                           .order = is_at_once ? FLOW_END_AT_ONCE : FLOW_END};
}

static void flow_arrow_end(struct flow *f, const struct perfetto_item *item, const char *name,
                           const char *phase)
{
    struct perfetto *p = f->p;
    perfetto_event_begin(p, name, phase, item->process);
    kvs_json_u64(&p->w, "tid",
                 perfetto_engine_track((perfetto_engine)item->engine, item->lane));
    kvs_json_str(&p->w, "cat", "flow");
    kvs_json_u64(&p->w, "id", p->n_arrows);
    if (phase[0] == 'f')
        kvs_json_str(&p->w, "bp", "e");
    perfetto_event_time(p, "ts", item->span->start_ps);
    kvs_json_end(&p->w, '}');
}

/* Both ends are tied to slices by a time inside them: their starts. */
static void flow_arrow(struct flow *f, uint32_t copy, uint32_t compute)
{
    const struct perfetto_item *from = &f->p->items[copy];
    const char *name = kvs_tag_name((kvs_tag)from->op->tag);
    f->p->n_arrows++;
    flow_arrow_end(f, from, name, "s");
    flow_arrow_end(f, &f->p->items[compute], name, "f");
}

/* From the first to the last byte of a range; rows between may lie apart. */
static bool flow_is_overlapping(const struct kvs_range *a, const struct kvs_range *b)
{
    if (a->buffer != b->buffer || kvs_range_bytes(a) == 0 || kvs_range_bytes(b) == 0)
        return false;
    uint64_t a_end = a->offset + (a->rows - 1) * a->pitch + a->width;
    uint64_t b_end = b->offset + (b->rows - 1) * b->pitch + b->width;
    return a->offset < b_end && b->offset < a_end;
}

static bool flow_is_read_by(const struct perfetto_item *copy,
                            const struct perfetto_item *reader)
{
    const struct kvs_range *written = &copy->segment->accesses.items[copy->op->first_access];
    const struct kvs_range *read = &reader->segment->accesses.items[reader->op->first_access];
    for (uint32_t i = 0; i < copy->op->n_access; i++) {
        struct kvs_range to = kvs_range_at(&written[i], copy->token);
        if (to.mode != KVS_ACCESS_WRITE)
            continue;
        for (uint32_t k = 0; k < reader->op->n_access; k++) {
            struct kvs_range from = kvs_range_at(&read[k], reader->token);
            if (from.mode == KVS_ACCESS_READ && flow_is_overlapping(&to, &from))
                return true;
        }
    }
    return false;
}

static void flow_compute_starts(struct flow *f, struct flow_device *device, uint32_t compute)
{
    uint32_t last_early = FLOW_NONE;
    for (size_t i = 0; i < device->pending.n; i++) {
        struct flow_pending *pending = &device->pending.items[i];
        const struct perfetto_item *copy = &f->p->items[pending->copy];
        if (pending->reader != FLOW_NONE || !flow_is_read_by(copy, &f->p->items[compute]))
            continue;
        pending->reader = compute;
        if (copy->op->tag == KVS_TAG_LATE)
            flow_arrow(f, pending->copy, compute);
        else
            last_early = pending->copy;
    }
    if (last_early != FLOW_NONE)
        flow_arrow(f, last_early, compute);
}

static void flow_compute_ends(struct flow *f, struct flow_device *device, uint32_t compute)
{
    size_t n_kept = 0;
    for (size_t i = 0; i < device->pending.n; i++) {
        struct flow_pending pending = device->pending.items[i];
        if (pending.reader == compute)
            device->value[FLOW_RING] -= f->p->items[pending.copy].size_bytes;
        else
            device->pending.items[n_kept++] = pending;
    }
    device->pending.n = n_kept;
}

static kvs_status flow_copy_ends(struct flow *f, struct flow_device *device, uint32_t copy)
{
    const struct perfetto_item *item = &f->p->items[copy];
    struct flow_pending pending = {.copy = copy, .reader = FLOW_NONE};
    if (!flow_fills_slot(item))
        return KVS_OK;
    device->value[FLOW_RING] += item->size_bytes;
    return KVS_ARRAY_PUSH(&device->pending, pending, f->p->err);
}

static kvs_status flow_step(struct flow *f, const struct flow_edge *edge)
{
    const struct perfetto_item *item = &f->p->items[edge->item];
    struct flow_device *device = &f->devices[item->process - 1];
    bool is_start = edge->order == FLOW_START;
    if (item->op->kind == KVS_OP_COMPUTE) {
        if (is_start)
            flow_compute_starts(f, device, edge->item);
        else
            flow_compute_ends(f, device, edge->item);
        return KVS_OK;
    }
    uint64_t *rate_Bps = &device->value[item->dir == KVS_H2D ? FLOW_H2D : FLOW_D2H];
    if (is_start) {
        *rate_Bps += flow_rate_Bps(item);
        return KVS_OK;
    }
    *rate_Bps -= flow_rate_Bps(item);
    return flow_copy_ends(f, device, edge->item);
}

static void flow_show(struct flow *f, uint32_t process, kvs_time at_ps)
{
    static const struct {
        const char *name;
        const char *unit;
    } counters[FLOW_N_COUNTERS] = {
        {"h2d rate", "GB/s"}, {"d2h rate", "GB/s"}, {"ring", "bytes"}};
    struct perfetto *p = f->p;
    struct flow_device *device = &f->devices[process - 1];
    for (unsigned i = 0; i < FLOW_N_COUNTERS; i++) {
        if (device->value[i] == device->shown[i])
            continue;
        device->shown[i] = device->value[i];
        perfetto_event_begin(p, counters[i].name, "C", process);
        perfetto_event_time(p, "ts", at_ps);
        kvs_json_begin(&p->w, "args", '{');
        if (i == FLOW_RING)
            kvs_json_u64(&p->w, counters[i].unit, device->value[i]);
        else
            kvs_json_f64(&p->w, counters[i].unit, (double)device->value[i] * 1e-9);
        kvs_json_end(&p->w, '}');
        kvs_json_end(&p->w, '}');
    }
}

/* Counters are written once per instant, after everything that happens at it. */
static kvs_status flow_walk(struct flow *f)
{
    for (size_t first = 0; first < f->n_edges;) {
        size_t end = first;
        kvs_time at_ps = f->edges[first].at_ps;
        for (; end < f->n_edges && f->edges[end].at_ps == at_ps; end++)
            KVS_TRY(flow_step(f, &f->edges[end]));
        for (; first < end; first++)
            flow_show(f, f->p->items[f->edges[first].item].process, at_ps);
    }
    return KVS_OK;
}

kvs_status perfetto_flows_write(struct perfetto *p)
{
    struct flow f = {.p = p};
    void *memory;
    kvs_status status;
    if (p->n_items >= FLOW_NONE)
        return kvs_error_set(p->err, KVS_ERANGE, "trace: more than %u spans", FLOW_NONE);
    KVS_TRY(kvs_mem_alloc(p->machine->n_devices, sizeof *f.devices, &memory, p->err));
    f.devices = memory;
    KVS_TRY_GOTO(kvs_mem_alloc(p->n_items * 2, sizeof *f.edges, &memory, p->err), out);
    f.edges = memory;
    for (uint32_t i = 0; i < p->n_items; i++)
        flow_add_edges(&f, i);
    qsort(f.edges, f.n_edges, sizeof *f.edges, flow_compare);
    status = flow_walk(&f);
out:
    for (uint32_t d = 0; d < p->machine->n_devices; d++)
        KVS_ARRAY_FREE(&f.devices[d].pending);
    kvs_mem_free(f.devices);
    kvs_mem_free(f.edges);
    return status;
}
