/* Option tables of the settings, and their way into an experiment. */
#include "cli/settings.h"

#include <string.h>

#include "base/parallel.h"

static const struct kvs_option inputs[] = {
    {.name = "machine",
     .preset = "rtx4070-rtx3060",
     .kind = KVS_OPTION_STRING,
     .metavar = "NAME|FILE",
     .is_common = true,
     .help = "machine, from the catalogue (kvsim list machines) or a file"},
    {.name = "model",
     .preset = "qwen3.8-27b",
     .alias = "-m",
     .kind = KVS_OPTION_STRING,
     .metavar = "NAME|FILE",
     .is_common = true,
     .help = "model shape, from the catalogue (kvsim list models) or a file"},
    {.name = "catalogue",
     .kind = KVS_OPTION_STRING,
     .metavar = "DIR",
     .help = "folder with models/llm, models/gpu, models/machine and experiments that comes "
             "before the built-in catalogue"},
    {.name = "seed",
     .kind = KVS_OPTION_U64,
     .metavar = "N",
     .fallback = "1",
     .help = "seed, recorded in every row"},
    {.name = "threads",
     .alias = "-t",
     .kind = KVS_OPTION_U64,
     .metavar = "N",
     .max = KVS_PARALLEL_MAX_THREADS,
     .fallback = "0",
     .help =
         "rows worked on at a time; 0: one per processor, up to 16. The answer is the same"},
};

static const struct kvs_option workload[] = {
    {.name = "n-depth",
     .preset = "4096",
     .alias = "-d --depth",
     .kind = KVS_OPTION_SWEEP,
     .metavar = "N",
     .max = 1u << 30,
     .is_common = true,
     .help = "rows in the cache before the first generated token, per sequence"},
    {.name = "n-gen",
     .preset = "128",
     .alias = "-n",
     .kind = KVS_OPTION_SWEEP,
     .metavar = "N",
     .min = 1,
     .max = 65536,
     .is_common = true,
     .help = "tokens generated"},
    {.name = "parallel",
     .preset = "1",
     .alias = "-np",
     .kind = KVS_OPTION_SWEEP,
     .metavar = "N",
     .min = 1,
     .max = 256,
     .help = "sequences decoded together"},
    {.name = "kv-unified",
     .alias = "-kvu",
     .kind = KVS_OPTION_FLAG,
     .help = "one cache pool for all sequences"},
    {.name = "n-rows",
     .preset = "1",
     .kind = KVS_OPTION_SWEEP,
     .metavar = "N",
     .min = 1,
     .max = 512,
     .help = "rows per sequence and step: more than 1 for speculative batches"},
    {.name = "ctx-size",
     .preset = "0",
     .alias = "-c",
     .kind = KVS_OPTION_SWEEP,
     .metavar = "N",
     .max = 1u << 30,
     .help = "rows the cache holds per sequence; 0: just enough"},
    {.name = "cache-type-k",
     .preset = "q8_0",
     .alias = "-ctk",
     .kind = KVS_OPTION_LIST,
     .metavar = "TYPE",
     .choices = kvs_kv_type_names,
     .is_common = true,
     .help = "cache type of K"},
    {.name = "cache-type-v",
     .preset = "q8_0",
     .alias = "-ctv",
     .kind = KVS_OPTION_LIST,
     .metavar = "TYPE",
     .choices = kvs_kv_type_names,
     .is_common = true,
     .help = "cache type of V"},
};

static const struct kvs_option placement[] = {
    {.name = "split-mode",
     .preset = "layer, none on one device",
     .alias = "-sm",
     .kind = KVS_OPTION_LIST,
     .metavar = "MODE",
     .choices = kvs_split_mode_names,
     .is_common = true,
     .help = "how the model is divided over the devices"},
    {.name = "tensor-split",
     .preset = "equal",
     .alias = "-ts",
     .kind = KVS_OPTION_LIST,
     .metavar = "A/B/..",
     .is_common = true,
     .help = "share per device; a list without any '/' is one split"},
    {.name = "head-split",
     .preset = "llama-meta-2026-08",
     .kind = KVS_OPTION_LIST,
     .metavar = "RULE",
     .choices = kvs_split_rule_names,
     .help = "how KV heads are divided under tensor split"},
    {.name = "no-kv-offload",
     .alias = "-nkvo",
     .kind = KVS_OPTION_FLAG,
     .help = "the cache stays in host memory: accepted, since every policy but resident has it "
             "so"},
    {.name = "kv-cpu-pinned",
     .kind = KVS_OPTION_FLAG,
     .help = "host cache in pinned memory (the default)"},
    {.name = "kv-cpu-pageable",
     .kind = KVS_OPTION_FLAG,
     .help = "host cache in pageable memory; with --kv-cpu-pinned: both"},
    {.name = "kv-gpu-layers",
     .preset = "0",
     .kind = KVS_OPTION_SWEEP,
     .metavar = "N",
     .max = 1024,
     .help = "layers whose cache stays on the device"},
};

