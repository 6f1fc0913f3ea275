/* What the writer of traces shares among its files; private to formats/perfetto*.c. */
#ifndef KVS_FORMATS_PERFETTO_INTERNAL_H
#define KVS_FORMATS_PERFETTO_INTERNAL_H

#include "base/json.h"
#include "formats/perfetto.h"

typedef enum perfetto_engine {
    PERFETTO_HOST, /* the host thread */
    PERFETTO_COMPUTE,
    PERFETTO_H2D, /* both directions on a card with one engine */
    PERFETTO_D2H,
    PERFETTO_N_ENGINES
} perfetto_engine;

/* A span and what the plan says about it. */
struct perfetto_item {
    const struct kvs_span *span;
    const struct kvs_op *op;
    const struct kvs_segment *segment;
    uint32_t token;   /* of the segment */
    uint16_t process; /* 0: host, d + 1: device d */
    uint8_t engine;   /* perfetto_engine */
    uint8_t dir;      /* kvs_dir, of copies */
    bool was_idle;    /* its queue had nothing under way when it was issued */
    bool is_beside;   /* runs without its engine */
    uint32_t lane;    /* 0: the engine's own track, more: beside it */
    kvs_time head_ps; /* at the head of its queue: not before issue and its predecessor's end */
    uint64_t size_bytes;
};

struct perfetto {
    const struct kvs_plan *plan;
    const struct kvs_timeline *timeline;
    const struct kvs_machine *machine;
    const char *name;       /* before the names of processes, or "" */
    uint32_t first_process; /* number of the host */
    uint64_t n_arrows;      /* of the whole trace so far */
    struct kvs_json_writer w;
    struct kvs_error *err;
    struct perfetto_item *items; /* owned, [n_items], by start, end, place in the timeline */
    size_t n_items;
    uint32_t *n_lanes; /* owned, [n_devices + 1][PERFETTO_N_ENGINES] */
};

/* perfetto_items.c: resolves the spans, gives them engines and lanes. */
kvs_status perfetto_items_create(struct perfetto *p);
void perfetto_items_destroy(struct perfetto *p);

/* Track numbers inside a process. */
static inline uint32_t perfetto_engine_track(perfetto_engine engine, uint32_t lane)
{
    return 1 + (uint32_t)engine + lane * PERFETTO_N_ENGINES;
}
static inline uint32_t perfetto_queue_track(uint32_t queue)
{
    return 1000000 + queue;
}

/* perfetto.c: pieces of an event. begin opens {"name", "ph", "pid"}; the caller ends the
 * object. */
void perfetto_event_begin(struct perfetto *p, const char *name, const char *phase,
                          uint32_t process);
void perfetto_event_time(struct perfetto *p, const char *key, kvs_time ps);

/* perfetto_flow.c: arrows and counters. */
kvs_status perfetto_flows_write(struct perfetto *p);

#endif
