/*
 * Digests tell: another seed, another workload, a wrong byte anywhere gives another one. That the
 * same workload gives the same one is test_digest_host.c.
 */
#include "real/program.h"
#include "tests/real/digest_case.h"

static uint64_t digest(uint64_t seed, bool verifies)
{
    struct kvs_exec_options options_of_run = {.seed = seed, .verifies = verifies};
    struct kvs_run run;
    TOY_OK(kvs_exec_once(&kvs_exec_serial, toy.plan, &toy.c, &options_of_run, &run, NULL, err));
    assert_true(run.has_digest);
    kvs_run_fini(&run);
    return run.digest;
}

static void test_differs(void **state)
{
    (void)state;
    uint64_t digests[1 + DIGEST_WORKLOADS];
    for (size_t w = 0; w < DIGEST_WORKLOADS; w++)
        digests[w] = digest_reference(&digest_workloads[w]);
    digest_plan_plain(DIGEST_ORDERED, 1);
    assert_true(digest(DIGEST_SEED, false) == digests[DIGEST_ONE_SEQUENCE]);
    digests[DIGEST_WORKLOADS] = digest(DIGEST_SEED + 1, false);
    for (size_t i = 0; i < KVS_COUNT_OF(digests); i++)
        for (size_t k = 0; k < i; k++)
            assert_true(digests[i] != digests[k]);
}

/* Each copy and store left out, and each copy one row further on: caught by the digest alone. */
static void test_faults(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 2; n++) {
        digest_plan_plain(DIGEST_PIPELINED, n);
        uint64_t expected = digest(1, true);
        struct kvs_segment *s = &toy.plan->segments.items[0];
        for (size_t i = 0; i < s->ops.n; i++) {
            struct kvs_op *op = &s->ops.items[i], kept = *op;
            bool counts = op->kind == KVS_OP_COPY &&
                          (op->tag == KVS_TAG_DELIVER || op->tag == KVS_TAG_LATE ||
                           op->tag == KVS_TAG_STORE);
            if (!counts && !(op->kind == KVS_OP_HOST && op->tag == KVS_TAG_STORE))
                continue;
            op->n_access = 0;
            if (digest(1, true) == expected)
                fail_msg("op %zu left out: not seen", i);
            *op = kept;
            struct kvs_range *source = &s->accesses.items[op->first_access];
            source->offset ^= 8;
            if (source->offset + kvs_range_bytes(source) <=
                    toy.plan->buffers.items[source->buffer].size_bytes &&
                digest(1, true) == expected)
                fail_msg("op %zu reads 8 bytes further on: not seen", i);
            source->offset ^= 8;
        }
    }
}

/* New rows are made, and windows read, where the device has them: never in the cache itself. */
static void test_places(void **state)
{
    (void)state;
    for (uint32_t arm = DIGEST_ORDERED; arm < DIGEST_ARMS; arm++) {
        struct kvs_program *program;
        struct digest_case c = digest_plain(arm, 2);
        c.workload = &digest_workloads[DIGEST_STREAMS];
        digest_plan(&c);
        TOY_OK(kvs_program_create(toy.plan, 1, false, &program, err));
        const struct kvs_segment *segment = &toy.plan->segments.items[0];
        size_t n_made = 0, n_read = 0;
        for (size_t i = 0; i < program->segments[0].steps.n; i++) {
            const struct kvs_step *step = &program->segments[0].steps.items[i];
            if (step->kind != KVS_STEP_MAKE && step->kind != KVS_STEP_FOLD)
                continue;
            uint16_t buffer = segment->accesses.items[step->access].buffer;
            assert_int_equal(toy.plan->buffers.items[buffer].place, KVS_PLACE_DEVICE);
            n_made += step->kind == KVS_STEP_MAKE;
            n_read += step->kind == KVS_STEP_FOLD;
        }
        /* K and V at once on each device; rows that stay there have places of their own */
        assert_int_equal(n_made, (arm == DIGEST_CONTINUOUS ? 2 * 3 : 1) * 2 * DIGEST_LAYERS);
        assert_int_equal(n_read, 2 * 2 * 3 * DIGEST_LAYERS); /* K and V of three streams */
        kvs_program_destroy(program);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_differs),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
