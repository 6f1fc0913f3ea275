/* Pieces and stages of decode graphs: the example model, other splits, layers that share cells.
 */
#include "sched/graph.h"

#include "tests/models/catalogue.h"

static struct kvs_machine machine;

static struct kvs_case case_of(const struct kvs_llm *llm, uint32_t n_devices,
                               kvs_split_mode mode)
{
    struct kvs_case c;
    machine = (struct kvs_machine){.n_devices = n_devices};
    kvs_case_init(&c);
    c.machine = &machine;
    c.llm = llm;
    c.workload.depth = 4096;
    c.placement.mode = mode;
    return c;
}

static struct kvs_graph *graph_of(const struct kvs_case *c)
{
    struct kvs_graph *graph = NULL;
    struct kvs_error err;
    if (kvs_graph_create(c, &graph, &err) != KVS_OK)
        fail_msg("%s", err.text);
    return graph;
}

static uint64_t total_params(const struct kvs_graph *g)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < g->pieces.n; i++)
        sum += g->pieces.items[i].params;
    return sum;
}

/*
 * 64 layers, every fourth is staged: 3, 7, ... 63. So 34 splits a token: one on the host for
 * the embedding, 17 pieces on the device, and a store before each of the 16 staged ones.
 */
static void test_example(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("qwen3.8-27b");
    struct kvs_case c = case_of(llm, 1, KVS_SPLIT_NONE);
    struct kvs_graph *g = graph_of(&c);
    assert_int_equal(g->n_devices, 1);
    assert_int_equal(g->stages.n, 16);
    assert_int_equal(g->pieces.n, 17);
    assert_int_equal(1 + g->pieces.n + g->stages.n, 34);
    for (uint32_t p = 0; p < 17; p++) {
        const struct kvs_piece *piece = &g->pieces.items[p];
        assert_int_equal(piece->stage, p == 0 ? KVS_NO_STAGE : p - 1);
        assert_int_equal(piece->before_stage, p == 16 ? KVS_NO_STAGE : p);
        assert_int_equal(piece->is_last_of_token, p == 16);
        assert_false(piece->has_reduce);
        assert_int_equal(piece->device, 0);
        assert_true(piece->params > 0);
    }
    for (uint32_t s = 0; s < 16; s++) {
        const struct kvs_stage *stage = &g->stages.items[s];
        assert_int_equal(stage->layer, 4 * s + 3);
        assert_int_equal(stage->cache_stage, s);
        assert_int_equal(stage->k_row_bytes, 1088);
        assert_int_equal(stage->v_row_bytes, 1088);
        assert_int_equal(stage->parts[0].n_heads, 4);
        assert_int_equal(stage->parts[0].k_bytes, 1088);
    }
    assert_int_equal(total_params(g), kvs_llm_active_params(llm));
    /* the first split is about three of four layers, the last one layer and the head */
    double interval = (double)g->pieces.items[5].params;
    assert_in_range((unsigned)(100 * (double)g->pieces.items[0].params / interval), 70, 80);
    kvs_graph_destroy(g);
    kvs_llm_destroy(llm);
}

/* An all-reduce after attention and after the FFN of each layer: 128; 6 in the first split
 * (three layers), 8 in each full interval, 2 in the last (one layer, then the head). */
static void test_tensor_split(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("qwen3.8-27b");
    struct kvs_case c = case_of(llm, 2, KVS_SPLIT_TENSOR);
    struct kvs_graph *g = graph_of(&c);
    unsigned in_split[17] = {0}, n = 0, split = 0;
    for (size_t p = 0; p < g->pieces.n; p++) {
        const struct kvs_piece *piece = &g->pieces.items[p];
        split += piece->stage != KVS_NO_STAGE;
        in_split[split] += piece->has_reduce;
        n += piece->has_reduce;
        assert_int_equal(piece->device, -1);
    }
    assert_int_equal(n, 128);
    assert_int_equal(split, 16);
    for (unsigned s = 0; s < 17; s++)
        assert_int_equal(in_split[s], s == 0 ? 6 : s < 16 ? 8 : 2);
    for (size_t s = 0; s < 16; s++) { /* 2 : 2 heads; the order of the devices rotates */
        const struct kvs_stage_part *parts = g->stages.items[s].parts;
        for (unsigned d = 0; d < 2; d++) {
            assert_int_equal(parts[d].k_bytes, 544);
            assert_int_equal(parts[d].v_bytes, 544);
            assert_int_equal(parts[d].k_offset, (d + s) % 2 * 544);
        }
    }
    assert_int_equal(total_params(g), kvs_llm_active_params(llm));
    kvs_graph_destroy(g);
    kvs_llm_destroy(llm);
}

/* 60,40 of 4 heads: 2 : 2 and 3 : 1 in turn, every row covered without a gap. */
static void test_uneven_heads(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("qwen3.8-27b");
    struct kvs_case c = case_of(llm, 2, KVS_SPLIT_TENSOR);
    const double shares[] = {60, 40};
    c.placement.shares = shares;
    struct kvs_graph *g = graph_of(&c);
    for (size_t s = 0; s < g->stages.n; s++) {
        const struct kvs_stage_part *parts = g->stages.items[s].parts;
        uint32_t larger =
            parts[0].n_heads > parts[1].n_heads ? parts[0].n_heads : parts[1].n_heads;
        assert_int_equal(parts[0].n_heads + parts[1].n_heads, 4);
        assert_int_equal(larger, s % 2 == 0 ? 2 : 3);
        assert_int_equal(parts[0].k_offset == 0 ? parts[0].k_bytes : parts[1].k_bytes,
                         parts[0].k_offset + parts[1].k_offset);
    }
    kvs_graph_destroy(g);
    kvs_llm_destroy(llm);
}

