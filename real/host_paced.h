/*
 * State of a plan that runs in wall-clock time; private to the host executor.
 *
 * It is a real concurrent program. The calling thread is the plan's host: it issues, works and
 * waits. A device has a thread per copy engine, one for its compute, and one for what runs beside
 * (real/host_worker.c). They move the bytes and sleep until it is time. Who starts when is decided
 * under one lock, which nobody holds while he moves bytes or sleeps:
 *
 * - Model time is the wall clock since the start, divided by the scale. Whatever ends or begins
 *   has a model time and happens once the clock has passed it (paced_advance). The thread that
 *   wakes first carries out all that is due, in the order of model time: that the system lets one
 *   thread sleep longer than another must not decide what an engine serves next.
 * - An operation starts at the model time of what it waited for last, not when a thread noticed.
 *   So late wake-ups do not add up, neither on an engine nor along a chain.
 * - An operation ends at its deadline and not before its bytes are moved. Where they take longer,
 *   or where a thread came so late that there was no time left, it ends when they are moved: time
 *   is lost, and counted.
 * - The host thread has a clock of its own (host.now_ps): calls cost far less than a sleep is
 *   precise, so it sleeps only when it is ahead of the wall clock. When it is behind, nothing
 *   happens past its next act before it has acted (paced_is_held).
 *
 * Every queue has at most one operation under way, its head, and so at most one event. A queue's
 * event is waited for by the thread that carries the head; any other may find it due.
 */
#ifndef KVS_REAL_HOST_PACED_H
#define KVS_REAL_HOST_PACED_H

#include "models/arbiter.h"
#include "models/share.h"
#include "real/exec_host.h"
#include "real/host_clock.h"
#include "real/memory.h"
#include "sched/cost.h"

#define PACED_NONE UINT32_MAX

typedef enum paced_head {
    PACED_HEAD_NONE,     /* nothing issued, or not looked at yet */
    PACED_HEAD_BLOCKED,  /* waits for a dependency */
    PACED_HEAD_DELAYED,  /* dependencies met; starts after the hop */
    PACED_HEAD_WAITING,  /* for its copy engine, the compute engine, or the other members */
    PACED_HEAD_OVERHEAD, /* a copy on a shared path, before its bytes count there */
    PACED_HEAD_TRIP,     /* a collective between its dependent host reads */
    PACED_HEAD_RUNNING   /* ends at its event */
} paced_head;

/* Of a head under way: an operation's real bytes. */
typedef enum paced_bytes {
    PACED_BYTES_NONE,
    PACED_BYTES_WAITING, /* for its thread */
    PACED_BYTES_HALF,    /* a compute has read its first part; the rest waits for its time */
    PACED_BYTES_MOVING,  /* the thread is outside of the lock */
    PACED_BYTES_MOVED
} paced_bytes;

typedef enum paced_lane {
    PACED_LANE_H2D, /* the copy engines; both directions are here when there is but one */
    PACED_LANE_D2H,
    PACED_LANE_COMPUTE,
    PACED_LANE_BESIDE, /* light kernels, kernel copies, copies that skip the engine */
    PACED_N_LANES
} paced_lane;

struct paced_op {
    kvs_time work_ps;     /* compute at full speed, host work, idle all-reduce */
    kvs_time call_ps;     /* host time until the device sees it, events included */
    double ps_per_byte;   /* copies on an engine */
    kvs_time done_ps;     /* end of its latest instance */
    uint32_t done_before; /* token before which all its instances are over */
    uint32_t waiters;     /* first queue that waits for it, PACED_NONE: none */
    kvs_op_class cls;
    bool has_steps; /* compute and collectives: there are bytes to read */
    bool has_end;   /* compute: some of them at its end */
};

struct paced_segment {
    const struct kvs_segment *plan; /* borrowed */
    struct paced_op *ops;           /* owned, [n_ops of the plan's] */
    uint32_t first_token, end_token;
};

struct paced_instance {
    uint32_t segment;
    uint32_t token; /* of the plan */
    kvs_op_id op;
    bool was_idle; /* its queue had nothing under way when it was issued */
    kvs_time issue_ps;
};

