/* Walks the layers once and cuts them into pieces and stages. */
#include "sched/graph.h"

struct graph_builder {
    const struct kvs_case *c;
    struct kvs_graph *graph;
    uint32_t n_resident_left; /* layers whose cache stays on the device */
    struct kvs_error *err;
};

uint32_t kvs_graph_device_of_layer(const struct kvs_case *c, uint32_t layer)
{
    if (c->placement.mode != KVS_SPLIT_LAYER)
        return 0;
    double cumulative = 0.0;
    for (uint32_t d = 0; d < c->machine->n_devices; d++) {
        cumulative += kvs_case_share(c, d);
        if ((double)layer / (double)c->llm->n_layer < cumulative - 1e-12)
            return d;
    }
    return c->machine->n_devices - 1;
}

/* The open piece, started anew when the device changes or the last one is closed. */
static kvs_status graph_piece(struct graph_builder *b, uint32_t layer, int32_t device,
                              bool force_new, struct kvs_piece **out)
{
    struct kvs_graph *g = b->graph;
    struct kvs_piece *last = g->pieces.n ? &g->pieces.items[g->pieces.n - 1] : NULL;
    bool is_open = last && !force_new && last->device == device && !last->has_reduce &&
                   last->before_stage == KVS_NO_STAGE;
    if (!is_open) {
        struct kvs_piece piece = {.stage = KVS_NO_STAGE,
                                  .before_stage = KVS_NO_STAGE,
                                  .layer = layer,
                                  .device = device};
        KVS_TRY(KVS_ARRAY_PUSH(&g->pieces, piece, b->err));
    }
    *out = &g->pieces.items[g->pieces.n - 1];
    return KVS_OK;
}

static kvs_status graph_add_work(struct graph_builder *b, uint32_t layer, int32_t device,
                                 uint64_t params, uint32_t n_kernels, bool has_reduce)
{
    struct kvs_piece *piece;
    KVS_TRY(graph_piece(b, layer, device, false, &piece));
    piece->params += params;
    piece->n_kernels += n_kernels;
    piece->has_reduce = has_reduce && b->c->placement.mode == KVS_SPLIT_TENSOR;
    return KVS_OK;
}

static kvs_status graph_stage_parts(struct graph_builder *b, const struct kvs_llm_layer *layer,
                                    uint32_t layer_index, struct kvs_stage_part *parts)
{
    const struct kvs_case *c = b->c;
    uint32_t n = b->graph->n_devices;
    uint64_t k_head = kvs_kv_head_bytes(layer->k_dim, c->workload.type_k);
    uint64_t v_head = layer->v_dim ? kvs_kv_head_bytes(layer->v_dim, c->workload.type_v) : 0;
    if (c->placement.mode != KVS_SPLIT_TENSOR) {
        uint32_t d = kvs_graph_device_of_layer(c, layer_index);
        parts[d].n_heads = layer->n_head_kv;
        parts[d].k_bytes = k_head * layer->n_head_kv;
        parts[d].v_bytes = v_head * layer->n_head_kv;
        return KVS_OK;
    }
    void *memory;
    KVS_TRY(kvs_mem_alloc(n, 2 * sizeof(uint32_t) + sizeof(double), &memory, b->err));
    double *shares = memory;
    uint32_t *heads = (uint32_t *)(shares + n);
    uint32_t *first = heads + n;
    for (uint32_t d = 0; d < n; d++)
        shares[d] = c->placement.rule == KVS_SPLIT_EXPLICIT && c->placement.shares
                        ? c->placement.shares[d]
                        : kvs_case_share(c, d);
    kvs_status status = kvs_split_heads(c->placement.rule, layer, c->llm->weight_block, shares,
                                        n, heads, first, b->err);
    for (uint32_t d = 0; d < n && status == KVS_OK; d++)
        parts[d] = (struct kvs_stage_part){.n_heads = heads[d],
                                           .k_offset = first[d] * k_head,
                                           .k_bytes = heads[d] * k_head,
                                           .v_offset = first[d] * v_head,
                                           .v_bytes = heads[d] * v_head};
    kvs_mem_free(memory);
    return status;
}

/* The layer that owns the cells which this one reads. */
static const struct kvs_llm_layer *graph_owner(const struct graph_builder *b, uint32_t index)
{
    const struct kvs_llm_layer *layer = &b->c->llm->layers[index];
    return layer->kv_source >= 0 ? &b->c->llm->layers[layer->kv_source] : layer;
}

/* The entry of the layer that owns them; `own` when the layer owns its cells itself. */
static uint32_t graph_cache_stage(const struct graph_builder *b, const kvs_stage_list *list,
                                  uint32_t index, uint32_t own)
{
    int32_t source = b->c->llm->layers[index].kv_source;
    for (uint32_t s = 0; source >= 0 && s < list->n; s++)
        if (list->items[s].layer == (uint32_t)source)
            return s;
    return own;
}

/* Appends a layer to the stages or to the residents. */
static kvs_status graph_push(struct graph_builder *b, kvs_stage_list *list, uint32_t index)
{
    const struct kvs_llm_layer *layer = graph_owner(b, index);
    struct kvs_stage stage = {
        .layer = index,
        .cache_stage = graph_cache_stage(b, list, index, (uint32_t)list->n),
        .k_row_bytes = kvs_kv_k_row_bytes(layer, b->c->workload.type_k),
        .v_row_bytes = kvs_kv_v_row_bytes(layer, b->c->workload.type_v),
    };
    void *parts;
    KVS_TRY(kvs_mem_alloc(b->graph->n_devices, sizeof *stage.parts, &parts, b->err));
    stage.parts = parts;
    kvs_status status = KVS_ARRAY_PUSH(list, stage, b->err);
    if (status != KVS_OK) {
        kvs_mem_free(parts);
        return status;
    }
    return graph_stage_parts(b, layer, index, stage.parts);
}

