/* The checker: the good plan of plan_fixture.h passes; each way of spoiling it is named. */
#include "tests/sched/plan_fixture.h"

#include <string.h>

#include "sched/plan_check.h"

/* Checks, expects a refusal whose text and hint contain the given pieces, and destroys the
 * plan. */
static void refuse(struct fixture *f, const char *text, const char *hint)
{
    struct kvs_error err = {0};
    assert_int_equal(kvs_plan_check(f->plan, NULL, NULL, &err), KVS_EPLAN);
    if (!strstr(err.text, text))
        fail_msg("got \"%s\", expected \"%s\"", err.text, text);
    if (hint && !strstr(err.hint, hint))
        fail_msg("got hint \"%s\", expected \"%s\"", err.hint, hint);
    kvs_plan_destroy(f->plan);
}

static void accept(struct fixture *f, struct kvs_plan_check_report *report)
{
    struct kvs_error err = {0};
    if (kvs_plan_check(f->plan, NULL, report, &err) != KVS_OK)
        fail_msg("%s", err.text);
    kvs_plan_destroy(f->plan);
}

static void test_good(void **state)
{
    (void)state;
    struct fixture f = fixture_good();
    struct kvs_plan_check_report report = {0};
    size_t n_ops = fixture_last(&f)->ops.n;
    accept(&f, &report);
    /* 1 boundary, 4 x 2 deliveries, first, 4 x (wait, copy, store, 2 late, attention), 2 at the
     * end */
    assert_int_equal(n_ops, 1 + 8 + 1 + 4 * 6 + 2);
    /* 2 periods + distance 1 + 1 = 4 tokens, and the segment has 4 */
    assert_int_equal(report.n_tokens, 4);
    assert_int_equal(report.n_ops, 4 * n_ops);
    assert_true(report.peak_bytes > 0);
}

static void test_missing_ready(void **state)
{
    (void)state;
    struct fixture f = fixture_good();
    fixture_at(&f, f.attention[2])->n_dep = 0;
    char text[160];
    snprintf(
        text, sizeof text,
        "plan: token 0: op %u (d0.compute compute attention layer 2) reads d0.slot2 bytes [0, "
        "64) while op %u (d0.transfer copy deliver layer 2) may still be writing them",
        f.attention[2], f.ready[2] - 1);
    char hint[64];
    snprintf(hint, sizeof hint, "add a dependency on op %u", f.ready[2] - 1);
    refuse(&f, text, hint);
}

static void test_missing_release(void **state)
{
    (void)state;
    struct fixture f = fixture_good();
    fixture_at(&f, fixture_find(&f, KVS_OP_COPY, KVS_TAG_DELIVER, 3, 0))->n_dep = 0;
    /* slot 0 is read by the attention of layer 0, but the host has waited for that at layer 1's
     * store: the order is implied, as SEMANTICS says of a ring of look-ahead + 2 slots */
    accept(&f, NULL);

    f = fixture_empty(2);
    FIXTURE_OK(kvs_plan_add_segment(f.plan, FIXTURE_TOKENS, false, err));
    fixture_segment(&f, true);
    struct fixture two = f;
    accept(&f, NULL); /* lock step, but correct */

    two = fixture_empty(2);
    FIXTURE_OK(kvs_plan_add_segment(two.plan, FIXTURE_TOKENS, false, err));
    fixture_segment(&two, false);
    refuse(&two,
           "op 12 (d0.transfer copy deliver layer 2) writes d0.slot0 bytes [0, 64) while op 11 "
           "(d0.compute compute attention layer 0) may still be reading them",
           "add a dependency on op 11");
}

static void test_missing_late(void **state)
{
    (void)state;
    struct fixture f = fixture_good();
    kvs_op_id late = fixture_find(&f, KVS_OP_COPY, KVS_TAG_LATE, 1, 0);
    for (unsigned i = 0; i < 2; i++) {
        fixture_access_of(&f, late, i)->rows = 0;
        fixture_access_of(&f, late, i)->rows_step = 0;
    }
    refuse(&f,
           "(d0.compute compute attention layer 1) reads d0.slot1 bytes [64, 128), which were "
           "never written",
           NULL);
}

/* Layer 3 shares slot 0 with layer 0: what is missing was brought for another layer. */
static void test_missing_late_reused_slot(void **state)
{
    (void)state;
    struct fixture f = fixture_good();
    kvs_op_id late = fixture_find(&f, KVS_OP_COPY, KVS_TAG_LATE, 3, 1);
    for (unsigned i = 0; i < 2; i++) {
        fixture_access_of(&f, late, i)->rows = 0;
        fixture_access_of(&f, late, i)->rows_step = 0;
    }
    refuse(
        &f,
        "(d0.compute compute attention layer 3) expects cache.v.3 bytes [64, 128) in d0.slot0 "
        "[192, 256), but op 10 (d0.compute copy late layer 0, token 0) brought cache.v.0 bytes "
        "from 64 on there",
        NULL);
}

