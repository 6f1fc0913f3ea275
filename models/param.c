/* Reads a figure and its origin from YAML: a scalar, or a map with value, interval and source.
 */
#include "models/param.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

#define PARAM_RATE_MIN_BPS 1e3 /* 1 TiB at this rate still fits virtual time */
#define PARAM_LIMIT_DIGITS 6   /* in messages */

static const char *const param_origin_names[] = {"default",  "stated", "datasheet",
                                                 "measured", "fitted", "inferred"};

const char *kvs_origin_name(kvs_origin origin)
{
    return param_origin_names[origin];
}

struct kvs_param kvs_param_default(double value, double lo, double hi, const char *source)
{
    struct kvs_param param = {.value = value, .lo = lo, .hi = hi, .origin = KVS_ORIGIN_DEFAULT};

    (void)snprintf(param.source, sizeof param.source, "%s", source);
    return param;
}

static const char *param_example(kvs_unit unit)
{
    switch (unit) {
    case KVS_UNIT_TIME:
        return "a time such as 31us";
    case KVS_UNIT_RATE:
        return "a rate such as 24.8GB/s";
    case KVS_UNIT_BYTES:
        return "bytes such as 512MiB";
    case KVS_UNIT_FLOPS:
        return "a compute rate such as 29.1TFLOP/s";
    case KVS_UNIT_FRAC:
        return "a fraction such as 0.8 or 80%";
    case KVS_UNIT_PLAIN:
        break;
    }
    return "a number";
}

static kvs_status param_parse(const char *text, kvs_unit unit, double *out,
                              struct kvs_error *err)
{
    uint64_t bytes = 0;
    kvs_time time_ps = 0;

    switch (unit) {
    case KVS_UNIT_TIME:
        KVS_TRY(kvs_parse_time(text, &time_ps, err));
        *out = (double)time_ps / (double)KVS_PS_PER_S;
        return KVS_OK;
    case KVS_UNIT_BYTES:
        KVS_TRY(kvs_parse_bytes(text, &bytes, err));
        *out = (double)bytes;
        return KVS_OK;
    case KVS_UNIT_RATE:
        return kvs_parse_rate(text, out, err);
    case KVS_UNIT_FLOPS:
        return kvs_parse_flops(text, out, err);
    case KVS_UNIT_FRAC:
        return kvs_parse_frac(text, out, err);
    case KVS_UNIT_PLAIN:
        break;
    }
    return kvs_parse_f64(text, out, err);
}

const char *kvs_figure_format(double value, kvs_unit unit, int digits, char *buf, size_t cap)
{
    switch (unit) {
    case KVS_UNIT_TIME:
        return kvs_format_time(kvs_ps_from_seconds(value), buf, cap);
    case KVS_UNIT_RATE:
        return kvs_format_rate(value, buf, cap);
    case KVS_UNIT_BYTES:
        return kvs_format_bytes((uint64_t)value, buf, cap);
    case KVS_UNIT_FLOPS:
        (void)snprintf(buf, cap, "%.*g TFLOP/s", digits, value * 1e-12);
        return buf;
    case KVS_UNIT_FRAC:
    case KVS_UNIT_PLAIN:
        break;
    }
    (void)snprintf(buf, cap, "%.*g", digits, value);
    return buf;
}

static bool param_check_range(struct kvs_yaml *doc, const struct kvs_yaml_node *node,
                              kvs_unit unit, double min, double max, double value)
{
    const char *text = kvs_yaml_scalar(node);
    char lo[KVS_UNITS_BUF];
    char hi[KVS_UNITS_BUF];

    if (value < min || value > max) {
        (void)kvs_figure_format(min, unit, PARAM_LIMIT_DIGITS, lo, sizeof lo);
        (void)kvs_figure_format(max, unit, PARAM_LIMIT_DIGITS, hi, sizeof hi);
        if (min <= DBL_MIN && min > 0)
            kvs_yaml_complain(doc, node, NULL, "must be above 0 and at most %s, got \"%s\"", hi,
                              text);
        else
            kvs_yaml_complain(doc, node, NULL, "must be between %s and %s, got \"%s\"", lo, hi,
                              text);
        return false;
    }
    if (unit == KVS_UNIT_RATE && value > 0 && value < PARAM_RATE_MIN_BPS) {
        kvs_yaml_complain(doc, node, NULL, "must be at least 1kB/s, got \"%s\"", text);
        return false;
    }
    return true;
}

