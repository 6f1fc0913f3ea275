/* Virtual copy engines. */
#define _POSIX_C_SOURCE 199309L

#include "real/cuda_emulate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "models/arbiter.h"
#include "models/copy.h"
#include "real/cuda_check.h"
#include "real/cuda_internal.h"

#define EMULATE_JOBS    512u /* of a queue under way; a power of two */
#define EMULATE_PIECE_S 100e-6

/* The driver's own types, so that its header and library are not needed to build. */
typedef int (*emulate_value_fn)(cudaStream_t stream, unsigned long long address, uint32_t value,
                                unsigned flags);

struct emulate_entry {
    struct cuda_emulate_job job;
    uint32_t number; /* from 1 */
    double ready_s;
};

struct emulate_queue {
    uint16_t device;
    struct emulate_entry *entries; /* owned ring, [EMULATE_JOBS] */
    _Atomic uint32_t n_issued;
    _Atomic uint32_t n_done;
    _Atomic uint32_t n_seen; /* ready, noticed by an engine */
    /* of the host's thread */
    cudaStream_t stream; /* owned: tells when copies are ready */
    cudaEvent_t event;   /* owned */
    bool is_behind;      /* of other work on the queue's stream */
};

struct emulate_engine {
    struct cuda_emulate *owner;
    pthread_t thread;
    bool has_thread;
    uint16_t device;
    int gpu;
    bool serves[KVS_N_DIRS];
    cudaStream_t stream; /* owned: moves the bytes */
    /* of its thread alone */
    uint32_t current; /* queue served last */
    uint32_t running; /* queue, KVS_ARBITER_NONE: none */
    double end_s;     /* of the last copy */
    double moves_s;   /* when the running copy's bytes begin to move */
    double deadline_s;
    uint32_t piece, n_pieces;
    uint32_t passing; /* a copy that skips the engine; KVS_ARBITER_NONE: none */
    double passing_s;
};

struct cuda_emulate {
    const struct kvs_plan *plan;
    const struct kvs_costs *costs;
    emulate_value_fn write_value, wait_value;
    uint32_t *ready;                /* owned, mapped, [n_queues] written by streams */
    uint32_t *done;                 /* owned, mapped, [n_queues] written by engines */
    struct kvs_gpu_pace *paces;     /* owned, mapped, [n_devices] */
    struct emulate_queue *queues;   /* owned, [n_queues] */
    struct emulate_engine *engines; /* owned, [n_engines] */
    uint32_t n_engines;
    _Atomic bool is_stopping;
    _Atomic int failure; /* cudaError_t of a thread */
};

static struct emulate_entry *emulate_head(struct emulate_queue *q)
{
    uint32_t n_done = atomic_load_explicit(&q->n_done, memory_order_acquire);
    if (n_done == atomic_load_explicit(&q->n_issued, memory_order_acquire))
        return NULL;
    return &q->entries[n_done % EMULATE_JOBS];
}

static bool emulate_is_ready(struct emulate_queue *q, const struct emulate_entry *entry)
{
    return (int32_t)(atomic_load_explicit(&q->n_seen, memory_order_acquire) - entry->number) >=
           0;
}

static bool emulate_is_own(const struct emulate_engine *engine, const struct emulate_queue *q,
                           const struct emulate_entry *entry)
{
    return q->device == engine->device && engine->serves[entry->job.is_d2h ? KVS_D2H : KVS_H2D];
}

/* ---- moving bytes ---- */

static uint64_t emulate_bytes(const struct cuda_emulate_job *job)
{
    return job->width * job->rows;
}

/* Piece k of n: some rows, or some bytes of a single one. */
static void emulate_move(struct emulate_engine *engine, const struct cuda_emulate_job *job,
                         uint32_t k, uint32_t n)
{
    cudaError_t result;
    if (job->rows == 1) {
        uint64_t from = job->width / n * k;
        uint64_t to = k + 1 == n ? job->width : job->width / n * (k + 1);
        result = cudaMemcpyAsync(job->to + from, job->from + from, to - from, cudaMemcpyDefault,
                                 engine->stream);
    } else {
        uint32_t from = (uint32_t)((uint64_t)job->rows * k / n);
        uint32_t to = (uint32_t)((uint64_t)job->rows * (k + 1) / n);
        if (from == to)
            return;
        result = cudaMemcpy2DAsync(job->to + from * job->to_pitch, job->to_pitch,
                                   job->from + from * job->from_pitch, job->from_pitch,
                                   job->width, to - from, cudaMemcpyDefault, engine->stream);
    }
    if (result != cudaSuccess)
        atomic_store(&engine->owner->failure, (int)result);
}

