/*
 * Plans of the built-in policies: every one passes the checker, no hazard edge can be left out
 * without a race or another path, and what they move is what a token needs.
 */
#include "tests/sim/toy.h"

#include "tests/models/catalogue.h"

static struct toy toy;

struct option {
    const char *name;
    const struct kvs_policy *policy;
    struct kvs_transport transport;
};

#define PIPELINED(n, s, y, l)                                                                  \
    {                                                                                          \
        "pipelined " #n " " #s " " #y " " #l, &kvs_policy_pipelined,                           \
        {                                                                                      \
            .lookahead = (n), .budget_bytes = UINT64_MAX, .streams = KVS_STREAMS_##s,          \
            .yield = KVS_YIELD_##y, .late = KVS_LATE_##l                                       \
        }                                                                                      \
    }

static const struct option options[] = {
    {"resident", &kvs_policy_resident, {.budget_bytes = UINT64_MAX}},
    {"ordered", &kvs_policy_ordered, {.budget_bytes = UINT64_MAX}},
    {"declined", &kvs_policy_pipelined, {.lookahead = 1, .budget_bytes = 1}},
    PIPELINED(1, ONE, NONE, COPY),
    PIPELINED(2, ONE, NONE, COPY),
    PIPELINED(4, ONE, NONE, KERNEL),
    PIPELINED(14, ONE, NONE, COPY),
    PIPELINED(1, ONE, LAYER, COPY),
    PIPELINED(1, ONE, KV, COPY),
    PIPELINED(2, ONE, KV, KERNEL),
    PIPELINED(1, PER_SLOT, NONE, COPY),
    PIPELINED(2, PER_SLOT, NONE, KERNEL),
    PIPELINED(1, PER_SLOT, LAYER, COPY),
    PIPELINED(2, PER_SLOT, KV, COPY),
};

struct streams {
    uint32_t n_parallel;
    bool is_unified;
    bool is_pinned;
};
static const struct streams streams[] = {{1, false, true}, {3, false, true}, {2, true, false}};

enum { N_LAYERS = 5, DEPTH = 253, N_GEN = 9 }; /* the window grows from 256 to 512 rows */

static void set_case(uint32_t n_devices, kvs_split_mode mode, const struct option *o,
                     const struct streams *s)
{
    toy_init(&toy, n_devices);
    toy_set_layers(&toy, N_LAYERS);
    toy.llm.hidden = 8;
    toy.llm.rotation_k_bytes = 64;
    toy.llm.rotation_v_bytes = 32;
    toy.c.workload.depth = DEPTH;
    toy.c.workload.n_gen = N_GEN;
    toy.c.workload.n_parallel = s->n_parallel;
    toy.c.workload.is_unified = s->is_unified;
    toy.c.workload.is_pinned = s->is_pinned;
    toy.c.placement.mode = mode;
    toy.c.transport = o->transport;
}

static void plan_of(const struct option *o)
{
    struct kvs_error err = {0};
    kvs_plan_destroy(toy.plan);
    toy.plan = NULL;
    if (o->policy->plan(&toy.c, NULL, &toy.plan, &err) != KVS_OK)
        fail_msg("%s: %s", o->name, err.text);
    if (kvs_plan_check(toy.plan, NULL, NULL, &err) != KVS_OK)
        fail_msg("%s, %u devices, split %d: %s", o->name, toy.machine.n_devices,
                 (int)toy.c.placement.mode, err.text);
}

/* Bytes that a segment's copies with one of two tags bring in one token. */
static uint64_t token_bytes(const struct kvs_segment *s, uint32_t token, kvs_tag a, kvs_tag b)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < s->ops.n; i++) {
        const struct kvs_op *op = &s->ops.items[i];
        if (op->kind != KVS_OP_COPY || (op->tag != a && op->tag != b))
            continue;
        for (uint32_t k = 0; k < op->n_access; k += 2) {
            struct kvs_range r = kvs_range_at(&s->accesses.items[op->first_access + k], token);
            bytes += kvs_range_bytes(&r);
        }
    }
    return bytes;
}

/* K and V of five layers, 136 B a row each, over the window of every stream: 3 tokens at 256
 * rows and 6 at 512 for single sequences; twice 254 cells are 512 rows from the start, 768 from
 * the third on. */
