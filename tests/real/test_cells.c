/* The digest's arithmetic: any division of the same bytes gives the same sum, any change shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "real/cells.h"

enum { N_BYTES = 200 };

static struct kvs_rng *rng;

static int set_up(void **state)
{
    (void)state;
    return kvs_rng_create(7, &rng, NULL) == KVS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    kvs_rng_destroy(rng);
    return 0;
}

/* Each byte alone, at its place in its word. */
static uint64_t fold_by_hand(uint64_t id, uint64_t offset, const unsigned char *bytes, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += ((uint64_t)bytes[i] << (8 * ((offset + i) % 8))) *
               kvs_cells_weight(id, (offset + i) / 8);
    return sum;
}

static void test_fold(void **state)
{
    (void)state;
    unsigned char bytes[N_BYTES];
    for (unsigned round = 0; round < 500; round++) {
        uint64_t offset = kvs_rng_below(rng, 1000);
        size_t n = kvs_rng_below(rng, N_BYTES + 1), cut = kvs_rng_below(rng, n + 1);
        kvs_cells_fill(3, offset, bytes, n);
        uint64_t whole = kvs_cells_fold(5, offset, bytes, n);
        assert_int_equal(whole, fold_by_hand(5, offset, bytes, n));
        assert_int_equal(whole, kvs_cells_fold(5, offset, bytes, cut) +
                                    kvs_cells_fold(5, offset + cut, bytes + cut, n - cut));
    }
}

/* One changed bit, and the same bytes a row further, give another sum; zeros add nothing. */
static void test_changes(void **state)
{
    (void)state;
    unsigned char bytes[N_BYTES];
    kvs_cells_fill(3, 0, bytes, N_BYTES);
    uint64_t sum = kvs_cells_fold(5, 0, bytes, N_BYTES);
    for (unsigned bit = 0; bit < 8 * N_BYTES; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << (bit % 8));
        assert_true(kvs_cells_fold(5, 0, bytes, N_BYTES) != sum);
        bytes[bit / 8] ^= (unsigned char)(1u << (bit % 8));
    }
    assert_true(kvs_cells_fold(5, 8, bytes, N_BYTES) != sum);
    assert_true(kvs_cells_fold(6, 0, bytes, N_BYTES) != sum);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(kvs_cells_fold(5, 40, bytes, N_BYTES), 0);
}

/* Rows are made and filled alike, however they are divided. */
static void test_make(void **state)
{
    (void)state;
    unsigned char whole[N_BYTES], parts[N_BYTES];
    for (unsigned round = 0; round < 500; round++) {
        uint64_t offset = kvs_rng_below(rng, 1000);
        size_t cut = kvs_rng_below(rng, N_BYTES + 1);
        kvs_cells_make(5, 9, offset, whole, N_BYTES);
        kvs_cells_make(5, 9, offset, parts, cut);
        kvs_cells_make(5, 9, offset + cut, parts + cut, N_BYTES - cut);
        assert_memory_equal(whole, parts, N_BYTES);
        kvs_cells_fill(5, offset, whole, N_BYTES);
        kvs_cells_fill(5, offset, parts, cut);
        kvs_cells_fill(5, offset + cut, parts + cut, N_BYTES - cut);
        assert_memory_equal(whole, parts, N_BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_make),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
