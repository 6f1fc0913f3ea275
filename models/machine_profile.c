/* Measured compute costs of a device: a profile per model, weights, cache type and share. */
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "models/machine_yaml.h"

#define PROFILE_NOT_GIVEN   (-1.0) /* outside the limits, so no file can say it */
#define PROFILE_H200_SLOWER 0.07   /* device memory reads under a full-rate copy, H200 */

static const struct kvs_machine_field profile_fields[] = {
    {"per_query_row", offsetof(struct kvs_compute_profile, per_query_row), KVS_UNIT_TIME, 0,
     KVS_MACHINE_MAX_S, 0, 0, 0, "not stated: further queries cost nothing more"},
    {"copy_slowdown", offsetof(struct kvs_compute_profile, copy_slowdown), KVS_UNIT_FRAC, 0, 1,
     PROFILE_NOT_GIVEN, PROFILE_NOT_GIVEN, PROFILE_NOT_GIVEN, ""},
    {"busy_slowdown", offsetof(struct kvs_compute_profile, busy_slowdown), KVS_UNIT_FRAC, 0, 10,
     0, 0, 0.17, "none seen on an H200; a factor of 0.17 brings rows of an RTX 4070 together"},
    {"busy_threshold", offsetof(struct kvs_compute_profile, busy_threshold), KVS_UNIT_FRAC, 0,
     1, 0.70, 0.70, 0.70, "where rows of an RTX 4070 begin to slow down"},
};

static void profile_read_type(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                              struct kvs_compute_profile *profile)
{
    struct kvs_error err;
    const char *name = NULL;

    if (!kvs_yaml_get_str(doc, map, "kv_type", KVS_REQUIRED, &name))
        return;
    if (kvs_kv_type_parse(name, &profile->kv_type, &err) != KVS_OK)
        kvs_yaml_complain(doc, kvs_yaml_get(doc, map, "kv_type", KVS_OPTIONAL),
                          err.hint[0] ? err.hint : NULL, "%s", err.text);
}

static bool profile_is_same(const struct kvs_compute_profile *a,
                            const struct kvs_compute_profile *b)
{
    return strcmp(a->model, b->model) == 0 && strcmp(a->weights, b->weights) == 0 &&
           a->kv_type == b->kv_type && fabs(a->head_share - b->head_share) < 1e-9;
}

static void profile_read(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                         struct kvs_compute_profile *profiles, uint32_t index)
{
    struct kvs_compute_profile *profile = &profiles[index];
    struct kvs_param share = {.value = 1};

    if (kvs_yaml_node_kind(map) != KVS_YAML_MAP) {
        kvs_yaml_complain(doc, map,
                          "- {model: NAME, kv_type: q8_0, fixed: 25ms, per_row: 0.18us}",
                          "expected a profile, a map");
        return;
    }
    kvs_machine_fields_default(profile_fields, KVS_COUNT_OF(profile_fields), profile);
    (void)kvs_param_get_text(doc, map, "model", KVS_REQUIRED, profile->model,
                             sizeof profile->model);
    (void)kvs_param_get_text(doc, map, "weights", KVS_OPTIONAL, profile->weights,
                             sizeof profile->weights);
    profile_read_type(doc, map, profile);
    (void)kvs_param_get(doc, map, "head_share", KVS_OPTIONAL, KVS_UNIT_FRAC, DBL_MIN, 1,
                        &share);
    profile->head_share = share.value;
    (void)kvs_param_get(doc, map, "fixed", KVS_REQUIRED, KVS_UNIT_TIME, DBL_MIN,
                        KVS_MACHINE_MAX_S, &profile->fixed);
    (void)kvs_param_get(doc, map, "per_row", KVS_REQUIRED, KVS_UNIT_TIME, 0, KVS_MACHINE_MAX_S,
                        &profile->per_row);
    kvs_machine_fields_read(doc, map, profile_fields, KVS_COUNT_OF(profile_fields), profile);
    kvs_yaml_end_map(doc, map);
    for (uint32_t i = 0; i < index; i++) {
        if (profile_is_same(&profiles[i], profile))
            kvs_yaml_complain(doc, map, NULL,
                              "the same model, weights, kv_type and head_share as profiles[%u]",
                              i);
    }
}

kvs_status kvs_machine_profiles_read(struct kvs_machine_reader *reader,
                                     const struct kvs_yaml_node *map, struct kvs_device *device,
                                     struct kvs_error *err)
{
    const struct kvs_yaml_node *list =
        kvs_yaml_get_seq(reader->doc, map, "profiles", KVS_OPTIONAL);
    void *profiles = NULL;
    size_t n = list ? kvs_yaml_len(list) : 0;

    if (n == 0)
        return KVS_OK;
    if (n > KVS_MACHINE_MAX_PROFILES) {
        kvs_yaml_complain(reader->doc, list, NULL, "expected at most %u profiles, got %zu",
                          KVS_MACHINE_MAX_PROFILES, n);
        return KVS_OK;
    }
    KVS_TRY(kvs_mem_alloc(n, sizeof *device->profiles, &profiles, err));
    device->profiles = profiles;
    device->n_profiles = (uint32_t)n;
    for (uint32_t i = 0; i < device->n_profiles; i++)
        profile_read(reader->doc, kvs_yaml_item(list, i), device->profiles, i);
    return KVS_OK;
}

/* What a lone copy to the device can reach: the slowest limited link on its way, 0 if none is.
 */
static double profile_path_Bps(const struct kvs_machine *machine,
                               const struct kvs_device *device)
{
    double rate_Bps = 0;

    for (int64_t i = device->link; i >= 0; i = machine->links[i].parent) {
        const struct kvs_link *link = &machine->links[i];
        double here_Bps = link->rate[KVS_H2D].value;
        if (link->mode != KVS_LINK_UNLIMITED && (rate_Bps <= 0 || here_Bps < rate_Bps))
            rate_Bps = here_Bps;
    }
    return rate_Bps;
}

void kvs_machine_profiles_finish(struct kvs_machine *machine)
{
    for (uint32_t d = 0; d < machine->n_devices; d++) {
        struct kvs_device *device = &machine->devices[d];
        if (device->n_profiles == 0 || device->link >= machine->n_links)
            continue;

        double share = 0;
        if (device->memory_rate.value > 0)
            share = fmin(1, profile_path_Bps(machine, device) / device->memory_rate.value);
        for (uint32_t i = 0; i < device->n_profiles; i++) {
            struct kvs_param *slowdown = &device->profiles[i].copy_slowdown;
            if (slowdown->value < 0)
                *slowdown = kvs_param_default(
                    share, 0, fmax(share, PROFILE_H200_SLOWER),
                    "link rate / device memory rate; near 0 to 7% seen on an H200");
        }
    }
}
