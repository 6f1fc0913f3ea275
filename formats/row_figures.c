/* Lists a machine's figures from tables of where each stands. */
#include "formats/row_figures.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

struct figure_field {
    const char *name;
    size_t offset; /* of the kvs_param */
    kvs_unit unit;
    bool is_major;
    const char *zero; /* what 0 means, or NULL: nothing at all */
};

#define FIELD(type, name, field, unit, major, zero)                                            \
    {                                                                                          \
        name, offsetof(struct type, field), unit, major, zero                                  \
    }
#define LINK(name, field, unit, major)   FIELD(kvs_link, name, field, unit, major, NULL)
#define DEVICE(name, field, unit, major) FIELD(kvs_device, name, field, unit, major, NULL)
#define STREAM(name, field, unit)                                                              \
    FIELD(kvs_device, name, stream.field, unit, false, "not measured")
#define ENGINE(name, field, unit, major) DEVICE(name, engines.field, unit, major)
#define PROFILE(name, field, unit, major)                                                      \
    FIELD(kvs_compute_profile, name, field, unit, major, NULL)
#define HOST(name, field, unit, major) FIELD(kvs_machine, name, host.field, unit, major, NULL)
#define REDUCE(name, field, unit, major)                                                       \
    FIELD(kvs_machine, name, collective.field, unit, major, NULL)

static const struct figure_field link_fields[] = {
    LINK("h2d", rate[KVS_H2D], KVS_UNIT_RATE, true),
    LINK("d2h", rate[KVS_D2H], KVS_UNIT_RATE, false),
    FIELD(kvs_link, "opposite_h2d", opposite[KVS_H2D], KVS_UNIT_RATE, false, "no change"),
    FIELD(kvs_link, "opposite_d2h", opposite[KVS_D2H], KVS_UNIT_RATE, false, "no change"),
    LINK("latency", latency, KVS_UNIT_TIME, false),
};

static const struct figure_field device_fields[] = {
    DEVICE("memory", memory_bytes, KVS_UNIT_BYTES, true),
    DEVICE("reserved", reserved_bytes, KVS_UNIT_BYTES, false),
    DEVICE("memory_rate", memory_rate, KVS_UNIT_RATE, true),
    DEVICE("memory_efficiency", memory_efficiency, KVS_UNIT_FRAC, true),
    DEVICE("flops", flops, KVS_UNIT_FLOPS, false),
    DEVICE("kernel_gap", kernel_gap, KVS_UNIT_TIME, false),
    DEVICE("read_latency", read_latency, KVS_UNIT_TIME, false),
    DEVICE("read_outstanding_bytes", read_outstanding_bytes, KVS_UNIT_BYTES, false),
    DEVICE("read_setup", read_setup, KVS_UNIT_TIME, false),
    DEVICE("read_trips", read_trips, KVS_UNIT_PLAIN, false),
    STREAM("stream.rate", rate, KVS_UNIT_RATE),
    STREAM("stream.fold_rate", fold_rate, KVS_UNIT_RATE),
    STREAM("stream.kernel", kernel, KVS_UNIT_TIME),
    STREAM("stream.operation", operation, KVS_UNIT_TIME),
    STREAM("stream.slowdown", slowdown, KVS_UNIT_FRAC),
    STREAM("stream.beside", beside, KVS_UNIT_TIME),
    ENGINE("engines.count", count, KVS_UNIT_PLAIN, false),
    ENGINE("engines.commit_lead", commit_lead, KVS_UNIT_TIME, true),
    ENGINE("engines.bypass_bytes", bypass_bytes, KVS_UNIT_BYTES, false),
    ENGINE("engines.bypass_pageable_bytes", bypass_pageable_bytes, KVS_UNIT_BYTES, false),
    ENGINE("engines.bypass_latency", bypass_latency, KVS_UNIT_TIME, false),
    ENGINE("engines.first_overhead", first_overhead, KVS_UNIT_TIME, false),
    ENGINE("engines.next_overhead", next_overhead, KVS_UNIT_TIME, false),
    ENGINE("engines.opposite_overhead", opposite_overhead, KVS_UNIT_TIME, false),
    ENGINE("engines.handoff", handoff, KVS_UNIT_TIME, false),
    ENGINE("engines.in_flight_bytes", in_flight_bytes, KVS_UNIT_BYTES, true),
};

static const struct figure_field profile_fields[] = {
    PROFILE("fixed", fixed, KVS_UNIT_TIME, true),
    PROFILE("per_row", per_row, KVS_UNIT_TIME, true),
    PROFILE("per_query_row", per_query_row, KVS_UNIT_TIME, false),
    PROFILE("copy_slowdown", copy_slowdown, KVS_UNIT_FRAC, true),
    PROFILE("busy_slowdown", busy_slowdown, KVS_UNIT_FRAC, false),
    PROFILE("busy_threshold", busy_threshold, KVS_UNIT_FRAC, false),
};

