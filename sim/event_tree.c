/* A winner tree: its life. */
#include "sim/event_tree.h"

#include "base/mem.h"

kvs_status kvs_event_tree_init(struct kvs_event_tree *tree, uint32_t n_sources,
                               struct kvs_error *err)
{
    uint32_t n = 1;
    *tree = (struct kvs_event_tree){0};
    if (n_sources > KVS_EVENT_SOURCES)
        return kvs_error_set(err, KVS_ERANGE, "more than %u event sources", KVS_EVENT_SOURCES);
    while (n < n_sources)
        n *= 2;
    void *memory;
    KVS_TRY(kvs_mem_alloc(2 * (size_t)n, sizeof *tree->nodes, &memory, err));
    tree->n_leaves = n;
    tree->nodes = memory;
    for (uint32_t i = 0; i < n; i++)
        tree->nodes[n + i] = (struct kvs_event){KVS_NEVER, i};
    for (uint32_t i = n - 1; i >= 1; i--)
        tree->nodes[i] = tree->nodes[2 * i];
    tree->next_key = KVS_EVENT_SOURCES;
    return KVS_OK;
}

void kvs_event_tree_fini(struct kvs_event_tree *tree)
{
    kvs_mem_free(tree->nodes);
    tree->nodes = NULL;
}
