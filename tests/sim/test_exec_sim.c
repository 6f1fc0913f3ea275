/* Whole plans in virtual time: sums and recurrences worked out beside the simulator. */
#include "tests/sim/toy.h"

#include "tests/sim/ring_plan.h"

static struct toy toy;

/* Every cost of the host and of engines that an ordered token pays, all different. */
static void set_costs(struct toy *t)
{
    struct kvs_host *h = &t->machine.host;
    h->graph_launch = toy_us(3);
    h->copy_call = toy_us(1.5);
    h->sync = toy_us(2.5);
    h->event_pair = toy_us(0.3);
    h->hop = toy_us(0.7);
    h->store = toy_us(0.11);
    h->split_work = toy_us(0.13);
    h->between_tokens = toy_us(600);
    t->devices[0].engines.first_overhead = toy_us(3.4);
    t->devices[0].kernel_gap = toy_us(0.2);
}

/*
 * Two full layers, depth 300: a window of 512 rows of 136 B for each of K and V. Weights 3,000
 * before an attention and 5,000 from it on, 2,000 in the head; 3, 4 and 1 kernels. first call
 * 3,   3 us of work,          3 gaps per layer sync; two stores (call, 3.4 + 136 B, sync);
 * set_rows; two windows (call, 3.4 + 69,632 B, sync); call 3, then 5 + 3 us and 7 gaps (layer
 * 1), 5 + 2 us and 5 gaps (last) end       sync, sampling Attention costs nothing here: the
 * toy's profile has no per_row.
 */
static kvs_time ordered_token_ps(void)
{
    const double store = 1.5 + 3.4 + 0.136 + 2.5, window = 1.5 + 3.4 + 69.632 + 2.5;
    const double layer = 2.5 + 2 * store + 0.11 + 0.13 + 2 * window;
    double us = 3 + (3 + 3 * 0.2);
    us += layer + 3 + (8 + 7 * 0.2);
    us += layer + 3 + (7 + 5 * 0.2);
    us += 2.5 + 600;
    return (kvs_time)(us * 1e6 + 0.5);
}

static void test_ordered_is_the_sum(void **state)
{
    (void)state;
    toy_init(&toy, 1);
    set_costs(&toy);
    toy.c.workload.depth = 300;
    toy.c.workload.n_gen = 5;
    toy_plan_by(&toy, &kvs_policy_ordered);
    toy_run(&toy);
    TOY_EXPECT_PS(toy.run.total_ps, 5 * ordered_token_ps());
    assert_int_equal(toy.run.devices[0].tag_bytes[KVS_TAG_WINDOW], 5 * 2 * 2 * 69632);
    assert_int_equal(toy.run.devices[0].tag_bytes[KVS_TAG_STORE], 5 * 2 * 2 * 136);
    assert_int_equal(toy.run.host.sample_ps, 5 * 600 * TOY_US);
    toy_fini(&toy);
}

/* Not faster than its copies or its compute, not slower than doing one after the other; and
 * overlap must show: well below the sum. */
static void test_pipelined_is_between(void **state)
{
    (void)state;
    toy_init(&toy, 1);
    toy_set_layers(&toy, 8);
    for (uint32_t l = 0; l < 8; l++)
        toy.layers[l].pre_params = toy.layers[l].post_params = 100000;
    toy_price_weights(&toy);
    set_costs(&toy);
    toy.c.workload.depth = 1300;
    toy.c.workload.n_gen = 4;
    toy_plan_by(&toy, &kvs_policy_ordered);
    toy_run(&toy);
    kvs_time ordered = toy.run.total_ps;
    toy_plan_by(&toy, &kvs_policy_pipelined);
    toy_run(&toy);
    kvs_time copies = toy.run.devices[0].engine_ps[KVS_H2D];
    kvs_time compute = toy.run.devices[0].compute_ps;
    assert_true(toy.run.total_ps >= copies);
    assert_true(toy.run.total_ps >= compute + toy.run.host.sample_ps);
    /* copies are the longer side: with a sticky engine every second layer's compute shows */
    assert_true(copies > compute);
    assert_in_range(ordered - toy.run.total_ps, compute / 4, compute);
    toy_fini(&toy);
}

/*
 * A ring that runs on across tokens: two stages a token, three slots, so the pattern repeats
 * every three tokens. Stage g is delivered once stage g - 3 has released its slot, and attended
 * once it is there: delivered(g) = max(delivered(g - 1), attended(g - 3)) + copy attended(g)  =
 * max(attended(g - 1), delivered(g)) + compute
 */
