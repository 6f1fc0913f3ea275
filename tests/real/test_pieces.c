/* Pieces of two lists of ranges: byte by byte, the k-th of one is the k-th of the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "real/pieces.h"

enum { MAX_RANGES = 4, ROUNDS = 2000, MAX_BYTES = 600 };

struct place {
    uint16_t buffer;
    uint64_t offset;
};

/* Every byte of ranges with this mode, in order. */
static size_t list(const struct kvs_range *ranges, uint32_t n, unsigned mode, uint32_t token,
                   struct place *out)
{
    size_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct kvs_range r = kvs_range_at(&ranges[i], token);
        for (uint32_t row = 0; r.mode == mode && row < r.rows; row++)
            for (uint32_t b = 0; b < r.width; b++)
                out[count++] = (struct place){r.buffer, r.offset + (uint64_t)row * r.pitch + b};
    }
    return count;
}

static struct kvs_range random_range(struct kvs_rng *rng, unsigned mode)
{
    struct kvs_range r = {.buffer = (uint16_t)kvs_rng_below(rng, 3),
                          .offset = kvs_rng_below(rng, 100),
                          .width = (uint32_t)kvs_rng_below(rng, 12),
                          .rows = (uint32_t)kvs_rng_below(rng, 6),
                          .offset_step = (int32_t)kvs_rng_below(rng, 3),
                          .mode = mode & 7u};
    r.rows_step = (int16_t)kvs_rng_below(rng, 2);
    r.pitch = r.width + (uint32_t)kvs_rng_below(rng, 2) * 5;
    return r;
}

static void test_random(void **state)
{
    (void)state;
    static struct place reads[MAX_BYTES], writes[MAX_BYTES];
    struct kvs_rng *rng;
    assert_int_equal(kvs_rng_create(11, &rng, NULL), KVS_OK);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct kvs_range ranges[MAX_RANGES];
        uint32_t n = (uint32_t)kvs_rng_below(rng, MAX_RANGES + 1);
        uint32_t token = (uint32_t)kvs_rng_below(rng, 3);
        for (uint32_t i = 0; i < n; i++)
            ranges[i] = random_range(rng, (unsigned)kvs_rng_below(rng, 3)); /* some expects */
        size_t n_reads = list(ranges, n, KVS_ACCESS_READ, token, reads);
        size_t n_writes = list(ranges, n, KVS_ACCESS_WRITE, token, writes);
        size_t at = 0, end = n_reads < n_writes ? n_reads : n_writes;
        struct kvs_pieces pieces = kvs_pieces_copy(ranges, n, token);
        struct kvs_piece_pair pair;
        while (kvs_pieces_next(&pieces, &pair)) {
            for (uint64_t b = 0; b < pair.n_bytes; b++, at++) {
                assert_true(at < end);
                assert_int_equal(reads[at].buffer, pair.buffer_a);
                assert_int_equal(reads[at].offset, pair.offset_a + b);
                assert_int_equal(writes[at].buffer, pair.buffer_b);
                assert_int_equal(writes[at].offset, pair.offset_b + b);
            }
        }
        assert_int_equal(at, end);
    }
    kvs_rng_destroy(rng);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
