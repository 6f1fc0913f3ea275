/*
 * State of a simulation; private to sim/.
 *
 * Every queue has at most one operation under way, its head, so a queue is the source of one
 * event: the end of its head, or the moment it can start. The host is kept outside the tree: it
 * acts at host.now_ps whenever that is before the next event.
 *
 * Instances. A queue carries out the same operations period after period, in order: operation
 * order[k mod n] of token (k / n) x period + phase is its k-th. So completion needs no record per
 * instance: every operation keeps the token before which all of its instances are over. Tokens
 * are numbered through the plan.
 */
#ifndef KVS_SIM_SIM_H
#define KVS_SIM_SIM_H

#include "models/arbiter.h"
#include "models/share.h"
#include "sched/cost.h"
#include "sched/exec.h"
#include "sim/event_tree.h"

#define SIM_NONE       UINT32_MAX
#define SIM_ISSUE_RING 8u /* instances in flight per queue to begin with; a power of two */

typedef enum sim_head {
    SIM_HEAD_NONE,     /* nothing issued, or not looked at yet */
    SIM_HEAD_BLOCKED,  /* waits for a dependency */
    SIM_HEAD_DELAYED,  /* dependencies met; starts after the hop */
    SIM_HEAD_WAITING,  /* for its copy engine, the compute engine, or the other members */
    SIM_HEAD_OVERHEAD, /* a copy on a shared path, before its bytes move */
    SIM_HEAD_TRIP,     /* a collective between its dependent host reads */
    SIM_HEAD_RUNNING   /* ends at its event */
} sim_head;

/* What the simulator needs of an operation; small, since there is one for each. */
struct sim_op {
    union {
        kvs_time work_ps; /* compute at full speed, host work, idle all-reduce */
        double bytes;     /* copies, as if at token 0 */
    };
    kvs_time call_ps;     /* host time until the device sees it, events included */
    double ps_per_byte;   /* copies on an engine: of the path, and what rows and pages cost */
    kvs_time done_ps;     /* end of its latest instance, -1: none yet */
    uint32_t done_before; /* token before which all its instances are over */
    uint32_t waiters;     /* first queue waiting for it, SIM_NONE: none */
    uint32_t first_dep;
    union {
        int32_t bytes_step; /* copies: more bytes per token */
        uint32_t group;     /* members */
        uint32_t n_kernels; /* compute */
    };
    uint16_t queue;
    uint16_t n_dep;
    unsigned cls : 3;
    unsigned is_queued_only : 1; /* to issue it is to queue it: no wait, no kernel by kernel */
    unsigned tag : 5;
    unsigned flags : 7; /* KVS_OP_* */
    unsigned phase : 16;
};

struct sim_segment {
    const struct kvs_segment *plan;
    const struct kvs_dep *deps;
    struct sim_op *ops; /* owned, [n_ops] */
    uint32_t n_ops;
    uint32_t period;
    uint32_t first_token, end_token;
    uint32_t longest_distance; /* of its dependencies, tokens */
    bool is_steady;            /* no size depends on the token */
};

struct sim_queue {
    struct sim_op *op; /* the head's */
    uint64_t n_issued; /* instances since the last barrier */
    uint64_t n_done;
    kvs_time *issue_ps; /* owned ring, [issue_mask + 1] */
    uint32_t issue_mask;
    uint16_t device;
    uint8_t head;  /* sim_head */
    bool bypasses; /* the head was issued on an idle queue and may skip the engine */
    bool is_on_engine;
    bool is_dirty;
    struct sim_engine *engine[KVS_N_DIRS]; /* of its device */
    struct sim_device *on;                 /* its device, and what that did */
    struct kvs_device_totals *totals;
    double bytes;          /* of the head, once it is a copy that starts */
    const uint32_t *order; /* operations of this queue per period, [n_order] */
    uint32_t n_order;
    uint32_t head_index; /* n_done mod n_order */
    uint32_t head_token;
    uint32_t period_end;         /* first token after the period that head_token is of */
    struct sim_segment *segment; /* of the head */
    uint32_t next_waiter;
    uint32_t next_dep; /* dependencies of the head already met */
    uint32_t trips_left;
    kvs_time ready_ps;
    kvs_time start_ps;
    kvs_time blocked_since_ps;
    const struct sim_op
        *last_op; /* the one before the head, where there are handoffs; NULL: none */
    /* compute and kernel copies: work left at full speed, and since when at what speed */
    double left_ps;
    double stretch;
    double speed;
    bool is_beside; /* a kernel copy: the h2d engine moves bytes as well */
    bool is_early;  /* its event is not after its end, and may be before it */
    kvs_time updated_ps;
    kvs_time floor_ps; /* not before its last kernel was issued and ran */
    char pad[40];      /* to a power of two: an index is a shift away from its queue */
};

