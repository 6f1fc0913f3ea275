/* Paths that share a link or host memory: rates by max-min, recomputed when a copy enters or
 * leaves. */
#include <math.h>

#include "models/contention.h"
#include "sim/sim.h"

_Static_assert(SIM_NONE == KVS_CONTENTION_NONE, "sim->opposite says either");

/* The lowest domain of the flows that cross each resource or its opposite; [n_resources]. */
static void flow_find_owners(const struct sim *sim, uint32_t *owner)
{
    for (uint32_t r = 0; r < sim->n_resources; r++)
        owner[r] = SIM_NONE;
    for (uint32_t f = 0; f < sim->n_flows; f++) {
        const struct sim_flow *flow = &sim->flows[f];
        for (uint32_t k = 0; k < flow->share.n_path; k++) {
            uint32_t r = flow->share.path[k], opposite = sim->opposite[r];
            if (flow->domain < owner[r])
                owner[r] = flow->domain;
            if (opposite != SIM_NONE && flow->domain < owner[opposite])
                owner[opposite] = flow->domain;
        }
    }
}

/* Flows that share a resource, or the two directions of one, belong to one domain. */
static void flow_join_domains(struct sim *sim)
{
    uint32_t *owner = sim->scratch_index;
    bool has_changed = true;
    for (uint32_t f = 0; f < sim->n_flows; f++)
        sim->flows[f].domain = f;
    while (has_changed) {
        has_changed = false;
        flow_find_owners(sim, owner);
        for (uint32_t f = 0; f < sim->n_flows; f++) {
            struct sim_flow *flow = &sim->flows[f];
            for (uint32_t k = 0; k < flow->share.n_path; k++) {
                if (owner[flow->share.path[k]] >= flow->domain)
                    continue;
                flow->domain = owner[flow->share.path[k]];
                has_changed = true;
            }
        }
    }
}

static kvs_status flow_alloc(struct sim *sim)
{
    size_t n_flows = 2 * (size_t)sim->n_devices;
    sim->n_resources = kvs_contention_n_resources(sim->machine);
    const struct {
        void **array;
        size_t n, bytes;
    } arrays[] = {
        {(void **)&sim->flows, n_flows, sizeof *sim->flows},
        {(void **)&sim->capacity, sim->n_resources, sizeof *sim->capacity},
        {(void **)&sim->capacity_opposite, sim->n_resources, sizeof *sim->capacity_opposite},
        {(void **)&sim->opposite, sim->n_resources, sizeof *sim->opposite},
        {(void **)&sim->scratch_left, sim->n_resources, sizeof *sim->scratch_left},
        {(void **)&sim->scratch_count, sim->n_resources, sizeof *sim->scratch_count},
        {(void **)&sim->scratch_flows, n_flows, sizeof *sim->scratch_flows},
        {(void **)&sim->scratch_rates, n_flows + sim->n_resources, sizeof *sim->scratch_rates},
        {(void **)&sim->scratch_index, n_flows + sim->n_resources, sizeof *sim->scratch_index},
        {(void **)&sim->n_moving, sim->n_resources, sizeof *sim->n_moving},
        {(void **)&sim->local_id, sim->n_resources, sizeof *sim->local_id},
        {(void **)&sim->local_stamp, sim->n_resources, sizeof *sim->local_stamp},
        {(void **)&sim->local_capacity, sim->n_resources, sizeof *sim->local_capacity},
        {(void **)&sim->domains, n_flows, sizeof *sim->domains},
        {(void **)&sim->moving, n_flows, sizeof *sim->moving},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(arrays); i++)
        KVS_TRY(kvs_mem_alloc(arrays[i].n, arrays[i].bytes, arrays[i].array, sim->err));
    return KVS_OK;
}

/* Room for the moving flows of each domain, and whether one resource is all that they cross. */
static void flow_fill_domains(struct sim *sim)
{
    for (uint32_t f = 0; f < sim->n_flows; f++)
        sim->domains[f] = (struct sim_domain){.event = SIM_NONE, .only_resource = SIM_NONE};
    for (uint32_t f = 0; f < sim->n_flows; f++) {
        const struct kvs_share_flow *share = &sim->flows[f].share;
        struct sim_domain *d = &sim->domains[sim->flows[f].domain];
        if (d->n_flows++ == 0)
            d->only_resource = share->path[0];
        if (share->n_path != 1 || share->path[0] != d->only_resource)
            d->has_several = true;
    }
    uint32_t *at = sim->moving;
    for (uint32_t f = 0; f < sim->n_flows; f++) {
        struct sim_domain *d = &sim->domains[f];
        d->moving = at;
        at += d->n_flows;
        if (d->has_several)
            d->only_resource = SIM_NONE;
    }
}

