/* What executors share when they fill a run, and releasing it. */
#include "sched/timeline.h"

void kvs_timeline_fini(struct kvs_timeline *timeline)
{
    KVS_ARRAY_FREE(&timeline->spans);
}

void kvs_run_total_links(struct kvs_run *run, const struct kvs_machine *machine)
{
    for (uint32_t d = 0; d < run->n_devices; d++) {
        const struct kvs_device_totals *totals = &run->devices[d];
        uint32_t own = machine->devices[d].link;
        for (int32_t l = (int32_t)own; l >= 0; l = machine->links[l].parent) {
            for (unsigned dir = 0; dir < KVS_N_DIRS; dir++) {
                struct kvs_link_totals *link = &run->links[l];
                double rate = machine->links[l].rate[dir].value;
                link->moved_bytes[dir] += (double)totals->moved_bytes[dir];
                if ((uint32_t)l == own)
                    link->busy_ps[dir] += totals->moving_ps[dir];
                else if (rate > 0.0)
                    link->busy_ps[dir] +=
                        kvs_ps_from_bytes((double)totals->moved_bytes[dir], rate);
            }
        }
    }
}

void kvs_run_fini(struct kvs_run *run)
{
    kvs_mem_free(run->devices);
    kvs_mem_free(run->links);
    kvs_mem_free(run->busy_factors);
    run->devices = NULL;
    run->links = NULL;
    run->busy_factors = NULL;
}
