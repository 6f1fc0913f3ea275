/*
 * What operations do to bytes: worked out from a plan before it is run on real memory.
 *
 * A compute is a list of steps, in the order of its accesses:
 *
 *     load     the state comes from where the device before left it (layer split)
 *     fold     the bytes of a read, as cells, go into the device's sum
 *     mix      the sum of a layer, complete on this device, goes into the state
 *     make     a new row is made from the state
 *     poison   (verify mode) bytes that a copy brings anew each time are destroyed after use
 *     store    the state is left for the device of the next compute
 *
 * A compute holds its slot from its beginning to its end, so it reads a part of the window at the
 * beginning (a delivery that comes too late shows) and the rest at the end (one that comes too
 * early shows): the steps are divided in two.
 *
 * When a collective follows a compute on its queue, the sum is complete only with the parts of
 * the other members, so the mix belongs to the collective: state' of every member is made of the
 * sum of all sums.
 *
 * Copies move bytes from their reads to their writes; so does host work (real/pieces.h).
 */
#ifndef KVS_REAL_PROGRAM_H
#define KVS_REAL_PROGRAM_H

#include "sched/plan.h"

typedef enum kvs_step_kind {
    KVS_STEP_LOAD,
    KVS_STEP_FOLD,
    KVS_STEP_MIX,
    KVS_STEP_MAKE,
    KVS_STEP_POISON,
    KVS_STEP_STORE
} kvs_step_kind;

struct kvs_step {
    uint8_t kind;     /* kvs_step_kind */
    uint16_t layer;   /* mix */
    uint16_t n_cells; /* fold, make */
    uint32_t access;  /* fold, make, poison: index into the segment's accesses */
    uint32_t cells;   /* fold, make: the first access that says which cells */
};

struct kvs_program_op {
    uint32_t first_step;
    uint32_t n_steps;
    uint32_t n_begin; /* of them, at its beginning; the others at its end */
    uint16_t layer;   /* collective: whose sum it completes, or KVS_NO_LAYER */
};

struct kvs_program_segment {
    struct kvs_program_op *ops; /* owned, [n_ops of the segment] */
    KVS_ARRAY(struct kvs_step) steps;
};

struct kvs_program {
    const struct kvs_plan *plan;          /* borrowed */
    struct kvs_program_segment *segments; /* owned, [plan->segments.n] */
    uint64_t *cell_ids;                   /* owned, [plan->buffers.n] for real/cells.h */
    bool *is_used;                        /* owned, [plan->buffers.n] bytes are touched */
    uint16_t final_device;                /* that holds the state after the last token */
    bool has_shared_state;                /* some steps load or store */
};

/*
 * seed goes into every cell id. verifies adds poison steps. Errors: KVS_EUNSUPPORTED when several
 * layers are read by one compute before a collective.
 */
kvs_status kvs_program_create(const struct kvs_plan *plan, uint64_t seed, bool verifies,
                              struct kvs_program **out, struct kvs_error *err) KVS_MUST_USE;
void kvs_program_destroy(struct kvs_program *program);

/* The steps of an operation, [n_steps of it]. */
static inline const struct kvs_step *kvs_program_steps(const struct kvs_program *program,
                                                       uint32_t segment, kvs_op_id op)
{
    const struct kvs_program_segment *s = &program->segments[segment];
    return s->steps.n > 0 ? &s->steps.items[s->ops[op].first_step] : NULL;
}

#endif
