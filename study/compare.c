/* Pairs of rows, and what their errors come to. */
#include "study/compare.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

struct kvs_accuracy kvs_accuracy_of(const double *predicted, const double *measured, size_t n)
{
    struct kvs_accuracy a = {0};
    for (size_t i = 0; i < n; i++) {
        double error = predicted[i] / measured[i] - 1.0;
        if (!isfinite(error))
            continue;
        if (a.n == 0 || fabs(error) > fabs(a.worst_frac)) {
            a.worst_frac = error;
            a.worst = i;
        }
        a.mean_frac += fabs(error);
        a.bias_frac += error;
        a.n++;
    }
    double count = a.n > 0 ? (double)a.n : (double)NAN;
    a.mean_frac /= count;
    a.bias_frac /= count;
    if (a.n == 0)
        a.worst_frac = (double)NAN;
    return a;
}

double kvs_naive_ts(const struct kvs_result *row)
{
    bool is_in_turn = strcmp(row->policy, "ordered") == 0 || row->declined > 0.0;
    if (!isfinite(row->compute_ms) || !isfinite(row->copies_ms))
        return (double)NAN;
    double ms =
        is_in_turn ? row->compute_ms + row->copies_ms : fmax(row->compute_ms, row->copies_ms);
    return 1e3 / ms * row->n_parallel;
}

kvs_status kvs_results_match(const struct kvs_results *a, const struct kvs_results *b,
                             struct kvs_result_pairs *out, struct kvs_error *err)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(b->items.n, sizeof(bool), &memory, err));
    bool *is_taken = memory;
    kvs_status status = KVS_OK;
    for (size_t i = 0; i < a->items.n && status == KVS_OK; i++) {
        size_t k = 0;
        while (k < b->items.n &&
               (is_taken[k] || !kvs_result_is_same(&a->items.items[i], &b->items.items[k])))
            k++;
        if (k == b->items.n)
            continue;
        is_taken[k] = true;
        struct kvs_result_pair pair = {i, k};
        status = KVS_ARRAY_PUSH(out, pair, err);
    }
    kvs_mem_free(memory);
    return status;
}
