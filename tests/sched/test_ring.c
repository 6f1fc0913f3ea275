/*
 * Slot sizes and declines. Figures of the example model (4 KV heads x 256, q8_0: 1,088 B for K
 * and for V, 2,176 B a row and stage) and the checks of docs/transports.md.
 */
#include "sched/ring.h"

#include "tests/models/catalogue.h"

#include "sched/graph.h"

#define UNKNOWN  UINT64_MAX
#define NO_LIMIT UINT64_MAX
#define HEADROOM (512 * KVS_MIB)

static struct kvs_ring_choice choose(uint32_t lookahead, uint64_t need, uint64_t full,
                                     uint64_t budget)
{
    return kvs_ring_choose(lookahead, need, full, budget, HEADROOM, UNKNOWN);
}

/* 8 streams x 2,304 rows x 2,176 B = 38.25 MiB; 64 MiB is the power of two. */
static void test_eight_streams(void **state)
{
    (void)state;
    const uint64_t need = 8ull * 2304 * 2176, full = 8ull * 32768 * 2176;
    assert_int_equal(need * 4, 153 * KVS_MIB);
    struct kvs_ring_choice c = choose(1, need, full, 128 * KVS_MIB);
    assert_int_equal(c.decline, KVS_DECLINE_NONE);
    assert_int_equal(c.n_slots, 3);
    assert_int_equal(c.slot_bytes, 128 * KVS_MIB / 3); /* 42.7 MiB */
    assert_int_equal(c.ring_bytes, 3 * (128 * KVS_MIB / 3));
    assert_int_equal(choose(1, need, full, 512 * KVS_MIB).slot_bytes, 64 * KVS_MIB);
    assert_int_equal(choose(1, need, full, NO_LIMIT).slot_bytes, 64 * KVS_MIB);
}

/* 20,480 rows need 42.5 MiB, three of them 127.5 of 128 MiB; 20,736 need 43.03, 129.1 in all.
 */
static void test_default_budget(void **state)
{
    (void)state;
    const uint64_t full = 65536ull * 2176;
    struct kvs_ring_choice fits = choose(1, 20480ull * 2176, full, 128 * KVS_MIB);
    assert_int_equal(fits.decline, KVS_DECLINE_NONE);
    struct kvs_ring_choice c = choose(1, 20736ull * 2176, full, 128 * KVS_MIB);
    assert_int_equal(c.decline, KVS_DECLINE_BUDGET);
    assert_int_equal(c.ring_bytes, 3 * 20736ull * 2176);
    assert_int_equal(c.slot_bytes, 0);
    assert_int_equal(c.fit_lookahead, 0);
    assert_int_equal(c.fit_budget_bytes, 3 * 20736ull * 2176);
    assert_int_equal(choose(1, 20736ull * 2176, full, c.fit_budget_bytes).decline,
                     KVS_DECLINE_NONE);
    assert_int_equal(choose(1, 20736ull * 2176, full, c.fit_budget_bytes - 1).decline,
                     KVS_DECLINE_BUDGET);
}

/* The power of two, unless full context, budget or memory say less; never below the need. */
static void test_slot_size(void **state)
{
    (void)state;
    const struct {
        uint64_t need, full, budget, free_bytes, slot;
    } table[] = {
        {1000, 1u << 20, NO_LIMIT, UNKNOWN, 1024},
        {1024, 1u << 20, NO_LIMIT, UNKNOWN, 1024},
        {1025, 1u << 20, NO_LIMIT, UNKNOWN, 2048},
        {1025, 1500, NO_LIMIT, UNKNOWN, 1500},
        {1025, 1u << 20, 3 * 1700, UNKNOWN, 1700},
        {1025, 1u << 20, 3 * 1025, UNKNOWN, 1025},
        {1025, 1u << 20, NO_LIMIT, HEADROOM + 3 * 1800, 1800},
        {1025, 1u << 20, 3 * 1700, HEADROOM + 3 * 1800, 1700},
        {1025, 1000, NO_LIMIT, UNKNOWN, 1025},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        struct kvs_ring_choice c = kvs_ring_choose(
            1, table[i].need, table[i].full, table[i].budget, HEADROOM, table[i].free_bytes);
        assert_int_equal(c.decline, KVS_DECLINE_NONE);
        assert_int_equal(c.slot_bytes, table[i].slot);
        assert_int_equal(c.ring_bytes, 3 * table[i].slot);
    }
}

