/* The host thread, one rule at a time: calls, launches, waits, and what blocks it. */
#include "tests/sim/toy.h"

static struct toy toy;

/* A machine whose host launches kernels one by one. */
static void begin_kernels(double launch_us)
{
    toy_begin(&toy, 1);
    toy.machine.host.submit = KVS_SUBMIT_KERNELS;
    toy.machine.host.kernel_launch = toy_us(launch_us);
    toy.machine.host.between_tokens = toy_us(1);
}

/*
 * Five kernels, a launch 2 us. Short ones, 1 us each: the last is launched at 10 us and ends at
 * 11, bound by launches. Long ones, 20 us each: the first starts at 2, all end at 102. Either
 * way the host is free at 10.
 */
static void test_launch_bound(void **state)
{
    (void)state;
    const struct {
        uint32_t work_ns;
        kvs_time end_us;
    } table[] = {{5000, 11}, {100000, 102}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        begin_kernels(2);
        kvs_op_id work = toy_compute(&toy, toy_queue(&toy, 0, "k"), table[i].work_ns, 5);
        kvs_op_id after = toy_host(&toy, 1);
        toy_run(&toy);
        TOY_EXPECT_START(&toy, work, 2 * TOY_US);
        TOY_EXPECT_END(&toy, work, table[i].end_us * TOY_US);
        TOY_EXPECT_START(&toy, after, 10 * TOY_US);
        assert_int_equal(toy.run.host.issue_ps, 10 * TOY_US);
        toy_fini(&toy);
    }
}

/* As a graph: one launch of 3 us for all five. Under tensor split a sub-graph's own price. */
static void test_graph_launch(void **state)
{
    (void)state;
    for (unsigned is_subgraph = 0; is_subgraph < 2; is_subgraph++) {
        toy_begin(&toy, 1);
        toy.machine.host.submit = is_subgraph ? KVS_SUBMIT_KERNELS : KVS_SUBMIT_GRAPH;
        toy.machine.host.kernel_launch = toy_us(100);
        toy.machine.host.graph_launch = toy_us(3);
        toy.machine.host.subgraph_launch = toy_us(7);
        kvs_op_id work = toy_compute(&toy, toy_queue(&toy, 0, "k"), 5000, 5);
        if (is_subgraph)
            toy.plan->segments.items[0].ops.items[work].flags |= KVS_OP_SUBGRAPH;
        toy_run(&toy);
        TOY_EXPECT_END(&toy, work, (is_subgraph ? 12 : 8) * TOY_US);
        toy_fini(&toy);
    }
}

/*
 * At most four unfinished kernels; operations of two kernels and 10 us; a launch 1 us.
 *   op 0  launched 1 and 2, runs 1 .. 11
 *   op 1  launched 3 and 4, runs 11 .. 21
 *   op 2  the call at 5 finds four: it blocks until 11; launched 11 and 12, runs 21 .. 31
 */
static void test_full_queue(void **state)
{
    (void)state;
    begin_kernels(1);
    toy.machine.host.queue_limit = toy_figure(4);
    uint16_t k = toy_queue(&toy, 0, "k");
    toy_compute(&toy, k, 10000, 2);
    toy_compute(&toy, k, 10000, 2);
    kvs_op_id third = toy_compute(&toy, k, 10000, 2);
    kvs_op_id after = toy_host(&toy, 1);
    toy_run(&toy);
    assert_int_equal(toy_span(&toy, third)->issue_ps, 11 * TOY_US);
    TOY_EXPECT_END(&toy, third, 31 * TOY_US);
    TOY_EXPECT_START(&toy, after, 12 * TOY_US);
    assert_int_equal(toy.run.host.blocked_ps[KVS_TAG_ATTENTION], 6 * TOY_US);
    toy_fini(&toy);
}

