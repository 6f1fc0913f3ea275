/* Figures from samples: medians and spreads, thresholds, slopes. */
#include "real/probe_rules.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

#define RULES_DIGITS      4
#define RULES_PERCENTILES 20   /* samples from which 5th and 95th percentile mean something */
#define RULES_MOST        0.9  /* of the rounds: a rule */
#define RULES_STRAYS      0.02 /* of the rounds: the host was interrupted */
#define RULES_LINK_BOUND  0.85 /* of the link's rate */
#define RULES_CHANGED     0.05

typedef enum { ROUND_NEAR, ROUND_DOWN, ROUND_UP } rules_rounding;

static double rules_round(double value, rules_rounding how)
{
    if (!(value > 0.0) || !isfinite(value))
        return value > 0.0 ? value : 0.0;
    /* powers of ten are exact up to 22: a quotient by one reads back as its decimal */
    int shift = RULES_DIGITS - 1 - (int)floor(log10(value));
    double scale = pow(10.0, abs(shift));
    double digits = shift >= 0 ? value * scale : value / scale;
    double near = round(digits);
    bool is_whole = fabs(digits - near) < 1e-9 * near; /* rounding must not move it outwards */
    double whole = how == ROUND_NEAR || is_whole ? near
                   : how == ROUND_DOWN           ? floor(digits)
                                                 : ceil(digits);
    return shift >= 0 ? whole / scale : whole * scale;
}

static struct kvs_param rules_range(double value, double lo, double hi)
{
    double low = fmin(value, fmin(lo, hi)), high = fmax(value, fmax(lo, hi));
    return (struct kvs_param){.value = rules_round(value, ROUND_NEAR),
                              .lo = rules_round(low, ROUND_DOWN),
                              .hi = rules_round(high, ROUND_UP),
                              .origin = KVS_ORIGIN_MEASURED};
}

struct kvs_param kvs_probe_figure(double *samples, size_t n, const char *fmt, ...)
{
    bool has_percentiles = n >= RULES_PERCENTILES;
    double median = kvs_quantile(samples, n, 0.5);
    struct kvs_param figure =
        rules_range(median, kvs_quantile(samples, n, has_percentiles ? 0.05 : 0.0),
                    kvs_quantile(samples, n, has_percentiles ? 0.95 : 1.0));
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(figure.source, sizeof figure.source, fmt, args);
    va_end(args);
    return figure;
}

struct kvs_param kvs_probe_range(double value, double lo, double hi, const char *fmt, ...)
{
    struct kvs_param figure = rules_range(value, lo, hi);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(figure.source, sizeof figure.source, fmt, args);
    va_end(args);
    return figure;
}

struct kvs_param kvs_probe_exact(double value, double lo, double hi, const char *fmt, ...)
{
    struct kvs_param figure = {.value = value,
                               .lo = fmin(value, fmin(lo, hi)),
                               .hi = fmax(value, fmax(lo, hi)),
                               .origin = KVS_ORIGIN_MEASURED};
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(figure.source, sizeof figure.source, fmt, args);
    va_end(args);
    return figure;
}

bool kvs_probe_arbitration(const double *small_s, const double *second_s, size_t n,
                           kvs_arbitration *out)
{
    size_t n_second_first = 0;
    for (size_t i = 0; i < n; i++)
        n_second_first += second_s[i] < small_s[i];
    if (n > 0 && (double)n_second_first >= RULES_MOST * (double)n)
        *out = KVS_ARB_STICKY;
    else if (n > 0 && (double)n_second_first <= (1.0 - RULES_MOST) * (double)n)
        *out = KVS_ARB_FIFO;
    else
        return false;
    return true;
}

static int rules_by_lead(const void *a, const void *b)
{
    double x = ((const struct kvs_probe_lead *)a)->lead_s;
    double y = ((const struct kvs_probe_lead *)b)->lead_s;
    return (x > y) - (x < y);
}

/* Index i that leaves the fewest rounds on the wrong side when leads[i..n) are those in which A2
 * came first; in the middle of all such. */
static size_t rules_part(const struct kvs_probe_lead *leads, size_t n)
{
    size_t n_wrong = 0, fewest, first = 0, last = 0;
    for (size_t i = 0; i < n; i++)
        n_wrong += leads[i].is_small_first;
    fewest = n_wrong;
    for (size_t i = 1; i <= n; i++) {
        if (leads[i - 1].is_small_first)
            n_wrong--;
        else
            n_wrong++;
        if (i < n && !(leads[i].lead_s > leads[i - 1].lead_s))
            continue; /* nothing parts equal leads */
        if (n_wrong < fewest) {
            fewest = n_wrong;
            first = i;
        }
        if (n_wrong == fewest)
            last = i;
    }
    return first + (last - first) / 2;
}

bool kvs_probe_commit_lead(struct kvs_probe_lead *leads, size_t n, struct kvs_param *out)
{
    size_t n_small = 0, n_strays = (size_t)(RULES_STRAYS * (double)n);
    for (size_t i = 0; i < n; i++)
        n_small += leads[i].is_small_first;
    if (n_small < 3 || n - n_small < 3)
        return false;
    qsort(leads, n, sizeof *leads, rules_by_lead);
    size_t edge = rules_part(leads, n);
    if (edge == 0 || edge == n)
        return false;
    size_t low = edge - 1, high = edge, skipped = 0;
    for (size_t i = 0; i < edge; i++)
        if (!leads[i].is_small_first && skipped++ == n_strays) {
            low = i;
            break;
        }
    skipped = 0;
    for (size_t i = n; i-- > edge;)
        if (leads[i].is_small_first && skipped++ == n_strays) {
            high = i;
            break;
        }
    double between = (leads[edge - 1].lead_s + leads[edge].lead_s) / 2;
    *out = kvs_probe_range(fmax(0, between), fmax(0, leads[low].lead_s),
                           fmax(0, leads[high].lead_s),
                           "%zu copies issued before the end of the one ahead on their stream, "
                           "in %zu of them another stream was first",
                           n, n_small);
    return true;
}

