/* A compute operation: kernels that take its time, and among them those that read and make bytes. */
#include "real/cells.h"
#include "real/cuda_internal.h"
#include "real/pieces.h"

/* A compute under way: kernels that are its share of time, and steps between them. */
struct compute {
    struct cuda_exec *x;
    const struct cuda_now *now;
    const struct kvs_segment *segment;
    struct cuda_device *device;
    const struct cuda_op *op;
    cudaStream_t stream;
    struct kvs_gpu_cells_list list; /* of the steps at hand */
    bool makes;                     /* they make rows; else they fold */
    int64_t mix_layer;              /* whose sum the next rows made take in first; -1: none */
    uint32_t n_left;                /* kernels that take a share of its time still due */
};

static struct kvs_gpu_time compute_time(const struct compute *w)
{
    uint16_t d = (uint16_t)(w->device - w->x->devices);
    return (struct kvs_gpu_time){.cycles = w->op->cycles,
                                 .pace = w->x->emulate ? cuda_emulate_pace(w->x->emulate, d)
                                                       : NULL};
}

/* One more of the operation's kernels that only takes its share. */
static kvs_status compute_filler(struct compute *w)
{
    w->n_left--;
    KVS_CUDA(kvs_gpu_spin(w->stream, compute_time(w)), w->device->gpu, 0, w->x->err);
    return KVS_OK;
}

/* The share of a kernel that does a step as well; nothing once the planned ones are used up. */
static struct kvs_gpu_time compute_share(struct compute *w)
{
    if (w->n_left == 0)
        return (struct kvs_gpu_time){.cycles = 0};
    w->n_left--;
    return compute_time(w);
}

static struct kvs_gpu_cells compute_cells(const struct compute *w, uint16_t buffer,
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

/* Launches what is in the list. A sum that has to be mixed in is, by the first rows made of it. */
static kvs_status compute_flush(struct compute *w)
{
    if (w->list.n > 0 && w->makes)
        KVS_CUDA(
            kvs_gpu_make(w->stream, &w->list, w->device->state, w->mix_layer, compute_share(w)),
            w->device->gpu, 0, w->x->err);
    else if (w->list.n > 0)
        KVS_CUDA(kvs_gpu_fold(w->stream, &w->list, w->device->state, compute_share(w), 0),
                 w->device->gpu, 0, w->x->err);
    if (w->list.n > 0 && w->makes)
        w->mix_layer = -1;
    w->list.n = 0;
    return KVS_OK;
}

static kvs_status compute_list(struct compute *w, const struct kvs_gpu_cells *cells)
{
    if (w->list.n == KVS_GPU_MAX_BLOCKS)
        KVS_TRY(compute_flush(w));
    w->list.items[w->list.n++] = *cells;
    return KVS_OK;
}

/* Adds the bytes of a step to the list. */
static kvs_status compute_add(struct compute *w, const struct kvs_step *step)
{
    const struct kvs_range *access = &w->segment->accesses.items[step->access];
    const struct kvs_range *cells = &w->segment->accesses.items[step->cells];
    struct kvs_range bytes = kvs_range_at(access, w->now->token);
    struct kvs_range first = kvs_range_at(cells, w->now->token);
    struct kvs_pieces pieces = kvs_pieces_cells(access, cells, step->n_cells, w->now->token);
    struct kvs_piece_pair pair;
    struct kvs_gpu_cells item;
    if (step->n_cells == 1 && bytes.rows == first.rows && bytes.width == first.width) {
        if (kvs_range_bytes(&bytes) == 0)
            return KVS_OK;
        item = compute_cells(w, bytes.buffer, bytes.offset, bytes.pitch, &first);
        return compute_list(w, &item);
    }
    while (kvs_pieces_next(&pieces, &pair)) {
        struct kvs_range piece = {.buffer = pair.buffer_b,
                                  .offset = pair.offset_b,
                                  .width = (uint32_t)pair.n_bytes,
                                  .pitch = (uint32_t)pair.n_bytes,
                                  .rows = 1};
        item = compute_cells(w, pair.buffer_a, pair.offset_a, pair.n_bytes, &piece);
        KVS_TRY(compute_list(w, &item));
    }
    return KVS_OK;
}

static kvs_status compute_poison(struct compute *w, const struct kvs_step *step)
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
static kvs_status compute_fill(struct compute *w, uint32_t n_kept)
{
    while (w->n_left > n_kept)
        KVS_TRY(compute_filler(w));
    return KVS_OK;
}

static kvs_status compute_fold(struct compute *w, const struct kvs_step *folds, uint32_t n)
{
    w->makes = false;
    for (uint32_t i = 0; i < n; i++)
        KVS_TRY(compute_add(w, &folds[i]));
    return compute_flush(w);
}

static kvs_status compute_mix_and_make(struct compute *w, const struct kvs_step *mix,
                                       const struct kvs_step *make, uint32_t n_make)
{
    w->makes = true;
    w->mix_layer = mix ? mix->layer : -1;
    for (uint32_t i = 0; i < n_make; i++)
        KVS_TRY(compute_add(w, &make[i]));
    KVS_TRY(compute_flush(w));
    if (w->mix_layer >= 0) /* no row was made */
        KVS_CUDA(
            kvs_gpu_mix(w->stream, w->device->state, (uint64_t)w->mix_layer, compute_share(w)),
            w->device->gpu, 0, w->x->err);
    return KVS_OK;
}

static uint32_t compute_same_kind(const struct kvs_step *steps, uint32_t n)
{
    uint32_t k = 1;
    while (k < n && steps[k].kind == steps[0].kind)
        k++;
    return k;
}

/* One step, or a run of the same kind that fits one kernel; returns how many in *taken. */
static kvs_status compute_step(struct compute *w, const struct kvs_step *steps, uint32_t n,
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
        *taken = compute_same_kind(steps, n);
        return compute_fold(w, steps, *taken);
    case KVS_STEP_MIX: {
        uint32_t n_make =
            n > 1 && steps[1].kind == KVS_STEP_MAKE ? compute_same_kind(steps + 1, n - 1) : 0;
        *taken = 1 + n_make;
        return compute_mix_and_make(w, steps, steps + 1, n_make);
    }
    case KVS_STEP_MAKE:
        *taken = compute_same_kind(steps, n);
        return compute_mix_and_make(w, NULL, steps, *taken);
    case KVS_STEP_POISON:
        return compute_poison(w, steps);
    }
    return KVS_OK;
}

