/*
 * Sweeps of whole numbers, as llama-bench writes them:
 *
 *     4096            one value
 *     4096,16384      several
 *     0-4             first to last: 0 1 2 3 4
 *     0-8+2           by steps: 0 2 4 6 8
 *     4096-65536*2    by factors: 4096 8192 16384 32768 65536
 *
 * The parts mix in one comma list, and a repeated flag adds to the sweep. Values keep their
 * written order. last is included only when a step lands on it. A range that does not advance,
 * an empty part and trailing text are errors that quote the offending text. Source: the ranges
 * of llama-bench (llama.cpp, tools/llama-bench/README.md).
 */
#ifndef KVS_CLI_SWEEP_H
#define KVS_CLI_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define KVS_SWEEP_MAX 65536 /* values; more is a slip of the keyboard */

/* Zero-initialise; release with kvs_sweep_fini. */
struct kvs_sweep {
    uint64_t *items; /* owned, [n] */
    size_t n;
    size_t capacity;
};

/*
 * Appends the values of text. flag is the spelling used, for messages (`-d 4096-x: ...`).
 * Errors: KVS_EINVAL malformed, KVS_ERANGE beyond 64 bits or KVS_SWEEP_MAX; then values of
 * earlier parts of text may have been added.
 */
kvs_status kvs_sweep_add(struct kvs_sweep *sweep, const char *flag, const char *text,
                         struct kvs_error *err) KVS_MUST_USE;
void kvs_sweep_fini(struct kvs_sweep *sweep);

#endif
