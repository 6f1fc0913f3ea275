/* A machine with links and devices of its own, to be changed. */
#include <string.h>

#include "base/mem.h"
#include "models/machine.h"

kvs_status kvs_machine_clone(const struct kvs_machine *machine, struct kvs_machine **out,
                             struct kvs_error *err)
{
    void *copy = NULL, *devices = NULL, *links = NULL;
    kvs_status status;
    KVS_TRY_GOTO(kvs_mem_alloc(1, sizeof **out, &copy, err), fail);
    KVS_TRY_GOTO(kvs_mem_alloc(machine->n_devices, sizeof *machine->devices, &devices, err),
                 fail);
    KVS_TRY_GOTO(kvs_mem_alloc(machine->n_links, sizeof *machine->links, &links, err), fail);
    *out = copy;
    **out = *machine;
    (*out)->devices = devices;
    (*out)->links = links;
    memcpy(devices, machine->devices, machine->n_devices * sizeof *machine->devices);
    memcpy(links, machine->links, machine->n_links * sizeof *machine->links);
    return KVS_OK;
fail:
    kvs_mem_free(links);
    kvs_mem_free(devices);
    kvs_mem_free(copy);
    return status;
}

void kvs_machine_clone_destroy(struct kvs_machine *machine)
{
    if (machine == NULL)
        return;
    kvs_mem_free(machine->devices);
    kvs_mem_free(machine->links);
    kvs_mem_free(machine);
}
