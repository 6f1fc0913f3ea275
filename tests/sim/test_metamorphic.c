/* How results must move when a machine does: links, scales, devices that do nothing. */
#include "tests/sim/toy.h"

static struct toy toy;

static void set_up(uint32_t n_devices, kvs_split_mode mode)
{
    toy_init(&toy, n_devices);
    toy_set_layers(&toy, 6);
    toy.llm.hidden = 64;
    toy.machine.host = (struct kvs_host){.submit = KVS_SUBMIT_GRAPH,
                                         .graph_launch = toy_us(2),
                                         .subgraph_launch = toy_us(3),
                                         .collective_launch = toy_us(1),
                                         .event_pair = toy_us(0.4),
                                         .copy_call = toy_us(1.6),
                                         .sync = toy_us(3),
                                         .hop = toy_us(2),
                                         .store = toy_us(0.2),
                                         .split_work = toy_us(0.6),
                                         .between_tokens = toy_us(40)};
    toy.machine.collective.latency = toy_us(6);
    toy.machine.collective.trips = toy_figure(2);
    for (uint32_t d = 0; d < n_devices; d++) {
        toy.devices[d].engines.first_overhead = toy_us(4);
        toy.devices[d].engines.next_overhead = toy_us(2);
        toy.devices[d].engines.commit_lead = toy_us(10);
        toy.devices[d].engines.in_flight_bytes = toy_figure(1000);
        toy.devices[d].kernel_gap = toy_us(0.2);
        toy.profiles[d].copy_slowdown = toy_figure(0.06);
    }
    toy.c.placement.mode = mode;
    toy.c.workload.depth = 1000;
    toy.c.workload.n_gen = 6;
}

static kvs_time total_of(const struct kvs_policy *policy)
{
    kvs_plan_destroy(toy.plan);
    toy.plan = NULL;
    TOY_OK(policy->plan(&toy.c, NULL, &toy.plan, err));
    toy_run_with(&toy, (struct kvs_exec_options){0});
    return toy.run.total_ps;
}

static const struct kvs_policy *const policies[] = {&kvs_policy_ordered, &kvs_policy_pipelined};

/* Ordered under tensor split pays the sum of all links: each of them counts. Pipelined with one
 * slow link pays that one: the other, though halved, stays far from critical. */
static void test_halved_link(void **state)
{
    (void)state;
    for (unsigned d = 1; d <= 2; d++) {
        set_up(2, KVS_SPLIT_TENSOR);
        kvs_time before = total_of(&kvs_policy_ordered);
        toy_set_rate(&toy.links[d], TOY_RATE_BPS / 2);
        /* half of 6 layers x 2 x 1,024 or 1,280 x 136 B more, and stores */
        kvs_time more = total_of(&kvs_policy_ordered) - before;
        assert_in_range(more / 6, 6 * 1024 * 136 * TOY_NS, 6 * 1100 * 136 * TOY_NS);
        toy_fini(&toy);
    }
    set_up(2, KVS_SPLIT_LAYER);
    toy_set_rate(&toy.links[1], TOY_RATE_BPS / 8);
    toy_set_rate(&toy.links[2], TOY_RATE_BPS * 64);
    toy.c.placement.shares = (const double[]){1, 1};
    kvs_time before = total_of(&kvs_policy_pipelined);
    toy_set_rate(&toy.links[1], TOY_RATE_BPS / 16);
    assert_true((double)total_of(&kvs_policy_pipelined) > 1.7 * (double)before);
    toy_fini(&toy);
}

/* A link that carries nothing: an unused slot, and an uplink far wider than what is behind it.
 */
static void test_link_off_the_path(void **state)
{
    (void)state;
    for (size_t p = 0; p < KVS_COUNT_OF(policies); p++) {
        set_up(2, KVS_SPLIT_NONE);
        kvs_time before = total_of(policies[p]);
        toy_set_rate(&toy.links[2], TOY_RATE_BPS / 2);
        assert_int_equal(total_of(policies[p]), before);
        toy_fini(&toy);

        set_up(2, KVS_SPLIT_TENSOR);
        toy.links[0].mode = KVS_LINK_DUPLEX;
        toy_set_rate(&toy.links[0], TOY_RATE_BPS * 8);
        before = total_of(policies[p]);
        toy_set_rate(&toy.links[0], TOY_RATE_BPS * 4);
        assert_int_equal(total_of(policies[p]), before);
        toy_set_rate(&toy.links[0], TOY_RATE_BPS * 0.4);
        assert_true(total_of(policies[p]) > before);
        toy_fini(&toy);
    }
}

static void scale(struct kvs_param *p, double by)
{
    p->value *= by;
}

/* Every time twice as long, every rate half: the result twice as long, but for a ps of rounding
 * per operation. */
