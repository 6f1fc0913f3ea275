/*
 * The host executor against the simulator. Where nothing came too late the two have decided the
 * same: random plans on random machines. How close measured times are is printed, not judged,
 * when KVS_TIMED is set in the environment: computers are busy with other things.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/rng.h"
#include "real/exec_host.h"
#include "tests/real/by_hand.h"

enum { N_PLANS = 6, N_PLANS_TIMED = 100, N_OPS = 20, N_TOKENS = 2, N_TRIES = 3 };

#define TOLERANCE_PS 1000 /* of rates computed anew at slightly different times */

static struct toy toy;
static struct kvs_rng *rng;
static uint32_t plan_number;

static double between(double low, double high)
{
    return low + (high - low) * kvs_rng_uniform(rng);
}

static bool one_in(uint32_t n)
{
    return kvs_rng_below(rng, n) == 0;
}

static void random_host(void)
{
    struct kvs_host *h = &toy.machine.host;
    h->submit = one_in(3) ? KVS_SUBMIT_KERNELS : KVS_SUBMIT_GRAPH;
    h->kernel_launch = toy_us(between(0.01, 0.6));
    h->graph_launch = toy_us(between(0.01, 0.2));
    h->collective_launch = toy_us(between(0.01, 0.2));
    h->event_pair = toy_us(between(0.001, 0.05));
    h->copy_call = toy_us(between(0.01, 0.2));
    h->sync = toy_us(between(0.0, 1.0));
    h->hop = toy_us(between(0.0, 0.5));
    h->between_tokens = toy_us(between(0.1, 1.0));
    h->queue_limit = toy_figure(one_in(2) ? 0.0 : 4.0);
    h->pageable_async_bytes = toy_figure(2000);
    h->memory_rate = toy_figure(one_in(3) ? 1.4e9 : 0.0);
    toy.machine.collective.latency = toy_us(between(1.0, 3.0));
    toy.machine.collective.trips = toy_figure((double)kvs_rng_below(rng, 4));
}

static void random_devices(void)
{
    for (uint32_t d = 0; d < toy.machine.n_devices; d++) {
        struct kvs_engines *e = &toy.devices[d].engines;
        toy_set_rate(&toy.links[1 + d], between(0.5e9, 1e9));
        toy.links[1 + d].opposite[KVS_H2D] = toy_figure(one_in(3) ? 0.4e9 : 0.0);
        e->n_engines = one_in(3) ? 1 : 2;
        e->arbitration = one_in(3) ? KVS_ARB_FIFO : KVS_ARB_STICKY;
        e->first_turn = one_in(2) ? KVS_FIRST_TURN_CHAINED : KVS_FIRST_TURN_FREE;
        e->commit_lead = toy_us(between(0.0, 1.0));
        e->first_overhead = toy_us(between(0.2, 0.5));
        e->next_overhead = toy_us(between(0.0, 0.2));
        e->opposite_overhead = toy_us(between(0.0, 0.2));
        e->bypass_bytes = toy_figure(one_in(2) ? 1500.0 : 0.0);
        e->bypass_latency = toy_us(between(1.0, 2.0));
        e->in_flight_bytes = toy_figure(500);
        toy.devices[d].kernel_gap = toy_us(between(0.0, 0.1));
        e->handoff = toy_us(one_in(2) ? between(0.1, 0.5) : 0.0);
        toy.devices[d].read_setup = toy_us(between(0.0, 0.5));
        toy.devices[d].read_trips = toy_figure(1.0 + (double)kvs_rng_below(rng, 3));
        toy.devices[d].read_latency = toy_us(1);
        toy.devices[d].read_outstanding_bytes = toy_figure(2000);
        toy.profiles[d].copy_slowdown = toy_figure(one_in(2) ? between(0.0, 0.3) : 0.0);
    }
    toy.links[0].mode = one_in(2)   ? KVS_LINK_UNLIMITED
                        : one_in(2) ? KVS_LINK_DUPLEX
                                    : KVS_LINK_SHARED;
    toy_set_rate(&toy.links[0], 1.1e9);
}

static void random_deps(kvs_op_id id)
{
    for (unsigned i = 0; id > 0 && i < 2; i++)
        if (one_in(3))
            toy_dep(&toy, (kvs_op_id)kvs_rng_below(rng, id), 0);
    if (one_in(4))
        toy_dep(&toy, (kvs_op_id)kvs_rng_below(rng, id + 1), 1);
}

static uint8_t random_flags(void)
{
    uint8_t flags = one_in(4) ? KVS_OP_D2H : 0;
    if (one_in(5))
        flags |= KVS_OP_BLOCKS;
    if (one_in(5))
        flags |= KVS_OP_PAGEABLE;
    return one_in(3) ? (uint8_t)(flags | KVS_OP_VIA_KERNEL) : flags;
}

