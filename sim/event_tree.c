/* A winner tree: its life, and ties. */
#include "sim/event_tree.h"

#include "base/mem.h"

kvs_status kvs_event_tree_init(struct kvs_event_tree *tree, uint32_t n_sources,
                               struct kvs_error *err)
{
    uint32_t n = 1;
    *tree = (struct kvs_event_tree){0};
    if (n_sources > UINT32_MAX / 4)
        return kvs_error_set(err, KVS_ERANGE, "too many event sources: %u", n_sources);
    while (n < n_sources)
        n *= 2;
    void *memory;
    KVS_TRY(kvs_mem_alloc(2 * (size_t)n, sizeof *tree->nodes, &memory, err));
    tree->nodes = memory;
    KVS_TRY(kvs_mem_alloc(n, sizeof *tree->sequence, &memory, err));
    tree->sequence = memory;
    tree->n_leaves = n;
    for (uint32_t i = 0; i < n; i++)
        tree->nodes[n + i] = (struct kvs_event){KVS_NEVER, i};
    for (uint32_t i = n - 1; i >= 1; i--)
        tree->nodes[i] = tree->nodes[2 * i];
    return KVS_OK;
}

void kvs_event_tree_fini(struct kvs_event_tree *tree)
{
    kvs_mem_free(tree->nodes);
    kvs_mem_free(tree->sequence);
}

uint32_t kvs_event_tree_first_next(const struct kvs_event_tree *tree)
{
    kvs_time earliest = tree->nodes[1].time_ps;
    uint32_t first = (uint32_t)tree->nodes[1].source;
    uint32_t node = 1;
    /* depth first over the nodes whose time is the earliest one */
    for (;;) {
        if (tree->nodes[node].time_ps == earliest) {
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