/* 512 MiB stay free after the ring: three slots of 1,000 B need 3,000 B more than that. */
static void test_headroom(void **state)
{
    (void)state;
    const struct {
        uint64_t free_bytes;
        kvs_decline decline;
    } table[] = {{HEADROOM + 3000, KVS_DECLINE_NONE},
                 {HEADROOM + 2999, KVS_DECLINE_HEADROOM},
                 {HEADROOM, KVS_DECLINE_HEADROOM},
                 {HEADROOM - 1, KVS_DECLINE_HEADROOM},
                 {UNKNOWN, KVS_DECLINE_NONE}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        struct kvs_ring_choice c =
            kvs_ring_choose(1, 1000, 4000, 128 * KVS_MIB, HEADROOM, table[i].free_bytes);
        assert_int_equal(c.decline, table[i].decline);
        /* no budget helps where memory is missing */
        assert_int_equal(c.fit_budget_bytes, table[i].decline ? 0 : 3000);
    }
}

/* Look-ahead + 2 slots, at most 16. 6 x 1,000 B allow a look-ahead of 4. */
static void test_lookahead(void **state)
{
    (void)state;
    assert_int_equal(choose(0, 1000, 4000, NO_LIMIT).decline, KVS_DECLINE_LOOKAHEAD);
    assert_int_equal(choose(0, 1000, 4000, NO_LIMIT).n_slots, 0);
    assert_int_equal(choose(4, 1000, 4000, NO_LIMIT).n_slots, 6);
    assert_int_equal(choose(14, 1000, 4000, NO_LIMIT).n_slots, 16);
    assert_int_equal(choose(15, 1000, 4000, NO_LIMIT).n_slots, 16);
    assert_int_equal(choose(UINT32_MAX, 1000, 4000, NO_LIMIT).n_slots, 16);
    assert_int_equal(choose(4, 1000, 4000, 6000).fit_lookahead, 4);
    assert_int_equal(choose(4, 1000, 4000, 5999).decline, KVS_DECLINE_BUDGET);
    assert_int_equal(choose(4, 1000, 4000, 5999).fit_lookahead, 3);
    assert_int_equal(choose(1, 1000, 4000, NO_LIMIT).fit_lookahead, 14);
}

struct bench {
    struct kvs_llm *llm;
    struct kvs_link link;
    struct kvs_device devices[2];
    struct kvs_machine machine;
    struct kvs_case c;
};

static void bench_open(struct bench *b, const char *model, uint32_t n_devices)
{
    *b = (struct bench){.llm = catalogue_load(model)};
    b->machine = (struct kvs_machine){
        .links = &b->link, .n_links = 1, .devices = b->devices, .n_devices = n_devices};
    kvs_case_init(&b->c);
    b->c.machine = &b->machine;
    b->c.llm = b->llm;
}

static struct kvs_ring_choice bench_ring(const struct bench *b, uint32_t device, uint32_t step)
{
    struct kvs_ring_choice choice;
    assert_int_equal(kvs_case_ring(&b->c, device, step, &choice, NULL), KVS_OK);
    return choice;
}

/* The same thresholds from a whole case; the window of step t holds depth + t + 1 rows. */
static void test_case_thresholds(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, "qwen3.8-27b", 1);
    b.c.workload.depth = 20479; /* first step: 20,480 rows, second: 20,736 */
    assert_int_equal(bench_ring(&b, 0, 0).decline, KVS_DECLINE_NONE);
    assert_int_equal(bench_ring(&b, 0, 0).need_bytes, 20480ull * 2176);
    assert_int_equal(bench_ring(&b, 0, 1).decline, KVS_DECLINE_BUDGET);
    b.c.workload.depth = 2100;
    b.c.workload.n_gen = 100;
    b.c.workload.n_parallel = 8;
    assert_int_equal(bench_ring(&b, 0, 0).need_bytes * 4, 153 * KVS_MIB);
    b.c.workload.is_unified = true; /* 8 x 2,101 rows in one stream: 16,808 -> 16,896 */
    assert_int_equal(bench_ring(&b, 0, 0).need_bytes, 16896ull * 2176);
    kvs_llm_destroy(b.llm);
}

/* Each stream's run of K and of V is padded to 128 B: q4_0 rows of one head x 32 are 18 B, 5
 * rows 90. */
static void test_alignment(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, "qwen3.8-27b", 1);
    struct kvs_llm_layer layer = {
        .kind = KVS_LAYER_FULL, .n_head_kv = 1, .k_dim = 32, .v_dim = 32, .kv_source = -1};
    b.c.workload.type_k = KVS_KV_Q4_0;
    b.c.workload.type_v = KVS_KV_Q8_0; /* 34 B, 5 rows 170 */
    assert_int_equal(kvs_ring_need_bytes(&b.c, &layer, 5), 128 + 256);
    b.c.workload.n_parallel = 3;
    assert_int_equal(kvs_ring_need_bytes(&b.c, &layer, 5), 3 * (128 + 256));
    layer.v_dim = 0; /* no V cache */
    assert_int_equal(kvs_ring_need_bytes(&b.c, &layer, 5), 3 * 128);
    kvs_llm_destroy(b.llm);
}