/* Two compute queues and two of copies on each device. */
static void random_op(struct by_hand *b)
{
    uint32_t n = toy.machine.n_devices, d = (uint32_t)kvs_rng_below(rng, n);
    uint16_t queue = (uint16_t)(1 + 4 * d + kvs_rng_below(rng, 2));
    uint32_t size = 1000 + (uint32_t)kvs_rng_below(rng, 5000);
    kvs_op_id id = (kvs_op_id)toy.plan->segments.items[0].ops.n;
    switch (kvs_rng_below(rng, 10)) {
    case 0:
        toy_host(&toy, 1);
        return;
    case 1:
        if (id > 0)
            toy_wait(&toy, (kvs_op_id)kvs_rng_below(rng, id));
        return;
    case 2:
        for (uint16_t member = 0; member < n; member++)
            toy_member(&toy, (uint16_t)(1 + 4 * member), id, n);
        return;
    case 3:
        toy_light(&toy, (uint16_t)(queue + 2));
        break;
    case 4:
    case 5:
    case 6:
        toy_compute(&toy, queue, size, 1 + (uint32_t)kvs_rng_below(rng, 3));
        break;
    default:
        by_hand_copy(b, &toy, (uint16_t)(queue + 2), size, random_flags());
        break;
    }
    random_deps(id);
}

static void random_plan(void)
{
    static const char *const names[] = {"k", "l", "a", "b"};
    toy_fini(&toy);
    toy_init(&toy, 1 + (uint32_t)kvs_rng_below(rng, 3));
    random_host();
    random_devices();
    struct by_hand b = by_hand_begin(&toy, N_TOKENS);
    for (uint16_t q = 0; q < 4 * toy.machine.n_devices; q++)
        toy_queue(&toy, q / 4, names[q % 4]);
    while (toy.plan->segments.items[0].ops.n < N_OPS)
        random_op(&b);
}

static void expect_near(const char *what, kvs_time measured, kvs_time simulated,
                        const struct kvs_span *span)
{
    kvs_time by = measured > simulated ? measured - simulated : simulated - measured;
    if (by > TOLERANCE_PS)
        fail_msg("plan %u: token %u op %u (queue %u): %s at %.6f us, simulated %.6f us",
                 plan_number, span->token, span->op, span->queue, what, (double)measured * 1e-6,
                 (double)simulated * 1e-6);
}

static void expect_same(const struct kvs_run *run, const struct kvs_timeline *timeline)
{
    assert_int_equal(timeline->spans.n, toy.timeline.spans.n);
    for (size_t i = 0; i < timeline->spans.n; i++) {
        const struct kvs_span *span = &timeline->spans.items[i];
        const struct kvs_span *sim = toy_span_of(&toy, span->token, span->op);
        expect_near("issued", span->issue_ps, sim->issue_ps, span);
        expect_near("ready", span->ready_ps, sim->ready_ps, span);
        expect_near("starts", span->start_ps, sim->start_ps, span);
        expect_near("ends", span->end_ps, sim->end_ps, span);
    }
    for (uint32_t d = 0; d < run->n_devices; d++)
        for (unsigned dir = 0; dir < KVS_N_DIRS; dir++)
            assert_in_range(run->devices[d].moving_ps[dir] - toy.run.devices[d].moving_ps[dir] +
                                N_OPS * TOLERANCE_PS,
                            0, 2 * N_OPS * TOLERANCE_PS);
    assert_true(run->total_ps + TOLERANCE_PS >= toy.run.total_ps);
}

/* false: something was late every time, and what followed is another story. */
static bool compare_once(void *session)
{
    for (unsigned i = 0; i < N_TRIES; i++) {
        struct kvs_timeline timeline = {0};
        struct kvs_run run;
        TOY_OK(kvs_exec_host.run(session, &run, &timeline, err));
        bool is_late = kvs_exec_host_report(session).n_late > 0;
        if (!is_late)
            expect_same(&run, &timeline);
        kvs_run_fini(&run);
        kvs_timeline_fini(&timeline);
        if (!is_late)
            return true;
    }
    return false;
}

static void test_rules(void **state)
{
    (void)state;
    uint32_t n = getenv("KVS_TIMED") ? N_PLANS_TIMED : N_PLANS, n_compared = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct kvs_exec_options with = {.time_scale = 4000.0}; /* a copy of 0.25 us: 1 ms */
        void *session;
        plan_number = i;
        random_plan();
        toy_run(&toy);
        TOY_OK(kvs_exec_host.open(toy.plan, &toy.c, &with, &session, err));
        n_compared += compare_once(session);
        kvs_exec_host.close(session);
    }
    print_message("%u of %u plans ran without anything late\n", n_compared, n);
}

/* ---- how close measured times are ---- */

enum { TIMED_LAYERS = 8, TIMED_TOKENS = 8, TIMED_RUNS = 3 };

#define PIPELINED(name, n, s, y)                                                               \
    {                                                                                          \
        name, &kvs_policy_pipelined,                                                           \
        {                                                                                      \
            .lookahead = (n), .budget_bytes = UINT64_MAX, .streams = KVS_STREAMS_##s,          \
            .yield = KVS_YIELD_##y                                                             \
        }                                                                                      \
    }

