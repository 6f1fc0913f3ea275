/*
 * Which copy an engine serves next: pure, used in virtual and in real time.
 *
 * A copy is committed when it was ready at least `lead` before the copy under way ended.
 *
 * sticky: the next copy of the stream being served, if it is committed; else, of the committed
 * copies of other streams, the one ready longest; else, nothing being committed, the one ready
 * longest of all. Measured on an H200 (docs/copy-engine.md, docs/model-notes.md).
 *
 * fifo: the oldest issued copy among those that are ready.
 */
#ifndef KVS_MODELS_ARBITER_H
#define KVS_MODELS_ARBITER_H

#include <stdint.h>

#include "base/units.h"
#include "models/machine.h"

#define KVS_ARBITER_NONE UINT32_MAX

struct kvs_arbiter_candidate {
    uint32_t stream;   /* any number that tells streams apart */
    kvs_time issue_ps; /* when the host issued it */
    kvs_time ready_ps; /* head of its stream, issued, its dependencies met */
};

/*
 * Index of the candidate to serve, KVS_ARBITER_NONE when n is 0.
 * Shape: candidates [n], at most one per stream, all ready by now. current_stream is the stream
 *        served last (or KVS_ARBITER_NONE) and end_ps the time its copy ended.
 * Ties:  the smaller issue time, then the smaller index.
 */
uint32_t kvs_arbiter_choose(kvs_arbitration rule, kvs_time lead_ps, uint32_t current_stream,
                            kvs_time end_ps, const struct kvs_arbiter_candidate *candidates,
                            uint32_t n);

#endif
