/* From accesses to steps on bytes. */
#include "real/program.h"

#include <string.h>

#include "base/hash.h"

/* One segment at work; arrays [n_ops of the segment]. */
struct program_work {
    struct kvs_program *program;
    const struct kvs_segment *segment;
    struct kvs_program_segment *out;
    kvs_op_id *next; /* the next operation of its queue and phase; n_ops: none */
    bool *is_loaded; /* the state comes from another device, or goes to one */
    bool *is_stored;
    bool *is_copied; /* [n_buffers] a copy writes there */
    bool verifies;
    struct kvs_error *err;
};

/* Accesses behind i, a read or a write, that say which cells its bytes are. */
static uint16_t program_n_cells(const struct kvs_segment *segment, const struct kvs_op *op,
                                uint32_t i)
{
    const struct kvs_range *ranges = &segment->accesses.items[op->first_access];
    uint32_t n = 0;
    if (ranges[i].mode != KVS_ACCESS_READ && ranges[i].mode != KVS_ACCESS_WRITE)
        return 0;
    if (i + 1 < op->n_access && ranges[i + 1].mode == KVS_ACCESS_EXPECT)
        return 1;
    while (i + 1 + n < op->n_access && ranges[i + 1 + n].mode == KVS_ACCESS_CELLS)
        n++;
    return (uint16_t)n;
}

static bool program_has_cells(const struct kvs_segment *segment, const struct kvs_op *op)
{
    for (uint32_t i = 0; i < op->n_access; i++)
        if (program_n_cells(segment, op, i) > 0)
            return op->kind == KVS_OP_COMPUTE;
    return false;
}

static kvs_status program_find_next(struct program_work *w)
{
    const struct kvs_segment *s = w->segment;
    const struct kvs_plan *plan = w->program->plan;
    void *memory;
    KVS_TRY(kvs_mem_alloc(plan->queues.n, sizeof(kvs_op_id), &memory, w->err));
    kvs_op_id *later = memory; /* [n_queues] */
    for (uint32_t phase = 0; phase < s->period; phase++) {
        for (size_t q = 0; q < plan->queues.n; q++)
            later[q] = (kvs_op_id)s->ops.n;
        for (kvs_op_id i = (kvs_op_id)s->ops.n; i-- > 0;) {
            const struct kvs_op *op = &s->ops.items[i];
            if (op->phase != phase)
                continue;
            w->next[i] = later[op->queue];
            later[op->queue] = i;
        }
    }
    kvs_mem_free(later);
    return KVS_OK;
}

static const struct kvs_op *program_collective_after(const struct program_work *w, kvs_op_id op)
{
    kvs_op_id next = w->next[op];
    if (next >= w->segment->ops.n || w->segment->ops.items[next].kind != KVS_OP_COLLECTIVE)
        return NULL;
    return &w->segment->ops.items[next];
}

/* Does a sum pass through collectives, or is there but one device with a state? */
static bool program_is_local(const struct kvs_program *program)
{
    const struct kvs_plan *plan = program->plan;
    uint16_t device = KVS_HOST_DEVICE;
    bool is_single = true;
    for (size_t s = 0; s < plan->segments.n; s++) {
        const struct kvs_segment *segment = &plan->segments.items[s];
        for (size_t i = 0; i < segment->ops.n; i++) {
            const struct kvs_op *op = &segment->ops.items[i];
            if (op->kind == KVS_OP_COLLECTIVE)
                return true;
            if (!program_has_cells(segment, op))
                continue;
            uint16_t own = plan->queues.items[op->queue].device;
            is_single = is_single && (device == KVS_HOST_DEVICE || device == own);
            device = own;
        }
    }
    return is_single;
}

/* The state goes from device to device in issue order, token after token. */
static void program_hand_state_on(struct program_work *w)
{
    const struct kvs_segment *s = w->segment;
    kvs_op_id last = (kvs_op_id)s->ops.n;
    for (uint32_t phase = 0; phase < s->period; phase++) {
        for (kvs_op_id i = 0; i < s->ops.n; i++) {
            const struct kvs_op *op = &s->ops.items[i];
            if (op->phase != phase || !program_has_cells(s, op))
                continue;
            const struct kvs_queue *queues = w->program->plan->queues.items;
            bool is_first = last == s->ops.n;
            bool has_moved =
                is_first || queues[s->ops.items[last].queue].device != queues[op->queue].device;
            w->is_loaded[i] = has_moved;
            if (!is_first)
                w->is_stored[last] = has_moved;
            last = i;
        }
    }
    if (last < s->ops.n) /* to the first one of the next token */
        w->is_stored[last] = true;
}

static kvs_status program_push(struct program_work *w, struct kvs_step step)
{
    return KVS_ARRAY_PUSH(&w->out->steps, step, w->err);
}

static kvs_status program_mix(struct program_work *w, uint16_t *layer)
{
    if (*layer == KVS_NO_LAYER)
        return KVS_OK;
    struct kvs_step step = {.kind = KVS_STEP_MIX, .layer = *layer};
    *layer = KVS_NO_LAYER;
    return program_push(w, step);
}