static void test_row_short(void **state)
{
    (void)state;
    struct fixture f = fixture_good();
    kvs_op_id id = fixture_find(&f, KVS_OP_COPY, KVS_TAG_DELIVER, 2, 1);
    for (unsigned i = 0; i < 2; i++)
        fixture_access_of(&f, id, i)->rows--;
    refuse(&f,
           "(d0.compute compute attention layer 2) reads d0.slot2 bytes [176, 192), which were "
           "never written",
           NULL);
}

static void test_row_misplaced(void **state)
{
    (void)state;
    struct fixture f = fixture_good();
    kvs_op_id id = fixture_find(&f, KVS_OP_COPY, KVS_TAG_DELIVER, 3, 0);
    fixture_access_of(&f, id, 0)->offset += FIXTURE_ROW;
    for (unsigned i = 0; i < 2; i++)
        fixture_access_of(&f, id, i)->rows--;
    refuse(&f,
           "expects cache.k.3 bytes [0, 48) in d0.slot0 [0, 48), but op 20 (d0.transfer copy "
           "deliver "
           "layer 3, token 0) brought cache.k.3 bytes from 16 on there",
           NULL);

    f = fixture_good();
    fixture_access_of(&f, id, 0)->buffer = (uint16_t)f.cache[1][3];
    refuse(&f, "brought cache.v.3 bytes from 0 on there", NULL);
}

static void test_boundary_too_early(void **state)
{
    (void)state;
    struct fixture f = fixture_good();
    fixture_at(&f, fixture_find(&f, KVS_OP_WAIT, KVS_TAG_SAMPLE, KVS_NO_LAYER, 0))->n_dep = 0;
    refuse(&f, "op 35 (host host sample) reads d0.logits bytes [0, 4) while op 33", NULL);

    f = fixture_good();
    fixture_at(&f, fixture_find(&f, KVS_OP_HOST, KVS_TAG_SAMPLE, KVS_NO_LAYER, 0))->n_access =
        0;
    fixture_at(&f, fixture_find(&f, KVS_OP_WAIT, KVS_TAG_SAMPLE, KVS_NO_LAYER, 0))->n_dep = 0;
    accept(&f, NULL); /* the boundary waits for the last compute */

    f = fixture_good();
    fixture_at(&f, fixture_find(&f, KVS_OP_HOST, KVS_TAG_SAMPLE, KVS_NO_LAYER, 0))->n_access =
        0;
    fixture_at(&f, fixture_find(&f, KVS_OP_WAIT, KVS_TAG_SAMPLE, KVS_NO_LAYER, 0))->n_dep = 0;
    fixture_at(&f, fixture_find(&f, KVS_OP_WAIT, KVS_TAG_BOUNDARY, KVS_NO_LAYER, 0))->n_dep = 0;
    refuse(
        &f,
        "plan: token 1: op 1 (d0.transfer copy deliver layer 0) writes d0.slot0 bytes [64, 80) "
        "while op 31 (d0.compute copy late layer 3, token 0) may still be writing them",
        "add a dependency on op 31 at distance 1");
}

static void test_cycle(void **state)
{
    (void)state;
    struct fixture f = fixture_good();
    struct kvs_segment *s = fixture_last(&f);
    s->deps.items[fixture_at(&f, f.attention[0])->first_dep].op = f.ready[3];
    refuse(&f,
           "op 11 (d0.compute compute attention layer 0) waits for op 21 (d0.transfer copy "
           "deliver "
           "layer 3), which is issued later (cycle)",
           NULL);
    f = fixture_good();
    s = fixture_last(&f);
    s->deps.items[fixture_at(&f, f.attention[0])->first_dep].op = f.attention[0];
    refuse(&f, "waits for itself (cycle)", NULL);
}

static void test_structure(void **state)
{
    (void)state;
    struct fixture f = fixture_good();
    kvs_op_id late = fixture_find(&f, KVS_OP_COPY, KVS_TAG_LATE, 0, 0);
    fixture_access_of(&f, late, 1)->rows--;
    refuse(&f, "reads 64 bytes of cache.k.0 and writes 48 bytes of d0.slot0", NULL);

    f = fixture_good();
    fixture_access_of(&f, late, 1)->offset += FIXTURE_HALF + FIXTURE_HALF;
    refuse(&f, "writes d0.slot0 outside its 256 bytes", NULL);

    /* good at token 0, beyond the buffer at token 3 */
    f = fixture_good();
    kvs_op_id store = fixture_find(&f, KVS_OP_HOST, KVS_TAG_STORE, 1, 0);
    fixture_access_of(&f, store, 1)->offset_step = 64 + 1;
    refuse(&f, "plan: token 3: op 16 (host host store layer 1) writes cache.k.1 outside", NULL);

    f = fixture_good();
    fixture_access_of(&f, late, 0)->rows_step = -2;
    fixture_access_of(&f, late, 1)->rows_step = -2;
    refuse(&f, "below zero", NULL);

    f = fixture_good();
    fixture_access_of(&f, late, 0)->pitch = 8;
    refuse(&f, "rows overlap", NULL);

    f = fixture_good();
    fixture_at(&f, f.attention[0])->queue = KVS_HOST_QUEUE;
    refuse(&f, "must not be on the host's queue", NULL);

    f = fixture_good();
    fixture_at(&f, f.attention[0])->phase = 1;
    refuse(&f, "has phase 1, the segment's period is 1", NULL);

    f = fixture_good();
    strcpy(f.plan->buffers.items[f.slots[1]].name, "d0.slot0");
    refuse(&f, "two buffers are called \"d0.slot0\"", NULL);
}

