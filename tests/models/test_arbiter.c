/*
 * Which copy an engine serves next. The cases are the experiments of docs/copy-engine.md: A1 is
 * a copy of 48 MiB on stream A, issued at 0 and ended at 912 us; b a small copy on stream B.
 */
#include "models/arbiter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/array.h"

enum { A, B, C, D };

#define LEAD (20 * KVS_PS_PER_US)
#define END  (912 * KVS_PS_PER_US)

static struct kvs_arbiter_candidate waiting(uint32_t stream, int64_t issue_us, int64_t ready_us)
{
    return (struct kvs_arbiter_candidate){.stream = stream,
                                          .issue_ps = issue_us * KVS_PS_PER_US,
                                          .ready_ps = ready_us * KVS_PS_PER_US};
}

static uint32_t sticky(uint32_t current, const struct kvs_arbiter_candidate *list, uint32_t n)
{
    return kvs_arbiter_choose(KVS_ARB_STICKY, LEAD, current, END, list, n);
}

/* A2 was issued after b and is served before it: the engine stays on its stream. */
static void test_sticky(void **state)
{
    (void)state;
    const struct kvs_arbiter_candidate list[] = {waiting(B, 1, 1), waiting(A, 2, 2)};
    assert_int_equal(sticky(A, list, 2), 1);
    assert_int_equal(sticky(B, list, 2), 0);
    assert_int_equal(sticky(A, list, 1), 0); /* nothing more on A: the engine turns */
    assert_int_equal(sticky(KVS_ARBITER_NONE, list, 2), 0);
}

/* A2 counts when it was ready a lead before the end: 892 us, and not a moment later. */
static void test_commit_lead(void **state)
{
    (void)state;
    const struct {
        int64_t before_end_us;
        uint32_t served;
    } table[] = {{300, A}, {25, A}, {20, A}, {19, B}, {10, B}, {0, B}};
    for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
        int64_t at_us = 912 - table[i].before_end_us;
        const struct kvs_arbiter_candidate list[] = {waiting(A, at_us, at_us),
                                                     waiting(B, 1, 1)};
        assert_int_equal(list[sticky(A, list, 2)].stream, table[i].served);
    }
    const struct kvs_arbiter_candidate one_ps_late[] = {
        {.stream = A, .issue_ps = END - LEAD + 1, .ready_ps = END - LEAD + 1},
        waiting(B, 1, 1)};
    assert_int_equal(sticky(A, one_ps_late, 2), 1);
}

/* The lead is not the current stream's alone: an uncommitted b does not push a committed A2
 * aside, and between two that are too late the one that was ready first goes. */
static void test_commit_lead_of_others(void **state)
{
    (void)state;
    const struct kvs_arbiter_candidate late_b[] = {waiting(B, 900, 900), waiting(A, 800, 800)};
    assert_int_equal(sticky(A, late_b, 2), 1);
    const struct kvs_arbiter_candidate other[] = {waiting(B, 900, 900), waiting(C, 880, 880)};
    assert_int_equal(sticky(A, other, 2), 1);
    const struct kvs_arbiter_candidate both_late[] = {waiting(A, 905, 905),
                                                      waiting(B, 900, 900)};
    assert_int_equal(sticky(A, both_late, 2), 1);
    const struct kvs_arbiter_candidate a_first[] = {waiting(B, 905, 905), waiting(A, 900, 900)};
    assert_int_equal(sticky(A, a_first, 2), 1);
}

/* A wait on an event: issued early, ready late. What counts is when the copy was ready. */
static void test_event_before_copy(void **state)
{
    (void)state;
    const struct kvs_arbiter_candidate satisfied[] = {waiting(B, 1, 1), waiting(A, 2, 2)};
    assert_int_equal(sticky(A, satisfied, 2), 1);
    const struct kvs_arbiter_candidate pending[] = {waiting(B, 1, 1), waiting(A, 2, 912)};
    assert_int_equal(sticky(A, pending, 2), 0);
}

/* A1, then b1 b2 b3, A2 issued while b1 runs: A2 after b3, since B is being served by then. */
static void test_three_copies_then_the_first_stream(void **state)
{
    (void)state;
    const struct kvs_arbiter_candidate a2 = waiting(A, 5, 5);
    uint32_t current = B; /* b1 runs */
    unsigned n_served = 0;
    for (unsigned left = 2; left > 0; left--, n_served++) { /* b2 and b3 wait, one at a time */
        const struct kvs_arbiter_candidate list[] = {a2, waiting(B, 1, 1)};
        current = list[sticky(current, list, 2)].stream;
        assert_int_equal(current, B);
    }
    assert_int_equal(n_served, 2);
    assert_int_equal(sticky(current, &a2, 1), 0);
}

/* Among other streams: the one that has been ready longest, then issue, then the list. */
static void test_oldest(void **state)
{
    (void)state;
    const struct kvs_arbiter_candidate list[] = {waiting(B, 3, 8), waiting(C, 4, 7),
                                                 waiting(D, 2, 9)};
    assert_int_equal(sticky(A, list, 3), 1);
    assert_int_equal(kvs_arbiter_choose(KVS_ARB_FIFO, LEAD, A, END, list, 3), 2);
    const struct kvs_arbiter_candidate ties[] = {waiting(B, 4, 7), waiting(C, 3, 7),
                                                 waiting(D, 3, 7)};
    assert_int_equal(sticky(A, ties, 3), 1);
    assert_int_equal(kvs_arbiter_choose(KVS_ARB_FIFO, LEAD, A, END, ties, 3), 1);
}

/* First in, first out: neither the stream nor the lead matters. */
static void test_fifo(void **state)
{
    (void)state;
    const struct kvs_arbiter_candidate list[] = {waiting(A, 2, 2), waiting(B, 1, 911)};
    assert_int_equal(kvs_arbiter_choose(KVS_ARB_FIFO, LEAD, A, END, list, 2), 1);
}

static void test_nothing(void **state)
{
    (void)state;
    assert_int_equal(sticky(A, NULL, 0), KVS_ARBITER_NONE);
    assert_int_equal(kvs_arbiter_choose(KVS_ARB_FIFO, LEAD, A, END, NULL, 0), KVS_ARBITER_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sticky),
        cmocka_unit_test(test_commit_lead),
        cmocka_unit_test(test_commit_lead_of_others),
        cmocka_unit_test(test_event_before_copy),
        cmocka_unit_test(test_three_copies_then_the_first_stream),
        cmocka_unit_test(test_oldest),
        cmocka_unit_test(test_fifo),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
