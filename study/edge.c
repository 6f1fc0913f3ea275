/* Runs a plan on the machine's neighbours. */
#include "study/edge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static kvs_status edge_run(const struct kvs_case *c, const struct kvs_machine *machine,
                           const struct kvs_plan *plan, const struct kvs_exec_ops *exec,
                           double *out_ms, struct kvs_error *err)
{
    struct kvs_case neighbour = *c;
    struct kvs_exec_options options = {0};
    struct kvs_run run;
    neighbour.machine = machine;
    KVS_TRY(kvs_exec_once(exec, plan, &neighbour, &options, &run, NULL, err));
    *out_ms = kvs_ms_from_ps(run.total_ps) / (double)run.n_tokens;
    kvs_run_fini(&run);
    return KVS_OK;
}

static void edge_scale_links(struct kvs_machine *machine, double factor)
{
    for (uint32_t l = 0; l < machine->n_links; l++)
        for (unsigned dir = 0; dir < KVS_N_DIRS; dir++) {
            machine->links[l].rate[dir].value *= factor;
            machine->links[l].opposite[dir].value *= factor;
        }
}

/* Keeps the neighbour that differs most, beyond `smooth` of the token time in its direction. */
static void edge_offer(struct kvs_edge *edge, double token_ms, double other_ms, double smooth,
                       const char *reason)
{
    double change = other_ms / token_ms - 1.0;
    double jump =
        smooth >= 0.0 ? fmax(change - smooth, -change) : fmax(smooth - change, change);
    double answer = other_ms / (1.0 + (fabs(change) > fabs(smooth) ? smooth : 0.0));
    if (smooth == 0.0) {
        jump = fabs(change);
        answer = other_ms;
    }
    if (jump <= KVS_EDGE_JUMP ||
        (edge->is_edge && fabs(answer - token_ms) <= fabs(edge->other_ms - token_ms)))
        return;
    edge->is_edge = true;
    edge->other_ms = answer;
    snprintf(edge->reason, sizeof edge->reason, "%s", reason);
}

static kvs_status edge_links(const struct kvs_case *c, const struct kvs_plan *plan,
                             const struct kvs_exec_ops *exec, double token_ms, double factor,
                             struct kvs_edge *edge, struct kvs_error *err)
{
    struct kvs_machine *machine;
    double other_ms;
    char reason[64];
    KVS_TRY(kvs_machine_clone(c->machine, &machine, err));
    edge_scale_links(machine, factor);
    snprintf(reason, sizeof reason, "with deliveries %.0f%% %s", KVS_EDGE_STEP * 100.0,
             factor < 1.0 ? "slower" : "faster");
    kvs_status status = edge_run(c, machine, plan, exec, &other_ms, err);
    kvs_machine_clone_destroy(machine);
    if (status == KVS_OK)
        edge_offer(edge, token_ms, other_ms, 1.0 / factor - 1.0, reason);
    return status;
}

static kvs_status edge_first_turn(const struct kvs_case *c, const struct kvs_plan *plan,
                                  const struct kvs_exec_ops *exec, double token_ms,
                                  struct kvs_edge *edge, struct kvs_error *err)
{
    struct kvs_machine *machine;
    double other_ms;
    KVS_TRY(kvs_machine_clone(c->machine, &machine, err));
    for (uint32_t d = 0; d < machine->n_devices; d++) {
        kvs_first_turn *turn = &machine->devices[d].engines.first_turn;
        *turn = *turn == KVS_FIRST_TURN_FREE ? KVS_FIRST_TURN_CHAINED : KVS_FIRST_TURN_FREE;
    }
    kvs_status status = edge_run(c, machine, plan, exec, &other_ms, err);
    kvs_machine_clone_destroy(machine);
    if (status == KVS_OK)
        edge_offer(edge, token_ms, other_ms, 0.0, "which stream an idle engine serves second");
    return status;
}

/* Copies that run ahead on several queues of a device: without them there is nothing to tip. */
static void edge_kinds(const struct kvs_plan *plan, bool *has_deliveries, bool *has_chains)
{
    *has_deliveries = *has_chains = false;
    for (size_t s = 0; s < plan->segments.n; s++) {
        const struct kvs_segment *segment = &plan->segments.items[s];
        for (size_t i = 0; i < segment->ops.n; i++) {
            const struct kvs_op *op = &segment->ops.items[i];
            if (op->kind != KVS_OP_COPY || op->tag != KVS_TAG_DELIVER)
                continue;
            *has_deliveries = true;
            for (uint32_t k = 0; k < op->n_dep; k++)
                *has_chains |= segment->deps.items[op->first_dep + k].kind == KVS_DEP_PACING;
        }
    }
}

/* The first tokens of every segment: the operations are borrowed, the list of segments is not.
 */
static kvs_status edge_shorten(const struct kvs_plan *plan, struct kvs_plan *out,
                               struct kvs_error *err)
{
    void *segments;
    KVS_TRY(kvs_mem_alloc(plan->segments.n, sizeof *plan->segments.items, &segments, err));
    memcpy(segments, plan->segments.items, plan->segments.n * sizeof *plan->segments.items);
    *out = *plan;
    out->segments.items = segments;
    for (size_t s = 0; s < out->segments.n; s++) {
        struct kvs_segment *segment = &out->segments.items[s];
        uint32_t n = KVS_EDGE_TOKENS * segment->period;
        if (segment->n_tokens > n)
            segment->n_tokens = n;
    }
    return KVS_OK;
}

static kvs_status edge_neighbours(const struct kvs_case *c, const struct kvs_plan *plan,
                                  const struct kvs_exec_ops *exec, bool has_chains,
                                  double *out_base_ms, struct kvs_edge *out,
                                  struct kvs_error *err)
{
    KVS_TRY(edge_run(c, c->machine, plan, exec, out_base_ms, err));
    KVS_TRY(edge_links(c, plan, exec, *out_base_ms, 1.0 - KVS_EDGE_STEP, out, err));
    KVS_TRY(edge_links(c, plan, exec, *out_base_ms, 1.0 + KVS_EDGE_STEP, out, err));
    return has_chains ? edge_first_turn(c, plan, exec, *out_base_ms, out, err) : KVS_OK;
}

kvs_status kvs_find_edge(const struct kvs_case *c, const struct kvs_plan *plan,
                         const struct kvs_exec_ops *exec, double token_ms, struct kvs_edge *out,
                         struct kvs_error *err)
{
    bool has_deliveries, has_chains;
    struct kvs_plan brief;
    double base_ms = 0.0;
    *out = (struct kvs_edge){0};
    edge_kinds(plan, &has_deliveries, &has_chains);
    if (!has_deliveries)
        return KVS_OK;
    KVS_TRY(edge_shorten(plan, &brief, err));
    kvs_status status = edge_neighbours(c, &brief, exec, has_chains, &base_ms, out, err);
    kvs_mem_free(brief.segments.items);
    if (out->is_edge)
        out->other_ms *= token_ms / base_ms; /* from a few tokens to all of them */
    return status;
}