/* Early takes row 4 + t, which this token stores later. Without waiting it is a race; when the
 * host waits for the delivery there is no race, but the row is the old one. */
static void test_stale(void **state)
{
    (void)state;
    for (unsigned is_blocking = 0; is_blocking < 2; is_blocking++) {
        struct fixture f = fixture_good();
        kvs_op_id early = fixture_find(&f, KVS_OP_COPY, KVS_TAG_DELIVER, 1, 0);
        kvs_op_id late = fixture_find(&f, KVS_OP_COPY, KVS_TAG_LATE, 1, 0);
        for (unsigned i = 0; i < 2; i++) {
            fixture_access_of(&f, early, i)->rows++;
            fixture_access_of(&f, late, i)->rows--;
            fixture_access_of(&f, late, i)->offset += FIXTURE_ROW;
        }
        if (is_blocking) {
            fixture_at(&f, early)->flags |= KVS_OP_BLOCKS;
            refuse(
                &f,
                "expects cache.k.1 bytes [0, 80) in d0.slot1 [0, 80), but they are stale: op 3 "
                "(d0.transfer copy deliver layer 1, token 0) took them before op 16 (host host "
                "store layer 1, token 0) wrote [64, 80)",
                NULL);
        } else {
            refuse(&f,
                   "op 16 (host host store layer 1) writes cache.k.1 bytes [64, 80) while op 3 "
                   "(d0.transfer copy deliver layer 1) may still be reading them",
                   "add a dependency on op 3");
        }
    }
}

/* Bytes that setup brought are there, and are those they were copied from. */
static void test_setup(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 3; round++) {
        struct fixture f = {0};
        uint32_t cache, slot;
        struct kvs_error fault = {0};
        FIXTURE_OK(kvs_plan_create("setup", 1, &f.plan, err));
        FIXTURE_OK(kvs_plan_add_queue(f.plan, 0, "d0.compute", &f.q_compute, err));
        struct kvs_buffer host = {
            .name = "cache", .size_bytes = 64, .valid_bytes = 64, .device = KVS_HOST_DEVICE};
        struct kvs_buffer device = {
            .name = "slot", .size_bytes = 64, .place = KVS_PLACE_DEVICE};
        FIXTURE_OK(kvs_plan_add_buffer(f.plan, &host, &cache, err));
        FIXTURE_OK(kvs_plan_add_buffer(f.plan, &device, &slot, err));
        struct kvs_range from = fixture_range(cache, round == 1 ? 16 : 0, 32);
        struct kvs_range to = fixture_range(slot, 0, 32);
        if (round < 2)
            FIXTURE_OK(kvs_plan_add_setup(f.plan, &from, &to, err));
        FIXTURE_OK(kvs_plan_add_segment(f.plan, 2, false, err));
        struct kvs_op op = {.kind = KVS_OP_COMPUTE, .tag = KVS_TAG_ATTENTION, .queue = 1};
        FIXTURE_OK(kvs_plan_add_op(f.plan, &op, NULL, err));
        fixture_access(&f, to, KVS_ACCESS_READ);
        fixture_access(&f, fixture_range(cache, 0, 32), KVS_ACCESS_EXPECT);
        kvs_status status = kvs_plan_check(f.plan, NULL, NULL, &fault);
        assert_int_equal(status, round == 0 ? KVS_OK : KVS_EPLAN);
        if (round == 1)
            assert_non_null(strstr(fault.text, "expects cache bytes [0, 32) in slot"));
        if (round == 2)
            assert_non_null(strstr(fault.text, "never written"));
        kvs_plan_destroy(f.plan);
    }
}

/* A compute reads and writes in the order in which its accesses stand. */
static void test_compute_reads_what_it_wrote(void **state)
{
    (void)state;
    for (unsigned is_late = 0; is_late < 2; is_late++) {
        struct fixture f = fixture_empty(3);
        struct kvs_range row = fixture_range(f.fresh, 0, FIXTURE_ROW);
        FIXTURE_OK(kvs_plan_add_segment(f.plan, 2, false, err));
        fixture_op(&f, KVS_OP_COMPUTE, KVS_TAG_FIRST, f.q_compute, 0, 0);
        if (!is_late)
            fixture_access(&f, row, KVS_ACCESS_WRITE);
        fixture_access(&f, row, KVS_ACCESS_READ);
        fixture_access(&f, row, KVS_ACCESS_FRESH);
        if (is_late)
            fixture_access(&f, row, KVS_ACCESS_WRITE);
        if (is_late)
            refuse(&f, "reads d0.new bytes [0, 16), which were never written", NULL);
        else
            accept(&f, NULL);
    }
}

