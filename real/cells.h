/*
 * Content of the cache, and its digest: the arithmetic that every executor of real bytes shares,
 * compiled for the host and for CUDA.
 *
 * A cells buffer (cache.k.3, cache.v.3) is a row of 64-bit words, little endian, word w at byte
 * 8 w. Wherever bytes of it travel, they count for the digest as bytes of these words: a piece of
 * a word counts with the same weight as the whole, so that the sum over any division of the
 * bytes (by device, head, early and late) is the same.
 *
 *     sum    = sum over all words read: word x weight(buffer, w), modulo 2^64
 *     state' = mix(state, layer, sum)
 *     row    = made(state, buffer, w) for each word of a new row
 *
 * Weights are odd, so no single changed byte can leave a sum as it was.
 */
#ifndef KVS_REAL_CELLS_H
#define KVS_REAL_CELLS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define KVS_CELLS_FN static __host__ __device__ __forceinline__
#else
#define KVS_CELLS_FN static inline
#endif

#define KVS_CELLS_POISON 0xa5                  /* each byte of what verify mode destroys */
#define KVS_CELLS_GOLDEN 0x9e3779b97f4a7c15ull /* 2^64 over the golden ratio, odd */

/* The finaliser of SplitMix64 (Steele, Lea and Flood, 2014): a bijection that mixes all bits. */
KVS_CELLS_FN uint64_t kvs_cells_mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}
/* id: of the cells buffer, from its name and the seed. */
KVS_CELLS_FN uint64_t kvs_cells_weight(uint64_t id, uint64_t word)
{
    return (id + word * KVS_CELLS_GOLDEN) | 1u;
}
/* Content before the first token. */
KVS_CELLS_FN uint64_t kvs_cells_initial(uint64_t id, uint64_t word)
{
    return kvs_cells_mix64(id ^ kvs_cells_mix64(word + 1));
}
/* Content of a row computed from this state. */
KVS_CELLS_FN uint64_t kvs_cells_made(uint64_t id, uint64_t state, uint64_t word)
{
    return kvs_cells_mix64(state ^ kvs_cells_weight(id, word));
}
KVS_CELLS_FN uint64_t kvs_cells_next_state(uint64_t state, uint64_t layer, uint64_t sum)
{
    return kvs_cells_mix64(state + kvs_cells_mix64(sum + layer * KVS_CELLS_GOLDEN));
}
/* The n bytes (1 to 8) of a word that begin at byte `skip` of it, in their places. */
KVS_CELLS_FN uint64_t kvs_cells_load(const unsigned char *bytes, unsigned skip, unsigned n)
{
    uint64_t word = 0;
    for (unsigned i = 0; i < n; i++)
        word |= (uint64_t)bytes[i] << (8 * (skip + i));
    return word;
}
KVS_CELLS_FN void kvs_cells_save(uint64_t word, unsigned skip, unsigned n, unsigned char *bytes)
{
    for (unsigned i = 0; i < n; i++)
        bytes[i] = (unsigned char)(word >> (8 * (skip + i)));
}

#ifndef __CUDACC__
/* n bytes that are the cells buffer's bytes [offset, offset + n): their part of the sum. */
uint64_t kvs_cells_fold(uint64_t id, uint64_t offset, const void *bytes, size_t n);
/* The same bytes made from a state, and those before the first token. */
void kvs_cells_make(uint64_t id, uint64_t state, uint64_t offset, void *bytes, size_t n);
void kvs_cells_fill(uint64_t id, uint64_t offset, void *bytes, size_t n);
#endif

#endif