struct paced_queue {
    uint16_t device;
    paced_head head;
    bool is_dirty;
    struct paced_instance *instances; /* owned ring, [mask + 1]; the head is n_done & mask */
    uint32_t mask;
    uint64_t n_issued;
    uint64_t n_done;
    struct paced_worker *worker; /* of the head, once it has an event */
    kvs_time event_ps;           /* PACED_NEVER: none */
    uint64_t event_number;       /* events of one time happen in the order they were set */
    uint64_t arrival;            /* of a waiting head: engines with ties take the first */
    uint32_t next_dep;           /* dependencies of the head already met */
    uint32_t next_waiter;        /* for the same operation */
    uint32_t trips_left;
    bool is_on_engine;
    bool is_beside; /* a kernel copy: the h2d engine moves bytes as well */
    paced_bytes bytes;
    double n_bytes; /* of the head, once it is a copy that starts */
    kvs_time ready_ps;
    kvs_time last_done_ps; /* of the operation before the head, and what it was */
    kvs_op_class last_cls;
    kvs_time start_ps;
    kvs_time deadline_ps; /* of a running head: its end, if the bytes are moved by then */
    kvs_time rest_ps;  /* of a half-read compute: the rest begins so long before its deadline */
    kvs_time moved_ps; /* when all bytes were moved */
    kvs_time blocked_since_ps;
    /* compute and kernel copies: work left at full speed, and since when at what speed */
    double left_ps;
    double stretch;
    kvs_time updated_ps;
    kvs_time floor_ps; /* not before its last kernel was issued and ran */
};

struct paced_engine {
    uint32_t device;
    kvs_dir dir;
    bool is_dirty;
    uint32_t running;  /* queue, or PACED_NONE */
    uint32_t current;  /* queue served last */
    uint32_t reserved; /* queue that it waits for, PACED_NONE: none */
    bool is_first;     /* still on the stream that it began with after being idle */
    kvs_time end_ps;   /* of the last copy */
    kvs_time start_ps; /* of the running one */
    kvs_time overhead_ps;
    double ps_per_byte; /* of the running copy, 0: nothing moves */
    uint32_t flow;      /* of the running copy, PACED_NONE on a path of its own */
};

/* A device's path in one direction that shares something. */
struct paced_flow {
    struct kvs_share_flow share; /* limit: what the running copy could use alone */
    uint32_t engine;
    uint32_t queue;
    double left_bytes;
    double rate_Bps;
    kvs_time updated_ps;
};

struct paced_device {
    uint32_t engine[KVS_N_DIRS]; /* both the same with one engine */
    uint32_t flow[KVS_N_DIRS];   /* PACED_NONE on a path of its own */
    uint32_t heavy;              /* queue whose compute is running, PACED_NONE */
    double read_bytes; /* by kernels during the engine's copy, which still has to make way */
};

struct paced_worker {
    struct paced *paced;
    pthread_t thread;
    pthread_cond_t wakes;
    bool has_cond;
    bool has_thread;
    bool is_up;
    kvs_time until_ps; /* sleeps until then; 0 while it is awake */
};

/* What the host thread waits for. */
typedef enum paced_block {
    PACED_BLOCK_NONE,
    PACED_BLOCK_DEPS,     /* those of host.op that are left */
    PACED_BLOCK_INSTANCE, /* host.blocked_on */
    PACED_BLOCK_ALL       /* everything issued */
} paced_block;

struct paced_host {
    pthread_cond_t wakes;
    bool has_cond;
    kvs_time now_ps; /* when it acts next */
    uint32_t segment;
    uint32_t token; /* of the plan */
    kvs_op_id op;
    uint32_t next_dep;
    bool is_moving; /* bytes, outside of the lock */
    paced_block block;
    struct paced_instance blocked_on;
    bool pays_sync;   /* when it goes on */
    bool is_draining; /* all is issued: the wait for the end is not the plan's */
    unsigned blocked_tag;
    kvs_time blocked_since_ps;
};

struct paced {
    const struct kvs_plan *plan;
    const struct kvs_case *c;
    const struct kvs_machine *machine;
    struct kvs_exec_options options;
    struct kvs_costs costs;
    struct kvs_program *program;
    struct kvs_memory *memory;
    double time_scale;

    pthread_mutex_t lock; /* of all that follows while a run is under way */
    bool has_lock;
    bool is_closing;
    bool is_running;
    bool is_over; /* no more moves, no more events: the plan's end, a stop, a fault */
    bool is_stuck;
    struct paced_clock clock;
    kvs_time time_ps; /* of what is happening now */
    uint64_t n_events;
    uint64_t n_arrivals;
    uint32_t n_moving; /* threads of devices outside of the lock */

