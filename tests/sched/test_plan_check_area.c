/* The arithmetic of areas against sets of bytes, on all kinds of small random areas. */
#include "tests/sched/plan_fixture.h"

#include "base/rng.h"
#include "sched/plan_check_area.h"

enum { AREA_BYTES = 48, AREA_RUNS = 200000 };

static uint32_t below(struct kvs_rng *rng, uint64_t n)
{
    return (uint32_t)kvs_rng_below(rng, n);
}

static struct kvs_range random_range(struct kvs_rng *rng)
{
    struct kvs_range r = {.rows = 1};
    r.width = 1 + below(rng, 8);
    r.pitch = r.width + below(rng, 4);
    r.rows = 1 + below(rng, (AREA_BYTES - r.width) / r.pitch + 1);
    r.offset = below(rng, AREA_BYTES - r.width - (r.rows - 1) * r.pitch + 1);
    return r;
}

/* The address of each position, in order; returns how many. */
static unsigned addresses(const struct kvs_range *r, uint64_t out[AREA_BYTES])
{
    unsigned n = 0;
    for (uint64_t row = 0; row < r->rows; row++)
        for (uint64_t column = 0; column < r->width; column++)
            out[n++] = r->offset + row * r->pitch + column;
    return n;
}

static uint64_t bytes_of(const struct kvs_range *r)
{
    uint64_t list[AREA_BYTES], set = 0;
    for (unsigned n = addresses(r, list); n > 0; n--)
        set |= UINT64_C(1) << list[n - 1];
    return set;
}

static void test_sets(void **state)
{
    (void)state;
    struct kvs_rng *rng = NULL;
    FIXTURE_OK(kvs_rng_create(7, &rng, err));
    unsigned n_overlaps = 0, n_covers = 0;
    for (unsigned run = 0; run < AREA_RUNS; run++) {
        struct kvs_range ra = random_range(rng), rb = random_range(rng);
        if (below(rng, 2))
            rb.pitch = rb.rows > 1 && ra.pitch >= rb.width &&
                               rb.offset + (rb.rows - 1) * ra.pitch + rb.width <= AREA_BYTES
                           ? ra.pitch
                           : rb.pitch;
        struct kvs_area a = kvs_area_at(&ra, 0), b = kvs_area_at(&rb, 0);
        uint64_t sa = bytes_of(&ra), sb = bytes_of(&rb);
        assert_int_equal(kvs_area_overlaps(&a, &b), (sa & sb) != 0);
        if (kvs_area_covers(&a, &b))
            assert_true((sb & ~sa) == 0);
        n_overlaps += (sa & sb) != 0;
        n_covers += kvs_area_covers(&a, &b);
    }
    assert_true(n_overlaps > AREA_RUNS / 10 && n_overlaps < AREA_RUNS - AREA_RUNS / 10);
    assert_true(n_covers > AREA_RUNS / 100);
    kvs_rng_destroy(rng);
}

static void test_positions(void **state)
{
    (void)state;
    struct kvs_rng *rng = NULL;
    FIXTURE_OK(kvs_rng_create(8, &rng, err));
    unsigned n_met = 0, n_same = 0;
    for (unsigned run = 0; run < AREA_RUNS; run++) {
        struct kvs_range ra = random_range(rng), rb = random_range(rng);
        struct kvs_area a = kvs_area_at(&ra, 0), b = kvs_area_at(&rb, 0);
        uint64_t la[AREA_BYTES], lb[AREA_BYTES], found = AREA_BYTES, address = AREA_BYTES;
        unsigned na = addresses(&ra, la), nb = addresses(&rb, lb);
        unsigned from = below(rng, na), n = 1 + below(rng, na - from);
        uint64_t lo = below(rng, AREA_BYTES), hi = lo + 1 + below(rng, 8);
        for (unsigned i = from; i < from + n && found == AREA_BYTES; i++)
            if (la[i] >= lo && la[i] < hi)
                found = la[i];
        bool is_met = kvs_area_meets(&a, from, n, lo, hi, &address);
        assert_int_equal(is_met, found < AREA_BYTES);
        if (is_met)
            assert_int_equal(address, found);
        n_met += is_met;

        unsigned b_from = below(rng, nb);
        if (n > nb - b_from)
            n = nb - b_from;
        bool is_same = true;
        for (unsigned i = 0; i < n; i++)
            is_same = is_same && la[from + i] == lb[b_from + i];
        assert_int_equal(kvs_area_is_same(&a, from, &b, b_from, n), is_same);
        n_same += is_same;
    }
    assert_true(n_met > AREA_RUNS / 100 && n_same > AREA_RUNS / 1000);
    kvs_rng_destroy(rng);
}

static void test_faults(void **state)
{
    (void)state;
    /* range, token, size, verdict: worked out by hand */
    static const struct {
        struct kvs_range range;
        uint32_t token;
        uint64_t size_bytes;
        kvs_area_fault_kind fault;
    } cases[] = {
        {{.offset = 4, .width = 4, .pitch = 4, .rows = 1}, 0, 8, KVS_AREA_GOOD},
        {{.offset = 4, .width = 4, .pitch = 4, .rows = 1}, 0, 7, KVS_AREA_OUTSIDE},
        {{.width = 4, .pitch = 10, .rows = 3}, 0, 24, KVS_AREA_GOOD},
        {{.width = 4, .pitch = 10, .rows = 3}, 0, 23, KVS_AREA_OUTSIDE},
        {{.width = 4, .pitch = 3, .rows = 2}, 0, 99, KVS_AREA_PITCH},
        {{.width = 4, .pitch = 3, .rows = 1}, 0, 4, KVS_AREA_GOOD},
        {{.offset = 9, .width = 4, .rows = 0}, 0, 1, KVS_AREA_GOOD},
        {{.offset = 8, .offset_step = -4, .width = 4, .rows = 1}, 2, 4, KVS_AREA_GOOD},
        {{.offset = 8, .offset_step = -4, .width = 4, .rows = 1}, 3, 4, KVS_AREA_NEGATIVE},
        {{.width = 4, .pitch = 4, .rows = 2, .rows_step = -1}, 3, 64, KVS_AREA_NEGATIVE},
        {{.width = 4, .width_step = -3, .rows = 1}, 2, 64, KVS_AREA_NEGATIVE},
        {{.width = UINT32_MAX, .rows = 1}, 0, 64, KVS_AREA_OUTSIDE},
        {{.offset = UINT64_MAX, .width = 1, .rows = 1}, 0, 64, KVS_AREA_OUTSIDE},
        {{.width = 1, .pitch = UINT32_MAX, .rows = UINT32_MAX}, 0, 64, KVS_AREA_OUTSIDE},
        {{.width = 1, .offset_step = INT32_MAX, .rows = 1}, UINT32_MAX, 64, KVS_AREA_OUTSIDE},
    };
    for (unsigned i = 0; i < KVS_COUNT_OF(cases); i++)
        if (kvs_area_fault(&cases[i].range, cases[i].token, cases[i].size_bytes) !=
            cases[i].fault)
            fail_msg("case %u", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
