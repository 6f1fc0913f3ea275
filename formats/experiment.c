/* Settings of an experiment: limits, names, defaults, values from text and back. */
#include "formats/experiment.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

static const char *const setting_keys[] = {
#define SETTING_KEY(id, key) key,
    KVS_SETTING_MAP(SETTING_KEY)
#undef SETTING_KEY
};

static const char *const bool_names[] = {"false", "true", NULL};
const char *const kvs_split_mode_names[] = {"none", "layer", "tensor", NULL};
const char *const kvs_split_rule_names[] = {"llama-meta-2026-08", "even", "explicit", NULL};
const char *const kvs_arbitration_names[] = {"machine", "sticky", "fifo", NULL};
const char *const kvs_kv_type_names[] = {
#define TYPE_NAME(id, name, values, bytes) name,
    KVS_KV_TYPE_MAP(TYPE_NAME)
#undef TYPE_NAME
        NULL};

/* Limits of counts; names for the rest. tensor_split and kvpb are read by rules of their own.
 */
struct setting_info {
    uint64_t min, max, fallback;
    const char *const *names;
};

static const struct setting_info setting_infos[KVS_SETTING_COUNT] = {
    [KVS_SETTING_SPLIT_MODE] = {.names = kvs_split_mode_names, .fallback = KVS_SPLIT_LAYER},
    [KVS_SETTING_TENSOR_SPLIT] = {.max = UINT64_MAX},
    [KVS_SETTING_HEAD_SPLIT] = {.names = kvs_split_rule_names},
    [KVS_SETTING_TYPE_K] = {.names = kvs_kv_type_names, .fallback = KVS_KV_Q8_0},
    [KVS_SETTING_TYPE_V] = {.names = kvs_kv_type_names, .fallback = KVS_KV_Q8_0},
    [KVS_SETTING_PINNED] = {.names = bool_names, .fallback = 1},
    [KVS_SETTING_UNIFIED] = {.names = bool_names},
    [KVS_SETTING_N_PARALLEL] = {1, 256, 1, NULL},
    [KVS_SETTING_N_ROWS] = {1, 512, 1, NULL},
    [KVS_SETTING_N_CTX] = {0, UINT64_C(1) << 30, 0, NULL},
    [KVS_SETTING_KV_GPU_LAYERS] = {0, 1024, 0, NULL},
    [KVS_SETTING_KVPB] = {0, UINT64_C(1) << 50, 128 * KVS_MIB, NULL},
    [KVS_SETTING_ARBITRATION] = {.names = kvs_arbitration_names},
    [KVS_SETTING_FROZEN] = {.names = bool_names},
    [KVS_SETTING_WINDOW_ROWS] = {0, UINT64_C(1) << 30, 0, NULL},
    [KVS_SETTING_N_GEN] = {1, 65536, 128, NULL},
    [KVS_SETTING_DEPTH] = {0, UINT64_C(1) << 30, 4096, NULL},
};

const char *kvs_setting_key(kvs_setting setting)
{
    return setting_keys[setting];
}

const char *const *kvs_setting_names(kvs_setting setting)
{
    return setting_infos[setting].names;
}

bool kvs_setting_is_bool(kvs_setting setting)
{
    return setting_infos[setting].names == bool_names;
}

void kvs_experiment_fini(struct kvs_experiment *experiment)
{
    kvs_mem_free(experiment->name);
    kvs_mem_free(experiment->question);
    kvs_mem_free(experiment->machine);
    kvs_mem_free(experiment->model);
    kvs_mem_free(experiment->measured);
    for (unsigned s = 0; s < KVS_SETTING_COUNT; s++)
        KVS_ARRAY_FREE(&experiment->values[s]);
    for (size_t i = 0; i < experiment->splits.n; i++) {
        kvs_mem_free(experiment->splits.items[i].text);
        kvs_mem_free(experiment->splits.items[i].items);
    }
    KVS_ARRAY_FREE(&experiment->splits);
    KVS_ARRAY_FREE(&experiment->arms);
    *experiment = (struct kvs_experiment){0};
}

kvs_status kvs_experiment_set_str(char **field, const char *text, struct kvs_error *err)
{
    char *copy;
    KVS_TRY(kvs_mem_strdup(text, &copy, err));
    kvs_mem_free(*field);
    *field = copy;
    return KVS_OK;
}