/* Row 0 of the cache is made on the device in each token, and delivered: it has to be stored
 * before that, and the other half of it (16 bytes of 32) is not missed. */
static void test_made_and_stored(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 3; round++) {
        struct fixture f = fixture_empty(3);
        struct kvs_range made = fixture_range(f.fresh, 0, FIXTURE_ROW);
        struct kvs_range cells = fixture_range(f.cache[0][0], 0, FIXTURE_ROW);
        struct kvs_range both = fixture_range(f.cache[0][0], 0, 2 * FIXTURE_ROW);
        struct kvs_range slot = fixture_range(f.slots[0], 0, 2 * FIXTURE_ROW);
        FIXTURE_OK(kvs_plan_add_segment(f.plan, 2, false, err));
        kvs_op_id last = fixture_op(&f, KVS_OP_COMPUTE, KVS_TAG_FIRST, f.q_compute, 0, 0);
        fixture_access(&f, made, KVS_ACCESS_WRITE);
        fixture_access(&f, cells, KVS_ACCESS_CELLS);
        if (round > 0) {
            fixture_op(&f, KVS_OP_COPY, KVS_TAG_STORE, f.q_transfer, 0,
                       KVS_OP_D2H | KVS_OP_BLOCKS);
            fixture_dep(&f, last, 0);
            fixture_access(&f, made, KVS_ACCESS_READ);
            if (round == 2) /* another row of the cache */
                cells.offset += 2 * FIXTURE_ROW;
            fixture_access(&f, cells, KVS_ACCESS_WRITE);
        }
        fixture_op(&f, KVS_OP_COPY, KVS_TAG_DELIVER, f.q_compute, 0, 0);
        fixture_access(&f, both, KVS_ACCESS_READ);
        fixture_access(&f, slot, KVS_ACCESS_WRITE);
        fixture_op(&f, KVS_OP_COMPUTE, KVS_TAG_ATTENTION, f.q_compute, 0, 0);
        fixture_access(&f, slot, KVS_ACCESS_READ);
        fixture_access(&f, both, KVS_ACCESS_EXPECT);
        if (round == 1)
            accept(&f, NULL);
        else
            refuse(&f,
                   "expects cache.k.0 bytes from 0 on, which op 0 (d0.compute compute first "
                   "layer 0, token 0) made anew: they have not been stored there",
                   NULL);
    }
}

static void test_not_fresh(void **state)
{
    (void)state;
    struct fixture f = fixture_good();
    kvs_op_id store = fixture_find(&f, KVS_OP_HOST, KVS_TAG_STORE, 2, 0);
    fixture_at(&f, store)->n_access = 2; /* K only */
    refuse(&f, "needs cache.v.2 bytes [64, 80) of this token, they are older", NULL);
}

/* Every dependency is needed, or a path implies it. By hand: what protects bytes in this plan
 * is the host's wait before each store and `ready`; `release` and one half of the boundary are
 * implied. */
static void test_every_dep(void **state)
{
    (void)state;
    struct fixture f = fixture_good();
    const struct kvs_segment *s = fixture_last(&f);
    unsigned n_refused = 0;
    for (uint32_t d = 0; d < s->deps.n; d++) {
        struct kvs_text path = {0};
        struct kvs_error err = {0};
        kvs_status status = kvs_plan_explain_dep(f.plan, 0, d, &path, &err);
        if (status == KVS_EPLAN) {
            assert_non_null(strstr(err.text, "may still be"));
            n_refused++;
        } else {
            assert_int_equal(status, KVS_OK);
            if (!strstr(path.data, " -> op "))
                fail_msg("dependency %u: %s", d, path.data);
        }
        kvs_text_fini(&path);
    }
    /* ready: 4; consumer: 4 (the store copy reads what compute writes); logits: 1 */
    assert_int_equal(n_refused, 9);
    kvs_plan_destroy(f.plan);
}

static void test_path(void **state)
{
    (void)state;
    struct fixture f = fixture_good();
    kvs_op_id release = fixture_find(&f, KVS_OP_COPY, KVS_TAG_DELIVER, 3, 0);
    struct kvs_text path = {0};
    struct kvs_error err = {0};
    assert_int_equal(
        kvs_plan_explain_dep(f.plan, 0, fixture_at(&f, release)->first_dep, &path, &err),
        KVS_OK);
    /* attention 0 -> consumer wait of layer 1 -> store (the host's, after it) -> deliver 3 */
    assert_string_equal(path.data, "op 11 (d0.compute compute attention layer 0, token 0) -> "
                                   "op 14 (host wait consumer layer 1, token 0) -> "
                                   "op 16 (host host store layer 1, token 0) -> "
                                   "op 20 (d0.transfer copy deliver layer 3, token 0)");
    kvs_text_fini(&path);
    kvs_plan_destroy(f.plan);
}

