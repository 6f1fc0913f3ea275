/* Copies past the host-to-device engine: small ones that skip it, the first turn after it was idle,
 * and those of the other direction. docs/copy-engine.md has the rules. */
#include <math.h>

#include "real/probe_internal.h"

#define BYPASS_ROUNDS     21
#define BYPASS_CONSTANT   (256 * KVS_KIB)
#define BYPASS_STORE      (4 * KVS_KIB)
#define BYPASS_HELD_UP    0.4 /* of the time for which the engine is busy: the host was too slow */
#define BYPASS_PASSED     0.6 /* of that time */
#define BYPASS_BIG_COPIES 2   /* that keep the engine busy */

enum { E_BUSY = PROBE_ROUND_EVENT, E_SMALL }; /* ends of the big copies, and of the small one */
enum { E_DELIVERY = PROBE_ROUND_EVENT };      /* the first of several */

/* What is issued on an idle stream behind a busy engine. */
typedef enum bypass_shape {
    SHAPE_PINNED,
    SHAPE_PAGEABLE,
    SHAPE_ROWS,
    SHAPE_SECOND
} bypass_shape;

static kvs_status bypass_issue(struct kvs_probe *p, struct probe_gpu *g, bypass_shape shape,
                               uint64_t size, uint64_t at)
{
    const size_t width = 544; /* half a row of q8_0 heads: a usual width */
    unsigned char *to = g->memory + at;
    cudaStream_t b = g->streams[1];
    switch (shape) {
    case SHAPE_PAGEABLE:
        KVS_CUDA(cudaMemcpyAsync(to, p->pageable, size, cudaMemcpyHostToDevice, b), g->gpu,
                 size, p->err);
        return KVS_OK;
    case SHAPE_ROWS:
        KVS_CUDA(cudaMemcpy2DAsync(to, width, p->pinned + at, 2 * width, width, size / width,
                                   cudaMemcpyHostToDevice, b),
                 g->gpu, size, p->err);
        return KVS_OK;
    case SHAPE_SECOND:
        KVS_TRY(probe_copy(p, g, KVS_H2D, at + size, at + size, size, b));
        break;
    case SHAPE_PINNED:
        break;
    }
    return probe_copy(p, g, KVS_H2D, at, at, size, b);
}

struct bypass_pass {
    bool has_passed;
    double latency_s; /* from the end of the call to the copy's end */
};

static kvs_status bypass_pass(struct kvs_probe *p, struct probe_gpu *g, bypass_shape shape,
                              uint64_t size, struct bypass_pass *out)
{
    uint64_t big = probe_big_bytes(p, g);
    double start_s, issued_s = 0, small_s = 0, busy_s = 0;
    for (int i = 0; i < 3; i++) {
        KVS_TRY(probe_start_round(p, g, &start_s));
        for (uint64_t k = 0; k < BYPASS_BIG_COPIES; k++)
            KVS_TRY(probe_copy(p, g, KVS_H2D, k * big, k * big, big, g->streams[0]));
        KVS_TRY(probe_record(p, g, E_BUSY, g->streams[0]));
        KVS_TRY(bypass_issue(p, g, shape, size, BYPASS_BIG_COPIES * big));
        issued_s = probe_now_s() - start_s;
        KVS_TRY(probe_record(p, g, E_SMALL, g->streams[1]));
        KVS_TRY(probe_sync(p, g));
        KVS_TRY(probe_elapsed(p, g, PROBE_START, E_SMALL, &small_s));
        KVS_TRY(probe_elapsed(p, g, PROBE_START, E_BUSY, &busy_s));
        if (shape == SHAPE_PAGEABLE || issued_s < BYPASS_HELD_UP * busy_s)
            break; /* a pageable copy may well hold up the host */
    }
    out->has_passed = small_s < BYPASS_PASSED * busy_s;
    out->latency_s = fmax(0, small_s - issued_s);
    return KVS_OK;
}

