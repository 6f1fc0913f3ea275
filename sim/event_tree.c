/* A winner tree: its life, and ties. */
#include "sim/event_tree.h"

#include "base/mem.h"

kvs_status kvs_event_tree_init(struct kvs_event_tree *tree, uint32_t n_sources,
                               struct kvs_error *err)
{
    uint32_t n = n_sources > 0 ? n_sources : 1;
    *tree = (struct kvs_event_tree){0};
    if (n_sources > UINT32_MAX / 4)
        return kvs_error_set(err, KVS_ERANGE, "too many event sources: %u", n_sources);
    void *memory;
    KVS_TRY(kvs_mem_alloc(2 * (size_t)n, sizeof *tree->times_ps, &memory, err));
    tree->times_ps = memory;
    KVS_TRY(kvs_mem_alloc(2 * (size_t)n, sizeof *tree->sources, &memory, err));
    tree->sources = memory;
    KVS_TRY(kvs_mem_alloc(n, sizeof *tree->sequence, &memory, err));
    tree->sequence = memory;
    tree->n_leaves = n;
    for (uint32_t i = 0; i < 2 * n; i++)
        tree->times_ps[i] = KVS_NEVER;
    for (uint32_t i = 0; i < n; i++)
        tree->sources[n + i] = i;
    for (uint32_t i = n - 1; i >= 1; i--)
        tree->sources[i] = tree->sources[2 * i];
    return KVS_OK;
}

void kvs_event_tree_fini(struct kvs_event_tree *tree)
{
    kvs_mem_free(tree->times_ps);
    kvs_mem_free(tree->sources);
    kvs_mem_free(tree->sequence);
}

uint32_t kvs_event_tree_first_next(const struct kvs_event_tree *tree)
{
    kvs_time earliest = tree->times_ps[1];
    uint32_t first = tree->sources[1];
    uint32_t node = 1;
    /* depth first over the nodes whose time is the earliest one */
    for (;;) {
        if (tree->times_ps[node] == earliest) {
            if (node < tree->n_leaves) {
                node *= 2;
                continue;
            }
            uint32_t source = node - tree->n_leaves;
            if (tree->sequence[source] < tree->sequence[first])
                first = source;
        }
        while (node & 1)
            node /= 2; /* a right child, or the root: its subtree is done */
        if (node == 0)
            return first;
        node++;
    }
}
