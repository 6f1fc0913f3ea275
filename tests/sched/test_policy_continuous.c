/*
 * Plans of the policy `continuous`: proved for every way of dividing the work, no edge too few
 * and none too many, nothing in them waits, and what they bring is counted by hand.
 */
#include "tests/sim/toy.h"

#include "sched/bound.h"
#include "tests/models/catalogue.h"

static struct toy toy;

struct streams {
    uint32_t n_parallel, n_rows;
    bool is_unified;
};
static const struct streams streams[] = {{1, 1, false}, {3, 1, false}, {2, 1, true},
                                         {2, 3, false}, {3, 2, true},  {1, 4, false}};
static const uint32_t lookaheads[] = {1, 2, 4, 14};

enum { N_LAYERS = 5 };

static void set_case(uint32_t n_devices, kvs_split_mode mode, const struct streams *s,
                     uint64_t depth, uint32_t n_gen)
{
    kvs_plan_destroy(toy.plan);
    toy_init(&toy, n_devices);
    toy_set_layers(&toy, N_LAYERS);
    toy.llm.hidden = 8;
    toy.llm.rotation_k_bytes = 64;
    toy.llm.rotation_v_bytes = 32;
    toy.c.workload.depth = depth;
    toy.c.workload.n_gen = n_gen;
    toy.c.workload.n_parallel = s->n_parallel;
    toy.c.workload.is_unified = s->is_unified;
    toy.c.workload.n_rows = s->n_rows;
    toy.c.placement.mode = mode;
    toy.c.transport =
        (struct kvs_transport){.lookahead = 1, .budget_bytes = UINT64_MAX, .keeps_tail = true};
}

static struct kvs_decision plan_with(const struct kvs_plan_check_options *how)
{
    struct kvs_decision decision;
    struct kvs_error err = {0};
    kvs_plan_destroy(toy.plan);
    toy.plan = NULL;
    if (kvs_policy_continuous.plan(&toy.c, &decision, &toy.plan, &err) != KVS_OK)
        fail_msg("%s", err.text);
    if (kvs_plan_check(toy.plan, how, NULL, &err) != KVS_OK)
        fail_msg("%u devices, split %d, look-ahead %u, depth %llu: %s", toy.machine.n_devices,
                 (int)toy.c.placement.mode, toy.c.transport.lookahead,
                 (unsigned long long)toy.c.workload.depth, err.text);
    return decision;
}

/* Does the plan run on without waiting, as it should? */
static void expect_continuous(void)
{
    for (size_t s = 0; s < toy.plan->segments.n; s++) {
        const struct kvs_segment *segment = &toy.plan->segments.items[s];
        assert_false(segment->has_barrier);
        assert_int_equal(segment->period, 1);
        for (size_t i = 0; i < segment->ops.n; i++) {
            const struct kvs_op *op = &segment->ops.items[i];
            assert_false(op->flags & KVS_OP_BLOCKS);
            if (op->kind == KVS_OP_WAIT || op->kind == KVS_OP_HOST) {
                assert_int_equal(op->tag, KVS_TAG_SAMPLE);
                assert_int_equal(i, segment->ops.n - (op->kind == KVS_OP_WAIT ? 2 : 1));
            }
        }
    }
}

/* Any number of devices, each way of splitting, each way of keeping streams; over the end of a
 * window, from an empty cache, and in frozen positions. */
static void test_every_plan_is_proven(void **state)
{
    (void)state;
    static const struct {
        uint64_t depth;
        uint32_t n_gen;
        bool is_frozen;
    } runs[] = {{253, 9, false}, {509, 9, false}, {0, 3, false}, {600, 4, true}};
    for (size_t r = 0; r < KVS_COUNT_OF(runs); r++)
        for (size_t s = 0; s < KVS_COUNT_OF(streams); s++)
            for (size_t l = 0; l < KVS_COUNT_OF(lookaheads); l++)
                for (uint32_t n = 1; n <= 4; n++)
                    for (unsigned mode = KVS_SPLIT_NONE; mode <= KVS_SPLIT_TENSOR; mode++) {
                        set_case(n, (kvs_split_mode)mode, &streams[s], runs[r].depth,
                                 runs[r].n_gen);
                        toy.c.workload.is_frozen = runs[r].is_frozen;
                        toy.c.transport.lookahead = lookaheads[l];
                        assert_int_equal(plan_with(NULL).n_declined, 0);
                        expect_continuous();
                    }
}

