/*
 * The host executor: real threads and bytes give what the plan means, whatever the timing; totals
 * are the simulator's; a run ends when told to, and when nothing can go on.
 */
#define _POSIX_C_SOURCE 200809L /* sigaction */
#include <signal.h>
#include <sys/time.h>

#include "real/exec_host.h"
#include "real/exec_serial.h"
#include "tests/real/by_hand.h"
#include "tests/real/fault_case.h"

static struct toy toy;
static struct kvs_run last;

enum { N_LAYERS = 3, DEPTH = 254, N_GEN = 4 }; /* the window grows from 256 to 512 rows */

struct option {
    const struct kvs_policy *policy;
    struct kvs_transport transport;
};

#define PIPELINED(n, s, y, l)                                                                  \
    {                                                                                          \
        &kvs_policy_pipelined,                                                                 \
        {                                                                                      \
            .lookahead = (n), .budget_bytes = UINT64_MAX, .streams = KVS_STREAMS_##s,          \
            .yield = KVS_YIELD_##y, .late = KVS_LATE_##l                                       \
        }                                                                                      \
    }

static const struct option options[] = {
    {&kvs_policy_ordered, {.budget_bytes = UINT64_MAX}},
    PIPELINED(1, ONE, NONE, COPY),
    PIPELINED(2, PER_SLOT, NONE, KERNEL),
    PIPELINED(2, ONE, KV, COPY),
};

struct streams {
    uint32_t n_parallel, n_rows;
    bool is_unified, is_pinned;
};
static const struct streams streams[] = {{1, 1, false, true}, {2, 1, true, false}};

static void start_over(uint32_t n_devices)
{
    toy_fini(&toy);
    toy_init(&toy, n_devices);
}

/* With costs of the host, so that its calls, hops and synchronisations take part. */
static void plan_of(uint32_t n_devices, kvs_split_mode mode, const struct option *o,
                    const struct streams *s)
{
    start_over(n_devices);
    toy_set_layers(&toy, N_LAYERS);
    toy.llm.hidden = 8;
    toy.machine.host.sync = toy_us(0.5);
    toy.machine.host.hop = toy_us(0.2);
    toy.machine.host.copy_call = toy_us(0.1);
    toy.machine.host.graph_launch = toy_us(0.1);
    toy.machine.collective.latency = toy_us(1);
    toy.machine.collective.trips = toy_figure(2);
    toy.c.workload.depth = DEPTH;
    toy.c.workload.n_gen = N_GEN;
    toy.c.workload.n_parallel = s->n_parallel;
    toy.c.workload.n_rows = s->n_rows;
    toy.c.workload.is_unified = s->is_unified;
    toy.c.workload.is_pinned = s->is_pinned;
    toy.c.placement.mode = mode;
    toy.c.transport = o->transport;
    TOY_OK(o->policy->plan(&toy.c, NULL, &toy.plan, err));
    TOY_OK(kvs_plan_check(toy.plan, NULL, NULL, err));
}

static uint64_t run_once(const struct kvs_exec_ops *exec, struct kvs_exec_options with)
{
    kvs_run_fini(&last);
    TOY_OK(kvs_exec_once(exec, toy.plan, &toy.c, &with, &last, NULL, err));
    return last.digest;
}

/* What does not depend on time is exactly what the simulator counts. */
static void expect_totals(const struct kvs_run *run)
{
    struct kvs_exec_options whole = {.no_repeat_detection = true};
    struct kvs_run sim;
    TOY_OK(kvs_exec_once(&kvs_exec_sim, toy.plan, &toy.c, &whole, &sim, NULL, err));
    assert_int_equal(run->n_tokens, sim.n_tokens);
    assert_int_equal(run->n_dispatched, sim.n_dispatched);
    assert_int_equal(run->n_devices, sim.n_devices);
    assert_int_equal(run->n_links, sim.n_links);
    for (uint32_t d = 0; d < sim.n_devices; d++) {
        assert_memory_equal(run->devices[d].moved_bytes, sim.devices[d].moved_bytes,
                            sizeof sim.devices[d].moved_bytes);
        assert_memory_equal(run->devices[d].tag_bytes, sim.devices[d].tag_bytes,
                            sizeof sim.devices[d].tag_bytes);
    }
    for (uint32_t l = 0; l < sim.n_links; l++)
        assert_memory_equal(run->links[l].moved_bytes, sim.links[l].moved_bytes,
                            sizeof sim.links[l].moved_bytes);
    assert_int_equal(run->host.issue_ps, sim.host.issue_ps);
    assert_true(run->total_ps >= sim.host.issue_ps);
    kvs_run_fini(&sim);
}

