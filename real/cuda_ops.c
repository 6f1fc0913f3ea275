/* What an operation puts on its stream: copies, kernels, reduces. */
#define _POSIX_C_SOURCE 199309L /* nanosleep */

#include <string.h>
#include <time.h>

#include "models/copy.h"
#include "real/cells.h"
#include "real/cuda_internal.h"
#include "real/pieces.h"

#define OPS_GRAPH_KERNELS 3u
#define OPS_SMALL_BYTES   16384u
#define OPS_SPIN_TAIL_S   100e-6 /* a sleep may be so late: the rest of host work is spun */

/* ---- what does not change during a run ---- */

static bool ops_is_kernels(const struct kvs_op *op)
{
    return op->kind == KVS_OP_COMPUTE && !(op->flags & KVS_OP_LIGHT);
}

static void ops_bind_compute(struct cuda_exec *x, const struct kvs_op *op, struct cuda_op *out,
                             uint64_t *weights_at)
{
    uint16_t d = cuda_device_of(x, op);
    const struct kvs_device_costs *cost = &x->costs.devices[d];
    out->n_kernels = op->compute.n_kernels > 0 ? op->compute.n_kernels : 1;
    /* what is submitted as a graph takes its time in as few kernels as its steps need */
    if (x->spins && !x->costs.submits_kernels && out->n_kernels > OPS_GRAPH_KERNELS)
        out->n_kernels = OPS_GRAPH_KERNELS;
    if (x->spins) {
        /* gaps between kernels come by themselves */
        kvs_time work = kvs_op_work_ps(&x->costs, op, d);
        if (x->costs.submits_kernels)
            work -= (kvs_time)op->compute.n_kernels * cost->gap_ps;
        out->cycles =
            (uint64_t)((double)work / out->n_kernels * x->devices[d].cycles_per_ps + 0.5);
        return;
    }
    double bytes = (double)op->compute.params * x->c->llm->weight_bytes_per_param;
    out->weights_size = (uint64_t)bytes / 16 * 16;
    out->weights_at = weights_at[d];
    weights_at[d] += out->weights_size;
}

/* The largest share of weights that any segment's token reads on a device. */
static kvs_status ops_bind_weights(struct cuda_exec *x, const uint64_t *weights_at)
{
    for (uint16_t d = 0; d < x->plan->n_devices; d++) {
        struct cuda_device *device = &x->devices[d];
        if (weights_at[d] <= device->weights_bytes)
            continue;
        KVS_TRY(cuda_use(x, device->gpu));
        cudaFree(device->weights);
        device->weights = NULL;
        device->weights_bytes = weights_at[d];
        KVS_CUDA(cudaMalloc((void **)&device->weights, device->weights_bytes), device->gpu,
                 device->weights_bytes, x->err);
        KVS_CUDA(cudaMemset(device->weights, 1, device->weights_bytes), device->gpu,
                 device->weights_bytes, x->err);
    }
    return KVS_OK;
}

static void ops_bind_awaited(struct cuda_exec *x, const struct kvs_segment *segment,
                             struct cuda_op *ops)
{
    for (size_t i = 0; i < segment->ops.n; i++) {
        const struct kvs_op *op = &segment->ops.items[i];
        for (uint32_t k = op->first_dep; k < op->first_dep + op->n_dep; k++) {
            const struct kvs_dep *dep = &segment->deps.items[k];
            if (segment->ops.items[dep->op].queue == op->queue)
                continue;
            ops[dep->op].is_awaited = true;
            if (dep->distance + 1u > x->n_instances)
                x->n_instances = dep->distance + 1u;
        }
    }
}

