/*
 * Which copies contend, and for what: the resources of a machine that several paths cross, what
 * each can carry, and those on which a copy may get less than its path carries alone. What each
 * copy then gets is max-min sharing (models/share.h).
 *
 * Resources are numbered. Link l has 2 x l for h2d and 2 x l + 1 for d2h; a half-duplex one
 * (KVS_LINK_SHARED) has 2 x l for both, and the other number stands for nothing. Host memory,
 * which every copy crosses, is the last.
 *
 *     host memory, 40 GB/s           6
 *        `- switch, 25 GB/s          0, 1
 *             |- gpu0, 16 GB/s       2, 3
 *             `- gpu1, 8 GB/s        4, 5
 *
 * In each direction the switch is asked for at most 16 + 8 = 24 of its 25 GB/s, and each slot
 * for what it has; the memory is asked for 48 of its 40. So only the memory can bind, and it is
 * all that the four paths contend for. A link with a rate of its own under opposite traffic
 * always can: a copy alone in its direction loses to one in the other.
 */
#ifndef KVS_MODELS_CONTENTION_H
#define KVS_MODELS_CONTENTION_H

#include <stdint.h>

#include "models/machine.h"
#include "models/share.h"

#define KVS_CONTENTION_NONE UINT32_MAX

/* Arrays of the caller, [kvs_contention_n_resources] each. */
struct kvs_contention {
    double *capacity_Bps;          /* HUGE_VAL: no limit */
    double *capacity_opposite_Bps; /* the same while the resource opposite moves bytes */
    uint32_t *opposite;            /* the link's other direction; KVS_CONTENTION_NONE */
    double *demand_Bps;            /* sum over the paths, of a copy alone on each */
};

uint32_t kvs_contention_n_resources(const struct kvs_machine *machine);

/* Fills the arrays. Owns nothing: machine and arrays are borrowed for the call. */
void kvs_contention_fill(const struct kvs_machine *machine, const struct kvs_contention *out);

/*
 * The resources on which a copy of the device may get less than its path carries alone.
 * Shape:   path has room for KVS_SHARE_MAX_PATH: links from the device's own upwards, at most
 *          KVS_MACHINE_MAX_DEPTH, then host memory.
 * Returns: how many; 0: no other copy matters to it.
 * Owns:    nothing; contention was filled from this machine.
 */
uint32_t kvs_contention_path(const struct kvs_machine *machine,
                             const struct kvs_contention *contention, uint32_t device,
                             kvs_dir dir, uint32_t *path);

#endif