static void test_scale(void **state)
{
    (void)state;
    for (size_t p = 0; p < KVS_COUNT_OF(policies); p++)
        for (unsigned mode = KVS_SPLIT_NONE; mode <= KVS_SPLIT_TENSOR; mode++) {
            set_up(2, (kvs_split_mode)mode);
            kvs_time before = total_of(policies[p]);
            double n_ops = (double)toy.run.n_dispatched;
            struct kvs_host *h = &toy.machine.host;
            struct kvs_param *const times[] = {&h->graph_launch,
                                               &h->subgraph_launch,
                                               &h->collective_launch,
                                               &h->event_pair,
                                               &h->copy_call,
                                               &h->sync,
                                               &h->hop,
                                               &h->store,
                                               &h->split_work,
                                               &h->between_tokens,
                                               &toy.machine.collective.latency};
            for (size_t i = 0; i < KVS_COUNT_OF(times); i++)
                scale(times[i], 2);
            for (uint32_t d = 0; d < 2; d++) {
                scale(&toy.devices[d].engines.first_overhead, 2);
                scale(&toy.devices[d].engines.next_overhead, 2);
                scale(&toy.devices[d].engines.commit_lead, 2);
                scale(&toy.devices[d].kernel_gap, 2);
                scale(&toy.profiles[d].fixed, 2);
                toy_set_rate(&toy.links[1 + d], TOY_RATE_BPS / 2);
            }
            double off = (double)total_of(policies[p]) - 2 * (double)before;
            if (off > 2 * n_ops || off < -2 * n_ops)
                fail_msg("%s, split %u: off by %.0f ps in %.0f operations", policies[p]->name,
                         mode, off, n_ops);
            toy_fini(&toy);
        }
}

/* A device that holds nothing changes nothing. */
static void test_idle_device(void **state)
{
    (void)state;
    for (size_t p = 0; p < KVS_COUNT_OF(policies); p++) {
        set_up(1, KVS_SPLIT_NONE);
        kvs_time alone = total_of(policies[p]);
        toy_fini(&toy);
        set_up(3, KVS_SPLIT_NONE);
        assert_int_equal(total_of(policies[p]), alone);
        toy_fini(&toy);
    }
    set_up(2, KVS_SPLIT_LAYER);
    toy.c.placement.shares = (const double[]){1, 1};
    kvs_time two = total_of(&kvs_policy_pipelined);
    toy_fini(&toy);
    set_up(3, KVS_SPLIT_LAYER);
    toy.c.placement.shares = (const double[]){1, 1, 0};
    assert_int_equal(total_of(&kvs_policy_pipelined), two);
    toy_fini(&toy);
}

/*
 * 1 to 16 devices, layers of 16 heads. Collectives keep their price: 12 of 6 us a token
 * whatever the number of devices, and each needs its launch on every device. Hops keep theirs:
 * one for each device more, two copies of 256 B, two synchronisations, one wait.
 */
static void test_many_devices(void **state)
{
    (void)state;
    kvs_time previous = 0;
    for (uint32_t n = 2; n <= 16; n++) {
        set_up(n, KVS_SPLIT_TENSOR);
        for (uint32_t l = 0; l < 6; l++)
            toy.layers[l].n_head = toy.layers[l].n_head_kv = 16;
        toy_price_weights(&toy);
        total_of(&kvs_policy_ordered);
        for (uint32_t d = 0; d < n; d++)
            assert_int_equal(toy.run.devices[d].collective_ps, 6 * 12 * 6 * TOY_US);
        toy_fini(&toy);
    }
    for (uint32_t n = 1; n <= 16; n++) {
        set_up(n, KVS_SPLIT_LAYER);
        toy_set_layers(&toy, 16);
        kvs_time total = total_of(&kvs_policy_ordered);
        uint64_t hopped = 0;
        for (uint32_t d = 0; d < n; d++)
            hopped += toy.run.devices[d].tag_bytes[KVS_TAG_HOP];
        assert_int_equal(hopped, 6 * 2 * 256 * (n - 1));
        /* wait 3, down and up: call 1.6 + engine 4 + 0.256 + wait 3 each, a launch more of 2 */
        kvs_time hop = 6 * (3000 + 2 * (1600 + 4000 + 256 + 3000) + 2000) * TOY_NS;
        if (n > 1)
            TOY_EXPECT_PS(total - previous, hop);
        previous = total;
        toy_fini(&toy);
    }
}

/* The same input twice: the same result to the last bit, and two simulations do not meet. */
static void test_same_twice(void **state)
{
    (void)state;
    for (unsigned mode = KVS_SPLIT_NONE; mode <= KVS_SPLIT_TENSOR; mode++) {
        set_up(3, (kvs_split_mode)mode);
        toy.machine.host.memory_rate = toy_figure(1.4e9);
        toy_plan_by(&toy, &kvs_policy_pipelined);
        toy_run(&toy);
        struct kvs_timeline first = toy.timeline;
        kvs_time total = toy.run.total_ps;
        toy.timeline = (struct kvs_timeline){0};
        toy_run(&toy);
        TOY_EXPECT_PS(toy.run.total_ps, total);
        assert_int_equal(toy.timeline.spans.n, first.spans.n);
        assert_memory_equal(toy.timeline.spans.items, first.spans.items,
                            first.spans.n * sizeof *first.spans.items);
        kvs_timeline_fini(&first);
        toy_fini(&toy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halved_link),  cmocka_unit_test(test_link_off_the_path),
        cmocka_unit_test(test_scale),        cmocka_unit_test(test_idle_device),
        cmocka_unit_test(test_many_devices), cmocka_unit_test(test_same_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
