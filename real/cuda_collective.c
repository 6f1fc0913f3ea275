/*
 * Collectives: what members have added up becomes the state of all. Three ways:
 *
 *     one GPU      all members are devices of one GPU: a kernel adds their sums
 *     NCCL         a GPU for each member and libnccl: an all-reduce of the payload, in which the
 *                  sums travel
 *     host memory  otherwise: each member posts its sum to mapped memory, waits for the others'
 *                  events, and adds up what all have posted
 */
#include "base/log.h"
#include "real/cuda_internal.h"
#include "real/nccl.h"

typedef enum reduce_way { REDUCE_ONE_GPU, REDUCE_NCCL, REDUCE_HOST_MEMORY } reduce_way;

/* Words between posts: a cache line each. */
#define REDUCE_STRIDE 8u

struct cuda_collectives {
    reduce_way way;
    struct kvs_nccl *nccl; /* owned */
    void **payloads;       /* owned, [n_devices] in device memory */
    uint64_t size_bytes;   /* of each */
    uint64_t *posts;       /* owned, mapped, [2][n_devices][REDUCE_STRIDE] */
    uint32_t n_done; /* collectives: posts take turns, since who gathers late still reads */
    struct cuda_event *meets; /* owned, [n_devices] */
};

static uint64_t reduce_largest_bytes(const struct kvs_plan *plan)
{
    uint64_t largest = 0;
    for (size_t s = 0; s < plan->segments.n; s++)
        for (size_t i = 0; i < plan->segments.items[s].ops.n; i++) {
            const struct kvs_op *op = &plan->segments.items[s].ops.items[i];
            if (op->kind == KVS_OP_COLLECTIVE && op->collective.size_bytes + 16 > largest)
                largest = op->collective.size_bytes + 16;
        }
    return largest;
}

static bool reduce_is_one_gpu(const struct cuda_exec *x)
{
    for (uint16_t d = 1; d < x->plan->n_devices; d++)
        if (x->devices[d].gpu != x->devices[0].gpu)
            return false;
    return true;
}

/* NCCL refuses a GPU that is there twice. */
static bool reduce_is_one_each(const struct cuda_exec *x, struct kvs_error *err)
{
    const struct kvs_device *devices = x->c->machine->devices;
    for (uint16_t d = 0; d < x->plan->n_devices; d++)
        for (uint16_t e = 0; e < d; e++)
            if (x->devices[d].gpu == x->devices[e].gpu) {
                kvs_error_set(err, KVS_EINVAL,
                              "nccl takes a GPU for each device: %s and %s are both GPU %d",
                              devices[e].name, devices[d].name, x->devices[d].gpu);
                kvs_error_hint(err, "--collective auto adds them up in a kernel");
                return false;
            }
    return true;
}

/* Its absence is an error only where it was asked for: host memory does instead. */
static kvs_status reduce_open_nccl(struct cuda_exec *x)
{
    void *memory;
    struct kvs_error why = {0};
    struct cuda_collectives *c = x->collectives;
    KVS_TRY(kvs_mem_alloc(x->plan->n_devices, sizeof(int), &memory, x->err));
    int *gpus = memory;
    for (uint16_t d = 0; d < x->plan->n_devices; d++)
        gpus[d] = x->devices[d].gpu;
    kvs_status status = kvs_nccl_open(gpus, x->plan->n_devices, &c->nccl, &why);
    kvs_mem_free(gpus);
    x->current_gpu = -1;
    if (status != KVS_OK && x->options.collective == KVS_EXEC_COLLECTIVE_NCCL) {
        kvs_error_set(x->err, KVS_ENODEVICE, "%s", why.text);
        kvs_error_hint(x->err, "--collective auto goes through host memory instead");
        return KVS_ENODEVICE;
    }
    c->way = status == KVS_OK ? REDUCE_NCCL : REDUCE_HOST_MEMORY;
    if (status != KVS_OK)
        kvs_log(KVS_LOG_WARN, "nccl", "%s; collectives go through host memory", why.text);
    return KVS_OK;
}

static kvs_status reduce_choose_way(struct cuda_exec *x)
{
    kvs_exec_collective wanted = x->options.collective;
    struct kvs_error why = {0};
    bool is_one_each = reduce_is_one_each(x, &why);
    if (wanted == KVS_EXEC_COLLECTIVE_NCCL && !is_one_each) {
        *x->err = why;
        return KVS_EINVAL;
    }
    x->collectives->way = REDUCE_HOST_MEMORY;
    if (wanted == KVS_EXEC_COLLECTIVE_AUTO && reduce_is_one_gpu(x))
        x->collectives->way = REDUCE_ONE_GPU;
    else if (wanted != KVS_EXEC_COLLECTIVE_HOST && is_one_each)
        return reduce_open_nccl(x);
    return KVS_OK;
}