static void expect_ring(const struct ring_plan *ring, kvs_time hop_ps)
{
    kvs_time delivered[RING_MAX_STAGES], attended[RING_MAX_STAGES];
    for (uint32_t g = 0; g < ring->n_stages; g++) {
        kvs_time release = g >= 3 ? attended[g - 3] + hop_ps : 0;
        kvs_time before = g > 0 ? delivered[g - 1] : 0;
        delivered[g] = (before > release ? before : release) + ring->copy_ns * TOY_NS;
        kvs_time ready = delivered[g] + hop_ps;
        kvs_time last = g > 0 ? attended[g - 1] : 0;
        attended[g] = (last > ready ? last : ready) + ring->compute_ns * TOY_NS;
        const struct kvs_span *copy = toy_span_of(&toy, g / 2, ring->deliver[g % 6]);
        const struct kvs_span *work = toy_span_of(&toy, g / 2, ring->attend[g % 6]);
        if (copy->end_ps != delivered[g] || work->end_ps != attended[g])
            fail_msg("stage %u: delivered %.3f us, attended %.3f us; expected %.3f and %.3f", g,
                     (double)copy->end_ps * 1e-6, (double)work->end_ps * 1e-6,
                     (double)delivered[g] * 1e-6, (double)attended[g] * 1e-6);
    }
}

static void test_ring_across_tokens(void **state)
{
    (void)state;
    const struct {
        uint32_t copy_ns, compute_ns, n_segments;
        double hop_us;
    } table[] = {{500, 1000, 1, 0}, {1000, 500, 1, 0}, {500, 1000, 3, 0},
                 {1000, 500, 3, 0}, {700, 700, 2, 2},  {100, 5000, 4, 2}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        struct ring_plan ring = {.copy_ns = table[i].copy_ns,
                                 .compute_ns = table[i].compute_ns,
                                 .n_segments = table[i].n_segments,
                                 .n_tokens = 36 / table[i].n_segments};
        toy_init(&toy, 1);
        toy.machine.host.hop = toy_us(table[i].hop_us);
        ring_plan_build(&ring, &toy);
        toy_run(&toy);
        expect_ring(&ring, (kvs_time)(table[i].hop_us * 1e6));
        toy_fini(&toy);
    }
}

/*
 * Segments of one token each, and a dependency that reaches back over two of them:
 *     copied(t)   = max(copied(t - 1), computed(t - 2) + hop) + 1 us
 *     computed(t) = max(computed(t - 1), copied(t) + hop) + 5 us
 */
static void test_back_over_segments(void **state)
{
    (void)state;
    const kvs_time hop = 2 * TOY_US;
    kvs_time copied[10], computed[10];
    toy_init(&toy, 1);
    toy.machine.host.hop = toy_us(2);
    toy_new_plan(&toy);
    uint16_t a = toy_queue(&toy, 0, "a"), k = toy_queue(&toy, 0, "k");
    for (unsigned t = 0; t < 10; t++) {
        toy_segment(&toy, 1, false);
        kvs_op_id copy = toy_copy(&toy, a, 1000, 0);
        toy_dep(&toy, 1, 2);
        toy_compute(&toy, k, 5000, 1);
        toy_dep(&toy, copy, 0);
    }
    toy_run(&toy);
    for (unsigned t = 0; t < 10; t++) {
        kvs_time release = t >= 2 ? computed[t - 2] + hop : 0;
        kvs_time last = t >= 1 ? copied[t - 1] : 0;
        copied[t] = (last > release ? last : release) + 1 * TOY_US;
        kvs_time before = t >= 1 ? computed[t - 1] : 0;
        computed[t] = (before > copied[t] + hop ? before : copied[t] + hop) + 5 * TOY_US;
        TOY_EXPECT_PS(toy_span_of(&toy, t, 0)->end_ps, copied[t]);
        TOY_EXPECT_PS(toy_span_of(&toy, t, 1)->end_ps, computed[t]);
    }
    toy_fini(&toy);
}

static const struct kvs_op *op_of(const struct kvs_span *span)
{
    return &toy.plan->segments.items[span->segment].ops.items[span->op];
}

/* Copies run on the engine of their direction, everything else of a device on its compute. */
static unsigned engine_of(const struct kvs_op *op)
{
    bool is_copy = op->kind == KVS_OP_COPY && !(op->flags & KVS_OP_VIA_KERNEL);
    return !is_copy ? 0 : op->flags & KVS_OP_D2H ? 1 : 2;
}