uint64_t kvs_probe_largest(const struct kvs_probe_passed *sizes, size_t n, uint64_t *out_next,
                           bool *out_is_clean)
{
    uint64_t largest = 0;
    size_t i = 0;
    for (; i < n && 2 * sizes[i].n_passed > sizes[i].n_rounds; i++)
        largest = sizes[i].size_bytes;
    *out_next = i < n ? sizes[i].size_bytes : 0;
    *out_is_clean = true;
    for (; i < n; i++)
        *out_is_clean &= 2 * sizes[i].n_passed <= sizes[i].n_rounds;
    return largest;
}

kvs_first_turn kvs_probe_first_turn(unsigned n_free, unsigned n_rounds, bool *out_is_mixed)
{
    unsigned n_chained = n_rounds - n_free;
    *out_is_mixed = 10 * n_free >= n_rounds && 10 * n_chained >= n_rounds && n_rounds > 0;
    return n_chained > n_free ? KVS_FIRST_TURN_CHAINED : KVS_FIRST_TURN_FREE;
}

struct kvs_param kvs_probe_first_overhead(const double *sizes_bytes, const double *times_s,
                                          size_t n, double rate_Bps, double known_s)
{
    double rest[KVS_ROW_CURVE_MAX];
    size_t n_used = n < KVS_COUNT_OF(rest) ? n : KVS_COUNT_OF(rest);
    for (size_t i = 0; i < n_used; i++)
        rest[i] = fmax(0, times_s[i] - sizes_bytes[i] / rate_Bps - known_s);
    return kvs_probe_figure(rest, n_used,
                            "blocking copies of %.0f KiB to %.0f KiB less bytes, call and wait",
                            sizes_bytes[0] / 1024, sizes_bytes[n_used - 1] / 1024);
}

kvs_status kvs_probe_next_overhead(const double *n_pieces, const double *times_s, size_t n,
                                   struct kvs_param *out, struct kvs_error *err)
{
    struct kvs_line_fit fit;
    KVS_TRY(kvs_fit_line(n_pieces, times_s, n, &fit, err));
    double lo = fit.slope, hi = fit.slope;
    for (size_t i = 1; i < n; i++) {
        double slope = (times_s[i] - times_s[i - 1]) / (n_pieces[i] - n_pieces[i - 1]);
        lo = fmin(lo, slope);
        hi = fmax(hi, slope);
    }
    *out = kvs_probe_range(fmax(0, fit.slope), fmax(0, lo), fmax(0, hi),
                           "one amount in %.0f to %.0f copies: slope of time against copies",
                           n_pieces[0], n_pieces[n - 1]);
    return KVS_OK;
}

kvs_status kvs_probe_read_fit(const double *sizes_bytes, const double *times_s, size_t n,
                              double latency_s, double link_Bps, struct kvs_probe_read *out,
                              struct kvs_error *err)
{
    struct kvs_line_fit fit;
    KVS_TRY(kvs_fit_line(sizes_bytes, times_s, n, &fit, err));
    if (!(fit.slope > 0.0))
        return kvs_error_set(err, KVS_ENUMERIC, "larger reads took no longer");
    *out = (struct kvs_probe_read){.setup_s = fmax(0, fit.intercept - latency_s),
                                   .rate_Bps = 1.0 / fit.slope,
                                   .outstanding_bytes = latency_s / fit.slope};
    out->is_link_bound = link_Bps > 0.0 && out->rate_Bps > RULES_LINK_BOUND * link_Bps;
    return KVS_OK;
}

void kvs_probe_row_curve(const uint32_t *widths_bytes, const double *times_s, size_t n,
                         double amount_bytes, double overhead_s, double rate_Bps,
                         struct kvs_row_curve *out)
{
    out->n = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        double time_s = fmax(times_s[i] - overhead_s, amount_bytes / rate_Bps);
        out->width_bytes[i] = widths_bytes[i];
        out->efficiency[i] = fmin(1, rules_round(amount_bytes / rate_Bps / time_s, ROUND_NEAR));
    }
    (void)snprintf(out->source, sizeof out->source,
                   "2D copies to the device, %.3g MiB, pitch twice the width, over %.4g GB/s",
                   amount_bytes / 0x1p20, rate_Bps * 1e-9);
}

double kvs_probe_opposite_Bps(double amount_bytes, double time_s, double other_s,
                              double alone_Bps)
{
    if (time_s <= other_s)
        return amount_bytes / time_s;
    double alone_bytes = (time_s - other_s) * alone_Bps;
    return fmax(0, amount_bytes - alone_bytes) / other_s;
}

bool kvs_probe_has_changed(const struct kvs_param *was, const struct kvs_param *is,
                           double least)
{
    bool is_apart =
        fabs(is->value - was->value) > fmax(least, RULES_CHANGED * fabs(was->value));
    bool is_outside = (is->value < was->lo || is->value > was->hi) &&
                      (was->value < is->lo || was->value > is->hi);
    return is_apart && is_outside;
}
