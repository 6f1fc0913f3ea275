/* What the host pays, and the all-reduce between devices: defaults and reading. */
#include <stddef.h>

#include "models/machine_yaml.h"

#define HOST_TIME(name, value, lo, hi, source)                                                 \
    {                                                                                          \
#name, offsetof(struct kvs_host, name), KVS_UNIT_TIME, 0, KVS_MACHINE_MAX_S, (value),  \
            (lo), (hi), (source)                                                               \
    }

static const struct kvs_machine_field host_fields[] = {
    {"memory_rate", offsetof(struct kvs_host, memory_rate), KVS_UNIT_RATE, 0,
     KVS_MACHINE_MAX_BPS, 0, 0, 0, "no limit: host memory is taken to feed every link"},
    HOST_TIME(kernel_launch, 3.6e-6, 1.8e-6, 3.6e-6,
              "3.6 us per launch on the virtual host of an H200; bare metal is about half"),
    HOST_TIME(graph_launch, 6e-6, 6e-6, 6e-6, "one graph launch per split; kvsim's guess"),
    HOST_TIME(subgraph_launch, 15.5e-6, 15.5e-6, 15.5e-6,
              "tensor split over two cards: 4 ms of host time for 128 sub-graphs a token, 31 "
              "us each"),
    HOST_TIME(collective_launch, 0, 0, 0, "counted in the sub-graph launch"),
    HOST_TIME(event_pair, 0.36e-6, 0.36e-6, 0.36e-6, "event record and stream wait, H200 host"),
    HOST_TIME(copy_call, 1.5e-6, 1.5e-6, 1.5e-6, "issue of one asynchronous copy, H200 host"),
    HOST_TIME(
        sync, 3e-6, 3e-6, 3e-6,
        "launch and synchronise take 8.6 us on an H200, launch and spin overhead included"),
    HOST_TIME(hop, 2e-6, 2e-6, 2e-6,
              "an event wait and a tiny kernel on another stream take 4.2 us on an H200"),
    HOST_TIME(store, 1e-6, 1e-6, 1e-6, "copying one row into the cache; kvsim's guess"),
    HOST_TIME(split_work, 0, 0, 0, "nothing besides the calls"),
    HOST_TIME(between_tokens, 0.6e-3, 0.3e-3, 1.0e-3,
              "logits, sampling and the next input: 0.3 to 1.0 ms on published machines"),
    {"queue_limit", offsetof(struct kvs_host, queue_limit), KVS_UNIT_PLAIN, 1, 1e9, 1000, 1000,
     1000, "about a thousand unfinished kernels block the host"},
    {"pageable_rate", offsetof(struct kvs_host, pageable_rate), KVS_UNIT_RATE, 0,
     KVS_MACHINE_MAX_BPS, 0, 0, 0,
     "half the link's rate: 12.6 GB/s pageable, 24.6 pinned on an RTX 4070 at gen4x16"},
    {"pageable_async_bytes", offsetof(struct kvs_host, pageable_async_bytes), KVS_UNIT_BYTES, 0,
     KVS_MACHINE_MAX_BYTES, 65536, 65536, 65536,
     "a pageable copy above 64 KiB blocks its caller on an H200"},
};

static const struct kvs_machine_field collective_fields[] = {
    {"latency", offsetof(struct kvs_collective, latency), KVS_UNIT_TIME, 0, KVS_MACHINE_MAX_S,
     20e-6, 20e-6, 58e-6,
     "without peer-to-peer about 20 us fits one published pair, 34 to 58 us others, idle"},
    {"trips", offsetof(struct kvs_collective, trips), KVS_UNIT_PLAIN, 0, 64, 2, 2, 2,
     "two dependent host reads per all-reduce fit a published pair without peer-to-peer"},
    {"rate", offsetof(struct kvs_collective, rate), KVS_UNIT_RATE, 0, KVS_MACHINE_MAX_BPS, 0, 0,
     0, "bytes cost nothing beyond the latency"},
};

void kvs_machine_host_read(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                           struct kvs_host *host)
{
    static const char *const submits[] = {"kernels", "graph"}; /* as enum kvs_submit */
    unsigned submit = KVS_SUBMIT_GRAPH;

    kvs_machine_fields_default(host_fields, KVS_COUNT_OF(host_fields), host);
    const struct kvs_yaml_node *map = kvs_yaml_get_map(doc, root, "host", KVS_OPTIONAL);
    if (map) {
        (void)kvs_yaml_get_enum(doc, map, "submit", KVS_OPTIONAL, submits,
                                KVS_COUNT_OF(submits), &submit);
        kvs_machine_fields_read(doc, map, host_fields, KVS_COUNT_OF(host_fields), host);
        kvs_yaml_end_map(doc, map);
    }
    host->submit = (kvs_submit)submit;
}

void kvs_machine_collective_read(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                                 struct kvs_collective *collective)
{
    static const char *const backends[] = {"nccl-p2p", "nccl-host", "host"}; /* as enum */
    unsigned backend = KVS_BACKEND_NCCL_HOST;

    kvs_machine_fields_default(collective_fields, KVS_COUNT_OF(collective_fields), collective);
    const struct kvs_yaml_node *map = kvs_yaml_get_map(doc, root, "collective", KVS_OPTIONAL);
    if (map) {
        (void)kvs_yaml_get_enum(doc, map, "backend", KVS_OPTIONAL, backends,
                                KVS_COUNT_OF(backends), &backend);
        if (backend == KVS_BACKEND_NCCL_P2P)
            collective->trips =
                kvs_param_default(0, 0, 0, "peer-to-peer does not read the host");
        kvs_machine_fields_read(doc, map, collective_fields, KVS_COUNT_OF(collective_fields),
                                collective);
        kvs_yaml_end_map(doc, map);
    }
    collective->backend = (kvs_backend)backend;
}
