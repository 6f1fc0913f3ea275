/* The trace's frame: names of processes and tracks, and a slice or two per operation. */
#include "formats/perfetto.h"

#include <inttypes.h>
#include <stdio.h>

#include "formats/perfetto_internal.h"

void perfetto_event_begin(struct perfetto *p, const char *name, const char *phase,
                          uint32_t process)
{
    kvs_text_puts(p->w.text, "\n");
    kvs_json_begin(&p->w, NULL, '{');
    kvs_json_str(&p->w, "name", name);
    kvs_json_str(&p->w, "ph", phase);
    kvs_json_u64(&p->w, "pid", p->first_process + process);
}

/* Microseconds with six digits, without a detour through double. Never the first key of an
 * object. */
void perfetto_event_time(struct perfetto *p, const char *key, kvs_time ps)
{
    KVS_ASSERT(ps >= 0);
    kvs_text_printf(p->w.text, ",\"%s\":%lld.%06lld", key, (long long)(ps / KVS_PS_PER_US),
                    (long long)(ps % KVS_PS_PER_US));
}

/* Metadata about a process (track 0) or one of its tracks; tracks are numbered from 1. */
static void perfetto_metadata_begin(struct perfetto *p, const char *kind, uint32_t process,
                                    uint32_t track)
{
    perfetto_event_begin(p, kind, "M", process);
    if (track > 0)
        kvs_json_u64(&p->w, "tid", track);
    kvs_json_begin(&p->w, "args", '{');
}

static void perfetto_metadata_end(struct perfetto *p)
{
    kvs_json_end(&p->w, '}');
    kvs_json_end(&p->w, '}');
}

static void perfetto_name_process(struct perfetto *p, uint32_t process, const char *name)
{
    char full[160];
    snprintf(full, sizeof full, "%s%s%s", p->name, p->name[0] != '\0' ? ": " : "", name);
    perfetto_metadata_begin(p, "process_name", process, 0);
    kvs_json_str(&p->w, "name", full);
    perfetto_metadata_end(p);
    perfetto_metadata_begin(p, "process_sort_index", process, 0);
    kvs_json_u64(&p->w, "sort_index", p->first_process + process);
    perfetto_metadata_end(p);
}

static void perfetto_name_track(struct perfetto *p, uint32_t process, uint32_t track,
                                const char *name)
{
    perfetto_metadata_begin(p, "thread_name", process, track);
    kvs_json_str(&p->w, "name", name);
    perfetto_metadata_end(p);
    perfetto_metadata_begin(p, "thread_sort_index", process, track);
    kvs_json_u64(&p->w, "sort_index", track);
    perfetto_metadata_end(p);
}

static const char *perfetto_engine_name(const struct perfetto *p, uint32_t process,
                                        perfetto_engine engine)
{
    static const char *const names[] = {"host", "compute", "h2d engine", "d2h engine"};
    bool is_shared = process > 0 && engine == PERFETTO_H2D &&
                     p->machine->devices[process - 1].engines.n_engines == 1;
    return is_shared ? "copy engine" : names[engine];
}

static void perfetto_name_engines(struct perfetto *p, uint32_t process)
{
    for (unsigned engine = 0; engine < PERFETTO_N_ENGINES; engine++) {
        uint32_t n_lanes = p->n_lanes[process * PERFETTO_N_ENGINES + engine];
        const char *base = perfetto_engine_name(p, process, (perfetto_engine)engine);
        for (uint32_t lane = 0; lane < n_lanes; lane++) {
            char name[48];
            if (lane < 2)
                snprintf(name, sizeof name, "%s%s", base, lane == 1 ? ", beside" : "");
            else
                snprintf(name, sizeof name, "%s, beside (%" PRIu32 ")", base, lane);
            perfetto_name_track(p, process,
                                perfetto_engine_track((perfetto_engine)engine, lane), name);
        }
    }
}

/* Processes of the devices that the plan uses, engines before queues. */
static void perfetto_write_names(struct perfetto *p)
{
    for (uint32_t process = 0; process <= p->machine->n_devices; process++) {
        const struct kvs_device *device =
            process > 0 ? &p->machine->devices[process - 1] : NULL;
        char name[80] = "host";
        if (device && process > p->plan->n_devices)
            break;
        if (device)
            snprintf(name, sizeof name, "%s%s%s", device->name, device->gpu[0] ? ": " : "",
                     device->gpu);
        perfetto_name_process(p, process, name);
        perfetto_name_engines(p, process);
    }
    for (uint32_t i = 0; i < p->plan->queues.n; i++) {
        const struct kvs_queue *queue = &p->plan->queues.items[i];
        if (queue->device != KVS_HOST_DEVICE)
            perfetto_name_track(p, queue->device + 1u, perfetto_queue_track(i), queue->name);
    }
}

static void perfetto_label(const struct perfetto_item *item, char *buf, size_t cap)
{
    const char *tag = kvs_tag_name((kvs_tag)item->op->tag);
    if (item->op->layer == KVS_NO_LAYER)
        snprintf(buf, cap, "%s", tag);
    else
        snprintf(buf, cap, "%s L%u", tag, item->op->layer);
}

static void perfetto_slice(struct perfetto *p, const struct perfetto_item *item,
                           const char *name, const char *category, uint32_t track,
                           kvs_time from_ps, kvs_time to_ps)
{
    perfetto_event_begin(p, name, "X", item->process);
    kvs_json_u64(&p->w, "tid", track);
    kvs_json_str(&p->w, "cat", category);
    perfetto_event_time(p, "ts", from_ps);
    perfetto_event_time(p, "dur", to_ps - from_ps);
}

