/* What an operation puts on its stream: copies, kernels, reduces. */
#define _POSIX_C_SOURCE 199309L /* nanosleep */

#include <string.h>
#include <time.h>

#include "models/copy.h"
#include "real/cells.h"
#include "real/cuda_internal.h"
#include "real/pieces.h"

#define OPS_SMALL_BYTES 16384u
#define OPS_SPIN_TAIL_S 100e-6 /* a sleep may be so late: the rest of host work is spun */

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
        .trips = (float)device->read_trips.value,
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
        return cuda_compute(x, now);
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
