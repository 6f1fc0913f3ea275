/* What a card is: memory, rates, copy engines. The same keys stand in card files and in
 * devices. */
#include <float.h>
#include <math.h>
#include <stddef.h>

#include "models/machine_yaml.h"

#define MAX_ENGINES 16

static const struct kvs_machine_field card_fields[] = {
    {"reserved", offsetof(struct kvs_device, reserved_bytes), KVS_UNIT_BYTES, 0,
     KVS_MACHINE_MAX_BYTES, 0, 0, 0, "nothing stated: all of the memory is ours"},
    {"memory_rate", offsetof(struct kvs_device, memory_rate), KVS_UNIT_RATE, DBL_MIN,
     KVS_MACHINE_MAX_BPS, 0, 0, 0, "not stated"},
    {"flops", offsetof(struct kvs_device, flops), KVS_UNIT_FLOPS, DBL_MIN,
     KVS_MACHINE_MAX_FLOPS, 0, 0, 0, "not stated"},
    {"memory_efficiency", offsetof(struct kvs_device, memory_efficiency), KVS_UNIT_FRAC,
     DBL_MIN, 1, 0.65, 0.50, 0.80,
     "guess for a card without decode rows; those of an RTX 4070 give 0.75"},
    {"kernel_gap", offsetof(struct kvs_device, kernel_gap), KVS_UNIT_TIME, 0, KVS_MACHINE_MAX_S,
     1.5e-6, 1.5e-6, 1.5e-6, "1.46 us between kernels of one stream on an H200"},
    {"read_latency", offsetof(struct kvs_device, read_latency), KVS_UNIT_TIME, 0,
     KVS_MACHINE_MAX_S, 1.2e-6, 1.2e-6, 1.2e-6,
     "1.19 us for a dependent 4-byte read of mapped host memory on an idle H200"},
    {"read_outstanding_bytes", offsetof(struct kvs_device, read_outstanding_bytes),
     KVS_UNIT_BYTES, 1, KVS_MACHINE_MAX_BYTES, 32768, 32768, 32768,
     "four-block kernels reading 4 KiB to 1 MiB of mapped host memory on an H200"},
    {"read_setup", offsetof(struct kvs_device, read_setup), KVS_UNIT_TIME, 0, KVS_MACHINE_MAX_S,
     6e-6, 6e-6, 6e-6, "7.2 us for a kernel that reads 4 KiB on an H200, less the read"},
    {"read_trips", offsetof(struct kvs_device, read_trips), KVS_UNIT_PLAIN, 1, 16, 3, 1, 4,
     "of a kernel that reads 16 KiB beside copies on an H200: traces/h200/kernel-ends.csv"},
};

static const struct kvs_machine_field stream_fields[] = {
    {"rate", offsetof(struct kvs_stream_kernels, rate), KVS_UNIT_RATE, DBL_MIN,
     KVS_MACHINE_MAX_BPS, 0, 0, 0, "not measured"},
    {"fold_rate", offsetof(struct kvs_stream_kernels, fold_rate), KVS_UNIT_RATE, DBL_MIN,
     KVS_MACHINE_MAX_BPS, 0, 0, 0, "not measured"},
    {"kernel", offsetof(struct kvs_stream_kernels, kernel), KVS_UNIT_TIME, 0, KVS_MACHINE_MAX_S,
     0, 0, 0, "not measured"},
    {"operation", offsetof(struct kvs_stream_kernels, operation), KVS_UNIT_TIME, 0,
     KVS_MACHINE_MAX_S, 0, 0, 0, "not measured"},
    {"slowdown", offsetof(struct kvs_stream_kernels, slowdown), KVS_UNIT_FRAC, 0, 1, 0, 0, 0,
     "not measured"},
    {"beside", offsetof(struct kvs_stream_kernels, beside), KVS_UNIT_TIME, 0, KVS_MACHINE_MAX_S,
     0, 0, 0, "not measured"},
};