/* Kernels reach mapped host memory alone. */
static kvs_status ops_refuse_pageable(const struct cuda_exec *x,
                                      const struct kvs_segment *segment)
{
    for (size_t i = 0; i < segment->ops.n; i++) {
        const struct kvs_op *op = &segment->ops.items[i];
        if (op->kind != KVS_OP_COPY || !(op->flags & KVS_OP_VIA_KERNEL))
            continue;
        for (uint32_t a = 0; a < op->n_access; a++) {
            uint16_t buffer = segment->accesses.items[op->first_access + a].buffer;
            if (x->plan->buffers.items[buffer].place == KVS_PLACE_HOST_PAGEABLE)
                return kvs_error_set(x->err, KVS_EUNSUPPORTED,
                                     "cuda: op %zu copies by a kernel, which cannot reach the "
                                     "pageable buffer %s: it has to be pinned",
                                     i, x->plan->buffers.items[buffer].name);
        }
    }
    return KVS_OK;
}

static kvs_status ops_bind_segment(struct cuda_exec *x, uint32_t s, uint64_t *weights_at)
{
    const struct kvs_segment *segment = &x->plan->segments.items[s];
    void *memory;
    KVS_TRY(ops_refuse_pageable(x, segment));
    KVS_TRY(kvs_mem_alloc(segment->ops.n, sizeof **x->ops, &memory, x->err));
    x->ops[s] = memory;
    if (segment->ops.n > x->max_ops)
        x->max_ops = (uint32_t)segment->ops.n;
    memset(weights_at, 0, x->plan->n_devices * sizeof *weights_at);
    for (size_t i = 0; i < segment->ops.n; i++)
        if (ops_is_kernels(&segment->ops.items[i]))
            ops_bind_compute(x, &segment->ops.items[i], &x->ops[s][i], weights_at);
    ops_bind_awaited(x, segment, x->ops[s]);
    return ops_bind_weights(x, weights_at);
}

kvs_status cuda_bind_ops(struct cuda_exec *x)
{
    void *memory;
    x->spins = x->options.compute != KVS_EXEC_COMPUTE_STREAM;
    for (uint16_t d = 0; d < x->plan->n_devices; d++)
        if (x->options.compute == KVS_EXEC_COMPUTE_AUTO && !x->costs.devices[d].compute.profile)
            x->spins = false;
    x->n_instances = 1;
    KVS_TRY(kvs_mem_alloc(x->plan->segments.n, sizeof *x->ops, &memory, x->err));
    x->ops = memory;
    KVS_TRY(kvs_mem_alloc(x->plan->n_devices, sizeof(uint64_t), &memory, x->err));
    uint64_t *weights_at = memory;
    kvs_status status = KVS_OK;
    for (uint32_t s = 0; s < x->plan->segments.n && status == KVS_OK; s++)
        status = ops_bind_segment(x, s, weights_at);
    kvs_mem_free(weights_at);
    KVS_TRY(status);
    KVS_TRY(kvs_mem_alloc(cuda_n_events(x), sizeof *x->events, &memory, x->err));
    x->events = memory;
    return KVS_OK;
}

/* ---- copies ---- */

static kvs_status ops_copy_pieces(struct cuda_exec *x, const struct kvs_range *ranges,
                                  uint32_t token, int gpu, cudaStream_t stream)
{
    struct kvs_pieces pieces = kvs_pieces_copy(ranges, 2, token);
    struct kvs_piece_pair pair;
    while (kvs_pieces_next(&pieces, &pair))
        KVS_CUDA(cudaMemcpyAsync(x->buffers[pair.buffer_b].bytes + pair.offset_b,
                                 x->buffers[pair.buffer_a].bytes + pair.offset_a, pair.n_bytes,
                                 cudaMemcpyDefault, stream),
                 gpu, pair.n_bytes, x->err);
    return KVS_OK;
}

static bool ops_is_run(const struct kvs_range *r)
{
    return r->rows == 1 || r->pitch == r->width;
}

