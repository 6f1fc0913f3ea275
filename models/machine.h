/*
 * The hardware: a tree of links from host memory to devices, what each device can do, and what
 * the host pays. Plain data in SI units (seconds, B/s, bytes); every figure is a kvs_param and
 * so carries its origin. docs/machine-format.md describes the file.
 *
 *     host memory
 *        `- root complex        link 0, parent -1, mode unlimited
 *             |- gpu0 slot      link 1, parent 0, gen4x16     -> device 0
 *             `- gpu1 slot      link 2, parent 0, gen3x4      -> device 1
 *
 * A device file under models/gpu/ gives the defaults of a card; the machine file overrides
 * them.
 */
#ifndef KVS_MODELS_MACHINE_H
#define KVS_MODELS_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "models/profile.h"

/* How the two directions of a link, and the flows in one direction, share it. */
typedef enum kvs_link_mode {
    KVS_LINK_DUPLEX,   /* each direction has the rate of its own */
    KVS_LINK_SHARED,   /* both directions draw on one rate */
    KVS_LINK_UNLIMITED /* never a limit */
} kvs_link_mode;

typedef enum kvs_dir { KVS_H2D, KVS_D2H, KVS_N_DIRS } kvs_dir;

struct kvs_link {
    char name[32];
    int32_t parent; /* index into links, -1 = host memory; always smaller than its own index */
    kvs_link_mode mode;
    unsigned gen; /* PCIe generation and lanes; 0 when the file gives rates alone */
    unsigned lanes;
    struct kvs_param rate[KVS_N_DIRS]; /* usable rate per direction; 0 when unlimited */
    struct kvs_param
        opposite[KVS_N_DIRS]; /* the same while the other one is busy; 0: no change */
    struct kvs_param latency;
    struct kvs_param efficiency; /* what the raw rate was multiplied by; 0: h2d was given */
    bool is_rate_measured;       /* false: raw rate x efficiency */
};

/* Efficiency of 2D copies by row width: piecewise linear in width, flat outside. */
#define KVS_ROW_CURVE_MAX 16
struct kvs_row_curve {
    uint32_t n;                              /* 0: always 1 */
    uint32_t width_bytes[KVS_ROW_CURVE_MAX]; /* ascending */
    double efficiency[KVS_ROW_CURVE_MAX];    /* of the link's rate, (0, 1] */
    char source[160];
};

typedef enum kvs_arbitration { KVS_ARB_STICKY, KVS_ARB_FIFO } kvs_arbitration;

/*
 * Which stream an engine serves second after it was idle, when one copy waits for the first
 * stream's event and a younger one is free: the free one, or the one in the chain. Both were
 * measured on one H200, stable within a run, with nothing found that decides
 * (docs/copy-engine.md).
 */
typedef enum kvs_first_turn { KVS_FIRST_TURN_FREE, KVS_FIRST_TURN_CHAINED } kvs_first_turn;

/* Copy engines of a device. Source of the rules: docs/copy-engine.md. */
struct kvs_engines {
    uint32_t n_engines;     /* 1: both directions share one; >= 2: one per direction */
    struct kvs_param count; /* n_engines again, with its origin, for lists of figures */
    kvs_arbitration arbitration;
    kvs_first_turn first_turn;
    struct kvs_param
        commit_lead; /* s: how long before the end a copy must be ready to be committed */
    struct kvs_param bypass_bytes; /* a single pinned 1D copy up to this skips the engine */
    struct kvs_param bypass_pageable_bytes;
    struct kvs_param bypass_latency;    /* s, such a copy from issue to done */
    struct kvs_param first_overhead;    /* s, a copy on an idle engine, on top of its bytes */
    struct kvs_param next_overhead;     /* s, a copy right behind another */
    struct kvs_param opposite_overhead; /* s, a d2h copy more while the h2d engine is busy */
    struct kvs_param handoff;         /* s, between a copy and a kernel that waits for it, or a
                                           kernel and a copy: on one stream or by an event */
    struct kvs_param in_flight_bytes; /* requests outstanding while the engine runs */
    struct kvs_row_curve row_curve;
};

#define KVS_MACHINE_MAX_DEVICES  1024u
#define KVS_MACHINE_MAX_LINKS    4096u
#define KVS_MACHINE_MAX_DEPTH    15u /* links from a device to host memory */
#define KVS_MACHINE_MAX_PROFILES 256u

/* kvsim's own kernels, where they stand for a model's: KVS_COMPUTE_STREAMED. */
struct kvs_stream_kernels {
    struct kvs_param rate;      /* B/s of weights; 0: not known */
    struct kvs_param fold_rate; /* B/s of K and V, into the digest; 0: not known */
    struct kvs_param kernel;    /* s, each of a graph on top of its bytes */
    struct kvs_param operation; /* s, each operation on top of its kernels */
    struct kvs_param slowdown;  /* fraction, while the h2d link runs at full rate */
    struct kvs_param beside;    /* s, each operation that starts while that link is busy */
};