/* Calls: a copy 2 us, an event 0.5 us for each dependency, a collective's member 3 us. */
static void test_calls(void **state)
{
    (void)state;
    toy_begin(&toy, 1);
    toy.machine.host.copy_call = toy_us(2);
    toy.machine.host.event_pair = toy_us(0.5);
    toy.machine.host.collective_launch = toy_us(3);
    kvs_op_id a = toy_copy(&toy, toy_queue(&toy, 0, "a"), 100, 0);
    kvs_op_id b = toy_copy(&toy, toy_queue(&toy, 0, "b"), 100, 0);
    toy_dep(&toy, a, 0);
    kvs_op_id member = toy_member(&toy, toy_queue(&toy, 0, "c"), 0, 1);
    toy_dep(&toy, a, 0);
    toy_dep(&toy, b, 0);
    toy_run(&toy);
    TOY_EXPECT_START(&toy, a, 2 * TOY_US);
    TOY_EXPECT_START(&toy, b, 4500 * TOY_NS);
    TOY_EXPECT_START(&toy, member, 8500 * TOY_NS);
    toy_fini(&toy);
}

/* From an event to what waits for it on another queue: 2 us. Along a queue, or long after:
 * nothing. */
static void test_hop(void **state)
{
    (void)state;
    toy_begin(&toy, 1);
    toy.machine.host.hop = toy_us(2);
    toy.machine.host.between_tokens = toy_us(1);
    uint16_t k = toy_queue(&toy, 0, "k"), a = toy_queue(&toy, 0, "a");
    kvs_op_id work = toy_compute(&toy, k, 5000, 1);
    kvs_op_id next = toy_compute(&toy, k, 1000, 1);
    toy_dep(&toy, work, 0);
    kvs_op_id hopped = toy_copy(&toy, a, 100, 0);
    toy_dep(&toy, work, 0);
    toy_host(&toy, 20);
    kvs_op_id late = toy_copy(&toy, a, 100, 0);
    toy_dep(&toy, work, 0);
    toy_run(&toy);
    TOY_EXPECT_START(&toy, next, 5 * TOY_US);
    TOY_EXPECT_START(&toy, hopped, 7 * TOY_US);
    TOY_EXPECT_START(&toy, late, 20 * TOY_US);
    toy_fini(&toy);
}

/* A wait goes on a synchronisation (3 us) after the end it waits for: once, however many ends
 * there are, and not at all when all are over. A blocking copy pays it too. */
static void test_waits(void **state)
{
    (void)state;
    toy_begin(&toy, 1);
    toy.machine.host.sync = toy_us(3);
    toy.machine.host.between_tokens = toy_us(1);
    kvs_op_id a = toy_compute(&toy, toy_queue(&toy, 0, "k"), 5000, 1);
    kvs_op_id b = toy_copy(&toy, toy_queue(&toy, 0, "a"), 8000, 0);
    kvs_op_id both = toy_wait(&toy, a);
    toy_dep(&toy, b, 0);
    kvs_op_id again = toy_wait(&toy, a);
    kvs_op_id blocking = toy_copy(&toy, toy_queue(&toy, 0, "c"), 1000, KVS_OP_BLOCKS);
    kvs_op_id after = toy_host(&toy, 1);
    toy_run(&toy);
    TOY_EXPECT_END(&toy, both, 11 * TOY_US);
    TOY_EXPECT_END(&toy, again, 11 * TOY_US);
    TOY_EXPECT_END(&toy, blocking, 12 * TOY_US);
    TOY_EXPECT_START(&toy, after, 15 * TOY_US);
    assert_int_equal(toy.run.host.blocked_ps[KVS_TAG_BOUNDARY], 11 * TOY_US);
    assert_int_equal(toy.run.host.blocked_ps[KVS_TAG_DELIVER], 4 * TOY_US);
    assert_int_equal(toy.run.host.sample_ps, 1 * TOY_US);
    assert_int_equal(toy.run.total_ps, 16 * TOY_US);
    toy_fini(&toy);
}

/*
 * Pageable bytes move at half the link's rate. Above the limit (1,000 B) the call returns when
 * they are there: 4,000 B behind an event at 20 us keep the host until 28 us. Up to it, at
 * once.
 */