static const struct kvs_option transport[] = {
    {.name = "policy",
     .preset = "ordered,pipelined",
     .kind = KVS_OPTION_LIST,
     .metavar = "NAME",
     .is_common = true,
     .help = "policies with their options, such as pipelined+n2+yield (kvsim list policies)"},
    {.name = "kvpd",
     .alias = "-kvpd",
     .kind = KVS_OPTION_SWEEP,
     .metavar = "N",
     .max = KVS_ARM_MAX_LOOKAHEAD,
     .is_common = true,
     .help = "look-ahead: 0 adds ordered, N adds pipelined+nN"},
    {.name = "kvpb",
     .preset = "128",
     .alias = "-kvpb",
     .kind = KVS_OPTION_LIST,
     .metavar = "MIB",
     .is_common = true,
     .help = "ring budget per device, MiB or bytes with a unit; 0: no limit"},
    {.name = "arbitration",
     .preset = "machine",
     .kind = KVS_OPTION_LIST,
     .metavar = "RULE",
     .choices = kvs_arbitration_names,
     .help = "which copy an engine serves next"},
};

const struct kvs_option_group kvs_inputs_group = {"Machine and model", inputs,
                                                  KVS_COUNT_OF(inputs)};
const struct kvs_option_group kvs_workload_group = {"Workload", workload,
                                                    KVS_COUNT_OF(workload)};
const struct kvs_option_group kvs_placement_group = {"Placement", placement,
                                                     KVS_COUNT_OF(placement)};
const struct kvs_option_group kvs_transport_group = {"Transport", transport,
                                                     KVS_COUNT_OF(transport)};

struct settings_flag {
    const char *name; /* long name */
    const char *flag; /* for messages */
    kvs_setting setting;
};

static const struct settings_flag counts[] = {
    {"n-depth", "-d", KVS_SETTING_DEPTH},
    {"n-gen", "-n", KVS_SETTING_N_GEN},
    {"parallel", "-np", KVS_SETTING_N_PARALLEL},
    {"n-rows", "--n-rows", KVS_SETTING_N_ROWS},
    {"ctx-size", "-c", KVS_SETTING_N_CTX},
    {"kv-gpu-layers", "--kv-gpu-layers", KVS_SETTING_KV_GPU_LAYERS},
};

static const struct settings_flag names[] = {
    {"cache-type-k", "-ctk", KVS_SETTING_TYPE_K},
    {"cache-type-v", "-ctv", KVS_SETTING_TYPE_V},
    {"split-mode", "-sm", KVS_SETTING_SPLIT_MODE},
    {"head-split", "--head-split", KVS_SETTING_HEAD_SPLIT},
    {"arbitration", "--arbitration", KVS_SETTING_ARBITRATION},
    {"kvpb", "-kvpb", KVS_SETTING_KVPB},
};

/* Puts the flag in front of a fault that has no place. */
static kvs_status settings_at(kvs_status status, const char *flag, struct kvs_error *err)
{
    if (status != KVS_OK && err != NULL && err->file[0] == '\0')
        (void)snprintf(err->file, sizeof err->file, "%s", flag);
    return status;
}

static kvs_status settings_counts(const struct kvs_options *options, struct kvs_experiment *e,
                                  struct kvs_error *err)
{
    for (size_t i = 0; i < KVS_COUNT_OF(counts); i++) {
        size_t n;
        if (!kvs_options_is_given(options, counts[i].name))
            continue;
        const uint64_t *items = kvs_options_sweep(options, counts[i].name, &n);
        kvs_experiment_clear(e, counts[i].setting);
        for (size_t k = 0; k < n; k++)
            KVS_TRY(settings_at(kvs_experiment_add(e, counts[i].setting, items[k], err),
                                counts[i].flag, err));
    }
    return KVS_OK;
}

