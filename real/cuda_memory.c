/* Buffers of a plan: pinned or pageable host memory, device memory; and what they hold at first.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "real/cells.h"
#include "real/cuda_internal.h"
#include "real/pieces.h"

static kvs_status memory_buffer(struct cuda_exec *x, size_t i)
{
    const struct kvs_buffer *buffer = &x->plan->buffers.items[i];
    unsigned char **bytes = &x->buffers[i].bytes;
    void *memory;
    switch ((kvs_place)buffer->place) {
    case KVS_PLACE_HOST_PINNED:
        KVS_CUDA(cudaHostAlloc((void **)bytes, buffer->size_bytes,
                               cudaHostAllocMapped | cudaHostAllocPortable),
                 -1, buffer->size_bytes, x->err);
        return KVS_OK;
    case KVS_PLACE_HOST_PAGEABLE:
        KVS_TRY(kvs_mem_alloc(buffer->size_bytes, 1, &memory, x->err));
        *bytes = memory;
        return KVS_OK;
    case KVS_PLACE_DEVICE:
        break;
    }
    int gpu = x->devices[buffer->device].gpu;
    KVS_TRY(cuda_use(x, gpu));
    KVS_CUDA(cudaMalloc((void **)bytes, buffer->size_bytes), gpu, buffer->size_bytes, x->err);
    return KVS_OK;
}

static void memory_fill(const struct cuda_exec *x, size_t i)
{
    const struct kvs_buffer *buffer = &x->plan->buffers.items[i];
    unsigned char *bytes = x->buffers[i].bytes;
    uint64_t run = buffer->run_bytes > 0 ? buffer->run_bytes : buffer->valid_bytes;
    uint64_t filled = buffer->run_bytes > 0 ? buffer->filled_bytes : buffer->valid_bytes;
    for (uint64_t at = 0; run > 0 && at + filled <= buffer->valid_bytes; at += run)
        kvs_cells_fill(x->program->cell_ids[i], at, bytes + at, filled);
}

/* Rows that a run may have written behind the filled ones are zero again; where it may have
 * written over filled ones, all is filled anew. */
static void memory_refill(const struct cuda_exec *x, size_t i)
{
    const struct kvs_buffer *buffer = &x->plan->buffers.items[i];
    unsigned char *bytes = x->buffers[i].bytes;
    if (!x->buffers[i].is_written)
        return;
    if (buffer->run_bytes == 0 || buffer->filled_bytes == buffer->run_bytes) {
        memset(bytes, 0, buffer->size_bytes);
        memory_fill(x, i);
        return;
    }
    for (uint64_t at = 0; at + buffer->run_bytes <= buffer->valid_bytes;
         at += buffer->run_bytes)
        memset(bytes + at + buffer->filled_bytes, 0, buffer->run_bytes - buffer->filled_bytes);
}

static void memory_note_writes(struct cuda_exec *x)
{
    for (size_t s = 0; s < x->plan->segments.n; s++) {
        const struct kvs_segment *segment = &x->plan->segments.items[s];
        for (size_t i = 0; i < segment->accesses.n; i++)
            if (segment->accesses.items[i].mode == KVS_ACCESS_WRITE)
                x->buffers[segment->accesses.items[i].buffer].is_written = true;
    }
}

kvs_status cuda_open_memory(struct cuda_exec *x)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(x->plan->buffers.n, sizeof *x->buffers, &memory, x->err));
    x->buffers = memory;
    memory_note_writes(x);
    for (size_t i = 0; i < x->plan->buffers.n; i++) {
        const struct kvs_buffer *buffer = &x->plan->buffers.items[i];
        if (!x->program->is_used[i] || buffer->size_bytes == 0)
            continue;
        KVS_TRY(memory_buffer(x, i));
        if (buffer->place == KVS_PLACE_DEVICE)
            continue;
        memset(x->buffers[i].bytes, 0, buffer->size_bytes);
        memory_fill(x, i);
    }
    KVS_CUDA(cudaHostAlloc((void **)&x->shared_state, sizeof *x->shared_state,
                           cudaHostAllocMapped | cudaHostAllocPortable),
             -1, sizeof *x->shared_state, x->err);
    return KVS_OK;
}