/* Every KiB up to 66, and powers of two above, in case the limit lies there. */
static kvs_status bypass_largest(struct kvs_probe *p, struct probe_gpu *g, bypass_shape shape,
                                 struct kvs_param *to, uint64_t *out_bytes)
{
    struct kvs_probe_passed sizes[80];
    size_t n = 0;
    uint64_t next;
    bool is_clean;
    for (uint64_t kib = 1; kib <= 256; kib = kib < 66 ? kib + 1 : kib < 128 ? 128 : kib * 2) {
        struct kvs_probe_passed *here = &sizes[n++];
        *here = (struct kvs_probe_passed){.size_bytes = kib * KVS_KIB, .n_rounds = 5};
        for (unsigned round = 0; round < here->n_rounds; round++) {
            struct bypass_pass pass;
            KVS_TRY(bypass_pass(p, g, shape, here->size_bytes, &pass));
            here->n_passed += pass.has_passed;
        }
        if (n > 1 && kib > 66 && here->n_passed == 0)
            break;
    }
    *out_bytes = kvs_probe_largest(sizes, n, &next, &is_clean);
    if (!is_clean)
        probe_warn(p,
                   "%s: copies of %llu B waited for the engine, but some larger ones did not; "
                   "the file has the smallest limit",
                   probe_name(g), (unsigned long long)next);
    double largest = (double)*out_bytes;
    double most = next > 0 ? (double)next - 1 : largest;
    return probe_set(p, to,
                     kvs_probe_exact(largest, largest, most,
                                     "one %s copy on an idle stream behind %.1f ms of others: "
                                     "1 to 66 KiB in steps of 1 KiB, 5 each",
                                     shape == SHAPE_PAGEABLE ? "pageable" : "pinned",
                                     BYPASS_BIG_COPIES * probe_big_s(p, g) * 1e3));
}

static kvs_status bypass_latency(struct kvs_probe *p, struct probe_gpu *g, uint64_t most_bytes)
{
    struct probe_samples samples = {0};
    const uint64_t sizes[] = {KVS_KIB, most_bytes};
    for (size_t i = 0; i < KVS_COUNT_OF(sizes); i++)
        for (int round = 0; round < BYPASS_ROUNDS; round++) {
            struct bypass_pass pass;
            KVS_TRY(bypass_pass(p, g, SHAPE_PINNED, sizes[i], &pass));
            if (pass.has_passed)
                probe_add(&samples, pass.latency_s);
        }
    if (samples.n == 0)
        return KVS_OK;
    return probe_set(p, &g->device->engines.bypass_latency,
                     kvs_probe_figure(samples.x, samples.n,
                                      "median of %zu copies of 1 and %llu KiB behind others, "
                                      "from the end of the call",
                                      samples.n, (unsigned long long)(most_bytes / KVS_KIB)));
}

/* The model says that rows, and what finds its stream at work, never pass. */
static kvs_status bypass_check_shape(struct kvs_probe *p, struct probe_gpu *g,
                                     bypass_shape shape, uint64_t size, const char *what)
{
    unsigned n_passed = 0;
    for (int round = 0; round < 5; round++) {
        struct bypass_pass pass;
        KVS_TRY(bypass_pass(p, g, shape, size, &pass));
        n_passed += pass.has_passed;
    }
    if (n_passed > 2)
        probe_warn(p,
                   "%s: %s skipped the engine in %u of 5 rounds, which no model here has: "
                   "predictions with such copies are too slow",
                   probe_name(g), what, n_passed);
    return KVS_OK;
}

kvs_status probe_bypass(struct kvs_probe *p, struct probe_gpu *g)
{
    struct kvs_engines *engines = &g->device->engines;
    uint64_t pinned, pageable;
    KVS_TRY(bypass_largest(p, g, SHAPE_PINNED, &engines->bypass_bytes, &pinned));
    KVS_TRY(bypass_largest(p, g, SHAPE_PAGEABLE, &engines->bypass_pageable_bytes, &pageable));
    if (pinned < KVS_KIB)
        return KVS_OK;
    KVS_TRY(bypass_latency(p, g, pinned));
    KVS_TRY(bypass_check_shape(p, g, SHAPE_ROWS, pinned < 4096 ? 544 : 4 * 544,
                               "a 2D copy of a few rows"));
    return bypass_check_shape(p, g, SHAPE_SECOND, pinned / 2, "the second of two small copies");
}

/* n chained deliveries, each of two copies on a stream of its own, then a free copy: is the free
 * one served before the second delivery? */
