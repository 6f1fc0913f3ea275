/*
 * What the files that measure share; private to real/probe*.c.
 *
 * Device times come from events around work that was all issued behind a gate, a kernel that spins:
 * so the host's pace is not in them. Host times come from the monotonic clock.
 */
#ifndef KVS_REAL_PROBE_INTERNAL_H
#define KVS_REAL_PROBE_INTERNAL_H

#include "base/units.h"
#include "real/cuda_check.h"
#include "real/probe.h"

#define PROBE_MAX_SAMPLES 64
#define PROBE_SMALL_BYTES (64 * KVS_KIB) /* above what skips the engine on known cards */
#define PROBE_BIG_S       0.9e-3         /* how long the big copies of engine tests take */
#define PROBE_GATE_S      50e-6          /* a few calls behind a gate */

enum { PROBE_N_STREAMS = 6, PROBE_N_EVENTS = 16 };
enum { PROBE_FREE_EVENT = 2 }; /* the first two are those of probe_bracket */

struct probe_samples {
    double x[PROBE_MAX_SAMPLES];
    size_t n;
};

struct probe_gpu {
    int gpu;                               /* as CUDA counts them */
    struct kvs_probe_gpu *facts;           /* borrowed */
    struct kvs_device *device;             /* of the machine; NULL until measure */
    struct kvs_link *link;                 /* its own */
    const struct probe_gpu *twin;          /* an earlier GPU of the same product, or NULL */
    cudaStream_t streams[PROBE_N_STREAMS]; /* owned */
    cudaStream_t load;                     /* owned: copies that others are measured beside */
    cudaEvent_t events[PROBE_N_EVENTS];    /* owned, with timing */
    cudaEvent_t plain;                     /* owned, without */
    unsigned char *memory; /* owned, in device memory, as large as the pinned buffer */
    uint32_t *sink;        /* owned, in device memory */
    double cycles_Hz;      /* of the SM clock */
    double empty_s;        /* between two events with nothing between them */
    double rate_Bps[KVS_N_DIRS];
    double behind_kernel_s; /* a copy behind a kernel on its stream, on top of its bytes */
};

struct kvs_probe {
    struct kvs_probe_options options;
    struct kvs_probe_facts facts;
    struct probe_gpu gpus[KVS_PROBE_MAX_GPUS];
    uint32_t n_gpus;
    unsigned char *pinned; /* owned; for all GPUs */
    uint64_t pinned_bytes;
    unsigned char *mapped;   /* owned; read by kernels, and never overwritten */
    unsigned char *pageable; /* owned */
    uint64_t pageable_bytes;
    double end_s; /* of the budget, on probe_now_s's clock */
    struct kvs_machine *machine;
    struct kvs_probe_report *report;
    struct kvs_error *err;
    bool has_said_alone; /* see probe_bracket_beside */
    struct kvs_param
        kernel_launch; /* for what follows in the host part; value 0: not measured */
};

#define PROBE_MAPPED_BYTES (4 * KVS_MIB)
/* Sizes of which overheads are taken: above what a command carries, below where the rate's own
 * error counts. */
#define PROBE_FROM_BYTES (64 * KVS_KIB)
#define PROBE_TO_BYTES   (4 * KVS_MIB)

#define PROBE_CHAIN_BYTES KVS_MIB /* at the start of mapped */

/* probe_bench.c */
double probe_now_s(void);                                       /* the host's monotonic clock */
kvs_status probe_use(struct kvs_probe *p, struct probe_gpu *g); /* calls go to this GPU */
/* KVS_ESTOPPED once asked to stop. */
kvs_status probe_check(struct kvs_probe *p);
kvs_status probe_sync(struct kvs_probe *p, struct probe_gpu *g);
bool probe_is_done(cudaEvent_t event);
bool probe_is_idle(cudaStream_t stream);
kvs_status probe_record(struct kvs_probe *p, struct probe_gpu *g, unsigned event,
                        cudaStream_t stream);
/* Seconds from one event of the GPU to another; both are over. */
kvs_status probe_elapsed(struct kvs_probe *p, struct probe_gpu *g, unsigned from, unsigned to,
                         double *out_s);
/* Holds a stream back for so long. */
kvs_status probe_gate(struct kvs_probe *p, struct probe_gpu *g, cudaStream_t stream,
                      double seconds);
/* A copy between offsets of the GPU's memory and of the pinned buffer. */
kvs_status probe_copy(struct kvs_probe *p, struct probe_gpu *g, kvs_dir dir,
                      uint64_t device_offset, uint64_t host_offset, uint64_t size_bytes,
                      cudaStream_t stream);