/*
 * A scale of 1 leaves microseconds to an operation, far less than a thread takes to wake up: all
 * of them are late, and come in another order every time. The bytes are the same.
 */
static void test_digests(void **state)
{
    (void)state;
    for (size_t s = 0; s < KVS_COUNT_OF(streams); s++) {
        plan_of(1, KVS_SPLIT_NONE, &options[0], &streams[s]);
        uint64_t expected = run_once(&kvs_exec_serial, (struct kvs_exec_options){.seed = 3});
        for (size_t o = 0; o < KVS_COUNT_OF(options); o++) {
            for (uint32_t n = 1; n <= 3; n++) {
                for (unsigned mode = KVS_SPLIT_NONE; mode <= KVS_SPLIT_TENSOR; mode++) {
                    struct kvs_exec_options with = {
                        .seed = 3, .verifies = o % 2 == 1, .time_scale = 1.0};
                    plan_of(n, (kvs_split_mode)mode, &options[o], &streams[s]);
                    if (run_once(&kvs_exec_host, with) != expected)
                        fail_msg("%s, %u devices, split %u, streams %zu: another digest",
                                 toy.plan->policy, n, mode, s);
                    expect_totals(&last);
                }
            }
        }
    }
}

/* Both directions on one engine, a shared link, kernels one by one, chained first turns. */
static void test_machines(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 16; k++) {
        plan_of(2, k & 8 ? KVS_SPLIT_LAYER : KVS_SPLIT_TENSOR, &options[k % 4], &streams[0]);
        struct kvs_exec_options with = {.seed = 3, .time_scale = 1.0};
        toy.machine.host.submit = k & 1 ? KVS_SUBMIT_KERNELS : KVS_SUBMIT_GRAPH;
        toy.machine.host.kernel_launch = toy_us(0.1);
        toy.machine.host.queue_limit = toy_figure(8);
        for (uint32_t d = 0; d < 2; d++) {
            toy.devices[d].engines.n_engines = k & 2 ? 1 : 2;
            toy.devices[d].engines.first_turn =
                k & 4 ? KVS_FIRST_TURN_CHAINED : KVS_FIRST_TURN_FREE;
            toy.devices[d].engines.bypass_bytes = toy_figure(2048);
            toy.profiles[d].copy_slowdown = toy_figure(0.1);
        }
        toy.links[0].mode = k & 1 ? KVS_LINK_SHARED : KVS_LINK_DUPLEX;
        toy_set_rate(&toy.links[0], TOY_RATE_BPS);
        toy.links[0].opposite[KVS_H2D] = toy_figure(k & 4 ? TOY_RATE_BPS / 2 : 0.0);
        uint64_t expected = run_once(&kvs_exec_serial, with);
        assert_int_equal(run_once(&kvs_exec_host, with), expected);
        expect_totals(&last);
    }
}

static const struct kvs_span *span_of(const struct kvs_timeline *timeline, uint32_t token,
                                      kvs_op_id op)
{
    for (size_t i = 0; i < timeline->spans.n; i++)
        if (timeline->spans.items[i].token == token && timeline->spans.items[i].op == op)
            return &timeline->spans.items[i];
    return NULL;
}