/* Every token, while the ring of the tail goes round: 512 rows, from row 250 to 810 and more. */
static void test_every_token_is_proven(void **state)
{
    (void)state;
    for (size_t s = 0; s < KVS_COUNT_OF(streams); s++)
        for (unsigned mode = KVS_SPLIT_NONE; mode <= KVS_SPLIT_TENSOR; mode++) {
            bool is_slow = !streams[s].is_unified && mode == KVS_SPLIT_NONE;
            uint32_t n_gen = is_slow ? 560 : 280;
            set_case(mode == KVS_SPLIT_NONE ? 1 : 2, (kvs_split_mode)mode, &streams[s], 250,
                     n_gen);
            toy_set_layers(&toy, 2);
            struct kvs_plan_check_report report;
            assert_int_equal(plan_with(NULL).n_declined, 0);
            TOY_OK(kvs_plan_check(toy.plan, &KVS_PLAN_CHECK_ALL, &report, err));
            assert_int_equal(report.n_tokens, n_gen);
        }
}

/* Some layers on the devices, and a tail for the others. */
static void test_resident_layers(void **state)
{
    (void)state;
    for (uint32_t n_resident = 1; n_resident < N_LAYERS; n_resident++)
        for (unsigned mode = KVS_SPLIT_NONE; mode <= KVS_SPLIT_TENSOR; mode++) {
            set_case(mode == KVS_SPLIT_NONE ? 1 : 2, (kvs_split_mode)mode, &streams[0], 509, 9);
            toy.c.placement.kv_gpu_layers = n_resident;
            assert_int_equal(plan_with(NULL).n_declined, 0);
            expect_continuous();
        }
}

static bool is_real(const char *path, uint32_t segment)
{
    if (strstr(path, " -> "))
        return true;
    /* the only token of the first segment waits for nothing before it */
    return segment == 0 && toy.plan->segments.items[0].n_tokens == 1 &&
           strstr(path, "never waits");
}

/* Each edge is deleted in turn: the checker names the race, or prints the path that implies it. */
static void expect_edges_needed(unsigned *n_refused)
{
    for (uint32_t s = 0; s < toy.plan->segments.n; s++) {
        const struct kvs_segment *segment = &toy.plan->segments.items[s];
        for (uint32_t d = 0; d < segment->deps.n; d++) {
            struct kvs_text path = {0};
            struct kvs_error err = {0};
            assert_int_equal(segment->deps.items[d].kind, KVS_DEP_HAZARD);
            kvs_status status = kvs_plan_explain_dep(toy.plan, s, d, &path, &err);
            if (status == KVS_EPLAN)
                ++*n_refused;
            else if (status != KVS_OK || !is_real(path.data, s))
                fail_msg("%u devices, split %d, look-ahead %u: edge %u of segment %u: %s",
                         toy.machine.n_devices, (int)toy.c.placement.mode,
                         toy.c.transport.lookahead, d, s, path.data);
            kvs_text_fini(&path);
        }
    }
}

static void test_every_edge(void **state)
{
    (void)state;
    for (size_t s = 0; s < KVS_COUNT_OF(streams); s++)
        for (size_t l = 0; l < KVS_COUNT_OF(lookaheads); l += 2)
            for (unsigned mode = KVS_SPLIT_NONE; mode <= KVS_SPLIT_TENSOR; mode++) {
                unsigned n_refused = 0;
                set_case(mode == KVS_SPLIT_NONE ? 1 : 2, (kvs_split_mode)mode, &streams[s], 509,
                         9);
                toy.c.transport.lookahead = lookaheads[l];
                plan_with(NULL);
                expect_edges_needed(&n_refused);
                assert_true(n_refused > 4 * N_LAYERS);
            }
}

static bool makes_rows(const struct kvs_segment *segment, const struct kvs_op *op)
{
    const struct kvs_range *a = kvs_segment_accesses(segment, op);
    for (uint32_t i = 0; op->kind == KVS_OP_COMPUTE && i < op->n_access; i++)
        if (a[i].mode == KVS_ACCESS_WRITE &&
            strstr(toy.plan->buffers.items[a[i].buffer].name, ".tail"))
            return true;
    return false;
}