static kvs_status bypass_turn(struct kvs_probe *p, struct probe_gpu *g, unsigned n,
                              bool *out_is_free)
{
    uint64_t half = probe_big_bytes(p, g) / 2;
    double start_s, free_s, second_s;
    unsigned e_free = E_DELIVERY + n; /* E_DELIVERY + i: delivery i is over */
    cudaStream_t last = g->streams[PROBE_N_STREAMS - 1];
    KVS_TRY(probe_start_round(p, g, &start_s));
    for (unsigned i = 0; i < n; i++) {
        cudaStream_t stream = g->streams[i];
        if (i > 0)
            KVS_CUDA(cudaStreamWaitEvent(stream, g->events[E_DELIVERY + i - 1], 0), g->gpu, 0,
                     p->err);
        for (uint64_t k = 0; k < 2; k++)
            KVS_TRY(probe_copy(p, g, KVS_H2D, k * half, k * half, half, stream));
        KVS_TRY(probe_record(p, g, E_DELIVERY + i, stream));
    }
    KVS_TRY(probe_copy(p, g, KVS_H2D, 2 * half, 2 * half, BYPASS_CONSTANT, last));
    KVS_TRY(probe_record(p, g, e_free, last));
    KVS_TRY(probe_sync(p, g));
    KVS_TRY(probe_elapsed(p, g, PROBE_START, e_free, &free_s));
    KVS_TRY(probe_elapsed(p, g, PROBE_START, E_DELIVERY + 1, &second_s));
    *out_is_free = free_s < second_s;
    return KVS_OK;
}

kvs_status probe_first_turn(struct kvs_probe *p, struct probe_gpu *g)
{
    static const unsigned ahead[] = {1, 2, 4};
    unsigned n_free[KVS_COUNT_OF(ahead)] = {0}, n_all = 0;
    struct kvs_engines *engines = &g->device->engines;
    bool is_mixed;
    for (size_t i = 0; i < KVS_COUNT_OF(ahead); i++)
        for (int round = 0; round < BYPASS_ROUNDS; round++) {
            bool is_free;
            KVS_TRY(bypass_turn(p, g, ahead[i] + 1, &is_free));
            n_free[i] += is_free;
            n_all += is_free;
        }
    engines->first_turn =
        kvs_probe_first_turn(n_all, BYPASS_ROUNDS * KVS_COUNT_OF(ahead), &is_mixed);
    probe_note(p,
               "%s: after an idle engine's first delivery a free copy came next in %u, %u and "
               "%u of %d rounds, 1, 2 and 4 deliveries ahead%s",
               probe_name(g), n_free[0], n_free[1], n_free[2], BYPASS_ROUNDS,
               is_mixed ? ": both happen, and predict shows both" : "");
    return probe_mark(p, &engines->first_turn);
}

static kvs_status bypass_store(struct kvs_probe *p, struct probe_gpu *g, bool is_beside,
                               struct probe_samples *out)
{
    for (int round = 0; round <= BYPASS_ROUNDS; round++) {
        if (is_beside)
            KVS_TRY(probe_load(p, g, PROBE_BIG_S));
        double start_s = probe_now_s();
        KVS_TRY(probe_copy(p, g, KVS_D2H, p->pinned_bytes - BYPASS_STORE,
                           p->pinned_bytes - BYPASS_STORE, BYPASS_STORE, g->streams[1]));
        KVS_CUDA(cudaStreamSynchronize(g->streams[1]), g->gpu, 0, p->err);
        double time_s = probe_now_s() - start_s;
        bool is_valid = !is_beside || !probe_is_idle(g->load);
        KVS_TRY(probe_sync(p, g));
        if (round > 0 && is_valid)
            probe_add(out, time_s);
    }
    return KVS_OK;
}

kvs_status probe_beside(struct kvs_probe *p, struct probe_gpu *g)
{
    struct probe_samples idle = {0}, beside = {0};
    KVS_TRY(bypass_store(p, g, false, &idle));
    KVS_TRY(bypass_store(p, g, true, &beside));
    if (g->device->engines.n_engines < 2 || beside.n == 0)
        return KVS_OK; /* it waits in the one queue, which is no overhead */
    double alone_s = probe_median(&idle), beside_s = probe_median(&beside);
    for (size_t i = 0; i < beside.n; i++)
        beside.x[i] = fmax(0, beside.x[i] - alone_s);
    return probe_set(p, &g->device->engines.opposite_overhead,
                     kvs_probe_figure(beside.x, beside.n,
                                      "a blocking copy of 4 KiB to the host: %.2f us beside "
                                      "copies to the device, %.2f us idle, median of %zu",
                                      beside_s * 1e6, alone_s * 1e6, beside.n));
}
