/* A winner tree: an update replays the matches from its leaf to the root. */
#include "sim/event_tree.h"

#include "base/mem.h"

kvs_status kvs_event_tree_init(struct kvs_event_tree *tree, uint32_t n_sources,
                               struct kvs_error *err)
{
    uint32_t n = 1;
    while (n < n_sources)
        n *= 2;
    *tree = (struct kvs_event_tree){.n_leaves = n};
    void *memory;
    KVS_TRY(kvs_mem_alloc(2 * (size_t)n, sizeof *tree->winner, &memory, err));
    tree->winner = memory;
    KVS_TRY(kvs_mem_alloc(n, sizeof *tree->time_ps, &memory, err));
    tree->time_ps = memory;
    KVS_TRY(kvs_mem_alloc(n, sizeof *tree->sequence, &memory, err));
    tree->sequence = memory;
    for (uint32_t i = 0; i < n; i++) {
        tree->winner[n + i] = i;
        tree->time_ps[i] = KVS_NEVER;
    }
    for (uint32_t i = n - 1; i >= 1; i--)
        tree->winner[i] = tree->winner[2 * i];
    return KVS_OK;
}

void kvs_event_tree_fini(struct kvs_event_tree *tree)
{
    kvs_mem_free(tree->winner);
    kvs_mem_free(tree->time_ps);
    kvs_mem_free(tree->sequence);
}

void kvs_event_tree_set(struct kvs_event_tree *tree, uint32_t source, kvs_time time_ps)
{
    if (time_ps == KVS_NEVER && tree->time_ps[source] == KVS_NEVER)
        return;
    tree->time_ps[source] = time_ps;
    tree->sequence[source] = tree->next_sequence++;
    const kvs_time *time = tree->time_ps;
    for (uint32_t node = (tree->n_leaves + source) / 2; node >= 1; node /= 2) {
        uint32_t a = tree->winner[2 * node];
        uint32_t b = tree->winner[2 * node + 1];
        uint32_t wins = a;
        if (time[b] < time[a] ||
            (time[b] == time[a] && tree->sequence[b] < tree->sequence[a] && time[b] != KVS_NEVER))
            wins = b;
        if (wins == tree->winner[node] && wins != source)
            break; /* nothing above can change */
        tree->winner[node] = wins;
    }
}