static void expect_window_bytes(const struct option *o, const struct streams *st)
{
    for (size_t s = 0, step = 0; s < toy.plan->segments.n; s++) {
        const struct kvs_segment *segment = &toy.plan->segments.items[s];
        for (uint32_t t = 0; t < segment->n_tokens; t++, step++) {
            uint64_t rows = st->is_unified ? (step < 3 ? 512 : 768) : (step < 3 ? 256 : 512);
            uint64_t n_streams = st->is_unified ? 1 : st->n_parallel;
            uint64_t expected =
                o->policy == &kvs_policy_resident ? 0 : 2 * 136 * rows * n_streams * N_LAYERS;
            assert_int_equal(token_bytes(segment, t, KVS_TAG_DELIVER, KVS_TAG_LATE) +
                                 token_bytes(segment, t, KVS_TAG_WINDOW, KVS_TAG_WINDOW),
                             expected);
        }
    }
}

/* Any number of devices, each way of splitting, each way of keeping streams. */
static void test_every_plan_is_proven(void **state)
{
    (void)state;
    for (size_t o = 0; o < KVS_COUNT_OF(options); o++)
        for (size_t s = 0; s < KVS_COUNT_OF(streams); s++)
            for (uint32_t n = 1; n <= 4; n++)
                for (unsigned mode = KVS_SPLIT_NONE; mode <= KVS_SPLIT_TENSOR; mode++) {
                    set_case(n, (kvs_split_mode)mode, &options[o], &streams[s]);
                    plan_of(&options[o]);
                    expect_window_bytes(&options[o], &streams[s]);
                    toy_fini(&toy);
                }
}

static void explain_edges(const struct option *o, unsigned *n_refused, unsigned *n_implied)
{
    for (uint32_t s = 0; s < toy.plan->segments.n; s++) {
        const struct kvs_segment *segment = &toy.plan->segments.items[s];
        for (uint32_t d = 0; d < segment->deps.n; d++) {
            struct kvs_text path = {0};
            struct kvs_error err = {0};
            bool is_hazard = segment->deps.items[d].kind == KVS_DEP_HAZARD;
            kvs_status status = kvs_plan_explain_dep(toy.plan, s, d, &path, &err);
            if (status == KVS_EPLAN) {
                assert_true(strlen(err.text) > 0);
                if (!is_hazard)
                    fail_msg("%s: pacing edge %u protects bytes: %s", o->name, d, err.text);
                ++*n_refused;
            } else {
                assert_int_equal(status, KVS_OK);
                if (is_hazard && !strstr(path.data, " -> "))
                    fail_msg("%s: hazard edge %u: %s", o->name, d, path.data);
                *n_implied += is_hazard;
            }
            kvs_text_fini(&path);
        }
    }
}

/* Each edge is deleted in turn. Hazard edges: the checker names the race, or prints the path
 * that implies the edge. Pacing edges: never a race. */
static void test_every_edge(void **state)
{
    (void)state;
    const struct {
        uint32_t n_devices;
        kvs_split_mode mode;
    } table[] = {{1, KVS_SPLIT_NONE}, {2, KVS_SPLIT_LAYER}, {2, KVS_SPLIT_TENSOR}};
    for (size_t o = 0; o < KVS_COUNT_OF(options); o++) {
        unsigned n_refused = 0, n_implied = 0;
        for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
            set_case(table[i].n_devices, table[i].mode, &options[o], &streams[i]);
            plan_of(&options[o]);
            explain_edges(&options[o], &n_refused, &n_implied);
            toy_fini(&toy);
        }
        assert_true(n_refused > 0);
    }
}

/* The plan with operation i of its first segment doing nothing, at the same place. */
static kvs_status check_without(uint32_t i, struct kvs_error *err)
{
    struct kvs_op *op = &toy.plan->segments.items[0].ops.items[i], kept = *op;
    op->kind = op->queue == KVS_HOST_QUEUE ? KVS_OP_HOST : KVS_OP_COMPUTE;
    op->flags &= KVS_OP_BLOCKS;
    op->n_access = 0;
    op->compute = (struct kvs_op){0}.compute;
    kvs_status status = kvs_plan_check(toy.plan, NULL, NULL, err);
    *op = kept;
    return status;
}

/* Does a compute leave anything but the hidden state, which stays on its queue? */
static bool leaves_bytes(const struct kvs_segment *segment, const struct kvs_op *op)
{
    const struct kvs_range *a = kvs_segment_accesses(segment, op);
    for (uint32_t i = 0; i < op->n_access; i++)
        if (a[i].mode == KVS_ACCESS_WRITE &&
            !strstr(toy.plan->buffers.items[a[i].buffer].name, ".hidden"))
            return true;
    return false;
}