static void emulate_finish(struct emulate_engine *engine, uint32_t queue)
{
    struct emulate_queue *q = &engine->owner->queues[queue];
    uint32_t number = emulate_head(q)->number;
    atomic_fetch_add_explicit(&q->n_done, 1, memory_order_release);
    ((volatile uint32_t *)engine->owner->done)[queue] = number;
}

/* ---- the engine ---- */

static void emulate_set_pace(struct emulate_engine *engine, double Bps)
{
    const struct kvs_device_costs *cost = &engine->owner->costs->devices[engine->device];
    volatile struct kvs_gpu_pace *pace = &engine->owner->paces[engine->device];
    if (!engine->serves[KVS_H2D])
        return;
    pace->slowdown =
        (float)(Bps > 0.0 ? cost->copy_slowdown * Bps / cost->path_Bps[KVS_H2D] : 0.0);
    pace->delay_us = (float)(Bps > 0.0 ? cost->in_flight_bytes / Bps * 1e6 : 0.0);
}

/* Copies that could begin by now, also behind one of their queue that is under way. The engine of
 * the queue's head keeps count for both. */
static void emulate_see(struct emulate_engine *engine, uint32_t queue, double now_s)
{
    struct cuda_emulate *e = engine->owner;
    struct emulate_queue *q = &e->queues[queue];
    struct emulate_entry *head = emulate_head(q);
    if (!head || !emulate_is_own(engine, q, head))
        return;
    uint32_t seen = atomic_load_explicit(&q->n_seen, memory_order_relaxed);
    uint32_t ready = ((const volatile uint32_t *)e->ready)[queue];
    for (; (int32_t)(ready - seen) > 0; seen++)
        q->entries[seen % EMULATE_JOBS].ready_s = now_s;
    atomic_store_explicit(&q->n_seen, seen, memory_order_release);
}

/* A small copy at the head of an idle queue goes past a busy engine. */
static void emulate_pass(struct emulate_engine *engine, uint32_t queue, double now_s)
{
    struct cuda_emulate *e = engine->owner;
    struct emulate_queue *q = &e->queues[queue];
    struct emulate_entry *head = emulate_head(q);
    if (!head || !emulate_is_own(engine, q, head) || !emulate_is_ready(q, head) ||
        !head->job.may_bypass || engine->running == KVS_ARBITER_NONE ||
        engine->running == queue || engine->passing != KVS_ARBITER_NONE)
        return;
    engine->passing = queue;
    engine->passing_s = now_s + (double)e->costs->devices[engine->device].bypass_ps * 1e-12;
    emulate_move(engine, &head->job, 0, 1);
}

static void emulate_look(struct emulate_engine *engine, double now_s)
{
    for (uint32_t i = 1; i < engine->owner->plan->queues.n; i++) {
        emulate_see(engine, i, now_s);
        emulate_pass(engine, i, now_s);
    }
}

static uint32_t emulate_choose(const struct emulate_engine *engine, double base_s)
{
    const struct cuda_emulate *e = engine->owner;
    struct kvs_arbiter_candidate candidates[KVS_PLAN_MAX_QUEUES_PER_DEVICE];
    const struct kvs_device_costs *cost = &e->costs->devices[engine->device];
    uint32_t n = 0;
    for (uint32_t i = 1; i < e->plan->queues.n && n < KVS_PLAN_MAX_QUEUES_PER_DEVICE; i++) {
        const struct emulate_entry *entry = emulate_head(&e->queues[i]);
        if (!entry || !emulate_is_own(engine, &e->queues[i], entry) ||
            !emulate_is_ready(&e->queues[i], entry) || i == engine->passing)
            continue;
        candidates[n++] = (struct kvs_arbiter_candidate){
            .stream = i,
            .issue_ps = (kvs_time)((entry->job.issue_s - base_s) * 1e12),
            .ready_ps = (kvs_time)((entry->ready_s - base_s) * 1e12)};
    }
    uint32_t chosen = kvs_arbiter_choose(
        e->costs->machine->devices[engine->device].engines.arbitration, cost->lead_ps,
        engine->current, (kvs_time)((engine->end_s - base_s) * 1e12), candidates, n);
    return chosen == KVS_ARBITER_NONE ? KVS_ARBITER_NONE : candidates[chosen].stream;
}

