/* Printing of quantities, link rates, and conversions to virtual time. */
#include "base/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"

double kvs_pcie_raw_Bps(unsigned gen, unsigned lanes)
{
    static const struct {
        double line_rate; /* transfers per second and lane, a bit each */
        double coding;    /* payload bits per bit */
    } gens[] = {{2.5e9, 8.0 / 10},   {5e9, 8.0 / 10},     {8e9, 128.0 / 130},
                {16e9, 128.0 / 130}, {32e9, 128.0 / 130}, {64e9, 236.0 / 256}};
    bool is_width = lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8 || lanes == 16;
    if (gen < 1 || gen > KVS_COUNT_OF(gens) || !is_width)
        return 0;
    return gens[gen - 1].line_rate * gens[gen - 1].coding * lanes / 8;
}

/* Divides by step until the value prints below it; names is NULL-terminated. */
static const char *format_scaled(double value, double step, double limit, int decimals,
                                 const char *const *names, char *buf, size_t cap)
{
    size_t i = 0;
    while (fabs(value) >= limit && names[i + 1] != NULL) {
        value /= step;
        i++;
    }
    snprintf(buf, cap, "%.*f", i == 0 ? 0 : decimals, value);
    kvs_number_fix_point(buf);
    size_t n = 0;
    while (buf[n] != '\0')
        n++;
    snprintf(buf + n, cap - n, " %s", names[i]);
    return buf;
}

const char *kvs_format_bytes(uint64_t bytes, char *buf, size_t cap)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", NULL};
    return format_scaled((double)bytes, 1024, 1023.995, 2, names, buf, cap);
}

const char *kvs_format_time(kvs_time ps, char *buf, size_t cap)
{
    static const char *const names[] = {"ps", "ns", "us", "ms", "s", NULL};
    return format_scaled((double)ps, 1000, 999.9995, 3, names, buf, cap);
}

const char *kvs_format_rate(double Bps, char *buf, size_t cap)
{
    static const char *const names[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", NULL};
    return format_scaled(Bps, 1000, 999.995, 2, names, buf, cap);
}

const char *kvs_format_f64(double value, char *buf, size_t cap)
{
    if (isnan(value)) {
        snprintf(buf, cap, "nan");
        return buf;
    }
    for (int digits = 15; digits <= 17; digits++) {
        char full[KVS_UNITS_BUF];
        snprintf(full, sizeof(full), "%.*g", digits, value);
        if (digits < 17 && strtod(full, NULL) != value)
            continue;
        kvs_number_fix_point(full);
        snprintf(buf, cap, "%s", full);
        break;
    }
    return buf;
}

static kvs_time format_saturate(double ps)
{
    const kvs_time most_ps = INT64_MAX / 4;
    if (isnan(ps) || ps >= (double)most_ps)
        return most_ps;
    if (ps <= -(double)most_ps)
        return -most_ps;
    return (kvs_time)ps;
}

kvs_time kvs_ps_from_seconds(double seconds)
{
    return format_saturate(round(seconds * 1e12));
}

kvs_time kvs_ps_from_bytes(double bytes, double rate_Bps)
{
    if (bytes <= 0)
        return 0;
    return format_saturate(ceil(bytes * 1e12 / rate_Bps));
}
