/* Which rows a step reads, which of them are stable, and for how long a window stays. */
#include "sched/case.h"

#include "tests/models/catalogue.h"

#include <string.h>

#include "models/kv.h"

static const struct kvs_llm_layer full = {
    .kind = KVS_LAYER_FULL, .n_head_kv = 4, .k_dim = 256, .v_dim = 256, .kv_source = -1};
static const struct kvs_llm_layer sliding = {
    .kind = KVS_LAYER_SWA, .n_head_kv = 1, .k_dim = 256, .v_dim = 256, .kv_source = -1};

static struct kvs_llm_layer layers[2];
static struct kvs_llm llm = {.name = "by hand", .n_layer = 2, .layers = layers};
static struct kvs_machine machine = {.n_devices = 2};

static struct kvs_case by_hand(uint64_t depth, uint32_t n_gen)
{
    struct kvs_case c;
    layers[0] = full;
    layers[1] = full;
    llm.swa_window = 0;
    kvs_case_init(&c);
    c.machine = &machine;
    c.llm = &llm;
    c.workload.depth = depth;
    c.workload.n_gen = n_gen;
    return c;
}

static void expect_window(const struct kvs_case *c, const struct kvs_llm_layer *layer,
                          uint32_t step, uint64_t window, uint64_t early)
{
    struct kvs_window w = kvs_case_window(c, layer, step);
    if (w.window_rows != window || w.early_rows != early)
        fail_msg("step %u: window %llu, early %llu; expected %llu and %llu", step,
                 (unsigned long long)w.window_rows, (unsigned long long)w.early_rows,
                 (unsigned long long)window, (unsigned long long)early);
}

/* Depth 16,384: 16,640 rows, 552.5 MiB a token for the example model. */
static void test_window(void **state)
{
    (void)state;
    struct kvs_case c = by_hand(16384, 128);
    expect_window(&c, &full, 0, 16640, 16384);
    struct kvs_llm *qwen = catalogue_load("qwen3.8-27b");
    assert_int_equal(2 * 16640 * kvs_kv_growing_bytes_per_token(qwen, KVS_KV_Q8_0, KVS_KV_Q8_0),
                     1105 * KVS_MIB);
    kvs_llm_destroy(qwen);
}

/* 128 tokens from a multiple of 256: late shrinks from 256 rows to 129, 192.5 on average; times
 * 34,816 B that is 6.4 MiB. */
static void test_late_rows_of_a_published_run(void **state)
{
    (void)state;
    struct kvs_case c = by_hand(4096, 128);
    uint64_t sum = 0;
    for (uint32_t t = 0; t < 128; t++) {
        struct kvs_window w = kvs_case_window(&c, &full, t);
        assert_int_equal(w.window_rows - w.early_rows, 256 - t);
        sum += w.window_rows - w.early_rows;
    }
    assert_int_equal(kvs_case_window(&c, &full, 127).window_rows -
                         kvs_case_window(&c, &full, 127).early_rows,
                     129);
    assert_int_equal(2 * sum, 385 * 128); /* 192.5 */
    assert_in_range(sum * 34816 * 10 / 128 / KVS_MIB, 63, 64);
    assert_int_equal(kvs_case_steps_with_same_window(&c, 0), 128);
}

/* 4,090 used: rows 4,091 to 4,096 fit the window of 4,096, then it grows, every 256 tokens. */
static void test_growth(void **state)
{
    (void)state;
    struct kvs_case c = by_hand(4090, 600);
    expect_window(&c, &full, 5, 4096, 4095);
    expect_window(&c, &full, 6, 4352, 4096);
    const uint32_t expected[] = {6, 256, 256, 82};
    uint32_t step = 0;
    for (size_t i = 0; i < KVS_COUNT_OF(expected); i++) {
        assert_int_equal(kvs_case_steps_with_same_window(&c, step), expected[i]);
        step += expected[i];
    }
    assert_int_equal(step, 600);
}

