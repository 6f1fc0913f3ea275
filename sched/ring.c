/* Slot sizes, declines, and what would fit. */
#include "sched/ring.h"

#include "sched/graph.h"

const char *kvs_decline_text(kvs_decline decline)
{
    switch (decline) {
    case KVS_DECLINE_NONE:
        return "accepted";
    case KVS_DECLINE_LOOKAHEAD:
        return "look-ahead 0";
    case KVS_DECLINE_BUDGET:
        return "ring larger than the budget";
    case KVS_DECLINE_HEADROOM:
        return "too little device memory stays free";
    case KVS_DECLINE_SHARED_CELLS:
        return "layers share cache cells";
    case KVS_DECLINE_V_TRANSPOSED:
        return "V cache is transposed";
    case KVS_DECLINE_NO_STAGE:
        return "no layer is staged";
    case KVS_DECLINE_PAGEABLE:
        return "the cache is in pageable memory";
    case KVS_DECLINE_SLIDING_WINDOW:
        return "a layer with a sliding window is staged";
    }
    return "?";
}

static uint64_t ring_pow2_at_least(uint64_t n)
{
    uint64_t p = 1;
    while (p < n && p < (UINT64_MAX >> 1))
        p <<= 1;
    return p < n ? n : p;
}

static uint64_t ring_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint32_t ring_n_slots(uint32_t lookahead)
{
    return lookahead > KVS_RING_MAX_SLOTS - 2 ? KVS_RING_MAX_SLOTS : lookahead + 2;
}

static kvs_decline ring_verdict(uint32_t n_slots, uint64_t need, uint64_t budget,
                                uint64_t headroom, uint64_t free_bytes)
{
    if (need > budget / n_slots)
        return KVS_DECLINE_BUDGET;
    if (free_bytes != UINT64_MAX &&
        (free_bytes < headroom || need > (free_bytes - headroom) / n_slots))
        return KVS_DECLINE_HEADROOM;
    return KVS_DECLINE_NONE;
}

struct kvs_ring_choice kvs_ring_choose(uint32_t lookahead, uint64_t need_bytes,
                                       uint64_t full_need_bytes, uint64_t budget_bytes,
                                       uint64_t headroom_bytes, uint64_t free_bytes)
{
    struct kvs_ring_choice choice = {
        .need_bytes = need_bytes, .full_need_bytes = full_need_bytes, .free_bytes = free_bytes};
    if (lookahead == 0) {
        choice.decline = KVS_DECLINE_LOOKAHEAD;
        return choice;
    }
    uint32_t n = ring_n_slots(lookahead);
    choice.n_slots = n;
    choice.ring_bytes = n * need_bytes;
    choice.decline = ring_verdict(n, need_bytes, budget_bytes, headroom_bytes, free_bytes);
    for (uint32_t k = 1; k <= KVS_RING_MAX_SLOTS - 2; k++)
        if (ring_verdict(k + 2, need_bytes, budget_bytes, headroom_bytes, free_bytes) ==
            KVS_DECLINE_NONE)
            choice.fit_lookahead = k;
    if (ring_verdict(n, need_bytes, UINT64_MAX, headroom_bytes, free_bytes) == KVS_DECLINE_NONE)
        choice.fit_budget_bytes = n * need_bytes;
    if (choice.decline != KVS_DECLINE_NONE)
        return choice;
    uint64_t slot = ring_pow2_at_least(need_bytes);
    slot = ring_min(slot, full_need_bytes);
    slot = ring_min(slot, budget_bytes / n);
    if (free_bytes != UINT64_MAX)
        slot = ring_min(slot, (free_bytes - headroom_bytes) / n);
    choice.slot_bytes = slot < need_bytes ? need_bytes : slot;
    choice.ring_bytes = n * choice.slot_bytes;
    return choice;
}