_Static_assert(sizeof(struct sim_queue) == 256, "let pad make it a power of two again");

struct sim_engine {
    uint32_t device;
    struct sim_device *on;
    struct kvs_device_totals *totals;
    kvs_dir dir;
    uint32_t running;  /* queue, or SIM_NONE */
    uint32_t current;  /* queue served last */
    uint32_t reserved; /* queue that it waits for, SIM_NONE: none */
    bool may_hold;     /* the machine's first turn is the chained one */
    bool is_first;     /* still on the stream that it began with after being idle */
    bool is_dirty;
    kvs_time end_ps;   /* of the last copy */
    kvs_time start_ps; /* of the running one */
    kvs_time overhead_ps;
    double ps_per_byte; /* of the running copy, 0: nothing moves */
    uint32_t *waiting;  /* [n_waiting] queues, in order of readiness; slice of sim->waiting */
    uint32_t n_waiting;
    uint32_t flow; /* index into sim->flows, SIM_NONE on a path of its own */
};

/* A device's path in one direction that shares something. */
struct sim_flow {
    struct kvs_share_flow share; /* limit: what the running copy could use alone */
    uint32_t domain;
    uint32_t engine;
    double left_bytes;
    double rate_Bps;
    double ps_per_byte; /* its inverse */
    kvs_time updated_ps;
};

/* Flows that share something with one another. */
struct sim_domain {
    uint32_t *moving; /* [n_moving] flows under way, in order of entry; room for n_flows */
    uint32_t n_moving;
    uint32_t n_flows;
    uint32_t event;         /* queue that carries the next end, SIM_NONE */
    uint32_t only_resource; /* when all flows cross one and nothing else, else SIM_NONE */
    bool has_several;
};

struct sim_device {
    uint32_t engine[KVS_N_DIRS]; /* both the same with one engine */
    uint32_t flow[KVS_N_DIRS];   /* SIM_NONE on a path of its own */
    struct kvs_device_costs cost;
    double path_ps_per_byte; /* h2d */
    /* worked out for the pace of the copy under way */
    double pace_ps_per_byte;
    double stretch; /* of compute, and 1 / stretch */
    double speed;
    uint32_t heavy; /* queue whose compute is running, SIM_NONE */
    KVS_ARRAY(uint32_t) heavy_waiting;
    KVS_ARRAY(uint32_t) reading; /* queues whose kernel copies over the link */
    double
        read_bytes; /* by kernels during the engine's copy, which still has to make way for them */
};

struct sim_group {
    uint32_t n_arrived;
    uint32_t n_members;
    kvs_op_id first; /* the others follow it */
};

typedef enum sim_host_state {
    SIM_HOST_ACTS, /* at now_ps */
    SIM_HOST_BLOCKED,
    SIM_HOST_DONE
} sim_host_state;

struct sim_host {
    kvs_time now_ps; /* when it acts next */
    struct sim_op *op;
    struct sim_op *last_op; /* of the token; NULL where phases have to be told apart */
    uint32_t segment;
    uint32_t index; /* of op in its segment */
    uint32_t token;
    sim_host_state state;
    bool wants_barrier; /* the next segment begins once everything has ended */
    bool wants_retry;   /* blocked before issuing: the queue of kernels was full */
    bool pays_sync;     /* when it goes on */
    const struct sim_op
        *blocked_on; /* until its instance of this token is over; NULL: all are */
    uint32_t blocked_token;
    uint32_t next_dep;
    uint32_t blocked_tag;
    kvs_time blocked_since_ps;
    kvs_time wait_start_ps;
};

