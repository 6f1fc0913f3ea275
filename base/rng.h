/*
 * Seeded random numbers: GSL's mt19937 behind our names, same numbers everywhere. Seeds below
 * 2^32 are GSL's own (which takes 0 for 4357); the upper half of a larger seed is folded in.
 */
#ifndef KVS_BASE_RNG_H
#define KVS_BASE_RNG_H

#include <stdint.h>

#include "base/status.h"

struct kvs_rng;

kvs_status kvs_rng_create(uint64_t seed, struct kvs_rng **out,
                          struct kvs_error *err) KVS_MUST_USE;
void kvs_rng_destroy(struct kvs_rng *rng);
uint64_t kvs_rng_below(struct kvs_rng *rng, uint64_t n); /* uniform in 0..n-1, n >= 1 */
double kvs_rng_uniform(struct kvs_rng *rng);             /* uniform in [0, 1) */

#endif