    uint32_t n_queues;
    struct paced_queue *queues; /* owned; [0] is the host and unused */
    uint32_t n_devices;
    struct paced_device *devices; /* owned */
    uint32_t n_engines;
    struct paced_engine *engines; /* owned */
    uint32_t n_segments;
    struct paced_segment *segments; /* owned */
    struct paced_worker *workers;   /* owned, [n_devices][PACED_N_LANES] */
    uint32_t group_token;           /* everything before it was over at a barrier */
    struct paced_host host;
    /* to be looked at once everything that ends now has ended, in the order in which it came */
    uint32_t *dirty_queues; /* owned, room for all */
    uint32_t n_dirty_queues;
    uint32_t *dirty_engines; /* owned, room for all */
    uint32_t n_dirty_engines;

    /* sharing */
    uint32_t n_flows;
    struct paced_flow *flows; /* owned */
    uint32_t *moving;         /* owned, [n_moving_flows] flows under way, in order of entry */
    uint32_t n_moving_flows;
    uint32_t n_resources;
    double *capacity;          /* owned, [n_resources] */
    double *capacity_opposite; /* owned, the same while the other direction moves bytes */
    uint32_t *opposite;        /* owned, resource of the other direction, PACED_NONE */
    double *capacity_now;      /* owned, [n_resources] scratch, as the four below */
    double *left;
    uint32_t *count;
    struct kvs_share_flow *shares; /* owned, [n_flows] */
    double *rates;                 /* owned, [n_flows] */

    /* of the run under way */
    struct kvs_run *run;
    struct kvs_timeline *timeline; /* NULL: not wanted */
    struct kvs_error *err;
    kvs_status status; /* the first failure; it ends the run */
    struct kvs_host_report report;
};

/* host_bind.c: what does not change between runs, and the state in which each begins. */
kvs_status paced_bind(struct paced *p, struct kvs_error *err);
void paced_unbind(struct paced *p);
void paced_reset(struct paced *p);
/* Bytes of a copy at a token of its segment. */
double paced_copy_bytes(const struct kvs_segment *segment, const struct kvs_op *op,
                        uint32_t token);

/* host_scale.c: options.time_scale where none is given; memory is there, and is used. */
double paced_choose_scale(const struct paced *p);

/* host_worker.c: the threads of the devices. */
kvs_status paced_workers_start(struct paced *p, struct kvs_error *err);
void paced_workers_stop(struct paced *p);
void paced_workers_wake(struct paced *p);

/* host_thread.c: the plan's host, on the calling thread. */
void paced_host_run(struct paced *p);
/* Something that it may wait for has ended. */
void paced_host_look(struct paced *p);

/* host_event.c: model time. All of what follows is called with the lock held. */
void paced_advance(struct paced *p);
/* An event of that time waits for the host thread. */
bool paced_is_held(const struct paced *p, kvs_time event_ps);
/* The time of the first event; with_bytes: also of heads whose bytes are not moved yet. */
kvs_time paced_next_ps(const struct paced *p, bool with_bytes);
void paced_set_event(struct paced *p, struct paced_queue *q, kvs_time event_ps);
void paced_clear_event(struct paced_queue *q);
/* The running head ends at deadline_ps, or when its bytes are moved. */
void paced_set_deadline(struct paced *p, struct paced_queue *q, kvs_time deadline_ps);
/* The head begins now on this thread. */
void paced_begin(struct paced *p, struct paced_queue *q, paced_lane lane, bool has_bytes);
void paced_moved(struct paced *p, struct paced_queue *q);
void paced_fail(struct paced *p, kvs_status status);
/* Bytes were moved so long after their deadline (or before it). */
void paced_count_late(struct paced *p, kvs_time late_ps);

/* host_queue.c: when heads can start, and what ending means. */
void paced_issue(struct paced *p, uint32_t queue, const struct paced_instance *instance);
void paced_settle(struct paced *p); /* starts what can start now */
void paced_mark_queue(struct paced *p, uint32_t queue);
void paced_fire(struct paced *p, uint32_t queue);
bool paced_is_idle(const struct paced *p);
/* The instance that a dependency names; false when it was over before this one was issued. */
bool paced_dep(const struct paced *p, const struct paced_instance *instance,
               const struct kvs_dep *dep, struct paced_instance *on);

