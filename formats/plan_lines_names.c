/* A sorted table of names. */
#include "formats/plan_lines_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static int names_compare(const void *a, const void *b)
{
    const struct kvs_plan_name *left = a, *right = b;
    int order = strcmp(left->text, right->text);
    return order != 0 ? order : (left->id > right->id) - (left->id < right->id);
}

bool kvs_plan_names_seal(struct kvs_plan_names *names, const struct kvs_plan_name **first,
                         const struct kvs_plan_name **second)
{
    if (names->items.n > 0)
        qsort(names->items.items, names->items.n, sizeof *names->items.items, names_compare);
    for (size_t i = 1; i < names->items.n; i++) {
        if (strcmp(names->items.items[i - 1].text, names->items.items[i].text) != 0)
            continue;
        *first = &names->items.items[i - 1];
        *second = &names->items.items[i];
        return false;
    }
    return true;
}

bool kvs_plan_names_find(const struct kvs_plan_names *names, const char *text, uint32_t *out_id)
{
    size_t lo = 0, hi = names->items.n;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        int order = strcmp(names->items.items[middle].text, text);
        if (order == 0) {
            *out_id = names->items.items[middle].id;
            return true;
        }
        if (order < 0)
            lo = middle + 1;
        else
            hi = middle;
    }
    return false;
}

const char *kvs_plan_names_nearest(const struct kvs_plan_names *names, const char *text)
{
    void *memory = NULL;
    if (kvs_mem_alloc(names->items.n, sizeof(const char *), &memory, NULL) != KVS_OK)
        return NULL;
    const char **candidates = memory;
    for (size_t i = 0; i < names->items.n; i++)
        candidates[i] = names->items.items[i].text;
    const char *nearest = kvs_nearest(text, candidates, names->items.n);
    kvs_mem_free(memory);
    return nearest;
}
