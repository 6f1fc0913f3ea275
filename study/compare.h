/* How far predictions are from measurements, and how far a naive model is. */
#ifndef KVS_STUDY_COMPARE_H
#define KVS_STUDY_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/row_read.h"

/* Errors of rates: predicted / measured - 1. */
struct kvs_accuracy {
    size_t n;          /* pairs that have both */
    double mean_frac;  /* mean size */
    double bias_frac;  /* mean, signed */
    double worst_frac; /* the one of largest size, signed */
    size_t worst;      /* its index */
};

/* predicted, measured: [n]; pairs in which either is not finite are passed over. NaN when none
 * is left. */
struct kvs_accuracy kvs_accuracy_of(const double *predicted, const double *measured, size_t n);

/*
 * Rate of a model without a schedule: the sum of compute and copies where nothing overlaps
 * (ordered, or a ring that was declined), else the larger of the two; NaN without the figures.
 */
double kvs_naive_ts(const struct kvs_result *row);

/* Two rows of the same configuration: indices into a and b. */
struct kvs_result_pair {
    size_t a;
    size_t b;
};
/* Zero-initialise; release with KVS_ARRAY_FREE. */
struct kvs_result_pairs {
    struct kvs_result_pair *items;
    size_t n;
    size_t capacity;
};

/* Each row of a with the first row of b that has its configuration and no partner yet, in a's
 * order. */
kvs_status kvs_results_match(const struct kvs_results *a, const struct kvs_results *b,
                             struct kvs_result_pairs *out, struct kvs_error *err) KVS_MUST_USE;

#endif