uint64_t kvs_ring_run_bytes(uint64_t window_rows, uint64_t row_bytes)
{
    uint64_t a = KVS_BUFFER_ALIGNMENT;
    return (window_rows * row_bytes + a - 1) / a * a;
}

uint64_t kvs_ring_need_bytes(const struct kvs_case *c, const struct kvs_llm_layer *layer,
                             uint64_t window_rows)
{
    if (layer->kv_source >=
        0) /* it stores no rows of its own but reads as many of the owner's */
        layer = &c->llm->layers[layer->kv_source];
    uint64_t k = kvs_ring_run_bytes(window_rows, kvs_kv_k_row_bytes(layer, c->workload.type_k));
    uint64_t v = kvs_ring_run_bytes(window_rows, kvs_kv_v_row_bytes(layer, c->workload.type_v));
    return kvs_case_n_streams(c) * (k + v);
}

static bool ring_takes_part(const struct kvs_case *c, uint32_t device, uint32_t layer)
{
    return c->placement.mode == KVS_SPLIT_TENSOR ||
           kvs_graph_device_of_layer(c, layer) == device;
}

kvs_status kvs_case_free_bytes(const struct kvs_case *c, uint32_t device, uint64_t *out_bytes,
                               struct kvs_error *err)
{
    const struct kvs_device *d = &c->machine->devices[device];
    if (!d->is_memory_known) {
        *out_bytes = UINT64_MAX;
        return KVS_OK;
    }
    double share = kvs_case_share(c, device);
    double taken = d->reserved_bytes.value +
                   share * (double)c->llm->stored_params * c->llm->weight_bytes_per_param +
                   share * (double)(c->llm->recurrent_bytes_per_seq * c->workload.n_parallel);
    uint32_t n_resident = c->placement.kv_gpu_layers;
    for (uint32_t l = 0; l < c->llm->n_layer && n_resident > 0; l++) {
        const struct kvs_llm_layer *layer = &c->llm->layers[l];
        if (!kvs_llm_layer_has_cache(layer))
            continue;
        n_resident--;
        if (layer->kv_source >= 0 || !ring_takes_part(c, device, l))
            continue;
        double bytes = (double)kvs_ring_need_bytes(c, layer, kvs_case_layer_cells(c, layer));
        taken += c->placement.mode == KVS_SPLIT_TENSOR ? bytes * share : bytes;
    }
    if (taken > d->memory_bytes.value) {
        char need[KVS_UNITS_BUF], have[KVS_UNITS_BUF];
        return kvs_error_set(
            err, KVS_ENOFIT, "%s: weights, state and resident cache take %s, the device has %s",
            d->name, kvs_format_bytes((uint64_t)taken, need, sizeof need),
            kvs_format_bytes((uint64_t)d->memory_bytes.value, have, sizeof have));
    }
    *out_bytes = (uint64_t)(d->memory_bytes.value - taken);
    return KVS_OK;
}

/* The next staged layer from *at on, which moves behind it; NULL at the end. */
static const struct kvs_llm_layer *ring_next_staged(const struct kvs_case *c, uint32_t *at,
                                                    uint32_t *n_resident)
{
    while (*at < c->llm->n_layer) {
        const struct kvs_llm_layer *layer = &c->llm->layers[(*at)++];
        if (!kvs_llm_layer_has_cache(layer))
            continue;
        if (*n_resident == 0)
            return layer;
        --*n_resident;
    }
    return NULL;
}

uint64_t kvs_case_tail_bytes(const struct kvs_case *c, uint32_t device)
{
    uint32_t n_resident = c->placement.kv_gpu_layers, at = 0;
    uint64_t rows = kvs_case_tail_ring_rows(c), bytes = 0;
    const struct kvs_llm_layer *layer;
    while ((layer = ring_next_staged(c, &at, &n_resident)) != NULL)
        if (ring_takes_part(c, device, at - 1))
            bytes += kvs_ring_need_bytes(c, layer, rows);
    return bytes;
}