/* host_engine.c: copy engines. */
void paced_copy_enqueue(struct paced *p, uint32_t queue);
void paced_copy_end(struct paced *p, uint32_t queue);
void paced_engine_look(struct paced *p, uint32_t engine);
void paced_mark_engine(struct paced *p, uint32_t engine);

/* host_share.c: shared paths. */
kvs_status paced_share_bind(struct paced *p, struct kvs_error *err);
void paced_flow_start(struct paced *p, uint32_t engine);
void paced_flow_stop(struct paced *p, uint32_t engine);
/* At its end: the copy has so many bytes more to move. */
void paced_flow_extend(struct paced *p, uint32_t engine, double more_bytes);

/* host_kernel_copy.c: kernels that copy, and copies that make way for them. */
void paced_kernel_copy_start(struct paced *p, uint32_t queue);
void paced_kernel_copy_end(struct paced *p, uint32_t queue);
void paced_kernel_copies_take_pace(struct paced *p, uint32_t device);
/* The event of a running copy: false when it only now learns what kernels read meanwhile. */
bool paced_copy_is_over(struct paced *p, uint32_t queue);

/* host_compute.c: compute and collectives. */
/* Of the device's h2d engine, ps per byte; 0: nothing moves. */
double paced_pace(const struct paced *p, uint32_t device);
/* What was done until now of work whose speed changes. */
void paced_work_progress(const struct paced *p, struct paced_queue *q);
void paced_compute_start(struct paced *p, uint32_t queue);
void paced_compute_end(struct paced *p, uint32_t queue, kvs_time start_ps);
void paced_member_arrive(struct paced *p, uint32_t queue);
void paced_member_next_trip(struct paced *p, uint32_t queue);
/* The engine's copy moves at this pace from now on (0: none). */
void paced_engine_set_pace(struct paced *p, uint32_t engine, double ps_per_byte);
/* The first member of the collective that a head belongs to. */
kvs_op_id paced_first_member(const struct paced *p, const struct paced_instance *instance);

static inline const struct paced_instance *paced_head_of(const struct paced_queue *q)
{
    return &q->instances[q->n_done & q->mask];
}
static inline const struct kvs_op *paced_plan_op(const struct paced *p,
                                                 const struct paced_instance *instance)
{
    return &p->segments[instance->segment].plan->ops.items[instance->op];
}
static inline struct paced_op *paced_op_of(const struct paced *p,
                                           const struct paced_instance *instance)
{
    return &p->segments[instance->segment].ops[instance->op];
}
static inline const struct kvs_device_costs *paced_costs_of(const struct paced *p,
                                                            const struct paced_queue *q)
{
    return &p->costs.devices[q->device];
}
static inline kvs_dir paced_dir(const struct kvs_op *op)
{
    return op->flags & KVS_OP_D2H ? KVS_D2H : KVS_H2D;
}
/* The engine of the queue's device that would serve this copy. */
static inline uint32_t paced_engine_of(const struct paced *p, const struct paced_queue *q,
                                       const struct kvs_op *op)
{
    return p->devices[q->device].engine[paced_dir(op)];
}
static inline struct paced_worker *paced_worker(const struct paced *p, uint32_t device,
                                                paced_lane lane)
{
    return &p->workers[(size_t)device * PACED_N_LANES + lane];
}
/* The head's bytes are on their way, by an engine, past it, or by a kernel. */
static inline void paced_count_bytes(struct paced *p, const struct paced_queue *q)
{
    const struct kvs_op *op = paced_plan_op(p, paced_head_of(q));
    struct kvs_device_totals *totals = &p->run->devices[q->device];
    totals->moved_bytes[paced_dir(op)] += (uint64_t)q->n_bytes;
    totals->tag_bytes[op->tag] += (uint64_t)q->n_bytes;
}
/* The time for which the head's thread has to be awake; PACED_NEVER: none. */
static inline kvs_time paced_wake_ps(const struct paced_queue *q)
{
    return q->bytes == PACED_BYTES_HALF ? q->deadline_ps - q->rest_ps : q->event_ps;
}
/* x >= 0, rounded up, and far from overflow in sums of a few. */
static inline kvs_time paced_ps_up(double x)
{
    kvs_time most = INT64_C(1) << 61;
    if (!(x < (double)most))
        return most;
    kvs_time ps = (kvs_time)x;
    return ps + ((double)ps < x);
}

#endif
