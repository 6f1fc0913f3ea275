/*
 * Skipping what repeats changes nothing: the same totals as carrying out every token, for every
 * number of tokens, hence the same token times.
 */
#include "tests/sim/ring_plan.h"

static struct toy toy;

struct outcome {
    kvs_time total_ps;
    uint64_t n_dispatched;
    uint32_t repeat_from, repeat_length;
    struct kvs_device_totals devices[TOY_DEVICES];
    struct kvs_host_totals host;
};

static struct outcome run_plan(bool detects)
{
    struct outcome o = {0};
    toy_run_with(&toy, (struct kvs_exec_options){.no_repeat_detection = !detects});
    o.total_ps = toy.run.total_ps;
    o.n_dispatched = toy.run.n_dispatched;
    o.repeat_from = toy.run.repeat_from;
    o.repeat_length = toy.run.repeat_length;
    memcpy(o.devices, toy.run.devices, toy.run.n_devices * sizeof *o.devices);
    o.host = toy.run.host;
    return o;
}

/* The plan at hand both ways. */
static struct outcome expect_same(void)
{
    struct outcome on = run_plan(true), off = run_plan(false);
    TOY_EXPECT_PS(on.total_ps, off.total_ps);
    assert_memory_equal(on.devices, off.devices, sizeof on.devices);
    assert_memory_equal(&on.host, &off.host, sizeof on.host);
    assert_int_equal(off.repeat_length, 0);
    assert_int_equal(off.repeat_from, toy.run.n_tokens);
    return on;
}

static void set_costs(void)
{
    struct kvs_host *h = &toy.machine.host;
    toy_set_layers(&toy, 6);
    h->graph_launch = toy_us(1.7);
    h->copy_call = toy_us(0.9);
    h->event_pair = toy_us(0.13);
    h->sync = toy_us(2.1);
    h->hop = toy_us(1.3);
    h->between_tokens = toy_us(33);
    toy.machine.collective.latency = toy_us(4);
    toy.machine.collective.trips = toy_figure(2);
    for (uint32_t d = 0; d < toy.machine.n_devices; d++) {
        toy.devices[d].engines.first_overhead = toy_us(3.4);
        toy.devices[d].engines.next_overhead = toy_us(1.9);
        toy.devices[d].engines.commit_lead = toy_us(5);
        toy.devices[d].engines.in_flight_bytes = toy_figure(700);
        toy.devices[d].kernel_gap = toy_us(0.2);
        toy.profiles[d].copy_slowdown = toy_figure(0.07);
    }
}

/* Ordered windows stay as they are inside a segment: each of three segments skips for itself.
 */
static void test_ordered_segments(void **state)
{
    (void)state;
    toy_init(&toy, 1);
    set_costs();
    toy.c.workload.depth = 400;
    toy.c.workload.n_gen = 500;
    toy_plan_by(&toy, &kvs_policy_ordered);
    assert_int_equal(toy.plan->segments.n, 3); /* 112, 256 and 132 tokens */
    struct outcome on = expect_same();
    assert_int_equal(on.repeat_length, 1);
    assert_in_range(on.repeat_from, 0, 1);
    assert_true(on.n_dispatched < 20 * toy.plan->segments.items[0].ops.n);
    toy_fini(&toy);
}

static void test_frozen(void **state)
{
    (void)state;
    const struct {
        uint32_t n_devices;
        kvs_split_mode mode;
        double memory_Bps;
    } table[] = {{1, KVS_SPLIT_NONE, 0},
                 {2, KVS_SPLIT_LAYER, 0},
                 {2, KVS_SPLIT_TENSOR, 0},
                 {3, KVS_SPLIT_LAYER, 1.3e9},
                 {2, KVS_SPLIT_TENSOR, 1.3e9}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        for (uint32_t n_gen = 1; n_gen <= 24; n_gen += n_gen < 8 ? 1 : 8) {
            toy_init(&toy, table[i].n_devices);
            set_costs();
            toy.machine.host.memory_rate = toy_figure(table[i].memory_Bps);
            toy.c.placement.mode = table[i].mode;
            toy.c.workload = (struct kvs_workload){.depth = 900,
                                                   .n_gen = n_gen,
                                                   .n_parallel = 1,
                                                   .n_rows = 1,
                                                   .n_ubatch = 512,
                                                   .pad_rows = 256,
                                                   .type_k = KVS_KV_Q8_0,
                                                   .type_v = KVS_KV_Q8_0,
                                                   .is_pinned = true,
                                                   .is_frozen = true};
            toy_plan_by(&toy, &kvs_policy_pipelined);
            struct outcome on = expect_same();
            if (n_gen >= 16)
                assert_int_equal(on.repeat_length, 1);
            toy_fini(&toy);
        }
    }
}