void cuda_close_memory(struct cuda_exec *x)
{
    for (size_t i = 0; x->buffers && i < x->plan->buffers.n; i++) {
        if (x->plan->buffers.items[i].place == KVS_PLACE_HOST_PINNED)
            cudaFreeHost(x->buffers[i].bytes);
        else if (x->plan->buffers.items[i].place == KVS_PLACE_HOST_PAGEABLE)
            kvs_mem_free(x->buffers[i].bytes);
        else
            cudaFree(x->buffers[i].bytes);
    }
    cudaFreeHost(x->shared_state);
    kvs_mem_free(x->buffers);
}

/* Copies before the first token, whatever they join. */
static kvs_status memory_setup(struct cuda_exec *x)
{
    for (size_t i = 0; i + 1 < x->plan->setup.n; i += 2) {
        struct kvs_pieces pieces = kvs_pieces_copy(&x->plan->setup.items[i], 2, 0);
        const struct kvs_range *from = &x->plan->setup.items[i], *to = from + 1;
        struct kvs_piece_pair pair;
        if (from->rows == to->rows && from->width == to->width && from->width > 0) {
            KVS_CUDA(cudaMemcpy2D(x->buffers[to->buffer].bytes + to->offset, to->pitch,
                                  x->buffers[from->buffer].bytes + from->offset, from->pitch,
                                  from->width, from->rows, cudaMemcpyDefault),
                     -1, kvs_range_bytes(from), x->err);
            continue;
        }
        while (kvs_pieces_next(&pieces, &pair))
            KVS_CUDA(cudaMemcpy(x->buffers[pair.buffer_b].bytes + pair.offset_b,
                                x->buffers[pair.buffer_a].bytes + pair.offset_a, pair.n_bytes,
                                cudaMemcpyDefault),
                     -1, pair.n_bytes, x->err);
    }
    return KVS_OK;
}

kvs_status cuda_reset_memory(struct cuda_exec *x)
{
    struct kvs_gpu_state first = {.state = kvs_cells_mix64(x->options.seed)};
    for (size_t i = 0; i < x->plan->buffers.n; i++) {
        const struct kvs_buffer *buffer = &x->plan->buffers.items[i];
        if (!x->buffers[i].bytes)
            continue;
        if (buffer->place != KVS_PLACE_DEVICE) {
            memory_refill(x, i);
            continue;
        }
        int gpu = x->devices[buffer->device].gpu;
        KVS_TRY(cuda_use(x, gpu));
        KVS_CUDA(cudaMemset(x->buffers[i].bytes, x->options.verifies ? KVS_CELLS_POISON : 0,
                            buffer->size_bytes),
                 gpu, buffer->size_bytes, x->err);
    }
    KVS_TRY(memory_setup(x));
    *x->shared_state = first.state;
    for (uint16_t d = 0; d < x->plan->n_devices; d++) {
        KVS_TRY(cuda_use(x, x->devices[d].gpu));
        KVS_CUDA(cudaMemcpy(x->devices[d].state, &first, sizeof first, cudaMemcpyHostToDevice),
                 x->devices[d].gpu, sizeof first, x->err);
        KVS_CUDA(cudaDeviceSynchronize(), x->devices[d].gpu, 0, x->err);
    }
    return KVS_OK;
}

kvs_status cuda_digest(struct cuda_exec *x, uint64_t *out)
{
    const struct cuda_device *device = &x->devices[x->program->final_device];
    struct kvs_gpu_state last;
    if (x->program->has_shared_state) {
        *out = *x->shared_state;
        return KVS_OK;
    }
    KVS_TRY(cuda_use(x, device->gpu));
    KVS_CUDA(cudaMemcpy(&last, device->state, sizeof last, cudaMemcpyDeviceToHost), device->gpu,
             sizeof last, x->err);
    *out = last.state;
    return KVS_OK;
}
