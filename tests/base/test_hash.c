/* XXH3 against the vectors of its authors. */
#include <stdbool.h>

#include "base/hash.h"
#include "tests/base/base_test.h"

/* Source: xxHash, cli/xsum_sanity_check.c, XXH3_64bits: lengths 0 and 1 (whose byte is 0). */
static void test_vectors(void **state)
{
    (void)state;
    const uint64_t prime64 = 11400714785074694797ULL;
    assert_true(kvs_hash("", 0, 0) == 0x2D06800538D394C2ULL);
    assert_true(kvs_hash("", 0, prime64) == 0xA8A6B918B2F0364AULL);
    assert_true(kvs_hash("\0", 1, 0) == 0xC44BDFF4074EECDBULL);
    assert_true(kvs_hash("\0", 1, prime64) == 0x032BE332DD766EF8ULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_vectors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
