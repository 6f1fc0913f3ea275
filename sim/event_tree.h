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

/* The earliest event below a node, and whose it is. */
struct kvs_event {
    kvs_time time_ps;
    uint64_t source;
};

struct kvs_event_tree {
    uint32_t n_leaves;       /* power of two >= sources */
    struct kvs_event *nodes; /* owned, [2 n_leaves]: [1] the root, [n_leaves + i] source i */
    uint64_t *sequence;      /* owned, [n_leaves]: when each event was set */
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
    struct kvs_event *nodes = tree->nodes;
    uint32_t node = tree->n_leaves + source;
    struct kvs_event best = {time_ps, source};
    nodes[node] = best;
    while (node > 1) {
        const struct kvs_event *rival = &nodes[node ^ 1];
        if (rival->time_ps < best.time_ps)
            best = *rival;
        node /= 2;
        if (nodes[node].source == best.source && nodes[node].time_ps == best.time_ps)
            return;
        nodes[node] = best;
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
    return tree->nodes[1].time_ps;
}
/* One source of the earliest time; which of several is left open. */
static inline uint32_t kvs_event_tree_any_next(const struct kvs_event_tree *tree)
{
    return (uint32_t)tree->nodes[1].source;
}
static inline kvs_time kvs_event_tree_time_of(const struct kvs_event_tree *tree,
                                              uint32_t source)
{
    return tree->nodes[tree->n_leaves + source].time_ps;
}
/* The source of the earliest time whose event was set first. Walks the tied part of the tree.
 */
uint32_t kvs_event_tree_first_next(const struct kvs_event_tree *tree);

#endif
