/* Any bytes: the reader refuses them or gives a tree on which every getter is safe. */
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void get_all(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key)
{
    static const char *const names[] = {"one", "two"};
    uint64_t whole;
    double value;
    kvs_time ps;
    bool flag;
    unsigned index;
    const char *text;
    kvs_yaml_get_map(doc, map, key, KVS_REQUIRED);
    kvs_yaml_get_seq(doc, map, key, KVS_OPTIONAL);
    kvs_yaml_get_str(doc, map, key, KVS_OPTIONAL, &text);
    kvs_yaml_get_bool(doc, map, key, KVS_OPTIONAL, &flag);
    kvs_yaml_get_u64(doc, map, key, KVS_OPTIONAL, 1, 64, &whole);
    kvs_yaml_get_f64(doc, map, key, KVS_OPTIONAL, 0, 1, &value);
    kvs_yaml_get_bytes(doc, map, key, KVS_OPTIONAL, &whole);
    kvs_yaml_get_time(doc, map, key, KVS_OPTIONAL, &ps);
    kvs_yaml_get_enum(doc, map, key, KVS_OPTIONAL, names, 2, &index);
}

/* Recursion is bounded by the reader's own limit; every second key is left unknown. */
static void walk(struct kvs_yaml *doc, const struct kvs_yaml_node *node)
{
    uint64_t whole;
    size_t n = kvs_yaml_len(node);
    n = n < 32 ? n : 32;
    for (size_t i = 0; i < n; i++) {
        const struct kvs_yaml_node *child = kvs_yaml_item(node, i);
        if (kvs_yaml_node_kind(node) == KVS_YAML_MAP && i % 2 == 0)
            get_all(doc, node, kvs_yaml_pair(doc, node, i, &child));
        if (child != NULL)
            walk(doc, child);
    }
    if (kvs_yaml_node_kind(node) == KVS_YAML_SCALAR)
        kvs_yaml_node_u64(doc, node, 1, 2, &whole);
    kvs_yaml_get(doc, node, "absent", KVS_OPTIONAL);
    kvs_yaml_end_map(doc, node);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct kvs_diags diags;
    struct kvs_yaml *doc = NULL;
    struct kvs_error err;
    uint64_t start_bytes = kvs_mem_live_bytes();
    kvs_diags_init(&diags);
    if (kvs_yaml_parse("fuzz.yaml", (const char *)data, n, &diags, &doc, &err) == KVS_OK)
        walk(doc, kvs_yaml_root(doc));
    kvs_yaml_destroy(doc);
    kvs_diags_fini(&diags);
    if (kvs_mem_live_bytes() != start_bytes)
        abort();
    return 0;
}