static void expect_order(const struct kvs_timeline *timeline, const struct kvs_span *span)
{
    const struct kvs_segment *s = &toy.plan->segments.items[span->segment];
    const struct kvs_op *op = &s->ops.items[span->op];
    assert_true(span->issue_ps <= span->ready_ps && span->ready_ps <= span->start_ps &&
                span->start_ps <= span->end_ps);
    for (const struct kvs_span *before = timeline->spans.items; before < span; before++)
        if (before->queue == span->queue)
            assert_true(before->end_ps <= span->start_ps);
    for (uint32_t i = 0; i < op->n_dep; i++) {
        const struct kvs_dep *dep = &s->deps.items[op->first_dep + i];
        const struct kvs_span *on =
            span->token < dep->distance
                ? NULL
                : span_of(timeline, span->token - dep->distance, dep->op);
        if (on && on->segment == span->segment) /* a host wait spans what it waits for */
            assert_true(on->end_ps <=
                        (op->kind == KVS_OP_WAIT ? span->end_ps : span->start_ps));
    }
}

/* Queues in order, one operation at a time, and nothing before what it depends on. */
static void test_order(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 2; n++) {
        plan_of(n, n == 1 ? KVS_SPLIT_NONE : KVS_SPLIT_TENSOR, &options[1], &streams[0]);
        struct kvs_exec_options with = {.time_scale = 1.0};
        struct kvs_timeline timeline = {0};
        kvs_run_fini(&last);
        TOY_OK(kvs_exec_once(&kvs_exec_host, toy.plan, &toy.c, &with, &last, &timeline, err));
        assert_int_equal(timeline.spans.n, last.n_dispatched);
        for (size_t i = 0; i < timeline.spans.n; i++) {
            expect_order(&timeline, &timeline.spans.items[i]);
            assert_true(timeline.spans.items[i].end_ps <= last.total_ps);
        }
        kvs_timeline_fini(&timeline);
    }
}

/* Two sessions open side by side take turns, and begin in the same state every time. */
static void test_turns(void **state)
{
    (void)state;
    void *sessions[2];
    uint64_t expected[2] = {0, 0};
    struct kvs_run run;
    plan_of(1, KVS_SPLIT_NONE, &options[2], &streams[0]);
    for (unsigned i = 0; i < 2; i++) {
        struct kvs_exec_options with = {.seed = i, .time_scale = 1.0};
        expected[i] = run_once(&kvs_exec_serial, with);
        TOY_OK(kvs_exec_host.open(toy.plan, &toy.c, &with, &sessions[i], err));
    }
    assert_true(expected[0] != expected[1]);
    for (unsigned i = 0; i < 6; i++) {
        TOY_OK(kvs_exec_host.run(sessions[i % 2], &run, NULL, err));
        assert_int_equal(run.digest, expected[i % 2]);
        kvs_run_fini(&run);
    }
    struct kvs_host_report report = kvs_exec_host_report(sessions[0]);
    assert_true(report.time_scale == 1.0 && report.n_late > 0);
    assert_true(report.worst_late_ps > 0 && report.worst_late_ps <= report.late_ps);
    kvs_exec_host.close(sessions[0]);
    kvs_exec_host.close(sessions[1]);
    kvs_exec_host.close(NULL);
}

static volatile sig_atomic_t stop;

static void on_alarm(int number)
{
    (void)number;
    stop = 1;
}