static const struct kvs_machine_field engine_fields[] = {
    {"commit_lead", offsetof(struct kvs_engines, commit_lead), KVS_UNIT_TIME, 0,
     KVS_MACHINE_MAX_S, 10e-6, 5e-6, 25e-6,
     "20 to 25 us on the host's clock on an H200, which saw the end 10 to 12 us late"},
    {"bypass_bytes", offsetof(struct kvs_engines, bypass_bytes), KVS_UNIT_BYTES, 0,
     KVS_MACHINE_MAX_BYTES, 24576, 24576, 24576,
     "24 KiB bypass the engine of an H200, 28 KiB do not"},
    {"bypass_pageable_bytes", offsetof(struct kvs_engines, bypass_pageable_bytes),
     KVS_UNIT_BYTES, 0, KVS_MACHINE_MAX_BYTES, 65536, 65536, 65536,
     "pageable copies up to 64 KiB on an idle stream bypass the engine of an H200"},
    {"bypass_latency", offsetof(struct kvs_engines, bypass_latency), KVS_UNIT_TIME, 0,
     KVS_MACHINE_MAX_S, 20e-6, 20e-6, 40e-6, "0.02 to 0.04 ms on an H200"},
    {"first_overhead", offsetof(struct kvs_engines, first_overhead), KVS_UNIT_TIME, 0,
     KVS_MACHINE_MAX_S, 3.5e-6, 3.5e-6, 3.5e-6, "a first copy on an H200, on top of its bytes"},
    {"next_overhead", offsetof(struct kvs_engines, next_overhead), KVS_UNIT_TIME, 0,
     KVS_MACHINE_MAX_S, 2e-6, 1.5e-6, 2.7e-6,
     "1.5 to 2.7 us for a copy behind another on an H200"},
    {"opposite_overhead", offsetof(struct kvs_engines, opposite_overhead), KVS_UNIT_TIME, 0,
     KVS_MACHINE_MAX_S, 3e-6, 0, 3e-6,
     "a blocking device-to-host copy of 1 to 32 KiB takes 8.2 us on an idle H200, 11.2 us "
     "beside host-to-device copies"},
    {"handoff", offsetof(struct kvs_engines, handoff), KVS_UNIT_TIME, 0, KVS_MACHINE_MAX_S, 0,
     0, 4e-6,
     "3.9 us on an H200: traces/h200/kernel-ends.csv; part of the hop where hops are fitted"},
    {"in_flight_bytes", offsetof(struct kvs_engines, in_flight_bytes), KVS_UNIT_BYTES, 0,
     KVS_MACHINE_MAX_BYTES, 131072, 119000, 131072,
     "256 requests of 512 B; a read behind a copy waits 2.15 us at 55.4 GB/s on an H200: 119 "
     "KB"},
};

void kvs_machine_card_default(struct kvs_device *device)
{
    struct kvs_engines *engines = &device->engines;

    kvs_machine_fields_default(card_fields, KVS_COUNT_OF(card_fields), device);
    device->memory_bytes = kvs_param_default(0, 0, 0, "not stated");
    kvs_machine_fields_default(stream_fields, KVS_COUNT_OF(stream_fields), &device->stream);
    kvs_machine_fields_default(engine_fields, KVS_COUNT_OF(engine_fields), engines);
    engines->n_engines = 2;
    engines->count = kvs_param_default(2, 2, 2, "one per direction, as most cards have");
    engines->arbitration = KVS_ARB_STICKY;
}

/* Point i of the curve: [width, efficiency]. Both stand in maps nowhere, so they are read bare.
 */
static bool card_read_point(struct kvs_yaml *doc, const struct kvs_yaml_node *point,
                            uint64_t previous_bytes, uint32_t *out_bytes,
                            double *out_efficiency)
{
    struct kvs_error err;
    uint64_t width_bytes = 0;
    double efficiency = 0;

    if (kvs_yaml_node_kind(point) != KVS_YAML_SEQ || kvs_yaml_len(point) != 2 ||
        !kvs_yaml_scalar(kvs_yaml_item(point, 0)) ||
        !kvs_yaml_scalar(kvs_yaml_item(point, 1))) {
        kvs_yaml_complain(doc, point, "[544B, 0.96]",
                          "expected a pair of width and efficiency");
        return false;
    }
    const struct kvs_yaml_node *width_node = kvs_yaml_item(point, 0);
    const struct kvs_yaml_node *efficiency_node = kvs_yaml_item(point, 1);
    if (kvs_parse_bytes(kvs_yaml_scalar(width_node), &width_bytes, &err) != KVS_OK) {
        kvs_yaml_complain(doc, width_node, err.hint[0] ? err.hint : NULL, "%s", err.text);
        return false;
    }
    if (kvs_parse_frac(kvs_yaml_scalar(efficiency_node), &efficiency, &err) != KVS_OK) {
        kvs_yaml_complain(doc, efficiency_node, err.hint[0] ? err.hint : NULL, "%s", err.text);
        return false;
    }
    if (width_bytes <= previous_bytes || width_bytes > UINT32_MAX) {
        kvs_yaml_complain(doc, width_node, "list the points by ascending width",
                          "row width %s does not ascend", kvs_yaml_scalar(width_node));
        return false;
    }
    if (efficiency <= 0 || efficiency > 1) {
        kvs_yaml_complain(doc, efficiency_node, NULL,
                          "must be above 0 and at most 1, got \"%s\"",
                          kvs_yaml_scalar(efficiency_node));
        return false;
    }
    *out_bytes = (uint32_t)width_bytes;
    *out_efficiency = efficiency;
    return true;
}