static const struct {
    const char *name;
    const struct kvs_policy *policy;
    struct kvs_transport transport;
} transports[] = {
    {"ordered", &kvs_policy_ordered, {.budget_bytes = UINT64_MAX}},
    PIPELINED("N=1", 1, ONE, NONE),
    PIPELINED("N=2", 2, ONE, NONE),
    PIPELINED("N=1 per slot", 1, PER_SLOT, NONE),
    PIPELINED("N=2 per slot", 2, PER_SLOT, NONE),
    PIPELINED("N=1 yield", 1, ONE, LAYER),
    PIPELINED("N=2 yield", 2, ONE, LAYER),
};

static const struct {
    const char *name;
    uint32_t n_devices;
    kvs_split_mode mode;
    double rate_GBps[2], root_GBps;
} machines[] = {
    {"one device", 1, KVS_SPLIT_NONE, {10, 0}, 0},
    {"tensor split, links 10 and 4 GB/s", 2, KVS_SPLIT_TENSOR, {10, 4}, 0},
    {"layer split, links 10 and 4 GB/s", 2, KVS_SPLIT_LAYER, {10, 4}, 0},
    {"tensor split, both behind 8 GB/s", 2, KVS_SPLIT_TENSOR, {10, 6}, 8},
};

/* A layer computes for 8 us and brings 70 kB; what the host and an engine do costs little. */
static void timed_plan(size_t m, size_t k)
{
    toy_fini(&toy);
    toy_init(&toy, machines[m].n_devices);
    toy_set_layers(&toy, TIMED_LAYERS);
    toy.llm.hidden = 8;
    for (uint32_t d = 0; d < machines[m].n_devices; d++) {
        struct kvs_engines *e = &toy.devices[d].engines;
        toy_set_rate(&toy.links[1 + d], machines[m].rate_GBps[d] * 1e9);
        e->first_overhead = toy_us(3);
        e->next_overhead = toy_us(2);
        e->commit_lead = toy_us(1);
        e->in_flight_bytes = toy_figure(1000);
        toy.profiles[d].copy_slowdown = toy_figure(0.07);
    }
    if (machines[m].root_GBps > 0) {
        toy.links[0].mode = KVS_LINK_DUPLEX;
        toy_set_rate(&toy.links[0], machines[m].root_GBps * 1e9);
    }
    toy.machine.host.copy_call = toy_us(0.2);
    toy.machine.host.graph_launch = toy_us(0.5);
    toy.machine.host.event_pair = toy_us(0.05);
    toy.machine.host.sync = toy_us(1);
    toy.machine.host.hop = toy_us(0.5);
    toy.machine.host.store = toy_us(0.3);
    toy.machine.host.between_tokens = toy_us(4);
    toy.machine.collective.latency = toy_us(3);
    toy.machine.collective.trips = toy_figure(2);
    toy.c.workload.depth = 500;
    toy.c.workload.n_gen = TIMED_TOKENS;
    toy.c.placement.mode = machines[m].mode;
    toy.c.transport = transports[k].transport;
    toy_plan_by(&toy, transports[k].policy);
}

static double us_per_token(const struct kvs_run *run)
{
    return (double)run->total_ps * 1e-6 / run->n_tokens;
}

static void timed_row(size_t m, size_t k)
{
    struct kvs_exec_options with = {0};
    struct kvs_host_report best = {0};
    double best_us = 0.0;
    void *session;
    timed_plan(m, k);
    toy_run(&toy);
    TOY_OK(kvs_exec_host.open(toy.plan, &toy.c, &with, &session, err));
    for (unsigned i = 0; i < TIMED_RUNS; i++) {
        struct kvs_run run;
        TOY_OK(kvs_exec_host.run(session, &run, NULL, err));
        if (i == 0 || us_per_token(&run) < best_us) {
            best_us = us_per_token(&run);
            best = kvs_exec_host_report(session);
        }
        kvs_run_fini(&run);
    }
    kvs_exec_host.close(session);
    double sim_us = us_per_token(&toy.run), wall_ms = best.time_scale * 1e-3;
    print_message("  %-12s %7.1f %8.2f ms %8.2f ms %+7.3f %%  late %2" PRIu64
                  ", worst %.3f ms\n",
                  transports[k].name, best.time_scale, sim_us * wall_ms, best_us * wall_ms,
                  100.0 * (best_us / sim_us - 1.0), best.n_late,
                  (double)best.worst_late_ps * 1e-6 * wall_ms);
}

/* Wall clock per token: simulated and slowed down, and the best of three runs. */
static void test_timed(void **state)
{
    (void)state;
    if (!getenv("KVS_TIMED"))
        skip();
    for (size_t m = 0; m < KVS_COUNT_OF(machines); m++) {
        print_message("%s: slowed by, simulated, measured, error\n", machines[m].name);
        for (size_t k = 0; k < KVS_COUNT_OF(transports); k++)
            timed_row(m, k);
    }
}

static int set_up(void **state)
{
    (void)state;
    return kvs_rng_create(11, &rng, NULL) == KVS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    kvs_rng_destroy(rng);
    toy_fini(&toy);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_timed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
