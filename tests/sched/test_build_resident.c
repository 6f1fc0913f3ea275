/*
 * Layers kept on the devices: their rows are made, kept and read there, layer by layer, and every
 * access says which cells its bytes are.
 */
#include "tests/sim/toy.h"

#include "tests/models/catalogue.h"

static struct toy toy;

enum { N_LAYERS = 5, ROW = 136, DEPTH = 300, WINDOW = 512 };

static void set_case(uint32_t n_devices, kvs_split_mode mode, uint32_t n_resident)
{
    toy_fini(&toy);
    toy_init(&toy, n_devices);
    toy_set_layers(&toy, N_LAYERS);
    toy.c.workload.depth = DEPTH;
    toy.c.workload.n_gen = 3;
    toy.c.placement.mode = mode;
    toy.c.placement.kv_gpu_layers = n_resident;
}

static const struct kvs_buffer *buffer_of(const struct kvs_range *range)
{
    return &toy.plan->buffers.items[range->buffer];
}

/* Bytes of a segment's computes in this mode, in buffers of a place. */
static uint64_t bytes_of(kvs_access_mode mode, kvs_place place)
{
    const struct kvs_segment *s = &toy.plan->segments.items[0];
    uint64_t bytes = 0;
    for (size_t i = 0; i < s->ops.n; i++) {
        const struct kvs_range *a = kvs_segment_accesses(s, &s->ops.items[i]);
        for (uint32_t k = 0;
             s->ops.items[i].kind == KVS_OP_COMPUTE && k < s->ops.items[i].n_access; k++)
            if (a[k].mode == mode && buffer_of(&a[k])->place == place)
                bytes += kvs_range_bytes(&a[k]);
    }
    return bytes;
}

/*
 * One device, five layers: one compute. For each layer, in order: its new row of K and of V, then
 * its window of K and of V with the new row in it, each with its cells.
 */
static void test_order(void **state)
{
    (void)state;
    static const struct {
        kvs_access_mode mode;
        const char *name;
        uint64_t bytes;
        uint64_t offset;
    } expected[] = {
        {KVS_ACCESS_WRITE, "d0.k.", ROW, DEPTH * ROW},
        {KVS_ACCESS_CELLS, "cache.k.", ROW, DEPTH * ROW},
        {KVS_ACCESS_WRITE, "d0.v.", ROW, DEPTH * ROW},
        {KVS_ACCESS_CELLS, "cache.v.", ROW, DEPTH * ROW},
        {KVS_ACCESS_READ, "d0.k.", WINDOW * ROW, 0},
        {KVS_ACCESS_CELLS, "cache.k.", WINDOW * ROW, 0},
        {KVS_ACCESS_FRESH, "d0.k.", ROW, DEPTH * ROW},
        {KVS_ACCESS_READ, "d0.v.", WINDOW * ROW, 0},
        {KVS_ACCESS_CELLS, "cache.v.", WINDOW * ROW, 0},
        {KVS_ACCESS_FRESH, "d0.v.", ROW, DEPTH * ROW},
    };
    enum { PER_LAYER = KVS_COUNT_OF(expected) };
    set_case(1, KVS_SPLIT_NONE, 0);
    toy_plan_by(&toy, &kvs_policy_resident);
    const struct kvs_segment *s = &toy.plan->segments.items[0];
    const struct kvs_op *op = &s->ops.items[0];
    assert_int_equal(op->kind, KVS_OP_COMPUTE);
    assert_int_equal(op->n_access, N_LAYERS * PER_LAYER + 1); /* and the logits */
    assert_int_equal(op->compute.kv_bytes, 2 * N_LAYERS * WINDOW * ROW);
    for (uint32_t i = 0; i < N_LAYERS * PER_LAYER; i++) {
        const struct kvs_range *range = &kvs_segment_accesses(s, op)[i];
        char name[24];
        (void)snprintf(name, sizeof name, "%s%u", expected[i % PER_LAYER].name, i / PER_LAYER);
        assert_string_equal(buffer_of(range)->name, name);
        assert_int_equal(range->mode, expected[i % PER_LAYER].mode);
        assert_int_equal(kvs_range_bytes(range), expected[i % PER_LAYER].bytes);
        assert_int_equal(range->offset, expected[i % PER_LAYER].offset);
        bool moves = expected[i % PER_LAYER].bytes == ROW;
        assert_int_equal(range->offset_step, moves ? ROW : 0);
    }
}

/* Before the first token each device holds all cells of its heads; the host's buffers name them
 * and say what is filled. */
static void test_setup(void **state)
{
    (void)state;
    for (unsigned mode = KVS_SPLIT_NONE; mode <= KVS_SPLIT_TENSOR; mode++) {
        set_case(mode == KVS_SPLIT_NONE ? 1 : 2, (kvs_split_mode)mode, 0);
        toy_plan_by(&toy, &kvs_policy_resident);
        uint64_t bytes = 0;
        for (size_t i = 0; i < toy.plan->setup.n; i += 2) {
            const struct kvs_buffer *host = buffer_of(&toy.plan->setup.items[i]);
            const struct kvs_buffer *home = buffer_of(&toy.plan->setup.items[i + 1]);
            assert_int_equal(host->filled_bytes, DEPTH * ROW);
            assert_int_equal(host->run_bytes, WINDOW * ROW);
            assert_int_not_equal(host->layer, KVS_NO_LAYER);
            assert_int_equal(home->layer, KVS_NO_LAYER);
            assert_int_equal(home->valid_bytes, 0);
            bytes += kvs_range_bytes(&toy.plan->setup.items[i]);
            assert_int_equal(home->size_bytes, kvs_range_bytes(&toy.plan->setup.items[i + 1]));
        }
        assert_int_equal(bytes, 2 * N_LAYERS * WINDOW * ROW);
    }
}

