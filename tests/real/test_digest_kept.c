/*
 * Digests of plans that keep rows on the devices: whole caches of some layers, or the last rows of
 * every layer. They are those of the ordered transport, whose rows all go through the host.
 */
#include "real/exec_serial.h"
#include "tests/sim/toy.h"

static struct toy toy;

enum { N_LAYERS = 5 };

struct workload {
    uint64_t depth;
    uint32_t n_gen, n_parallel, n_rows;
    bool is_unified, is_frozen;
};
static const struct workload workloads[] = {
    {509, 9, 1, 1, false, false},  {253, 9, 3, 1, false, false}, {509, 9, 2, 1, true, false},
    {765, 6, 2, 3, false, false},  {253, 9, 3, 2, true, false},  {600, 4, 1, 2, false, true},
    {250, 270, 1, 1, false, false}};

static void set_case(uint32_t n_devices, kvs_split_mode mode, const struct workload *w,
                     uint32_t lookahead, uint32_t n_resident)
{
    toy_fini(&toy);
    toy_init(&toy, n_devices);
    toy_set_layers(&toy, N_LAYERS);
    toy.llm.hidden = 8;
    toy.llm.rotation_k_bytes = 64;
    toy.c.workload.depth = w->depth;
    toy.c.workload.n_gen = w->n_gen;
    toy.c.workload.n_parallel = w->n_parallel;
    toy.c.workload.n_rows = w->n_rows;
    toy.c.workload.is_unified = w->is_unified;
    toy.c.workload.is_frozen = w->is_frozen;
    toy.c.placement.mode = mode;
    toy.c.placement.kv_gpu_layers = n_resident;
    toy.c.transport =
        (struct kvs_transport){.lookahead = lookahead, .budget_bytes = UINT64_MAX};
}

/* Bytes are destroyed after use: what is read twice, or too late, shows. */
static uint64_t digest(const struct kvs_policy *policy)
{
    struct kvs_exec_options options = {.seed = 1, .verifies = true};
    struct kvs_run run;
    toy_plan_by(&toy, policy);
    TOY_OK(kvs_exec_once(&kvs_exec_serial, toy.plan, &toy.c, &options, &run, NULL, err));
    kvs_run_fini(&run);
    return run.digest;
}

static void expect_digest(const struct kvs_policy *policy, uint64_t expected)
{
    if (digest(policy) != expected)
        fail_msg("%s, %u devices, split %d, depth %llu, look-ahead %u, %u layers kept: another "
                 "digest",
                 policy->name, toy.machine.n_devices, (int)toy.c.placement.mode,
                 (unsigned long long)toy.c.workload.depth, toy.c.transport.lookahead,
                 toy.c.placement.kv_gpu_layers);
}

/* Look-aheads 1, 3, 5; 0, 2 and all layers on the devices. */
static void test_kept_rows(void **state)
{
    (void)state;
    static const kvs_split_mode splits[] = {KVS_SPLIT_NONE, KVS_SPLIT_TENSOR, KVS_SPLIT_LAYER};
    for (size_t w = 0; w < KVS_COUNT_OF(workloads); w++) {
        set_case(1, KVS_SPLIT_NONE, &workloads[w], 0, 0);
        uint64_t expected = digest(&kvs_policy_ordered);
        for (uint32_t n = 1; n <= 3; n++)
            for (uint32_t k = 0; k < (workloads[w].n_gen > 100 ? 1 : 3); k++) {
                set_case(n, splits[n - 1], &workloads[w], 2 * k + 1, 0);
                expect_digest(&kvs_policy_continuous, expected);
                toy.c.placement.kv_gpu_layers = k == 2 ? N_LAYERS : 2 * k;
                expect_digest(k == 1 ? &kvs_policy_continuous : &kvs_policy_pipelined,
                              expected);
            }
    }
}

/*
 * A sliding window of 868 cells, 1,024 padded, that wraps inside batches of four rows; layers 3
 * and 4 read the cells of layers 0 and 1, under layer split of three devices from another one.
 */
static void test_shared_cells(void **state)
{
    (void)state;
    static const struct workload w = {1018, 5, 1, 4, false, false};
    uint64_t expected = 0;
    for (uint32_t n = 1; n <= 3; n++)
        for (uint32_t n_resident = 0; n_resident <= N_LAYERS; n_resident++) {
            set_case(n, n == 1 ? KVS_SPLIT_NONE : KVS_SPLIT_LAYER, &w, 0, n_resident);
            toy.llm.swa_window = 356;
            toy.layers[0].kind = toy.layers[2].kind = toy.layers[3].kind = KVS_LAYER_SWA;
            toy.layers[3].kv_source = 0;
            toy.layers[4].kv_source = 1;
            expected = expected == 0 ? digest(&kvs_policy_ordered) : expected;
            expect_digest(&kvs_policy_ordered, expected);
        }
}

/* Tail rows that are read or made one row before their place: another digest. */
static void test_misplaced_row(void **state)
{
    (void)state;
    set_case(1, KVS_SPLIT_NONE, &workloads[0], 1, 0);
    uint64_t expected = digest(&kvs_policy_continuous);
    struct kvs_segment *s = &toy.plan->segments.items[1];
    for (size_t a = 0; a < s->accesses.n; a++) {
        struct kvs_range *range = &s->accesses.items[a];
        struct kvs_exec_options options = {.seed = 1};
        struct kvs_run run;
        bool has_cells = a + 1 < s->accesses.n && range[1].mode == KVS_ACCESS_CELLS;
        if (!has_cells || range->offset < range->width)
            continue;
        range->offset -= range->width;
        TOY_OK(kvs_exec_once(&kvs_exec_serial, toy.plan, &toy.c, &options, &run, NULL, err));
        kvs_run_fini(&run);
        range->offset += range->width;
        if (run.digest == expected)
            fail_msg("access %zu one row before: not seen", a);
    }
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
        cmocka_unit_test(test_kept_rows),
        cmocka_unit_test(test_shared_cells),
        cmocka_unit_test(test_misplaced_row),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
