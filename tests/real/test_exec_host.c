/*
 * The host executor: real threads in the order of the plan, sessions side by side; a run ends when
 * told to, and when nothing can go on.
 */
#define _POSIX_C_SOURCE 200809L /* sigaction */
#include <signal.h>
#include <sys/time.h>

#include "real/exec_host.h"
#include "real/exec_serial.h"
#include "tests/real/by_hand.h"
#include "tests/real/digest_case.h"

static struct kvs_run last;

static void start_over(uint32_t n_devices)
{
    toy_fini(&toy);
    toy_init(&toy, n_devices);
}

static uint64_t run_once(const struct kvs_exec_ops *exec, struct kvs_exec_options with)
{
    kvs_run_fini(&last);
    TOY_OK(kvs_exec_once(exec, toy.plan, &toy.c, &with, &last, NULL, err));
    return last.digest;
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
        digest_plan_plain(DIGEST_PIPELINED, n);
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
    digest_plan_plain(DIGEST_PER_SLOT, 1);
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
    digest_plan_plain(DIGEST_PIPELINED, 2);
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

/*
 * Operations have the 100 us in which a thread wakes up: a copy of 500 B at 1 B/ns, one of 800 B and
 * an overhead of 200 ns, the compute of 2 us when it is alone. A slow computer may need one step
 * more for the bytes. A plan of long ones is not slowed down.
 */
static void test_scale(void **state)
{
    (void)state;
    const struct {
        uint32_t copy_bytes;
        double overhead_us, scale;
    } table[] = {{500, 0.0, 200.0}, {800, 0.2, 100.0}, {0, 0.0, 50.0}};
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
        double scale = kvs_exec_host_report(session).time_scale;
        assert_true(scale >= table[i].scale && scale <= 2.5 * table[i].scale);
        assert_true(run.time_scale == scale);
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
    digest_plan_plain(DIGEST_PIPELINED, 2);
    toy.machine.n_devices = 1;
    assert_int_equal(run_status(with, &fault), KVS_EINVAL);

    digest_plan_plain(DIGEST_PIPELINED, 1);
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
        cmocka_unit_test(test_order), cmocka_unit_test(test_turns),
        cmocka_unit_test(test_stop),  cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_scale), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
