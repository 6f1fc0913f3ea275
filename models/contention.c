/* Resources of a machine: numbers, capacities, demand, and the paths that meet on them. */
#include "models/contention.h"

#include <math.h>

#include "models/copy.h"

#define CONTENTION_SLACK 1e-9 /* of a capacity: more than that is not rounding of a sum */

static uint32_t contention_resource(const struct kvs_machine *machine, uint32_t link,
                                    kvs_dir dir)
{
    return 2 * link + (machine->links[link].mode == KVS_LINK_SHARED ? 0 : (uint32_t)dir);
}

static uint32_t contention_memory(const struct kvs_machine *machine)
{
    return 2 * machine->n_links;
}

uint32_t kvs_contention_n_resources(const struct kvs_machine *machine)
{
    return contention_memory(machine) + 1;
}

static void contention_set_link(const struct kvs_machine *machine, uint32_t l, kvs_dir dir,
                                const struct kvs_contention *out)
{
    const struct kvs_link *link = &machine->links[l];
    uint32_t r = contention_resource(machine, l, dir);
    double opposite_Bps = link->opposite[dir].value;
    if (link->mode == KVS_LINK_UNLIMITED)
        return;
    out->capacity_Bps[r] = link->rate[dir].value;
    out->capacity_opposite_Bps[r] = opposite_Bps > 0.0 ? opposite_Bps : out->capacity_Bps[r];
    /* one figure is enough: the other direction has to be seen moving */
    if (link->mode == KVS_LINK_DUPLEX &&
        (link->opposite[KVS_H2D].value > 0.0 || link->opposite[KVS_D2H].value > 0.0))
        out->opposite[r] = 2 * l + (1 - (uint32_t)dir);
}

static void contention_set_capacities(const struct kvs_machine *machine,
                                      const struct kvs_contention *out)
{
    uint32_t memory = contention_memory(machine);
    for (uint32_t r = 0; r <= memory; r++) {
        out->capacity_Bps[r] = out->capacity_opposite_Bps[r] = HUGE_VAL;
        out->opposite[r] = KVS_CONTENTION_NONE;
    }
    for (uint32_t l = 0; l < machine->n_links; l++)
        for (unsigned dir = 0; dir < KVS_N_DIRS; dir++)
            contention_set_link(machine, l, (kvs_dir)dir, out);
    if (machine->host.memory_rate.value > 0.0)
        out->capacity_Bps[memory] = out->capacity_opposite_Bps[memory] =
            machine->host.memory_rate.value;
}

static void contention_add_demand(const struct kvs_machine *machine, uint32_t device,
                                  kvs_dir dir, double *demand_Bps)
{
    double path_Bps = kvs_path_rate_Bps(machine, device, dir);
    for (int32_t l = (int32_t)machine->devices[device].link; l >= 0;
         l = machine->links[l].parent)
        demand_Bps[contention_resource(machine, (uint32_t)l, dir)] += path_Bps;
    demand_Bps[contention_memory(machine)] += path_Bps;
}

void kvs_contention_fill(const struct kvs_machine *machine, const struct kvs_contention *out)
{
    contention_set_capacities(machine, out);
    for (uint32_t r = 0; r <= contention_memory(machine); r++)
        out->demand_Bps[r] = 0.0;
    for (uint32_t d = 0; d < machine->n_devices; d++)
        for (unsigned dir = 0; dir < KVS_N_DIRS; dir++)
            contention_add_demand(machine, d, (kvs_dir)dir, out->demand_Bps);
}

static bool contention_can_bind(const struct kvs_contention *contention, uint32_t resource)
{
    return contention->demand_Bps[resource] >
               contention->capacity_Bps[resource] * (1.0 + CONTENTION_SLACK) ||
           contention->opposite[resource] != KVS_CONTENTION_NONE;
}

_Static_assert(KVS_MACHINE_MAX_DEPTH < KVS_SHARE_MAX_PATH, "a path and host memory");

uint32_t kvs_contention_path(const struct kvs_machine *machine,
                             const struct kvs_contention *contention, uint32_t device,
                             kvs_dir dir, uint32_t *path)
{
    uint32_t n = 0;
    for (int32_t l = (int32_t)machine->devices[device].link; l >= 0;
         l = machine->links[l].parent) {
        uint32_t r = contention_resource(machine, (uint32_t)l, dir);
        if (contention_can_bind(contention, r))
            path[n++] = r;
    }
    if (contention_can_bind(contention, contention_memory(machine)))
        path[n++] = contention_memory(machine);
    return n;
}
