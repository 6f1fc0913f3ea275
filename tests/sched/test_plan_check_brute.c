/*
 * The checker against brute force on small random plans: host and three device queues, up to
 * ten operations a token, three tokens, a buffer of eight bytes.
 *
 * Brute force knows nothing of clocks or queues' histories: known(B), the set of instances that
 * have ended when B starts, is the least fixed point of known(B) = union over the direct
 * predecessors P of B of {P} + known(P). Members of a collective share their predecessors, and
 * each ends when all do. Two conflicting instances A before B in issue order race unless A is
 * in known(B). A plan is stuck when letting everything run that can leaves something that has
 * not.
 */
#include "tests/sched/plan_fixture.h"

#include <string.h>

#include "base/rng.h"
#include "sched/plan_check.h"

enum { BRUTE_TOKENS = 3, BRUTE_MAX = 64, BRUTE_BYTES = 8, BRUTE_RUNS = 5000 };

struct node {
    uint32_t token;
    kvs_op_id id;
    const struct kvs_op *op;
    uint64_t before; /* direct predecessors */
    uint64_t known;
    uint64_t members;      /* of its collective, itself included; itself alone otherwise */
    uint8_t reads, writes; /* a bit per byte of the buffer */
};

struct brute {
    struct node nodes[BRUTE_MAX];
    unsigned n;
};

static uint64_t bit(unsigned i)
{
    return UINT64_C(1) << i;
}

static void brute_accesses(struct node *node, const struct kvs_segment *s)
{
    for (uint32_t i = 0; i < node->op->n_access; i++) {
        const struct kvs_range *r = &s->accesses.items[node->op->first_access + i];
        for (uint64_t row = 0; row < r->rows; row++)
            for (uint64_t column = 0; column < r->width; column++) {
                uint8_t byte = (uint8_t)(1u << (r->offset + row * r->pitch + column));
                if (r->mode == KVS_ACCESS_WRITE)
                    node->writes |= byte;
                else
                    node->reads |= byte;
            }
    }
}

static bool waits_for(const struct kvs_segment *s, const struct node *b, const struct node *a,
                      uint32_t skip)
{
    for (uint32_t i = b->op->first_dep; i < b->op->first_dep + b->op->n_dep; i++)
        if (i != skip && s->deps.items[i].op == a->id &&
            b->token - s->deps.items[i].distance == a->token)
            return true;
    return false;
}

static struct brute brute_make(const struct kvs_plan *plan, uint32_t skip)
{
    struct brute b = {0};
    const struct kvs_segment *s = &plan->segments.items[0];
    for (uint32_t t = 0; t < BRUTE_TOKENS; t++)
        for (kvs_op_id id = 0; id < s->ops.n; id++) {
            struct node *node = &b.nodes[b.n++];
            *node = (struct node){.token = t, .id = id, .op = &s->ops.items[id]};
            brute_accesses(node, s);
        }
    for (unsigned i = 0; i < b.n; i++) {
        struct node *node = &b.nodes[i];
        for (unsigned j = 0; j < i; j++) {
            const struct node *a = &b.nodes[j];
            if (a->op->queue == KVS_HOST_QUEUE || a->op->queue == node->op->queue ||
                a->op->flags & KVS_OP_BLOCKS || waits_for(s, node, a, skip))
                node->before |= bit(j);
        }
        for (unsigned j = 0; j < b.n; j++)
            if (i == j ||
                (node->op->kind == KVS_OP_COLLECTIVE &&
                 b.nodes[j].op->kind == KVS_OP_COLLECTIVE && b.nodes[j].token == node->token &&
                 b.nodes[j].op->collective.group == node->op->collective.group))
                node->members |= bit(j);
    }
    return b;
}

static bool brute_is_stuck(const struct brute *b)
{
    uint64_t ended = 0, last;
    do {
        last = ended;
        for (unsigned i = 0; i < b->n; i++) {
            bool can_run = true;
            for (unsigned j = 0; j < b->n; j++)
                if (b->nodes[i].members & bit(j) && b->nodes[j].before & ~ended)
                    can_run = false;
            if (can_run)
                ended |= b->nodes[i].members;
        }
    } while (ended != last);
    return ended != (b->n == 64 ? UINT64_MAX : bit(b->n) - 1);
}