static kvs_status reduce_alloc(struct cuda_exec *x)
{
    void *memory;
    struct cuda_collectives *c = x->collectives;
    size_t n = x->plan->n_devices;
    KVS_TRY(kvs_mem_alloc(n, sizeof *c->payloads, &memory, x->err));
    c->payloads = memory;
    KVS_TRY(kvs_mem_alloc(n, sizeof *c->meets, &memory, x->err));
    c->meets = memory;
    for (uint16_t d = 0; d < n; d++) {
        int gpu = x->devices[d].gpu;
        KVS_TRY(cuda_use(x, gpu));
        KVS_CUDA(cudaMalloc(&c->payloads[d], c->size_bytes), gpu, c->size_bytes, x->err);
        KVS_CUDA(cudaMemset(c->payloads[d], 0, c->size_bytes), gpu, c->size_bytes, x->err);
        KVS_TRY(cuda_event_on(x, &c->meets[d], gpu));
    }
    KVS_CUDA(cudaHostAlloc((void **)&c->posts, 2 * n * REDUCE_STRIDE * sizeof *c->posts,
                           cudaHostAllocMapped | cudaHostAllocPortable),
             -1, 2 * n * REDUCE_STRIDE * sizeof *c->posts, x->err);
    return KVS_OK;
}

kvs_status cuda_open_collectives(struct cuda_exec *x)
{
    void *memory;
    uint64_t size_bytes = reduce_largest_bytes(x->plan);
    if (size_bytes == 0)
        return KVS_OK;
    if (x->plan->n_devices > KVS_GPU_MAX_MEMBERS)
        return kvs_error_set(x->err, KVS_EUNSUPPORTED, "cuda: a collective of more than %u",
                             KVS_GPU_MAX_MEMBERS);
    KVS_TRY(kvs_mem_alloc(1, sizeof *x->collectives, &memory, x->err));
    x->collectives = memory;
    x->collectives->size_bytes = size_bytes;
    KVS_TRY(reduce_alloc(x));
    return reduce_choose_way(x);
}

void cuda_close_collectives(struct cuda_exec *x)
{
    struct cuda_collectives *c = x->collectives;
    if (!c)
        return;
    kvs_nccl_close(c->nccl);
    for (uint16_t d = 0; d < x->plan->n_devices; d++) {
        if (c->payloads)
            cudaFree(c->payloads[d]);
        if (c->meets && c->meets[d].event)
            cudaEventDestroy(c->meets[d].event);
    }
    cudaFreeHost(c->posts);
    kvs_mem_free(c->payloads);
    kvs_mem_free(c->meets);
    kvs_mem_free(c);
    x->collectives = NULL;
}

/* A collective while it is issued: its members, and whose sum it completes. */
struct reduce {
    struct cuda_exec *x;
    struct cuda_collectives *c;
    const struct kvs_op *first;
    uint32_t n;
    int64_t layer; /* -1: none */
};

static uint16_t reduce_device(const struct reduce *r, uint32_t i)
{
    return cuda_device_of(r->x, &r->first[i]);
}

/* Member i's stream comes to where it is now. */
static kvs_status reduce_meet(const struct reduce *r, uint32_t i)
{
    struct cuda_event *meet = &r->c->meets[reduce_device(r, i)];
    KVS_TRY(cuda_use(r->x, meet->gpu));
    KVS_CUDA(cudaEventRecord(meet->event, r->x->streams[r->first[i].queue]), meet->gpu, 0,
             r->x->err);
    return KVS_OK;
}

/* Stream of member i waits for that of member k. */
static kvs_status reduce_await(const struct reduce *r, uint32_t i, uint32_t k)
{
    const struct cuda_event *meet = &r->c->meets[reduce_device(r, k)];
    int gpu = r->x->devices[reduce_device(r, i)].gpu;
    KVS_TRY(cuda_use(r->x, gpu));
    KVS_CUDA(cudaStreamWaitEvent(r->x->streams[r->first[i].queue], meet->event, 0), gpu, 0,
             r->x->err);
    return KVS_OK;
}

/* What the kernel takes along: the modelled time, where compute has it too. */
static void reduce_times(const struct reduce *r, struct kvs_gpu_members *members,
                         uint64_t *cycles)
{
    const struct cuda_exec *x = r->x;
    if (!x->spins)
        return;
    double cycles_per_ps = x->devices[reduce_device(r, 0)].cycles_per_ps;
    *cycles = (uint64_t)((double)kvs_op_work_ps(&x->costs, r->first, 0) * cycles_per_ps);
    members->n_trips = x->costs.n_trips;
    members->cycles_per_us = (float)(cycles_per_ps * 1e6);
    for (uint32_t i = 0; x->emulate && i < r->n; i++)
        members->paces[i] = cuda_emulate_pace(x->emulate, reduce_device(r, i));
}