static kvs_status graph_add_stage(struct graph_builder *b, uint32_t index, int32_t device)
{
    uint32_t s = (uint32_t)b->graph->stages.n;
    KVS_TRY(graph_push(b, &b->graph->stages, index));
    if (b->graph->pieces.n == 0) {
        struct kvs_piece *empty;
        KVS_TRY(graph_piece(b, index, device, true, &empty));
    }
    /* A closed piece (a reduce) before a layer without projections still hands over the rows.
     */
    b->graph->pieces.items[b->graph->pieces.n - 1].before_stage = s;
    struct kvs_piece *piece;
    KVS_TRY(graph_piece(b, index, device, true, &piece));
    piece->stage = s;
    return KVS_OK;
}

static kvs_status graph_add_resident(struct graph_builder *b, uint32_t index, int32_t device)
{
    const struct kvs_llm_layer *layer = graph_owner(b, index);
    uint64_t row = kvs_kv_k_row_bytes(layer, b->c->workload.type_k) +
                   kvs_kv_v_row_bytes(layer, b->c->workload.type_v);
    struct kvs_piece *piece;
    KVS_TRY(graph_piece(b, index, device, false, &piece));
    if (piece->n_residents++ == 0)
        piece->first_resident = (uint32_t)b->graph->residents.n;
    KVS_TRY(graph_push(b, &b->graph->residents, index));
    if (layer->kind == KVS_LAYER_SWA)
        piece->resident_swa_bytes += row * kvs_case_window(b->c, layer, 0).window_rows;
    else
        piece->resident_bytes_per_row += row;
    return KVS_OK;
}

static kvs_status graph_add_layer(struct graph_builder *b, uint32_t index)
{
    const struct kvs_llm_layer *layer = &b->c->llm->layers[index];
    bool is_tensor = b->c->placement.mode == KVS_SPLIT_TENSOR;
    int32_t device = is_tensor ? -1 : (int32_t)kvs_graph_device_of_layer(b->c, index);
    if (kvs_llm_layer_has_cache(layer)) {
        KVS_TRY(graph_add_work(b, index, device, layer->pre_params, layer->pre_kernels, false));
        bool reads_resident =
            layer->kv_source >= 0 &&
            graph_cache_stage(b, &b->graph->stages, index, KVS_NO_STAGE) == KVS_NO_STAGE;
        if (b->n_resident_left > 0 || reads_resident) {
            b->n_resident_left -= b->n_resident_left > 0;
            KVS_TRY(graph_add_resident(b, index, device));
        } else {
            KVS_TRY(graph_add_stage(b, index, device));
        }
    }
    /* The output projection and the FFN, each followed by an all-reduce under tensor split. */
    uint64_t half = layer->post_params / 2;
    uint32_t half_kernels = layer->post_kernels / 2;
    KVS_TRY(graph_add_work(b, index, device, half, half_kernels, true));
    return graph_add_work(b, index, device, layer->post_params - half,
                          layer->post_kernels - half_kernels, true);
}

kvs_status kvs_graph_create(const struct kvs_case *c, struct kvs_graph **out,
                            struct kvs_error *err)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(1, sizeof(struct kvs_graph), &memory, err));
    struct kvs_graph *graph = memory;
    graph->n_devices = c->placement.mode == KVS_SPLIT_NONE ? 1 : c->machine->n_devices;
    struct graph_builder b = {
        .c = c, .graph = graph, .n_resident_left = c->placement.kv_gpu_layers, .err = err};
    kvs_status status = KVS_OK;
    for (uint32_t l = 0; l < c->llm->n_layer; l++)
        KVS_TRY_GOTO(graph_add_layer(&b, l), out);
    uint32_t last = c->llm->n_layer - 1;
    int32_t device = c->placement.mode == KVS_SPLIT_TENSOR
                         ? -1
                         : (int32_t)kvs_graph_device_of_layer(c, last);
    KVS_TRY_GOTO(
        graph_add_work(&b, last, device, c->llm->head_params, c->llm->head_kernels, false),
        out);
    graph->pieces.items[graph->pieces.n - 1].is_last_of_token = true;
out:
    if (status != KVS_OK) {
        kvs_graph_destroy(graph);
        return status;
    }
    *out = graph;
    return KVS_OK;
}

uint64_t kvs_piece_resident_bytes(const struct kvs_case *c, const struct kvs_piece *piece,
                                  uint32_t step)
{
    if (piece->resident_bytes_per_row == 0 && piece->resident_swa_bytes == 0)
        return 0;
    struct kvs_llm_layer full = {.kind = KVS_LAYER_FULL};
    uint64_t rows = kvs_case_window(c, &full, step).window_rows;
    return kvs_case_n_streams(c) *
           (piece->resident_bytes_per_row * rows + piece->resident_swa_bytes);
}

static void graph_free_list(kvs_stage_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        kvs_mem_free(list->items[i].parts);
    KVS_ARRAY_FREE(list);
}

void kvs_graph_destroy(struct kvs_graph *graph)
{
    if (!graph)
        return;
    graph_free_list(&graph->stages);
    graph_free_list(&graph->residents);
    KVS_ARRAY_FREE(&graph->pieces);
    kvs_mem_free(graph);
}
