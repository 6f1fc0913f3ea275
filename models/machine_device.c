/* Devices: the card (from the catalogue or inline), what the machine file overrides, the link.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "models/machine_yaml.h"

#define INLINE_CARD "gpu: {memory: 16GiB, memory_rate: 896GB/s, flops: 88TFLOP/s}"

/* A file of the catalogue: kind, name, description and the keys of a card. */
static void device_read_card_file(struct kvs_yaml *doc, const char *gpu_name,
                                  struct kvs_device *device)
{
    const struct kvs_yaml_node *root = kvs_yaml_root(doc);
    char text[200];
    char name[32];

    if (!kvs_machine_check_kind(doc, "gpu"))
        return;
    if (kvs_machine_get_name(doc, root, KVS_REQUIRED, name, sizeof name) &&
        strcmp(name, gpu_name) != 0)
        kvs_yaml_complain(doc, kvs_yaml_get(doc, root, "name", KVS_OPTIONAL), NULL,
                          "expected the name of the file, \"%s\", got \"%s\"", gpu_name, name);
    (void)kvs_param_get_text(doc, root, "description", KVS_OPTIONAL, text, sizeof text);
    kvs_machine_card_read(doc, root, device);
    kvs_yaml_end_map(doc, root);
}

static void device_complain_gpu(struct kvs_machine_reader *reader,
                                const struct kvs_yaml_node *node, const char *gpu_name,
                                const char *nearest)
{
    char hint[200];

    if (nearest)
        (void)snprintf(
            hint, sizeof hint,
            "did you mean %s? kvsim list gpus shows all; or describe the card: " INLINE_CARD,
            nearest);
    else
        (void)snprintf(hint, sizeof hint,
                       "kvsim list gpus shows them; or describe the card: " INLINE_CARD);
    kvs_yaml_complain(reader->doc, node, hint, "unknown gpu \"%s\"", gpu_name);
}

/* Returns whether the card's figures are in *device. */
static kvs_status device_read_catalogue(struct kvs_machine_reader *reader,
                                        const struct kvs_yaml_node *node, const char *gpu_name,
                                        struct kvs_device *device, bool *out_is_known,
                                        struct kvs_error *err)
{
    const char *nearest = NULL;
    struct kvs_yaml *doc = NULL;
    char preset[64];
    const char *file = preset;
    size_t n = 0;

    *out_is_known = false;
    if (strcmp(gpu_name, reader->card_name) == 0) {
        *device = reader->card;
        *out_is_known = true;
        return KVS_OK;
    }
    const char *bytes = NULL;
    (void)snprintf(preset, sizeof preset, "gpu/%.40s.yaml", gpu_name);
    if (reader->lookup && strlen(gpu_name) < sizeof device->gpu)
        bytes = reader->lookup(reader->context, gpu_name, &n, &file, &nearest);
    if (!bytes) {
        device_complain_gpu(reader, node, gpu_name, nearest);
        return KVS_OK;
    }
    kvs_status status = kvs_machine_yaml_parse(file, bytes, n, reader->diags, &doc, err);
    if (status != KVS_OK)
        return status == KVS_ENOMEM ? status : KVS_OK;
    device_read_card_file(doc, gpu_name, device);
    kvs_yaml_destroy(doc);
    (void)snprintf(device->gpu, sizeof device->gpu, "%s", gpu_name);
    reader->card = *device;
    (void)snprintf(reader->card_name, sizeof reader->card_name, "%s", gpu_name);
    *out_is_known = true;
    return KVS_OK;
}

/* The card under the key gpu: a name or a map. *out_is_known: nothing of it is in doubt. */
static kvs_status device_read_gpu(struct kvs_machine_reader *reader,
                                  const struct kvs_yaml_node *map, struct kvs_device *device,
                                  bool *out_is_known, struct kvs_error *err)
{
    const struct kvs_yaml_node *node = kvs_yaml_get(reader->doc, map, "gpu", KVS_OPTIONAL);
    const char *gpu_name = NULL;

    *out_is_known = true;
    kvs_machine_card_default(device);
    if (!node)
        return KVS_OK;
    if (kvs_yaml_node_kind(node) == KVS_YAML_MAP) {
        kvs_machine_card_read(reader->doc, node, device);
        kvs_yaml_end_map(reader->doc, node);
        return KVS_OK;
    }
    *out_is_known = false;
    if (kvs_yaml_node_kind(node) == KVS_YAML_SEQ) {
        kvs_yaml_complain(reader->doc, node, INLINE_CARD, "expected a card, got a list");
        return KVS_OK;
    }
    if (!kvs_yaml_get_str(reader->doc, map, "gpu", KVS_OPTIONAL, &gpu_name))
        return KVS_OK;
    return device_read_catalogue(reader, node, gpu_name, device, out_is_known, err);
}