static void expect_no_overlap(bool by_queue)
{
    for (size_t i = 0; i < toy.timeline.spans.n; i++) {
        const struct kvs_span *a = &toy.timeline.spans.items[i];
        for (size_t j = i + 1; j < toy.timeline.spans.n; j++) {
            const struct kvs_span *b = &toy.timeline.spans.items[j];
            bool has_host = a->queue == KVS_HOST_QUEUE || b->queue == KVS_HOST_QUEUE;
            bool is_same = by_queue || has_host ? a->queue == b->queue
                                                : engine_of(op_of(a)) == engine_of(op_of(b));
            if (is_same && a->start_ps < b->end_ps && b->start_ps < a->end_ps)
                fail_msg("op %u of token %u and op %u of token %u overlap", a->op, a->token,
                         b->op, b->token);
        }
    }
}

static void expect_totals(void)
{
    kvs_time busy[3] = {0};
    for (size_t i = 0; i < toy.timeline.spans.n; i++) {
        const struct kvs_span *s = &toy.timeline.spans.items[i];
        assert_true(s->issue_ps <= s->ready_ps && s->ready_ps <= s->start_ps);
        assert_true(s->start_ps <= s->end_ps);
        if (s->queue != KVS_HOST_QUEUE)
            busy[engine_of(op_of(s))] += s->end_ps - s->start_ps;
    }
    const struct kvs_device_totals *d = &toy.run.devices[0];
    assert_int_equal(busy[0], d->compute_ps);
    assert_int_equal(busy[1], d->engine_ps[KVS_D2H]);
    assert_int_equal(busy[2], d->engine_ps[KVS_H2D]);
}

/* Built-in policies: spans in order, nothing twice at a time, and the totals their sum. */
static void test_timeline(void **state)
{
    (void)state;
    const struct kvs_policy *policies[] = {&kvs_policy_resident, &kvs_policy_ordered,
                                           &kvs_policy_pipelined};
    for (size_t i = 0; i < KVS_COUNT_OF(policies); i++) {
        toy_init(&toy, 1);
        toy_set_layers(&toy, 5);
        set_costs(&toy);
        toy.profiles[0].copy_slowdown = toy_figure(0.07);
        toy.c.workload.depth = 254; /* the window grows on the way */
        toy.c.workload.n_gen = 6;
        toy_plan_by(&toy, policies[i]);
        toy_run(&toy);
        uint64_t n_ops = 0;
        for (size_t s = 0; s < toy.plan->segments.n; s++)
            n_ops += toy.plan->segments.items[s].n_tokens * toy.plan->segments.items[s].ops.n;
        assert_int_equal(toy.timeline.spans.n, n_ops);
        assert_int_equal(toy.run.n_dispatched, n_ops);
        for (size_t k = 1; k < toy.timeline.spans.n; k++)
            assert_true(toy.timeline.spans.items[k - 1].end_ps <=
                        toy.timeline.spans.items[k].end_ps);
        expect_no_overlap(true);
        expect_no_overlap(false);
        expect_totals();
        toy_fini(&toy);
    }
}

/* Every allocation may fail: an error, no leak, no crash. */
static void test_starved(void **state)
{
    (void)state;
    toy_init(&toy, 1);
    toy.c.workload.depth = 254;
    toy.c.workload.n_gen = 4;
    toy_plan_by(&toy, &kvs_policy_pipelined);
    uint64_t before = kvs_mem_live_bytes();
    kvs_status status = KVS_ENOMEM;
    for (uint64_t nth = 1; status != KVS_OK; nth++) {
        struct kvs_exec_options options = {0};
        struct kvs_timeline timeline = {0};
        struct kvs_run run = {0};
        struct kvs_error err;
        kvs_mem_fail_after(nth);
        status =
            kvs_exec_once(&kvs_exec_sim, toy.plan, &toy.c, &options, &run, &timeline, &err);
        kvs_mem_fail_after(0);
        assert_true(status == KVS_OK || status == KVS_ENOMEM);
        if (status == KVS_OK)
            kvs_run_fini(&run);
        kvs_timeline_fini(&timeline);
        assert_int_equal(kvs_mem_live_bytes(), before);
    }
    toy_fini(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordered_is_the_sum), cmocka_unit_test(test_pipelined_is_between),
        cmocka_unit_test(test_ring_across_tokens), cmocka_unit_test(test_back_over_segments),
        cmocka_unit_test(test_timeline),           cmocka_unit_test(test_starved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