static bool param_get_scalar(struct kvs_yaml *doc, const struct kvs_yaml_node *node,
                             kvs_unit unit, double min, double max, double *out)
{
    const char *text = kvs_yaml_scalar(node);
    struct kvs_error err;
    double value = 0;

    if (!text || kvs_yaml_is_null(node)) {
        kvs_yaml_complain(doc, node, NULL, "expected %s, got %s", param_example(unit),
                          text                                       ? "nothing"
                          : kvs_yaml_node_kind(node) == KVS_YAML_SEQ ? "a list"
                                                                     : "a map");
        return false;
    }
    if (unit == KVS_UNIT_RATE && strncmp(text, "gen", 3) == 0) {
        kvs_yaml_complain(
            doc, node, "state the link as pcie: gen4x16, or give the measured rate",
            "expected %s, got the raw link rate \"%s\"", param_example(unit), text);
        return false;
    }
    if (param_parse(text, unit, &value, &err) != KVS_OK) {
        kvs_yaml_complain(doc, node, err.hint[0] ? err.hint : NULL, "%s", err.text);
        return false;
    }
    if (!param_check_range(doc, node, unit, min, max, value))
        return false;
    *out = value;
    return true;
}

/* Without an interval in the file, lo and hi stay at the value. */
static bool param_get_interval(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                               kvs_unit unit, double min, double max, struct kvs_param *param)
{
    const struct kvs_yaml_node *node = kvs_yaml_get(doc, map, "interval", KVS_OPTIONAL);
    double lo = 0;
    double hi = 0;

    if (!node)
        return true;
    if (kvs_yaml_node_kind(node) != KVS_YAML_SEQ || kvs_yaml_len(node) != 2) {
        kvs_yaml_complain(doc, node, "interval: [low, high]", "expected a list of two figures");
        return false;
    }
    if (!param_get_scalar(doc, kvs_yaml_item(node, 0), unit, min, max, &lo) ||
        !param_get_scalar(doc, kvs_yaml_item(node, 1), unit, min, max, &hi))
        return false;

    const char *lo_text = kvs_yaml_scalar(kvs_yaml_item(node, 0));
    const char *hi_text = kvs_yaml_scalar(kvs_yaml_item(node, 1));
    if (lo > hi) {
        kvs_yaml_complain(doc, node, "the lower end comes first",
                          "the interval is reversed: %s is above %s", lo_text, hi_text);
        return false;
    }
    if (param->value < lo || param->value > hi) {
        const char *value_text = kvs_yaml_scalar(kvs_yaml_get(doc, map, "value", KVS_OPTIONAL));
        kvs_yaml_complain(doc, node, "widen the interval, or correct the value",
                          "the interval %s to %s does not contain the value %s", lo_text,
                          hi_text, value_text);
        return false;
    }
    param->lo = lo;
    param->hi = hi;
    return true;
}

static bool param_get_map(struct kvs_yaml *doc, const struct kvs_yaml_node *map, kvs_unit unit,
                          double min, double max, struct kvs_param *out)
{
    struct kvs_param param = {.origin = KVS_ORIGIN_STATED};
    const struct kvs_yaml_node *value = kvs_yaml_get(doc, map, "value", KVS_REQUIRED);
    unsigned origin = KVS_ORIGIN_STATED;
    bool is_good = false;

    if (value && param_get_scalar(doc, value, unit, min, max, &param.value)) {
        param.lo = param.hi = param.value;
        is_good = param_get_interval(doc, map, unit, min, max, &param);
    } else {
        (void)kvs_yaml_get(doc, map, "interval", KVS_OPTIONAL);
    }
    (void)kvs_yaml_get_enum(doc, map, "origin", KVS_OPTIONAL, param_origin_names,
                            KVS_COUNT_OF(param_origin_names), &origin);
    (void)kvs_param_get_text(doc, map, "build", KVS_OPTIONAL, param.build, sizeof param.build);
    (void)kvs_param_get_text(doc, map, "source", KVS_OPTIONAL, param.source,
                             sizeof param.source);
    kvs_yaml_end_map(doc, map);
    param.origin = (kvs_origin)origin;
    if (is_good)
        *out = param;
    return is_good;
}

bool kvs_param_get(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                   kvs_presence presence, kvs_unit unit, double min, double max,
                   struct kvs_param *out)
{
    const struct kvs_yaml_node *node = kvs_yaml_get(doc, map, key, presence);
    struct kvs_param param = {.origin = KVS_ORIGIN_STATED};

    if (!node)
        return false;
    if (kvs_yaml_node_kind(node) == KVS_YAML_MAP)
        return param_get_map(doc, node, unit, min, max, out);
    if (!param_get_scalar(doc, node, unit, min, max, &param.value))
        return false;
    param.lo = param.hi = param.value;
    *out = param;
    return true;
}

bool kvs_param_get_text(struct kvs_yaml *doc, const struct kvs_yaml_node *map, const char *key,
                        kvs_presence presence, char *buf, size_t cap)
{
    const char *text = NULL;

    if (!kvs_yaml_get_str(doc, map, key, presence, &text))
        return false;

    size_t n = strlen(text);
    while (n > 0 && (unsigned char)text[n - 1] <= ' ')
        n--;
    if (n >= cap) {
        kvs_yaml_complain(doc, kvs_yaml_get(doc, map, key, KVS_OPTIONAL), NULL,
                          "longer than %zu bytes", cap - 1);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        buf[i] = (unsigned char)text[i] < ' ' ? ' ' : text[i];
    buf[n] = '\0';
    return true;
}
