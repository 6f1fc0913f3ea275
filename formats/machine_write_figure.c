/* One figure as YAML. Numbers are written so that reading them gives the same bits. */
#include <inttypes.h>
#include <math.h>

#include "base/units.h"
#include "formats/machine_write.h"
#include "formats/machine_write_parts.h"

struct figure_scale {
    double scale;
    const char *suffix;
};

void kvs_machine_write_text(const char *text, struct kvs_text *out)
{
    kvs_text_puts(out, "\"");
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            kvs_text_puts(out, "\\");
        kvs_text_append(out, (unsigned char)*c < ' ' ? " " : c, 1);
    }
    kvs_text_puts(out, "\"");
}

/* Whole picoseconds in the largest unit of which there is at least one. */
static void figure_write_time(double seconds, struct kvs_text *out)
{
    static const struct {
        kvs_time ps;
        int digits;
        const char *suffix;
    } units[] = {{KVS_PS_PER_S, 12, "s"},
                 {KVS_PS_PER_MS, 9, "ms"},
                 {KVS_PS_PER_US, 6, "us"},
                 {KVS_PS_PER_NS, 3, "ns"},
                 {1, 0, "ps"}};
    kvs_time ps = kvs_ps_from_seconds(seconds);
    size_t i = ps == 0 ? 2 : 0;
    while (ps > 0 && ps < units[i].ps)
        i++;
    kvs_text_printf(out, "%" PRId64, ps / units[i].ps);
    kvs_time rest = ps % units[i].ps;
    int digits = units[i].digits;
    while (rest > 0 && rest % 10 == 0) {
        rest /= 10;
        digits--;
    }
    if (rest > 0)
        kvs_text_printf(out, ".%0*" PRId64, digits, rest);
    kvs_text_puts(out, units[i].suffix);
}

void kvs_machine_write_bytes(double bytes, struct kvs_text *out)
{
    static const struct {
        uint64_t bytes;
        const char *suffix;
    } units[] = {{KVS_GIB, "GiB"}, {KVS_MIB, "MiB"}, {KVS_KIB, "KiB"}, {1, "B"}};
    uint64_t n = (uint64_t)llround(bytes);
    size_t i = n == 0 ? KVS_COUNT_OF(units) - 1 : 0;
    while (n > 0 && n % units[i].bytes != 0)
        i++;
    kvs_text_printf(out, "%" PRIu64 "%s", n / units[i].bytes, units[i].suffix);
}

/* In the largest unit of which there is one and whose text gives the same bits again. */
static void figure_write_scaled(double value, const struct figure_scale *scales, size_t n,
                                kvs_status (*parse)(const char *text, double *out,
                                                    struct kvs_error *err),
                                struct kvs_text *out)
{
    char number[KVS_UNITS_BUF], text[KVS_UNITS_BUF + 16];
    for (size_t i = 0; i < n; i++) {
        double back = 0;
        kvs_format_f64(value / scales[i].scale, number, sizeof number);
        (void)snprintf(text, sizeof text, "%s%s", number, scales[i].suffix);
        bool is_same = parse(text, &back, NULL) == KVS_OK && !(back < value) && !(back > value);
        if (i + 1 == n || (value >= scales[i].scale && is_same))
            break;
    }
    kvs_text_puts(out, text);
}

static void figure_write_value(double value, kvs_unit unit, struct kvs_text *out)
{
    static const struct figure_scale rates[] = {
        {1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}};
    static const struct figure_scale flops[] = {
        {1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}, {1, "FLOP/s"}};
    char number[KVS_UNITS_BUF];
    switch (unit) {
    case KVS_UNIT_TIME:
        figure_write_time(value, out);
        return;
    case KVS_UNIT_BYTES:
        kvs_machine_write_bytes(value, out);
        return;
    case KVS_UNIT_RATE:
        figure_write_scaled(value, rates, KVS_COUNT_OF(rates), kvs_parse_rate, out);
        return;
    case KVS_UNIT_FLOPS:
        figure_write_scaled(value, flops, KVS_COUNT_OF(flops), kvs_parse_flops, out);
        return;
    case KVS_UNIT_FRAC:
    case KVS_UNIT_PLAIN:
        break;
    }
    kvs_text_puts(out, kvs_format_f64(value, number, sizeof number));
}

void kvs_machine_write_figure(const struct kvs_param *param, kvs_unit unit,
                              struct kvs_text *out)
{
    bool has_interval = param->lo < param->hi;
    if (param->origin == KVS_ORIGIN_STATED && !has_interval && param->build[0] == '\0' &&
        param->source[0] == '\0') {
        figure_write_value(param->value, unit, out);
        return;
    }
    kvs_text_puts(out, "{value: ");
    figure_write_value(param->value, unit, out);
    kvs_text_printf(out, ", origin: %s", kvs_origin_name(param->origin));
    if (has_interval) {
        kvs_text_puts(out, ", interval: [");
        figure_write_value(param->lo, unit, out);
        kvs_text_puts(out, ", ");
        figure_write_value(param->hi, unit, out);
        kvs_text_puts(out, "]");
    }
    if (param->build[0] != '\0') {
        kvs_text_puts(out, ", build: ");
        kvs_machine_write_text(param->build, out);
    }
    if (param->source[0] != '\0') {
        kvs_text_puts(out, ", source: ");
        kvs_machine_write_text(param->source, out);
    }
    kvs_text_puts(out, "}");
}
