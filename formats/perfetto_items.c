/* From spans to slices: which engine an operation occupied, and on which of its tracks it fits.
 */
#include <stdlib.h>

#include "formats/perfetto_internal.h"
#include "models/copy.h"

static kvs_status items_invalid(const struct perfetto *p, size_t i, const char *what)
{
    return kvs_error_set(p->err, KVS_EINVAL, "timeline: spans[%zu]: %s", i, what);
}

static kvs_status items_check(const struct perfetto *p, size_t i)
{
    const struct kvs_span *span = &p->timeline->spans.items[i];
    if (span->segment >= p->plan->segments.n ||
        span->op >= p->plan->segments.items[span->segment].ops.n ||
        span->queue != p->plan->segments.items[span->segment].ops.items[span->op].queue ||
        span->queue >= p->plan->queues.n)
        return items_invalid(p, i, "no such operation in the plan");
    uint16_t device = p->plan->queues.items[span->queue].device;
    if (device != KVS_HOST_DEVICE && device >= p->plan->n_devices)
        return items_invalid(p, i, "no such device in the plan");
    if (span->start_ps < 0 || span->end_ps < span->start_ps)
        return items_invalid(p, i, "must start at 0 or later and end after that");
    return KVS_OK;
}

static uint64_t items_copied_bytes(const struct perfetto_item *item)
{
    uint64_t size_bytes = 0;
    for (uint32_t i = 0; i < item->op->n_access; i++) {
        struct kvs_range at = kvs_range_at(
            &item->segment->accesses.items[item->op->first_access + i], item->token);
        if (at.mode == KVS_ACCESS_READ)
            size_bytes += kvs_range_bytes(&at);
    }
    return size_bytes;
}

static uint64_t items_bytes(const struct perfetto_item *item)
{
    switch ((kvs_op_kind)item->op->kind) {
    case KVS_OP_COPY:
        return items_copied_bytes(item);
    case KVS_OP_COMPUTE:
        return item->op->compute.kv_bytes;
    case KVS_OP_COLLECTIVE:
        return item->op->collective.size_bytes;
    case KVS_OP_HOST:
    case KVS_OP_WAIT:
    case KVS_OP_KIND_COUNT:
        break;
    }
    return 0;
}

static perfetto_engine items_engine(const struct perfetto *p, const struct perfetto_item *item)
{
    if (item->process == 0)
        return PERFETTO_HOST;
    if (item->op->kind != KVS_OP_COPY || (item->op->flags & KVS_OP_VIA_KERNEL))
        return PERFETTO_COMPUTE;
    bool is_shared = p->machine->devices[item->process - 1].engines.n_engines == 1;
    return item->dir == KVS_D2H && !is_shared ? PERFETTO_D2H : PERFETTO_H2D;
}

static void items_fill(const struct perfetto *p, size_t i, uint32_t first_token,
                       struct perfetto_item *item)
{
    const struct kvs_span *span = &p->timeline->spans.items[i];
    uint16_t device = p->plan->queues.items[span->queue].device;
    item->span = span;
    item->segment = &p->plan->segments.items[span->segment];
    item->op = &item->segment->ops.items[span->op];
    item->token = span->token - first_token;
    item->process = device == KVS_HOST_DEVICE ? 0 : (uint16_t)(device + 1);
    item->dir = item->op->flags & KVS_OP_D2H ? KVS_D2H : KVS_H2D;
    item->engine = (uint8_t)items_engine(p, item);
    item->size_bytes = items_bytes(item);
}

static int items_compare(const void *a, const void *b)
{
    const struct kvs_span *x = ((const struct perfetto_item *)a)->span;
    const struct kvs_span *y = ((const struct perfetto_item *)b)->span;
    if (x->start_ps != y->start_ps)
        return x->start_ps < y->start_ps ? -1 : 1;
    if (x->end_ps != y->end_ps)
        return x->end_ps < y->end_ps ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* When each operation came to the head of its queue; a stale issue time never reaches past
 * start. */
static kvs_status items_set_heads(struct perfetto *p)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(p->plan->queues.n, sizeof(kvs_time), &memory, p->err));
    kvs_time *end_ps = memory;
    for (size_t i = 0; i < p->n_items; i++) {
        struct perfetto_item *item = &p->items[i];
        const struct kvs_span *span = item->span;
        kvs_time *last_ps = &end_ps[span->queue];
        item->was_idle = *last_ps <= span->issue_ps;
        kvs_time head_ps = *last_ps > span->issue_ps ? *last_ps : span->issue_ps;
        item->head_ps = head_ps < span->start_ps ? head_ps : span->start_ps;
        *last_ps = span->end_ps;
    }
    kvs_mem_free(memory);
    return KVS_OK;
}