/* Two devices that only reduce; `members` gives the queue of each collective, `groups` its
 * group. */
static struct fixture reduce(const uint16_t *members, const uint32_t *groups, unsigned n,
                             uint32_t n_members)
{
    struct fixture f = {0};
    FIXTURE_OK(kvs_plan_create("reduce", 2, &f.plan, err));
    FIXTURE_OK(kvs_plan_add_queue(f.plan, 0, "d0.compute", &f.q_compute, err));
    FIXTURE_OK(kvs_plan_add_queue(f.plan, 1, "d1.compute", &f.q_transfer, err));
    FIXTURE_OK(kvs_plan_add_segment(f.plan, 2, false, err));
    for (unsigned i = 0; i < n; i++) {
        kvs_op_id id = fixture_op(&f, KVS_OP_COLLECTIVE, KVS_TAG_REDUCE, members[i], 0, 0);
        fixture_at(&f, id)->collective.group = groups[i];
        fixture_at(&f, id)->collective.n_members = n_members;
    }
    return f;
}

static void test_collectives(void **state)
{
    (void)state;
    struct fixture f = reduce((uint16_t[]){1, 2}, (uint32_t[]){7, 7}, 2, 2);
    accept(&f, NULL);
    f = reduce((uint16_t[]){1, 2, 2, 1}, (uint32_t[]){7, 7, 8, 8}, 4, 2);
    accept(&f, NULL);
    f = reduce((uint16_t[]){1}, (uint32_t[]){7}, 1, 2);
    refuse(&f, "is a member of collective 7, which has 2 members, but 1 stands here", NULL);
    f = reduce((uint16_t[]){1, 1}, (uint32_t[]){7, 7}, 2, 2);
    refuse(&f, "is a second member of collective 7 on device 0", NULL);
    /* the first member waits for the collective, whose second member is not issued yet */
    f = reduce((uint16_t[]){1, 2}, (uint32_t[]){7, 7}, 2, 2);
    fixture_at(&f, 0)->flags |= KVS_OP_BLOCKS;
    refuse(&f, "op 0 (d0.compute collective reduce layer 0)", NULL);
    f = reduce((uint16_t[]){1, 2}, (uint32_t[]){7, 7}, 2, 2);
    fixture_dep(&f, 0, 0);
    refuse(&f,
           "op 1 (d1.compute collective reduce layer 0) is a member of collective 7 and stands "
           "behind another member of it (cycle)",
           NULL);
}

/* Executors take the members of a collective from where its first one stands. */
static void test_collectives_in_pieces(void **state)
{
    (void)state;
    struct fixture f = reduce((uint16_t[]){1, 1, 2, 2}, (uint32_t[]){7, 8, 7, 8}, 4, 2);
    refuse(&f,
           "op 0 (d0.compute collective reduce layer 0) is a member of collective 7, which "
           "has 2 members, but 1 stands here: they must follow one another",
           NULL);
    f = reduce((uint16_t[]){1, 2, 1, 2}, (uint32_t[]){7, 7, 7, 7}, 4, 2);
    refuse(&f, "has 2 members, but 4 stand here", NULL);
    f = reduce((uint16_t[]){1, 2, 1, 2, 1, 2}, (uint32_t[]){7, 7, 8, 8, 7, 7}, 6, 2);
    refuse(&f,
           "op 4 (d0.compute collective reduce layer 0) begins another collective 7 in this "
           "segment, after op 0",
           NULL);
    f = reduce((uint16_t[]){1, 2}, (uint32_t[]){7, 7}, 2, 2);
    fixture_at(&f, 1)->collective.n_members = 3;
    refuse(&f,
           "op 1 (d1.compute collective reduce layer 0) is a member of collective 7 and "
           "says it has 3 members, op 0 says 2",
           NULL);
    f = reduce((uint16_t[]){1, 2}, (uint32_t[]){7, 7}, 2, 2);
    fixture_last(&f)->period = 2;
    fixture_at(&f, 1)->phase = 1;
    refuse(&f, "is a member of collective 7 in phase 1, op 0 in phase 0", NULL);
}

/* A host buffer written on device 0's queue, read on device 1's behind a collective of n
 * devices. */