/* A path on which nothing is contended for is left to its engine. */
static void flow_add(struct sim *sim, const struct kvs_contention *contention, uint32_t device,
                     kvs_dir dir)
{
    struct sim_flow *flow = &sim->flows[sim->n_flows];
    flow->share.n_path =
        kvs_contention_path(sim->machine, contention, device, dir, flow->share.path);
    flow->engine = sim->devices[device].engine[dir];
    sim->devices[device].flow[dir] = flow->share.n_path > 0 ? sim->n_flows++ : SIM_NONE;
}

kvs_status sim_flow_bind(struct sim *sim)
{
    KVS_TRY(flow_alloc(sim));
    const struct kvs_contention contention = {.capacity_Bps = sim->capacity,
                                              .capacity_opposite_Bps = sim->capacity_opposite,
                                              .opposite = sim->opposite,
                                              .demand_Bps = sim->scratch_left};
    kvs_contention_fill(sim->machine, &contention);
    for (uint32_t d = 0; d < sim->n_devices; d++)
        for (unsigned dir = 0; dir < KVS_N_DIRS; dir++)
            flow_add(sim, &contention, d, (kvs_dir)dir);
    flow_join_domains(sim);
    flow_fill_domains(sim);
    sim->stamp = 1;
    return KVS_OK;
}

/* Capacity now: a direction may be slower while the other one moves bytes. */
static double flow_capacity(const struct sim *sim, uint32_t resource)
{
    uint32_t opposite = sim->opposite[resource];
    if (opposite == SIM_NONE || sim->n_moving[opposite] == 0)
        return sim->capacity[resource];
    return sim->capacity_opposite[resource];
}

static void flow_progress(struct sim *sim, struct sim_flow *flow)
{
    double seconds = (double)(sim->now_ps - flow->updated_ps) * 1e-12;
    flow->left_bytes -= seconds * flow->rate_Bps;
    if (flow->left_bytes < 0.0)
        flow->left_bytes = 0.0;
    flow->updated_ps = sim->now_ps;
}

/* The moving flows of the domain for kvs_share_rates, the resources they cross numbered from 0.
 */
static uint32_t flow_collect(struct sim *sim, uint32_t domain, uint32_t *out_n_resources)
{
    const struct sim_domain *d = &sim->domains[domain];
    uint32_t n_local = 0;
    for (uint32_t i = 0; i < d->n_moving; i++) {
        const struct sim_flow *flow = &sim->flows[d->moving[i]];
        struct kvs_share_flow *share = &sim->scratch_flows[i];
        share->limit_Bps = flow->share.limit_Bps;
        share->n_path = flow->share.n_path;
        for (uint32_t k = 0; k < share->n_path; k++) {
            uint32_t r = flow->share.path[k];
            if (sim->local_stamp[r] != sim->stamp) {
                sim->local_stamp[r] = sim->stamp;
                sim->local_id[r] = n_local;
                sim->local_capacity[n_local++] = flow_capacity(sim, r);
            }
            share->path[k] = sim->local_id[r];
        }
    }
    sim->stamp++;
    *out_n_resources = n_local;
    return d->n_moving;
}

/* The flow whose end comes first carries the domain's event: any end changes all other ends. */
struct flow_first {
    kvs_time end_ps;
    uint32_t queue; /* SIM_NONE: nothing moves */
};

static void flow_set_first(struct sim *sim, uint32_t domain, const struct flow_first *first)
{
    uint32_t *event = &sim->domains[domain].event;
    if (*event != first->queue && *event != SIM_NONE)
        kvs_event_tree_clear(&sim->events, *event);
    *event = first->queue;
    if (first->queue != SIM_NONE)
        kvs_event_tree_set(&sim->events, first->queue, first->end_ps);
}

static void flow_take_rate(struct sim *sim, struct sim_flow *flow, double rate_Bps,
                           double ps_per_byte)
{
    flow_progress(sim, flow);
    flow->rate_Bps = rate_Bps;
    flow->ps_per_byte = ps_per_byte;
    sim_engine_set_pace(sim, &sim->engines[flow->engine], ps_per_byte);
}

