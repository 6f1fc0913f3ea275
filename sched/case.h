/*
 * One configuration: machine, model, workload, placement and transport, resolved. What a policy
 * turns into a plan, and what costs are looked up with.
 */
#ifndef KVS_SCHED_CASE_H
#define KVS_SCHED_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "models/compute.h"
#include "models/kv.h"
#include "models/llm.h"
#include "models/machine.h"
#include "models/split.h"

struct kvs_workload {
    uint64_t depth;      /* rows in the cache before the first generated token, per sequence */
    uint32_t n_gen;      /* tokens (decode steps) generated */
    uint32_t n_parallel; /* sequences decoded together */
    bool is_unified;     /* one cache pool for all sequences instead of one stream each */
    uint32_t n_rows;     /* rows per sequence and step: 1, more for speculative batches */
    uint32_t n_ubatch;   /* llama.cpp's micro batch: it sizes sliding-window caches */
    uint64_t n_ctx;      /* cache size in rows per sequence; 0: just enough, padded */
    uint32_t pad_rows;   /* window padding, llama.cpp 256 */
    kvs_kv_type type_k;
    kvs_kv_type type_v;
    bool is_pinned;       /* host cache in pinned memory */
    bool is_frozen;       /* every step repeats the first one's positions */
    uint64_t window_rows; /* 0, or the window's rows for a synthetic program (with is_frozen) */
};

typedef enum kvs_split_mode {
    KVS_SPLIT_NONE,
    KVS_SPLIT_LAYER,
    KVS_SPLIT_TENSOR
} kvs_split_mode;

struct kvs_placement {
    kvs_split_mode mode;
    kvs_split_rule rule;    /* of the heads, under tensor split */
    const double *shares;   /* [n_devices]; borrowed */
    uint32_t kv_gpu_layers; /* staged layers whose cache stays on the device, the first ones */
};

typedef enum kvs_streams { KVS_STREAMS_ONE, KVS_STREAMS_PER_SLOT } kvs_streams;
typedef enum kvs_yield { KVS_YIELD_NONE, KVS_YIELD_LAYER, KVS_YIELD_KV } kvs_yield;
typedef enum kvs_late { KVS_LATE_COPY, KVS_LATE_KERNEL } kvs_late;

struct kvs_transport {
    uint32_t lookahead;    /* deliveries beyond the layer being computed (-kvpd); 0: ordered */
    uint64_t budget_bytes; /* ring memory per device (-kvpb); UINT64_MAX: no limit */
    uint64_t headroom_bytes; /* must stay free on a device after the ring */
    kvs_streams streams;
    kvs_yield yield;
    kvs_late late;
    bool
        keeps_tail; /* the last rows of staged layers stay on the devices: kvs_case_tail_first */
};

struct kvs_case {
    const struct kvs_machine *machine; /* borrowed */
    const struct kvs_llm *llm;         /* borrowed */
    struct kvs_workload workload;
    struct kvs_placement placement;
    struct kvs_transport transport;
    kvs_compute_kind compute;
};

/* llama.cpp's and the fork's defaults: one sequence, q8_0, pinned, 256-row padding, look-ahead
 * 1, budget 128 MiB, headroom 512 MiB, one transfer stream, late bytes by copy. */
void kvs_case_init(struct kvs_case *c);

/* Refuses what no policy can plan: shares that give nobody a layer, tensor split of a model
 * that cannot be split, more rows than the cache holds, window_rows without is_frozen. */
kvs_status kvs_case_check(const struct kvs_case *c, struct kvs_error *err) KVS_MUST_USE;

/* Position-dependent sizes of a step. */
struct kvs_window {
    uint64_t
        window_rows; /* rows delivered per stream of a full-attention layer, padding included */
    uint64_t early_rows; /* stable prefix inside the window at this step */
};

/* Streams of the cache: n_parallel, or 1 when unified. */
uint32_t kvs_case_n_streams(const struct kvs_case *c);
/* Rows that one step adds to a stream: those of all its sequences. */
uint32_t kvs_case_stream_rows(const struct kvs_case *c);
/* Rows by which a stream's filled cells grow from step to step: 0 with frozen positions. */
uint32_t kvs_case_advance_rows(const struct kvs_case *c);
/* Rows that one step computes: all sequences. */
uint64_t kvs_case_batch_rows(const struct kvs_case *c);
/* Cells per stream of the cache, and of one layer (sliding-window layers keep fewer). */
uint64_t kvs_case_cells(const struct kvs_case *c);
uint64_t kvs_case_layer_cells(const struct kvs_case *c, const struct kvs_llm_layer *layer);
/* Cells of a stream that hold rows before step `step`. */
uint64_t kvs_case_used_rows(const struct kvs_case *c, uint32_t step);
/* Step t (0-based) for one layer; sliding-window layers are capped at their cells. */
struct kvs_window kvs_case_window(const struct kvs_case *c, const struct kvs_llm_layer *layer,
                                  uint32_t step);
/* Steps from `step` on that share its window (at least 1, at most n_gen - step). */
uint32_t kvs_case_steps_with_same_window(const struct kvs_case *c, uint32_t step);

/*
 * Where a transport keeps the last rows of its streams on the devices, a token's deliveries bring
 * rows [0, first) of a full-attention layer, which do not change while the window is the same.
 *
 * A delivery leaves at most one token ahead. Then the rows of the token before are being made,
 * and those of the one before that may be on their way to the cache; rows of a batch that the
 * next token writes again are never among them. So with a rows a token and n in its batch,
 *
 *     first = k x pad_rows - (2 a + n - 1), or 0      where row used + n - 1 is in block k
 *
 * and the tail holds at most pad_rows + 2 a + n - 1 rows.
 */
uint64_t kvs_case_tail_first(const struct kvs_case *c, uint32_t step);
/* Rows per stream of a ring for the tail, whole blocks: row r lies at r mod so many, and a row is
 * not overwritten before first has passed it for a whole block. */
uint64_t kvs_case_tail_ring_rows(const struct kvs_case *c);

/* Share of device d in the whole: weights and, on average, heads. Sums to 1 over the devices.
 */
double kvs_case_share(const struct kvs_case *c, uint32_t device);
/* Has the device any work? One without a split, else those with a share. */
bool kvs_case_uses_device(const struct kvs_case *c, uint32_t device);
/* What compute costs on a device: its profile nearest to that share, or its roofline. */
struct kvs_compute_cost kvs_case_compute_cost(const struct kvs_case *c, uint32_t device);

#endif