void kvs_experiment_clear(struct kvs_experiment *experiment, kvs_setting setting)
{
    experiment->values[setting].n = 0;
}

kvs_status kvs_experiment_add(struct kvs_experiment *experiment, kvs_setting setting,
                              uint64_t value, struct kvs_error *err)
{
    const struct setting_info *info = &setting_infos[setting];
    if (info->names == NULL && (value < info->min || value > info->max))
        return kvs_error_set(err, KVS_ERANGE,
                             "must be between %" PRIu64 " and %" PRIu64 ", got %" PRIu64,
                             info->min, info->max, value);
    return KVS_ARRAY_PUSH(&experiment->values[setting], value, err);
}

static kvs_status setting_name(const char *const *names, const char *text, uint64_t *out,
                               struct kvs_error *err)
{
    struct kvs_text list = {0};
    size_t n = 0;
    for (; names[n] != NULL; n++) {
        if (strcmp(names[n], text) == 0) {
            kvs_text_fini(&list);
            *out = n;
            return KVS_OK;
        }
        kvs_text_printf(&list, "%s%s", n == 0 ? "" : ", ", names[n]);
    }
    kvs_error_set(err, KVS_ENOTFOUND, "unknown value \"%.40s\"; known: %s", text,
                  list.data != NULL ? list.data : "");
    kvs_text_fini(&list);
    const char *nearest = kvs_nearest(text, names, n);
    if (nearest != NULL)
        kvs_error_hint(err, "did you mean %s?", nearest);
    return KVS_ENOTFOUND;
}

/* A bare number counts MiB, as llama.cpp's flag does. */
static kvs_status setting_budget(const char *text, uint64_t *out, struct kvs_error *err)
{
    uint64_t mib;
    if (strspn(text, "0123456789") != strlen(text) || text[0] == '\0')
        return kvs_parse_bytes(text, out, err);
    KVS_TRY(kvs_parse_u64(text, &mib, err));
    *out = mib > UINT64_MAX / KVS_MIB ? UINT64_MAX : mib * KVS_MIB;
    return KVS_OK;
}

/* "50/50" into shares->items; the text is cut at each '/'. */
static kvs_status shares_read(char *text, struct kvs_shares *shares, struct kvs_error *err)
{
    double sum = 0.0;
    for (char *part = text; part != NULL; shares->n++) {
        char *next = strchr(part, '/');
        if (next != NULL)
            *next++ = '\0';
        double value;
        kvs_status status = kvs_parse_f64(part, &value, err);
        if (status != KVS_OK || value < 0.0 || value > 1e12) {
            kvs_error_set(err, KVS_EINVAL,
                          "expected shares such as 50/50, each 0 to 1e12, got \"%.20s\"", part);
            return KVS_EINVAL;
        }
        shares->items[shares->n] = value;
        sum += value;
        part = next;
    }
    if (!(sum > 0.0))
        return kvs_error_set(err, KVS_EINVAL, "the shares add up to nothing");
    return KVS_OK;
}

static kvs_status experiment_add_split(struct kvs_experiment *experiment, const char *text,
                                       struct kvs_error *err)
{
    struct kvs_shares shares = {0};
    char *scratch = NULL;
    void *items = NULL;
    size_t n = 1;
    kvs_status status;
    for (const char *c = text; *c != '\0'; c++)
        n += *c == '/';
    if (n > KVS_MACHINE_MAX_DEVICES)
        return kvs_error_set(err, KVS_ERANGE, "at most %u shares, got %zu",
                             KVS_MACHINE_MAX_DEVICES, n);
    KVS_TRY_GOTO(kvs_mem_alloc(n, sizeof(double), &items, err), fail);
    shares.items = items;
    KVS_TRY_GOTO(kvs_mem_strdup(text, &shares.text, err), fail);
    KVS_TRY_GOTO(kvs_mem_strdup(text, &scratch, err), fail);
    KVS_TRY_GOTO(shares_read(scratch, &shares, err), fail);
    KVS_TRY_GOTO(KVS_ARRAY_RESERVE(&experiment->splits, experiment->splits.n + 1, err), fail);
    KVS_TRY_GOTO(
        kvs_experiment_add(experiment, KVS_SETTING_TENSOR_SPLIT, experiment->splits.n, err),
        fail);
    experiment->splits.items[experiment->splits.n++] = shares;
    kvs_mem_free(scratch);
    return KVS_OK;
fail:
    kvs_mem_free(scratch);
    kvs_mem_free(shares.text);
    kvs_mem_free(items);
    return status;
}

