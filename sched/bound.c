/* Link, compute and chain terms of a placement's bound. */
#include "sched/bound.h"

#include <stdio.h>

#include "base/mem.h"
#include "models/compute.h"
#include "models/copy.h"
#include "sched/graph.h"

struct bound_sum {
    const struct kvs_case *c;
    const struct kvs_graph *graph;
    double *link_s;                 /* [n_links]: host to device, summed over the tokens */
    double *compute_s;              /* [n_devices] */
    double *apart_s;                /* [n_devices]: since the devices last met */
    struct kvs_compute_cost *costs; /* [n_devices] */
    double n_tokens;                /* that the step at hand stands for */
    double memory_s;                /* host memory, all DMA */
    double chain_s;
};

/* Bytes of a stage's windows that device d takes in at this step. */
static double bound_stage_bytes(const struct kvs_case *c, const struct kvs_stage *stage,
                                uint32_t d, uint32_t step)
{
    const struct kvs_llm_layer *layer = &c->llm->layers[stage->layer];
    double rows = (double)kvs_case_window(c, layer, step).window_rows * kvs_case_n_streams(c);
    return rows * (double)(stage->parts[d].k_bytes + stage->parts[d].v_bytes);
}

/* Bytes of one side of a stage, in rows of row_bytes of which the device takes width_bytes. */
static void bound_add_side(struct bound_sum *b, uint32_t d, double rows, uint64_t width_bytes,
                           uint64_t row_bytes)
{
    const struct kvs_machine *m = b->c->machine;
    double bytes = b->n_tokens * rows * (double)width_bytes;
    double efficiency = kvs_row_efficiency(&m->devices[d].engines.row_curve,
                                           width_bytes != row_bytes ? width_bytes : 0);
    for (int32_t l = (int32_t)m->devices[d].link; l >= 0; l = m->links[l].parent) {
        if (m->links[l].mode == KVS_LINK_UNLIMITED)
            continue;
        bool is_own = (uint32_t)l == m->devices[d].link;
        b->link_s[l] += bytes / (m->links[l].rate[KVS_H2D].value * (is_own ? efficiency : 1.0));
    }
    if (m->host.memory_rate.value > 0.0)
        b->memory_s += bytes / m->host.memory_rate.value;
}

/* Rows of a layer that have to cross, of each stream. */
static uint64_t bound_rows(const struct kvs_case *c, const struct kvs_llm_layer *layer,
                           uint32_t step)
{
    bool has_tail = c->transport.keeps_tail && layer->kind == KVS_LAYER_FULL;
    return has_tail ? kvs_case_tail_first(c, step)
                    : kvs_case_window(c, layer, step).window_rows;
}

/* Seconds that a stage's windows take on every link, given what rows of their width reach. */
static void bound_add_window(struct bound_sum *b, uint32_t s, uint32_t d, uint32_t step)
{
    const struct kvs_stage *stage = &b->graph->stages.items[s];
    const struct kvs_stage_part *part = &stage->parts[d];
    const struct kvs_llm_layer *layer = &b->c->llm->layers[stage->layer];
    double rows = (double)bound_rows(b->c, layer, step) * kvs_case_n_streams(b->c);
    bound_add_side(b, d, rows, part->k_bytes, stage->k_row_bytes);
    bound_add_side(b, d, rows, part->v_bytes, stage->v_row_bytes);
}

static double bound_piece_s(const struct bound_sum *b, const struct kvs_piece *piece,
                            uint32_t d, uint32_t step)
{
    const struct kvs_case *c = b->c;
    double share = piece->device < 0 ? kvs_case_share(c, d) : 1.0;
    double kv = share * (double)kvs_piece_resident_bytes(c, piece, step);
    if (piece->stage != KVS_NO_STAGE)
        kv += bound_stage_bytes(c, &b->graph->stages.items[piece->stage], d, step);
    return kvs_compute_s(&b->costs[d], (uint64_t)((double)piece->params * share), (uint64_t)kv,
                         kvs_case_stream_rows(c)) +
           piece->n_kernels * b->costs[d].s_per_kernel + b->costs[d].s_per_operation;
}

/* The devices wait for the one that has come least far. */
static void bound_meet(struct bound_sum *b)
{
    double longest = 0.0;
    for (uint32_t d = 0; d < b->graph->n_devices; d++) {
        longest = b->apart_s[d] > longest ? b->apart_s[d] : longest;
        b->apart_s[d] = 0.0;
    }
    b->chain_s += b->n_tokens * longest;
}