/* Largest need over the staged layers that this device takes part in, now and at full context.
 */
static void ring_needs(const struct kvs_case *c, uint32_t device, uint32_t step,
                       uint64_t *out_need, uint64_t *out_full)
{
    uint32_t n_resident = c->placement.kv_gpu_layers, at = 0;
    const struct kvs_llm_layer *layer;
    *out_need = *out_full = 0;
    while ((layer = ring_next_staged(c, &at, &n_resident)) != NULL) {
        if (!ring_takes_part(c, device, at - 1))
            continue;
        uint64_t now =
            kvs_ring_need_bytes(c, layer, kvs_case_window(c, layer, step).window_rows);
        uint64_t full = kvs_ring_need_bytes(c, layer, kvs_case_layer_cells(c, layer));
        *out_need = now > *out_need ? now : *out_need;
        *out_full = full > *out_full ? full : *out_full;
    }
}

static bool ring_has_shared_cells(const struct kvs_case *c)
{
    for (uint32_t l = 0; l < c->llm->n_layer; l++)
        if (c->llm->layers[l].kv_source >= 0)
            return true;
    return false;
}

/* Bytes that a ring can have on the device. */
static kvs_status ring_free_bytes(const struct kvs_case *c, uint32_t device,
                                  uint64_t *out_bytes, struct kvs_error *err)
{
    KVS_TRY(kvs_case_free_bytes(c, device, out_bytes, err));
    if (!c->transport.keeps_tail || *out_bytes == UINT64_MAX)
        return KVS_OK;
    uint64_t tail = kvs_case_tail_bytes(c, device);
    *out_bytes -= ring_min(tail, *out_bytes);
    return KVS_OK;
}

static bool ring_has_sliding_window(const struct kvs_case *c)
{
    uint32_t n_resident = c->placement.kv_gpu_layers, at = 0;
    const struct kvs_llm_layer *layer;
    while ((layer = ring_next_staged(c, &at, &n_resident)) != NULL)
        if (layer->kind == KVS_LAYER_SWA)
            return true;
    return false;
}

/* What is refused whatever the sizes are. */
static kvs_decline ring_refusal(const struct kvs_case *c)
{
    if (c->llm->is_v_transposed)
        return KVS_DECLINE_V_TRANSPOSED;
    if (ring_has_shared_cells(c))
        return KVS_DECLINE_SHARED_CELLS;
    if (c->transport.keeps_tail && !c->workload.is_pinned)
        return KVS_DECLINE_PAGEABLE;
    if (c->transport.keeps_tail && ring_has_sliding_window(c))
        return KVS_DECLINE_SLIDING_WINDOW;
    return KVS_DECLINE_NONE;
}

kvs_status kvs_case_ring(const struct kvs_case *c, uint32_t device, uint32_t step,
                         struct kvs_ring_choice *out, struct kvs_error *err)
{
    uint64_t free_bytes, need, full;
    uint32_t decider = device;
    KVS_TRY(ring_free_bytes(c, device, &free_bytes, err));
    for (uint32_t d = 0; c->placement.mode == KVS_SPLIT_TENSOR && d < c->machine->n_devices;
         d++) {
        uint64_t other;
        KVS_TRY(ring_free_bytes(c, d, &other, err));
        if (other < free_bytes) {
            free_bytes = other;
            decider = d;
        }
    }
    ring_needs(c, device, step, &need, &full);
    *out = kvs_ring_choose(c->transport.lookahead, need, full, c->transport.budget_bytes,
                           c->transport.headroom_bytes, free_bytes);
    out->device = decider;
    if (out->decline == KVS_DECLINE_LOOKAHEAD)
        return KVS_OK;
    kvs_decline refusal = ring_refusal(c);
    if (need == 0)
        out->decline = KVS_DECLINE_NO_STAGE;
    else if (refusal != KVS_DECLINE_NONE)
        out->decline = refusal;
    return KVS_OK;
}