static kvs_status ops_emulate_copy(struct cuda_exec *x, const struct kvs_op *op,
                                   const struct kvs_range *from, const struct kvs_range *to)
{
    uint16_t d = cuda_device_of(x, op);
    uint64_t bytes = kvs_range_bytes(from);
    bool is_2d = (op->flags & KVS_OP_2D) != 0, is_d2h = (op->flags & KVS_OP_D2H) != 0;
    bool is_pageable = (op->flags & KVS_OP_PAGEABLE) != 0;
    bool is_flat = ops_is_run(from) && ops_is_run(to);
    if (!is_flat && (from->rows != to->rows || from->width != to->width))
        return kvs_error_set(x->err, KVS_EUNSUPPORTED,
                             "emulated machine: a copy whose sides differ in shape");
    struct cuda_emulate_job job = {.to = x->buffers[to->buffer].bytes + to->offset,
                                   .from = x->buffers[from->buffer].bytes + from->offset,
                                   .to_pitch = is_flat ? bytes : to->pitch,
                                   .from_pitch = is_flat ? bytes : from->pitch,
                                   .width = is_flat ? bytes : from->width,
                                   .rows = is_flat ? 1 : from->rows,
                                   .Bps = kvs_op_copy_Bps(&x->costs, op, from, d),
                                   .is_d2h = is_d2h,
                                   .issue_s = cuda_now_s()};
    job.may_bypass =
        !is_d2h &&
        kvs_copy_bypasses(&x->c->machine->devices[d].engines, bytes, is_2d, is_pageable) &&
        cudaStreamQuery(x->streams[op->queue]) == cudaSuccess;
    KVS_TRY(cuda_emulate_copy(x->emulate, op->queue, x->streams[op->queue], &job, x->err));
    if (is_pageable &&
        (double)bytes > x->costs.pageable_async_bytes) /* staged by this thread */
        KVS_CUDA(cudaStreamSynchronize(x->streams[op->queue]), x->devices[d].gpu, 0, x->err);
    return KVS_OK;
}

/* A copy by an engine: one call, 1D where both sides are one run and the plan does not ask for a
 * strided one. */
static kvs_status ops_copy(struct cuda_exec *x, const struct cuda_now *now)
{
    const struct kvs_op *op = cuda_op_of(x, now);
    const struct kvs_range *ranges = kvs_segment_accesses(cuda_segment(x, now), op);
    struct kvs_range from = kvs_range_at(&ranges[0], now->token);
    struct kvs_range to = kvs_range_at(&ranges[1], now->token);
    int gpu = x->devices[cuda_device_of(x, op)].gpu;
    cudaStream_t stream = x->streams[op->queue];
    uint64_t bytes = kvs_range_bytes(&from);
    unsigned char *target = x->buffers[to.buffer].bytes + to.offset;
    const unsigned char *source = x->buffers[from.buffer].bytes + from.offset;
    x->run->devices[cuda_device_of(x, op)].moved_bytes[(op->flags & KVS_OP_D2H) != 0] += bytes;
    x->run->devices[cuda_device_of(x, op)].tag_bytes[op->tag] += bytes;
    if (bytes == 0)
        return KVS_OK;
    /* small ones to the host are as quick on the real link as on any */
    bool is_small = (op->flags & KVS_OP_D2H) && bytes <= OPS_SMALL_BYTES;
    if (x->emulate && !is_small)
        return ops_emulate_copy(x, op, &from, &to);
    if (ops_is_run(&from) && ops_is_run(&to) && !(op->flags & KVS_OP_2D)) {
        KVS_CUDA(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, stream), gpu, bytes,
                 x->err);
        return KVS_OK;
    }
    if (from.rows != to.rows || from.width != to.width)
        return ops_copy_pieces(x, ranges, now->token, gpu, stream);
    KVS_CUDA(cudaMemcpy2DAsync(target, to.pitch, source, from.pitch, from.width, from.rows,
                               cudaMemcpyDefault, stream),
             gpu, bytes, x->err);
    return KVS_OK;
}

/* A kernel's copy over the device's link, which is real when nothing is emulated. */
static struct kvs_gpu_read ops_read(const struct cuda_exec *x, const struct kvs_op *op)
{
    uint16_t d = cuda_device_of(x, op);
    const struct kvs_device *device = &x->c->machine->devices[d];
    kvs_dir dir = (kvs_dir)((op->flags & KVS_OP_D2H) != 0);
    if (!x->emulate)
        return (struct kvs_gpu_read){.pace = NULL};
    return (struct kvs_gpu_read){
        .pace = cuda_emulate_pace(x->emulate, d),
        .setup_us = (float)(device->read_setup.value * 1e6),
        .latency_us = (float)(device->read_latency.value * 1e6),
        .outstanding_bytes = (float)device->read_outstanding_bytes.value,
        .path_bytes_per_us = (float)(x->costs.devices[d].path_Bps[dir] * 1e-6),
        .cycles_per_us = (float)(x->devices[d].cycles_per_ps * 1e6)};
}