struct sim {
    const struct kvs_plan *plan;
    const struct kvs_case *c;
    const struct kvs_machine *machine;
    struct kvs_costs cost; /* its devices are borrowed */
    const struct kvs_exec_options *options;
    struct kvs_run *run;
    struct kvs_timeline *timeline; /* NULL: not wanted */
    struct kvs_error *err;
    kvs_status status; /* the first failure inside the loop (memory); it ends the run */

    kvs_time now_ps;
    uint64_t n_dispatched;
    bool has_handoffs;            /* of some device: else nobody asks what came before a head */
    bool has_kernel_copies;       /* else nobody asks what kernels read */
    struct kvs_event_tree events; /* one source per queue */
    uint32_t n_queues;
    struct sim_queue *queues; /* [0] is the host and unused */
    uint32_t n_devices;
    struct sim_device *devices;
    uint32_t n_engines;
    struct sim_engine *engines;
    uint32_t *waiting; /* storage of the engines' lists */
    struct sim_segment *segments;
    uint32_t n_segments;
    uint32_t *order;      /* storage of the queues' orders, of the current group of segments */
    uint32_t group_first; /* segments [group_first, group_end) share one structure */
    uint32_t group_end;
    uint32_t group_token;     /* first of the group: everything before it is over */
    struct sim_group *groups; /* [n_groups] */
    uint32_t n_groups;
    struct sim_host host;

    /* queues and engines to look at once everything that ends now has ended */
    uint32_t *dirty_queues;
    uint32_t n_dirty_queues;
    struct sim_engine **dirty_engines;
    uint32_t n_dirty_engines;

    /* sharing */
    uint32_t n_flows;
    struct sim_flow *flows;
    uint32_t n_resources;
    double *capacity; /* [n_resources] */
    double
        *capacity_opposite; /* [n_resources] the same while the other direction moves bytes */
    uint32_t *opposite;     /* [n_resources] resource of the other direction, SIM_NONE */
    uint32_t *n_moving;     /* [n_resources] flows under way */
    struct sim_domain *domains; /* [n_flows] by number of their first flow */
    uint32_t *moving;           /* storage of the domains' lists */
    uint32_t *local_id;         /* [n_resources] number of a resource within a share */
    uint64_t *local_stamp;      /* [n_resources] share that gave it */
    double *local_capacity;     /* [n_resources] */
    double *scratch_left;
    uint32_t *scratch_count;
    struct kvs_share_flow *scratch_flows;
    double *scratch_rates;
    uint32_t *scratch_index;
    uint64_t stamp;

    struct sim_repeat *repeat; /* NULL: repetitions are not looked for */
    kvs_time skipped_ps;       /* time of repetitions that were not carried out */
};

/* bind.c: everything that does not change during a run. */
kvs_status sim_bind(struct sim *sim);
void sim_unbind(struct sim *sim);
/* Queue orders of the group of segments that begins at `first`. */
kvs_status sim_bind_group(struct sim *sim, uint32_t first);

/* flow.c: shared paths. */
kvs_status sim_flow_bind(struct sim *sim);
void sim_flow_start(struct sim *sim, struct sim_engine *engine);
void sim_flow_stop(struct sim *sim, struct sim_engine *engine);
/* At its end: the copy has so many bytes more to move. */
void sim_flow_extend(struct sim *sim, struct sim_engine *engine, double more_bytes);

/* compute.c: compute and collectives. */
void sim_compute_start(struct sim *sim, uint32_t queue);
void sim_compute_end(struct sim *sim, uint32_t queue, kvs_time start_ps);
void sim_member_arrive(struct sim *sim, uint32_t queue);
void sim_member_next_trip(struct sim *sim, uint32_t queue);
/* The engine's copy moves at this pace from now on (0: none): compute on its device slows down.
 */
void sim_engine_set_pace(struct sim *sim, struct sim_engine *engine, double ps_per_byte);
/* The event of a running compute: false when it only now learns when it really ends. */
bool sim_compute_is_over(struct sim *sim, uint32_t queue);

/* kernel_copy.c: kernels that copy. */
void sim_kernel_copy_start(struct sim *sim, uint32_t queue);
void sim_kernel_copy_end(struct sim *sim, uint32_t queue);
void sim_kernel_copies_take_pace(struct sim *sim, struct sim_device *device);
/* The event of a running copy: false when it only now learns how many bytes kernels read meanwhile
 * on its path, and moves on by the time that these took. */
