/* Paths that share a link or host memory: rates by max-min, anew when a copy enters or leaves. */
#include <math.h>

#include "real/host_paced.h"

#define SHARE_BINDING_SLACK                                                                    \
    1e-9 /* a resource that all its paths together cannot fill is left out */

/* Resources: a link's two directions, or one for both; the last one is host memory. */
static uint32_t share_resource(const struct kvs_machine *machine, uint32_t link, kvs_dir dir)
{
    return 2 * link + (machine->links[link].mode == KVS_LINK_SHARED ? 0 : (uint32_t)dir);
}

static void share_set_link(struct paced *p, uint32_t link, kvs_dir dir)
{
    const struct kvs_link *l = &p->machine->links[link];
    uint32_t r = share_resource(p->machine, link, dir);
    double opposite_Bps = l->opposite[dir].value;
    p->capacity[r] = l->rate[dir].value;
    p->capacity_opposite[r] = opposite_Bps > 0.0 ? opposite_Bps : p->capacity[r];
    /* one figure is enough: the other direction has to be seen moving */
    if (l->mode == KVS_LINK_DUPLEX &&
        (l->opposite[KVS_H2D].value > 0.0 || l->opposite[KVS_D2H].value > 0.0))
        p->opposite[r] = 2 * link + (1 - (uint32_t)dir);
}

static void share_set_capacities(struct paced *p)
{
    const struct kvs_machine *m = p->machine;
    for (uint32_t r = 0; r < p->n_resources; r++) {
        p->capacity[r] = p->capacity_opposite[r] = HUGE_VAL;
        p->opposite[r] = PACED_NONE;
    }
    for (uint32_t link = 0; link < m->n_links; link++)
        for (unsigned dir = 0; m->links[link].mode != KVS_LINK_UNLIMITED && dir < KVS_N_DIRS;
             dir++)
            share_set_link(p, link, (kvs_dir)dir);
    if (m->host.memory_rate.value > 0.0)
        p->capacity[2 * m->n_links] = m->host.memory_rate.value;
}

/* What a device's path crosses; room for KVS_SHARE_MAX_PATH. */
static uint32_t share_path(const struct kvs_machine *m, uint32_t device, kvs_dir dir,
                           uint32_t *path)
{
    uint32_t n = 0;
    for (int32_t l = (int32_t)m->devices[device].link; l >= 0 && n + 1 < KVS_SHARE_MAX_PATH;
         l = m->links[l].parent)
        path[n++] = share_resource(m, (uint32_t)l, dir);
    path[n++] = 2 * m->n_links;
    return n;
}

/* What all paths together can ask of each resource; [n_resources] into demand. */
static void share_add_demand(const struct paced *p, double *demand)
{
    uint32_t path[KVS_SHARE_MAX_PATH];
    for (uint32_t r = 0; r < p->n_resources; r++)
        demand[r] = 0.0;
    for (uint32_t d = 0; d < p->n_devices; d++)
        for (unsigned dir = 0; dir < KVS_N_DIRS; dir++) {
            uint32_t n = share_path(p->machine, d, (kvs_dir)dir, path);
            for (uint32_t k = 0; k < n; k++)
                demand[path[k]] += p->costs.devices[d].path_Bps[dir];
        }
}

/* A path of which nothing can bind beyond its own rate is left to its engine. */
static void share_add_flow(struct paced *p, uint32_t device, kvs_dir dir, const double *demand)
{
    uint32_t path[KVS_SHARE_MAX_PATH];
    struct paced_flow *flow = &p->flows[p->n_flows];
    uint32_t n = share_path(p->machine, device, dir, path);
    flow->share.n_path = 0;
    for (uint32_t k = 0; k < n; k++)
        if (demand[path[k]] > p->capacity[path[k]] * (1.0 + SHARE_BINDING_SLACK) ||
            p->opposite[path[k]] != PACED_NONE)
            flow->share.path[flow->share.n_path++] = path[k];
    flow->engine = p->devices[device].engine[dir];
    p->devices[device].flow[dir] = flow->share.n_path > 0 ? p->n_flows++ : PACED_NONE;
}

kvs_status paced_share_bind(struct paced *p, struct kvs_error *err)
{
    size_t n_flows = 2 * (size_t)p->n_devices;
    p->n_resources = 2 * p->machine->n_links + 1;
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
    share_set_capacities(p);
    share_add_demand(p, p->left);
    for (uint32_t d = 0; d < p->n_devices; d++)
        for (unsigned dir = 0; dir < KVS_N_DIRS; dir++)
            share_add_flow(p, d, (kvs_dir)dir, p->left);
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
