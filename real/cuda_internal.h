/*
 * State of the CUDA executor; private to real/cuda_*.c and exec_cuda.c.
 *
 * Every queue of the plan is a stream of its device's GPU. An operation that others wait for, on
 * another queue or on the host, is followed by an event; a wait names the instance it means, so
 * each operation has as many events as the longest distance to it asks for.
 */
#ifndef KVS_REAL_CUDA_INTERNAL_H
#define KVS_REAL_CUDA_INTERNAL_H

#include "real/cuda_check.h"
#include "real/cuda_emulate.h"
#include "real/kernels.h"
#include "real/program.h"
#include "sched/cost.h"
#include "sched/exec.h"

struct cuda_device {
    int gpu;
    struct kvs_gpu_state *state; /* owned, in device memory */
    double cycles_per_ps;        /* of the SM clock */
    unsigned char *weights;      /* owned, in device memory; NULL when compute spins */
    uint64_t weights_bytes;
    uint32_t *sink;
};

struct cuda_buffer {
    unsigned char *bytes; /* owned; NULL when never touched */
    bool is_written;      /* by operations: filled again before a run */
};

struct cuda_event {
    cudaEvent_t event; /* owned; NULL until first recorded */
    int gpu;
};

/* What an operation costs the device, worked out once. */
struct cuda_op {
    uint64_t cycles;     /* of each kernel, when compute spins */
    uint64_t weights_at; /* else the bytes that it streams: offset, and size for each kernel */
    uint64_t weights_size;
    uint32_t n_kernels;
    uint32_t n_fill;      /* of them, that stream weights: 0 when compute spins */
    cudaGraphExec_t fill; /* owned: these in one launch; NULL: one by one */
    bool is_awaited;
};

struct cuda_span {
    struct kvs_span span; /* host times; those of the device are known at the end */
    cudaEvent_t end;      /* NULL: end_ps is a time of the host */
    uint16_t device;
};

struct cuda_exec {
    const struct kvs_plan *plan;
    const struct kvs_case *c;
    struct kvs_exec_options options;
    struct kvs_program *program;
    struct kvs_costs costs;
    struct cuda_device *devices; /* owned, [n_devices] */
    struct cuda_buffer *buffers; /* owned, [n_buffers] */
    cudaStream_t *streams;       /* owned, [n_queues]; [0] unused */
    struct cuda_op **ops;        /* owned, [n_segments][n_ops of it] */
    struct cuda_event *events;   /* owned, [cuda_n_events] */
    uint32_t max_ops;
    uint32_t n_instances;
    uint64_t *shared_state;               /* owned, mapped host memory */
    struct cuda_collectives *collectives; /* owned; NULL: the plan has none */
    struct cuda_emulate *emulate;         /* owned; NULL: real copy engines */
    struct cuda_event pauses[2];          /* owned: how far behind the host the devices are */
    uint32_t n_launched;
    bool spins; /* compute takes its modelled time, rather than real weights */
    int current_gpu;
    /* of the run under way */
    struct kvs_run *run;
    struct kvs_error *err;
    double start_s;
    KVS_ARRAY(struct cuda_span) spans; /* recording, in issue order */
    uint32_t *latest; /* owned, [cuda_n_events] span of each operation's instance */
    bool is_recording;
    KVS_ARRAY(cudaEvent_t) spare_events; /* with timing */
    cudaEvent_t *base; /* [n_devices] recorded at the start of a recording run */
};

/* An operation of a token, while it is issued. */
struct cuda_now {
    uint32_t segment;
    uint32_t token;  /* of the segment */
    uint32_t global; /* token of the plan */
    kvs_op_id op;
};

/* exec_cuda.c: makes sure that the event exists, for streams of this GPU. */
kvs_status cuda_event_on(struct cuda_exec *x, struct cuda_event *event, int gpu);

/* cuda_device.c */
kvs_status cuda_use(struct cuda_exec *x, int gpu);
kvs_status cuda_open_devices(struct cuda_exec *x);
void cuda_close_devices(struct cuda_exec *x);
double cuda_now_s(void);

/* cuda_memory.c */
kvs_status cuda_open_memory(struct cuda_exec *x);
void cuda_close_memory(struct cuda_exec *x);
/* Buffers, setup, sums and states as before the first token. */
kvs_status cuda_reset_memory(struct cuda_exec *x);
kvs_status cuda_digest(struct cuda_exec *x, uint64_t *out);

/* cuda_bind.c: what operations cost and need. */
kvs_status cuda_bind_ops(struct cuda_exec *x);

/* cuda_weights.c: once operations are bound. */
kvs_status cuda_open_weights(struct cuda_exec *x);
void cuda_close_weights(struct cuda_exec *x);
kvs_status cuda_weights_launch(struct cuda_exec *x, const struct kvs_op *op,
                               const struct cuda_op *own);

/* cuda_compute.c */
/* Kernels that the steps of an operation take. */
uint32_t cuda_compute_n_steps(const struct cuda_exec *x, uint32_t segment, kvs_op_id op);
kvs_status cuda_compute(struct cuda_exec *x, const struct cuda_now *now);

/* cuda_ops.c: what is put on an operation's stream, dependencies aside. */
kvs_status cuda_launch(struct cuda_exec *x, const struct cuda_now *now);
/* Host work: its bytes, and the time that it stands for. */
kvs_status cuda_host_work(struct cuda_exec *x, const struct cuda_now *now);

/* cuda_collective.c: the members of a collective, all at once; first: the first of them. */
kvs_status cuda_open_collectives(struct cuda_exec *x);
void cuda_close_collectives(struct cuda_exec *x);
kvs_status cuda_reduce(struct cuda_exec *x, const struct cuda_now *first);

/* cuda_record.c */
kvs_status cuda_record_begin(struct cuda_exec *x);
/* A device operation that was just launched; its end is the event, or the present when the host
 * has waited for it. issue_s: when the host came to it. */
kvs_status cuda_record_end(struct cuda_exec *x, const struct cuda_now *now, double issue_s);
/* What the host did from start_s until now. */
kvs_status cuda_record_host(struct cuda_exec *x, const struct cuda_now *now, double start_s);
kvs_status cuda_record_finish(struct cuda_exec *x, struct kvs_timeline *timeline);
void cuda_record_fini(struct cuda_exec *x);

static inline const struct kvs_segment *cuda_segment(const struct cuda_exec *x,
                                                     const struct cuda_now *now)
{
    return &x->plan->segments.items[now->segment];
}
static inline const struct kvs_op *cuda_op_of(const struct cuda_exec *x,
                                              const struct cuda_now *now)
{
    return &cuda_segment(x, now)->ops.items[now->op];
}
/* Which instance of an operation: index into events and latest. */
static inline size_t cuda_instance(const struct cuda_exec *x, kvs_op_id op, uint32_t global)
{
    return (size_t)op * x->n_instances + global % x->n_instances;
}
static inline size_t cuda_n_events(const struct cuda_exec *x)
{
    return (size_t)x->max_ops * x->n_instances;
}
/* Members of a collective follow one another. */
static inline bool cuda_is_last_member(const struct cuda_exec *x, const struct cuda_now *now)
{
    const struct kvs_op *op = cuda_op_of(x, now);
    return now->op + 1u == cuda_segment(x, now)->ops.n || op[1].kind != KVS_OP_COLLECTIVE ||
           op[1].collective.group != op->collective.group;
}
static inline uint16_t cuda_device_of(const struct cuda_exec *x, const struct kvs_op *op)
{
    return x->plan->queues.items[op->queue].device;
}

#endif