static void stop_after_20_ms(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval timer = {.it_value = {.tv_usec = 20000}};
    stop = 0;
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

/* The plan would take some 100 ms, or minutes, and is told to stop after 20 ms. A run that is told
 * so from the beginning stops as well; one that is not, in the same session, goes through. */
static void test_stop(void **state)
{
    (void)state;
    const double scales[] = {1e6, 100.0};
    plan_of(2, KVS_SPLIT_TENSOR, &options[1], &streams[0]);
    for (size_t i = 0; i < KVS_COUNT_OF(scales); i++) {
        struct kvs_exec_options with = {.seed = 3, .time_scale = scales[i], .stop = &stop};
        struct kvs_error fault = {0};
        struct kvs_run run;
        void *session;
        TOY_OK(kvs_exec_host.open(toy.plan, &toy.c, &with, &session, err));
        stop_after_20_ms();
        assert_int_equal(kvs_exec_host.run(session, &run, NULL, &fault), KVS_ESTOPPED);
        assert_int_equal(kvs_exec_host.run(session, &run, NULL, &fault), KVS_ESTOPPED);
        assert_string_equal(fault.text, "stopped");
        stop = 0;
        if (scales[i] < 1e6) {
            TOY_OK(kvs_exec_host.run(session, &run, NULL, err));
            assert_int_equal(run.digest, run_once(&kvs_exec_serial, with));
            kvs_run_fini(&run);
        }
        kvs_exec_host.close(session);
    }
}

#if defined(__SANITIZE_THREAD__)
#define HAS_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_THREAD_SANITIZER 1
#endif
#endif

enum { FAULT_ROWS = 512, FAULT_COPY_NS = 512 * 2 * 136, FAULT_RUNS = 2 };

static unsigned times_caught(uint64_t digest)
{
    unsigned n = 0;
    struct kvs_exec_options with = {.seed = 1, .verifies = true, .time_scale = 10.0};
    for (unsigned i = 0; i < FAULT_RUNS; i++)
        n += run_once(&kvs_exec_host, with) != digest;
    return n;
}

/*
 * Plans with one thing wrong, run past the checker: the digest shows it, since bytes are where they
 * are at a modelled time. A layer's window takes 1.4 ms of wall clock, its compute a third of that,
 * or three times as much.
 */
static void test_faults(void **state)
{
    (void)state;
#ifdef HAS_THREAD_SANITIZER
    print_message("skipped: faulty plans do race\n");
    skip();
#endif
    for (unsigned i = 0; i < 2 * N_FAULTS; i++) {
        enum fault fault = (enum fault)(i / 2);
        bool is_copies = i % 2 == 0;
        if (fault != FAULT_NONE && fault_is_of_copies(fault) != is_copies)
            continue;
        fault_plan(&toy, fault, FAULT_ROWS, 32,
                   is_copies ? FAULT_COPY_NS / 3 : 3 * FAULT_COPY_NS);
        uint64_t digest = run_once(&kvs_exec_serial, (struct kvs_exec_options){.seed = 1});
        fault_apply(toy.plan, fault);
        unsigned n = times_caught(digest);
        print_message("%s: seen in %u of %u runs\n", fault_names[fault], n,
                      (unsigned)FAULT_RUNS);
        if (fault == FAULT_NONE)
            assert_int_equal(n, 0);
        else
            assert_true(n > 0);
    }
}

static kvs_status run_status(struct kvs_exec_options with, struct kvs_error *err)
{
    struct kvs_run run;
    kvs_status status = kvs_exec_once(&kvs_exec_host, toy.plan, &toy.c, &with, &run, NULL, err);
    if (status == KVS_OK)
        kvs_run_fini(&run);
    return status;
}

/* A copy waits for a compute that is issued after it: the host waits for the copy first, then not
 * at all; then with nothing but a barrier. */
static void test_stuck(void **state)
{
    (void)state;
    struct kvs_exec_options with = {.time_scale = 1.0};
    struct kvs_error fault = {0};
    for (unsigned i = 0; i < 3; i++) {
        start_over(1);
        struct by_hand b = by_hand_begin(&toy, 1);
        uint16_t k = toy_queue(&toy, 0, "k"), a = toy_queue(&toy, 0, "a");
        kvs_op_id copy = by_hand_copy(&b, &toy, a, 500, 0);
        toy_dep(&toy, i == 0 ? 2 : 0, 0);
        if (i == 0)
            toy_wait(&toy, copy);
        toy_compute(&toy, k, 1000, 1);
        if (i == 2) {
            toy_segment(&toy, 1, true);
            toy_compute(&toy, k, 1000, 1);
        }
        assert_int_equal(run_status(with, &fault), KVS_EPLAN);
        assert_non_null(strstr(fault.text, i == 0 ? "the host waits at op 1 (wait boundary)"
                                                  : "a never goes on: op 0 of token 0"));
    }
}

/* The shortest operation, a copy of 500 B at 1 B/ns or an overhead of 200 ns more, takes a
 * millisecond; a plan of long ones is not slowed down; nonsense is refused. */
static void test_scale(void **state)
{
    (void)state;
    const struct {
        uint32_t copy_bytes;
        double overhead_us, scale;
    } table[] = {{500, 0.0, 2000.0}, {800, 0.2, 1000.0}, {0, 0.0, 500.0}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        start_over(1);
        struct by_hand b = by_hand_begin(&toy, 1);
        void *session;
        struct kvs_run run;
        struct kvs_exec_options with = {0};
        toy.devices[0].engines.first_overhead = toy_us(1.0);
        toy.devices[0].engines.next_overhead = toy_us(table[i].overhead_us);
        toy.machine.host.copy_call = toy_us(0.001); /* too short, and not paced */
        by_hand_copy(&b, &toy, toy_queue(&toy, 0, "a"), table[i].copy_bytes, 0);
        toy_compute(&toy, toy_queue(&toy, 0, "k"), 2000, 1);
        TOY_OK(kvs_exec_host.open(toy.plan, &toy.c, &with, &session, err));
        TOY_OK(kvs_exec_host.run(session, &run, NULL, err));
        assert_float_equal(kvs_exec_host_report(session).time_scale, table[i].scale, 1e-6);
        kvs_run_fini(&run);
        kvs_exec_host.close(session);
    }
    start_over(1);
    struct by_hand b = by_hand_begin(&toy, 1);
    toy_set_rate(&toy.links[1], 1e3);
    by_hand_copy(&b, &toy, toy_queue(&toy, 0, "a"), 5, 0);
    void *session;
    TOY_OK(kvs_exec_host.open(toy.plan, &toy.c, &(struct kvs_exec_options){0}, &session, err));
    struct kvs_run run;
    TOY_OK(kvs_exec_host.run(session, &run, NULL, err));
    assert_true(kvs_exec_host_report(session).time_scale == 1.0);
    assert_true(run.total_ps >= 5 * KVS_PS_PER_MS);
    kvs_run_fini(&run);
    kvs_exec_host.close(session);
    struct kvs_error fault = {0};
    assert_int_equal(run_status((struct kvs_exec_options){.time_scale = -1.0}, &fault),
                     KVS_EINVAL);
    assert_non_null(strstr(fault.text, "time scale"));
}

/* A device that the machine does not have, and every allocation that fails. */
static void test_refusals(void **state)
{
    (void)state;
    struct kvs_error fault = {0};
    struct kvs_exec_options with = {.time_scale = 1.0};
    plan_of(2, KVS_SPLIT_LAYER, &options[1], &streams[0]);
    toy.machine.n_devices = 1;
    assert_int_equal(run_status(with, &fault), KVS_EINVAL);

    plan_of(1, KVS_SPLIT_NONE, &options[1], &streams[0]);
    kvs_status status = KVS_ENOMEM;
    kvs_run_fini(&last);
    for (uint64_t nth = 1; status != KVS_OK; nth++) {
        struct kvs_timeline timeline = {0};
        uint64_t before_bytes = kvs_mem_live_bytes();
        kvs_mem_fail_after(nth);
        status =
            kvs_exec_once(&kvs_exec_host, toy.plan, &toy.c, &with, &last, &timeline, &fault);
        kvs_mem_fail_after(0);
        assert_true(status == KVS_OK || status == KVS_ENOMEM);
        if (status == KVS_OK)
            kvs_run_fini(&last);
        kvs_timeline_fini(&timeline);
        assert_int_equal(kvs_mem_live_bytes(), before_bytes);
    }
}

static int tear_down(void **state)
{
    (void)state;
    kvs_run_fini(&last);
    toy_fini(&toy);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digests), cmocka_unit_test(test_machines),
        cmocka_unit_test(test_order),   cmocka_unit_test(test_turns),
        cmocka_unit_test(test_stop),    cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_scale),   cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
