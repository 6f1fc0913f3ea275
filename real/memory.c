/* Buffers on the host, and the bytes of operations. */
#include "real/memory.h"

#include <inttypes.h>
#include <string.h>

#include "real/cells.h"
#include "real/pieces.h"

/* Allocations of a plan can be large; pages are touched by reset. */
static kvs_status memory_alloc(struct kvs_memory *m, struct kvs_error *err)
{
    const struct kvs_plan *plan = m->program->plan;
    void *memory;
    KVS_TRY(kvs_mem_alloc(plan->buffers.n, sizeof *m->buffers, &memory, err));
    m->buffers = memory;
    KVS_TRY(kvs_mem_alloc(plan->n_devices, sizeof *m->sums, &memory, err));
    m->sums = memory;
    KVS_TRY(kvs_mem_alloc(plan->n_devices, sizeof *m->states, &memory, err));
    m->states = memory;
    for (size_t i = 0; i < plan->buffers.n; i++) {
        const struct kvs_buffer *buffer = &plan->buffers.items[i];
        if (!m->program->is_used[i] || buffer->size_bytes == 0)
            continue;
        if (kvs_mem_alloc(buffer->size_bytes, 1, &memory, err) != KVS_OK)
            return kvs_error_set(err, KVS_ENOMEM,
                                 "out of memory: buffer %s of the plan needs %" PRIu64 " bytes",
                                 buffer->name, buffer->size_bytes);
        m->buffers[i] = memory;
    }
    return KVS_OK;
}

kvs_status kvs_memory_create(const struct kvs_program *program, uint64_t seed,
                             struct kvs_memory **out, struct kvs_error *err)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(1, sizeof(struct kvs_memory), &memory, err));
    struct kvs_memory *m = memory;
    m->program = program;
    m->seed = seed;
    kvs_status status = memory_alloc(m, err);
    if (status == KVS_OK)
        *out = m;
    else
        kvs_memory_destroy(m);
    return status;
}

void kvs_memory_destroy(struct kvs_memory *memory)
{
    if (!memory)
        return;
    for (size_t i = 0; memory->buffers && i < memory->program->plan->buffers.n; i++)
        kvs_mem_free(memory->buffers[i]);
    kvs_mem_free(memory->buffers);
    kvs_mem_free(memory->sums);
    kvs_mem_free(memory->states);
    kvs_mem_free(memory);
}

static void memory_fill(struct kvs_memory *m, size_t i)
{
    const struct kvs_buffer *buffer = &m->program->plan->buffers.items[i];
    uint64_t id = m->program->cell_ids[i];
    if (!m->buffers[i])
        return;
    memset(m->buffers[i], 0, buffer->size_bytes);
    if (buffer->run_bytes == 0) {
        kvs_cells_fill(id, 0, m->buffers[i], buffer->valid_bytes);
        return;
    }
    for (uint64_t at = 0; at + buffer->filled_bytes <= buffer->valid_bytes;
         at += buffer->run_bytes)
        kvs_cells_fill(id, at, m->buffers[i] + at, buffer->filled_bytes);
}

static void memory_copy(struct kvs_memory *m, struct kvs_pieces pieces)
{
    struct kvs_piece_pair pair;
    while (kvs_pieces_next(&pieces, &pair))
        memcpy(m->buffers[pair.buffer_b] + pair.offset_b,
               m->buffers[pair.buffer_a] + pair.offset_a, pair.n_bytes);
}

void kvs_memory_reset(struct kvs_memory *memory)
{
    const struct kvs_plan *plan = memory->program->plan;
    for (size_t i = 0; i < plan->buffers.n; i++)
        memory_fill(memory, i);
    for (size_t i = 0; i + 1 < plan->setup.n; i += 2)
        memory_copy(memory, kvs_pieces_copy(&plan->setup.items[i], 2, 0));
    memory->shared_state = kvs_cells_mix64(memory->seed);
    for (uint32_t d = 0; d < plan->n_devices; d++) {
        memory->sums[d] = 0;
        memory->states[d] = memory->shared_state;
    }
}

static void memory_fold(struct kvs_memory *m, const struct kvs_segment *s,
                        const struct kvs_step *step, uint32_t device, uint32_t token)
{
    struct kvs_pieces pieces =
        kvs_pieces_cells(&s->accesses.items[step->access], &s->accesses.items[step->cells],
                         step->n_cells, token);
    struct kvs_piece_pair pair;
    while (kvs_pieces_next(&pieces, &pair))
        m->sums[device] +=
            kvs_cells_fold(m->program->cell_ids[pair.buffer_b], pair.offset_b,
                           m->buffers[pair.buffer_a] + pair.offset_a, pair.n_bytes);
}

