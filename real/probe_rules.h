/*
 * What measurements mean: pure functions from samples to figures of a machine, so that they can be
 * tested without a GPU. Each says what it decides and when it does not; docs/probe.md says how the
 * samples are taken.
 */
#ifndef KVS_REAL_PROBE_RULES_H
#define KVS_REAL_PROBE_RULES_H

#include "models/machine.h"

/*
 * Median with the 5th and 95th percentile, or the extremes of fewer than 20 samples; four digits,
 * the interval rounded outwards. The source is the formatted text. samples: [n], n >= 1, sorted
 * in place.
 */
struct kvs_param kvs_probe_figure(double *samples, size_t n, const char *fmt, ...)
    KVS_PRINTF(3, 4);
/* Such a figure from three numbers, in any order; the interval holds the value. */
struct kvs_param kvs_probe_range(double value, double lo, double hi, const char *fmt, ...)
    KVS_PRINTF(4, 5);
/* The same with every digit kept: sizes, counts. */
struct kvs_param kvs_probe_exact(double value, double lo, double hi, const char *fmt, ...)
    KVS_PRINTF(4, 5);
/*
 * b waited on another stream while A1 ran, and A2 was issued after it on A1's stream. When each was
 * done: small_s (b) and second_s (A2), [n]. Sticky when A2 was served first, fifo when b was, each
 * in nine of ten rounds; false when neither.
 */
bool kvs_probe_arbitration(const double *small_s, const double *second_s, size_t n,
                           kvs_arbitration *out);

/* A round of the same with A2 issued late: lead_s before the end of A1. */
struct kvs_probe_lead {
    double lead_s;
    bool is_small_first;
};
/*
 * The lead that parts the rounds in which b came first from those in which A2 did, with the
 * fewest on the wrong side; the interval covers those that are, but for one in fifty. False with
 * fewer than three of a kind. leads: [n], sorted in place.
 */
bool kvs_probe_commit_lead(struct kvs_probe_lead *leads, size_t n, struct kvs_param *out);

/* Copies of a size that were done long before the engine was free, or calls that returned long
 * before their copy could begin. */
struct kvs_probe_passed {
    uint64_t size_bytes;
    unsigned n_passed;
    unsigned n_rounds;
};
/*
 * Largest size up to which most copies passed, at every size; 0 when none did. *out_next is the
 * size after it that did not (0: none was tried), *out_is_clean is false when a larger size
 * passed again. sizes ascend.
 */
uint64_t kvs_probe_largest(const struct kvs_probe_passed *sizes, size_t n, uint64_t *out_next,
                           bool *out_is_clean);

/*
 * When the second of chained deliveries and a free copy were served after an idle engine's first
 * delivery: rounds in which the free one came second, of all. Free unless it mostly was not;
 * *out_is_mixed when both happened in a tenth of the rounds or more.
 */
kvs_first_turn kvs_probe_first_turn(unsigned n_free, unsigned n_rounds, bool *out_is_mixed);

/* What blocking copies of these sizes took on top of their bytes and of known_s, the call and the
 * wait: the median over sizes, the interval their extremes. sizes_bytes, times_s: [n], n >= 1. */
struct kvs_param kvs_probe_first_overhead(const double *sizes_bytes, const double *times_s,
                                          size_t n, double rate_Bps, double known_s);
/* One amount in ever more pieces: time against pieces is a line, and its slope the overhead of
 * one more; the interval is that of the slopes from each count to the next. Ascending, [n]. */
kvs_status kvs_probe_next_overhead(const double *n_pieces, const double *times_s, size_t n,
                                   struct kvs_param *out, struct kvs_error *err) KVS_MUST_USE;

/* Reads by a small kernel against their size: setup + latency + bytes / rate. */
struct kvs_probe_read {
    double setup_s;
    double rate_Bps;
    double outstanding_bytes; /* rate x latency, as models/copy.h has it */
    bool is_link_bound; /* the link was the limit: nothing is known of outstanding_bytes */
};
kvs_status kvs_probe_read_fit(const double *sizes_bytes, const double *times_s, size_t n,
                              double latency_s, double link_Bps, struct kvs_probe_read *out,
                              struct kvs_error *err) KVS_MUST_USE;

/* Share of the link's rate that one amount reached in rows of each width, at most 1. widths
 * ascend, [n], n <= KVS_ROW_CURVE_MAX. */
void kvs_probe_row_curve(const uint32_t *widths_bytes, const double *times_s, size_t n,
                         double amount_bytes, double overhead_s, double rate_Bps,
                         struct kvs_row_curve *out);

/*
 * Both directions at once, each moving amount_bytes, from the same moment: the rate of a
 * direction while the other one was still busy. time_s, other_s: when each was done;
 * alone_Bps: this direction's rate once the other had ended.
 */
double kvs_probe_opposite_Bps(double amount_bytes, double time_s, double other_s,
                              double alone_Bps);

#define KVS_PROBE_MAX_GPUS 64

/*
 * Which GPUs share a link: those whose copies together are slower than the sum of their rates
 * alone by a tenth, pair by pair, and whoever shares with either. pair_Bps: [n][n], of i and j
 * together; group[i]: the same number for those that share, from 0. Returns the number of groups.
 */
uint32_t kvs_probe_groups(const double *alone_Bps, const double *pair_Bps, uint32_t n,
                          uint32_t *group);

/* A link above several devices that was found by measuring. */
struct kvs_probe_group {
    uint64_t devices; /* a bit each */
    struct kvs_param rate[KVS_N_DIRS];
};
/*
 * Puts a link above the devices' own, under their common parent; where they share a link with a
 * rate already, that link has the rates from now on. Changes the indices of links.
 */
kvs_status kvs_probe_add_group(struct kvs_machine *machine, const struct kvs_probe_group *group,
                               struct kvs_error *err) KVS_MUST_USE;

/* Is the catalogue's card (`rtx4070`, `a100-80gb`) this GPU, by the name its driver gives it? Words
 * that make it another product (`Laptop`, `NVL`, `Ti`) say no; sizes of memory are ignored, and
 * `PCIe` unless the card is an SXM one. */
bool kvs_probe_is_card(const char *gpu_name, const char *card);

/* f16 FLOP per clock and SM, tensor cores with FP32 accumulation and without sparsity, of a compute
 * capability; 0: not known. */
double kvs_probe_flop_per_clock(int major, int minor);

/* The generation of a link from its speed as Linux prints it ("16.0 GT/s PCIe"); 0: none of them.
 */
unsigned kvs_probe_pcie_gen(const char *speed);

/* Has a figure changed? More than a twentieth and more than `least` apart, each outside the other's
 * interval. */
bool kvs_probe_has_changed(const struct kvs_param *was, const struct kvs_param *is,
                           double least);

#endif