static uint16_t program_layer_of(const struct program_work *w, const struct kvs_op *op,
                                 const struct kvs_step *step)
{
    uint16_t buffer = w->segment->accesses.items[step->cells].buffer;
    uint16_t layer = w->program->plan->buffers.items[buffer].layer;
    return layer != KVS_NO_LAYER ? layer : op->layer != KVS_NO_LAYER ? op->layer : 0;
}

/* Bytes that copies bring anew for the next reader. */
static kvs_status program_poison(struct program_work *w, const struct kvs_op *op)
{
    const struct kvs_segment *s = w->segment;
    for (uint32_t i = 0; w->verifies && i < op->n_access; i++) {
        uint32_t access = op->first_access + i;
        if (s->accesses.items[access].mode != KVS_ACCESS_READ ||
            program_n_cells(s, op, i) == 0 || !w->is_copied[s->accesses.items[access].buffer])
            continue;
        struct kvs_step step = {.kind = KVS_STEP_POISON, .access = access};
        KVS_TRY(program_push(w, step));
    }
    return KVS_OK;
}

static kvs_status program_refuse_layers(const struct program_work *w, kvs_op_id id)
{
    return kvs_error_set(w->err, KVS_EUNSUPPORTED,
                         "plan: op %u reads or makes rows of several layers before a "
                         "collective: their sums cannot be told apart",
                         id);
}

static bool program_is_same(const struct kvs_segment *s, uint32_t a, uint32_t b)
{
    const struct kvs_range *x = &s->accesses.items[a], *y = &s->accesses.items[b];
    return x->buffer == y->buffer && x->offset == y->offset;
}

/* Folds and makes of a compute; *layer is left open when a collective completes its sum. */
static kvs_status program_rows(struct program_work *w, kvs_op_id id, uint16_t *layer)
{
    const struct kvs_segment *s = w->segment;
    const struct kvs_op *op = &s->ops.items[id];
    bool is_part = program_collective_after(w, id) != NULL;
    uint32_t first = 0; /* access with the first cells of the open layer */
    for (uint32_t i = 0; i < op->n_access; i++) {
        struct kvs_step step = {.n_cells = program_n_cells(s, op, i),
                                .access = op->first_access + i,
                                .cells = op->first_access + i + 1};
        if (step.n_cells == 0)
            continue;
        bool is_read = s->accesses.items[step.access].mode == KVS_ACCESS_READ;
        uint16_t own = program_layer_of(w, op, &step);
        /* a layer that reads another one's cells reads the same ones again */
        bool is_again = *layer != KVS_NO_LAYER && program_is_same(s, first, step.cells);
        if (*layer != KVS_NO_LAYER && (!is_read || own != *layer || is_again)) {
            if (is_part)
                return program_refuse_layers(w, id);
            KVS_TRY(program_mix(w, layer));
        }
        if (is_read && *layer == KVS_NO_LAYER)
            first = step.cells;
        if (is_read)
            *layer = own;
        step.kind = is_read ? KVS_STEP_FOLD : KVS_STEP_MAKE;
        KVS_TRY(program_push(w, step));
    }
    return KVS_OK;
}

/* The collective after a compute completes the sum of its layer. */
static void program_complete(struct program_work *w, const struct kvs_op *collective,
                             uint16_t layer)
{
    const struct kvs_segment *s = w->segment;
    const struct kvs_op *first = collective;
    while (first > s->ops.items && first[-1].kind == KVS_OP_COLLECTIVE &&
           first[-1].collective.group == collective->collective.group)
        first--;
    for (uint32_t k = 0; k < collective->collective.n_members; k++)
        w->out->ops[(size_t)(first - s->ops.items) + k].layer = layer;
}

static kvs_status program_compute(struct program_work *w, kvs_op_id id)
{
    const struct kvs_op *op = &w->segment->ops.items[id];
    const struct kvs_op *collective = program_collective_after(w, id);
    uint16_t layer = KVS_NO_LAYER;
    if (w->is_loaded[id])
        KVS_TRY(program_push(w, (struct kvs_step){.kind = KVS_STEP_LOAD}));
    KVS_TRY(program_rows(w, id, &layer));
    if (layer != KVS_NO_LAYER && collective)
        program_complete(w, collective, layer);
    else
        KVS_TRY(program_mix(w, &layer));
    KVS_TRY(program_poison(w, op));
    return w->is_stored[id] ? program_push(w, (struct kvs_step){.kind = KVS_STEP_STORE})
                            : KVS_OK;
}

/* Up to the middle of the last window that is read. */
static uint32_t program_n_begin(const struct kvs_step *steps, uint32_t n)
{
    uint32_t end = n;
    while (end > 0 && steps[end - 1].kind != KVS_STEP_FOLD)
        end--;
    if (end == 0)
        return n > 0 && steps[0].kind == KVS_STEP_LOAD;
    uint32_t first = end - 1;
    while (first > 0 && steps[first - 1].kind == KVS_STEP_FOLD)
        first--;
    return end - (end - first) / 2;
}