struct kvs_device {
    char name[32];
    char gpu[32];  /* catalogue card, or "" */
    uint32_t link; /* index into links */
    struct kvs_engines engines;
    struct kvs_stream_kernels stream;
    struct kvs_param memory_bytes;      /* total */
    struct kvs_param reserved_bytes;    /* taken by others and by the runtime */
    bool is_memory_known;               /* false: memory checks say "not checked" */
    struct kvs_param memory_rate;       /* B/s, device memory */
    struct kvs_param flops;             /* FLOP/s, f16 */
    struct kvs_param memory_efficiency; /* share of memory_rate that decode reaches: roofline */
    struct kvs_param kernel_gap;        /* s between kernels of one queue */
    struct kvs_param read_latency;      /* s, a kernel's dependent read of host memory, idle */
    struct kvs_param read_outstanding_bytes; /* bytes a small reading kernel keeps in flight */
    struct kvs_param read_setup;             /* s, such a kernel on top of its reads */
    struct kvs_param read_trips; /* times such a kernel waits for host memory one after another:
                                    its first read, and what ends it */
    struct kvs_compute_profile *profiles; /* owned, [n_profiles] */
    uint32_t n_profiles;
};

/* How the host submits a split's kernels. */
typedef enum kvs_submit { KVS_SUBMIT_KERNELS, KVS_SUBMIT_GRAPH } kvs_submit;

struct kvs_host {
    struct kvs_param memory_rate; /* B/s all DMA shares; 0: no limit */
    kvs_submit submit;
    struct kvs_param kernel_launch;     /* s of host time each */
    struct kvs_param graph_launch;      /* s per split and device when submit is graph */
    struct kvs_param subgraph_launch;   /* s per sub-graph and device under tensor split */
    struct kvs_param collective_launch; /* s per member */
    struct kvs_param event_pair;        /* s: record and stream wait */
    struct kvs_param copy_call;         /* s per asynchronous copy call */
    struct kvs_param sync;           /* s from the end of device work to the host running on */
    struct kvs_param hop;            /* s from an event to what waits for it on another queue */
    struct kvs_param store;          /* s of host work per stored row (set_rows) */
    struct kvs_param split_work;     /* s of host work per split, besides the calls */
    struct kvs_param between_tokens; /* s: logits, sampling, next input: a dependency */
    struct kvs_param queue_limit;    /* unfinished kernels that block the host */
    struct kvs_param pageable_rate;  /* B/s, staged by the driver; 0: half the link's */
    struct kvs_param pageable_async_bytes; /* pageable copies up to this return at once */
};

typedef enum kvs_backend {
    KVS_BACKEND_NCCL_P2P,
    KVS_BACKEND_NCCL_HOST,
    KVS_BACKEND_HOST
} kvs_backend;

/* All-reduce between the devices. */
struct kvs_collective {
    kvs_backend backend;
    struct kvs_param latency; /* s, idle, launch and wait included */
    struct kvs_param trips;   /* dependent host reads per all-reduce (0 with peer-to-peer) */
    struct kvs_param rate;    /* B/s; 0: bytes cost nothing beyond the latency */
};

struct kvs_machine {
    char name[64];
    char description[200];
    char build[24];         /* software build whose costs these are, or "" */
    struct kvs_link *links; /* owned, [n_links], parents first */
    uint32_t n_links;
    struct kvs_device *devices; /* owned, [n_devices] */
    uint32_t n_devices;
    struct kvs_host host;
    struct kvs_collective collective;
};

/* Finds catalogue bytes: returns them and their length, and may set *out_file to the file's name for
 * messages (gpu/NAME.yaml on entry); or NULL, and may set *out_nearest to the most similar name
 * there is (NULL on entry). Given by the caller of the loader,
 * so that models/ needs to know nothing of how the catalogue is embedded. All is borrowed for
 * the parse. */
typedef const char *(*kvs_gpu_lookup)(void *context, const char *gpu_name, size_t *out_n,
                                      const char **out_file, const char **out_nearest);

/*
 * Reads a machine file (or bytes under a display name). Every fault goes to diags; *err gets
 * the first. lookup may be NULL (then `gpu:` must not be used). Returns to caller:
 * kvs_machine_destroy.
 */
kvs_status kvs_machine_parse(const char *name, const char *bytes, size_t n,
                             kvs_gpu_lookup lookup, void *context, struct kvs_diags *diags,
                             struct kvs_machine **out, struct kvs_error *err) KVS_MUST_USE;
void kvs_machine_destroy(struct kvs_machine *machine);

/* Copies links and devices, to be changed; profiles are borrowed from the original, which must
 * outlive the clone. Returns to caller: kvs_machine_clone_destroy. */
kvs_status kvs_machine_clone(const struct kvs_machine *machine, struct kvs_machine **out,
                             struct kvs_error *err) KVS_MUST_USE;
void kvs_machine_clone_destroy(struct kvs_machine *machine); /* NULL is fine */

#endif
