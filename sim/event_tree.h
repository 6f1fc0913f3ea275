/*
 * Next event of many sources: a winner tree over (time, sequence number). Every source has at most
 * one pending event; setting it replaces the old one, so nothing is ever stale. Ties go to the
 * event that was set first.
 */
#ifndef KVS_SIM_EVENT_TREE_H
#define KVS_SIM_EVENT_TREE_H

#include <stdint.h>

#include "base/status.h"
#include "base/units.h"

#define KVS_NEVER INT64_MAX

struct kvs_event_tree {
    uint32_t n_leaves; /* power of two >= sources */
    uint32_t *winner;  /* owned, [2 n_leaves]; [1] is the root, [n_leaves + i] = i */
    kvs_time *time_ps; /* owned, [n_leaves] */
    uint64_t *sequence; /* owned, [n_leaves] */
    uint64_t next_sequence;
};

kvs_status kvs_event_tree_init(struct kvs_event_tree *tree, uint32_t n_sources,
                               struct kvs_error *err) KVS_MUST_USE;
void kvs_event_tree_fini(struct kvs_event_tree *tree);
/* time_ps = KVS_NEVER clears. */
void kvs_event_tree_set(struct kvs_event_tree *tree, uint32_t source, kvs_time time_ps);

static inline uint32_t kvs_event_tree_next(const struct kvs_event_tree *tree)
{
    return tree->winner[1];
}
static inline kvs_time kvs_event_tree_next_time(const struct kvs_event_tree *tree)
{
    return tree->time_ps[tree->winner[1]];
}
/* Earliest time of all sources but this one. */
static inline kvs_time kvs_event_tree_next_but(const struct kvs_event_tree *tree, uint32_t source)
{
    kvs_time earliest = KVS_NEVER;
    for (uint32_t node = tree->n_leaves + source; node > 1; node /= 2) {
        kvs_time time = tree->time_ps[tree->winner[node ^ 1]];
        earliest = time < earliest ? time : earliest;
    }
    return earliest;
}

#endif