static void bound_add_piece(struct bound_sum *b, const struct kvs_piece *piece, uint32_t step)
{
    double reduce = piece->has_reduce && b->graph->n_devices > 1
                        ? b->c->machine->collective.latency.value
                        : 0.0;
    bool has_all = piece->device < 0;
    for (uint32_t d = 0; d < b->graph->n_devices; d++) {
        if (!has_all && (uint32_t)piece->device != d)
            continue;
        double seconds = bound_piece_s(b, piece, d, step);
        b->compute_s[d] += b->n_tokens * (seconds + reduce);
        b->apart_s[d] += seconds;
    }
    if (!has_all || piece->has_reduce || piece->is_last_of_token)
        bound_meet(b);
    b->chain_s += b->n_tokens * reduce;
}

static void bound_add_step(struct bound_sum *b, uint32_t step)
{
    const struct kvs_graph *g = b->graph;
    double sample = b->c->machine->host.between_tokens.value;
    for (uint32_t s = 0; s < g->stages.n; s++)
        for (uint32_t d = 0; d < g->n_devices; d++)
            if (g->stages.items[s].parts[d].n_heads > 0)
                bound_add_window(b, s, d, step);
    for (size_t p = 0; p < g->pieces.n; p++)
        bound_add_piece(b, &g->pieces.items[p], step);
    for (uint32_t d = 0; d < g->n_devices; d++)
        b->compute_s[d] += b->n_tokens * sample;
    b->chain_s += b->n_tokens * sample;
}

static void bound_take(struct kvs_bound *out, kvs_bound_term term, double seconds,
                       const char *name)
{
    kvs_time ps = kvs_ps_from_seconds(seconds);
    kvs_time *slot = term == KVS_BOUND_LINK      ? &out->link_ps
                     : term == KVS_BOUND_COMPUTE ? &out->compute_ps
                                                 : &out->chain_ps;
    if (ps > *slot)
        *slot = ps;
    if (ps <= out->total_ps)
        return;
    out->total_ps = ps;
    out->term = term;
    snprintf(out->name, sizeof out->name, "%s", name);
}

static void bound_largest(const struct bound_sum *b, double n, struct kvs_bound *out)
{
    const struct kvs_machine *m = b->c->machine;
    char name[48];
    *out = (struct kvs_bound){0};
    for (uint32_t l = 0; l < m->n_links; l++) {
        snprintf(name, sizeof name, "%s.h2d", m->links[l].name);
        bound_take(out, KVS_BOUND_LINK, b->link_s[l] / n, name);
    }
    bound_take(out, KVS_BOUND_LINK, b->memory_s / n, "host memory");
    for (uint32_t d = 0; d < b->graph->n_devices; d++) {
        snprintf(name, sizeof name, "%s.compute", m->devices[d].name);
        bound_take(out, KVS_BOUND_COMPUTE, b->compute_s[d] / n, name);
    }
    bound_take(out, KVS_BOUND_CHAIN, b->chain_s / n, "compute chain");
}

static void bound_all_steps(struct bound_sum *b, struct kvs_bound *out)
{
    const struct kvs_case *c = b->c;
    for (uint32_t d = 0; d < b->graph->n_devices; d++)
        b->costs[d] = kvs_case_compute_cost(c, d);
    for (uint32_t step = 0; step < c->workload.n_gen;) {
        /* windows are the same within a run of steps: one of them stands for all */
        uint32_t n = kvs_case_steps_with_same_window(c, step);
        b->n_tokens = n;
        bound_add_step(b, step);
        step += n;
    }
    bound_largest(b, c->workload.n_gen, out);
}

kvs_status kvs_bound_of(const struct kvs_case *c, struct kvs_bound *out, struct kvs_error *err)
{
    struct kvs_graph *graph;
    void *sums = NULL, *costs = NULL;
    KVS_TRY(kvs_case_check(c, err));
    KVS_TRY(kvs_graph_create(c, &graph, err));
    size_t n_links = c->machine->n_links;
    kvs_status status =
        kvs_mem_alloc(n_links + 2 * (size_t)graph->n_devices, sizeof(double), &sums, err);
    if (status == KVS_OK)
        status = kvs_mem_alloc(graph->n_devices, sizeof(struct kvs_compute_cost), &costs, err);
    if (status == KVS_OK) {
        struct bound_sum b = {.c = c,
                              .graph = graph,
                              .link_s = sums,
                              .compute_s = (double *)sums + n_links,
                              .apart_s = (double *)sums + n_links + graph->n_devices,
                              .costs = costs};
        bound_all_steps(&b, out);
    }
    kvs_mem_free(sums);
    kvs_mem_free(costs);
    kvs_graph_destroy(graph);
    return status;
}