static void memory_make(struct kvs_memory *m, const struct kvs_segment *s,
                        const struct kvs_step *step, uint32_t device, uint32_t token)
{
    struct kvs_pieces pieces =
        kvs_pieces_cells(&s->accesses.items[step->access], &s->accesses.items[step->cells],
                         step->n_cells, token);
    struct kvs_piece_pair pair;
    while (kvs_pieces_next(&pieces, &pair))
        kvs_cells_make(m->program->cell_ids[pair.buffer_b], m->states[device], pair.offset_b,
                       m->buffers[pair.buffer_a] + pair.offset_a, pair.n_bytes);
}

static void memory_poison(struct kvs_memory *m, const struct kvs_range *range, uint32_t token)
{
    struct kvs_range at = kvs_range_at(range, token);
    for (uint32_t row = 0; row < at.rows; row++)
        memset(m->buffers[at.buffer] + at.offset + (uint64_t)row * at.pitch, KVS_CELLS_POISON,
               at.width);
}

static void memory_step(struct kvs_memory *m, const struct kvs_segment *s,
                        const struct kvs_step *step, uint32_t device, uint32_t token)
{
    switch ((kvs_step_kind)step->kind) {
    case KVS_STEP_LOAD:
        m->states[device] = m->shared_state;
        return;
    case KVS_STEP_FOLD:
        memory_fold(m, s, step, device, token);
        return;
    case KVS_STEP_MIX:
        m->states[device] =
            kvs_cells_next_state(m->states[device], step->layer, m->sums[device]);
        m->sums[device] = 0;
        return;
    case KVS_STEP_MAKE:
        memory_make(m, s, step, device, token);
        return;
    case KVS_STEP_POISON:
        memory_poison(m, &s->accesses.items[step->access], token);
        return;
    case KVS_STEP_STORE:
        m->shared_state = m->states[device];
        return;
    }
}

/* Steps [from, to) of a compute. */
static void memory_steps(struct kvs_memory *m, uint32_t segment, uint32_t token, kvs_op_id id,
                         uint32_t from, uint32_t to)
{
    const struct kvs_plan *plan = m->program->plan;
    const struct kvs_segment *s = &plan->segments.items[segment];
    uint16_t device = plan->queues.items[s->ops.items[id].queue].device;
    const struct kvs_step *steps = kvs_program_steps(m->program, segment, id);
    for (uint32_t i = from; i < to; i++)
        memory_step(m, s, &steps[i], device, token);
}

void kvs_memory_begin(struct kvs_memory *memory, uint32_t segment, uint32_t token, kvs_op_id id)
{
    const struct kvs_segment *s = &memory->program->plan->segments.items[segment];
    const struct kvs_op *op = &s->ops.items[id];
    if (op->kind == KVS_OP_COPY || op->kind == KVS_OP_HOST)
        memory_copy(memory, kvs_pieces_copy(kvs_segment_accesses(s, op), op->n_access, token));
    else if (op->kind == KVS_OP_COMPUTE)
        memory_steps(memory, segment, token, id, 0,
                     memory->program->segments[segment].ops[id].n_begin);
}

void kvs_memory_end(struct kvs_memory *memory, uint32_t segment, uint32_t token, kvs_op_id id)
{
    const struct kvs_program_op *op = &memory->program->segments[segment].ops[id];
    if (memory->program->plan->segments.items[segment].ops.items[id].kind == KVS_OP_COMPUTE)
        memory_steps(memory, segment, token, id, op->n_begin, op->n_steps);
}

void kvs_memory_apply(struct kvs_memory *memory, uint32_t segment, uint32_t token, kvs_op_id id)
{
    kvs_memory_begin(memory, segment, token, id);
    kvs_memory_end(memory, segment, token, id);
}

void kvs_memory_reduce(struct kvs_memory *memory, uint32_t segment, kvs_op_id first)
{
    const struct kvs_plan *plan = memory->program->plan;
    const struct kvs_op *ops = &plan->segments.items[segment].ops.items[first];
    uint16_t layer = memory->program->segments[segment].ops[first].layer;
    uint64_t sum = 0;
    if (layer == KVS_NO_LAYER)
        return;
    for (uint32_t i = 0; i < ops->collective.n_members; i++)
        sum += memory->sums[plan->queues.items[ops[i].queue].device];
    for (uint32_t i = 0; i < ops->collective.n_members; i++) {
        uint16_t device = plan->queues.items[ops[i].queue].device;
        memory->states[device] = kvs_cells_next_state(memory->states[device], layer, sum);
        memory->sums[device] = 0;
    }
}

uint64_t kvs_memory_digest(const struct kvs_memory *memory)
{
    return memory->program->has_shared_state ? memory->shared_state
                                             : memory->states[memory->program->final_device];
}