static kvs_status ops_flush_moves(struct cuda_exec *x, const struct kvs_op *op,
                                  struct kvs_gpu_move_list *list)
{
    struct kvs_gpu_read read = ops_read(x, op);
    for (uint32_t i = 0; i < list->n; i++)
        read.size_bytes += (double)list->items[i].width * list->items[i].rows;
    if (list->n > 0)
        KVS_CUDA(kvs_gpu_copy(x->streams[op->queue], list, read),
                 x->devices[cuda_device_of(x, op)].gpu, (uint64_t)read.size_bytes, x->err);
    list->n = 0;
    return KVS_OK;
}

/* A copy by a kernel over mapped host memory. */
static kvs_status ops_kernel_copy(struct cuda_exec *x, const struct cuda_now *now)
{
    const struct kvs_op *op = cuda_op_of(x, now);
    const struct kvs_range *ranges = kvs_segment_accesses(cuda_segment(x, now), op);
    uint16_t d = cuda_device_of(x, op);
    struct kvs_gpu_move_list list = {.n = 0};
    for (uint32_t i = 0; i + 1 < op->n_access; i += 2) {
        struct kvs_range from = kvs_range_at(&ranges[i], now->token);
        struct kvs_range to = kvs_range_at(&ranges[i + 1], now->token);
        x->run->devices[d].moved_bytes[(op->flags & KVS_OP_D2H) != 0] += kvs_range_bytes(&from);
        x->run->devices[d].tag_bytes[op->tag] += kvs_range_bytes(&from);
        bool is_alike = from.rows == to.rows && from.width == to.width;
        struct kvs_pieces pieces = kvs_pieces_copy(&ranges[i], 2, now->token);
        struct kvs_piece_pair pair = {.buffer_a = from.buffer,
                                      .buffer_b = to.buffer,
                                      .offset_a = from.offset,
                                      .offset_b = to.offset,
                                      .n_bytes = from.width};
        while (kvs_range_bytes(&from) > 0 && (is_alike || kvs_pieces_next(&pieces, &pair))) {
            list.items[list.n++] =
                (struct kvs_gpu_move){.from = x->buffers[pair.buffer_a].bytes + pair.offset_a,
                                      .to = x->buffers[pair.buffer_b].bytes + pair.offset_b,
                                      .from_pitch = is_alike ? from.pitch : pair.n_bytes,
                                      .to_pitch = is_alike ? to.pitch : pair.n_bytes,
                                      .width = pair.n_bytes,
                                      .rows = is_alike ? from.rows : 1};
            if (list.n == KVS_GPU_MAX_BLOCKS)
                KVS_TRY(ops_flush_moves(x, op, &list));
            if (is_alike)
                break;
        }
    }
    return ops_flush_moves(x, op, &list);
}

/* ---- compute ---- */

/* A compute under way: kernels that are its share of time, and steps between them. */
struct ops_compute {
    struct cuda_exec *x;
    const struct cuda_now *now;
    const struct kvs_segment *segment;
    struct cuda_device *device;
    const struct cuda_op *op;
    cudaStream_t stream;
    struct kvs_gpu_cells_list list; /* of the step kind at hand */
    uint32_t n_left;                /* kernels still due */
    uint32_t n_stream;              /* in which the weights are read, and how many were */
    uint32_t n_streamed;
};

static struct kvs_gpu_time ops_time(const struct ops_compute *w)
{
    uint16_t d = (uint16_t)(w->device - w->x->devices);
    return (struct kvs_gpu_time){.cycles = w->op->cycles,
                                 .pace = w->x->emulate ? cuda_emulate_pace(w->x->emulate, d)
                                                       : NULL};
}

