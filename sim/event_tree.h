/*
 * Next event of many sources: a winner tree over (time, sequence number). Every source has at
 * most one pending event; setting it replaces the old one, so nothing is ever stale. Ties go to
 * the event that was set first.
 */
#ifndef KVS_SIM_EVENT_TREE_H
#define KVS_SIM_EVENT_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/units.h"

#define KVS_NEVER INT64_MAX

struct kvs_event_tree {
    uint32_t n_leaves; /* sources, at least one */
    /* Of nodes [2 n_leaves], [1] the root, [n_leaves + i] source i: the earliest event below,
     * and whose it is. Two arrays, as most climbs compare times and stop. */
    kvs_time *times_ps; /* owned */
    uint32_t *sources;  /* owned */
    uint64_t *sequence; /* owned, [n_leaves]: when each event was set */
    uint64_t next_sequence;
};

kvs_status kvs_event_tree_init(struct kvs_event_tree *tree, uint32_t n_sources,
                               struct kvs_error *err) KVS_MUST_USE;
void kvs_event_tree_fini(struct kvs_event_tree *tree);

/*
 * Replays the matches from the leaf up and stops where nothing changes, which for an event
 * later than others is soon. Among equal times whoever stands there may stay:
 * kvs_event_tree_first_next sorts them out.
 */
static inline void kvs_event_tree_replay(struct kvs_event_tree *tree, uint32_t source,
                                         kvs_time time_ps)
{
    kvs_time *times = tree->times_ps;
    uint32_t *sources = tree->sources;
    uint32_t node = tree->n_leaves + source;
    times[node] = time_ps;
    while (node > 1) {
        uint32_t rival = node ^ 1;
        if (times[rival] < time_ps) {
            time_ps = times[rival];
            source = sources[rival];
        }
        node /= 2;
        if (times[node] == time_ps && sources[node] == source)
            return;
        times[node] = time_ps;
        sources[node] = source;
    }
}
static inline void kvs_event_tree_set(struct kvs_event_tree *tree, uint32_t source,
                                      kvs_time time_ps)
{
    tree->sequence[source] = tree->next_sequence++;
    kvs_event_tree_replay(tree, source, time_ps);
}
static inline void kvs_event_tree_clear(struct kvs_event_tree *tree, uint32_t source)
{
    kvs_event_tree_replay(tree, source, KVS_NEVER);
}

static inline kvs_time kvs_event_tree_next_time(const struct kvs_event_tree *tree)
{
    return tree->times_ps[1];
}
/* One source of the earliest time; which of several is left open. */
static inline uint32_t kvs_event_tree_any_next(const struct kvs_event_tree *tree)
{
    return tree->sources[1];
}
static inline kvs_time kvs_event_tree_time_of(const struct kvs_event_tree *tree,
                                              uint32_t source)
{
    return tree->times_ps[tree->n_leaves + source];
}
/* The source of the earliest time whose event was set first. Walks the tied part of the tree.
 */
uint32_t kvs_event_tree_first_next(const struct kvs_event_tree *tree);

#endif