static struct kvs_param figure(double value)
{
    return (struct kvs_param){.value = value};
}

/* Two cards, tensor split in halves: the one with less memory left decides for both. */
static void test_least_free_device_decides(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, "qwen3.8-27b", 2);
    const double weights = (double)b.llm->stored_params * b.llm->weight_bytes_per_param;
    const double half = weights / 2 + (double)b.llm->recurrent_bytes_per_seq / 2;
    b.c.workload.depth = 4096;
    b.c.placement.mode = KVS_SPLIT_TENSOR;
    b.c.transport.budget_bytes = NO_LIMIT;
    for (unsigned d = 0; d < 2; d++)
        b.devices[d] =
            (struct kvs_device){.is_memory_known = true, .memory_bytes = figure(half + 4e9)};
    b.devices[1].memory_bytes = figure(half + (double)HEADROOM + 3 * 4352 * 2176 + 4);
    for (unsigned d = 0; d < 2; d++) {
        struct kvs_ring_choice c = bench_ring(&b, d, 0);
        assert_int_equal(c.decline, KVS_DECLINE_NONE);
        assert_int_equal(c.device, 1);
        assert_in_range(c.free_bytes, HEADROOM + 3 * 4352 * 2176,
                        HEADROOM + 3 * 4352 * 2176 + 8);
    }
    b.devices[1].memory_bytes.value -= 1e4;
    for (unsigned d = 0; d < 2; d++)
        assert_int_equal(bench_ring(&b, d, 0).decline, KVS_DECLINE_HEADROOM);
    b.c.placement.mode = KVS_SPLIT_LAYER; /* each for itself */
    assert_int_equal(bench_ring(&b, 0, 0).decline, KVS_DECLINE_NONE);
    assert_int_equal(bench_ring(&b, 1, 0).decline, KVS_DECLINE_HEADROOM);
    b.devices[1].memory_bytes = figure(half);
    b.devices[1].reserved_bytes = figure(1e6);
    struct kvs_ring_choice c;
    assert_int_equal(kvs_case_ring(&b.c, 1, 0, &c, NULL), KVS_ENOFIT);
    kvs_llm_destroy(b.llm);
}

/* Layers kept on the device take memory: 4 of 16, 1,024 cells of 2,176 B each. */
static void test_resident_layers_take_memory(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, "qwen3.8-27b", 1);
    b.c.workload.depth = 800;
    b.c.workload.n_ctx = 1024;
    b.devices[0] = (struct kvs_device){.is_memory_known = true, .memory_bytes = figure(1e11)};
    uint64_t without, with;
    assert_int_equal(kvs_case_free_bytes(&b.c, 0, &without, NULL), KVS_OK);
    b.c.placement.kv_gpu_layers = 4;
    assert_int_equal(kvs_case_free_bytes(&b.c, 0, &with, NULL), KVS_OK);
    assert_in_range(without - with, 4 * 1024 * 2176 - 1, 4 * 1024 * 2176 + 1);
    kvs_llm_destroy(b.llm);
}

static void test_declines(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, "gemma-4-e4b", 1); /* 18 layers read another layer's cells */
    assert_int_equal(bench_ring(&b, 0, 0).decline, KVS_DECLINE_SHARED_CELLS);
    b.c.transport.lookahead = 0;
    assert_int_equal(bench_ring(&b, 0, 0).decline, KVS_DECLINE_LOOKAHEAD);
    kvs_llm_destroy(b.llm);

    bench_open(&b, "qwen3.8-27b", 1);
    b.c.placement.kv_gpu_layers = 16;
    assert_int_equal(bench_ring(&b, 0, 0).decline, KVS_DECLINE_NO_STAGE);
    b.c.placement.kv_gpu_layers = 15;
    assert_int_equal(bench_ring(&b, 0, 0).decline, KVS_DECLINE_NONE);
    b.llm->is_v_transposed = true;
    assert_int_equal(bench_ring(&b, 0, 0).decline, KVS_DECLINE_V_TRANSPOSED);
    kvs_llm_destroy(b.llm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eight_streams),
        cmocka_unit_test(test_default_budget),
        cmocka_unit_test(test_slot_size),
        cmocka_unit_test(test_headroom),
        cmocka_unit_test(test_lookahead),
        cmocka_unit_test(test_case_thresholds),
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_least_free_device_decides),
        cmocka_unit_test(test_resident_layers_take_memory),
        cmocka_unit_test(test_declines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
