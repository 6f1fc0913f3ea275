/* Position-dependent sizes of a case. */
#include "sched/case.h"

#include <string.h>

#define CASE_DEFAULT_BUDGET   (128 * KVS_MIB)
#define CASE_DEFAULT_HEADROOM (512 * KVS_MIB)

void kvs_case_init(struct kvs_case *c)
{
    memset(c, 0, sizeof *c);
    c->workload.n_gen = 128;
    c->workload.n_parallel = 1;
    c->workload.n_rows = 1;
    c->workload.n_ubatch = 512;
    c->workload.pad_rows = KVS_KV_PAD_ROWS;
    c->workload.type_k = KVS_KV_Q8_0;
    c->workload.type_v = KVS_KV_Q8_0;
    c->workload.is_pinned = true;
    c->placement.mode = KVS_SPLIT_NONE;
    c->transport.lookahead = 1;
    c->transport.budget_bytes = CASE_DEFAULT_BUDGET;
    c->transport.headroom_bytes = CASE_DEFAULT_HEADROOM;
}

uint32_t kvs_case_n_streams(const struct kvs_case *c)
{
    return c->workload.is_unified ? 1 : c->workload.n_parallel;
}

uint32_t kvs_case_stream_rows(const struct kvs_case *c)
{
    return c->workload.n_rows * (c->workload.is_unified ? c->workload.n_parallel : 1);
}

uint32_t kvs_case_advance_rows(const struct kvs_case *c)
{
    const struct kvs_workload *w = &c->workload;
    return w->is_frozen ? 0 : w->is_unified ? w->n_parallel : 1;
}

uint64_t kvs_case_batch_rows(const struct kvs_case *c)
{
    return (uint64_t)c->workload.n_rows * c->workload.n_parallel;
}

uint64_t kvs_case_used_rows(const struct kvs_case *c, uint32_t step)
{
    const struct kvs_workload *w = &c->workload;
    uint64_t position = w->depth + (w->is_frozen ? 0 : step);
    return position * (w->is_unified ? w->n_parallel : 1);
}

uint64_t kvs_case_cells(const struct kvs_case *c)
{
    const struct kvs_workload *w = &c->workload;
    uint64_t per_sequence = w->n_ctx ? w->n_ctx : w->depth + w->n_gen + w->n_rows;
    uint64_t cells =
        kvs_kv_pad(per_sequence * (w->is_unified ? w->n_parallel : 1), w->pad_rows);
    return w->window_rows > cells ? w->window_rows : cells;
}

uint64_t kvs_case_layer_cells(const struct kvs_case *c, const struct kvs_llm_layer *layer)
{
    uint64_t cells = kvs_case_cells(c);
    if (layer->kind != KVS_LAYER_SWA)
        return cells;
    uint64_t swa = kvs_kv_swa_cells(cells, c->llm->swa_window,
                                    c->workload.is_unified ? c->workload.n_parallel : 1,
                                    c->workload.n_ubatch);
    return swa < cells ? swa : cells;
}

struct kvs_window kvs_case_window(const struct kvs_case *c, const struct kvs_llm_layer *layer,
                                  uint32_t step)
{
    uint64_t cells = kvs_case_layer_cells(c, layer);
    uint64_t used = kvs_case_used_rows(c, step);
    struct kvs_window window;
    if (c->workload.window_rows) {
        window.window_rows = c->workload.window_rows < cells ? c->workload.window_rows : cells;
    } else {
        window.window_rows =
            kvs_kv_window_rows(used + kvs_case_stream_rows(c), cells, c->workload.pad_rows);
    }
    /* A full sliding-window cache is written round and round: the stable prefix ends at the
     * row. */
    window.early_rows = used < cells ? used : used % cells;
    if (window.early_rows > window.window_rows)
        window.early_rows = window.window_rows;
    return window;
}

static bool case_same_window(const struct kvs_case *c, uint32_t a, uint32_t b)
{
    for (uint32_t l = 0; l < c->llm->n_layer; l++) {
        const struct kvs_llm_layer *layer = &c->llm->layers[l];
        if (!kvs_llm_layer_has_cache(layer))
            continue;
        struct kvs_window x = kvs_case_window(c, layer, a);
        struct kvs_window y = kvs_case_window(c, layer, b);
        /* early must advance evenly: a sliding window that wraps round starts a new segment */
        uint64_t advance = kvs_case_used_rows(c, b) - kvs_case_used_rows(c, a);
        if (x.window_rows != y.window_rows || y.early_rows != x.early_rows + advance)
            return false;
        /* a batch that does not fit behind its row is cut at the end, each step elsewhere */
        if (y.early_rows + kvs_case_stream_rows(c) > kvs_case_layer_cells(c, layer))
            return false;
    }
    return true;
}