/*
 * The common case of max-min: one resource, and no flow that would take less than its even
 * share. Returns false, with nothing changed, when it is not that case.
 */
static bool flow_share_evenly(struct sim *sim, uint32_t domain)
{
    const struct sim_domain *d = &sim->domains[domain];
    struct flow_first first = {KVS_NEVER, SIM_NONE};
    if (d->only_resource == SIM_NONE)
        return false;
    double rate = d->n_moving > 0 ? flow_capacity(sim, d->only_resource) / d->n_moving : 0.0;
    for (uint32_t i = 0; i < d->n_moving; i++)
        if (sim->flows[d->moving[i]].share.limit_Bps < rate)
            return false;
    double pace = (double)KVS_PS_PER_S / rate;
    double least = HUGE_VAL;
    for (uint32_t i = 0; i < d->n_moving; i++) {
        struct sim_flow *flow = &sim->flows[d->moving[i]];
        if (flow->rate_Bps != rate)
            flow_take_rate(sim, flow, rate, pace);
        else
            flow_progress(sim, flow);
        if (flow->left_bytes < least) {
            least = flow->left_bytes;
            first.queue = sim->engines[flow->engine].running;
        }
    }
    if (d->n_moving > 0)
        first.end_ps = sim->now_ps + sim_ps_up(least * pace);
    flow_set_first(sim, domain, &first);
    return true;
}

/* New rates for every moving flow of the domain. */
static void flow_share_domain(struct sim *sim, uint32_t domain)
{
    struct flow_first first = {KVS_NEVER, SIM_NONE};
    uint32_t n_resources;
    if (flow_share_evenly(sim, domain))
        return;
    uint32_t n = flow_collect(sim, domain, &n_resources);
    kvs_share_rates(sim->scratch_flows, n, sim->local_capacity, n_resources, sim->scratch_left,
                    sim->scratch_count, sim->scratch_rates);
    for (uint32_t i = 0; i < n; i++) {
        struct sim_flow *flow = &sim->flows[sim->domains[domain].moving[i]];
        if (flow->rate_Bps != sim->scratch_rates[i])
            flow_take_rate(sim, flow, sim->scratch_rates[i],
                           (double)KVS_PS_PER_S / sim->scratch_rates[i]);
        kvs_time end = flow->updated_ps + sim_ps_up(flow->left_bytes * flow->ps_per_byte);
        if (end < first.end_ps) {
            first.end_ps = end;
            first.queue = sim->engines[flow->engine].running;
        }
    }
    flow_set_first(sim, domain, &first);
}

static void flow_count(struct sim *sim, const struct sim_flow *flow, int by)
{
    for (uint32_t k = 0; k < flow->share.n_path; k++)
        sim->n_moving[flow->share.path[k]] += (uint32_t)by;
}

void sim_flow_start(struct sim *sim, struct sim_engine *engine)
{
    struct sim_flow *flow = &sim->flows[engine->flow];
    struct sim_domain *d = &sim->domains[flow->domain];
    flow->rate_Bps = 0.0;
    flow->updated_ps = sim->now_ps;
    d->moving[d->n_moving++] = engine->flow;
    flow_count(sim, flow, 1);
    flow_share_domain(sim, flow->domain);
}

void sim_flow_extend(struct sim *sim, struct sim_engine *engine, double more_bytes)
{
    struct sim_flow *flow = &sim->flows[engine->flow];
    flow_progress(sim, flow);
    flow->left_bytes += more_bytes;
    sim->domains[flow->domain].event = SIM_NONE; /* it has fired */
    flow_share_domain(sim, flow->domain);
}

void sim_flow_stop(struct sim *sim, struct sim_engine *engine)
{
    struct sim_flow *flow = &sim->flows[engine->flow];
    struct sim_domain *d = &sim->domains[flow->domain];
    uint32_t at = 0;
    while (d->moving[at] != engine->flow)
        at++;
    d->n_moving--;
    for (; at < d->n_moving; at++) /* order of entry is kept */
        d->moving[at] = d->moving[at + 1];
    flow->rate_Bps = 0.0;
    flow_count(sim, flow, -1);
    engine->flow = SIM_NONE;
    d->event = SIM_NONE; /* it has fired */
    flow_share_domain(sim, flow->domain);
}
