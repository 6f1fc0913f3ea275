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
    uint32_t n_leaves;  /* power of two >= sources */
    kvs_time *time_ps;  /* owned, [2 n_leaves]: [1] the root, [n_leaves + i] source i */
    uint32_t *source;   /* owned, [2 n_leaves]: who won */
    uint64_t *sequence; /* owned, [n_leaves]: when each event was set */
    uint64_t next_sequence;
};

kvs_status kvs_event_tree_init(struct kvs_event_tree *tree, uint32_t n_sources,
                               struct kvs_error *err) KVS_MUST_USE;
void kvs_event_tree_fini(struct kvs_event_tree *tree);

/*
 * time_ps = KVS_NEVER clears. Replays the matches from the leaf to the root without a branch
 * that depends on times: a wrong guess costs more than the levels saved.
 */
static inline void kvs_event_tree_set(struct kvs_event_tree *tree, uint32_t source,
                                      kvs_time time_ps)
{
    kvs_time *time = tree->time_ps;
    uint32_t *winner = tree->source;
    uint32_t node = tree->n_leaves + source;
    kvs_time best = time_ps;
    tree->sequence[source] = tree->next_sequence++;
    time[node] = best;
    while (node > 1) {
        kvs_time rival = time[node ^ 1];
        uint32_t rival_source = winner[node ^ 1];
        source = rival < best ? rival_source : source;
        best = rival < best ? rival : best;
        node /= 2;
        time[node] = best;
        winner[node] = source;
    }
}

static inline kvs_time kvs_event_tree_next_time(const struct kvs_event_tree *tree)
{
    return tree->time_ps[1];
}
/* One source of the earliest time; which of several is left open. */
static inline uint32_t kvs_event_tree_any_next(const struct kvs_event_tree *tree)
{
    return tree->source[1];
}
static inline kvs_time kvs_event_tree_time_of(const struct kvs_event_tree *tree,
                                              uint32_t source)
{
    return tree->time_ps[tree->n_leaves + source];
}
/* Has any source but this one, which is next, an event at the same time? */
static inline bool kvs_event_tree_has_tie(const struct kvs_event_tree *tree, uint32_t source)
{
    const kvs_time *time = tree->time_ps;
    kvs_time earliest = time[1];
    unsigned ties = 0;
    for (uint32_t node = tree->n_leaves + source; node > 1; node /= 2)
        ties |= time[node ^ 1] == earliest;
    return ties != 0;
}
/* The source of the earliest time whose event was set first. Walks the tied part of the tree.
 */
uint32_t kvs_event_tree_first_next(const struct kvs_event_tree *tree);

#endif