static void device_check(struct kvs_machine_reader *reader, const struct kvs_yaml_node *map,
                         const struct kvs_device *device)
{
    if (device->is_memory_known && device->reserved_bytes.value > device->memory_bytes.value) {
        const struct kvs_yaml_node *node =
            kvs_yaml_get(reader->doc, map, "reserved", KVS_OPTIONAL);
        kvs_yaml_complain(reader->doc, node ? node : map, "lower reserved, or correct memory",
                          "reserves more (%.0f B) than the card's memory (%.0f B)",
                          device->reserved_bytes.value, device->memory_bytes.value);
    }
    if (device->memory_rate.value <= 0 || device->flops.value <= 0)
        kvs_yaml_complain(reader->doc, map,
                          "name the card, e.g. gpu: rtx4070, or describe it: " INLINE_CARD,
                          "device \"%s\" has no %s", device->name,
                          device->memory_rate.value > 0 ? "flops" : "memory_rate");
}

static void device_read_name(struct kvs_machine_reader *reader, const struct kvs_yaml_node *map,
                             uint32_t index, struct kvs_device *device)
{
    (void)snprintf(device->name, sizeof device->name, "gpu%u", index);
    (void)kvs_machine_get_name(reader->doc, map, KVS_OPTIONAL, device->name,
                               sizeof device->name);
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(reader->machine->devices[i].name, device->name) == 0) {
            kvs_yaml_complain(reader->doc, map, "give each device a name of its own",
                              "two devices are called \"%s\"", device->name);
            return;
        }
    }
}

static kvs_status device_read(struct kvs_machine_reader *reader,
                              const struct kvs_yaml_node *map, uint32_t index,
                              struct kvs_error *err)
{
    struct kvs_device *device = &reader->machine->devices[index];
    bool is_known = false;
    size_t n_before = reader->diags->n_errors;

    if (kvs_yaml_node_kind(map) != KVS_YAML_MAP) {
        kvs_yaml_complain(reader->doc, map, "- {gpu: rtx4070, pcie: gen4x16}",
                          "expected a device, a map");
        return KVS_OK;
    }
    KVS_TRY(device_read_gpu(reader, map, device, &is_known, err));
    device_read_name(reader, map, index, device);
    kvs_machine_card_read(reader->doc, map, device);
    KVS_TRY(kvs_machine_profiles_read(reader, map, device, err));
    KVS_TRY(kvs_machine_link_of_device(reader, map, device, err));
    kvs_yaml_end_map(reader->doc, map);
    if (is_known && reader->diags->n_errors == n_before)
        device_check(reader, map, device);
    return KVS_OK;
}

kvs_status kvs_machine_devices_read(struct kvs_machine_reader *reader,
                                    const struct kvs_yaml_node *root, struct kvs_error *err)
{
    const struct kvs_yaml_node *list =
        kvs_yaml_get_seq(reader->doc, root, "devices", KVS_REQUIRED);
    struct kvs_machine *machine = reader->machine;
    void *devices = NULL;

    if (!list)
        return KVS_OK;
    size_t n = kvs_yaml_len(list);
    if (n == 0 || n > KVS_MACHINE_MAX_DEVICES) {
        kvs_yaml_complain(reader->doc, list, "- {gpu: rtx4070, pcie: gen4x16}",
                          "expected 1 to %u devices, got %zu", KVS_MACHINE_MAX_DEVICES, n);
        return KVS_OK;
    }
    KVS_TRY(kvs_mem_alloc(n, sizeof *machine->devices, &devices, err));
    machine->devices = devices;
    machine->n_devices = (uint32_t)n;
    for (uint32_t i = 0; i < machine->n_devices; i++)
        KVS_TRY(device_read(reader, kvs_yaml_item(list, i), i, err));
    return KVS_OK;
}
