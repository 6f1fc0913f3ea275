/* The generator against published outputs, and the range of its draws. */
#include <stdbool.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tests/base/base_test.h"

/* A uniform draw is a 32-bit word / 2^32, so the word can be read back. */
static uint64_t word_number(uint64_t seed, int n)
{
    struct kvs_rng *rng;
    double draw = 0;
    assert_int_equal(kvs_rng_create(seed, &rng, NULL), KVS_OK);
    for (int i = 0; i < n; i++)
        draw = kvs_rng_uniform(rng);
    kvs_rng_destroy(rng);
    return (uint64_t)(draw * 4294967296.0);
}

/* Sources: GSL 2.7, rng/test.c; ISO C++, [rand.predef], the 10000th value of mt19937. */
static void test_published(void **state)
{
    (void)state;
    assert_int_equal(word_number(4357, 1000), 1186927261);
    assert_int_equal(word_number(5489, 10000), 4123659995);
}

static void test_seed_upper_half_counts(void **state)
{
    (void)state;
    assert_int_not_equal(word_number(1, 1), word_number(1 + (1ULL << 32), 1));
}

static void test_below(void **state)
{
    (void)state;
    struct kvs_rng *rng;
    unsigned counts[7] = {0};
    assert_int_equal(kvs_rng_create(1, &rng, NULL), KVS_OK);
    for (int i = 0; i < 7000; i++) {
        uint64_t draw = kvs_rng_below(rng, 7);
        assert_true(draw < 7);
        counts[draw]++;
    }
    /* Binomial(7000, 1/7): mean 1000, standard deviation 29; five of them each way. */
    for (int i = 0; i < 7; i++)
        assert_in_range(counts[i], 855, 1145);
    bool has_high = false;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(kvs_rng_below(rng, 1), 0);
        uint64_t draw = kvs_rng_below(rng, 1ULL << 40);
        assert_true(draw < 1ULL << 40);
        has_high = has_high || draw > UINT32_MAX;
    }
    assert_true(has_high);
    kvs_rng_destroy(rng);
    kvs_rng_destroy(NULL);
}

static void test_without_memory(void **state)
{
    (void)state;
    uint64_t start_bytes = kvs_mem_live_bytes();
    for (uint64_t n = 1; n <= 2; n++) {
        struct kvs_rng *rng = NULL;
        kvs_mem_fail_after(n);
        assert_int_equal(kvs_rng_create(1, &rng, NULL), KVS_ENOMEM);
        assert_null(rng);
        assert_int_equal(kvs_mem_live_bytes(), start_bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_seed_upper_half_counts),
        cmocka_unit_test(test_below),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