static kvs_status program_steps(struct program_work *w)
{
    const struct kvs_segment *s = w->segment;
    for (kvs_op_id id = 0; id < s->ops.n; id++)
        w->out->ops[id].layer = KVS_NO_LAYER;
    for (kvs_op_id id = 0; id < s->ops.n; id++) {
        uint32_t first = (uint32_t)w->out->steps.n;
        const struct kvs_op *op = &s->ops.items[id];
        if (op->kind == KVS_OP_COMPUTE)
            KVS_TRY(program_compute(w, id));
        w->out->ops[id].first_step = first;
        w->out->ops[id].n_steps = (uint32_t)w->out->steps.n - first;
        if (w->out->ops[id].n_steps > 0)
            w->out->ops[id].n_begin =
                program_n_begin(&w->out->steps.items[first], w->out->ops[id].n_steps);
        if (program_has_cells(s, op))
            w->program->final_device = w->program->plan->queues.items[op->queue].device;
    }
    return KVS_OK;
}

static void program_note_buffers(struct program_work *w)
{
    const struct kvs_segment *s = w->segment;
    for (size_t i = 0; i < s->ops.n; i++) {
        const struct kvs_op *op = &s->ops.items[i];
        for (uint32_t a = op->first_access; a < op->first_access + op->n_access; a++) {
            const struct kvs_range *range = &s->accesses.items[a];
            if (range->mode == KVS_ACCESS_READ || range->mode == KVS_ACCESS_WRITE)
                w->program->is_used[range->buffer] = true;
            if (range->mode == KVS_ACCESS_WRITE && op->kind == KVS_OP_COPY)
                w->is_copied[range->buffer] = true;
        }
    }
}

static kvs_status program_segment(struct program_work *w)
{
    size_t n_ops = w->segment->ops.n;
    void *memory;
    kvs_status status;
    KVS_TRY(kvs_mem_alloc(n_ops, sizeof *w->out->ops, &memory, w->err));
    w->out->ops = memory;
    KVS_TRY_GOTO(kvs_mem_alloc(n_ops, sizeof *w->next, &memory, w->err), out);
    w->next = memory;
    KVS_TRY_GOTO(kvs_mem_alloc(2 * n_ops, sizeof *w->is_loaded, &memory, w->err), out);
    w->is_loaded = memory;
    w->is_stored = w->is_loaded + n_ops;
    KVS_TRY_GOTO(
        kvs_mem_alloc(w->program->plan->buffers.n, sizeof *w->is_copied, &memory, w->err), out);
    w->is_copied = memory;
    program_note_buffers(w);
    KVS_TRY_GOTO(program_find_next(w), out);
    if (w->program->has_shared_state)
        program_hand_state_on(w);
    status = program_steps(w);
out:
    kvs_mem_free(w->next);
    kvs_mem_free(w->is_loaded);
    kvs_mem_free(w->is_copied);
    w->next = NULL;
    w->is_loaded = w->is_copied = NULL;
    return status;
}

static kvs_status program_buffers(struct kvs_program *program, uint64_t seed,
                                  struct kvs_error *err)
{
    const struct kvs_plan *plan = program->plan;
    void *memory;
    KVS_TRY(kvs_mem_alloc(plan->buffers.n, sizeof *program->cell_ids, &memory, err));
    program->cell_ids = memory;
    KVS_TRY(kvs_mem_alloc(plan->buffers.n, sizeof *program->is_used, &memory, err));
    program->is_used = memory;
    for (size_t i = 0; i < plan->buffers.n; i++) {
        const char *name = plan->buffers.items[i].name;
        program->cell_ids[i] = kvs_hash(name, strlen(name), seed);
    }
    for (size_t i = 0; i < plan->setup.n; i++)
        program->is_used[plan->setup.items[i].buffer] = true;
    return KVS_OK;
}

kvs_status kvs_program_create(const struct kvs_plan *plan, uint64_t seed, bool verifies,
                              struct kvs_program **out, struct kvs_error *err)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(1, sizeof(struct kvs_program), &memory, err));
    struct kvs_program *program = memory;
    kvs_status status;
    program->plan = plan;
    KVS_TRY_GOTO(program_buffers(program, seed, err), fail);
    KVS_TRY_GOTO(kvs_mem_alloc(plan->segments.n, sizeof *program->segments, &memory, err),
                 fail);
    program->segments = memory;
    program->has_shared_state = !program_is_local(program);
    for (size_t s = 0; s < plan->segments.n; s++) {
        struct program_work w = {.program = program,
                                 .segment = &plan->segments.items[s],
                                 .out = &program->segments[s],
                                 .verifies = verifies,
                                 .err = err};
        KVS_TRY_GOTO(program_segment(&w), fail);
    }
    *out = program;
    return KVS_OK;
fail:
    kvs_program_destroy(program);
    return status;
}

void kvs_program_destroy(struct kvs_program *program)
{
    if (!program)
        return;
    for (size_t s = 0; program->segments && s < program->plan->segments.n; s++) {
        kvs_mem_free(program->segments[s].ops);
        KVS_ARRAY_FREE(&program->segments[s].steps);
    }
    kvs_mem_free(program->segments);
    kvs_mem_free(program->cell_ids);
    kvs_mem_free(program->is_used);
    kvs_mem_free(program);
}
