/* The measurements there are, and what was measured. */
#include "real/probe.h"

const char *const kvs_probe_part_names[] = {"links",       "engines",  "kernels", "host",
                                            "collectives", "topology", NULL};

const struct kvs_probe_step kvs_probe_steps[] = {
    [KVS_PROBE_LINK_STATE] = {KVS_PROBE_TOPOLOGY, "link state",
                              "pcie; warnings about slow links; clocks, power limit, NUMA node",
                              "NVML and sysfs while copies run"},
    [KVS_PROBE_RATES] = {KVS_PROBE_LINKS, "copy rates", "h2d d2h",
                         "pinned copies of 256 MiB and 1 GiB"},
    [KVS_PROBE_SIZES] = {KVS_PROBE_LINKS, "copies by size", "a comment",
                         "pinned copies of 4 KiB to 64 MiB behind a kernel"},
    [KVS_PROBE_PIECES] = {KVS_PROBE_LINKS, "copies in pieces", "engines.next_overhead",
                          "one amount in 1, 10, 41 and 162 copies"},
    [KVS_PROBE_OPPOSITE] = {KVS_PROBE_LINKS, "both directions", "opposite_h2d opposite_d2h",
                            "equal amounts both ways from the same moment"},
    [KVS_PROBE_ROWS] = {KVS_PROBE_LINKS, "rows", "engines.row_curve",
                        "2D copies in rows of 64 to 4096 B, pitch twice the width"},
    [KVS_PROBE_PAGEABLE] = {KVS_PROBE_LINKS, "pageable copies",
                            "host.pageable_rate host.pageable_async_bytes",
                            "copies of 4 to 256 MiB; calls that return before their stream is "
                            "free"},
    [KVS_PROBE_TOGETHER] = {KVS_PROBE_LINKS, "GPUs together",
                            "links that GPUs share; host.memory_rate",
                            "copies to all GPUs and to every pair at once (several GPUs)"},
    [KVS_PROBE_ARBITRATION] = {KVS_PROBE_ENGINES, "arbitration",
                               "engines.count engines.arbitration",
                               "A1 on stream A, b on B, then A2 on A: which is served second"},
    [KVS_PROBE_LEAD] = {KVS_PROBE_ENGINES, "commit lead", "engines.commit_lead",
                        "the same with A2 issued 300 to 0 us before the end of A1"},
    [KVS_PROBE_BYPASS] = {KVS_PROBE_ENGINES, "bypass",
                          "engines.bypass_bytes engines.bypass_pageable_bytes "
                          "engines.bypass_latency",
                          "copies of 1 to 66 KiB on an idle stream behind 1.8 ms of others"},
    [KVS_PROBE_FIRST_TURN] =
        {KVS_PROBE_ENGINES, "first turn", "engines.first_turn",
         "chained deliveries on streams of their own and a free copy, 1, 2 "
         "and 4 ahead"},
    [KVS_PROBE_BESIDE] = {KVS_PROBE_ENGINES, "copies beside copies",
                          "engines.opposite_overhead",
                          "blocking copies of 4 KiB to the host, idle and beside others"},
    [KVS_PROBE_READ_LATENCY] = {KVS_PROBE_KERNELS, "dependent reads",
                                "read_latency engines.in_flight_bytes",
                                "4-byte reads of mapped host memory, idle and beside copies"},
    [KVS_PROBE_READS] = {KVS_PROBE_KERNELS, "kernel reads",
                         "read_setup read_outstanding_bytes read_trips",
                         "the executor's copy kernel, 4 KiB to 1 MiB of mapped host memory"},
    [KVS_PROBE_KERNEL_GAP] = {KVS_PROBE_KERNELS, "kernel gap", "kernel_gap",
                              "the same spinning in 100 and in 200 kernels"},
    [KVS_PROBE_MEMORY] = {KVS_PROBE_KERNELS, "device memory", "memory reserved memory_rate",
                          "a kernel that reads it, alone and beside copies"},
    [KVS_PROBE_STREAM] = {KVS_PROBE_KERNELS, "kvsim's kernels",
                          "stream: rate fold_rate kernel operation slowdown beside",
                          "384 MiB in 24 and 48 kernels, alone and beside copies; the digest"},
    [KVS_PROBE_CALLS] = {KVS_PROBE_HOST, "calls",
                         "host.kernel_launch host.event_pair host.copy_call",
                         "many calls in a row, time over number"},
    [KVS_PROBE_WAITS] = {KVS_PROBE_HOST, "waits", "host.sync host.graph_launch host.hop",
                         "launch and synchronise; two streams that wait for each other"},
    [KVS_PROBE_BLOCKING] = {KVS_PROBE_HOST, "blocking copies",
                            "engines.first_overhead engines.handoff",
                            "blocking copies of 64 KiB to 4 MiB, less bytes, call and wait; "
                            "kernels and copies in turn"},
    [KVS_PROBE_STORE] = {KVS_PROBE_HOST, "row stores", "host.store",
                         "1,088 bytes from pinned memory to rows far apart"},
    [KVS_PROBE_QUEUE] = {KVS_PROBE_HOST, "queue limit", "host.queue_limit",
                         "launches behind a long kernel until one blocks"},
    [KVS_PROBE_ALL_REDUCE] = {KVS_PROBE_COLLECTIVES, "all-reduces",
                              "collective.backend collective.latency collective.rate "
                              "collective.trips",
                              "NCCL, 4 KiB to 8 MiB, idle and beside copies (several GPUs)"},
};

void kvs_probe_report_fini(struct kvs_probe_report *report)
{
    KVS_ARRAY_FREE(&report->measured);
    KVS_ARRAY_FREE(&report->groups);
    kvs_text_fini(&report->notes);
}

bool kvs_probe_report_has(const struct kvs_probe_report *report, const void *what)
{
    for (size_t i = 0; i < report->measured.n; i++)
        if (report->measured.items[i] == what)
            return true;
    return false;
}
