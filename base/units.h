/*
 * The one place that parses and prints bytes, times and rates.
 *
 * Suffixes: k M G T are powers of ten, Ki Mi Gi Ti powers of two, B byte, b bit.
 *
 *   bytes    "512MiB" "34B" "1.5GB" "64KiB"            uint64_t bytes
 *   time     "31us" "0.6ms" "1.5ns" "2s" "250ps"       kvs_time, picoseconds
 *   rate     "24.8GB/s" "24GiB/s" "196Gb/s" "gen4x16"  double B/s; a gen name is the raw rate
 *   flops    "29.1TFLOP/s" "800GFLOP/s"                double FLOP/s
 *   percent  "7%", or a plain fraction "0.07"          double fraction
 *
 * A number without a unit is refused with a hint. One blank between number and unit is allowed.
 * Bytes and times are rounded to nearest; a value above 0 that would round to 0 is refused.
 * Negative values, NaN, infinities, overflow and trailing text are errors.
 */
#ifndef KVS_BASE_UNITS_H
#define KVS_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef int64_t kvs_time; /* picoseconds of virtual time */

#define KVS_PS_PER_NS 1000LL
#define KVS_PS_PER_US 1000000LL
#define KVS_PS_PER_MS 1000000000LL
#define KVS_PS_PER_S  1000000000000LL

#define KVS_KIB 1024ULL
#define KVS_MIB (1024ULL * 1024ULL)
#define KVS_GIB (1024ULL * 1024ULL * 1024ULL)

kvs_status kvs_parse_bytes(const char *text, uint64_t *out_bytes,
                           struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_parse_time(const char *text, kvs_time *out_ps,
                          struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_parse_rate(const char *text, double *out_Bps,
                          struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_parse_flops(const char *text, double *out_flops,
                           struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_parse_frac(const char *text, double *out_frac,
                          struct kvs_error *err) KVS_MUST_USE;
/* Plain numbers: decimal, no unit or trailing text. kvs_parse_u64 refuses signs, fractions. */
kvs_status kvs_parse_u64(const char *text, uint64_t *out, struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_parse_f64(const char *text, double *out, struct kvs_error *err) KVS_MUST_USE;

/* Raw rate of a PCIe link per direction after line coding, B/s: gen 1..6, lanes 1,2,4,8,16.
 * gen1 x16 4.0e9, gen2 x1 0.5e9, gen3 x4 3.938e9, gen4 x16 31.51e9, gen5 x16 63.02e9.
 * Source: PCI-SIG line rates 2.5/5/8/16/32/64 GT/s with 8b/10b below gen3, 128b/130b for
 * gen3..gen5, and 1b/1b with 236/256 flit payload for gen6. 0 when the pair does not exist. */
double kvs_pcie_raw_Bps(unsigned gen, unsigned lanes);

/* Printers write into buf (always terminated) and return buf. KVS_UNITS_BUF is enough. */
#define KVS_UNITS_BUF 32
const char *kvs_format_bytes(uint64_t bytes, char *buf, size_t cap); /* "552.50 MiB" */
const char *kvs_format_time(kvs_time ps, char *buf, size_t cap);     /* "1.760 ms" */
const char *kvs_format_rate(double Bps, char *buf, size_t cap);      /* "24.83 GB/s" */

/* The fewest of 15, 16 or 17 digits that read back the same, with a decimal point in any
 * locale. */
const char *kvs_format_f64(double value, char *buf, size_t cap); /* "0.1" "nan" "-inf" */

/* Seconds to ps, to nearest; bytes / rate to ps, rounded up. Saturate at INT64_MAX/4. */
kvs_time kvs_ps_from_seconds(double seconds);
kvs_time kvs_ps_from_bytes(double bytes, double rate_Bps);
static inline double kvs_ms_from_ps(kvs_time ps)
{
    return (double)ps * 1e-9;
}

#endif