/* Kernels that steps take: a fold, and a mix or a make. */
static uint32_t compute_n_kernels(const struct kvs_step *steps, uint32_t n)
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

static kvs_status compute_steps(struct compute *w, const struct kvs_step *steps, uint32_t n)
{
    uint32_t taken;
    for (uint32_t i = 0; i < n; i += taken)
        KVS_TRY(compute_step(w, &steps[i], n - i, &taken));
    return KVS_OK;
}

uint32_t cuda_compute_n_steps(const struct cuda_exec *x, uint32_t segment, kvs_op_id op)
{
    const struct kvs_program_op *program = &x->program->segments[segment].ops[op];
    const struct kvs_step *steps = kvs_program_steps(x->program, segment, op);
    return compute_n_kernels(steps, program->n_begin) +
           compute_n_kernels(steps + program->n_begin, program->n_steps - program->n_begin);
}

kvs_status cuda_compute(struct cuda_exec *x, const struct cuda_now *now)
{
    const struct kvs_op *op = cuda_op_of(x, now);
    const struct kvs_program_op *program = &x->program->segments[now->segment].ops[now->op];
    const struct kvs_step *steps = kvs_program_steps(x->program, now->segment, now->op);
    const struct cuda_op *own = &x->ops[now->segment][now->op];
    struct compute w = {.x = x,
                        .now = now,
                        .segment = cuda_segment(x, now),
                        .device = &x->devices[cuda_device_of(x, op)],
                        .op = own,
                        .stream = x->streams[op->queue],
                        .n_left = x->spins ? own->n_kernels : 0};
    uint32_t n_end = program->n_steps - program->n_begin;
    KVS_TRY(compute_steps(&w, steps, program->n_begin));
    KVS_TRY(compute_fill(&w, compute_n_kernels(steps + program->n_begin, n_end)));
    if (!x->spins)
        KVS_TRY(cuda_weights_launch(x, op, own));
    KVS_TRY(compute_steps(&w, steps + program->n_begin, n_end));
    return compute_fill(&w, 0);
}
