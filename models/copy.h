/*
 * What a copy costs on a device's engine: pure functions of the machine's parameters.
 * Source of the rules: docs/copy-engine.md.
 */
#ifndef KVS_MODELS_COPY_H
#define KVS_MODELS_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "models/machine.h"

/* Share of the link's rate that rows of width_bytes reach (1 for 1D copies: pass 0). */
double kvs_row_efficiency(const struct kvs_row_curve *curve, uint64_t width_bytes);

/* Lowest usable rate on the path from host memory to the device, B/s, nothing else running. */
double kvs_path_rate_Bps(const struct kvs_machine *machine, uint32_t device, kvs_dir dir);

/* Sum of the link latencies on that path, s. */
double kvs_path_latency_s(const struct kvs_machine *machine, uint32_t device);

/* A single copy of this size and shape on an idle stream skips the engine. */
bool kvs_copy_bypasses(const struct kvs_engines *engines, uint64_t size_bytes, bool is_2d,
                       bool is_pageable);

/* Rate of a pageable copy over a path of path_Bps: the machine's figure, or half of the path's.
 */
double kvs_pageable_rate_Bps(const struct kvs_host *host, double path_Bps);

/*
 * Seconds a small kernel needs to read size_bytes of mapped host memory: its outstanding reads
 * turn over once per round trip, and a round trip waits behind the engine's bytes in flight
 * while a copy runs at busy_Bps (0: idle). So does what a kernel that touched host memory has to
 * wait for at its end: read_trips counts these and the first read.
 */
double kvs_kernel_read_s(const struct kvs_device *device, uint64_t size_bytes, double path_Bps,
                         double busy_Bps);

#endif
