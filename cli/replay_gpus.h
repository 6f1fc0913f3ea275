/* Which GPU plays which device of the machine, and as what. */
#ifndef KVS_CLI_REPLAY_GPUS_H
#define KVS_CLI_REPLAY_GPUS_H

#include "cli/job.h"

/* Choices of --emulate, in the order of kvs_replay_emulations. */
typedef enum kvs_replay_emulation {
    KVS_REPLAY_EMULATE_NO,
    KVS_REPLAY_EMULATE_LINKS,
    KVS_REPLAY_EMULATE_BYTES
} kvs_replay_emulation;
extern const char *const kvs_replay_emulations[];

/* Zero-initialise. */
struct kvs_replay_gpus {
    kvs_replay_emulation emulation;
    bool is_given;                         /* map is of use */
    uint16_t map[KVS_MACHINE_MAX_DEVICES]; /* [n_devices] GPU of each device */
    double factor;                         /* of the bytes that copies move: 1 but by bytes */
};

/*
 * From --map, or what emulation makes of the GPUs at hand. has_plan: a plan from a file is to be
 * run. Errors: a map of another number of devices, an emulation that the machine does not allow.
 */
kvs_status kvs_replay_place(struct kvs_replay_gpus *gpus, const struct kvs_options *options,
                            const struct kvs_machine *machine, bool has_plan,
                            struct kvs_error *err) KVS_MUST_USE;
/* Warns of devices that run on another card than the machine's file says, unless emulated. */
void kvs_replay_warn_cards(const struct kvs_replay_gpus *gpus,
                           const struct kvs_machine *machine,
                           const struct kvs_console *console);

#endif