/* Late bytes shrink from token to token: nothing repeats, and nothing is skipped. */
static void test_unsteady(void **state)
{
    (void)state;
    toy_init(&toy, 1);
    set_costs();
    toy.c.workload.depth = 512;
    toy.c.workload.n_gen = 60;
    toy_plan_by(&toy, &kvs_policy_pipelined);
    struct outcome on = expect_same();
    assert_int_equal(on.repeat_length, 0);
    assert_int_equal(on.repeat_from, 60);
    toy_fini(&toy);
}

/*
 * Deliveries in flight across tokens, a period of three. The state can repeat only after whole
 * periods, and does after the first ones; how long the transient is depends on copy and
 * compute.
 */
static void test_ring(void **state)
{
    (void)state;
    const struct {
        uint32_t copy_ns, compute_ns, n_segments, n_tokens;
    } table[] = {{500, 1000, 1, 90}, {1000, 500, 1, 90}, {977, 911, 1, 90},
                 {1700, 313, 2, 45}, {313, 1700, 3, 30}, {700, 701, 1, 3}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        struct ring_plan ring = {.copy_ns = table[i].copy_ns,
                                 .compute_ns = table[i].compute_ns,
                                 .n_segments = table[i].n_segments,
                                 .n_tokens = table[i].n_tokens,
                                 .has_sampling = true};
        toy_init(&toy, 1);
        toy.machine.host.between_tokens = toy_us(1.5);
        toy.machine.host.hop = toy_us(0.3);
        toy.profiles[0].copy_slowdown = toy_figure(0.3);
        ring_plan_build(&ring, &toy);
        struct outcome on = expect_same();
        if (table[i].n_tokens > 3)
            assert_int_equal(on.repeat_length, 3);
        toy_fini(&toy);
    }
}

/*
 * The shortest repetition, recomputed. Tokens of alternating kind (a period of two: compute of
 * 1 and of 3 us) repeat after 2; of a kind that is the same in both phases also after 2, since
 * only whole periods count; without a period after 1.
 */
static void test_shortest(void **state)
{
    (void)state;
    const struct {
        uint16_t period;
        uint32_t first_ns, second_ns, expected;
    } table[] = {{1, 1000, 0, 1}, {2, 1000, 3000, 2}, {2, 1000, 1000, 2}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        toy_init(&toy, 1);
        toy_new_plan(&toy);
        struct kvs_segment *segment = toy_segment(&toy, 20, false);
        segment->period = table[i].period;
        uint16_t k = toy_queue(&toy, 0, "k");
        for (uint16_t phase = 0; phase < table[i].period; phase++) {
            kvs_op_id work =
                toy_compute(&toy, k, phase == 0 ? table[i].first_ns : table[i].second_ns, 1);
            kvs_op_id wait = toy_wait(&toy, work);
            segment->ops.items[work].phase = segment->ops.items[wait].phase = phase;
        }
        struct outcome on = expect_same();
        assert_int_equal(on.repeat_length, table[i].expected);
        assert_int_equal(on.repeat_from, 0);
        toy_fini(&toy);
    }
}

/*
 * A queue that lags tokens behind the host, from one segment into the next: there the first
 * tokens look alike while its head still belongs to the segment before. Held two tokens back by
 * a wait, or four by a full queue of kernels.
 */
static void test_lag_across_segments(void **state)
{
    (void)state;
    const uint64_t cost_ns[] = {5000, 3000, 7000};
    for (unsigned has_wait = 0; has_wait < 2; has_wait++) {
        toy_init(&toy, 1);
        toy.machine.host.submit = KVS_SUBMIT_KERNELS;
        toy.machine.host.queue_limit = toy_figure(4);
        toy_new_plan(&toy);
        uint16_t k = toy_queue(&toy, 0, "k");
        for (unsigned s = 0; s < 3; s++) {
            toy_segment(&toy, 10 + s, false);
            kvs_op_id slow = toy_compute(&toy, k, cost_ns[s], 1);
            if (!has_wait)
                continue;
            toy_wait(&toy, slow);
            toy.plan->segments.items[s].deps.items[0].distance = 2;
        }
        struct outcome on = expect_same();
        assert_int_equal(on.repeat_length, 1);
        TOY_EXPECT_PS(on.total_ps, (10 * 5 + 11 * 3 + 12 * 7) * TOY_US);
        toy_fini(&toy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordered_segments), cmocka_unit_test(test_frozen),
        cmocka_unit_test(test_unsteady),         cmocka_unit_test(test_ring),
        cmocka_unit_test(test_shortest),         cmocka_unit_test(test_lag_across_segments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