/* One more of the operation's kernels that only takes its share. */
static kvs_status ops_filler(struct ops_compute *w)
{
    uint64_t at = w->op->weights_at + w->n_streamed++ * w->op->weights_size;
    w->n_left--;
    if (w->x->spins)
        KVS_CUDA(kvs_gpu_spin(w->stream, ops_time(w)), w->device->gpu, 0, w->x->err);
    else if (w->n_streamed <= w->n_stream)
        KVS_CUDA(kvs_gpu_stream(w->stream, w->device->weights + at, w->op->weights_size,
                                w->device->sink),
                 w->device->gpu, 0, w->x->err);
    else
        KVS_CUDA(kvs_gpu_yield(w->stream), w->device->gpu, 0, w->x->err);
    return KVS_OK;
}

/* The share of a kernel that does a step as well; nothing once the planned ones are used up. */
static struct kvs_gpu_time ops_share(struct ops_compute *w)
{
    if (w->n_left == 0)
        return (struct kvs_gpu_time){.cycles = 0};
    w->n_left--;
    return ops_time(w);
}

static struct kvs_gpu_cells ops_cells(const struct ops_compute *w, uint16_t buffer,
                                      uint64_t offset, uint64_t pitch,
                                      const struct kvs_range *cells)
{
    return (struct kvs_gpu_cells){.bytes = w->x->buffers[buffer].bytes + offset,
                                  .pitch = pitch,
                                  .id = w->x->program->cell_ids[cells->buffer],
                                  .cell_offset = cells->offset,
                                  .cell_pitch = cells->pitch,
                                  .width = cells->width,
                                  .rows = cells->rows};
}

static kvs_status ops_flush_fold(struct ops_compute *w)
{
    if (w->list.n > 0)
        KVS_CUDA(kvs_gpu_fold(w->stream, &w->list, w->device->state, ops_share(w), 0),
                 w->device->gpu, 0, w->x->err);
    w->list.n = 0;
    return KVS_OK;
}

/* Adds the bytes of a step to the list; a full list of folds is launched. */
static kvs_status ops_add(struct ops_compute *w, const struct kvs_step *step)
{
    const struct kvs_range *access = &w->segment->accesses.items[step->access];
    const struct kvs_range *cells = &w->segment->accesses.items[step->cells];
    struct kvs_range bytes = kvs_range_at(access, w->now->token);
    struct kvs_range first = kvs_range_at(cells, w->now->token);
    struct kvs_pieces pieces = kvs_pieces_cells(access, cells, step->n_cells, w->now->token);
    struct kvs_piece_pair pair;
    if (step->n_cells == 1 && bytes.rows == first.rows && bytes.width == first.width) {
        if (kvs_range_bytes(&bytes) > 0)
            w->list.items[w->list.n++] =
                ops_cells(w, bytes.buffer, bytes.offset, bytes.pitch, &first);
        return w->list.n == KVS_GPU_MAX_BLOCKS ? ops_flush_fold(w) : KVS_OK;
    }
    while (kvs_pieces_next(&pieces, &pair)) {
        struct kvs_range piece = {.buffer = pair.buffer_b,
                                  .offset = pair.offset_b,
                                  .width = (uint32_t)pair.n_bytes,
                                  .pitch = (uint32_t)pair.n_bytes,
                                  .rows = 1};
        if (w->list.n == KVS_GPU_MAX_BLOCKS) {
            if (step->kind != KVS_STEP_FOLD)
                return kvs_error_set(w->x->err, KVS_EUNSUPPORTED,
                                     "cuda: new rows of one operation in more than %u pieces",
                                     KVS_GPU_MAX_BLOCKS);
            KVS_TRY(ops_flush_fold(w));
        }
        w->list.items[w->list.n++] =
            ops_cells(w, pair.buffer_a, pair.offset_a, pair.n_bytes, &piece);
    }
    return KVS_OK;
}