/* Left out: a delivery, a store, the compute that makes rows. Each is missed by a later token. */
static void test_every_op(void **state)
{
    (void)state;
    for (unsigned mode = KVS_SPLIT_NONE; mode <= KVS_SPLIT_TENSOR; mode++) {
        set_case(mode == KVS_SPLIT_NONE ? 1 : 2, (kvs_split_mode)mode, &streams[0], 765, 9);
        toy_set_layers(&toy, 8); /* more than slots on each device */
        plan_with(NULL);
        struct kvs_segment *first = &toy.plan->segments.items[0];
        for (size_t i = 0; i < first->ops.n; i++) {
            struct kvs_op *op = &first->ops.items[i], kept = *op;
            if (op->tag != KVS_TAG_DELIVER && op->tag != KVS_TAG_STORE &&
                !makes_rows(first, op))
                continue;
            op->kind = KVS_OP_COMPUTE;
            op->n_access = 0;
            op->compute = (struct kvs_op){0}.compute;
            for (size_t s = 1; s < toy.plan->segments.n; s++) /* one structure */
                toy.plan->segments.items[s].ops.items[i].kind = op->kind;
            kvs_status status = kvs_plan_check(toy.plan, NULL, NULL, NULL);
            *op = kept;
            for (size_t s = 1; s < toy.plan->segments.n; s++)
                toy.plan->segments.items[s].ops.items[i].kind = kept.kind;
            if (status != KVS_EPLAN)
                fail_msg("split %u: nobody misses op %zu (%s)", mode, i,
                         kvs_tag_name(kept.tag));
        }
    }
}

static uint64_t bytes_of(const struct kvs_segment *s, kvs_tag tag)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < s->ops.n; i++) {
        const struct kvs_op *op = &s->ops.items[i];
        for (uint32_t k = 0; op->kind == KVS_OP_COPY && op->tag == tag && k < op->n_access;
             k += 2)
            bytes += kvs_range_bytes(&s->accesses.items[op->first_access + k]);
    }
    return bytes;
}

/*
 * One sequence from row 509 on: rows 509, 510 and 511 are of block 1, the next of block 2. Two
 * tokens' rows are left to the tail with each block: deliveries bring 254 rows of 2 x 136 B, then
 * 510. Of five layers two are delivered in the token before. So 5 x 254 rows in the first two
 * tokens, 3 x 254 + 2 x 510 in the third, then 5 x 510.
 */
static void test_bytes(void **state)
{
    (void)state;
    set_case(1, KVS_SPLIT_NONE, &streams[0], 509, 9);
    plan_with(NULL);
    const struct kvs_segment *s = toy.plan->segments.items;
    assert_int_equal(toy.plan->segments.n, 3);
    assert_int_equal(s[0].n_tokens, 2);
    assert_int_equal(s[1].n_tokens, 1);
    assert_int_equal(s[2].n_tokens, 6);
    assert_int_equal(bytes_of(&s[0], KVS_TAG_DELIVER), 272 * 5 * 254);
    assert_int_equal(bytes_of(&s[1], KVS_TAG_DELIVER), 272 * (3 * 254 + 2 * 510));
    assert_int_equal(bytes_of(&s[2], KVS_TAG_DELIVER), 272 * 5 * 510);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(bytes_of(&s[i], KVS_TAG_STORE), 272 * 5);
        assert_int_equal(bytes_of(&s[i], KVS_TAG_INPUT), 4 * 8);
        assert_int_equal(bytes_of(&s[i], KVS_TAG_LATE), 0);
        assert_int_equal(bytes_of(&s[i], KVS_TAG_ROTATION), 0);
    }
    /* before the first token: constants of 96 B, the tail's rows 254 to 508, two windows */
    uint64_t setup = 0;
    for (size_t i = 0; i < toy.plan->setup.n; i += 2)
        setup += kvs_range_bytes(&toy.plan->setup.items[i]);
    assert_int_equal(setup, 96 + 272 * 5 * (509 - 254) + 272 * 2 * 254);
}

/* Layers in the order in which a token delivers them. */
static size_t delivered(const struct kvs_segment *s, uint16_t *layers)
{
    size_t n = 0;
    for (size_t i = 0; i < s->ops.n; i++) {
        const struct kvs_op *op = &s->ops.items[i];
        if (op->tag == KVS_TAG_DELIVER && (n == 0 || layers[n - 1] != op->layer))
            layers[n++] = op->layer;
    }
    return n;
}

/*
 * With look-ahead N, N + 1 stages are there when a token begins: it delivers N + 1, ..., S - 1 and
 * then 0, ..., N of the next token. Look-ahead 14 of 20 stages has 16 slots for them, so two runs
 * of 10: a slot is free again 10 stages later, and so far ahead are deliveries.
 */