/* A cache of 4,200 rows caps the window of 4,352. */
static void test_cap(void **state)
{
    (void)state;
    struct kvs_case c = by_hand(4096, 50);
    c.workload.n_ctx = 4200;
    assert_int_equal(kvs_case_cells(&c), 4352); /* allocated in whole paddings */
    c.workload.n_ctx = 4096 + 256;
    assert_int_equal(kvs_case_cells(&c), 4352);
    expect_window(&c, &full, 49, 4352, 4145);
    c.workload.n_ctx = 0; /* just enough: 4,096 + 50 + 1 -> 4,352 */
    assert_int_equal(kvs_case_cells(&c), 4352);
}

/* Three sequences at depth 1,000. A stream each: 1,001 rows -> 1,024. One pool: 3,003 -> 3,072,
 * of which 3,000 are stable; a step adds three. */
static void test_streams(void **state)
{
    (void)state;
    struct kvs_case c = by_hand(1000, 100);
    c.workload.n_parallel = 3;
    assert_int_equal(kvs_case_n_streams(&c), 3);
    expect_window(&c, &full, 0, 1024, 1000);
    expect_window(&c, &full, 23, 1024, 1023);
    expect_window(&c, &full, 24, 1280, 1024);
    assert_int_equal(kvs_case_steps_with_same_window(&c, 0), 24);
    c.workload.is_unified = true;
    assert_int_equal(kvs_case_n_streams(&c), 1);
    expect_window(&c, &full, 0, 3072, 3000);
    expect_window(&c, &full, 23, 3072, 3069);
    expect_window(&c, &full, 24, 3328, 3072);
    assert_int_equal(kvs_case_steps_with_same_window(&c, 0), 24);
}

/* Speculative batches of 5 rows read to the last of them: 1,020 + 5 = 1,025 -> 1,280. */
static void test_batches(void **state)
{
    (void)state;
    struct kvs_case c = by_hand(1019, 10);
    c.workload.n_rows = 5;
    expect_window(&c, &full, 0, 1024, 1019);
    expect_window(&c, &full, 1, 1280, 1020);
}

/*
 * A window of 512 rows and micro batches of 512: 1,024 cells, written round and round. At depth
 * 1,022 steps 0 and 1 fill the last two, then writing starts again at cell 0: everything after
 * it is late.
 */
static void test_sliding(void **state)
{
    (void)state;
    struct kvs_case c = by_hand(1022, 300);
    layers[1] = sliding;
    llm.swa_window = 512;
    assert_int_equal(kvs_case_layer_cells(&c, &sliding), 1024);
    assert_int_equal(kvs_case_layer_cells(&c, &full), 1536);
    expect_window(&c, &sliding, 0, 1024, 1022);
    expect_window(&c, &sliding, 1, 1024, 1023);
    expect_window(&c, &sliding, 2, 1024, 0);
    expect_window(&c, &sliding, 12, 1024, 10);
    assert_int_equal(kvs_case_steps_with_same_window(&c, 0), 2);
    assert_int_equal(kvs_case_steps_with_same_window(&c, 2), 256);
    layers[0] = sliding; /* nothing grows: early alone advances, 256 steps at a time */
    c.workload.n_gen = 600;
    assert_int_equal(kvs_case_steps_with_same_window(&c, 2), 256);
    layers[0] = full;
    c.workload.depth = 100; /* not full yet: like any other layer */
    expect_window(&c, &sliding, 0, 256, 100);
}

/* Frozen positions: every step is the first one; a synthetic program states its window. */
static void test_frozen(void **state)
{
    (void)state;
    struct kvs_case c = by_hand(4090, 600);
    c.workload.is_frozen = true;
    expect_window(&c, &full, 599, 4096, 4090);
    assert_int_equal(kvs_case_steps_with_same_window(&c, 0), 600);
    c.workload.window_rows = 9999;
    expect_window(&c, &full, 7, 9999, 4090);
}

/*
 * The last rows on the devices. One sequence: two rows stay behind with every block, 254 rows are
 * delivered for rows 256 to 511, 510 after that. Three sequences in one pool with batches of two
 * rows, six a step of which three are new: 2 x 3 + 6 - 1 = 11 rows. At depth 83 a batch is rows
 * 249 to 254, at depth 84 rows 252 to 257, the first one in block 1.
 */