/* Work whose bytes are not stated: a yield, and what hands the hidden state on. */
static bool is_free(const struct kvs_segment *segment, const struct kvs_op *op)
{
    return op->n_access == 0 || op->tag == KVS_TAG_HOP || op->tag == KVS_TAG_SAMPLE ||
           op->tag == KVS_TAG_INPUT ||
           (op->kind == KVS_OP_COMPUTE && !leaves_bytes(segment, op));
}

/* Each copy, compute and store is left out in turn: the plan is refused. */
static void test_every_op(void **state)
{
    (void)state;
    const struct {
        uint32_t n_devices;
        kvs_split_mode mode;
    } table[] = {{1, KVS_SPLIT_NONE}, {2, KVS_SPLIT_LAYER}, {2, KVS_SPLIT_TENSOR}};
    for (size_t o = 1; o < KVS_COUNT_OF(options); o++)
        for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
            unsigned n = 0;
            set_case(table[i].n_devices, table[i].mode, &options[o], &streams[i]);
            plan_of(&options[o]);
            const struct kvs_segment *segment = &toy.plan->segments.items[0];
            for (uint32_t k = 0; k < segment->ops.n; k++) {
                struct kvs_error err = {0};
                const struct kvs_op *op = &segment->ops.items[k];
                if (is_free(segment, op))
                    continue;
                n++;
                if (check_without(k, &err) != KVS_EPLAN)
                    fail_msg("%s, split %u: nobody misses op %u (%s %s layer %d)\n",
                             options[o].name, (unsigned)table[i].mode, (unsigned)k,
                             kvs_op_kind_name(op->kind), kvs_tag_name(op->tag), op->layer);
            }
            assert_true(n >= 4 * N_LAYERS);
            toy_fini(&toy);
        }
}

/* Edges of one segment between two tags. */
static unsigned count_edges(const struct kvs_segment *s, kvs_dep_kind kind, kvs_tag from,
                            kvs_tag to)
{
    unsigned n = 0;
    for (size_t i = 0; i < s->ops.n; i++) {
        const struct kvs_op *op = &s->ops.items[i];
        for (uint32_t d = op->first_dep; d < op->first_dep + op->n_dep; d++)
            n += s->deps.items[d].kind == kind && op->tag == to &&
                 s->ops.items[s->deps.items[d].op].tag == from;
    }
    return n;
}

static unsigned count_pacing(const struct kvs_segment *s, kvs_tag from, kvs_tag to)
{
    return count_edges(s, KVS_DEP_PACING, from, to);
}

static unsigned count_all_pacing(const struct kvs_segment *s)
{
    unsigned n = 0;
    for (size_t d = 0; d < s->deps.n; d++)
        n += s->deps.items[d].kind == KVS_DEP_PACING;
    return n;
}

/*
 * The transport's own order, and nothing else:
 *   boundary    the host waits for the last delivery and the last compute of every device
 *   per-slot    a delivery waits for the one before it: 5 stages, 4 edges on each device
 * Ordered and resident plans, and declined ones but for the boundary, have none. Under layer
 * split of two devices the first holds 3 of the 5 layers: 2 + 1 edges.
 */
static void test_pacing_edges(void **state)
{
    (void)state;
    const struct {
        uint32_t n_devices;
        kvs_split_mode mode;
        unsigned n_chain;
        kvs_tag last;
    } table[] = {{1, KVS_SPLIT_NONE, 4, KVS_TAG_ATTENTION},
                 {2, KVS_SPLIT_LAYER, 3, KVS_TAG_ATTENTION},
                 {2, KVS_SPLIT_TENSOR, 8, KVS_TAG_BODY}};
    for (size_t o = 0; o < KVS_COUNT_OF(options); o++) {
        for (size_t i = 0; i < KVS_COUNT_OF(table); i++) {
            bool is_pipelined = options[o].policy == &kvs_policy_pipelined;
            bool has_ring = is_pipelined && options[o].transport.budget_bytes > 1;
            bool is_chained = options[o].transport.streams == KVS_STREAMS_PER_SLOT;
            unsigned n = table[i].n_devices;
            set_case(n, table[i].mode, &options[o], &streams[0]);
            plan_of(&options[o]);
            for (size_t s = 0; s < toy.plan->segments.n; s++) {
                const struct kvs_segment *segment = &toy.plan->segments.items[s];
                unsigned n_deliver = count_pacing(segment, KVS_TAG_DELIVER, KVS_TAG_BOUNDARY);
                unsigned n_last = count_pacing(segment, table[i].last, KVS_TAG_BOUNDARY);
                unsigned n_chain = count_pacing(segment, KVS_TAG_DELIVER, KVS_TAG_DELIVER);
                assert_int_equal(n_deliver, has_ring ? n : 0);
                assert_int_equal(n_last, is_pipelined ? n : 0);
                assert_int_equal(n_chain, is_chained ? table[i].n_chain : 0);
                assert_int_equal(count_all_pacing(segment), n_deliver + n_last + n_chain);
            }
            toy_fini(&toy);
        }
    }
}