static kvs_status settings_names(const struct kvs_options *options, struct kvs_experiment *e,
                                 struct kvs_error *err)
{
    for (size_t i = 0; i < KVS_COUNT_OF(names); i++) {
        size_t n;
        if (!kvs_options_is_given(options, names[i].name))
            continue;
        const char *const *items = kvs_options_list(options, names[i].name, &n);
        kvs_experiment_clear(e, names[i].setting);
        for (size_t k = 0; k < n; k++)
            KVS_TRY(settings_at(kvs_experiment_add_text(e, names[i].setting, items[k], err),
                                names[i].flag, err));
    }
    return KVS_OK;
}

/* "-ts 50,50" has no '/': one split, as llama-cli writes it. */
static kvs_status settings_split(const struct kvs_options *options, struct kvs_experiment *e,
                                 struct kvs_error *err)
{
    size_t n;
    struct kvs_text joined = {0};
    bool has_slash = false;
    kvs_status status = KVS_OK;
    if (!kvs_options_is_given(options, "tensor-split"))
        return KVS_OK;
    const char *const *items = kvs_options_list(options, "tensor-split", &n);
    kvs_experiment_clear(e, KVS_SETTING_TENSOR_SPLIT);
    for (size_t k = 0; k < n; k++) {
        has_slash |= strchr(items[k], '/') != NULL;
        kvs_text_printf(&joined, "%s%s", k == 0 ? "" : "/", items[k]);
    }
    if (!has_slash)
        status = joined.status != KVS_OK
                     ? joined.status
                     : kvs_experiment_add_text(e, KVS_SETTING_TENSOR_SPLIT, joined.data, err);
    for (size_t k = 0; k < n && has_slash && status == KVS_OK; k++)
        status = kvs_experiment_add_text(e, KVS_SETTING_TENSOR_SPLIT, items[k], err);
    kvs_text_fini(&joined);
    return settings_at(status, "-ts", err);
}

static kvs_status settings_flags(const struct kvs_options *options, struct kvs_experiment *e,
                                 struct kvs_error *err)
{
    bool is_pinned = kvs_options_flag(options, "kv-cpu-pinned");
    bool is_pageable = kvs_options_flag(options, "kv-cpu-pageable");
    if (is_pinned || is_pageable)
        kvs_experiment_clear(e, KVS_SETTING_PINNED);
    if (is_pinned)
        KVS_TRY(kvs_experiment_add(e, KVS_SETTING_PINNED, 1, err));
    if (is_pageable)
        KVS_TRY(kvs_experiment_add(e, KVS_SETTING_PINNED, 0, err));
    if (!kvs_options_flag(options, "kv-unified"))
        return KVS_OK;
    kvs_experiment_clear(e, KVS_SETTING_UNIFIED);
    return kvs_experiment_add(e, KVS_SETTING_UNIFIED, 1, err);
}

static kvs_status settings_arms(const struct kvs_options *options, struct kvs_experiment *e,
                                struct kvs_error *err)
{
    struct kvs_arm arm;
    size_t n;
    if (kvs_options_is_given(options, "policy") || kvs_options_is_given(options, "kvpd"))
        e->arms.n = 0;
    const char *const *words = kvs_options_list(options, "policy", &n);
    for (size_t k = 0; k < n; k++) {
        KVS_TRY(settings_at(kvs_arm_parse(words[k], &arm, err), "--policy", err));
        KVS_TRY(settings_at(kvs_experiment_add_arm(e, &arm, err), "--policy", err));
    }
    const uint64_t *lookaheads = kvs_options_sweep(options, "kvpd", &n);
    for (size_t k = 0; k < n; k++) {
        KVS_TRY(settings_at(kvs_arm_from_lookahead(lookaheads[k], &arm, err), "-kvpd", err));
        KVS_TRY(settings_at(kvs_experiment_add_arm(e, &arm, err), "-kvpd", err));
    }
    return KVS_OK;
}

kvs_status kvs_settings_apply(const struct kvs_options *options,
                              struct kvs_experiment *experiment, struct kvs_error *err)
{
    if (kvs_options_is_given(options, "machine"))
        KVS_TRY(kvs_experiment_set_str(&experiment->machine,
                                       kvs_options_str(options, "machine"), err));
    if (kvs_options_is_given(options, "model"))
        KVS_TRY(
            kvs_experiment_set_str(&experiment->model, kvs_options_str(options, "model"), err));
    KVS_TRY(settings_counts(options, experiment, err));
    KVS_TRY(settings_names(options, experiment, err));
    KVS_TRY(settings_split(options, experiment, err));
    KVS_TRY(settings_flags(options, experiment, err));
    return settings_arms(options, experiment, err);
}