static void test_tail(void **state)
{
    (void)state;
    struct kvs_case c = by_hand(250, 600);
    assert_int_equal(kvs_case_tail_first(&c, 0), 0);
    assert_int_equal(kvs_case_tail_first(&c, 5), 0);
    assert_int_equal(kvs_case_tail_first(&c, 6), 254);
    assert_int_equal(kvs_case_tail_first(&c, 261), 254);
    assert_int_equal(kvs_case_tail_first(&c, 262), 510);
    assert_int_equal(kvs_case_tail_ring_rows(&c), 512);
    c = by_hand(83, 600);
    c.workload.n_parallel = 3;
    c.workload.n_rows = 2;
    c.workload.is_unified = true;
    assert_int_equal(kvs_case_advance_rows(&c), 3);
    assert_int_equal(kvs_case_tail_first(&c, 0), 0);
    assert_int_equal(kvs_case_tail_first(&c, 1), 256 - 11);
    assert_int_equal(kvs_case_tail_ring_rows(&c), 512);
    c.workload.n_rows = 90; /* 6 + 270 - 1 rows and three more: a block more */
    assert_int_equal(kvs_case_tail_ring_rows(&c), 768);
    c = by_hand(600, 5);
    c.workload.is_frozen = true; /* nothing is on its way: all of block 1 */
    assert_int_equal(kvs_case_tail_first(&c, 4), 512);
}

static void test_shares(void **state)
{
    (void)state;
    struct kvs_case c = by_hand(0, 1);
    const double shares[] = {3, 1};
    assert_true(kvs_case_share(&c, 0) == 1.0 && kvs_case_share(&c, 1) == 0.0);
    c.placement.mode = KVS_SPLIT_TENSOR;
    assert_true(kvs_case_share(&c, 0) == 0.5 && kvs_case_share(&c, 1) == 0.5);
    c.placement.shares = shares;
    assert_true(kvs_case_share(&c, 0) == 0.75 && kvs_case_share(&c, 1) == 0.25);
}

static void test_check(void **state)
{
    (void)state;
    struct kvs_error err;
    struct kvs_case c = by_hand(100, 28);
    assert_int_equal(kvs_case_check(&c, &err), KVS_OK);
    c.workload.n_ctx = 128; /* depth 100 + 27 steps before the last + its row */
    assert_int_equal(kvs_case_check(&c, &err), KVS_OK);
    c.workload.n_ctx = 127;
    assert_int_equal(kvs_case_check(&c, &err), KVS_EINVAL);
    assert_non_null(strstr(err.hint, "128"));
    c = by_hand(100, 28);
    c.workload.window_rows = 512;
    assert_int_equal(kvs_case_check(&c, &err), KVS_EINVAL);
    c.workload.is_frozen = true;
    assert_int_equal(kvs_case_check(&c, &err), KVS_OK);
    c.workload.window_rows = 100;
    assert_int_equal(kvs_case_check(&c, &err), KVS_EINVAL);
    c = by_hand(100, 28);
    c.placement.mode = KVS_SPLIT_TENSOR;
    assert_int_equal(kvs_case_check(&c, &err), KVS_EUNSUPPORTED);
    llm.can_split_tensor = true;
    assert_int_equal(kvs_case_check(&c, &err), KVS_OK);
    const double none[] = {0, 0}, negative[] = {2, -1};
    c.placement.shares = none;
    assert_int_equal(kvs_case_check(&c, &err), KVS_EINVAL);
    c.placement.shares = negative;
    assert_int_equal(kvs_case_check(&c, &err), KVS_EINVAL);
    c = by_hand(100, 0);
    assert_int_equal(kvs_case_check(&c, &err), KVS_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window),  cmocka_unit_test(test_late_rows_of_a_published_run),
        cmocka_unit_test(test_growth),  cmocka_unit_test(test_cap),
        cmocka_unit_test(test_streams), cmocka_unit_test(test_batches),
        cmocka_unit_test(test_sliding), cmocka_unit_test(test_frozen),
        cmocka_unit_test(test_tail),    cmocka_unit_test(test_shares),
        cmocka_unit_test(test_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
