/* Releasing what executors filled. */
#include "sched/timeline.h"

void kvs_timeline_fini(struct kvs_timeline *timeline)
{
    KVS_ARRAY_FREE(&timeline->spans);
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