static const struct figure_field host_fields[] = {
    HOST("host.between_tokens", between_tokens, KVS_UNIT_TIME, true),
    HOST("host.kernel_launch", kernel_launch, KVS_UNIT_TIME, false),
    HOST("host.graph_launch", graph_launch, KVS_UNIT_TIME, false),
    HOST("host.subgraph_launch", subgraph_launch, KVS_UNIT_TIME, false),
    HOST("host.collective_launch", collective_launch, KVS_UNIT_TIME, false),
    HOST("host.event_pair", event_pair, KVS_UNIT_TIME, false),
    HOST("host.copy_call", copy_call, KVS_UNIT_TIME, false),
    HOST("host.sync", sync, KVS_UNIT_TIME, false),
    HOST("host.hop", hop, KVS_UNIT_TIME, false),
    HOST("host.store", store, KVS_UNIT_TIME, false),
    HOST("host.split_work", split_work, KVS_UNIT_TIME, false),
    HOST("host.queue_limit", queue_limit, KVS_UNIT_PLAIN, false),
    FIELD(kvs_machine, "host.memory_rate", host.memory_rate, KVS_UNIT_RATE, false, "no limit"),
    FIELD(kvs_machine, "host.pageable_rate", host.pageable_rate, KVS_UNIT_RATE, false,
          "half the link"),
    HOST("host.pageable_async_bytes", pageable_async_bytes, KVS_UNIT_BYTES, false),
};

static const struct figure_field collective_fields[] = {
    REDUCE("collective.latency", latency, KVS_UNIT_TIME, true),
    REDUCE("collective.trips", trips, KVS_UNIT_PLAIN, true),
    FIELD(kvs_machine, "collective.rate", collective.rate, KVS_UNIT_RATE, false, "no cost"),
};

/* prefix is "gpu0." or "". */
static kvs_status figures_add(struct kvs_figures *figures, const char *prefix,
                              const struct figure_field *fields, size_t n, const void *base,
                              struct kvs_error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct kvs_figure figure = {
            .unit = fields[i].unit, .zero = fields[i].zero, .is_major = fields[i].is_major};
        figure.param = (const void *)((const char *)base + fields[i].offset);
        (void)snprintf(figure.name, sizeof figure.name, "%.80s%s", prefix, fields[i].name);
        KVS_TRY(KVS_ARRAY_PUSH(figures, figure, err));
    }
    return KVS_OK;
}

static kvs_status figures_add_profile(struct kvs_figures *figures, const char *device,
                                      const struct kvs_compute_profile *profile,
                                      struct kvs_error *err)
{
    char prefix[128];
    char share[24] = "";
    if (profile->head_share < 1.0)
        (void)snprintf(share, sizeof share, "/%.3g", profile->head_share);
    (void)snprintf(prefix, sizeof prefix, "%s.%.40s.%s%s.", device, profile->model,
                   kvs_kv_type_name(profile->kv_type), share);
    return figures_add(figures, prefix, profile_fields, KVS_COUNT_OF(profile_fields), profile,
                       err);
}

kvs_status kvs_figures_add_link(struct kvs_figures *figures, const struct kvs_link *link,
                                struct kvs_error *err)
{
    char prefix[48];
    (void)snprintf(prefix, sizeof prefix, "%s.", link->name);
    if (link->mode == KVS_LINK_UNLIMITED)
        return KVS_OK;
    return figures_add(figures, prefix, link_fields, KVS_COUNT_OF(link_fields), link, err);
}

bool kvs_link_is_of_device(const struct kvs_machine *machine, const struct kvs_link *link)
{
    for (uint32_t d = 0; d < machine->n_devices; d++)
        if (strcmp(machine->devices[d].name, link->name) == 0)
            return true;
    return false;
}

kvs_status kvs_figures_add_device(struct kvs_figures *figures,
                                  const struct kvs_machine *machine, uint32_t device,
                                  struct kvs_error *err)
{
    const struct kvs_device *d = &machine->devices[device];
    char prefix[48];
    (void)snprintf(prefix, sizeof prefix, "%s.", d->name);
    if (strcmp(machine->links[d->link].name, d->name) == 0)
        KVS_TRY(kvs_figures_add_link(figures, &machine->links[d->link], err));
    KVS_TRY(figures_add(figures, prefix, device_fields, KVS_COUNT_OF(device_fields), d, err));
    for (uint32_t p = 0; p < d->n_profiles; p++)
        KVS_TRY(figures_add_profile(figures, d->name, &d->profiles[p], err));
    return KVS_OK;
}

kvs_status kvs_figures_add_host(struct kvs_figures *figures, const struct kvs_machine *machine,
                                struct kvs_error *err)
{
    KVS_TRY(figures_add(figures, "", host_fields, KVS_COUNT_OF(host_fields), machine, err));
    if (machine->n_devices < 2)
        return KVS_OK;
    return figures_add(figures, "", collective_fields, KVS_COUNT_OF(collective_fields), machine,
                       err);
}

const char *kvs_figure_unit(kvs_unit unit)
{
    switch (unit) {
    case KVS_UNIT_TIME:
        return "s";
    case KVS_UNIT_RATE:
        return "B/s";
    case KVS_UNIT_BYTES:
        return "B";
    case KVS_UNIT_FLOPS:
        return "FLOP/s";
    case KVS_UNIT_FRAC:
    case KVS_UNIT_PLAIN:
        return "";
    }
    return "";
}
