/*
 * The CUDA executor: sessions, and what it refuses, on the first GPU. Exits 77 where there is none.
 */
#include "real/exec_cuda.h"
#include "tests/real/digest_case.h"

static const uint16_t map[TOY_DEVICES]; /* all on GPU 0 */

static void test_pageable(void **state)
{
    (void)state;
    struct kvs_exec_options options = {.map = map};
    struct kvs_error err = {0};
    struct kvs_run run;
    struct digest_case c = digest_plain(DIGEST_PER_SLOT, 1);
    c.workload = &digest_workloads[DIGEST_PAGEABLE];
    digest_plan(&c);
    assert_int_equal(
        kvs_exec_once(&kvs_exec_cuda, toy.plan, &toy.c, &options, &run, NULL, &err),
        KVS_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "has to be pinned"));
}

/* What computes, and what serves copies. */
static const struct {
    kvs_compute_kind compute;
    kvs_submit submit;
    bool is_emulated;
} sessions[] = {{KVS_COMPUTE_MODELLED, KVS_SUBMIT_KERNELS, false},
                {KVS_COMPUTE_MODELLED, KVS_SUBMIT_GRAPH, false},
                {KVS_COMPUTE_STREAMED, KVS_SUBMIT_KERNELS, false},
                {KVS_COMPUTE_STREAMED, KVS_SUBMIT_GRAPH, false},
                {KVS_COMPUTE_MODELLED, KVS_SUBMIT_GRAPH, true}};

static void expect_recorded(const struct kvs_timeline *timeline, const struct kvs_run *run)
{
    assert_int_equal(timeline->spans.n, run->n_dispatched);
    for (size_t i = 0; i < timeline->spans.n; i++) {
        assert_true(timeline->spans.items[i].end_ps >= timeline->spans.items[i].start_ps);
        assert_true(timeline->spans.items[i].end_ps <= run->total_ps + 50 * KVS_PS_PER_US);
    }
}

/* Twice in one session, and once more with a recording: the same digest, all spans there. */
static void test_sessions(void **state)
{
    (void)state;
    uint64_t expected = digest_reference(&digest_workloads[DIGEST_ONE_SEQUENCE]);
    for (size_t i = 0; i < KVS_COUNT_OF(sessions); i++) {
        struct kvs_exec_options options = {
            .seed = DIGEST_SEED, .map = map, .emulates_links = sessions[i].is_emulated};
        void *session;
        digest_plan_plain(DIGEST_PIPELINED, 2);
        toy.c.compute = sessions[i].compute;
        toy.machine.host.submit = sessions[i].submit;
        TOY_OK(kvs_exec_cuda.open(toy.plan, &toy.c, &options, &session, err));
        for (unsigned round = 0; round < 3; round++) {
            struct kvs_run run;
            struct kvs_timeline timeline = {0};
            TOY_OK(kvs_exec_cuda.run(session, &run, round == 2 ? &timeline : NULL, err));
            if (run.digest != expected)
                fail_msg("session %zu, round %u: another digest", i, round);
            if (round == 2)
                expect_recorded(&timeline, &run);
            kvs_timeline_fini(&timeline);
            kvs_run_fini(&run);
        }
        kvs_exec_cuda.close(session);
    }
}

static uint64_t digest_with(struct kvs_exec_options options)
{
    struct kvs_run run;
    TOY_OK(kvs_exec_once(&kvs_exec_cuda, toy.plan, &toy.c, &options, &run, NULL, err));
    kvs_run_fini(&run);
    return run.digest;
}

/* New rows of so many streams take several launches. */
static void test_many_streams(void **state)
{
    (void)state;
    static const uint32_t arms[] = {DIGEST_ORDERED, DIGEST_CONTINUOUS, DIGEST_PER_SLOT};
    for (uint32_t n = 11; n <= 27; n += 4) {
        struct digest_workload many = {"many streams", 32, n, 1, false, true, false};
        for (size_t i = 0; i < KVS_COUNT_OF(arms); i++) {
            struct digest_case c = digest_plain(arms[i], 2);
            c.workload = &many;
            uint64_t expected = digest_reference(&many);
            digest_plan(&c);
            if (digest_with((struct kvs_exec_options){.seed = DIGEST_SEED, .map = map}) !=
                expected)
                fail_msg("%u streams, %s: another digest", n, digest_text(&c));
        }
    }
}

/* Two devices on one GPU: sums through host memory, as on several GPUs; NCCL cannot do it. */
static void test_collectives(void **state)
{
    (void)state;
    struct kvs_exec_options options = {
        .seed = DIGEST_SEED, .map = map, .collective = KVS_EXEC_COLLECTIVE_HOST};
    struct kvs_error err = {0};
    struct kvs_run run;
    uint64_t expected = digest_reference(&digest_workloads[DIGEST_ONE_SEQUENCE]);
    digest_plan_plain(DIGEST_PIPELINED, 3);
    assert_int_equal(digest_with(options), expected);
    options.collective = KVS_EXEC_COLLECTIVE_NCCL;
    assert_int_equal(
        kvs_exec_once(&kvs_exec_cuda, toy.plan, &toy.c, &options, &run, NULL, &err),
        KVS_EINVAL);
    assert_non_null(strstr(err.text, "are both GPU 0"));
}

static void test_stop(void **state)
{
    (void)state;
    static volatile sig_atomic_t stop = 1;
    struct kvs_exec_options options = {.map = map, .stop = &stop};
    struct kvs_run run;
    digest_plan_plain(DIGEST_ORDERED, 1);
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
    digest_plan_plain(DIGEST_ORDERED, 1);
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
        cmocka_unit_test(test_pageable),     cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_many_streams), cmocka_unit_test(test_collectives),
        cmocka_unit_test(test_stop),         cmocka_unit_test(test_errors),
    };
    if (kvs_cuda_n_gpus() == 0) {
        printf("skipped: %s\n", kvs_cuda_why_none());
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
