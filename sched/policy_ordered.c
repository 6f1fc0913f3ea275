/*
 * Ordered: the host waits until the consumer is idle, copies a window, blocks, and goes on. K
 * window to every device in turn, then V, then the launch. Nothing overlaps.
 */
#include "sched/build.h"

static kvs_status ordered_windows(struct kvs_build *b, uint32_t stage)
{
    for (unsigned side = KVS_KV_SIDE_K; side <= KVS_KV_SIDE_V; side++) {
        for (uint32_t d = 0; d < b->graph->n_devices; d++) {
            struct kvs_build_copy copy = {.stage = stage,
                                          .device = d,
                                          .slot = 0,
                                          .side = (kvs_kv_side)side,
                                          .part = KVS_PART_WHOLE,
                                          .queue = b->devices[d].q_blocking,
                                          .tag = KVS_TAG_WINDOW,
                                          .flags = KVS_OP_BLOCKS};
            if (kvs_build_holds(b, stage, d))
                KVS_TRY(kvs_build_window_copy(b, &copy, NULL));
        }
    }
    return KVS_OK;
}

static kvs_status ordered_token(struct kvs_build *b, const struct kvs_build_input *inputs)
{
    const struct kvs_graph *g = b->graph;
    KVS_TRY(kvs_build_inputs(b, KVS_LATE_COPY));
    for (uint32_t p = 0; p < g->pieces.n; p++) {
        uint32_t stage = g->pieces.items[p].stage;
        if (stage != KVS_NO_STAGE) {
            KVS_TRY(kvs_build_store(b, stage));
            KVS_TRY(ordered_windows(b, stage));
        }
        KVS_TRY(kvs_build_piece(b, p, inputs));
    }
    return kvs_build_sample(b);
}

/* One window buffer per device, large enough for its largest stage at full context. */
static kvs_status ordered_buffers(struct kvs_build *b)
{
    for (uint32_t d = 0; d < b->graph->n_devices; d++) {
        uint64_t largest = 0;
        for (size_t s = 0; s < b->graph->stages.n; s++) {
            const struct kvs_llm_layer *layer =
                &b->c->llm->layers[b->graph->stages.items[s].layer];
            uint64_t bytes =
                kvs_ring_need_bytes(b->c, layer, kvs_case_layer_cells(b->c, layer));
            if (kvs_build_holds(b, (uint32_t)s, d) && bytes > largest)
                largest = bytes;
        }
        if (largest > 0)
            KVS_TRY(kvs_build_slots(b, d, 1, largest));
    }
    return KVS_OK;
}

kvs_status kvs_policy_plan_ordered(const struct kvs_case *c, const char *name,
                                   struct kvs_decision *decision, struct kvs_plan **out,
                                   struct kvs_error *err)
{
    struct kvs_build *b;
    struct kvs_build_input *inputs = NULL; /* slot 0 on each device */
    void *memory;
    kvs_status status;
    KVS_TRY(kvs_build_create(c, name, &b, err));
    KVS_TRY_GOTO(kvs_mem_alloc(b->graph->n_devices, sizeof *inputs, &memory, err), out);
    inputs = memory;
    for (uint32_t d = 0; d < b->graph->n_devices; d++)
        inputs[d].ready = KVS_NO_OP;
    KVS_TRY_GOTO(ordered_buffers(b), out);
    uint32_t n_segments = 0;
    for (uint32_t step = 0; step < c->workload.n_gen; n_segments++) {
        uint32_t n = kvs_case_steps_with_same_window(c, step);
        KVS_TRY_GOTO(kvs_build_begin_segment(b, step, n, step > 0), out);
        KVS_TRY_GOTO(ordered_token(b, inputs), out);
        step += n;
    }
    if (decision)
        *decision = (struct kvs_decision){.n_segments = n_segments};
out:
    kvs_mem_free(inputs);
    if (status != KVS_OK) {
        kvs_build_destroy(b);
        return status;
    }
    *out = kvs_build_finish(b);
    return KVS_OK;
}

static kvs_status ordered_plan(const struct kvs_case *c, struct kvs_decision *decision,
                               struct kvs_plan **out, struct kvs_error *err)
{
    return kvs_policy_plan_ordered(c, "ordered", decision, out, err);
}

const struct kvs_policy kvs_policy_ordered = {
    .abi_version = KVS_POLICY_ABI,
    .name = "ordered",
    .summary = "copy a window, block, compute: nothing overlaps",
    .source = "llama.cpp with --no-kv-offload; look-ahead 0 of the fork",
    .plan = ordered_plan,
};
