/* Copy costs. */
#include "models/copy.h"

double kvs_row_efficiency(const struct kvs_row_curve *curve, uint64_t width_bytes)
{
    uint32_t n = curve->n;
    if (n == 0 || width_bytes == 0)
        return 1.0;
    if (width_bytes <= curve->width_bytes[0])
        return curve->efficiency[0];
    for (uint32_t i = 1; i < n; i++) {
        double x0 = (double)curve->width_bytes[i - 1];
        double x1 = (double)curve->width_bytes[i];
        if (width_bytes <= curve->width_bytes[i])
            return curve->efficiency[i - 1] +
                   (curve->efficiency[i] - curve->efficiency[i - 1]) *
                       ((double)width_bytes - x0) / (x1 - x0);
    }
    return curve->efficiency[n - 1];
}

double kvs_path_rate_Bps(const struct kvs_machine *machine, uint32_t device, kvs_dir dir)
{
    double rate = 0.0;
    for (int32_t i = (int32_t)machine->devices[device].link; i >= 0;
         i = machine->links[i].parent) {
        const struct kvs_link *link = &machine->links[i];
        if (link->mode == KVS_LINK_UNLIMITED)
            continue;
        if (rate == 0.0 || link->rate[dir].value < rate)
            rate = link->rate[dir].value;
    }
    double memory = machine->host.memory_rate.value;
    return memory > 0.0 && (rate == 0.0 || memory < rate) ? memory : rate;
}

double kvs_path_latency_s(const struct kvs_machine *machine, uint32_t device)
{
    double latency = 0.0;
    for (int32_t i = (int32_t)machine->devices[device].link; i >= 0;
         i = machine->links[i].parent)
        latency += machine->links[i].latency.value;
    return latency;
}

bool kvs_copy_bypasses(const struct kvs_engines *engines, uint64_t size_bytes, bool is_2d,
                       bool is_pageable)
{
    double limit =
        is_pageable ? engines->bypass_pageable_bytes.value : engines->bypass_bytes.value;
    return !is_2d && (double)size_bytes <= limit;
}

double kvs_pageable_rate_Bps(const struct kvs_host *host, double path_Bps)
{
    if (host->pageable_rate.value > 0.0)
        return host->pageable_rate.value < path_Bps ? host->pageable_rate.value : path_Bps;
    return path_Bps / 2.0;
}

double kvs_kernel_read_s(const struct kvs_device *device, uint64_t size_bytes, double path_Bps,
                         double busy_Bps)
{
    double delay = busy_Bps > 0.0 ? device->engines.in_flight_bytes.value / busy_Bps : 0.0;
    double round_trip = device->read_latency.value + delay;
    double rate = device->read_outstanding_bytes.value / round_trip;
    if (rate > path_Bps)
        rate = path_Bps;
    return device->read_setup.value + device->read_latency.value +
           device->read_trips.value * delay + (double)size_bytes / rate;
}
