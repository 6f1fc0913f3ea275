/* Building plans: what is added is found again, owned once, and survives failing allocations.
 */
#include "tests/sched/plan_fixture.h"

static void test_create(void **state)
{
    (void)state;
    struct kvs_plan *plan = NULL;
    FIXTURE_OK(kvs_plan_create("null", 3, &plan, err));
    assert_string_equal(plan->policy, "null");
    assert_int_equal(plan->n_devices, 3);
    assert_int_equal(plan->queues.n, 1);
    assert_string_equal(plan->queues.items[KVS_HOST_QUEUE].name, "host");
    assert_int_equal(plan->queues.items[KVS_HOST_QUEUE].device, KVS_HOST_DEVICE);
    assert_int_equal(kvs_plan_n_tokens(plan), 0);
    kvs_plan_destroy(plan);
    kvs_plan_destroy(NULL);
}

/* Dependencies and accesses belong to the operation added last. */
static void test_ownership(void **state)
{
    (void)state;
    struct fixture f = fixture_empty(1);
    FIXTURE_OK(kvs_plan_add_segment(f.plan, 7, false, err));
    kvs_op_id a = fixture_op(&f, KVS_OP_COMPUTE, KVS_TAG_FIRST, f.q_compute, 0, 0);
    fixture_access(&f, fixture_range(f.fresh, 0, 16), KVS_ACCESS_WRITE);
    kvs_op_id b = fixture_op(&f, KVS_OP_WAIT, KVS_TAG_CONSUMER, KVS_HOST_QUEUE, 0, 0);
    fixture_dep(&f, a, 0);
    fixture_dep(&f, a, 1);
    kvs_op_id c = fixture_op(&f, KVS_OP_COMPUTE, KVS_TAG_ATTENTION, f.q_compute, 0, 0);
    fixture_access(&f, fixture_range(f.fresh, 0, 16), KVS_ACCESS_READ);
    fixture_access(&f, fixture_range(f.staging, 0, 16), KVS_ACCESS_WRITE);

    assert_int_equal(fixture_at(&f, a)->n_dep, 0);
    assert_int_equal(fixture_at(&f, a)->n_access, 1);
    assert_int_equal(fixture_at(&f, b)->n_access, 0);
    assert_int_equal(fixture_at(&f, b)->n_dep, 2);
    assert_int_equal(fixture_last(&f)->deps.items[fixture_at(&f, b)->first_dep + 1].distance,
                     1);
    assert_int_equal(fixture_at(&f, c)->n_dep, 0);
    assert_int_equal(fixture_at(&f, c)->n_access, 2);
    assert_int_equal(fixture_access_of(&f, c, 0)->mode, KVS_ACCESS_READ);
    assert_int_equal(fixture_access_of(&f, c, 1)->mode, KVS_ACCESS_WRITE);
    assert_int_equal(fixture_access_of(&f, c, 1)->buffer, f.staging);

    FIXTURE_OK(kvs_plan_add_segment(f.plan, 5, true, err));
    assert_int_equal(fixture_op(&f, KVS_OP_COMPUTE, KVS_TAG_FIRST, f.q_compute, 0, 0), 0);
    assert_int_equal(fixture_last(&f)->period, 1);
    assert_true(fixture_last(&f)->has_barrier);
    assert_int_equal(kvs_plan_n_tokens(f.plan), 7 + 5);
    kvs_plan_destroy(f.plan);
}

/* Early of the pipelined transport: 4 rows and one more each token; late: the other way round.
 */
static void test_range_at(void **state)
{
    (void)state;
    struct kvs_range early = fixture_rows(0, 0, 0, 0, 4, 1);
    struct kvs_range late = fixture_rows(0, 0, 4, 1, 4, -1);
    for (uint32_t token = 0; token < 4; token++) {
        struct kvs_range e = kvs_range_at(&early, token), l = kvs_range_at(&late, token);
        assert_int_equal(kvs_range_bytes(&e), (4 + token) * 16);
        assert_int_equal(l.offset, kvs_range_bytes(&e));
        assert_int_equal(kvs_range_bytes(&e) + kvs_range_bytes(&l), 8 * 16);
    }
    struct kvs_range wide = {.width = 100, .rows = 3, .width_step = -10};
    wide = kvs_range_at(&wide, 4);
    assert_int_equal(kvs_range_bytes(&wide), 3 * 60);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(kvs_op_kind_name(KVS_OP_COLLECTIVE), "collective");
    assert_string_equal(kvs_op_kind_name(KVS_OP_KIND_COUNT), "?");
    assert_string_equal(kvs_tag_name(KVS_TAG_DELIVER), "deliver");
    assert_string_equal(kvs_tag_name(KVS_TAG_SAMPLE), "sample");
    assert_string_equal(kvs_tag_name(KVS_TAG_COUNT), "?");
}

static void test_size(void **state)
{
    (void)state;
    struct fixture f = fixture_empty(1);
    FIXTURE_OK(kvs_plan_add_segment(f.plan, 1, false, err));
    uint64_t before = kvs_plan_size_bytes(f.plan);
    fixture_op(&f, KVS_OP_COMPUTE, KVS_TAG_FIRST, f.q_compute, 0, 0);
    fixture_access(&f, fixture_range(f.fresh, 0, 16), KVS_ACCESS_WRITE);
    assert_int_equal(kvs_plan_size_bytes(f.plan) - before,
                     sizeof(struct kvs_op) + sizeof(struct kvs_range));
    kvs_plan_destroy(f.plan);
}

static kvs_status build_starved(struct kvs_plan **out)
{
    struct kvs_op op = {.kind = KVS_OP_HOST};
    struct kvs_range range = {.width = 1, .pitch = 1, .rows = 1};
    struct kvs_buffer buffer = {.name = "b", .size_bytes = 1};
    uint16_t queue;
    uint32_t id;
    KVS_TRY(kvs_plan_create("null", 1, out, NULL));
    KVS_TRY(kvs_plan_add_queue(*out, 0, "q", &queue, NULL));
    KVS_TRY(kvs_plan_add_buffer(*out, &buffer, &id, NULL));
    KVS_TRY(kvs_plan_add_segment(*out, 1, false, NULL));
    KVS_TRY(kvs_plan_add_op(*out, &op, NULL, NULL));
    KVS_TRY(kvs_plan_add_access(*out, &range, KVS_ACCESS_WRITE, NULL));
    return kvs_plan_add_dep(*out, 0, 1, KVS_DEP_HAZARD, NULL);
}

static void test_starved(void **state)
{
    (void)state;
    uint64_t before = kvs_mem_live_bytes();
    kvs_status status = KVS_ENOMEM;
    unsigned n_failures = 0;
    for (uint64_t nth = 1; status != KVS_OK; nth++) {
        struct kvs_plan *plan = NULL;
        kvs_mem_fail_after(nth);
        status = build_starved(&plan);
        kvs_mem_fail_after(0);
        n_failures += status == KVS_ENOMEM;
        kvs_plan_destroy(plan);
        assert_int_equal(kvs_mem_live_bytes(), before);
    }
    assert_true(n_failures >= 6); /* the plan and its five arrays */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create),   cmocka_unit_test(test_ownership),
        cmocka_unit_test(test_range_at), cmocka_unit_test(test_names),
        cmocka_unit_test(test_size),     cmocka_unit_test(test_starved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