static void check_collective_order(uint16_t n, bool has_collective)
{
    struct fixture f = {0};
    uint16_t queues[32];
    FIXTURE_OK(kvs_plan_create("reduce", n, &f.plan, err));
    for (uint16_t d = 0; d < n; d++) {
        char name[24];
        snprintf(name, sizeof name, "d%u.compute", d);
        FIXTURE_OK(kvs_plan_add_queue(f.plan, d, name, &queues[d], err));
    }
    uint32_t shared = fixture_buffer(&f, KVS_PLACE_HOST_PINNED, 16, 0, "shared", -1);
    FIXTURE_OK(kvs_plan_add_segment(f.plan, 8, false, err));
    for (unsigned round = 0; round < 2; round++) {
        fixture_op(&f, KVS_OP_COMPUTE, KVS_TAG_FIRST, queues[round], 0, 0);
        fixture_access(&f, fixture_range(shared, 0, 16),
                       round ? KVS_ACCESS_READ : KVS_ACCESS_WRITE);
        for (uint16_t d = 0; has_collective && d < n; d++) {
            kvs_op_id id = fixture_op(&f, KVS_OP_COLLECTIVE, KVS_TAG_REDUCE, queues[d], 0, 0);
            fixture_at(&f, id)->collective.group = round;
            fixture_at(&f, id)->collective.n_members = n;
        }
    }
    if (has_collective)
        accept(&f, NULL);
    else
        refuse(&f, "reads shared bytes [0, 16) while op 0", "add a dependency on op 0");
}

static void test_collective_order(void **state)
{
    (void)state;
    check_collective_order(2, true);
    check_collective_order(2, false);
    check_collective_order(20, true); /* large enough to share what it knows */
    check_collective_order(20, false);
}

/* Copies against their direction, and memory that a device does not reach. */
static void test_places(void **state)
{
    (void)state;
    struct fixture f = fixture_good();
    kvs_op_id late = fixture_find(&f, KVS_OP_COPY, KVS_TAG_LATE, 1, 0);
    fixture_at(&f, late)->flags |= KVS_OP_D2H;
    refuse(&f,
           "(d0.compute copy late layer 1) is a copy from device to host on queue "
           "d0.compute, but reads cache.k.1, a buffer of the host",
           "with d2h from device to host");

    f = fixture_good();
    fixture_access_of(&f, late, 1)->buffer = (uint16_t)f.cache[0][1];
    refuse(&f,
           "is a copy from host to device on queue d0.compute, but writes cache.k.1, a "
           "buffer of the host",
           NULL);

    f = fixture_good();
    fixture_at(&f, late)->flags |= KVS_OP_VIA_KERNEL;
    fixture_access_of(&f, late, 0)->buffer = (uint16_t)f.slots[0];
    refuse(&f,
           "is a copy from host to device on queue d0.compute, but reads d0.slot0, a "
           "buffer of the device",
           NULL);

    f = fixture_good();
    kvs_op_id store = fixture_find(&f, KVS_OP_COPY, KVS_TAG_STORE, 1, 0);
    fixture_at(&f, store)->flags &= (uint8_t)~KVS_OP_D2H;
    refuse(&f,
           "is a copy from host to device on queue d0.blocking, but reads d0.new, a buffer "
           "of the device",
           NULL);
}

static void test_other_device(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct fixture f = fixture_good();
        f.plan->n_devices = 2;
        f.plan->buffers.items[i == 0 ? f.slots[1] : f.logits].device = 1;
        refuse(&f,
               i == 0 ? "op 3 (d0.transfer copy deliver layer 1) writes d0.slot1, a buffer of "
                        "device 1, and its queue d0.transfer is on device 0"
                      : "op 33 (d0.compute compute attention layer 3) writes d0.logits, a "
                        "buffer of device 1, and its queue d0.compute is on device 0",
               NULL);
    }
    /* the host samples from any device's logits */
    struct fixture f = fixture_good();
    f.plan->n_devices = 2;
    f.plan->buffers.items[f.logits].device = 1;
    fixture_at(&f, f.attention[3])->n_access--;
    f.plan->buffers.items[f.logits].valid_bytes = 4;
    accept(&f, NULL);

    /* a phase that the segment is too short for is looked at all the same */
    f = fixture_empty(1);
    FIXTURE_OK(kvs_plan_add_segment(f.plan, 1, false, err));
    fixture_last(&f)->period = 2;
    kvs_op_id never = fixture_op(&f, KVS_OP_COPY, KVS_TAG_LATE, f.q_compute, 0, 0);
    fixture_at(&f, never)->phase = 1;
    refuse(&f, "is a copy with 0 accesses", NULL);
}

static void test_too_many_queues(void **state)
{
    (void)state;
    for (unsigned n = KVS_PLAN_MAX_QUEUES_PER_DEVICE; n <= KVS_PLAN_MAX_QUEUES_PER_DEVICE + 1;
         n++) {
        struct fixture f = fixture_good();
        for (unsigned i = 3; i < n; i++) {
            char name[24];
            uint16_t queue;
            snprintf(name, sizeof name, "d0.more%u", i);
            FIXTURE_OK(kvs_plan_add_queue(f.plan, 0, name, &queue, err));
        }
        if (n == 64)
            accept(&f, NULL);
        else
            refuse(&f, "plan: queue d0.more64 is one too many on device 0: at most 64", NULL);
    }
}

/* A ring that runs on across tokens: one layer, two slots, period 2, and the delivery for token
 * t + 1 is issued in token t. */
