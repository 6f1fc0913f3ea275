/* The next event of many sources: by time, ties to the one set first. */
#include "sim/event_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"

static void test_order(void **state)
{
    (void)state;
    struct kvs_event_tree tree;
    assert_int_equal(kvs_event_tree_init(&tree, 5, NULL), KVS_OK);
    assert_int_equal(kvs_event_tree_next_time(&tree), KVS_NEVER);
    kvs_event_tree_set(&tree, 3, 20);
    kvs_event_tree_set(&tree, 0, 30);
    kvs_event_tree_set(&tree, 4, 10);
    assert_int_equal(kvs_event_tree_any_next(&tree), 4);
    assert_int_equal(kvs_event_tree_next_time(&tree), 10);
    assert_int_equal(kvs_event_tree_time_of(&tree, 0), 30);
    assert_int_equal(kvs_event_tree_time_of(&tree, 1), KVS_NEVER);
    kvs_event_tree_set(&tree, 4, KVS_NEVER);
    assert_int_equal(kvs_event_tree_any_next(&tree), 3);
    kvs_event_tree_set(&tree, 3, 40); /* replaced, not added */
    assert_int_equal(kvs_event_tree_any_next(&tree), 0);
    kvs_event_tree_fini(&tree);
}

/* First come, first served at one instant; setting an event again sends it to the end. */
static void test_ties(void **state)
{
    (void)state;
    struct kvs_event_tree tree;
    assert_int_equal(kvs_event_tree_init(&tree, 4, NULL), KVS_OK);
    kvs_event_tree_set(&tree, 2, 7);
    kvs_event_tree_set(&tree, 0, 7);
    kvs_event_tree_set(&tree, 3, 7);
    assert_int_equal(kvs_event_tree_first_next(&tree), 2);
    kvs_event_tree_set(&tree, 2, 7);
    assert_int_equal(kvs_event_tree_first_next(&tree), 0);
    kvs_event_tree_set(&tree, 0, KVS_NEVER);
    assert_int_equal(kvs_event_tree_first_next(&tree), 3);
    kvs_event_tree_set(&tree, 3, KVS_NEVER);
    assert_int_equal(kvs_event_tree_first_next(&tree), 2);
    kvs_event_tree_fini(&tree);
}

static void test_limits(void **state)
{
    (void)state;
    struct kvs_event_tree tree;
    struct kvs_error err;
    assert_int_equal(kvs_event_tree_init(&tree, 1, NULL), KVS_OK);
    kvs_event_tree_set(&tree, 0, 5);
    assert_int_equal(kvs_event_tree_next_time(&tree), 5);
    assert_int_equal(kvs_event_tree_first_next(&tree), 0);
    kvs_event_tree_fini(&tree);
    assert_int_equal(kvs_event_tree_init(&tree, UINT32_MAX / 2, &err), KVS_ERANGE);
    kvs_event_tree_fini(&tree);
}

/* The model: a list in which every event carries its time and the number of its setting. */
enum { N_MODEL = 37 };

struct model {
    kvs_time time_ps[N_MODEL];
    uint64_t set_as[N_MODEL];
};

/* The earliest source, first set first. */
static uint32_t model_next(const struct model *m)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < N_MODEL; i++)
        if (m->time_ps[i] < m->time_ps[best] ||
            (m->time_ps[i] == m->time_ps[best] && m->set_as[i] < m->set_as[best]))
            best = i;
    return best;
}

static void test_model(void **state)
{
    (void)state;
    struct kvs_rng *rng;
    struct kvs_event_tree tree;
    struct model m;
    assert_int_equal(kvs_rng_create(7, &rng, NULL), KVS_OK);
    assert_int_equal(kvs_event_tree_init(&tree, N_MODEL, NULL), KVS_OK);
    for (uint32_t i = 0; i < N_MODEL; i++)
        m.time_ps[i] = KVS_NEVER, m.set_as[i] = i;
    for (uint64_t n = N_MODEL; n < 100000; n++) {
        uint32_t source = (uint32_t)kvs_rng_below(rng, N_MODEL);
        kvs_time time =
            kvs_rng_below(rng, 5) == 0 ? KVS_NEVER : (kvs_time)kvs_rng_below(rng, 50);
        if (time == KVS_NEVER)
            kvs_event_tree_clear(&tree, source);
        else
            kvs_event_tree_set(&tree, source, time);
        m.time_ps[source] = time;
        m.set_as[source] = n;
        uint32_t next = model_next(&m);
        uint32_t any = kvs_event_tree_any_next(&tree);
        assert_int_equal(kvs_event_tree_next_time(&tree), m.time_ps[next]);
        assert_int_equal(m.time_ps[any], m.time_ps[next]);
        if (m.time_ps[next] == KVS_NEVER)
            continue;
        assert_int_equal(kvs_event_tree_first_next(&tree), next);
    }
    kvs_event_tree_fini(&tree);
    kvs_rng_destroy(rng);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
