/*
 * Plans with one thing wrong, run on a GPU past the checker in verify mode: the digest shows it in at
 * least 99 of 100 runs. A layer's window takes 0.64 ms over a gen5 x16 link; compute a third of
 * that, or three times as much.
 */
#include "real/exec_cuda.h"
#include "real/exec_serial.h"
#include "tests/real/fault_case.h"

enum { RUNS = 100, ROWS = 16384, HEAD_DIM = 256, COPY_NS = 640000 };

static struct toy toy;
static const uint16_t map[1];

static uint64_t expected(void)
{
    struct kvs_exec_options options = {.seed = 1};
    struct kvs_run run;
    TOY_OK(kvs_exec_once(&kvs_exec_serial, toy.plan, &toy.c, &options, &run, NULL, err));
    kvs_run_fini(&run);
    return run.digest;
}

static unsigned caught(uint64_t digest)
{
    struct kvs_exec_options options = {.seed = 1, .verifies = true, .map = map};
    void *session;
    unsigned n = 0;
    TOY_OK(kvs_exec_cuda.open(toy.plan, &toy.c, &options, &session, err));
    for (unsigned i = 0; i < RUNS; i++) {
        struct kvs_run run;
        TOY_OK(kvs_exec_cuda.run(session, &run, NULL, err));
        n += run.digest != digest;
        kvs_run_fini(&run);
    }
    kvs_exec_cuda.close(session);
    return n;
}

static void test_faults(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2 * N_FAULTS; i++) {
        enum fault fault = (enum fault)(i / 2);
        bool is_copies = i % 2 == 0;
        if (fault != FAULT_NONE && fault_is_of_copies(fault) != is_copies)
            continue;
        fault_plan(&toy, fault, ROWS, HEAD_DIM, is_copies ? COPY_NS / 3 : COPY_NS * 3);
        uint64_t digest = expected();
        fault_apply(toy.plan, fault);
        assert_int_equal(kvs_plan_check(toy.plan, NULL, NULL, NULL) == KVS_OK,
                         fault == FAULT_NONE);
        unsigned n = caught(digest);
        print_message("%s, copy/compute %s: seen in %u of %u runs\n", fault_names[fault],
                      is_copies ? "3" : "1/3", n, (unsigned)RUNS);
        if (fault == FAULT_NONE)
            assert_int_equal(n, 0);
        else
            assert_true(n >= 99);
    }
}

static int tear_down(void **state)
{
    (void)state;
    kvs_plan_destroy(toy.plan);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_faults)};
    if (kvs_cuda_n_gpus() == 0) {
        printf("skipped: %s\n", kvs_cuda_why_none());
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
