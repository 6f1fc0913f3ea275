/*
 * Digests: the same workload gives the same one under every policy, look-ahead, budget, split and
 * layout of streams; a wrong byte anywhere gives another.
 */
#include "real/exec_serial.h"
#include "tests/sim/toy.h"

static struct toy toy;

enum { N_LAYERS = 5, DEPTH = 253, N_GEN = 9 }; /* the window grows from 256 to 512 rows */

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
    {&kvs_policy_pipelined, {.lookahead = 1, .budget_bytes = 1}},
    PIPELINED(1, ONE, NONE, COPY),
    PIPELINED(2, PER_SLOT, NONE, KERNEL),
    PIPELINED(4, ONE, KV, COPY),
};

struct streams {
    uint32_t n_parallel, n_rows;
    bool is_unified, is_pinned;
};
static const struct streams streams[] = {
    {1, 1, false, true}, {3, 1, false, true}, {2, 1, true, false}, {2, 3, false, true}};

static void plan_of(uint32_t n_devices, kvs_split_mode mode, const struct option *o,
                    const struct streams *s)
{
    kvs_plan_destroy(toy.plan);
    toy_init(&toy, n_devices);
    toy_set_layers(&toy, N_LAYERS);
    toy.llm.hidden = 8;
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

static uint64_t digest(uint64_t seed, bool verifies)
{
    struct kvs_exec_options options_of_run = {.seed = seed, .verifies = verifies};
    struct kvs_run run;
    TOY_OK(kvs_exec_once(&kvs_exec_serial, toy.plan, &toy.c, &options_of_run, &run, NULL, err));
    assert_true(run.has_digest);
    kvs_run_fini(&run);
    return run.digest;
}

static void test_equal(void **state)
{
    (void)state;
    for (size_t s = 0; s < KVS_COUNT_OF(streams); s++) {
        plan_of(1, KVS_SPLIT_NONE, &options[0], &streams[s]);
        uint64_t expected = digest(1, false);
        for (size_t o = 0; o < KVS_COUNT_OF(options); o++) {
            for (uint32_t n = 1; n <= 4; n++) {
                for (unsigned mode = KVS_SPLIT_NONE; mode <= KVS_SPLIT_TENSOR; mode++) {
                    plan_of(n, (kvs_split_mode)mode, &options[o], &streams[s]);
                    if (digest(1, o % 2 == 1) != expected)
                        fail_msg("%s, %u devices, split %u, streams %zu: another digest",
                                 toy.plan->policy, n, mode, s);
                }
            }
        }
    }
}

/* Another seed, another depth, one token more: another digest. */
static void test_differs(void **state)
{
    (void)state;
    plan_of(1, KVS_SPLIT_NONE, &options[2], &streams[0]);
    uint64_t one = digest(1, false);
    assert_true(digest(2, false) != one);
    plan_of(1, KVS_SPLIT_NONE, &options[2], &streams[1]);
    assert_true(digest(1, false) != one);
}

/* Each copy and store left out, and each copy one row further on: caught by the digest alone. */
static void test_faults(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 2; n++) {
        kvs_split_mode mode = n == 1 ? KVS_SPLIT_NONE : KVS_SPLIT_TENSOR;
        plan_of(n, mode, &options[2], &streams[0]);
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

static int tear_down(void **state)
{
    (void)state;
    kvs_plan_destroy(toy.plan);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_differs),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