/* An engine that goes on without a gap begins where the last copy ended. */
static void emulate_start(struct emulate_engine *engine, uint32_t queue)
{
    const struct kvs_device_costs *cost = &engine->owner->costs->devices[engine->device];
    const struct emulate_entry *entry = emulate_head(&engine->owner->queues[queue]);
    bool is_behind = entry->ready_s <= engine->end_s;
    double start_s = is_behind ? engine->end_s : entry->ready_s;
    kvs_time overhead_ps =
        cost->latency_ps + (is_behind ? cost->next_overhead_ps : cost->first_overhead_ps);
    double moving_s = (double)emulate_bytes(&entry->job) / entry->job.Bps;
    engine->running = engine->current = queue;
    engine->moves_s = start_s + (double)overhead_ps * 1e-12;
    engine->deadline_s = engine->moves_s + moving_s;
    engine->piece = 0;
    engine->n_pieces = (uint32_t)(moving_s / EMULATE_PIECE_S) + 1;
    emulate_set_pace(engine, entry->job.Bps);
}

/* Pieces that are due; the copy ends at its deadline, and not before its bytes are there. */
static void emulate_go_on(struct emulate_engine *engine, double now_s)
{
    const struct emulate_entry *entry = emulate_head(&engine->owner->queues[engine->running]);
    double share_s = (engine->deadline_s - engine->moves_s) / engine->n_pieces;
    while (engine->piece < engine->n_pieces &&
           now_s >= engine->moves_s + share_s * (double)engine->piece) {
        emulate_move(engine, &entry->job, engine->piece, engine->n_pieces);
        engine->piece++;
    }
    if (engine->piece < engine->n_pieces || now_s < engine->deadline_s ||
        cudaStreamQuery(engine->stream) == cudaErrorNotReady)
        return;
    double late_s = cuda_now_s() - engine->deadline_s;
    engine->end_s = late_s > EMULATE_PIECE_S ? engine->deadline_s + late_s : engine->deadline_s;
    emulate_finish(engine, engine->running);
    engine->running = KVS_ARBITER_NONE;
}

static void emulate_turn(struct emulate_engine *engine, double base_s)
{
    double now_s = cuda_now_s();
    emulate_look(engine, now_s);
    if (engine->passing != KVS_ARBITER_NONE && now_s >= engine->passing_s &&
        cudaStreamQuery(engine->stream) != cudaErrorNotReady) {
        emulate_finish(engine, engine->passing);
        engine->passing = KVS_ARBITER_NONE;
    }
    if (engine->running != KVS_ARBITER_NONE)
        emulate_go_on(engine, now_s);
    if (engine->running != KVS_ARBITER_NONE)
        return;
    uint32_t queue = emulate_choose(engine, base_s);
    if (queue != KVS_ARBITER_NONE)
        emulate_start(engine, queue);
    else
        emulate_set_pace(engine, 0.0);
}

static void *emulate_thread(void *argument)
{
    struct emulate_engine *engine = argument;
    double base_s = cuda_now_s();
    cudaSetDevice(engine->gpu);
    while (!atomic_load_explicit(&engine->owner->is_stopping, memory_order_relaxed))
        emulate_turn(engine, base_s);
    return NULL;
}

/* ---- its life ---- */

static kvs_status emulate_driver(struct cuda_emulate *e, struct kvs_error *err)
{
    const struct {
        const char *name;
        void **slot;
    } calls[] = {{"cuStreamWriteValue32", (void **)&e->write_value},
                 {"cuStreamWaitValue32", (void **)&e->wait_value}};
    for (size_t i = 0; i < KVS_COUNT_OF(calls); i++) {
        enum cudaDriverEntryPointQueryResult found;
        cudaError_t result = cudaGetDriverEntryPointByVersion(calls[i].name, calls[i].slot,
                                                              12000, cudaEnableDefault, &found);
        if (result != cudaSuccess || found != cudaDriverEntryPointSuccess)
            return kvs_error_set(err, KVS_EUNSUPPORTED,
                                 "cuda: the driver has no %s, which emulated links need",
                                 calls[i].name);
    }
    return KVS_OK;
}