/* Bytes that a copy moves in so many seconds: whole pages, at most max_bytes and the buffers. */
uint64_t probe_amount(const struct kvs_probe *p, const struct probe_gpu *g, kvs_dir dir,
                      double seconds, uint64_t max_bytes);
/* Copies to the device for about so long, on g->load. */
kvs_status probe_load(struct kvs_probe *p, struct probe_gpu *g, double seconds);

/* Calls of other kinds, waited for: between calls that are timed, so that the host has as much to
 * fetch for each as in a layer, where no two in a row are alike. */
kvs_status probe_other_calls(struct kvs_probe *p, struct probe_gpu *g);

/* Something to time; what the numbers mean is the work's affair. */
struct probe_job {
    struct kvs_probe *p;
    struct probe_gpu *g;
    cudaStream_t stream;
    kvs_dir dir;
    uint64_t size_bytes;
    uint32_t n;
    uint32_t width_bytes;
    double each_s;
    void *object;
};
typedef kvs_status (*probe_work)(const struct probe_job *job);

/*
 * Device time of what work puts on job->stream behind a gate of gate_s, which grows when the host
 * was not done before it opened; less what two events alone take. At least 0.
 */
kvs_status probe_bracket(const struct probe_job *job, probe_work work, double gate_s,
                         double *out_s);
/* The same while copies to the device run; warns when it outlasts them every time. */
kvs_status probe_bracket_beside(const struct probe_job *job, probe_work work, double gate_s,
                                double load_s, double *out_s);
/* So many brackets, and more, up to the maximum, while they differ by more than a hundredth. */
kvs_status probe_sample(const struct probe_job *job, probe_work work, double gate_s,
                        size_t n_min, size_t n_max, struct probe_samples *out);
bool probe_is_settled(const struct probe_samples *samples);
double probe_median(const struct probe_samples *samples);
void probe_add(struct probe_samples *samples, double x);

/* A graph of what work launches on job->stream. Returns to caller: cudaGraphExecDestroy. */
kvs_status probe_capture(const struct probe_job *job, probe_work work, cudaGraphExec_t *out);

/* probe.c: what was found. */
kvs_status probe_mark(struct kvs_probe *p, const void *what);
kvs_status probe_set(struct kvs_probe *p, struct kvs_param *to, struct kvs_param figure);
void probe_warn(struct kvs_probe *p, const char *fmt, ...) KVS_PRINTF(2, 3);
void probe_note(struct kvs_probe *p, const char *fmt, ...) KVS_PRINTF(2, 3);
const char *probe_name(const struct probe_gpu *g); /* the device's in the machine */

/* Steps; those of the host, of several GPUs and of pageable memory run once, on the first GPU. */
kvs_status probe_link_state(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_rates(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_sizes(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_pieces(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_opposite(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_rows(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_pageable(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_together(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_arbitration(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_commit_lead(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_bypass(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_first_turn(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_beside(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_read_latency(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_reads(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_stream(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_kernel_gap(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_memory(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_calls(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_blocking(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_waits(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_store(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_queue(struct kvs_probe *p, struct probe_gpu *g);
kvs_status probe_all_reduce(struct kvs_probe *p, struct probe_gpu *g);

/* probe_engine.c: big copies of engine tests, which take PROBE_BIG_S. */
uint64_t probe_big_bytes(const struct kvs_probe *p, const struct probe_gpu *g);
double probe_big_s(const struct kvs_probe *p, const struct probe_gpu *g);
/* Begins a round on an idle GPU: PROBE_START is recorded on its first stream, *out_start_s is the
 * host's clock then. Events and copies take equally long to reach the device, so host times after
 * it compare with device times after it. */
enum { PROBE_START = PROBE_FREE_EVENT, PROBE_ROUND_EVENT };
kvs_status probe_start_round(struct kvs_probe *p, struct probe_gpu *g, double *out_start_s);

/* A tiny kernel, n times, on job->stream. */
kvs_status probe_work_kernels(const struct probe_job *job);
/* size_bytes in n copies. */
kvs_status probe_work_copies(const struct probe_job *job);
kvs_status probe_work_nothing(const struct probe_job *job);

/* probe_topology.c: what is known of all GPUs before anything is measured, from NVML and sysfs;
 * nothing of it is needed, so nothing fails. */
void probe_look(struct kvs_probe *p);

#endif