static kvs_status ops_poison(struct ops_compute *w, const struct kvs_step *step)
{
    struct kvs_range at =
        kvs_range_at(&w->segment->accesses.items[step->access], w->now->token);
    if (kvs_range_bytes(&at) > 0)
        KVS_CUDA(cudaMemset2DAsync(w->x->buffers[at.buffer].bytes + at.offset, at.pitch,
                                   KVS_CELLS_POISON, at.width, at.rows, w->stream),
                 w->device->gpu, kvs_range_bytes(&at), w->x->err);
    return KVS_OK;
}

/* Kernels still due, less those that the remaining steps take along. */
static kvs_status ops_fill(struct ops_compute *w, uint32_t n_kept)
{
    while (w->n_left > n_kept)
        KVS_TRY(ops_filler(w));
    return KVS_OK;
}

static kvs_status ops_mix_and_make(struct ops_compute *w, const struct kvs_step *mix,
                                   const struct kvs_step *make, uint32_t n_make)
{
    int64_t layer = mix ? mix->layer : -1;
    for (uint32_t i = 0; i < n_make; i++)
        KVS_TRY(ops_add(w, &make[i]));
    if (n_make > 0)
        KVS_CUDA(kvs_gpu_make(w->stream, &w->list, w->device->state, layer, ops_share(w)),
                 w->device->gpu, 0, w->x->err);
    else
        KVS_CUDA(kvs_gpu_mix(w->stream, w->device->state, (uint64_t)layer, ops_share(w)),
                 w->device->gpu, 0, w->x->err);
    w->list.n = 0;
    return KVS_OK;
}

static uint32_t ops_same_kind(const struct kvs_step *steps, uint32_t n)
{
    uint32_t k = 1;
    while (k < n && steps[k].kind == steps[0].kind)
        k++;
    return k;
}

/* One step, or a run of the same kind that fits one kernel; returns how many in *taken. */
static kvs_status ops_step(struct ops_compute *w, const struct kvs_step *steps, uint32_t n,
                           uint32_t *taken)
{
    *taken = 1;
    switch ((kvs_step_kind)steps->kind) {
    case KVS_STEP_LOAD:
    case KVS_STEP_STORE:
        KVS_CUDA(kvs_gpu_hand_on(w->stream, w->device->state, w->x->shared_state,
                                 steps->kind == KVS_STEP_STORE),
                 w->device->gpu, 0, w->x->err);
        return KVS_OK;
    case KVS_STEP_FOLD:
        *taken = ops_same_kind(steps, n);
        for (uint32_t i = 0; i < *taken; i++)
            KVS_TRY(ops_add(w, &steps[i]));
        return ops_flush_fold(w);
    case KVS_STEP_MIX: {
        uint32_t n_make =
            n > 1 && steps[1].kind == KVS_STEP_MAKE ? ops_same_kind(steps + 1, n - 1) : 0;
        *taken = 1 + n_make;
        return ops_mix_and_make(w, steps, steps + 1, n_make);
    }
    case KVS_STEP_MAKE:
        *taken = ops_same_kind(steps, n);
        return ops_mix_and_make(w, NULL, steps, *taken);
    case KVS_STEP_POISON:
        return ops_poison(w, steps);
    }
    return KVS_OK;
}

/* Kernels that the steps at the end of an operation take: a fold, and a mix or a make. */
static uint32_t ops_n_end(const struct kvs_step *steps, uint32_t n)
{
    uint32_t n_kernels = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool goes_on =
            i > 0 && (steps[i].kind == steps[i - 1].kind ||
                      (steps[i].kind == KVS_STEP_MAKE && steps[i - 1].kind == KVS_STEP_MIX));
        n_kernels +=
            !goes_on && (steps[i].kind == KVS_STEP_FOLD || steps[i].kind == KVS_STEP_MIX ||
                         steps[i].kind == KVS_STEP_MAKE);
    }
    return n_kernels;
}

static kvs_status ops_steps(struct ops_compute *w, const struct kvs_step *steps, uint32_t n)
{
    uint32_t taken;
    for (uint32_t i = 0; i < n; i += taken)
        KVS_TRY(ops_step(w, &steps[i], n - i, &taken));
    return KVS_OK;
}

