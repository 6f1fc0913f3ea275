/* Paths that share a link or host memory: rates by max-min, anew when a copy enters or leaves. */
#include "models/contention.h"
#include "real/host_paced.h"

_Static_assert(PACED_NONE == KVS_CONTENTION_NONE, "p->opposite says either");

/* A path on which nothing is contended for is left to its engine. */
static void share_add_flow(struct paced *p, const struct kvs_contention *contention,
                           uint32_t device, kvs_dir dir)
{
    struct paced_flow *flow = &p->flows[p->n_flows];
    flow->share.n_path =
        kvs_contention_path(p->machine, contention, device, dir, flow->share.path);
    flow->engine = p->devices[device].engine[dir];
    p->devices[device].flow[dir] = flow->share.n_path > 0 ? p->n_flows++ : PACED_NONE;
}

kvs_status paced_share_bind(struct paced *p, struct kvs_error *err)
{
    size_t n_flows = 2 * (size_t)p->n_devices;
    p->n_resources = kvs_contention_n_resources(p->machine);
    const struct {
        void **array;
        size_t n, bytes;
    } arrays[] = {
        {(void **)&p->flows, n_flows, sizeof *p->flows},
        {(void **)&p->moving, n_flows, sizeof *p->moving},
        {(void **)&p->capacity, p->n_resources, sizeof *p->capacity},
        {(void **)&p->capacity_opposite, p->n_resources, sizeof *p->capacity_opposite},
        {(void **)&p->opposite, p->n_resources, sizeof *p->opposite},
        {(void **)&p->capacity_now, p->n_resources, sizeof *p->capacity_now},
        {(void **)&p->left, p->n_resources, sizeof *p->left},
        {(void **)&p->count, p->n_resources, sizeof *p->count},
        {(void **)&p->shares, n_flows, sizeof *p->shares},
        {(void **)&p->rates, n_flows, sizeof *p->rates},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(arrays); i++)
        KVS_TRY(kvs_mem_alloc(arrays[i].n, arrays[i].bytes, arrays[i].array, err));
    const struct kvs_contention contention = {.capacity_Bps = p->capacity,
                                              .capacity_opposite_Bps = p->capacity_opposite,
                                              .opposite = p->opposite,
                                              .demand_Bps = p->left};
    kvs_contention_fill(p->machine, &contention);
    for (uint32_t d = 0; d < p->n_devices; d++)
        for (unsigned dir = 0; dir < KVS_N_DIRS; dir++)
            share_add_flow(p, &contention, d, (kvs_dir)dir);
    return KVS_OK;
}

/* A direction may be slower while the other one moves bytes. */
static void share_set_capacities_now(struct paced *p)
{
    for (uint32_t r = 0; r < p->n_resources; r++)
        p->count[r] = 0;
    for (uint32_t i = 0; i < p->n_moving_flows; i++) {
        const struct kvs_share_flow *share = &p->flows[p->moving[i]].share;
        for (uint32_t k = 0; k < share->n_path; k++)
            p->count[share->path[k]]++;
    }
    for (uint32_t r = 0; r < p->n_resources; r++) {
        bool is_opposed = p->opposite[r] != PACED_NONE && p->count[p->opposite[r]] > 0;
        p->capacity_now[r] = is_opposed ? p->capacity_opposite[r] : p->capacity[r];
    }
}

/* What it moved at its rate so far is done; from now on it has another rate. */
static void flow_take_rate(struct paced *p, struct paced_flow *flow, double rate_Bps)
{
    double seconds = (double)(p->time_ps - flow->updated_ps) * 1e-12;
    double left_bytes = flow->left_bytes - seconds * flow->rate_Bps;
    double ps_per_byte = (double)KVS_PS_PER_S / rate_Bps;
    flow->left_bytes = left_bytes > 0.0 ? left_bytes : 0.0;
    flow->updated_ps = p->time_ps;
    flow->rate_Bps = rate_Bps;
    paced_set_deadline(p, &p->queues[flow->queue],
                       p->time_ps + paced_ps_up(flow->left_bytes * ps_per_byte));
    paced_engine_set_pace(p, flow->engine, ps_per_byte);
}

static void share_again(struct paced *p)
{
    share_set_capacities_now(p);
    for (uint32_t i = 0; i < p->n_moving_flows; i++)
        p->shares[i] = p->flows[p->moving[i]].share;
    kvs_share_rates(p->shares, p->n_moving_flows, p->capacity_now, p->n_resources, p->left,
                    p->count, p->rates);
    for (uint32_t i = 0; i < p->n_moving_flows; i++) {
        struct paced_flow *flow = &p->flows[p->moving[i]];
        if (flow->rate_Bps != p->rates[i])
            flow_take_rate(p, flow, p->rates[i]);
    }
}

void paced_flow_start(struct paced *p, uint32_t engine)
{
    uint32_t f = p->engines[engine].flow;
    p->flows[f].queue = p->engines[engine].running;
    p->flows[f].rate_Bps = 0.0;
    p->flows[f].updated_ps = p->time_ps;
    p->moving[p->n_moving_flows++] = f;
    share_again(p);
}

void paced_flow_extend(struct paced *p, uint32_t engine, double more_bytes)
{
    struct paced_flow *flow = &p->flows[p->engines[engine].flow];
    flow->left_bytes = more_bytes;
    flow->updated_ps = p->time_ps;
    paced_set_deadline(p, &p->queues[flow->queue],
                       p->time_ps +
                           paced_ps_up(more_bytes * (double)KVS_PS_PER_S / flow->rate_Bps));
}

void paced_flow_stop(struct paced *p, uint32_t engine)
{
    uint32_t at = 0;
    while (p->moving[at] != p->engines[engine].flow)
        at++;
    p->n_moving_flows--;
    for (; at < p->n_moving_flows; at++) /* order of entry is kept */
        p->moving[at] = p->moving[at + 1];
    p->engines[engine].flow = PACED_NONE;
    share_again(p);
}
