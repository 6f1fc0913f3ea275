/* xxHash stays in this file. */
#include "base/hash.h"

#include <xxhash.h>

uint64_t kvs_hash(const void *data, size_t size_bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, size_bytes, seed);
}