/* A slot is recycled on the device: of five deliveries into N + 2 slots all but the first N + 2
 * wait for the attention that read the slot before, and each attention waits for its own
 * delivery. */
static void test_slot_edges(void **state)
{
    (void)state;
    for (size_t o = 3; o < KVS_COUNT_OF(options); o++) {
        set_case(1, KVS_SPLIT_NONE, &options[o], &streams[0]);
        plan_of(&options[o]);
        const struct kvs_segment *s = &toy.plan->segments.items[0];
        uint32_t n_slots = options[o].transport.lookahead + 2;
        assert_int_equal(count_edges(s, KVS_DEP_HAZARD, KVS_TAG_ATTENTION, KVS_TAG_DELIVER),
                         n_slots < N_LAYERS ? N_LAYERS - n_slots : 0);
        assert_int_equal(count_edges(s, KVS_DEP_HAZARD, KVS_TAG_DELIVER, KVS_TAG_ATTENTION),
                         N_LAYERS);
        toy_fini(&toy);
    }
}

static unsigned count_ops(const struct kvs_segment *s, kvs_op_kind kind, kvs_tag tag)
{
    unsigned n = 0;
    for (size_t i = 0; i < s->ops.n; i++)
        n += s->ops.items[i].kind == kind && s->ops.items[i].tag == tag;
    return n;
}

/* Without a hidden state nothing crosses to the next device, but it still waits for the one
 * before. */
static void test_hop_without_bytes(void **state)
{
    (void)state;
    for (size_t o = 0; o < KVS_COUNT_OF(options); o++) {
        set_case(2, KVS_SPLIT_LAYER, &options[o], &streams[0]);
        toy.llm.hidden = 0;
        plan_of(&options[o]);
        const struct kvs_segment *s = &toy.plan->segments.items[0];
        bool is_resident = options[o].policy == &kvs_policy_resident;
        kvs_tag before = is_resident ? KVS_TAG_FIRST : KVS_TAG_ATTENTION;
        assert_int_equal(count_ops(s, KVS_OP_COPY, KVS_TAG_HOP), 0);
        assert_int_equal(count_ops(s, KVS_OP_WAIT, KVS_TAG_HOP), 1);
        assert_int_equal(count_pacing(s, before, KVS_TAG_HOP), 1);
        toy_fini(&toy);
    }
}

/* The example model: 17 computes, 32 row stores, 32 window copies; 552.5 MiB at depth 16,384.
 */
static void test_example_ordered(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("qwen3.8-27b");
    toy_init(&toy, 1);
    toy.c.llm = llm;
    toy.c.workload.depth = 16384;
    toy_plan_by(&toy, &kvs_policy_ordered);
    assert_int_equal(toy.plan->segments.n, 1);
    const struct kvs_segment *s = &toy.plan->segments.items[0];
    assert_int_equal(s->n_tokens, 128);
    assert_int_equal(count_ops(s, KVS_OP_COPY, KVS_TAG_STORE), 32);
    assert_int_equal(count_ops(s, KVS_OP_COPY, KVS_TAG_WINDOW), 32);
    assert_int_equal(count_ops(s, KVS_OP_COMPUTE, KVS_TAG_FIRST) +
                         count_ops(s, KVS_OP_COMPUTE, KVS_TAG_ATTENTION),
                     17);
    assert_int_equal(count_ops(s, KVS_OP_COPY, KVS_TAG_ROTATION), 2);
    assert_int_equal(token_bytes(s, 77, KVS_TAG_WINDOW, KVS_TAG_WINDOW) * 2, 1105 * KVS_MIB);
    assert_int_equal(token_bytes(s, 77, KVS_TAG_STORE, KVS_TAG_STORE), 32 * 1088);
    assert_int_equal(token_bytes(s, 0, KVS_TAG_INPUT, KVS_TAG_INPUT), 4 * 5120);
    toy_fini(&toy);
    kvs_llm_destroy(llm);
}