/* May skip its engine by the machine's rules (docs/copy-engine.md). */
static bool items_may_bypass(const struct perfetto *p, const struct perfetto_item *item)
{
    if (item->op->kind != KVS_OP_COPY || item->engine == PERFETTO_COMPUTE || !item->was_idle)
        return false;
    return kvs_copy_bypasses(&p->machine->devices[item->process - 1].engines, item->size_bytes,
                             (item->op->flags & KVS_OP_2D) != 0,
                             (item->op->flags & KVS_OP_PAGEABLE) != 0);
}

static size_t items_engine_index(const struct perfetto_item *item)
{
    return (size_t)item->process * PERFETTO_N_ENGINES + item->engine;
}

/*
 * A timeline does not say whether a copy skipped its engine. One that may do so did, if another
 * copy takes the engine before it ends: hence from the last item to the first, with the start
 * of the next one that needs the engine.
 */
static kvs_status items_set_beside(struct perfetto *p, size_t n_engines)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(n_engines, sizeof(kvs_time), &memory, p->err));
    kvs_time *next_ps = memory;
    for (size_t i = 0; i < n_engines; i++)
        next_ps[i] = INT64_MAX;
    for (size_t i = p->n_items; i-- > 0;) {
        struct perfetto_item *item = &p->items[i];
        kvs_time *next = &next_ps[items_engine_index(item)];
        if (item->op->flags & KVS_OP_LIGHT)
            item->is_beside = true;
        else if (items_may_bypass(p, item))
            item->is_beside = *next < item->span->end_ps;
        else
            *next = item->span->start_ps;
    }
    kvs_mem_free(next_ps);
    return KVS_OK;
}

/* Ends of the lanes of all engines: a list per engine of a process. */
struct items_lanes {
    KVS_ARRAY(kvs_time) ends;
};

static kvs_status items_place(struct perfetto *p, struct items_lanes *lanes,
                              struct perfetto_item *item)
{
    size_t lane = item->is_beside ? 1 : 0;
    while (lane < lanes->ends.n && lanes->ends.items[lane] > item->span->start_ps)
        lane++;
    while (lanes->ends.n <= lane)
        KVS_TRY(KVS_ARRAY_PUSH(&lanes->ends, 0, p->err));
    lanes->ends.items[lane] = item->span->end_ps;
    item->lane = (uint32_t)lane;
    return KVS_OK;
}

static kvs_status items_set_lanes(struct perfetto *p, size_t n_engines)
{
    void *memory;
    kvs_status status;
    KVS_TRY(kvs_mem_alloc(n_engines, sizeof(struct items_lanes), &memory, p->err));
    struct items_lanes *lanes = memory;
    for (size_t i = 0; i < p->n_items; i++) {
        struct perfetto_item *item = &p->items[i];
        KVS_TRY_GOTO(items_place(p, &lanes[items_engine_index(item)], item), out);
    }
    KVS_TRY_GOTO(kvs_mem_alloc(n_engines, sizeof *p->n_lanes, &memory, p->err), out);
    p->n_lanes = memory;
    for (size_t i = 0; i < n_engines; i++)
        p->n_lanes[i] = (uint32_t)lanes[i].ends.n;
out:
    for (size_t i = 0; i < n_engines; i++)
        KVS_ARRAY_FREE(&lanes[i].ends);
    kvs_mem_free(lanes);
    return status;
}

/* items[i].token counts from the start of its segment. */
static kvs_status items_resolve(struct perfetto *p)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(p->plan->segments.n, sizeof(uint32_t), &memory, p->err));
    uint32_t *first = memory;
    kvs_status status = KVS_OK;
    for (size_t i = 1; i < p->plan->segments.n; i++)
        first[i] = first[i - 1] + p->plan->segments.items[i - 1].n_tokens;
    for (size_t i = 0; i < p->n_items && status == KVS_OK; i++) {
        const struct kvs_span *span = &p->timeline->spans.items[i];
        status = items_check(p, i);
        if (status == KVS_OK && span->token - first[span->segment] >=
                                    p->plan->segments.items[span->segment].n_tokens)
            status = items_invalid(p, i, "token outside its segment");
        if (status == KVS_OK)
            items_fill(p, i, first[span->segment], &p->items[i]);
    }
    kvs_mem_free(first);
    return status;
}

kvs_status perfetto_items_create(struct perfetto *p)
{
    size_t n_engines = ((size_t)p->machine->n_devices + 1) * PERFETTO_N_ENGINES;
    void *memory;
    p->n_items = p->timeline->spans.n;
    KVS_TRY(kvs_mem_alloc(p->n_items, sizeof *p->items, &memory, p->err));
    p->items = memory;
    KVS_TRY(items_resolve(p));
    qsort(p->items, p->n_items, sizeof *p->items, items_compare);
    KVS_TRY(items_set_heads(p));
    KVS_TRY(items_set_beside(p, n_engines));
    return items_set_lanes(p, n_engines);
}

void perfetto_items_destroy(struct perfetto *p)
{
    kvs_mem_free(p->items);
    kvs_mem_free(p->n_lanes);
    p->items = NULL;
    p->n_lanes = NULL;
}