static kvs_status ops_compute(struct cuda_exec *x, const struct cuda_now *now)
{
    const struct kvs_op *op = cuda_op_of(x, now);
    const struct kvs_program_op *program = &x->program->segments[now->segment].ops[now->op];
    const struct kvs_step *steps = kvs_program_steps(x->program, now->segment, now->op);
    struct cuda_op own = x->ops[now->segment][now->op];
    struct ops_compute w = {.x = x,
                            .now = now,
                            .segment = cuda_segment(x, now),
                            .device = &x->devices[cuda_device_of(x, op)],
                            .op = &own,
                            .stream = x->streams[op->queue],
                            .n_left = own.n_kernels};
    uint32_t n_end = program->n_steps - program->n_begin;
    /* weights stream in the kernels that do nothing else, or in one more */
    w.n_stream = own.n_kernels > 3 ? own.n_kernels - 3 : 1;
    own.weights_size = own.weights_size / w.n_stream / 16 * 16;
    KVS_TRY(ops_steps(&w, steps, program->n_begin));
    KVS_TRY(ops_fill(&w, ops_n_end(steps + program->n_begin, n_end)));
    if (!x->spins && w.n_streamed == 0 && own.weights_size > 0) {
        w.n_left++;
        KVS_TRY(ops_filler(&w));
    }
    KVS_TRY(ops_steps(&w, steps + program->n_begin, n_end));
    return ops_fill(&w, 0);
}

/* ---- the rest ---- */

kvs_status cuda_launch(struct cuda_exec *x, const struct cuda_now *now)
{
    const struct kvs_op *op = cuda_op_of(x, now);
    switch (kvs_op_class_of(op)) {
    case KVS_CLASS_ENGINE_COPY:
        return ops_copy(x, now);
    case KVS_CLASS_KERNEL_COPY:
        return ops_kernel_copy(x, now);
    case KVS_CLASS_LIGHT:
        KVS_CUDA(kvs_gpu_yield(x->streams[op->queue]), x->devices[cuda_device_of(x, op)].gpu, 0,
                 x->err);
        return KVS_OK;
    case KVS_CLASS_HEAVY:
        return ops_compute(x, now);
    case KVS_CLASS_MEMBER: {
        /* issued with its last member: what all of them wait for is on their streams then */
        struct cuda_now first = *now;
        first.op -= op->collective.n_members - 1;
        return cuda_is_last_member(x, now) ? cuda_reduce(x, &first) : KVS_OK;
    }
    case KVS_CLASS_HOST_WORK:
    case KVS_CLASS_HOST_WAIT:
    case KVS_CLASS_COUNT:
        break;
    }
    return KVS_OK;
}

/* Sleeps, then spins, until a moment. */
static void ops_wait_until(double end_s)
{
    double left = end_s - cuda_now_s();
    if (left > 2.0 * OPS_SPIN_TAIL_S) {
        left -= OPS_SPIN_TAIL_S;
        struct timespec t = {.tv_sec = (time_t)left};
        t.tv_nsec = (long)((left - (double)t.tv_sec) * 1e9);
        nanosleep(&t, NULL);
    }
    while (cuda_now_s() < end_s) {
    }
}

kvs_status cuda_host_work(struct cuda_exec *x, const struct cuda_now *now)
{
    const struct kvs_op *op = cuda_op_of(x, now);
    const struct kvs_range *ranges = kvs_segment_accesses(cuda_segment(x, now), op);
    struct kvs_pieces pieces = kvs_pieces_copy(ranges, op->n_access, now->token);
    struct kvs_piece_pair pair;
    double start_s = cuda_now_s();
    while (kvs_pieces_next(&pieces, &pair))
        memcpy(x->buffers[pair.buffer_b].bytes + pair.offset_b,
               x->buffers[pair.buffer_a].bytes + pair.offset_a, pair.n_bytes);
    if (op->tag == KVS_TAG_SAMPLE) /* logits, sampling: work that is not done here */
        ops_wait_until(start_s + (double)kvs_op_work_ps(&x->costs, op, 0) * 1e-12);
    return KVS_OK;
}