/* Under tensor split K goes to device 0, then to device 1, then V: 64 copies; 128 all-reduces.
 */
static void test_example_tensor_split(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("qwen3.8-27b");
    toy_init(&toy, 2);
    toy.c.llm = llm;
    toy.c.placement.mode = KVS_SPLIT_TENSOR;
    toy.c.workload.depth = 4096;
    toy_plan_by(&toy, &kvs_policy_ordered);
    const struct kvs_segment *s = &toy.plan->segments.items[0];
    assert_int_equal(count_ops(s, KVS_OP_COPY, KVS_TAG_WINDOW), 64);
    assert_int_equal(count_ops(s, KVS_OP_COPY, KVS_TAG_STORE), 64);
    assert_int_equal(count_ops(s, KVS_OP_COLLECTIVE, KVS_TAG_REDUCE), 2 * 128);
    unsigned n = 0;
    for (size_t i = 0; i < s->ops.n && n < 4; i++) {
        const struct kvs_op *op = &s->ops.items[i];
        if (op->tag != KVS_TAG_WINDOW)
            continue;
        assert_int_equal(toy.plan->queues.items[op->queue].device, n++ % 2);
        assert_int_equal(op->flags, KVS_OP_BLOCKS | KVS_OP_2D);
        assert_int_equal(s->accesses.items[op->first_access].width, 544);
    }
    toy_fini(&toy);
    kvs_llm_destroy(llm);
}

/* After enqueuing layer o, deliveries up to o + 1 + N are issued; a token primes N + 1 of them.
 */
static void test_issue_order(void **state)
{
    (void)state;
    for (uint32_t lookahead = 1; lookahead <= 3; lookahead++) {
        toy_init(&toy, 1);
        toy_set_layers(&toy, 8);
        toy.c.workload.depth = 300;
        toy.c.workload.n_gen = 1;
        toy.c.transport.lookahead = lookahead;
        toy_plan_by(&toy, &kvs_policy_pipelined);
        const struct kvs_segment *s = &toy.plan->segments.items[0];
        unsigned delivered = 0, attended = 0;
        for (size_t i = 0; i < s->ops.n; i++) {
            if (s->ops.items[i].tag == KVS_TAG_ATTENTION) {
                unsigned due = attended + lookahead + 1;
                assert_int_equal(delivered, due < 8 ? due : 8);
                attended++;
            }
            if (s->ops.items[i].tag == KVS_TAG_DELIVER)
                delivered += i > 0 && s->ops.items[i - 1].tag == KVS_TAG_DELIVER &&
                             s->ops.items[i - 1].layer == s->ops.items[i].layer;
        }
        assert_int_equal(attended, 8);
        assert_int_equal(delivered, 8);
        assert_int_equal(toy.plan->rings.items[0].n_slots, lookahead + 2);
        toy_fini(&toy);
    }
}

/* Layers that read another layer's cells, on one device and with readers away from the owner.
 */
static void test_shared_cells(void **state)
{
    (void)state;
    struct kvs_llm *llm = catalogue_load("gemma-4-e4b");
    for (uint32_t n = 1; n <= 3; n++)
        for (unsigned mode = KVS_SPLIT_NONE; mode <= KVS_SPLIT_LAYER; mode++)
            for (size_t o = 0; o < 4; o++) {
                toy_init(&toy, n);
                toy.c.llm = llm;
                toy.c.workload.depth = 700;
                toy.c.workload.n_gen = 4;
                toy.c.placement.mode = (kvs_split_mode)mode;
                toy.c.transport = options[o].transport;
                plan_of(&options[o]);
                toy_fini(&toy);
            }
    kvs_llm_destroy(llm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_plan_is_proven), cmocka_unit_test(test_every_edge),
        cmocka_unit_test(test_pacing_edges),         cmocka_unit_test(test_slot_edges),
        cmocka_unit_test(test_hop_without_bytes),    cmocka_unit_test(test_example_ordered),
        cmocka_unit_test(test_example_tensor_split), cmocka_unit_test(test_issue_order),
        cmocka_unit_test(test_shared_cells),         cmocka_unit_test(test_every_op),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
