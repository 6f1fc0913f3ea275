/* Parsing of quantities: a number, then a prefix and a unit looked up in a table. */
#include "base/units.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/number.h"

/* How one kind of quantity is written. */
struct units_kind {
    const char *noun; /* for messages: expected <noun> such as <sample> */
    const char *sample;
    const char *forgotten; /* unit to propose for a bare number */
    const char *unit;      /* after the prefix: "B", "B/s" */
    bool has_binary;       /* Ki Mi Gi Ti too */
};

static const struct units_kind units_bytes = {"bytes", "512MiB", "GiB", "B", true};
static const struct units_kind units_rate = {"a rate", "24.8GB/s", "GB/s", "B/s", true};
static const struct units_kind units_bit_rate = {"a rate", "24.8GB/s", "GB/s", "b/s", true};
static const struct units_kind units_flops = {"a speed", "29.1TFLOP/s", "TFLOP/s", "FLOP/s",
                                              false};
static const struct units_kind units_time = {"a time", "31us", "us", "s", false};

/* Multiplier of a prefix of n characters, or 0. */
static uint64_t units_prefix(const char *text, size_t n, bool has_binary)
{
    if (n == 0)
        return 1;
    bool is_binary = n == 2 && text[1] == 'i' && has_binary;
    if (n != 1 && !is_binary)
        return 0;
    uint64_t multiplier = 1;
    for (const char *letter = is_binary ? "KMGT" : "kMGT"; *letter != '\0'; letter++) {
        multiplier *= is_binary ? 1024 : 1000;
        if (*letter == text[0])
            return multiplier;
    }
    return 0;
}

/* Multiplier of a suffix such as "MiB" or "GB/s", or 0 when it is not one of this kind. */
static uint64_t units_suffix(const struct units_kind *kind, const char *suffix)
{
    size_t n = strlen(suffix);
    size_t unit_n = strlen(kind->unit);
    if (n < unit_n || strcmp(suffix + n - unit_n, kind->unit) != 0)
        return 0;
    return units_prefix(suffix, n - unit_n, kind->has_binary);
}

static kvs_status units_expected(const struct units_kind *kind, const char *text,
                                 struct kvs_error *err)
{
    return kvs_error_set(err, KVS_EINVAL, "expected %s such as %s, got \"%.80s\"", kind->noun,
                         kind->sample, text);
}

/* Reads the number and leaves *out_suffix at the unit, after at most one blank. */
static kvs_status units_number(const struct units_kind *kind, const char *text,
                               struct kvs_number *out, const char **out_suffix,
                               struct kvs_error *err)
{
    if (!kvs_number_read(text, out))
        return units_expected(kind, text, err);
    if (out->is_signed)
        return kvs_error_set(err, KVS_EINVAL, "must not be negative, got \"%.80s\"", text);
    const char *suffix = out->end;
    if (suffix[0] == ' ' && suffix[1] != '\0')
        suffix++;
    if (suffix[0] == '\0') {
        units_expected(kind, text, err);
        kvs_error_hint(err, "add a unit: %.80s%s?", text, kind->forgotten);
        return KVS_EINVAL;
    }
    *out_suffix = suffix;
    return KVS_OK;
}

/* Hints for a number of bytes with a suffix that is nearly right. */
static kvs_status units_bad_bytes(const char *text, const struct kvs_number *number,
                                  const char *suffix, struct kvs_error *err)
{
    int digits = (int)(number->end - text);
    units_expected(&units_bytes, text, err);
    size_t n = strlen(suffix);
    if (n == 1 && strchr("kKMGT", suffix[0]) != NULL) {
        char letter = suffix[0] == 'k' ? 'K' : suffix[0];
        kvs_error_hint(err, "%.*s%ciB (powers of 1024) or %.*s%cB (powers of 1000)?", digits,
                       text, letter, digits, text, suffix[0] == 'K' ? 'k' : suffix[0]);
    } else if (strcmp(suffix, "KB") == 0) {
        kvs_error_hint(err, "%.*sKiB (1024 bytes) or %.*skB (1000 bytes)?", digits, text,
                       digits, text);
    } else if (n <= 3 && suffix[n - 1] == 'b') {
        kvs_error_hint(err, "b means bits, B bytes: %.*s%.*sB?", digits, text, (int)(n - 1),
                       suffix);
    } else {
        kvs_error_hint(err, "units: B kB MB GB TB KiB MiB GiB TiB");
    }
    return KVS_EINVAL;
}

static kvs_status units_too_large(const char *text, const char *most, struct kvs_error *err)
{
    return kvs_error_set(err, KVS_ERANGE, "too large: at most %s, got \"%.80s\"", most, text);
}

kvs_status kvs_parse_bytes(const char *text, uint64_t *out_bytes, struct kvs_error *err)
{
    struct kvs_number number;
    const char *suffix;
    KVS_TRY(units_number(&units_bytes, text, &number, &suffix, err));
    uint64_t multiplier = units_suffix(&units_bytes, suffix);
    if (multiplier == 0)
        return units_bad_bytes(text, &number, suffix, err);
    if (number.is_whole) {
        if (number.whole > UINT64_MAX / multiplier)
            return units_too_large(text, "16 EiB", err);
        *out_bytes = number.whole * multiplier;
        return KVS_OK;
    }
    double bytes = round(number.value * (double)multiplier);
    if (!(bytes < 0x1p64))
        return units_too_large(text, "16 EiB", err);
    if (bytes < 1 && number.value > 0)
        return kvs_error_set(err, KVS_ERANGE, "less than one byte: \"%.80s\"", text);
    *out_bytes = (uint64_t)bytes;
    return KVS_OK;
}