static kvs_status emulate_words(struct cuda_emulate *e, struct kvs_error *err)
{
    const struct {
        void **slot;
        size_t bytes;
    } words[] = {{(void **)&e->ready, e->plan->queues.n * sizeof *e->ready},
                 {(void **)&e->done, e->plan->queues.n * sizeof *e->done},
                 {(void **)&e->paces, e->costs->n_devices * sizeof *e->paces}};
    for (size_t i = 0; i < KVS_COUNT_OF(words); i++) {
        KVS_CUDA(cudaHostAlloc(words[i].slot, words[i].bytes,
                               cudaHostAllocMapped | cudaHostAllocPortable),
                 -1, words[i].bytes, err);
        memset(*words[i].slot, 0, words[i].bytes);
    }
    return KVS_OK;
}

static kvs_status emulate_queues(struct cuda_emulate *e, const int *gpus, struct kvs_error *err)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(e->plan->queues.n, sizeof *e->queues, &memory, err));
    e->queues = memory;
    for (size_t i = 1; i < e->plan->queues.n; i++) {
        e->queues[i].device = e->plan->queues.items[i].device;
        KVS_TRY(kvs_mem_alloc(EMULATE_JOBS, sizeof *e->queues[i].entries, &memory, err));
        e->queues[i].entries = memory;
        int gpu = gpus[e->queues[i].device];
        KVS_CUDA(cudaSetDevice(gpu), gpu, 0, err);
        KVS_CUDA(cudaStreamCreateWithFlags(&e->queues[i].stream, cudaStreamNonBlocking), gpu, 0,
                 err);
        KVS_CUDA(cudaEventCreateWithFlags(&e->queues[i].event, cudaEventDisableTiming), gpu, 0,
                 err);
    }
    return KVS_OK;
}

static kvs_status emulate_engine_open(struct cuda_emulate *e, uint16_t device, int gpu,
                                      bool is_h2d, bool is_d2h, struct kvs_error *err)
{
    struct emulate_engine *engine = &e->engines[e->n_engines];
    *engine = (struct emulate_engine){
        .owner = e, .device = device, .gpu = gpu, .serves = {is_h2d, is_d2h}};
    e->n_engines++;
    KVS_CUDA(cudaSetDevice(gpu), gpu, 0, err);
    KVS_CUDA(cudaStreamCreateWithFlags(&engine->stream, cudaStreamNonBlocking), gpu, 0, err);
    return KVS_OK;
}

static kvs_status emulate_engines(struct cuda_emulate *e, const int *gpus,
                                  struct kvs_error *err)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(2 * (size_t)e->plan->n_devices, sizeof *e->engines, &memory, err));
    e->engines = memory;
    for (uint16_t d = 0; d < e->plan->n_devices; d++) {
        bool is_single = e->costs->machine->devices[d].engines.n_engines == 1;
        KVS_TRY(emulate_engine_open(e, d, gpus[d], true, is_single, err));
        if (!is_single)
            KVS_TRY(emulate_engine_open(e, d, gpus[d], false, true, err));
    }
    return KVS_OK;
}

/* Links above the devices' own must not bind. */
static kvs_status emulate_refuse_sharing(const struct kvs_costs *costs, struct kvs_error *err)
{
    const struct kvs_machine *m = costs->machine;
    for (uint32_t l = 0; l < m->n_links; l++) {
        double sum = 0.0;
        bool is_own = false;
        for (uint32_t d = 0; d < m->n_devices; d++) {
            is_own = is_own || m->devices[d].link == l;
            for (int32_t at = (int32_t)m->devices[d].link; at >= 0; at = m->links[at].parent)
                sum += (uint32_t)at == l ? costs->devices[d].path_Bps[KVS_H2D] : 0.0;
        }
        if (!is_own && m->links[l].mode != KVS_LINK_UNLIMITED &&
            sum > 1.001 * m->links[l].rate[KVS_H2D].value)
            return kvs_error_set(err, KVS_EUNSUPPORTED,
                                 "emulated machine: link %s is shared, which is not played",
                                 m->links[l].name);
    }
    return KVS_OK;
}

kvs_status cuda_emulate_create(const struct kvs_plan *plan, const struct kvs_costs *costs,
                               const int *gpus, struct cuda_emulate **out,
                               struct kvs_error *err)
{
    void *memory;
    KVS_TRY(emulate_refuse_sharing(costs, err));
    KVS_TRY(kvs_mem_alloc(1, sizeof(struct cuda_emulate), &memory, err));
    struct cuda_emulate *e = memory;
    kvs_status status;
    e->plan = plan;
    e->costs = costs;
    KVS_TRY_GOTO(emulate_driver(e, err), fail);
    KVS_TRY_GOTO(emulate_words(e, err), fail);
    KVS_TRY_GOTO(emulate_queues(e, gpus, err), fail);
    KVS_TRY_GOTO(emulate_engines(e, gpus, err), fail);
    *out = e;
    return KVS_OK;
fail:
    cuda_emulate_destroy(e);
    return status;
}

