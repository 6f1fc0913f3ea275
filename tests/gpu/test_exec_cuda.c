/*
 * The CUDA executor gives the digests of the serial one: every policy, look-ahead, split and layout
 * of streams, several devices on the first GPU. Exits 77 where there is none.
 */
#include "real/exec_cuda.h"
#include "real/exec_serial.h"
#include "tests/real/digest_case.h"

static const uint16_t map[TOY_DEVICES]; /* all on GPU 0 */

static uint64_t run_on(const struct kvs_exec_ops *exec, bool verifies)
{
    struct kvs_exec_options options = {.seed = 1, .verifies = verifies, .map = map};
    struct kvs_run run;
    TOY_OK(kvs_exec_once(exec, toy.plan, &toy.c, &options, &run, NULL, err));
    assert_true(run.has_digest);
    kvs_run_fini(&run);
    return run.digest;
}

static void test_equal(void **state)
{
    (void)state;
    for (size_t s = 0; s < KVS_COUNT_OF(digest_streams); s++) {
        for (size_t o = 0; o < KVS_COUNT_OF(digest_options); o++) {
            for (uint32_t n = 1; n <= 4; n++) {
                if (digest_options[o].transport.late == KVS_LATE_KERNEL &&
                    !digest_streams[s].is_pinned)
                    continue; /* kernels do not reach pageable memory */
                for (unsigned mode = KVS_SPLIT_NONE; mode <= KVS_SPLIT_TENSOR; mode++) {
                    digest_plan(n, (kvs_split_mode)mode, &digest_options[o],
                                &digest_streams[s]);
                    if (run_on(&kvs_exec_cuda, o % 2 == 1) != run_on(&kvs_exec_serial, false))
                        fail_msg("%s, %u devices, split %u, streams %zu: another digest",
                                 toy.plan->policy, n, mode, s);
                }
            }
        }
    }
}

static void test_pageable(void **state)
{
    (void)state;
    struct kvs_exec_options options = {.map = map};
    struct kvs_error err = {0};
    struct kvs_run run;
    digest_plan(1, KVS_SPLIT_NONE, &digest_options[3], &digest_streams[2]);
    assert_int_equal(
        kvs_exec_once(&kvs_exec_cuda, toy.plan, &toy.c, &options, &run, NULL, &err),
        KVS_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "has to be pinned"));
}

/* Twice in one session, and once more with a recording: the same digest, all spans there. */
static void test_sessions(void **state)
{
    (void)state;
    struct kvs_exec_options options = {.seed = 1, .map = map};
    void *session;
    digest_plan(2, KVS_SPLIT_TENSOR, &digest_options[2], &digest_streams[0]);
    uint64_t expected = run_on(&kvs_exec_serial, false);
    TOY_OK(kvs_exec_cuda.open(toy.plan, &toy.c, &options, &session, err));
    for (unsigned round = 0; round < 3; round++) {
        struct kvs_run run;
        struct kvs_timeline timeline = {0};
        TOY_OK(kvs_exec_cuda.run(session, &run, round == 2 ? &timeline : NULL, err));
        assert_int_equal(run.digest, expected);
        if (round == 2)
            assert_int_equal(timeline.spans.n, run.n_dispatched);
        for (size_t i = 0; i < timeline.spans.n; i++) {
            assert_true(timeline.spans.items[i].end_ps >= timeline.spans.items[i].start_ps);
            assert_true(timeline.spans.items[i].end_ps <= run.total_ps + 50 * KVS_PS_PER_US);
        }
        kvs_timeline_fini(&timeline);
        kvs_run_fini(&run);
    }
    kvs_exec_cuda.close(session);
}

static void test_stop(void **state)
{
    (void)state;
    static volatile sig_atomic_t stop = 1;
    struct kvs_exec_options options = {.map = map, .stop = &stop};
    struct kvs_run run;
    digest_plan(1, KVS_SPLIT_NONE, &digest_options[0], &digest_streams[0]);
    assert_int_equal(
        kvs_exec_once(&kvs_exec_cuda, toy.plan, &toy.c, &options, &run, NULL, NULL),
        KVS_ESTOPPED);
}

static void test_errors(void **state)
{
    (void)state;
    static const uint16_t far[1] = {999};
    struct kvs_exec_options options = {.map = far};
    struct kvs_error err = {0};
    struct kvs_run run;
    digest_plan(1, KVS_SPLIT_NONE, &digest_options[0], &digest_streams[0]);
    assert_int_equal(
        kvs_exec_once(&kvs_exec_cuda, toy.plan, &toy.c, &options, &run, NULL, &err),
        KVS_EINVAL);
    assert_non_null(strstr(err.text, "GPU 999"));
    options.map = map;
    for (size_t i = 0; i < toy.plan->buffers.n; i++)
        if (toy.plan->buffers.items[i].place == KVS_PLACE_DEVICE)
            toy.plan->buffers.items[i].size_bytes = UINT64_C(1) << 44;
    assert_int_equal(
        kvs_exec_once(&kvs_exec_cuda, toy.plan, &toy.c, &options, &run, NULL, &err),
        KVS_ENOFIT);
    assert_non_null(strstr(err.text, "16.00 TiB"));
}

static int tear_down(void **state)
{
    (void)state;
    kvs_plan_destroy(toy.plan);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal),    cmocka_unit_test(test_pageable),
        cmocka_unit_test(test_sessions), cmocka_unit_test(test_stop),
        cmocka_unit_test(test_errors),
    };
    if (kvs_cuda_n_gpus() == 0) {
        printf("skipped: %s\n", kvs_cuda_why_none());
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
