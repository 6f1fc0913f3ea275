/* From the text of a flag to its value, by kind. */
#include "cli/options_value.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"

/* Errors from base/units.h know no flag; this names it. */
static kvs_status value_place(kvs_status status, const char *flag, struct kvs_error *err)
{
    if (status != KVS_OK && err != NULL)
        snprintf(err->file, sizeof(err->file), "%s", flag);
    return status;
}

static kvs_status value_in_range(const struct kvs_option *option, const char *flag,
                                 uint64_t number, const char *text, struct kvs_error *err)
{
    bool is_bytes = option->kind == KVS_OPTION_BYTES;
    const char *unit = is_bytes ? " bytes" : "";
    if (option->max != 0 && (number < option->min || number > option->max))
        return kvs_error_at(err, KVS_ERANGE, flag, 0, 0,
                            "must be %" PRIu64 " to %" PRIu64 "%s, got %" PRIu64 " (\"%s\")",
                            option->min, option->max, unit, number, text);
    if (number < option->min)
        return kvs_error_at(err, KVS_ERANGE, flag, 0, 0,
                            "must be at least %" PRIu64 "%s, got %" PRIu64 " (\"%s\")",
                            option->min, unit, number, text);
    return KVS_OK;
}

static kvs_status value_choice(const struct kvs_option *option, const char *flag,
                               const char *text, uint64_t *out, struct kvs_error *err)
{
    size_t n = 0;
    char known[256] = "";
    size_t used = 0;
    for (; option->choices[n] != NULL; n++) {
        if (strcmp(option->choices[n], text) == 0) {
            *out = n;
            return KVS_OK;
        }
        int k = snprintf(known + used, sizeof(known) - used, "%s%s", n == 0 ? "" : ", ",
                         option->choices[n]);
        if (k > 0 && (size_t)k < sizeof(known) - used)
            used += (size_t)k;
    }
    const char *nearest = kvs_nearest(text, option->choices, n);
    for (size_t i = 0; i < n && nearest == NULL; i++)
        if (strncmp(option->choices[i], text, strlen(text)) == 0)
            nearest = option->choices[i];
    if (nearest == NULL)
        return kvs_error_at(err, KVS_EINVAL, flag, 0, 0, "unknown value \"%s\"; known: %s",
                            text, known);
    return kvs_error_at(err, KVS_EINVAL, flag, 0, 0,
                        "unknown value \"%s\"; known: %s; did you mean %s?", text, known,
                        nearest);
}

static kvs_status value_add_item(struct kvs_option_value *value, const char *flag,
                                 const char *item, size_t n, struct kvs_error *err)
{
    char *copy;
    KVS_TRY(kvs_mem_strdup(item, &copy, err));
    copy[n] = '\0';
    kvs_status status = KVS_ARRAY_PUSH(&value->list, copy, err);
    if (status != KVS_OK) {
        kvs_mem_free(copy);
        return status;
    }
    if (value->option->choices == NULL)
        return KVS_OK;
    uint64_t index;
    KVS_TRY(value_choice(value->option, flag, copy, &index, err));
    return KVS_ARRAY_PUSH(&value->sweep, index, err);
}

static kvs_status value_add_list(struct kvs_option_value *value, const char *flag,
                                 const char *text, struct kvs_error *err)
{
    for (const char *item = text;;) {
        size_t n = strcspn(item, ",");
        if (n == 0)
            return kvs_error_at(err, KVS_EINVAL, flag, 0, 0, "empty item in \"%s\"", text);
        KVS_TRY(value_add_item(value, flag, item, n, err));
        if (item[n] == '\0')
            return KVS_OK;
        item += n + 1;
    }
}

static kvs_status value_add_sweep(struct kvs_option_value *value, const char *flag,
                                  const char *text, struct kvs_error *err)
{
    size_t before = value->sweep.n;
    KVS_TRY(kvs_sweep_add(&value->sweep, flag, text, err));
    for (size_t i = before; i < value->sweep.n; i++)
        KVS_TRY(value_in_range(value->option, flag, value->sweep.items[i], text, err));
    return KVS_OK;
}

static kvs_status value_convert(struct kvs_option_value *value, const char *flag,
                                const char *text, struct kvs_error *err)
{
    switch (value->option->kind) {
    case KVS_OPTION_FLAG:
        value->number = 1;
        return KVS_OK;
    case KVS_OPTION_STRING:
        return KVS_OK;
    case KVS_OPTION_U64:
        KVS_TRY(value_place(kvs_parse_u64(text, &value->number, err), flag, err));
        return value_in_range(value->option, flag, value->number, text, err);
    case KVS_OPTION_BYTES:
        KVS_TRY(value_place(kvs_parse_bytes(text, &value->number, err), flag, err));
        return value_in_range(value->option, flag, value->number, text, err);
    case KVS_OPTION_FRAC:
        return value_place(kvs_parse_frac(text, &value->frac, err), flag, err);
    case KVS_OPTION_ENUM:
        return value_choice(value->option, flag, text, &value->number, err);
    case KVS_OPTION_LIST:
        return value_add_list(value, flag, text, err);
    case KVS_OPTION_SWEEP:
        return value_add_sweep(value, flag, text, err);
    }
    return KVS_EINVAL;
}

kvs_status kvs_option_value_set(struct kvs_option_value *value, const char *flag,
                                const char *text, struct kvs_error *err)
{
    if (text != NULL && *text == '\0')
        return kvs_error_at(err, KVS_EINVAL, flag, 0, 0, "needs a value, got an empty one");
    KVS_TRY(value_convert(value, flag, text, err));
    value->text = text;
    value->is_set = true;
    return KVS_OK;
}

void kvs_option_value_fini(struct kvs_option_value *value)
{
    for (size_t i = 0; i < value->list.n; i++)
        kvs_mem_free(value->list.items[i]);
    KVS_ARRAY_FREE(&value->list);
    kvs_sweep_fini(&value->sweep);
}