static void test_runs_on(void **state)
{
    (void)state;
    static const struct {
        uint32_t lookahead, n_stages, n_ahead;
    } table[] = {{1, 6, 2}, {2, 8, 3}, {2, 16, 3}, {4, 18, 5}, {14, 20, 10}, {3, 2, 2}};
    for (size_t t = 0; t < KVS_COUNT_OF(table); t++) {
        uint16_t layers[2 * TOY_LAYERS];
        uint32_t n = table[t].n_stages;
        set_case(1, KVS_SPLIT_NONE, &streams[0], 509, 9);
        toy_set_layers(&toy, n);
        toy.c.transport.lookahead = table[t].lookahead;
        plan_with(NULL);
        for (size_t s = 0; s < toy.plan->segments.n; s++) {
            assert_int_equal(delivered(&toy.plan->segments.items[s], layers), n);
            for (uint32_t i = 0; i < n; i++)
                assert_int_equal(layers[i], (i + table[t].n_ahead) % n);
        }
    }
}

/* Sixteen stages in three slots: runs of 3 3 2 2 3 3. In nine slots of eight: one each. */
static void test_slots(void **state)
{
    (void)state;
    static const char *const expected[] = {"0120120101012012", "0123456701234567"};
    static const uint32_t lookahead[] = {1, 7};
    for (unsigned t = 0; t < 2; t++) {
        char slots[17] = "";
        set_case(1, KVS_SPLIT_NONE, &streams[0], 509, 1);
        toy_set_layers(&toy, 16);
        toy.c.transport.lookahead = lookahead[t];
        plan_with(NULL);
        const struct kvs_segment *s = &toy.plan->segments.items[0];
        for (size_t i = 0; i < s->ops.n; i++) {
            const struct kvs_op *op = &s->ops.items[i];
            if (op->tag != KVS_TAG_DELIVER)
                continue;
            uint16_t buffer = s->accesses.items[op->first_access + 1].buffer;
            const char *name = toy.plan->buffers.items[buffer].name;
            slots[op->layer] = name[strlen("d0.slot")];
        }
        assert_string_equal(slots, expected[t]);
        assert_int_equal(toy.plan->rings.items[0].n_slots, t == 0 ? 3 : 8);
    }
}

/* Without a hidden state nothing crosses, and the next device still waits for the one before. */
static void test_hop(void **state)
{
    (void)state;
    for (unsigned hidden = 0; hidden <= 8; hidden += 8) {
        set_case(2, KVS_SPLIT_LAYER, &streams[0], 509, 3);
        toy.llm.hidden = hidden;
        plan_with(NULL);
        const struct kvs_segment *s = &toy.plan->segments.items[0];
        unsigned n_hops = 0, n_pacing = 0;
        for (size_t i = 0; i < s->ops.n; i++)
            n_hops += s->ops.items[i].tag == KVS_TAG_HOP;
        for (size_t d = 0; d < s->deps.n; d++)
            n_pacing += s->deps.items[d].kind == KVS_DEP_PACING;
        assert_int_equal(n_hops, hidden > 0 ? 2 : 0);
        assert_int_equal(n_pacing, hidden > 0 ? 0 : 1);
    }
}

static double token_us(const struct kvs_policy *policy)
{
    kvs_plan_destroy(toy.plan);
    toy.plan = NULL;
    TOY_OK(policy->plan(&toy.c, NULL, &toy.plan, err));
    toy_run_with(&toy, (struct kvs_exec_options){0});
    double us = (double)toy.run.total_ps * 1e-6 / toy.c.workload.n_gen;
    kvs_run_fini(&toy.run);
    return us;
}

/*
 * Windows of 510 rows take 138.72 us, eight of them 1.110 ms a token. Compute of 0.5 ms lies
 * below that, of 2 ms above; sampling of 0.2 ms, calls and waits of a microsecond or less.
 * Within a percent of the bound either way, and where copies are the longer side, ahead of
 * pipelined.
 */
static void test_time(void **state)
{
    (void)state;
    static const uint64_t params[] = {31000, 125000};
    for (unsigned i = 0; i < 2; i++) {
        set_case(1, KVS_SPLIT_NONE, &streams[0], 520, 100);
        toy_set_layers(&toy, 8);
        for (uint32_t l = 0; l < 8; l++)
            toy.layers[l].pre_params = toy.layers[l].post_params = params[i];
        toy_price_weights(&toy);
        toy.machine.host.between_tokens = toy_us(200);
        toy.machine.host.hop = toy_us(0.5);
        toy.machine.host.sync = toy_us(1);
        toy.machine.host.graph_launch = toy_us(1);
        toy.machine.host.copy_call = toy_us(1);
        struct kvs_bound b;
        TOY_OK(kvs_bound_of(&toy.c, &b, err));
        assert_int_equal(b.term, i == 0 ? KVS_BOUND_LINK : KVS_BOUND_COMPUTE);
        double bound_us = (double)b.total_ps * 1e-6;
        double us = token_us(&kvs_policy_continuous);
        if (us < bound_us * (1 - 1e-9) || us > 1.01 * bound_us)
            fail_msg("%.3f us a token, the bound is %.3f (%s)", us, bound_us, b.name);
        assert_true(us < token_us(&kvs_policy_pipelined));
    }
}

