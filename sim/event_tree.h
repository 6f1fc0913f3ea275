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

#define KVS_NEVER           INT64_MAX
#define KVS_EVENT_SOURCES   65536u /* at most */

struct kvs_event {
    kvs_time time_ps;
    uint64_t key; /* sequence number above, source in the low 16 bits */
};

struct kvs_event_tree {
    uint32_t n_leaves;       /* power of two >= sources */
    struct kvs_event *nodes; /* owned, [2 n_leaves]; [1] is the root, [n_leaves + i] source i */
    uint64_t next_key;
};

kvs_status kvs_event_tree_init(struct kvs_event_tree *tree, uint32_t n_sources,
                               struct kvs_error *err) KVS_MUST_USE;
void kvs_event_tree_fini(struct kvs_event_tree *tree);

/* time_ps = KVS_NEVER clears. Replays the matches from the leaf up, as far as anything changes. */
static inline void kvs_event_tree_set(struct kvs_event_tree *tree, uint32_t source, kvs_time time_ps)
{
    struct kvs_event *nodes = tree->nodes;
    uint32_t node = tree->n_leaves + source;
    struct kvs_event best = {time_ps, tree->next_key | source};
    tree->next_key += KVS_EVENT_SOURCES;
    nodes[node] = best;
    while (node > 1) {
        const struct kvs_event *rival = &nodes[node ^ 1];
        if (rival->time_ps < best.time_ps ||
            (rival->time_ps == best.time_ps && rival->key < best.key))
            best = *rival;
        node /= 2;
        if (nodes[node].key == best.key)
            return; /* its winner stays: nothing above can change */
        nodes[node] = best;
    }
}

static inline uint32_t kvs_event_tree_next(const struct kvs_event_tree *tree)
{
    return (uint32_t)(tree->nodes[1].key % KVS_EVENT_SOURCES);
}
static inline kvs_time kvs_event_tree_next_time(const struct kvs_event_tree *tree)
{
    return tree->nodes[1].time_ps;
}
static inline kvs_time kvs_event_tree_time_of(const struct kvs_event_tree *tree, uint32_t source)
{
    return tree->nodes[tree->n_leaves + source].time_ps;
}
/* Earliest time of all sources but this one. */
static inline kvs_time kvs_event_tree_next_but(const struct kvs_event_tree *tree, uint32_t source)
{
    kvs_time earliest = KVS_NEVER;
    for (uint32_t node = tree->n_leaves + source; node > 1; node /= 2) {
        kvs_time time = tree->nodes[node ^ 1].time_ps;
        earliest = time < earliest ? time : earliest;
    }
    return earliest;
}

#endif