kvs_status kvs_parse_time(const char *text, kvs_time *out_ps, struct kvs_error *err)
{
    static const struct {
        const char *suffix;
        kvs_time ps;
    } units[] = {{"ps", 1},
                 {"ns", KVS_PS_PER_NS},
                 {"us", KVS_PS_PER_US},
                 {"ms", KVS_PS_PER_MS},
                 {"s", KVS_PS_PER_S}};
    struct kvs_number number;
    const char *suffix;
    KVS_TRY(units_number(&units_time, text, &number, &suffix, err));
    kvs_time unit_ps = 0;
    for (size_t i = 0; i < KVS_COUNT_OF(units); i++)
        if (strcmp(suffix, units[i].suffix) == 0)
            unit_ps = units[i].ps;
    if (unit_ps == 0) {
        units_expected(&units_time, text, err);
        kvs_error_hint(err, "units: ps ns us ms s");
        return KVS_EINVAL;
    }
    const kvs_time most_ps = INT64_MAX / 4;
    double ps = round(number.value * (double)unit_ps);
    if (!(ps < (double)most_ps))
        return units_too_large(text, "2305843 s", err);
    if (ps < 1 && number.value > 0)
        return kvs_error_set(err, KVS_ERANGE, "less than one ps: \"%.80s\"", text);
    *out_ps = number.is_whole ? (kvs_time)number.whole * unit_ps : (kvs_time)ps;
    return KVS_OK;
}

/* The raw rate of a name such as gen4x16. */
static kvs_status units_pcie(const char *name, double *out_Bps, struct kvs_error *err)
{
    static const char *const widths[] = {"1", "2", "4", "8", "16"};
    const char *gen = name + strlen("gen");
    if (gen[0] >= '1' && gen[0] <= '6' && gen[1] == 'x')
        for (unsigned i = 0; i < KVS_COUNT_OF(widths); i++)
            if (strcmp(gen + 2, widths[i]) == 0) {
                *out_Bps = kvs_pcie_raw_Bps((unsigned)(gen[0] - '0'), 1u << i);
                return KVS_OK;
            }
    kvs_error_set(err, KVS_EINVAL, "no such PCIe link: \"%.80s\"", name);
    kvs_error_hint(err, "gen1 to gen6 with 1, 2, 4, 8 or 16 lanes, such as gen4x16");
    return KVS_EINVAL;
}

kvs_status kvs_parse_rate(const char *text, double *out_Bps, struct kvs_error *err)
{
    if (strncmp(text, "gen", 3) == 0)
        return units_pcie(text, out_Bps, err);
    struct kvs_number number;
    const char *suffix;
    KVS_TRY(units_number(&units_rate, text, &number, &suffix, err));
    uint64_t multiplier = units_suffix(&units_rate, suffix);
    uint64_t bit_multiplier = units_suffix(&units_bit_rate, suffix);
    if (multiplier == 0 && bit_multiplier == 0) {
        units_expected(&units_rate, text, err);
        kvs_error_hint(err, "units: GB/s GiB/s Gb/s (k M G T, Ki Mi Gi Ti), or gen4x16");
        return KVS_EINVAL;
    }
    double rate_Bps = multiplier != 0 ? number.value * (double)multiplier
                                      : number.value * (double)bit_multiplier / 8;
    if (!isfinite(rate_Bps))
        return units_too_large(text, "1e308 B/s", err);
    *out_Bps = rate_Bps;
    return KVS_OK;
}

kvs_status kvs_parse_flops(const char *text, double *out_flops, struct kvs_error *err)
{
    struct kvs_number number;
    const char *suffix;
    KVS_TRY(units_number(&units_flops, text, &number, &suffix, err));
    uint64_t multiplier = units_suffix(&units_flops, suffix);
    if (multiplier == 0) {
        units_expected(&units_flops, text, err);
        kvs_error_hint(err, "units: FLOP/s with k, M, G or T");
        return KVS_EINVAL;
    }
    double flops = number.value * (double)multiplier;
    if (!isfinite(flops))
        return units_too_large(text, "1e308 FLOP/s", err);
    *out_flops = flops;
    return KVS_OK;
}

kvs_status kvs_parse_frac(const char *text, double *out_frac, struct kvs_error *err)
{
    struct kvs_number number;
    bool is_number = kvs_number_read(text, &number);
    if (is_number && number.is_signed)
        return kvs_error_set(err, KVS_EINVAL, "must not be negative, got \"%.80s\"", text);
    const char *suffix = is_number ? number.end : "?";
    if (suffix[0] == ' ' && suffix[1] == '%')
        suffix++;
    bool is_percent = strcmp(suffix, "%") == 0;
    if (!is_percent && suffix[0] != '\0')
        return kvs_error_set(err, KVS_EINVAL,
                             "expected a fraction such as 0.07 or 7%%, got \"%.80s\"", text);
    *out_frac = is_percent ? number.value / 100 : number.value;
    return KVS_OK;
}

kvs_status kvs_parse_u64(const char *text, uint64_t *out, struct kvs_error *err)
{
    struct kvs_number number;
    bool is_number = kvs_number_read(text, &number) && number.end[0] == '\0';
    if (!is_number || !number.is_whole) {
        bool is_huge = text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
        if (is_huge)
            return units_too_large(text, "18446744073709551615", err);
        return kvs_error_set(err, KVS_EINVAL,
                             "expected a whole number such as 32, got \"%.80s\"", text);
    }
    *out = number.whole;
    return KVS_OK;
}

kvs_status kvs_parse_f64(const char *text, double *out, struct kvs_error *err)
{
    struct kvs_number number;
    if (!kvs_number_read(text, &number) || number.end[0] != '\0')
        return kvs_error_set(err, KVS_EINVAL, "expected a number such as 0.5, got \"%.80s\"",
                             text);
    *out = number.value;
    return KVS_OK;
}
