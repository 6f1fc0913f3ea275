/*
 * The only caller of malloc. Tests make the n-th allocation fail; the benchmark reads the peak.
 * Sizes are checked for overflow. Every function sets *err on failure.
 */
#ifndef KVS_BASE_MEM_H
#define KVS_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Zeroed array of n x size_bytes; n = 0 gives a valid pointer. Returns to caller: free with
 * kvs_mem_free. */
kvs_status kvs_mem_alloc(size_t n, size_t size_bytes, void **out,
                         struct kvs_error *err) KVS_MUST_USE;
/* Grows (with zeros) or shrinks *ptr (NULL: allocates) to n x size_bytes, keeping the content;
 * on failure *ptr is unchanged. */
kvs_status kvs_mem_resize(void **ptr, size_t n, size_t size_bytes,
                          struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_mem_strdup(const char *text, char **out, struct kvs_error *err) KVS_MUST_USE;
void kvs_mem_free(void *ptr); /* NULL is fine */

/* Test hooks: fail the n-th allocation from now (1 = the next one), 0 = never; live and peak
 * bytes. */
void kvs_mem_fail_after(uint64_t n);
uint64_t kvs_mem_live_bytes(void);
uint64_t kvs_mem_peak_bytes(void);
void kvs_mem_peak_reset(void);

#endif
