/*
 * One digest for a workload on GPUs as well: the cases of digest_case.h on the CUDA executor, all
 * devices on the first GPU. Exits 77 where there is none.
 */
#include "real/exec_cuda.h"
#include "tests/real/digest_case.h"

static const uint16_t map[TOY_DEVICES]; /* all on GPU 0 */
static uint32_t stride;

/* Kernels do not reach pageable memory: what has them read late bytes there is refused. */
static bool is_refused(const struct digest_case *c)
{
    return !c->workload->is_pinned && c->policy == &kvs_policy_pipelined &&
           c->transport.late == KVS_LATE_KERNEL && c->budget != DIGEST_DECLINED;
}

/* Bytes are destroyed after use in every other run. */
static bool is_right(uint32_t number, const struct digest_case *c, uint64_t expected)
{
    struct kvs_exec_options with = {
        .seed = DIGEST_SEED, .verifies = number % 2 == 1, .map = map};
    struct kvs_error err = {0};
    struct kvs_run run;
    kvs_status status =
        kvs_exec_once(&kvs_exec_cuda, toy.plan, &toy.c, &with, &run, NULL, &err);
    bool is_right = status == (is_refused(c) ? KVS_EUNSUPPORTED : KVS_OK);
    if (!is_right)
        print_message("%s: %s\n", digest_text(c), status == KVS_OK ? "not refused" : err.text);
    if (status != KVS_OK)
        return is_right;
    if (run.digest != expected)
        print_message("another digest of %s\n", digest_text(c));
    is_right = is_right && run.has_digest && run.digest == expected;
    kvs_run_fini(&run);
    return is_right;
}

static void test_matrix(void **state)
{
    (void)state;
    digest_each(stride, is_right);
}

static int tear_down(void **state)
{
    (void)state;
    toy_fini(&toy);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_matrix)};
    if (kvs_cuda_n_gpus() == 0) {
        printf("skipped: %s\n", kvs_cuda_why_none());
        return 77;
    }
    stride = digest_stride(argc, argv);
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