/* All devices together make every row and read every window once, whatever the layout. */
static void test_bytes(void **state)
{
    (void)state;
    static const struct {
        uint32_t n_parallel, n_rows;
        bool is_unified;
        uint64_t window_rows; /* of all streams */
    } table[] = {
        {1, 1, false, 512}, {3, 1, false, 3 * 512}, {2, 3, true, 768}, {4, 2, false, 4 * 512}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++)
        for (uint32_t n = 1; n <= 4; n++)
            for (unsigned mode = KVS_SPLIT_NONE; mode <= KVS_SPLIT_TENSOR; mode++)
                for (uint32_t n_resident = 1; n_resident <= N_LAYERS; n_resident += 2) {
                    set_case(n, (kvs_split_mode)mode, n_resident);
                    toy.c.workload.n_parallel = table[i].n_parallel;
                    toy.c.workload.n_rows = table[i].n_rows;
                    toy.c.workload.is_unified = table[i].is_unified;
                    toy_plan_by(&toy, &kvs_policy_ordered);
                    uint64_t rows = table[i].n_parallel * table[i].n_rows;
                    assert_int_equal(bytes_of(KVS_ACCESS_READ, KVS_PLACE_DEVICE),
                                     2 * N_LAYERS * ROW * table[i].window_rows);
                    assert_int_equal(bytes_of(KVS_ACCESS_FRESH, KVS_PLACE_DEVICE),
                                     2 * n_resident * ROW * rows);
                }
}

/* Without one of its writes a layer's row is not of this token. */
static void test_missing_row(void **state)
{
    (void)state;
    for (unsigned which = 0; which < 2 * N_LAYERS; which++) {
        set_case(1, KVS_SPLIT_NONE, 0);
        toy_plan_by(&toy, &kvs_policy_resident);
        struct kvs_segment *s = &toy.plan->segments.items[0];
        unsigned n = 0;
        for (size_t a = 0; a < s->accesses.n; a++) {
            struct kvs_range *range = &s->accesses.items[a];
            bool is_cells = range[1].mode == KVS_ACCESS_CELLS;
            if (range->mode != KVS_ACCESS_WRITE || !is_cells || n++ != which)
                continue;
            range[0].rows = range[1].rows = 0;
        }
        struct kvs_error err = {0};
        assert_int_equal(kvs_plan_check(toy.plan, NULL, NULL, &err), KVS_EPLAN);
        assert_non_null(strstr(err.text, "of this token, they are older"));
    }
}

/* A sliding window of 356 + 512 cells, 1,024 padded: batches of four rows go round its end, and
 * are cut there. */
static void test_sliding_window(void **state)
{
    (void)state;
    for (unsigned mode = KVS_SPLIT_NONE; mode <= KVS_SPLIT_TENSOR; mode++)
        for (uint32_t n_resident = 1; n_resident <= N_LAYERS; n_resident++) {
            set_case(mode == KVS_SPLIT_NONE ? 1 : 2, (kvs_split_mode)mode, n_resident);
            toy.llm.swa_window = 356;
            for (uint32_t l = 0; l < N_LAYERS; l += 2)
                toy.layers[l].kind = KVS_LAYER_SWA;
            toy.c.workload.depth = 1018;
            toy.c.workload.n_gen = 12;
            toy.c.workload.n_rows = 4;
            toy.c.workload.n_parallel = 2;
            toy_plan_by(&toy, &kvs_policy_ordered);
            TOY_OK(kvs_plan_check(toy.plan, &KVS_PLAN_CHECK_ALL, NULL, err));
        }
}

/* A layer that reads another one's cells on another device reads them in host memory: of 42
 * layers the last 18 read those of layers 22 and 23, so with three devices. */
static void test_shared_cells(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("gemma-4-e4b");
    for (uint32_t n = 1; n <= 3; n++) {
        set_case(n, KVS_SPLIT_LAYER, 0);
        toy.c.llm = llm;
        toy_plan_by(&toy, &kvs_policy_resident);
        bool is_split = n == 3;
        assert_int_equal(bytes_of(KVS_ACCESS_READ, KVS_PLACE_HOST_PINNED) > 0, is_split);
        assert_int_equal(bytes_of(KVS_ACCESS_WRITE, KVS_PLACE_HOST_PINNED) > 0, is_split);
        assert_true(bytes_of(KVS_ACCESS_READ, KVS_PLACE_DEVICE) > 0);
    }
    kvs_llm_destroy(llm);
}

/* 256 streams of 64 layers in one compute: their accesses are few enough. */
static void test_many_streams(void **state)
{
    (void)state;
    set_case(1, KVS_SPLIT_NONE, 0);
    toy_set_layers(&toy, TOY_LAYERS);
    toy.c.workload.n_parallel = 256;
    toy.c.workload.n_gen = 1;
    toy_plan_by(&toy, &kvs_policy_resident);
    assert_int_equal(bytes_of(KVS_ACCESS_READ, KVS_PLACE_DEVICE),
                     2 * (uint64_t)TOY_LAYERS * 256 * WINDOW * ROW);
    assert_int_equal(toy.plan->segments.items[0].ops.items[0].n_access, 10 * TOY_LAYERS + 1);
}

static int tear_down(void **state)
{
    (void)state;
    toy_fini(&toy);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),          cmocka_unit_test(test_setup),
        cmocka_unit_test(test_bytes),          cmocka_unit_test(test_missing_row),
        cmocka_unit_test(test_sliding_window), cmocka_unit_test(test_shared_cells),
        cmocka_unit_test(test_many_streams),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
