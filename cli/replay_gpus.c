/* From --map and --emulate to a GPU for each device. */
#include "cli/replay_gpus.h"

#include "models/copy.h"
#include "real/exec_cuda.h"
#include "real/probe_rules.h"

const char *const kvs_replay_emulations[] = {"no", "links", "bytes", NULL};

static kvs_status gpus_read_map(struct kvs_replay_gpus *gpus, const struct kvs_options *options,
                                const struct kvs_machine *machine, struct kvs_error *err)
{
    size_t n;
    const uint64_t *numbers = kvs_options_sweep(options, "map", &n);
    if (n == 0)
        return KVS_OK;
    if (n != machine->n_devices || n > KVS_COUNT_OF(gpus->map)) {
        kvs_error_at(err, KVS_EINVAL, "--map", 0, 0, "names %zu GPU%s, %s has %u device%s", n,
                     n == 1 ? "" : "s", machine->name, (unsigned)machine->n_devices,
                     machine->n_devices == 1 ? "" : "s");
        kvs_error_hint(err, "one GPU per device; two devices may share one: --map 0,0");
        return KVS_EINVAL;
    }
    for (size_t i = 0; i < n; i++)
        gpus->map[i] = (uint16_t)numbers[i];
    gpus->is_given = true;
    return KVS_OK;
}

/* Without --map the devices of another machine share the GPUs at hand in turn. */
static void gpus_deal(struct kvs_replay_gpus *gpus, const struct kvs_machine *machine)
{
    int n = kvs_cuda_n_gpus();
    for (uint32_t d = 0; !gpus->is_given && d < machine->n_devices; d++)
        gpus->map[d] = (uint16_t)(d % (uint32_t)(n > 0 ? n : 1));
    gpus->is_given = true;
}

kvs_status kvs_replay_place(struct kvs_replay_gpus *gpus, const struct kvs_options *options,
                            const struct kvs_machine *machine, bool has_plan,
                            struct kvs_error *err)
{
    double link_Bps;
    gpus->is_given = false;
    gpus->factor = 1.0;
    KVS_TRY(gpus_read_map(gpus, options, machine, err));
    if (gpus->emulation != KVS_REPLAY_EMULATE_NO)
        gpus_deal(gpus, machine);
    if (gpus->emulation != KVS_REPLAY_EMULATE_BYTES)
        return KVS_OK;
    if (machine->n_devices != 1 || has_plan)
        return kvs_error_at(err, KVS_EINVAL, "--emulate", 0, 0,
                            "bytes takes a machine of one device and no --plan; links plays "
                            "several");
    KVS_TRY(kvs_cuda_link_Bps(gpus->map[0], &link_Bps, err));
    gpus->factor = link_Bps / kvs_path_rate_Bps(machine, 0, KVS_H2D);
    return KVS_OK;
}

void kvs_replay_warn_cards(const struct kvs_replay_gpus *gpus,
                           const struct kvs_machine *machine, const struct kvs_console *console)
{
    char name[96];
    for (uint32_t d = 0; d < machine->n_devices && gpus->emulation == KVS_REPLAY_EMULATE_NO;
         d++) {
        const struct kvs_device *device = &machine->devices[d];
        kvs_cuda_name(gpus->is_given ? gpus->map[d] : (int)d, name, sizeof name);
        if (name[0] != '\0' && device->gpu[0] != '\0' && !kvs_probe_is_card(name, device->gpu))
            kvs_console_warn(console,
                             "%s of machine %s is a %s, and runs on a %s: measured times are "
                             "not those of that machine; kvsim probe describes this one, "
                             "--emulate plays another",
                             device->name, machine->name, device->gpu, name);
    }
}
