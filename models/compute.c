/* Profile or roofline, as one linear cost. */
#include "models/compute.h"

#include <math.h>
#include <string.h>

#include "models/kv.h"

const char *const kvs_compute_kind_names[] = {"modelled", "streamed"};

static const struct kvs_compute_profile *compute_find_profile(const struct kvs_device *device,
                                                              const char *model,
                                                              kvs_kv_type type,
                                                              double head_share)
{
    const struct kvs_compute_profile *best = NULL;
    for (uint32_t i = 0; i < device->n_profiles; i++) {
        const struct kvs_compute_profile *p = &device->profiles[i];
        if (strcmp(p->model, model) != 0)
            continue;
        bool is_same_type = best && (p->kv_type == type) == (best->kv_type == type);
        if (!best || (!is_same_type && p->kv_type == type) ||
            (is_same_type &&
             fabs(p->head_share - head_share) < fabs(best->head_share - head_share)))
            best = p;
    }
    return best;
}

static struct kvs_compute_cost compute_of_profile(const struct kvs_compute_profile *profile,
                                                  double params, double row_bytes)
{
    struct kvs_compute_cost cost = {.is_measured = true, .profile = profile};
    cost.s_per_param = profile->fixed.value / (params * profile->head_share);
    if (row_bytes > 0.0) {
        cost.s_per_kv_byte = profile->per_row.value / (row_bytes * profile->head_share);
        cost.s_per_query_byte =
            profile->per_query_row.value / (row_bytes * profile->head_share);
    }
    cost.copy_slowdown_frac = profile->copy_slowdown.value;
    cost.busy_slowdown_frac = profile->busy_slowdown.value;
    cost.busy_threshold_frac = profile->busy_threshold.value;
    return cost;
}

static struct kvs_compute_cost compute_of_roofline(const struct kvs_device *device,
                                                   const struct kvs_llm *llm)
{
    double rate = device->memory_rate.value * device->memory_efficiency.value;
    struct kvs_compute_cost cost = {.s_per_param = llm->weight_bytes_per_param / rate,
                                    .s_per_kv_byte = 1.0 / rate};
    if (device->flops.value > 0.0)
        cost.flop_s_per_param = 2.0 / device->flops.value;
    return cost;
}

bool kvs_compute_knows_streaming(const struct kvs_device *device)
{
    return device->stream.rate.value > 0.0 && device->stream.fold_rate.value > 0.0;
}

static struct kvs_compute_cost compute_of_stream(const struct kvs_device *device,
                                                 const struct kvs_llm *llm)
{
    return (struct kvs_compute_cost){.is_measured = true,
                                     .s_per_param = llm->weight_bytes_per_param /
                                                    device->stream.rate.value,
                                     .s_per_kv_byte = 1.0 / device->stream.fold_rate.value,
                                     .s_per_kernel = device->stream.kernel.value,
                                     .s_per_operation = device->stream.operation.value,
                                     .s_beside = device->stream.beside.value,
                                     .is_streamed = true,
                                     .copy_slowdown_frac = device->stream.slowdown.value};
}

struct kvs_compute_cost kvs_compute_cost_of(const struct kvs_device *device,
                                            const struct kvs_llm *llm, kvs_kv_type type_k,
                                            kvs_kv_type type_v, double head_share,
                                            kvs_compute_kind kind)
{
    double params = (double)kvs_llm_active_params(llm);
    double row_bytes = (double)kvs_kv_growing_bytes_per_token(llm, type_k, type_v);
    if (kind == KVS_COMPUTE_STREAMED && kvs_compute_knows_streaming(device))
        return compute_of_stream(device, llm);
    const struct kvs_compute_profile *profile =
        compute_find_profile(device, llm->name, type_k, head_share);
    if (!profile && llm->has_program)
        profile = &llm->program;
    struct kvs_compute_cost cost = profile ? compute_of_profile(profile, params, row_bytes)
                                           : compute_of_roofline(device, llm);
    cost.s_per_kernel = device->kernel_gap.value;
    return cost;
}

double kvs_compute_s(const struct kvs_compute_cost *cost, uint64_t params, uint64_t kv_bytes,
                     uint32_t n_queries)
{
    double weights = (double)params * cost->s_per_param;
    double flops = (double)params * cost->flop_s_per_param * (double)n_queries;
    double attention = (double)kv_bytes *
                       (cost->s_per_kv_byte + (double)(n_queries - 1) * cost->s_per_query_byte);
    return fmax(weights, flops) + attention;
}