bool sim_copy_is_over(struct sim *sim, uint32_t queue);

/* engine.c: copy engines. */
void sim_copy_enqueue(struct sim *sim, uint32_t queue);
void sim_copy_end(struct sim *sim, uint32_t queue);
void sim_engine_look(struct sim *sim, struct sim_engine *engine);

/* queue.c: heads of queues, and what happens when they end. */
void sim_queue_issue(struct sim *sim, uint32_t queue);
void sim_queue_event(struct sim *sim, uint32_t queue);
void sim_settle(struct sim *sim); /* starts what can start now */

/* host.c: the host thread. */
void sim_host_start(struct sim *sim);
void sim_host_act(struct sim *sim);
void sim_host_wake(struct sim *sim); /* something that it may wait for has ended */

/* repeat.c: steady states. Called when the host begins a token. */
kvs_status sim_repeat_create(struct sim *sim);
void sim_repeat_destroy(struct sim *sim);
void sim_repeat_token(struct sim *sim);

/*
 * The operation that a dependency of an operation of this segment and token names, in the segment
 * of that instance; NULL when the instance was over before the group began.
 */
static inline struct sim_op *sim_dep_op(const struct sim *sim,
                                        const struct sim_segment *segment, uint32_t token,
                                        const struct kvs_dep *dep)
{
    if (token < sim->group_token + dep->distance)
        return NULL;
    while (KVS_UNLIKELY(token - dep->distance < segment->first_token))
        segment--;
    return &segment->ops[dep->op];
}
static inline kvs_time sim_head_issue_ps(const struct sim_queue *q)
{
    return q->issue_ps[q->n_done & q->issue_mask];
}
static inline double sim_head_bytes(const struct sim_queue *q)
{
    return q->op->bytes + (double)q->op->bytes_step * (double)q->head_token;
}
static inline kvs_dir sim_op_dir(const struct sim_op *op)
{
    return (kvs_dir)((op->flags & KVS_OP_D2H) != 0);
}
/* The head's bytes are on their way, by an engine, past it, or by a kernel. */
static inline void sim_total_bytes(const struct sim_queue *q)
{
    struct kvs_device_totals *totals = q->totals;
    uint64_t bytes = (uint64_t)(int64_t)q->bytes; /* by way of int64_t: one instruction */
    totals->moved_bytes[sim_op_dir(q->op)] += bytes;
    totals->tag_bytes[q->op->tag] += bytes;
}
static inline struct sim_engine *sim_engine_of(const struct sim_queue *q)
{
    return q->engine[sim_op_dir(q->op)];
}
static inline void sim_mark_queue(struct sim *sim, uint32_t queue)
{
    if (sim->queues[queue].is_dirty)
        return;
    sim->queues[queue].is_dirty = true;
    sim->dirty_queues[sim->n_dirty_queues++] = queue;
}
static inline void sim_mark_engine(struct sim *sim, struct sim_engine *engine)
{
    if (engine->is_dirty)
        return;
    engine->is_dirty = true;
    sim->dirty_engines[sim->n_dirty_engines++] = engine;
}
#define SIM_MAX_PS (INT64_C(1) << 61) /* 26 days; sums of a few stay countable */

/* x >= 0, rounded up and at most SIM_MAX_PS; ceil() without the call. */
static inline kvs_time sim_ps_up(double x)
{
    if (KVS_UNLIKELY(!(x < (double)SIM_MAX_PS)))
        return SIM_MAX_PS;
    kvs_time ps = (kvs_time)x;
    return ps + ((double)ps < x);
}
/* What was done until now of work whose speed may change. */
static inline void sim_work_progress(const struct sim *sim, struct sim_queue *q)
{
    double left = q->left_ps - (double)(sim->now_ps - q->updated_ps) * q->speed;
    q->left_ps = left > 0.0 ? left : 0.0;
    q->updated_ps = sim->now_ps;
}
/* The head ends at end_ps. */
static inline void sim_run_until(struct sim *sim, uint32_t queue, kvs_time end_ps)
{
    sim->queues[queue].head = SIM_HEAD_RUNNING;
    sim->queues[queue].start_ps = sim->now_ps;
    kvs_event_tree_set(&sim->events, queue, end_ps);
}

#endif