static void brute_close(struct brute *b)
{
    bool is_changed;
    do {
        is_changed = false;
        for (unsigned i = 0; i < b->n; i++) {
            uint64_t known = 0;
            for (unsigned m = 0; m < b->n; m++)
                if (b->nodes[i].members & bit(m))
                    for (unsigned j = 0; j < b->n; j++)
                        if (b->nodes[m].before & bit(j))
                            known |= b->nodes[j].members | b->nodes[j].known;
            is_changed |= known != b->nodes[i].known;
            b->nodes[i].known = known;
        }
    } while (is_changed);
}

static bool brute_races(const struct brute *b)
{
    for (unsigned j = 0; j < b->n; j++)
        for (unsigned i = 0; i < j; i++) {
            const struct node *a = &b->nodes[i], *c = &b->nodes[j];
            if ((a->writes & (c->reads | c->writes) || a->reads & c->writes) &&
                !(c->known & bit(i)))
                return true;
        }
    return false;
}

static uint32_t below(struct kvs_rng *rng, uint32_t n)
{
    return (uint32_t)kvs_rng_below(rng, n);
}

static struct kvs_range random_range(struct kvs_rng *rng, uint32_t buffer)
{
    struct kvs_range r = {.buffer = (uint16_t)buffer, .rows = 1};
    r.width = 1 + below(rng, 3);
    r.pitch = r.width + below(rng, 3);
    if (below(rng, 2))
        r.rows = 1 + below(rng, (uint32_t)((BRUTE_BYTES - r.width) / r.pitch) + 1);
    r.offset = below(rng, (uint32_t)(BRUTE_BYTES - r.width - (r.rows - 1) * r.pitch) + 1);
    return r;
}

static void random_op(struct fixture *f, struct kvs_rng *rng, uint32_t buffer, unsigned n_ops)
{
    uint16_t queue = (uint16_t)below(rng, 4);
    bool is_wait = queue == KVS_HOST_QUEUE && below(rng, 2);
    kvs_op_kind kind = queue != KVS_HOST_QUEUE ? KVS_OP_COMPUTE
                       : is_wait               ? KVS_OP_WAIT
                                               : KVS_OP_HOST;
    uint8_t flags = kind == KVS_OP_COMPUTE && below(rng, 5) == 0 ? KVS_OP_BLOCKS : 0;
    kvs_op_id id = fixture_op(f, kind, KVS_TAG_FIRST, queue, KVS_NO_LAYER, flags);
    for (unsigned n = below(rng, 3); n > 0; n--) {
        uint16_t distance = (uint16_t)(id == 0 ? 1 : below(rng, 2));
        fixture_dep(f, below(rng, distance ? n_ops : id), distance);
    }
    for (unsigned n = is_wait ? 0 : 1 + below(rng, 2); n > 0; n--)
        fixture_access(f, random_range(rng, buffer),
                       below(rng, 3) ? KVS_ACCESS_READ : KVS_ACCESS_WRITE);
}

static void random_member(struct fixture *f, struct kvs_rng *rng, uint16_t queue,
                          uint32_t group)
{
    kvs_op_id id = fixture_op(f, KVS_OP_COLLECTIVE, KVS_TAG_REDUCE, queue, KVS_NO_LAYER,
                              below(rng, 8) == 0 ? KVS_OP_BLOCKS : 0);
    fixture_at(f, id)->collective.group = group;
    fixture_at(f, id)->collective.n_members = 3;
}