static struct fixture periodic(uint32_t n_tokens, bool has_release)
{
    struct fixture f = fixture_empty(2);
    FIXTURE_OK(kvs_plan_add_segment(f.plan, n_tokens, false, err));
    fixture_last(&f)->period = 2;
    for (uint16_t phase = 0; phase < 2; phase++) {
        kvs_op_id copy = fixture_op(&f, KVS_OP_COPY, KVS_TAG_DELIVER, f.q_transfer, 0, 0);
        fixture_at(&f, copy)->phase = phase;
        if (has_release)
            fixture_dep(&f, copy + 1, 2);
        fixture_access(&f, fixture_range(f.cache[0][0], 0, 64), KVS_ACCESS_READ);
        fixture_access(&f, fixture_range(f.slots[phase], 0, 64), KVS_ACCESS_WRITE);
        kvs_op_id use = fixture_op(&f, KVS_OP_COMPUTE, KVS_TAG_ATTENTION, f.q_compute, 0, 0);
        fixture_at(&f, use)->phase = phase;
        fixture_dep(&f, copy, 0);
        fixture_access(&f, fixture_range(f.slots[phase], 0, 64), KVS_ACCESS_READ);
        fixture_access(&f, fixture_range(f.cache[0][0], 0, 64), KVS_ACCESS_EXPECT);
    }
    return f;
}

static void test_period(void **state)
{
    (void)state;
    struct kvs_plan_check_report report = {0};
    struct fixture f = periodic(100, true);
    accept(&f, &report);
    assert_int_equal(report.n_tokens, 2 * 2 + 2 + 1);
    f = periodic(100, false);
    refuse(
        &f,
        "plan: token 2: op 0 (d0.transfer copy deliver layer 0) writes d0.slot0 bytes [0, 64) "
        "while op 1 (d0.compute compute attention layer 0, token 0) may still be reading",
        "add a dependency on op 1 at distance 2");
    f = periodic(100, true);
    fixture_last(&f)->deps.items[0].distance = 1;
    refuse(&f,
           "waits at distance 1 for op 1 (d0.compute compute attention layer 0), which runs in "
           "phase 0, not 1",
           NULL);
}

/* Two segments; the second begins where the first has stored rows up to. Row stores alone, 100
 * tokens each: most are leapt over, and the read at the end of the second still finds every
 * row. */
static struct fixture growing(bool has_barrier, uint32_t n_first)
{
    struct fixture f = fixture_empty(1);
    uint32_t rows = fixture_buffer(&f, KVS_PLACE_HOST_PINNED, 16 * 256, 0, "rows", -1);
    for (unsigned s = 0; s < 2; s++) {
        FIXTURE_OK(kvs_plan_add_segment(f.plan, s ? 100 : n_first, s && has_barrier, err));
        fixture_op(&f, KVS_OP_HOST, KVS_TAG_STORE, KVS_HOST_QUEUE, 0, 0);
        fixture_access(&f, fixture_rows(rows, 0, s ? 100 : 0, 1, 1, 0), KVS_ACCESS_WRITE);
        fixture_op(&f, KVS_OP_HOST, KVS_TAG_SAMPLE, KVS_HOST_QUEUE, 0, 0);
        fixture_access(&f, fixture_rows(rows, 0, 0, 0, s ? 101 : 1, 1), KVS_ACCESS_READ);
    }
    return f;
}

static void test_leap(void **state)
{
    (void)state;
    for (unsigned has_barrier = 0; has_barrier < 2; has_barrier++) {
        struct kvs_plan_check_report report = {0};
        struct fixture f = growing(has_barrier, 100);
        accept(&f, &report);
        assert_true(report.n_tokens < 20);
        /* one token fewer: row 99 is missing when the second segment begins */
        f = growing(has_barrier, 99);
        refuse(&f,
               "segment 1, token 0: op 1 (host host sample layer 0) reads rows bytes [1584, "
               "1600), "
               "which were never written",
               NULL);
    }
}

static void test_second_segment(void **state)
{
    (void)state;
    for (unsigned has_barrier = 0; has_barrier < 2; has_barrier++) {
        struct fixture f = fixture_good();
        FIXTURE_OK(kvs_plan_add_segment(f.plan, 1, has_barrier, err));
        fixture_segment(&f, true);
        accept(&f, NULL);
    }
    struct fixture f = fixture_good();
    FIXTURE_OK(kvs_plan_add_segment(f.plan, 1, false, err));
    fixture_op(&f, KVS_OP_HOST, KVS_TAG_SAMPLE, KVS_HOST_QUEUE, 0, 0);
    refuse(&f, "segment 1 has no barrier, but 1 operations and not 36", NULL);
}

/*
 * Rows of 16 bytes: the copy of token t writes row t of a buffer, and the compute of every token
 * reads row 30. Copy and compute are on queues of their own: nothing orders the copy of token 30
 * behind the computes before it. With `n_first` > 0 the copies are in a segment before, and the
 * computes in the second read row 30 that one of those copies may still be writing.
 */