static void test_pageable(void **state)
{
    (void)state;
    const struct {
        uint32_t bytes;
        kvs_time end_us, host_us;
    } table[] = {{4000, 28, 28}, {1000, 22, 0}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        toy_begin(&toy, 1);
        toy.machine.host.pageable_async_bytes = toy_figure(1000);
        kvs_op_id event = toy_compute(&toy, toy_queue(&toy, 0, "k"), 20000, 1);
        kvs_op_id copy =
            toy_copy(&toy, toy_queue(&toy, 0, "a"), table[i].bytes, KVS_OP_PAGEABLE);
        toy_dep(&toy, event, 0);
        kvs_op_id after = toy_host(&toy, 1);
        toy_run(&toy);
        TOY_EXPECT_END(&toy, copy, table[i].end_us * TOY_US);
        TOY_EXPECT_START(&toy, after, table[i].host_us * TOY_US);
        toy_fini(&toy);
    }
}

/* The second segment starts at once, or after everything of the first one with a barrier. */
static void test_barrier(void **state)
{
    (void)state;
    for (unsigned has_barrier = 0; has_barrier < 2; has_barrier++) {
        toy_begin(&toy, 1);
        uint16_t k = toy_queue(&toy, 0, "k"), a = toy_queue(&toy, 0, "a");
        toy_compute(&toy, k, 10000, 1);
        toy_copy(&toy, a, 1000, 0);
        toy_segment(&toy, 1, has_barrier);
        toy_compute(&toy, k, 10000, 1);
        kvs_op_id copy = toy_copy(&toy, a, 2000, 0);
        toy_run(&toy);
        TOY_EXPECT_PS(toy_span_of(&toy, 1, copy)->end_ps, (has_barrier ? 12 : 3) * TOY_US);
        TOY_EXPECT_PS(toy.run.total_ps, 20 * TOY_US);
        toy_fini(&toy);
    }
}

/* Another structure after a barrier: other operations, other counts. */
static void test_barrier_new_structure(void **state)
{
    (void)state;
    toy_begin(&toy, 1);
    uint16_t k = toy_queue(&toy, 0, "k"), a = toy_queue(&toy, 0, "a");
    toy_compute(&toy, k, 1000, 1);
    toy_segment(&toy, 2, true);
    kvs_op_id copy = toy_copy(&toy, a, 500, 0);
    kvs_op_id work = toy_compute(&toy, k, 2000, 1);
    toy_dep(&toy, copy, 0);
    toy_run(&toy);
    TOY_EXPECT_PS(toy_span_of(&toy, 1, work)->end_ps, 3500 * TOY_NS);
    TOY_EXPECT_PS(toy_span_of(&toy, 2, work)->end_ps, 5500 * TOY_NS);
    toy_fini(&toy);
}

/* Segments that run on must be whole periods: the second one begins with phase 0 again. */
static void test_partial_period(void **state)
{
    (void)state;
    const struct {
        uint32_t n_tokens;
        bool has_barrier;
        kvs_status status;
    } table[] = {{3, false, KVS_EUNSUPPORTED}, {3, true, KVS_OK}, {4, false, KVS_OK}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        toy_init(&toy, 1);
        toy_new_plan(&toy);
        uint16_t k = toy_queue(&toy, 0, "k");
        for (unsigned s = 0; s < 2; s++) {
            struct kvs_segment *segment =
                toy_segment(&toy, table[i].n_tokens, table[i].has_barrier);
            segment->period = 2;
            toy_compute(&toy, k, 1000, 1);
            segment->ops.items[toy_compute(&toy, k, 2000, 1)].phase = 1;
        }
        struct kvs_exec_options options = {0};
        kvs_status status =
            kvs_exec_once(&kvs_exec_sim, toy.plan, &toy.c, &options, &toy.run, NULL, &toy.err);
        assert_int_equal(status, table[i].status);
        if (status == KVS_OK) /* 1 + 2 + 1 twice, or 1 + 2 + 1 + 2 twice */
            TOY_EXPECT_PS(toy.run.total_ps, (table[i].n_tokens == 3 ? 8 : 12) * TOY_US);
        else
            toy.run = (struct kvs_run){0};
        toy_fini(&toy);
    }
}