static void card_read_row_curve(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                                struct kvs_row_curve *out)
{
    struct kvs_row_curve curve = {0};
    uint64_t previous_bytes = 0;

    (void)kvs_param_get_text(doc, map, "source", KVS_OPTIONAL, curve.source,
                             sizeof curve.source);
    const struct kvs_yaml_node *points = kvs_yaml_get_seq(doc, map, "points", KVS_REQUIRED);
    kvs_yaml_end_map(doc, map);
    if (!points)
        return;

    size_t n = kvs_yaml_len(points);
    if (n < 1 || n > KVS_ROW_CURVE_MAX) {
        kvs_yaml_complain(doc, points, NULL, "expected 1 to %d points, got %zu",
                          KVS_ROW_CURVE_MAX, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (!card_read_point(doc, kvs_yaml_item(points, i), previous_bytes,
                             &curve.width_bytes[i], &curve.efficiency[i]))
            return;
        previous_bytes = curve.width_bytes[i];
    }
    curve.n = (uint32_t)n;
    *out = curve;
}

static void card_read_engines(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                              struct kvs_engines *engines)
{
    static const char *const arbitrations[] = {"sticky", "fifo"}; /* as enum kvs_arbitration */
    static const char *const first_turns[] = {"free", "chained"}; /* as enum kvs_first_turn */
    unsigned first_turn = (unsigned)engines->first_turn;
    unsigned arbitration = (unsigned)engines->arbitration;
    struct kvs_param count = engines->count;

    if (kvs_param_get(doc, map, "count", KVS_OPTIONAL, KVS_UNIT_PLAIN, 1, MAX_ENGINES,
                      &count)) {
        if (count.value != floor(count.value)) {
            kvs_yaml_complain(doc, kvs_yaml_get(doc, map, "count", KVS_OPTIONAL), NULL,
                              "expected a whole number of engines, got %.6g", count.value);
        } else {
            engines->count = count;
            engines->n_engines = (uint32_t)count.value;
        }
    }
    (void)kvs_yaml_get_enum(doc, map, "arbitration", KVS_OPTIONAL, arbitrations,
                            KVS_COUNT_OF(arbitrations), &arbitration);
    engines->arbitration = (kvs_arbitration)arbitration;
    (void)kvs_yaml_get_enum(doc, map, "first_turn", KVS_OPTIONAL, first_turns,
                            KVS_COUNT_OF(first_turns), &first_turn);
    engines->first_turn = (kvs_first_turn)first_turn;
    kvs_machine_fields_read(doc, map, engine_fields, KVS_COUNT_OF(engine_fields), engines);
    const struct kvs_yaml_node *curve = kvs_yaml_get_map(doc, map, "row_curve", KVS_OPTIONAL);
    if (curve)
        card_read_row_curve(doc, curve, &engines->row_curve);
    kvs_yaml_end_map(doc, map);
}

/* Both rates have to be there: the rest says nothing without them. */
static void card_read_stream(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                             struct kvs_stream_kernels *stream)
{
    kvs_machine_fields_read(doc, map, stream_fields, KVS_COUNT_OF(stream_fields), stream);
    if (!(stream->rate.value > 0.0) || !(stream->fold_rate.value > 0.0))
        kvs_yaml_complain(doc, map, "kvsim probe writes both", "expected rate and fold_rate");
    kvs_yaml_end_map(doc, map);
}

void kvs_machine_card_read(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                           struct kvs_device *device)
{
    kvs_machine_fields_read(doc, map, card_fields, KVS_COUNT_OF(card_fields), device);
    if (kvs_param_get(doc, map, "memory", KVS_OPTIONAL, KVS_UNIT_BYTES, 1,
                      KVS_MACHINE_MAX_BYTES, &device->memory_bytes))
        device->is_memory_known = true;
    const struct kvs_yaml_node *engines = kvs_yaml_get_map(doc, map, "engines", KVS_OPTIONAL);
    if (engines)
        card_read_engines(doc, engines, &device->engines);
    const struct kvs_yaml_node *stream = kvs_yaml_get_map(doc, map, "stream", KVS_OPTIONAL);
    if (stream)
        card_read_stream(doc, stream, &device->stream);
}
