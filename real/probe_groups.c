/* Links that several GPUs share: who shares, and the machine's tree with such a link in it. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "real/probe_rules.h"

#define GROUPS_SHARED 0.9 /* of the sum of the rates alone */

uint32_t kvs_probe_groups(const double *alone_Bps, const double *pair_Bps, uint32_t n,
                          uint32_t *group)
{
    uint32_t n_groups = 0, names[KVS_PROBE_MAX_GPUS];
    for (uint32_t i = 0; i < n; i++)
        group[i] = i;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = i + 1; j < n; j++) {
            uint32_t from = group[j], to = group[i];
            if (pair_Bps[i * n + j] >= GROUPS_SHARED * (alone_Bps[i] + alone_Bps[j]))
                continue;
            for (uint32_t k = 0; k < n; k++)
                group[k] = group[k] == from ? to : group[k];
        }
    for (uint32_t i = 0; i < n; i++) { /* numbers from 0, by first member */
        uint32_t k = 0;
        while (k < n_groups && names[k] != group[i])
            k++;
        if (k == n_groups)
            names[n_groups++] = group[i];
        group[i] = k;
    }
    return n_groups;
}

static bool groups_has(const struct kvs_probe_group *group, uint32_t device)
{
    return device < KVS_PROBE_MAX_GPUS && (group->devices >> device & 1) != 0;
}

/* Is the link on the way of every member? */
static bool groups_is_above(const struct kvs_machine *m, const struct kvs_probe_group *group,
                            int32_t link)
{
    for (uint32_t d = 0; d < m->n_devices; d++) {
        int32_t at = (int32_t)m->devices[d].link;
        while (groups_has(group, d) && at != link && at >= 0)
            at = m->links[at].parent;
        if (groups_has(group, d) && at != link)
            return false;
    }
    return true;
}

/* The first link of the way up that all members have in common, -1: host memory. */
static int32_t groups_common(const struct kvs_machine *m, const struct kvs_probe_group *group)
{
    uint32_t d = 0;
    while (d < m->n_devices && !groups_has(group, d))
        d++;
    int32_t at = d < m->n_devices ? (int32_t)m->devices[d].link : -1;
    while (at >= 0 && !groups_is_above(m, group, at))
        at = m->links[at].parent;
    return at;
}

static void groups_set_rates(struct kvs_link *link, const struct kvs_probe_group *group)
{
    memcpy(link->rate, group->rate, sizeof link->rate);
    link->efficiency = (struct kvs_param){0};
    link->is_rate_measured = true;
}

static void groups_name(const struct kvs_machine *m, char *name, size_t cap)
{
    bool is_taken = true;
    for (unsigned i = 0; is_taken; i++) {
        (void)snprintf(name, cap, "shared%u", i);
        is_taken = false;
        for (uint32_t l = 0; l < m->n_links; l++)
            is_taken |= strcmp(m->links[l].name, name) == 0;
    }
}

/* Members hang below the new link by the link of their way that was below its parent. */
static void groups_hang(struct kvs_machine *m, const struct kvs_probe_group *group, int32_t at)
{
    for (uint32_t d = 0; d < m->n_devices; d++) {
        int32_t link = (int32_t)m->devices[d].link;
        if (!groups_has(group, d))
            continue;
        if (link == at - 1) { /* on the common link itself */
            m->devices[d].link = (uint32_t)at;
            continue;
        }
        while (m->links[link].parent != at - 1 && m->links[link].parent != at)
            link = m->links[link].parent;
        m->links[link].parent = at;
    }
}

kvs_status kvs_probe_add_group(struct kvs_machine *machine, const struct kvs_probe_group *group,
                               struct kvs_error *err)
{
    struct kvs_link link = {.mode = KVS_LINK_DUPLEX, .parent = groups_common(machine, group)};
    void *links = machine->links;
    if (link.parent >= 0 && machine->links[link.parent].mode != KVS_LINK_UNLIMITED) {
        groups_set_rates(&machine->links[link.parent], group);
        return KVS_OK;
    }
    for (int dir = 0; dir < KVS_N_DIRS; dir++)
        link.opposite[dir] = kvs_param_default(0, 0, 0, "not stated: as without other traffic");
    link.latency = kvs_param_default(0, 0, 0, "not stated: part of the copy overheads");
    groups_name(machine, link.name, sizeof link.name);
    groups_set_rates(&link, group);
    KVS_TRY(kvs_mem_resize(&links, machine->n_links + 1, sizeof *machine->links, err));
    machine->links = links;
    int32_t at = link.parent + 1; /* parents come first */
    memmove(&machine->links[at + 1], &machine->links[at],
            (machine->n_links - (uint32_t)at) * sizeof *machine->links);
    machine->links[at] = link;
    machine->n_links++;
    for (uint32_t l = (uint32_t)at + 1; l < machine->n_links; l++)
        machine->links[l].parent += machine->links[l].parent >= at;
    for (uint32_t d = 0; d < machine->n_devices; d++)
        machine->devices[d].link += machine->devices[d].link >= (uint32_t)at;
    groups_hang(machine, group, at);
    return KVS_OK;
}
