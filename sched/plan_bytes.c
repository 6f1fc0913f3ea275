/* Races on the bytes of buffers. */
#include "sched/plan_bytes.h"

#include <inttypes.h>

enum { BYTES_FIRST_PRUNE = 16 };

kvs_status kvs_bytes_init(struct kvs_bytes *bytes, const struct kvs_plan *plan,
                          struct kvs_error *err)
{
    void *memory = NULL;
    *bytes = (struct kvs_bytes){.plan = plan};
    KVS_TRY(kvs_mem_alloc(plan->buffers.n, sizeof *bytes->buffers, &memory, err));
    bytes->buffers = memory;
    return KVS_OK;
}

void kvs_bytes_fini(struct kvs_bytes *bytes)
{
    for (size_t i = 0; bytes->buffers && i < bytes->plan->buffers.n; i++) {
        KVS_ARRAY_FREE(&bytes->buffers[i].reads.items);
        KVS_ARRAY_FREE(&bytes->buffers[i].writes.items);
    }
    kvs_mem_free(bytes->buffers);
}

uint64_t kvs_bytes_size_bytes(const struct kvs_bytes *bytes)
{
    uint64_t size_bytes = bytes->plan->buffers.n * sizeof *bytes->buffers;
    for (size_t i = 0; i < bytes->plan->buffers.n; i++)
        size_bytes +=
            (bytes->buffers[i].reads.items.capacity + bytes->buffers[i].writes.items.capacity) *
            sizeof(struct kvs_touch);
    return size_bytes;
}

static void bytes_span_add(struct kvs_touch_list *list, const struct kvs_area *area)
{
    uint64_t end = kvs_area_end(area);
    if (list->items.n == 0 || area->offset < list->lo)
        list->lo = area->offset;
    if (list->items.n == 0 || end > list->hi)
        list->hi = end;
}

static void bytes_keep(struct kvs_touch_list *list, const struct kvs_touch *touch,
                       size_t *n_kept)
{
    size_t n = list->items.n;
    list->items.n = *n_kept;
    bytes_span_add(list, &touch->area);
    list->items.n = n;
    list->items.items[(*n_kept)++] = *touch;
}

static kvs_status bytes_fault(const struct kvs_bytes *bytes, const struct kvs_hb *hb,
                              const struct kvs_area *area, bool is_write,
                              const struct kvs_touch *other, bool other_writes,
                              struct kvs_error *err)
{
    uint64_t lo = area->offset > other->area.offset ? area->offset : other->area.offset;
    uint64_t hi = kvs_area_end(area);
    if (hi > kvs_area_end(&other->area))
        hi = kvs_area_end(&other->area);
    char text[KVS_OP_TEXT_BYTES];
    bool is_elsewhere =
        other->ref.token != hb->now.token || other->ref.segment != hb->now.segment;
    kvs_op_ref_print(bytes->plan, other->ref, is_elsewhere, text);
    kvs_status status = kvs_plan_fault(
        bytes->plan, hb->now, err,
        "%s %s bytes [%" PRIu64 ", %" PRIu64 ") while %s may still be %s them",
        is_write ? "writes" : "reads", bytes->plan->buffers.items[area->buffer].name, lo, hi,
        text, other_writes ? "writing" : "reading");
    kvs_plan_hint_dep(bytes->plan, other->ref, hb->now, err);
    return status;
}

/* Compares area with a list, drops what can no longer matter, and reports the first race. */
static kvs_status bytes_scan(struct kvs_bytes *bytes, const struct kvs_hb *hb,
                             const struct kvs_area *area, bool is_write,
                             struct kvs_touch_list *list, bool list_writes,
                             struct kvs_error *err)
{
    if (list->items.n == 0 || area->offset >= list->hi || kvs_area_end(area) <= list->lo)
        return KVS_OK;
    bytes->n_visited += list->items.n;
    size_t n_kept = 0;
    for (size_t i = 0; i < list->items.n; i++) {
        const struct kvs_touch touch = list->items.items[i];
        if (kvs_hb_is_past(hb, touch.queue, touch.index))
            continue;
        if (kvs_area_overlaps(area, &touch.area)) {
            if (!kvs_hb_precedes(hb, touch.queue, touch.index))
                return bytes_fault(bytes, hb, area, is_write, &touch, list_writes, err);
            if (is_write && kvs_area_covers(area, &touch.area))
                continue;
        }
        bytes_keep(list, &touch, &n_kept);
    }
    list->items.n = n_kept;
    return KVS_OK;
}

static void bytes_prune(struct kvs_touch_list *list, const struct kvs_hb *hb)
{
    size_t n_kept = 0;
    for (size_t i = 0; i < list->items.n; i++) {
        const struct kvs_touch touch = list->items.items[i];
        if (!kvs_hb_is_past(hb, touch.queue, touch.index))
            bytes_keep(list, &touch, &n_kept);
    }
    list->items.n = n_kept;
    list->prune_at = 2 * n_kept + BYTES_FIRST_PRUNE;
}

kvs_status kvs_bytes_touch(struct kvs_bytes *bytes, const struct kvs_hb *hb,
                           const struct kvs_area *area, bool is_write, struct kvs_error *err)
{
    struct kvs_bytes_buffer *buffer = &bytes->buffers[area->buffer];
    KVS_TRY(bytes_scan(bytes, hb, area, is_write, &buffer->writes, true, err));
    if (is_write)
        KVS_TRY(bytes_scan(bytes, hb, area, is_write, &buffer->reads, false, err));
    struct kvs_touch_list *list = is_write ? &buffer->writes : &buffer->reads;
    struct kvs_touch touch = {
        .area = *area, .ref = hb->now, .index = kvs_hb_now_index(hb), .queue = hb->now_queue};
    if (hb->now_queue == KVS_HOST_QUEUE)
        return KVS_OK; /* ended before anything that is issued from now on */
    if (list->items.n >= list->prune_at)
        bytes_prune(list, hb);
    bytes_span_add(list, area);
    return KVS_ARRAY_PUSH(&list->items, touch, err);
}
