/* The tree of links: parents from names, no cycles, and an order with parents first. */
#include <string.h>

#include "base/mem.h"
#include "models/machine_yaml.h"

/* Scratch of the ordering, all [n]. */
struct tree {
    int64_t *parent; /* draft index, -1 = host memory */
    int64_t *place;  /* index in the final order, TREE_NEW or TREE_ON_PATH before */
    size_t *path;    /* drafts from a link up to its first placed ancestor */
    size_t n_placed;
};

#define TREE_NEW     (-1)
#define TREE_ON_PATH (-2)

/* Links of devices without a parent hang under the link called root, made here if need be. */
static kvs_status tree_add_root(struct kvs_machine_reader *reader, struct kvs_error *err)
{
    struct kvs_link_draft root = {.link = {.name = "root"}};
    bool is_needed = false;

    for (size_t i = 0; i < reader->drafts.n; i++) {
        const struct kvs_link_draft *draft = &reader->drafts.items[i];
        is_needed |= draft->is_of_device && !draft->parent_node;
    }
    if (!is_needed || kvs_machine_link_find(reader, root.link.name) >= 0)
        return KVS_OK;
    kvs_machine_link_set_unlimited(&root.link);
    root.link.latency = kvs_param_default(0, 0, 0, "not stated: part of the copy overheads");
    return KVS_ARRAY_PUSH(&reader->drafts, root, err);
}

static kvs_status tree_resolve_parents(struct kvs_machine_reader *reader, struct tree *tree,
                                       struct kvs_error *err)
{
    for (size_t i = 0; i < reader->drafts.n; i++) {
        const struct kvs_link_draft *draft = &reader->drafts.items[i];

        tree->parent[i] = -1;
        if (draft->parent_node) {
            tree->parent[i] =
                kvs_machine_link_find(reader, kvs_yaml_scalar(draft->parent_node));
            if (tree->parent[i] < 0)
                KVS_TRY(kvs_machine_link_complain(reader, draft->parent_node, "parent", err));
        } else if (draft->is_of_device) {
            tree->parent[i] = kvs_machine_link_find(reader, "root");
            if (tree->parent[i] == (int64_t)i) /* a device called root, complained of already */
                tree->parent[i] = -1;
        }
    }
    return KVS_OK;
}

/* Places draft i behind its ancestors; a cycle is reported once and cut. */
static void tree_place(struct kvs_machine_reader *reader, struct tree *tree, size_t i)
{
    size_t n_path = 0;
    int64_t at = (int64_t)i;

    while (at >= 0 && tree->place[at] == TREE_NEW) {
        tree->place[at] = TREE_ON_PATH;
        tree->path[n_path++] = (size_t)at;
        at = tree->parent[at];
    }
    if (at >= 0 && tree->place[at] == TREE_ON_PATH) {
        size_t last = tree->path[n_path - 1];
        const struct kvs_link_draft *draft = &reader->drafts.items[last];
        kvs_yaml_complain(reader->doc, draft->parent_node ? draft->parent_node : draft->node,
                          "the topmost link has no parent: it starts at host memory",
                          at == (int64_t)last ? "link \"%s\" is its own parent"
                                              : "link \"%s\" is among its own ancestors",
                          draft->link.name);
        tree->parent[last] = -1;
    }
    while (n_path > 0)
        tree->place[tree->path[--n_path]] = (int64_t)tree->n_placed++;
}

/* Told of the first link too many of each chain; what hangs below it goes without saying. */
static void tree_check_depth(struct kvs_machine_reader *reader, const struct tree *tree)
{
    for (size_t i = 0; i < reader->drafts.n; i++) {
        const struct kvs_link_draft *draft = &reader->drafts.items[i];
        size_t depth = 0;
        for (int64_t at = (int64_t)i; at >= 0 && depth <= KVS_MACHINE_MAX_DEPTH + 1;
             at = tree->parent[at])
            depth++;
        if (depth == KVS_MACHINE_MAX_DEPTH + 1)
            kvs_yaml_complain(reader->doc,
                              draft->parent_node ? draft->parent_node : draft->node,
                              "leave out links that have the same rate as the one above them",
                              "link \"%s\" is more than %u links away from host memory",
                              draft->link.name, KVS_MACHINE_MAX_DEPTH);
    }
}

static kvs_status tree_store(struct kvs_machine_reader *reader, const struct tree *tree,
                             struct kvs_error *err)
{
    struct kvs_machine *machine = reader->machine;
    size_t n = reader->drafts.n;
    void *links = NULL;

    KVS_TRY(kvs_mem_alloc(n, sizeof *machine->links, &links, err));
    machine->links = links;
    machine->n_links = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        struct kvs_link *link = &machine->links[tree->place[i]];
        *link = reader->drafts.items[i].link;
        link->parent = tree->parent[i] < 0 ? -1 : (int32_t)tree->place[tree->parent[i]];
    }
    for (uint32_t d = 0; d < machine->n_devices; d++) {
        struct kvs_device *device = &machine->devices[d];
        if (device->link < n)
            device->link = (uint32_t)tree->place[device->link];
    }
    return KVS_OK;
}

kvs_status kvs_machine_links_finish(struct kvs_machine_reader *reader, struct kvs_error *err)
{
    struct tree tree = {0};
    void *memory[3] = {NULL, NULL, NULL};
    kvs_status status = KVS_OK;

    KVS_TRY(tree_add_root(reader, err));
    size_t n = reader->drafts.n;
    KVS_TRY_GOTO(kvs_mem_alloc(n, sizeof *tree.parent, &memory[0], err), out);
    KVS_TRY_GOTO(kvs_mem_alloc(n, sizeof *tree.place, &memory[1], err), out);
    KVS_TRY_GOTO(kvs_mem_alloc(n, sizeof *tree.path, &memory[2], err), out);
    tree.parent = memory[0];
    tree.place = memory[1];
    tree.path = memory[2];
    KVS_TRY_GOTO(tree_resolve_parents(reader, &tree, err), out);
    for (size_t i = 0; i < n; i++)
        tree.place[i] = TREE_NEW;
    for (size_t i = 0; i < n; i++)
        tree_place(reader, &tree, i);
    tree_check_depth(reader, &tree);
    status = tree_store(reader, &tree, err);
out:
    for (size_t i = 0; i < KVS_COUNT_OF(memory); i++)
        kvs_mem_free(memory[i]);
    return status;
}