static struct kvs_decision declined(kvs_decline reason)
{
    struct kvs_decision decision = plan_with(NULL);
    assert_int_equal(decision.ring.decline, reason);
    assert_int_equal(decision.n_declined, decision.n_segments);
    assert_int_equal(decision.n_segments, toy.plan->segments.n);
    assert_string_equal(toy.plan->policy, "continuous");
    const struct kvs_segment *s = &toy.plan->segments.items[0];
    assert_true(bytes_of(s, KVS_TAG_WINDOW) > 0); /* ordered */
    assert_int_equal(bytes_of(s, KVS_TAG_DELIVER), 0);
    return decision;
}

/* What it cannot do, it leaves to the ordered plan, and says why. */
static void test_declines(void **state)
{
    (void)state;
    set_case(2, KVS_SPLIT_LAYER, &streams[0], 509, 9);
    toy.c.workload.is_pinned = false;
    declined(KVS_DECLINE_PAGEABLE);
    set_case(2, KVS_SPLIT_TENSOR, &streams[0], 509, 9);
    toy.llm.swa_window = 100;
    toy.layers[3].kind = KVS_LAYER_SWA;
    declined(KVS_DECLINE_SLIDING_WINDOW);
    set_case(1, KVS_SPLIT_NONE, &streams[0], 509, 9);
    toy.c.transport.budget_bytes = 1000;
    declined(KVS_DECLINE_BUDGET);
    set_case(1, KVS_SPLIT_NONE, &streams[0], 509, 9);
    toy.c.transport.lookahead = 0;
    declined(KVS_DECLINE_LOOKAHEAD);
    set_case(1, KVS_SPLIT_NONE, &streams[0], 509, 9);
    toy.llm.is_v_transposed = true;
    declined(KVS_DECLINE_V_TRANSPOSED);
}

/* The first two layers slide, but stay on the device: the others keep a tail. */
static void test_sliding_window_resident(void **state)
{
    (void)state;
    set_case(1, KVS_SPLIT_NONE, &streams[0], 509, 9);
    toy.llm.swa_window = 100;
    toy.layers[0].kind = toy.layers[1].kind = KVS_LAYER_SWA;
    toy.c.placement.kv_gpu_layers = 2;
    assert_int_equal(plan_with(NULL).n_declined, 0);
    expect_continuous();
    toy.c.placement.kv_gpu_layers = N_LAYERS; /* nothing left to do: not a decline */
    assert_int_equal(plan_with(NULL).n_declined, 0);
}

/*
 * Rings of 768 rows: 3 x 2 x 768 x 136 B, and five tails of 2 x 512 x 136 B. One byte less than
 * both do not fit; with them fits a look-ahead.
 */
static void test_tail_takes_memory(void **state)
{
    (void)state;
    set_case(1, KVS_SPLIT_NONE, &streams[0], 509, 9);
    uint64_t need = 3 * 2 * 768 * 136 + 5 * 2 * 512 * 136;
    assert_int_equal(kvs_case_tail_bytes(&toy.c, 0), 5 * 2 * 512 * 136);
    toy.devices[0].is_memory_known = true;
    for (uint64_t missing = 0; missing < 2; missing++) {
        toy.devices[0].memory_bytes = toy_figure((double)(need - missing));
        if (missing > 0)
            assert_int_equal(declined(KVS_DECLINE_HEADROOM).ring.free_bytes,
                             3 * 2 * 768 * 136 - 1);
        else
            assert_int_equal(plan_with(NULL).n_declined, 0);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_plan_is_proven),
        cmocka_unit_test(test_every_token_is_proven),
        cmocka_unit_test(test_resident_layers),
        cmocka_unit_test(test_every_edge),
        cmocka_unit_test(test_every_op),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_runs_on),
        cmocka_unit_test(test_slots),
        cmocka_unit_test(test_hop),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_declines),
        cmocka_unit_test(test_sliding_window_resident),
        cmocka_unit_test(test_tail_takes_memory),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
