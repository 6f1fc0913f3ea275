/*
 * A timeline as Chrome trace JSON, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
 *
 * What is in it, times in microseconds with six digits, so exact to the picosecond:
 *
 * Processes: 0 is the host, d + 1 is device d, called as in the machine file.
 *
 * Tracks of a device: its compute and its copy engines, then its queues; of the host: its
 * thread, with its own work and waits, and "blocked" while it waits for an operation that holds
 * it up.
 *
 * On engine tracks a slice goes from start to end, "deliver L7", with token, op, bytes and
 * rate. A copy runs on the copy engine of its direction (one track for both when the card has
 * one engine), or on compute when a kernel makes it. Nothing overlaps on one track: what runs
 * beside an engine (a copy small enough to skip it, a yield) has a track "beside" it.
 *
 * On queue tracks a slice goes from the moment the operation is at the head of its queue
 * (issued, the one before it ended) to its end; inside it "blocked" until its dependencies are
 * met and "queued" until it starts.
 *
 * Flows: an arrow from the last early copy into a slot to the compute that reads it, and one
 * from every late copy.
 *
 * Counters: "h2d rate" and "d2h rate" in GB/s are bytes of the copies under way, each spread
 * over its own duration (payload of collectives is not a copy and not counted); "ring" in
 * bytes, early and late bytes copied in and not yet released by the compute that reads them.
 *
 * The order is fixed, so equal timelines give equal bytes.
 */
#ifndef KVS_FORMATS_PERFETTO_H
#define KVS_FORMATS_PERFETTO_H

#include "base/text.h"
#include "models/machine.h"
#include "sched/plan.h"
#include "sched/timeline.h"

/*
 * Appends the trace to out. The machine gives names, engine counts and which copies skip an
 * engine. Errors: KVS_EINVAL for a timeline that does not belong to the plan or the machine, or
 * whose spans end before they start; out then holds a part of a trace.
 */
kvs_status kvs_perfetto_write(const struct kvs_plan *plan, const struct kvs_timeline *timeline,
                              const struct kvs_machine *machine, struct kvs_text *out,
                              struct kvs_error *err) KVS_MUST_USE;

/* One of several runs in a trace. All borrowed. */
struct kvs_perfetto_part {
    const char *name; /* stands before the names of its processes: "ordered: gpu0" */
    const struct kvs_plan *plan;
    const struct kvs_timeline *timeline;
};

/* The same for several runs side by side, each with processes of its own: those of part i are
 * numbered from i x (devices of the machine + 1). */
kvs_status kvs_perfetto_write_parts(const struct kvs_perfetto_part *parts, size_t n,
                                    const struct kvs_machine *machine, struct kvs_text *out,
                                    struct kvs_error *err) KVS_MUST_USE;

#endif