/* Members of the collective, when there is one, stand together or apart. */
static struct kvs_plan *random_plan(struct kvs_rng *rng, bool has_collective, bool is_apart)
{
    struct fixture f = {0};
    FIXTURE_OK(kvs_plan_create("random", 3, &f.plan, err));
    for (uint16_t d = 0; d < 3; d++) {
        uint16_t queue;
        FIXTURE_OK(
            kvs_plan_add_queue(f.plan, d, (const char *[]){"a", "b", "c"}[d], &queue, err));
    }
    uint32_t buffer =
        fixture_buffer(&f, KVS_PLACE_HOST_PINNED, BRUTE_BYTES, BRUTE_BYTES, "bytes", -1);
    FIXTURE_OK(kvs_plan_add_segment(f.plan, BRUTE_TOKENS, false, err));
    unsigned n_plain = 3 + below(rng, has_collective ? 5 : 8);
    unsigned n_ops = n_plain + (has_collective ? 3 : 0);
    unsigned at[3];
    for (unsigned i = 0; i < 3; i++)
        at[i] = i > 0 && !is_apart ? at[0] : below(rng, n_plain + 1);
    for (unsigned i = 0; i <= n_plain; i++) {
        for (uint16_t d = 0; has_collective && d < 3; d++)
            if (at[d] == i)
                random_member(&f, rng, (uint16_t)(d + 1), 5);
        if (i < n_plain)
            random_op(&f, rng, buffer, n_ops);
    }
    return f.plan;
}

static bool brute_accepts(const struct kvs_plan *plan, uint32_t skip, struct brute *out)
{
    *out = brute_make(plan, skip);
    if (brute_is_stuck(out))
        return false;
    brute_close(out);
    return !brute_races(out);
}

/* What the checker says of each dependency, too: a path exactly where the order holds without
 * it. */
static void compare_deps(const struct kvs_plan *plan)
{
    const struct kvs_segment *s = &plan->segments.items[0];
    for (uint32_t d = 0; d < s->deps.n; d++) {
        struct brute b;
        struct kvs_text path = {0};
        bool is_good = brute_accepts(plan, d, &b);
        assert_int_equal(kvs_plan_explain_dep(plan, 0, d, &path, NULL),
                         is_good ? KVS_OK : KVS_EPLAN);
        for (unsigned i = 0; is_good && i < b.n; i++) {
            const struct kvs_op *op = b.nodes[i].op;
            if (d < op->first_dep || d >= op->first_dep + op->n_dep ||
                b.nodes[i].token != s->deps.items[d].distance)
                continue;
            bool is_implied = b.nodes[i].known & bit(s->deps.items[d].op); /* of token 0 */
            if (is_implied != (strstr(path.data, " -> ") != NULL))
                fail_msg("dependency %u: %s", d, path.data);
        }
        kvs_text_fini(&path);
    }
}

static void compare(uint64_t seed, bool has_collective, bool is_apart)
{
    struct kvs_rng *rng = NULL;
    unsigned n_accepted = 0, n_refused = 0;
    assert_int_equal(kvs_rng_create(seed, &rng, NULL), KVS_OK);
    for (unsigned run = 0; run < BRUTE_RUNS; run++) {
        struct kvs_plan *plan = random_plan(rng, has_collective, is_apart);
        struct brute b;
        struct kvs_error err = {0};
        bool is_good = kvs_plan_check(plan, NULL, NULL, &err) == KVS_OK;
        bool is_truly_good = brute_accepts(plan, UINT32_MAX, &b);
        if (is_good != is_truly_good && !(is_apart && !is_good))
            fail_msg("run %u: checker says %s (%s)", run, is_good ? "good" : "bad", err.text);
        if (is_good && !is_apart)
            compare_deps(plan);
        n_accepted += is_good;
        n_refused += !is_good;
        kvs_plan_destroy(plan);
    }
    kvs_rng_destroy(rng);
    /* the plans must not be all of one kind */
    assert_true(n_accepted > BRUTE_RUNS / 100 && n_refused > BRUTE_RUNS / 100);
}

static void test_random(void **state)
{
    (void)state;
    compare(1, false, false);
}

static void test_random_collective(void **state)
{
    (void)state;
    compare(2, true, false);
}

/* Members at random places: apart they are refused, whatever brute force could justify; where
 * they happen to stand together, what the checker accepts is good. */
static void test_random_collective_apart(void **state)
{
    (void)state;
    compare(3, true, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_random_collective),
        cmocka_unit_test(test_random_collective_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