uint32_t kvs_case_steps_with_same_window(const struct kvs_case *c, uint32_t step)
{
    if (c->workload.is_frozen)
        return c->workload.n_gen - step;
    /* Windows change monotonically between wraps; a segment is at most pad_rows steps long. */
    uint32_t n = 1;
    uint32_t limit = c->workload.n_gen - step;
    if (limit > c->workload.pad_rows)
        limit = c->workload.pad_rows;
    while (n < limit && case_same_window(c, step, step + n))
        n++;
    return n;
}

/* Rows before a block that stay in the tail with it. */
static uint64_t case_tail_margin(const struct kvs_case *c)
{
    return 2 * (uint64_t)kvs_case_advance_rows(c) + kvs_case_stream_rows(c) - 1;
}

uint64_t kvs_case_tail_first(const struct kvs_case *c, uint32_t step)
{
    uint64_t last = kvs_case_used_rows(c, step) + kvs_case_stream_rows(c) - 1;
    uint64_t block = last / c->workload.pad_rows * c->workload.pad_rows;
    uint64_t margin = case_tail_margin(c);
    return block > margin ? block - margin : 0;
}

uint64_t kvs_case_tail_ring_rows(const struct kvs_case *c)
{
    uint32_t pad_rows = c->workload.pad_rows;
    return kvs_kv_pad(pad_rows + case_tail_margin(c) + kvs_case_advance_rows(c), pad_rows);
}

double kvs_case_share(const struct kvs_case *c, uint32_t device)
{
    if (c->placement.mode == KVS_SPLIT_NONE)
        return device == 0 ? 1.0 : 0.0;
    if (!c->placement.shares)
        return 1.0 / (double)c->machine->n_devices;
    double sum = 0.0;
    for (uint32_t d = 0; d < c->machine->n_devices; d++)
        sum += c->placement.shares[d];
    return c->placement.shares[device] / sum;
}

bool kvs_case_uses_device(const struct kvs_case *c, uint32_t device)
{
    return kvs_case_share(c, device) > 0.0;
}

struct kvs_compute_cost kvs_case_compute_cost(const struct kvs_case *c, uint32_t device)
{
    return kvs_compute_cost_of(&c->machine->devices[device], c->llm, c->workload.type_k,
                               c->workload.type_v, kvs_case_share(c, device), c->compute);
}

static kvs_status case_check_shares(const struct kvs_case *c, struct kvs_error *err)
{
    double sum = 0.0;
    for (uint32_t d = 0; d < c->machine->n_devices && c->placement.shares; d++) {
        double share = c->placement.shares[d];
        if (!(share >= 0.0))
            return kvs_error_set(err, KVS_EINVAL,
                                 "tensor_split: share of device %u must be >= 0, got %g", d,
                                 share);
        sum += share;
    }
    if (c->placement.shares && !(sum > 0.0))
        return kvs_error_set(err, KVS_EINVAL, "tensor_split: the shares add up to nothing");
    return KVS_OK;
}

kvs_status kvs_case_check(const struct kvs_case *c, struct kvs_error *err)
{
    const struct kvs_workload *w = &c->workload;
    if (w->n_gen == 0 || w->n_parallel == 0 || w->n_rows == 0 || w->pad_rows == 0)
        return kvs_error_set(
            err, KVS_EINVAL,
            "workload: tokens, sequences, rows and padding must be at least 1");
    if (w->window_rows && !w->is_frozen)
        return kvs_error_set(err, KVS_EINVAL,
                             "workload.window_rows: only with frozen positions (frozen: true)");
    if (w->window_rows && w->window_rows < w->depth + w->n_rows)
        return kvs_error_set(
            err, KVS_EINVAL,
            "workload.window_rows: must hold depth + rows = %llu rows, got %llu",
            (unsigned long long)(w->depth + w->n_rows), (unsigned long long)w->window_rows);
    uint64_t last = w->depth + (w->is_frozen ? 0 : w->n_gen - 1) + w->n_rows;
    if (w->n_ctx && last > w->n_ctx) {
        kvs_error_set(
            err, KVS_EINVAL,
            "workload: the last step needs %llu rows per sequence, the cache holds %llu",
            (unsigned long long)last, (unsigned long long)w->n_ctx);
        kvs_error_hint(err, "raise n_ctx (-c) to %llu, or lower depth (-d) or n_gen (-n)",
                       (unsigned long long)last);
        return KVS_EINVAL;
    }
    if (c->placement.mode == KVS_SPLIT_TENSOR && !c->llm->can_split_tensor)
        return kvs_error_set(err, KVS_EUNSUPPORTED,
                             "split_mode tensor: %s cannot be split by tensors in llama.cpp",
                             c->llm->name);
    return case_check_shares(c, err);
}
