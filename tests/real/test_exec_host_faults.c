/*
 * Plans with one thing wrong, run by the host executor past the checker: the digest shows it in at
 * least 99 of 100 runs, since bytes are where they are at a modelled time. A layer's window takes
 * 1.4 ms of wall clock, its compute a third of that, or three times as much.
 */
#include "real/exec_host.h"
#include "real/exec_serial.h"
#include "sched/plan_check.h"
#include "tests/real/fault_case.h"

#if defined(__SANITIZE_THREAD__)
#define HAS_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_THREAD_SANITIZER 1
#endif
#endif

enum { RUNS = 100, ROWS = 512, HEAD_DIM = 32, COPY_NS = ROWS * 2 * 136 };

static struct toy toy;

static uint64_t digest_of(const struct kvs_exec_ops *exec, struct kvs_exec_options with)
{
    struct kvs_run run;
    TOY_OK(kvs_exec_once(exec, toy.plan, &toy.c, &with, &run, NULL, err));
    kvs_run_fini(&run);
    return run.digest;
}

static unsigned times_caught(uint64_t digest)
{
    struct kvs_exec_options with = {.seed = 1, .verifies = true, .time_scale = 10.0};
    unsigned n = 0;
    for (unsigned i = 0; i < RUNS; i++)
        n += digest_of(&kvs_exec_host, with) != digest;
    return n;
}

static void check_fault(enum fault fault, bool is_copies)
{
    fault_plan(&toy, fault, ROWS, HEAD_DIM, is_copies ? COPY_NS / 3 : 3 * COPY_NS);
    assert_int_equal(kvs_plan_check(toy.plan, NULL, NULL, NULL), KVS_OK);
    uint64_t digest = digest_of(&kvs_exec_serial, (struct kvs_exec_options){.seed = 1});
    fault_apply(toy.plan, fault);
    assert_int_equal(kvs_plan_check(toy.plan, NULL, NULL, NULL) == KVS_OK, fault == FAULT_NONE);
    unsigned n = times_caught(digest);
    print_message("%s, copy/compute %s: seen in %u of %u runs\n", fault_names[fault],
                  is_copies ? "3" : "1/3", n, (unsigned)RUNS);
    if (fault == FAULT_NONE)
        assert_int_equal(n, 0);
    else
        assert_true(n >= 99);
}

static void test_faults(void **state)
{
    (void)state;
#ifdef HAS_THREAD_SANITIZER
    print_message("skipped: faulty plans do race\n");
    skip();
#endif
    for (unsigned i = 0; i < N_FAULTS; i++) {
        enum fault fault = (enum fault)i;
        if (fault == FAULT_NONE || fault_is_of_copies(fault))
            check_fault(fault, true);
        if (fault == FAULT_NONE || !fault_is_of_copies(fault))
            check_fault(fault, false);
    }
}

static int tear_down(void **state)
{
    (void)state;
    toy_fini(&toy);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_faults)};
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