/* Layers in runs: 3 : 1 puts 48 on the first device; a hop where the device changes, one a
 * token. */
static void test_layer_split(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("qwen3.8-27b");
    struct kvs_case c = case_of(llm, 2, KVS_SPLIT_LAYER);
    const double shares[] = {3, 1};
    c.placement.shares = shares;
    assert_int_equal(kvs_graph_device_of_layer(&c, 47), 0);
    assert_int_equal(kvs_graph_device_of_layer(&c, 48), 1);
    assert_int_equal(kvs_graph_device_of_layer(&c, 63), 1);
    struct kvs_graph *g = graph_of(&c);
    unsigned n_hops = 0;
    for (size_t p = 1; p < g->pieces.n; p++)
        n_hops += g->pieces.items[p].device != g->pieces.items[p - 1].device;
    assert_int_equal(n_hops, 1);
    assert_int_equal(g->pieces.n, 18); /* the interval over the boundary is two */
    for (size_t s = 0; s < 16; s++)
        assert_int_equal(g->stages.items[s].parts[s < 12 ? 1 : 0].n_heads, 0);
    assert_int_equal(total_params(g), kvs_llm_active_params(llm));
    kvs_graph_destroy(g);
    c.placement.shares = (const double[]){1, 0}; /* everything on the first */
    assert_int_equal(kvs_graph_device_of_layer(&c, 63), 0);
    c.placement.shares = (const double[]){0, 1};
    assert_int_equal(kvs_graph_device_of_layer(&c, 0), 1);
    kvs_llm_destroy(llm);
}

/* The first five staged layers stay on the device: 11 stages; 5 x 2,176 B a row read there. */
static void test_kv_gpu_layers(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("qwen3.8-27b");
    struct kvs_case c = case_of(llm, 1, KVS_SPLIT_NONE);
    c.placement.kv_gpu_layers = 5;
    struct kvs_graph *g = graph_of(&c);
    assert_int_equal(g->stages.n, 11);
    assert_int_equal(g->stages.items[0].layer, 23);
    assert_int_equal(g->pieces.n, 12);
    assert_int_equal(g->pieces.items[0].resident_bytes_per_row, 5 * 2176);
    assert_int_equal(g->pieces.items[1].resident_bytes_per_row, 0);
    assert_int_equal(total_params(g), kvs_llm_active_params(llm));
    assert_int_equal(g->residents.n, 5);
    assert_int_equal(g->pieces.items[0].n_residents, 5);
    assert_int_equal(g->pieces.items[1].n_residents, 0);
    for (uint32_t r = 0; r < 5; r++) {
        assert_int_equal(g->residents.items[r].layer, 4 * r + 3);
        assert_int_equal(g->residents.items[r].cache_stage, r);
        assert_int_equal(g->residents.items[r].parts[0].k_bytes, 1088);
    }
    kvs_graph_destroy(g);
    c.placement.kv_gpu_layers = 100;
    g = graph_of(&c);
    assert_int_equal(g->stages.n, 0);
    assert_int_equal(g->pieces.n, 1);
    assert_int_equal(g->pieces.items[0].resident_bytes_per_row, 16 * 2176);
    kvs_graph_destroy(g);
    kvs_llm_destroy(llm);
}

/*
 * gemma-4-e4b: 42 layers all have attention; 4 full and 20 sliding ones own cells, the last 18
 * read those of the last earlier owner of their kind.
 */
static void test_shared_cells(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("gemma-4-e4b");
    struct kvs_case c = case_of(llm, 1, KVS_SPLIT_NONE);
    struct kvs_graph *g = graph_of(&c);
    assert_int_equal(g->stages.n, 42);
    unsigned n_owners = 0;
    for (uint32_t s = 0; s < 42; s++) {
        const struct kvs_stage *stage = &g->stages.items[s];
        const struct kvs_llm_layer *layer = &llm->layers[stage->layer];
        n_owners += stage->cache_stage == s;
        assert_int_equal(stage->cache_stage,
                         layer->kv_source < 0 ? s : (uint32_t)layer->kv_source);
        assert_int_equal(llm->layers[stage->cache_stage].kind, layer->kind);
        /* 2 heads of 512 at q8_0, or of 256 in sliding layers */
        assert_int_equal(stage->k_row_bytes, layer->kind == KVS_LAYER_FULL ? 1088 : 544);
    }
    assert_int_equal(n_owners, 24);
    kvs_graph_destroy(g);
    kvs_llm_destroy(llm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),       cmocka_unit_test(test_tensor_split),
        cmocka_unit_test(test_uneven_heads),  cmocka_unit_test(test_layer_split),
        cmocka_unit_test(test_kv_gpu_layers), cmocka_unit_test(test_shared_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