static struct fixture colliding(uint32_t n_first)
{
    struct fixture f = fixture_empty(1);
    uint32_t rows = fixture_buffer(&f, KVS_PLACE_DEVICE, 16 * 128, 16 * 128, "rows", -1);
    for (unsigned s = n_first > 0 ? 0 : 1; s < 2; s++) {
        FIXTURE_OK(kvs_plan_add_segment(f.plan, s == 0 ? n_first : 64, false, err));
        fixture_op(&f, KVS_OP_COPY, KVS_TAG_DELIVER, f.q_transfer, 0, 0);
        fixture_access(&f, fixture_range(f.cache[0][0], 0, 16), KVS_ACCESS_READ);
        bool is_moving = n_first == 0 || s == 0;
        fixture_access(&f, fixture_rows(rows, 0, is_moving ? 0 : 127, is_moving, 1, 0),
                       KVS_ACCESS_WRITE);
        fixture_op(&f, KVS_OP_COMPUTE, KVS_TAG_ATTENTION, f.q_compute, 0, 0);
        fixture_access(&f, fixture_rows(rows, 0, s == 0 ? 126 : 30, 0, 1, 0), KVS_ACCESS_READ);
    }
    return f;
}

static void refuse_unrolled(struct fixture *f, const char *text)
{
    struct kvs_error err = {0};
    /* the short proof does not come that far: this is what unrolling is for */
    assert_int_equal(kvs_plan_check(f->plan, NULL, NULL, &err), KVS_OK);
    assert_int_equal(kvs_plan_check(f->plan, &KVS_PLAN_CHECK_ALL, NULL, &err), KVS_EPLAN);
    if (!strstr(err.text, text))
        fail_msg("got \"%s\", expected \"%s\"", err.text, text);
    kvs_plan_destroy(f->plan);
}

static void test_late_collision(void **state)
{
    (void)state;
    struct fixture f = colliding(0);
    refuse_unrolled(&f, "plan: token 30: op 0 (d0.transfer copy deliver layer 0) writes rows "
                        "bytes [480, 496) while op 1 (d0.compute compute attention layer 0, "
                        "token 0) may still be reading them");
    f = colliding(64);
    refuse_unrolled(&f,
                    "plan: segment 1, token 0: op 1 (d0.compute compute attention layer 0) "
                    "reads rows bytes [480, 496) while op 0 (d0.transfer copy deliver layer "
                    "0, token 30) may still be writing them");
}

/* A token of two operations and three accesses costs a little over six: a budget of 64 ends
 * before token 30, one of 256 does not. */
static void test_budget(void **state)
{
    (void)state;
    struct kvs_plan_check_options options = KVS_PLAN_CHECK_ALL;
    struct kvs_plan_check_report report = {0};
    struct kvs_error err = {0};
    struct fixture f = colliding(0);
    options.max_ops = 64;
    assert_int_equal(kvs_plan_check(f.plan, &options, &report, &err), KVS_OK);
    assert_true(report.is_cut);
    assert_in_range(report.n_tokens, 64 / 7, 64 / 6 + 1);
    options.max_ops = 256;
    assert_int_equal(kvs_plan_check(f.plan, &options, &report, &err), KVS_EPLAN);
    kvs_plan_destroy(f.plan);

    /* the last tokens are proved behind a cut as in the short proof, row 99 included */
    for (uint32_t n_first = 99; n_first <= 100; n_first++) {
        f = growing(false, n_first);
        options.max_ops = 64;
        assert_int_equal(kvs_plan_check(f.plan, &options, &report, &err),
                         n_first == 100 ? KVS_OK : KVS_EPLAN);
        kvs_plan_destroy(f.plan);
    }
    f = growing(true, 100);
    assert_int_equal(kvs_plan_check(f.plan, &KVS_PLAN_CHECK_ALL, &report, &err), KVS_OK);
    assert_false(report.is_cut);
    assert_int_equal(report.n_tokens, 200);
    kvs_plan_destroy(f.plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_missing_ready),
        cmocka_unit_test(test_missing_release),
        cmocka_unit_test(test_missing_late),
        cmocka_unit_test(test_missing_late_reused_slot),
        cmocka_unit_test(test_row_short),
        cmocka_unit_test(test_row_misplaced),
        cmocka_unit_test(test_boundary_too_early),
        cmocka_unit_test(test_cycle),
        cmocka_unit_test(test_structure),
        cmocka_unit_test(test_stale),
        cmocka_unit_test(test_setup),
        cmocka_unit_test(test_compute_reads_what_it_wrote),
        cmocka_unit_test(test_made_and_stored),
        cmocka_unit_test(test_not_fresh),
        cmocka_unit_test(test_every_dep),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_collectives),
        cmocka_unit_test(test_collectives_in_pieces),
        cmocka_unit_test(test_collective_order),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_other_device),
        cmocka_unit_test(test_too_many_queues),
        cmocka_unit_test(test_period),
        cmocka_unit_test(test_leap),
        cmocka_unit_test(test_second_segment),
        cmocka_unit_test(test_late_collision),
        cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
