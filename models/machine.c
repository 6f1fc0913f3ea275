/* Reads a machine file: the top level, names and fields. The parts stand in machine_*.c. */
#include "models/machine.h"

#include <string.h>

#include "base/mem.h"
#include "models/machine_yaml.h"

void kvs_machine_fields_default(const struct kvs_machine_field *fields, size_t n, void *base)
{
    for (size_t i = 0; i < n; i++) {
        struct kvs_param *param = (void *)((char *)base + fields[i].offset);
        *param =
            kvs_param_default(fields[i].value, fields[i].lo, fields[i].hi, fields[i].source);
    }
}

void kvs_machine_fields_read(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                             const struct kvs_machine_field *fields, size_t n, void *base)
{
    for (size_t i = 0; i < n; i++) {
        struct kvs_param *param = (void *)((char *)base + fields[i].offset);
        (void)kvs_param_get(doc, map, fields[i].key, KVS_OPTIONAL, fields[i].unit,
                            fields[i].min, fields[i].max, param);
    }
}

static bool machine_is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("._-+:", c) != NULL);
}

bool kvs_machine_get_name(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                          kvs_presence presence, char *buf, size_t cap)
{
    const struct kvs_yaml_node *node = NULL;

    if (!kvs_param_get_text(doc, map, "name", presence, buf, cap))
        return false;
    for (const char *c = buf; *c; c++) {
        if (!machine_is_name_char(*c)) {
            node = kvs_yaml_get(doc, map, "name", KVS_OPTIONAL);
            kvs_yaml_complain(doc, node, "a name is made of letters, digits and . _ - + :",
                              "\"%s\" is not a name", buf);
            return false;
        }
    }
    return true;
}

bool kvs_machine_check_kind(struct kvs_yaml *doc, const char *expected)
{
    const struct kvs_yaml_node *root = kvs_yaml_root(doc);
    const char *kind = NULL;

    if (kvs_yaml_node_kind(root) != KVS_YAML_MAP) {
        kvs_yaml_complain(doc, root, NULL, "expected a map that starts with kind: %s",
                          expected);
        return false;
    }
    if (!kvs_yaml_get_str(doc, root, "kind", KVS_REQUIRED, &kind))
        return false;
    if (strcmp(kind, expected) != 0) {
        kvs_yaml_complain(doc, kvs_yaml_get(doc, root, "kind", KVS_OPTIONAL), NULL,
                          "expected kind %s, got \"%s\"", expected, kind);
        return false;
    }
    return true;
}

kvs_status kvs_machine_yaml_parse(const char *name, const char *bytes, size_t n,
                                  struct kvs_diags *diags, struct kvs_yaml **out,
                                  struct kvs_error *err)
{
    struct kvs_error fault;
    size_t n_before = diags->n_errors;
    kvs_status status = kvs_yaml_parse(name, bytes, n, diags, out, &fault);

    if (status == KVS_OK)
        return KVS_OK;
    if (diags->n_errors == n_before)
        kvs_diags_add(diags, &fault);
    if (err)
        *err = fault;
    return status;
}

static kvs_status machine_read(struct kvs_machine_reader *reader, struct kvs_error *err)
{
    const struct kvs_yaml_node *root = kvs_yaml_root(reader->doc);
    struct kvs_machine *machine = reader->machine;

    if (!kvs_machine_check_kind(reader->doc, "machine"))
        return KVS_OK;
    (void)kvs_machine_get_name(reader->doc, root, KVS_REQUIRED, machine->name,
                               sizeof machine->name);
    (void)kvs_param_get_text(reader->doc, root, "description", KVS_OPTIONAL,
                             machine->description, sizeof machine->description);
    (void)kvs_param_get_text(reader->doc, root, "build", KVS_OPTIONAL, machine->build,
                             sizeof machine->build);
    KVS_TRY(kvs_machine_links_read(reader, root, err));
    KVS_TRY(kvs_machine_devices_read(reader, root, err));
    kvs_machine_host_read(reader->doc, root, &machine->host);
    kvs_machine_collective_read(reader->doc, root, &machine->collective);
    kvs_yaml_end_map(reader->doc, root);
    KVS_TRY(kvs_machine_links_finish(reader, err));
    kvs_machine_profiles_finish(machine);
    return KVS_OK;
}

kvs_status kvs_machine_parse(const char *name, const char *bytes, size_t n,
                             kvs_gpu_lookup lookup, void *context, struct kvs_diags *diags,
                             struct kvs_machine **out, struct kvs_error *err)
{
    struct kvs_machine_reader reader = {.diags = diags, .lookup = lookup, .context = context};
    void *machine = NULL;
    kvs_status status = kvs_machine_yaml_parse(name, bytes, n, diags, &reader.doc, err);

    if (status != KVS_OK)
        return status;
    KVS_TRY_GOTO(kvs_mem_alloc(1, sizeof *reader.machine, &machine, err), out);
    reader.machine = machine;
    KVS_TRY_GOTO(machine_read(&reader, err), out);
    KVS_TRY_GOTO(kvs_diags_status(diags, err), out);
    *out = reader.machine;
    reader.machine = NULL;
out:
    kvs_machine_destroy(reader.machine);
    KVS_ARRAY_FREE(&reader.drafts);
    kvs_yaml_destroy(reader.doc);
    return status;
}

void kvs_machine_destroy(struct kvs_machine *machine)
{
    if (!machine)
        return;
    for (uint32_t i = 0; i < machine->n_devices; i++)
        kvs_mem_free(machine->devices[i].profiles);
    kvs_mem_free(machine->devices);
    kvs_mem_free(machine->links);
    kvs_mem_free(machine);
}
