/*
 * NVIDIA's management library, loaded when it is there: a link's state, clocks, the power limit.
 * Nothing that measures depends on it.
 */
#ifndef KVS_REAL_NVML_H
#define KVS_REAL_NVML_H

#include "base/status.h"

struct kvs_nvml; /* the loaded library */

/* What it says of a GPU now; 0 where it does not. */
struct kvs_nvml_gpu {
    unsigned gen, lanes, max_gen, max_lanes;
    unsigned sm_clock_MHz, memory_clock_MHz;
    unsigned power_limit_W;
};

/* Errors: KVS_ENOTFOUND without the library or a call in it, KVS_EDEVICE when it does not start.
 * Returns to caller: kvs_nvml_close. */
kvs_status kvs_nvml_open(struct kvs_nvml **out, struct kvs_error *err) KVS_MUST_USE;
void kvs_nvml_close(struct kvs_nvml *nvml); /* NULL is fine */

/* "580.95.05"; "" when it does not say. */
void kvs_nvml_driver(const struct kvs_nvml *nvml, char *buf, size_t cap);
/* pci: as cudaDeviceGetPCIBusId prints it. KVS_ENOTFOUND for a GPU that it does not know. */
kvs_status kvs_nvml_look(const struct kvs_nvml *nvml, const char *pci, struct kvs_nvml_gpu *out,
                         struct kvs_error *err) KVS_MUST_USE;

#endif
