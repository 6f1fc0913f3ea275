/* Links as NVML and Linux describe them: idle, and while copies run. */
#include <stdlib.h>
#include <string.h>

#include "real/nvml.h"
#include "real/probe_internal.h"

#define TOPOLOGY_LOAD_S 0.06
#define TOPOLOGY_SLOW   0.70 /* of what generation and width allow */

/* A line of the GPU's folder in sysfs; "" when there is none. */
static void topology_sysfs(const struct kvs_probe_gpu *facts, const char *name, char *buf,
                           size_t cap)
{
    char path[128];
    buf[0] = '\0';
    (void)snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", facts->pci, name);
    for (char *c = path; *c != '\0'; c++)
        if (*c >= 'A' && *c <= 'F')
            *c = (char)(*c - 'A' + 'a');
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return;
    if (fgets(buf, (int)cap, file) == NULL)
        buf[0] = '\0';
    buf[strcspn(buf, "\n")] = '\0';
    (void)fclose(file);
}

static unsigned topology_lanes(const char *width)
{
    unsigned long lanes = strtoul(width, NULL, 10);
    return lanes >= 1 && lanes <= 32 ? (unsigned)lanes : 0;
}

/* NVML's answers; where it is silent those of sysfs. */
static void topology_look(struct kvs_nvml *nvml, struct kvs_probe_gpu *facts)
{
    struct kvs_nvml_gpu seen = {0};
    char speed[64], width[64], node[64];
    if (nvml != NULL && kvs_nvml_look(nvml, facts->pci, &seen, NULL) != KVS_OK)
        seen = (struct kvs_nvml_gpu){0};
    topology_sysfs(facts, "current_link_speed", speed, sizeof speed);
    topology_sysfs(facts, "current_link_width", width, sizeof width);
    facts->gen = seen.gen > 0 ? seen.gen : kvs_probe_pcie_gen(speed);
    facts->lanes = seen.lanes > 0 ? seen.lanes : topology_lanes(width);
    topology_sysfs(facts, "max_link_speed", speed, sizeof speed);
    topology_sysfs(facts, "max_link_width", width, sizeof width);
    facts->max_gen = seen.max_gen > 0 ? seen.max_gen : kvs_probe_pcie_gen(speed);
    facts->max_lanes = seen.max_lanes > 0 ? seen.max_lanes : topology_lanes(width);
    facts->sm_clock_MHz = seen.sm_clock_MHz;
    facts->memory_clock_MHz = seen.memory_clock_MHz;
    facts->power_W = seen.power_limit_W;
    topology_sysfs(facts, "numa_node", node, sizeof node);
    facts->numa_node = node[0] >= '0' && node[0] <= '9' ? atoi(node) : -1;
}

void probe_look(struct kvs_probe *p)
{
    struct kvs_nvml *nvml = NULL;
    if (kvs_nvml_open(&nvml, NULL) == KVS_OK)
        kvs_nvml_driver(nvml, p->facts.driver, sizeof p->facts.driver);
    for (uint32_t i = 0; i < p->n_gpus; i++)
        topology_look(nvml, &p->facts.gpus[i]);
    kvs_nvml_close(nvml);
}

static void topology_warn(struct kvs_probe *p, struct probe_gpu *g)
{
    const struct kvs_probe_gpu *facts = g->facts;
    double raw_Bps = kvs_pcie_raw_Bps(facts->gen, facts->lanes);
    if (facts->gen < facts->max_gen || facts->lanes < facts->max_lanes)
        probe_warn(
            p,
            "%s: its link runs at gen%ux%u while copies run, GPU and slot allow gen%ux%u; "
            "copies are slower for it; look at the slot, risers and the firmware's link "
            "settings",
            probe_name(g), facts->gen, facts->lanes, facts->max_gen, facts->max_lanes);
    if (raw_Bps > 0 && g->rate_Bps[KVS_H2D] < TOPOLOGY_SLOW * raw_Bps)
        probe_warn(p,
                   "%s: copies reach %.2f GB/s, %.0f%% of what gen%ux%u carries; the file has "
                   "the rate as it is; look for other traffic, memory of another NUMA node, or "
                   "a narrower link further up",
                   probe_name(g), g->rate_Bps[KVS_H2D] * 1e-9,
                   g->rate_Bps[KVS_H2D] / raw_Bps * 100, facts->gen, facts->lanes);
}

kvs_status probe_link_state(struct kvs_probe *p, struct probe_gpu *g)
{
    struct kvs_probe_gpu *facts = g->facts;
    struct kvs_nvml *nvml = NULL;
    char node[32] = "";
    if (kvs_nvml_open(&nvml, NULL) != KVS_OK)
        nvml = NULL;
    kvs_status status = probe_load(p, g, TOPOLOGY_LOAD_S); /* an idle link may sleep at gen1 */
    if (status == KVS_OK)
        topology_look(nvml, facts);
    kvs_nvml_close(nvml);
    KVS_TRY(status);
    KVS_TRY(probe_sync(p, g));
    if (facts->numa_node >= 0)
        (void)snprintf(node, sizeof node, ", NUMA node %d", facts->numa_node);
    if (kvs_pcie_raw_Bps(facts->gen, facts->lanes) > 0) {
        g->link->gen = facts->gen;
        g->link->lanes = facts->lanes;
        probe_note(p, "%s: gen%ux%u while copies run, at most gen%ux%u%s", probe_name(g),
                   facts->gen, facts->lanes, facts->max_gen, facts->max_lanes, node);
        KVS_TRY(probe_mark(p, &g->link->gen));
    } else {
        probe_note(p, "%s: neither NVML nor sysfs tells generation and width of the link%s",
                   probe_name(g), node);
    }
    if (facts->sm_clock_MHz > 0)
        probe_note(p, "%s: SM clock %u MHz, memory clock %u MHz, power limit %u W",
                   probe_name(g), facts->sm_clock_MHz, facts->memory_clock_MHz, facts->power_W);
    topology_warn(p, g);
    return KVS_OK;
}