kvs_status kvs_experiment_add_text(struct kvs_experiment *experiment, kvs_setting setting,
                                   const char *text, struct kvs_error *err)
{
    uint64_t value;
    if (setting == KVS_SETTING_TENSOR_SPLIT)
        return experiment_add_split(experiment, text, err);
    if (setting == KVS_SETTING_KVPB)
        KVS_TRY(setting_budget(text, &value, err));
    else if (setting_infos[setting].names != NULL)
        KVS_TRY(setting_name(setting_infos[setting].names, text, &value, err));
    else
        KVS_TRY(kvs_parse_u64(text, &value, err));
    return kvs_experiment_add(experiment, setting, value, err);
}

kvs_status kvs_experiment_add_arm(struct kvs_experiment *experiment, const struct kvs_arm *arm,
                                  struct kvs_error *err)
{
    for (size_t i = 0; i < experiment->arms.n; i++)
        if (strcmp(experiment->arms.items[i].name, arm->name) == 0)
            return KVS_OK;
    if (experiment->arms.n == KVS_EXPERIMENT_MAX_ARMS)
        return kvs_error_set(err, KVS_ERANGE, "more than %d policies", KVS_EXPERIMENT_MAX_ARMS);
    return KVS_ARRAY_PUSH(&experiment->arms, *arm, err);
}

static kvs_status experiment_check_shares(const struct kvs_experiment *experiment,
                                          uint32_t n_devices, struct kvs_error *err)
{
    const struct kvs_values *values = &experiment->values[KVS_SETTING_TENSOR_SPLIT];
    for (size_t i = 0; i < values->n; i++) {
        const struct kvs_shares *shares = &experiment->splits.items[values->items[i]];
        if (shares->n == n_devices)
            continue;
        kvs_error_at(err, KVS_EINVAL, NULL, shares->line, 0,
                     "tensor_split: \"%.60s\" has %u share%s, the machine has %u device%s",
                     shares->text, (unsigned)shares->n, shares->n == 1 ? "" : "s",
                     (unsigned)n_devices, n_devices == 1 ? "" : "s");
        kvs_error_hint(err, "give one share per device, 0 for a device without any");
        return KVS_EINVAL;
    }
    return KVS_OK;
}

kvs_status kvs_experiment_complete(struct kvs_experiment *experiment, uint32_t n_devices,
                                   struct kvs_error *err)
{
    KVS_TRY(experiment_check_shares(experiment, n_devices, err));
    for (unsigned s = 0; s < KVS_SETTING_COUNT; s++) {
        uint64_t value = setting_infos[s].fallback;
        if (experiment->values[s].n > 0 || s == KVS_SETTING_TENSOR_SPLIT)
            continue;
        if (s == KVS_SETTING_SPLIT_MODE && n_devices == 1)
            value = KVS_SPLIT_NONE;
        KVS_TRY(kvs_experiment_add(experiment, (kvs_setting)s, value, err));
    }
    for (uint64_t n = 0; n <= 1 && experiment->arms.n < n + 1; n++) {
        struct kvs_arm arm;
        KVS_TRY(kvs_arm_from_lookahead(n, &arm, err));
        KVS_TRY(kvs_experiment_add_arm(experiment, &arm, err));
    }
    return KVS_OK;
}

void kvs_experiment_print_value(const struct kvs_experiment *experiment, kvs_setting setting,
                                uint64_t value, struct kvs_text *out)
{
    const char *const *names = setting_infos[setting].names;
    char buf[KVS_UNITS_BUF];
    if (setting == KVS_SETTING_TENSOR_SPLIT)
        kvs_text_puts(out, experiment->splits.items[value].text);
    else if (names != NULL)
        kvs_text_puts(out, names[value]);
    else if (setting != KVS_SETTING_KVPB)
        kvs_text_printf(out, "%" PRIu64, value);
    else if (value % KVS_MIB == 0)
        kvs_text_printf(out, "%" PRIu64, (uint64_t)(value / KVS_MIB));
    else
        kvs_text_puts(out, kvs_format_bytes(value, buf, sizeof buf));
}