void cuda_emulate_destroy(struct cuda_emulate *e)
{
    if (!e)
        return;
    cuda_emulate_end(e);
    for (uint32_t i = 0; i < e->n_engines; i++)
        if (e->engines[i].stream)
            cudaStreamDestroy(e->engines[i].stream);
    for (size_t i = 1; e->queues && i < e->plan->queues.n; i++) {
        if (e->queues[i].stream)
            cudaStreamDestroy(e->queues[i].stream);
        if (e->queues[i].event)
            cudaEventDestroy(e->queues[i].event);
        kvs_mem_free(e->queues[i].entries);
    }
    cudaFreeHost(e->ready);
    cudaFreeHost(e->done);
    cudaFreeHost(e->paces);
    kvs_mem_free(e->queues);
    kvs_mem_free(e->engines);
    kvs_mem_free(e);
}

kvs_status cuda_emulate_begin(struct cuda_emulate *e, struct kvs_error *err)
{
    atomic_store(&e->is_stopping, false);
    for (uint32_t i = 0; i < e->n_engines; i++) {
        struct emulate_engine *engine = &e->engines[i];
        engine->current = engine->running = engine->passing = KVS_ARBITER_NONE;
        engine->end_s = cuda_now_s();
        if (pthread_create(&engine->thread, NULL, emulate_thread, engine) != 0)
            return kvs_error_set(err, KVS_ENOMEM, "cannot start a thread");
        engine->has_thread = true;
    }
    return KVS_OK;
}

void cuda_emulate_end(struct cuda_emulate *e)
{
    atomic_store(&e->is_stopping, true);
    for (uint32_t i = 0; i < e->n_engines; i++) {
        if (e->engines[i].has_thread)
            pthread_join(e->engines[i].thread, NULL);
        e->engines[i].has_thread = false;
    }
}

kvs_status cuda_emulate_follow(struct cuda_emulate *e, uint16_t queue, cudaStream_t stream,
                               struct kvs_error *err)
{
    struct emulate_queue *q = &e->queues[queue];
    if (!q->is_behind)
        return KVS_OK;
    KVS_CUDA(cudaEventRecord(q->event, stream), -1, 0, err);
    KVS_CUDA(cudaStreamWaitEvent(q->stream, q->event, 0), -1, 0, err);
    return KVS_OK;
}

cudaStream_t cuda_emulate_stream(const struct cuda_emulate *e, uint16_t queue)
{
    return e->queues[queue].stream;
}

void cuda_emulate_note(struct cuda_emulate *e, uint16_t queue)
{
    e->queues[queue].is_behind = true;
}

kvs_status cuda_emulate_copy(struct cuda_emulate *e, uint16_t queue, cudaStream_t stream,
                             const struct cuda_emulate_job *job, struct kvs_error *err)
{
    struct emulate_queue *q = &e->queues[queue];
    uint32_t n_issued = atomic_load_explicit(&q->n_issued, memory_order_relaxed);
    while (n_issued - atomic_load_explicit(&q->n_done, memory_order_acquire) >= EMULATE_JOBS)
        KVS_TRY(cuda_emulate_check(e, err));
    uint32_t number = n_issued + 1;
    q->entries[n_issued % EMULATE_JOBS] = (struct emulate_entry){.job = *job, .number = number};
    atomic_store_explicit(&q->n_issued, number, memory_order_release);
    q->is_behind = false;
    if (e->write_value(q->stream, (unsigned long long)(uintptr_t)&e->ready[queue], number, 0) !=
            0 ||
        e->wait_value(stream, (unsigned long long)(uintptr_t)&e->done[queue], number, 0) != 0)
        return kvs_error_set(err, KVS_EDEVICE, "cuda: a stream memory operation failed");
    return KVS_OK;
}

const struct kvs_gpu_pace *cuda_emulate_pace(const struct cuda_emulate *e, uint16_t device)
{
    return &e->paces[device];
}

kvs_status cuda_emulate_check(struct cuda_emulate *e, struct kvs_error *err)
{
    return kvs_cuda_status((cudaError_t)atomic_exchange(&e->failure, 0),
                           "an emulated engine's copy", -1, 0, err);
}