/* With what a reader asks of a slice: which token, which operation, how many bytes, how fast.
 */
static void perfetto_operation(struct perfetto *p, const struct perfetto_item *item,
                               const char *category, uint32_t track, kvs_time from_ps)
{
    const struct kvs_span *span = item->span;
    kvs_time dur_ps = span->end_ps - span->start_ps;
    char name[48];
    perfetto_label(item, name, sizeof name);
    perfetto_slice(p, item, name, category, track, from_ps, span->end_ps);
    kvs_json_begin(&p->w, "args", '{');
    kvs_json_str(&p->w, "kind", kvs_op_kind_name((kvs_op_kind)item->op->kind));
    kvs_json_u64(&p->w, "token", span->token);
    kvs_json_u64(&p->w, "segment", span->segment);
    kvs_json_u64(&p->w, "op", span->op);
    if (item->size_bytes > 0)
        kvs_json_u64(&p->w, "bytes", item->size_bytes);
    if (item->op->kind == KVS_OP_COPY && dur_ps > 0)
        kvs_json_f64(&p->w, "GBps", (double)item->size_bytes * 1e3 / (double)dur_ps);
    kvs_json_end(&p->w, '}');
    kvs_json_end(&p->w, '}');
}

/* On the host's track: it waits for the operation from issue to end. */
static void perfetto_write_blocked_host(struct perfetto *p, const struct perfetto_item *item)
{
    const struct kvs_span *span = item->span;
    char label[48], name[64];
    if (span->issue_ps >= span->end_ps)
        return;
    perfetto_label(item, label, sizeof label);
    snprintf(name, sizeof name, "blocked: %s", label);
    perfetto_event_begin(p, name, "X", 0);
    kvs_json_u64(&p->w, "tid", perfetto_engine_track(PERFETTO_HOST, 0));
    kvs_json_str(&p->w, "cat", "blocked");
    perfetto_event_time(p, "ts", span->issue_ps);
    perfetto_event_time(p, "dur", span->end_ps - span->issue_ps);
    kvs_json_end(&p->w, '}');
}

static void perfetto_write_item(struct perfetto *p, const struct perfetto_item *item)
{
    const struct kvs_span *span = item->span;
    uint32_t queue_track = perfetto_queue_track(span->queue);
    perfetto_operation(p, item, "engine",
                       perfetto_engine_track((perfetto_engine)item->engine, item->lane),
                       span->start_ps);
    if (item->process == 0)
        return;
    if (item->op->flags & KVS_OP_BLOCKS)
        perfetto_write_blocked_host(p, item);
    perfetto_operation(p, item, "queue", queue_track, item->head_ps);
    kvs_time ready_ps = span->ready_ps < span->start_ps ? span->ready_ps : span->start_ps;
    ready_ps = ready_ps > item->head_ps ? ready_ps : item->head_ps;
    if (ready_ps > item->head_ps) {
        perfetto_slice(p, item, "blocked", "wait", queue_track, item->head_ps, ready_ps);
        kvs_json_end(&p->w, '}');
    }
    if (span->start_ps > ready_ps) {
        perfetto_slice(p, item, "queued", "wait", queue_track, ready_ps, span->start_ps);
        kvs_json_end(&p->w, '}');
    }
}

static kvs_status perfetto_write_part(struct perfetto *p)
{
    if (p->plan->n_devices > p->machine->n_devices)
        return kvs_error_set(p->err, KVS_EINVAL,
                             "trace: the plan has %u devices, the machine %u",
                             p->plan->n_devices, p->machine->n_devices);
    kvs_status status = perfetto_items_create(p);
    if (status == KVS_OK) {
        perfetto_write_names(p);
        for (size_t i = 0; i < p->n_items; i++)
            perfetto_write_item(p, &p->items[i]);
        status = perfetto_flows_write(p);
    }
    perfetto_items_destroy(p);
    return status;
}

kvs_status kvs_perfetto_write_parts(const struct kvs_perfetto_part *parts, size_t n,
                                    const struct kvs_machine *machine, struct kvs_text *out,
                                    struct kvs_error *err)
{
    struct perfetto p = {.machine = machine, .w = {.text = out}, .err = err};
    kvs_json_begin(&p.w, NULL, '{');
    kvs_json_str(&p.w, "displayTimeUnit", "ms");
    kvs_json_begin(&p.w, "traceEvents", '[');
    for (size_t i = 0; i < n; i++) {
        p.name = parts[i].name;
        p.plan = parts[i].plan;
        p.timeline = parts[i].timeline;
        p.first_process = (uint32_t)i * (machine->n_devices + 1u);
        KVS_TRY(perfetto_write_part(&p));
    }
    kvs_text_puts(out, "\n");
    kvs_json_end(&p.w, ']');
    kvs_json_end(&p.w, '}');
    kvs_text_puts(out, "\n");
    if (out->status != KVS_OK)
        return kvs_error_set(err, out->status, "trace: %s", kvs_status_text(out->status));
    return KVS_OK;
}

kvs_status kvs_perfetto_write(const struct kvs_plan *plan, const struct kvs_timeline *timeline,
                              const struct kvs_machine *machine, struct kvs_text *out,
                              struct kvs_error *err)
{
    struct kvs_perfetto_part part = {.name = "", .plan = plan, .timeline = timeline};
    return kvs_perfetto_write_parts(&part, 1, machine, out, err);
}