/* All streams meet in the first member's. */
static kvs_status reduce_one_gpu(const struct reduce *r)
{
    struct kvs_gpu_members members = {.n = r->n};
    uint64_t cycles = 0;
    int gpu = r->x->devices[reduce_device(r, 0)].gpu;
    reduce_times(r, &members, &cycles);
    for (uint32_t i = 0; i < r->n; i++) {
        members.states[i] = r->x->devices[reduce_device(r, i)].state;
        if (i == 0)
            continue;
        KVS_TRY(reduce_meet(r, i));
        KVS_TRY(reduce_await(r, 0, i));
    }
    KVS_CUDA(kvs_gpu_reduce(r->x->streams[r->first->queue], &members, r->layer, cycles), gpu, 0,
             r->x->err);
    KVS_TRY(reduce_meet(r, 0));
    for (uint32_t i = 1; i < r->n; i++)
        KVS_TRY(reduce_await(r, i, 0));
    return KVS_OK;
}

static kvs_status reduce_nccl(const struct reduce *r)
{
    struct cuda_exec *x = r->x;
    void *buffers[KVS_GPU_MAX_MEMBERS];
    cudaStream_t streams[KVS_GPU_MAX_MEMBERS];
    for (uint32_t i = 0; i < r->n; i++) {
        uint16_t d = reduce_device(r, i);
        buffers[d] = r->c->payloads[d];
        streams[d] = x->streams[r->first[i].queue];
        KVS_TRY(cuda_use(x, x->devices[d].gpu));
        KVS_CUDA(kvs_gpu_pack(streams[d], x->devices[d].state, buffers[d]), x->devices[d].gpu,
                 0, x->err);
    }
    uint64_t n_floats = r->first->collective.size_bytes / sizeof(float);
    KVS_TRY(
        kvs_nccl_all_reduce(r->c->nccl, buffers, n_floats < 4 ? 4 : n_floats, streams, x->err));
    x->current_gpu = -1;
    for (uint32_t i = 0; i < r->n; i++) {
        uint16_t d = reduce_device(r, i);
        KVS_TRY(cuda_use(x, x->devices[d].gpu));
        KVS_CUDA(kvs_gpu_unpack(streams[d], x->devices[d].state, buffers[d], r->layer),
                 x->devices[d].gpu, 0, x->err);
    }
    return KVS_OK;
}

static kvs_status reduce_host_memory(const struct reduce *r)
{
    struct cuda_exec *x = r->x;
    size_t turn = r->c->n_done++ % 2;
    uint64_t *posts = r->c->posts + turn * x->plan->n_devices * REDUCE_STRIDE;
    for (uint32_t i = 0; i < r->n; i++) {
        const struct cuda_device *device = &x->devices[reduce_device(r, i)];
        KVS_TRY(cuda_use(x, device->gpu));
        KVS_CUDA(kvs_gpu_post(x->streams[r->first[i].queue], device->state,
                              &posts[(size_t)i * REDUCE_STRIDE]),
                 device->gpu, 0, x->err);
        KVS_TRY(reduce_meet(r, i));
    }
    for (uint32_t i = 0; i < r->n; i++) {
        const struct cuda_device *device = &x->devices[reduce_device(r, i)];
        for (uint32_t k = 0; k < r->n; k++)
            if (k != i)
                KVS_TRY(reduce_await(r, i, k));
        KVS_CUDA(kvs_gpu_gather(x->streams[r->first[i].queue], device->state, posts, r->n,
                                REDUCE_STRIDE, r->layer),
                 device->gpu, 0, x->err);
    }
    return KVS_OK;
}

kvs_status cuda_reduce(struct cuda_exec *x, const struct cuda_now *first)
{
    const struct kvs_op *op = cuda_op_of(x, first);
    uint16_t layer = x->program->segments[first->segment].ops[first->op].layer;
    struct reduce r = {.x = x,
                       .c = x->collectives,
                       .first = op,
                       .n = op->collective.n_members,
                       .layer = layer != KVS_NO_LAYER ? (int64_t)layer : -1};
    switch (r.c->way) {
    case REDUCE_ONE_GPU:
        return reduce_one_gpu(&r);
    case REDUCE_NCCL:
        /* its communicators are of all devices */
        return r.n == x->plan->n_devices ? reduce_nccl(&r) : reduce_host_memory(&r);
    case REDUCE_HOST_MEMORY:
        return reduce_host_memory(&r);
    }
    return KVS_OK;
}
