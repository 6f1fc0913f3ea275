/* 64-bit hashes (XXH3) of bytes, for input hashes and state signatures. */
#ifndef KVS_BASE_HASH_H
#define KVS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t kvs_hash(const void *data, size_t size_bytes, uint64_t seed);

#endif