/* Work of the host that depends on a kernel of 20 us and a copy of 8 us waits for both. */
static void test_work_waits(void **state)
{
    (void)state;
    toy_begin(&toy, 1);
    kvs_op_id kernel = toy_compute(&toy, toy_queue(&toy, 0, "k"), 20000, 1);
    kvs_op_id copy = toy_copy(&toy, toy_queue(&toy, 0, "a"), 8000, 0);
    kvs_op_id work = toy_host(&toy, 1);
    toy_dep(&toy, kernel, 0);
    toy_dep(&toy, copy, 0);
    kvs_op_id after = toy_host(&toy, 1);
    toy_run(&toy);
    TOY_EXPECT_START(&toy, work, 20 * TOY_US);
    assert_true(toy_span_of(&toy, 0, after)->start_ps >= toy_span_of(&toy, 0, work)->end_ps);
    toy_fini(&toy);
}

/* Times past what the clock counts are refused, however they come about. */
static void test_too_long(void **state)
{
    (void)state;
    struct kvs_exec_options options = {0};
    struct kvs_error err = {0};
    for (unsigned is_copy = 0; is_copy < 2; is_copy++) {
        toy_begin(&toy, 1);
        uint16_t k = toy_queue(&toy, 0, "k");
        if (is_copy) {
            toy_set_rate(&toy.links[1], 1e-3);
            toy_copy(&toy, k, UINT32_MAX, 0);
        } else {
            toy.profiles[0].fixed = toy_figure(1e9);
            toy_compute(&toy, k, UINT32_MAX, 1);
        }
        assert_int_equal(
            kvs_exec_once(&kvs_exec_sim, toy.plan, &toy.c, &options, &toy.run, NULL, &err),
            KVS_ERANGE);
        assert_non_null(strstr(err.text, "26 days"));
        toy.run = (struct kvs_run){0};
        toy_fini(&toy);
    }
}

/* A wait for a copy that waits for a kernel issued only later: nothing can go on, and no crash.
 */
static void test_stuck(void **state)
{
    (void)state;
    toy_begin(&toy, 1);
    uint16_t k = toy_queue(&toy, 0, "k"), a = toy_queue(&toy, 0, "a");
    kvs_op_id copy = toy_copy(&toy, a, 500, 0);
    toy_dep(&toy, 2, 0);
    toy_wait(&toy, copy);
    toy_compute(&toy, k, 1000, 1);
    struct kvs_exec_options options = {0};
    struct kvs_error err = {0};
    assert_int_equal(
        kvs_exec_once(&kvs_exec_sim, toy.plan, &toy.c, &options, &toy.run, NULL, &err),
        KVS_EPLAN);
    assert_non_null(strstr(err.text, "op 1 (wait boundary)"));
    toy.run = (struct kvs_run){0};

    toy_new_plan(&toy); /* the same with nobody waiting: the host ends, the device does not */
    toy_segment(&toy, 1, false);
    k = toy_queue(&toy, 0, "k");
    toy_copy(&toy, toy_queue(&toy, 0, "a"), 500, 0);
    toy_dep(&toy, 0, 0);
    toy_compute(&toy, k, 1000, 1);
    assert_int_equal(
        kvs_exec_once(&kvs_exec_sim, toy.plan, &toy.c, &options, &toy.run, NULL, &err),
        KVS_EPLAN);
    assert_non_null(strstr(err.text, "a never goes on: op 0 of token 0"));
    toy.run = (struct kvs_run){0};
    toy_fini(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launch_bound),
        cmocka_unit_test(test_graph_launch),
        cmocka_unit_test(test_full_queue),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_hop),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_pageable),
        cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_barrier_new_structure),
        cmocka_unit_test(test_partial_period),
        cmocka_unit_test(test_work_waits),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_stuck),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
