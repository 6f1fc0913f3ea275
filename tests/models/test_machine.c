/* Reading of machine files: defaults, overrides, cards, links and their order, origins. */
#include "models/machine.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/units.h"

/* A catalogue of two cards; counts how often it is asked. */
static unsigned lookup_calls;

static const char *fake_lookup(void *context, const char *gpu_name, size_t *out_n,
                               const char **out_file, const char **out_nearest)
{
    (void)out_file;
    static const char big[] =
        "kind: gpu\n"
        "name: big\n"
        "memory: {value: 16GiB, origin: datasheet, source: \"big sheet\"}\n"
        "memory_rate: 1000GB/s\n"
        "flops: 100TFLOP/s\n"
        "kernel_gap: {value: 2us, origin: measured}\n"
        "engines:\n"
        "  count: 3\n"
        "  bypass_bytes: 28KiB\n"
        "  row_curve: {source: \"seen\", points: [[136B, 0.75], [544B, 0.95]]}\n";
    static const char small[] = "kind: gpu\nname: small\nmemory: 8GiB\nmemory_rate: 200GB/s\n"
                                "flops: 10TFLOP/s\nengines: {count: 1, arbitration: fifo}\n";
    (void)context;
    lookup_calls++;
    *out_nearest = "big";
    if (strcmp(gpu_name, "big") == 0) {
        *out_n = strlen(big);
        return big;
    }
    if (strcmp(gpu_name, "small") == 0) {
        *out_n = strlen(small);
        return small;
    }
    return NULL;
}

/* Loads a file that must be good. */
static struct kvs_machine *load(const char *yaml)
{
    struct kvs_machine *machine = NULL;
    struct kvs_diags diags;

    kvs_diags_init(&diags);
    kvs_status status = kvs_machine_parse("m.yaml", yaml, strlen(yaml), fake_lookup, NULL,
                                          &diags, &machine, NULL);
    kvs_diags_print(&diags, stderr);
    assert_int_equal(status, KVS_OK);
    kvs_diags_fini(&diags);
    return machine;
}

static void check(const struct kvs_param *param, double value, double lo, double hi,
                  kvs_origin origin)
{
    assert_true(fabs(param->value - value) <= 1e-12 * (value + 1e-9));
    assert_true(fabs(param->lo - lo) <= 1e-12 * (lo + 1e-9));
    assert_true(fabs(param->hi - hi) <= 1e-12 * (hi + 1e-9));
    assert_int_equal(param->origin, origin);
}

static void check_default(const struct kvs_param *param, double value, double lo, double hi)
{
    check(param, value, lo, hi, KVS_ORIGIN_DEFAULT);
    assert_true(param->source[0] != '\0');
}

#define HEAD  "kind: machine\nname: m\n"
#define FIVE  HEAD "devices:\n  - {gpu: big, pcie: gen4x8}\n  - {gpu: small, pcie: gen3x1}\n"
#define PLAIN "{memory_rate: 896GB/s, flops: 88TFLOP/s, "

/* Five lines. gen4x8: 16 GT/s x 8 x 128/130 / 8 = 15.754 GB/s raw; gen3x1: 0.9846. Both
 * narrower than x16: efficiency 0.80, 0.70 to 0.90. */
static void test_five_lines(void **state)
{
    struct kvs_machine *machine = load(FIVE);
    double raw_Bps = 16e9 * 8 * 128 / 130 / 8;

    (void)state;
    assert_int_equal(machine->n_devices, 2);
    assert_int_equal(machine->n_links, 3);
    assert_string_equal(machine->links[0].name, "root");
    assert_int_equal(machine->links[0].mode, KVS_LINK_UNLIMITED);
    assert_int_equal(machine->links[0].parent, -1);
    assert_string_equal(machine->devices[0].name, "gpu0");
    assert_string_equal(machine->devices[1].name, "gpu1");
    assert_string_equal(machine->devices[1].gpu, "small");
    for (uint32_t d = 0; d < 2; d++) {
        const struct kvs_link *link = &machine->links[machine->devices[d].link];
        assert_string_equal(link->name, machine->devices[d].name);
        assert_int_equal(link->parent, 0);
        assert_int_equal(link->mode, KVS_LINK_DUPLEX);
        assert_false(link->is_rate_measured);
    }
    const struct kvs_link *x8 = &machine->links[machine->devices[0].link];
    assert_int_equal(x8->gen, 4);
    assert_int_equal(x8->lanes, 8);
    for (int dir = 0; dir < KVS_N_DIRS; dir++) {
        check_default(&x8->rate[dir], raw_Bps * 0.80, raw_Bps * 0.70, raw_Bps * 0.90);
        check_default(&x8->opposite[dir], 0, 0, 0);
    }
    check_default(&x8->latency, 0, 0, 0);
    assert_non_null(strstr(x8->rate[0].source, "gen4x8: 15.75 GB/s raw x efficiency 0.8"));
    const struct kvs_link *x1 = &machine->links[machine->devices[1].link];
    assert_true(fabs(x1->rate[KVS_H2D].value - 8e9 * 128 / 130 / 8 * 0.80) <= 1);
    kvs_machine_destroy(machine);
}

/* Expected figures are those of docs/machine-format.md, most of them measured on an H200. */
static void test_card_defaults(void **state)
{
    struct kvs_machine *machine = load(HEAD "devices: [" PLAIN "pcie: Gen4 x16}]\n");
    const struct kvs_device *device = &machine->devices[0];
    const struct kvs_engines *engines = &device->engines;

    (void)state;
    assert_string_equal(device->gpu, "");
    assert_false(device->is_memory_known);
    check(&device->memory_rate, 896e9, 896e9, 896e9, KVS_ORIGIN_STATED);
    check(&device->flops, 88e12, 88e12, 88e12, KVS_ORIGIN_STATED);
    check_default(&device->reserved_bytes, 0, 0, 0);
    check_default(&device->memory_efficiency, 0.65, 0.50, 0.80);
    check_default(&device->kernel_gap, 1.5e-6, 1.5e-6, 1.5e-6);
    check_default(&device->read_latency, 1.2e-6, 1.2e-6, 1.2e-6);
    check_default(&device->read_outstanding_bytes, 32768, 32768, 32768);
    check_default(&device->read_setup, 6e-6, 6e-6, 6e-6);
    check_default(&device->read_trips, 3, 1, 4);
    assert_int_equal(engines->n_engines, 2);
    check_default(&engines->count, 2, 2, 2);
    assert_int_equal(engines->arbitration, KVS_ARB_STICKY);
    check_default(&engines->commit_lead, 10e-6, 5e-6, 25e-6);
    check_default(&engines->bypass_bytes, 24 * 1024, 24 * 1024, 24 * 1024);
    check_default(&engines->bypass_pageable_bytes, 65536, 65536, 65536);
    check_default(&engines->bypass_latency, 20e-6, 20e-6, 40e-6);
    check_default(&engines->first_overhead, 3.5e-6, 3.5e-6, 3.5e-6);
    check_default(&engines->next_overhead, 2e-6, 1.5e-6, 2.7e-6);
    check_default(&engines->in_flight_bytes, 131072, 119000, 131072);
    assert_int_equal(engines->row_curve.n, 0);
    assert_int_equal(device->n_profiles, 0);
    /* gen4x16: 16 GT/s x 16 x 128/130 / 8 = 31.508 GB/s, efficiency 0.77 of an x16 slot */
    check_default(&machine->links[device->link].rate[KVS_H2D], 32e9 * 128 / 130 * 0.77,
                  32e9 * 128 / 130 * 0.70, 32e9 * 128 / 130 * 0.90);
    kvs_machine_destroy(machine);
}

static void test_host_defaults(void **state)
{
    struct kvs_machine *machine = load(FIVE);
    const struct kvs_host *host = &machine->host;

    (void)state;
    check_default(&host->memory_rate, 0, 0, 0);
    assert_int_equal(host->submit, KVS_SUBMIT_GRAPH);
    check_default(&host->kernel_launch, 3.6e-6, 1.8e-6, 3.6e-6);
    check_default(&host->graph_launch, 6e-6, 6e-6, 6e-6);
    check_default(&host->subgraph_launch, 15.5e-6, 15.5e-6, 15.5e-6);
    check_default(&host->collective_launch, 0, 0, 0);
    check_default(&host->event_pair, 0.36e-6, 0.36e-6, 0.36e-6);
    check_default(&host->copy_call, 1.5e-6, 1.5e-6, 1.5e-6);
    check_default(&host->sync, 3e-6, 3e-6, 3e-6);
    check_default(&host->hop, 2e-6, 2e-6, 2e-6);
    check_default(&host->store, 1e-6, 1e-6, 1e-6);
    check_default(&host->split_work, 0, 0, 0);
    check_default(&host->between_tokens, 0.6e-3, 0.3e-3, 1e-3);
    check_default(&host->queue_limit, 1000, 1000, 1000);
    check_default(&host->pageable_rate, 0, 0, 0);
    check_default(&host->pageable_async_bytes, 65536, 65536, 65536);
    assert_int_equal(machine->collective.backend, KVS_BACKEND_NCCL_HOST);
    check_default(&machine->collective.latency, 20e-6, 20e-6, 58e-6);
    check_default(&machine->collective.trips, 2, 2, 2);
    check_default(&machine->collective.rate, 0, 0, 0);
    kvs_machine_destroy(machine);
}

/* The card overrides the defaults, the device overrides the card, and the rest stays. */
static void test_overrides(void **state)
{
    struct kvs_machine *machine = load(
        HEAD
        "devices:\n"
        "  - gpu: big\n"
        "    h2d: 12.9GB/s\n"
        "    kernel_gap: 1us\n"
        "    reserved: 1GiB\n"
        "    engines:\n"
        "      commit_lead: {value: 20us, origin: measured, interval: [18us, 22us],\n"
        "                    build: b1, source: \"a probe\"}\n"
        "  - {gpu: big, h2d: 12GB/s}\n"
        "  - {gpu: {memory: 24GiB, memory_rate: 936GB/s, flops: 71TFLOP/s}, h2d: 3GB/s}\n");
    const struct kvs_device *first = &machine->devices[0];
    const struct kvs_device *second = &machine->devices[1];

    (void)state;
    check(&first->kernel_gap, 1e-6, 1e-6, 1e-6, KVS_ORIGIN_STATED);
    check(&first->reserved_bytes, 1073741824, 1073741824, 1073741824, KVS_ORIGIN_STATED);
    check(&first->engines.commit_lead, 20e-6, 18e-6, 22e-6, KVS_ORIGIN_MEASURED);
    assert_string_equal(first->engines.commit_lead.build, "b1");
    assert_string_equal(first->engines.commit_lead.source, "a probe");
    check(&second->kernel_gap, 2e-6, 2e-6, 2e-6, KVS_ORIGIN_MEASURED);
    check_default(&second->engines.commit_lead, 10e-6, 5e-6, 25e-6);
    for (uint32_t d = 0; d < 2; d++) {
        const struct kvs_device *device = &machine->devices[d];
        assert_string_equal(device->gpu, "big");
        assert_true(device->is_memory_known);
        check(&device->memory_bytes, 17179869184, 17179869184, 17179869184,
              KVS_ORIGIN_DATASHEET);
        assert_string_equal(device->memory_bytes.source, "big sheet");
        assert_int_equal(device->engines.n_engines, 3);
        check(&device->engines.bypass_bytes, 28672, 28672, 28672, KVS_ORIGIN_STATED);
        assert_int_equal(device->engines.row_curve.n, 2);
        assert_int_equal(device->engines.row_curve.width_bytes[1], 544);
        assert_true(fabs(device->engines.row_curve.efficiency[1] - 0.95) <= 1e-15);
        assert_string_equal(device->engines.row_curve.source, "seen");
    }
    assert_string_equal(machine->devices[2].gpu, "");
    assert_true(machine->devices[2].memory_bytes.value == 24 * 1073741824.0);
    assert_true(machine->devices[2].is_memory_known);
    assert_int_equal(machine->devices[2].engines.n_engines, 2);
    kvs_machine_destroy(machine);
}

/* Cards that differ do not leak into each other, and a repeated one is asked for once. */
static void test_card_cache(void **state)
{
    struct kvs_machine *machine;

    (void)state;
    lookup_calls = 0;
    machine = load(HEAD "devices: [{gpu: big, pcie: gen4x8}, {gpu: big, pcie: gen4x8}, "
                        "{gpu: small, pcie: gen4x8}, {gpu: big, pcie: gen4x8}]\n");
    assert_int_equal(lookup_calls, 3);
    assert_int_equal(machine->devices[1].engines.n_engines, 3);
    assert_int_equal(machine->devices[2].engines.n_engines, 1);
    assert_int_equal(machine->devices[2].engines.arbitration, KVS_ARB_FIFO);
    assert_int_equal(machine->devices[2].engines.row_curve.n, 0);
    assert_int_equal(machine->devices[3].engines.row_curve.n, 2);
    kvs_machine_destroy(machine);
}

/* Written children first; kept parents first, and the devices still on their own links. */
static void test_link_order(void **state)
{
    struct kvs_machine *machine = load(
        HEAD "links:\n"
             "  - {name: slot1, parent: switch, h2d: 3.156GB/s}\n"
             "  - {name: slot0, parent: switch, pcie: gen4x16}\n"
             "  - {name: switch, parent: root, pcie: gen4x8, mode: shared, efficiency: 80%}\n"
             "  - {name: root, mode: unlimited}\n"
             "devices:\n"
             "  - {gpu: big, link: slot0}\n"
             "  - {gpu: small, name: low, link: slot1}\n"
             "  - {gpu: small, name: own, parent: switch, pcie: gen3x4}\n"
             "  - {gpu: small, name: free, pcie: gen3x4}\n");
    static const char *const parents[] = {"switch", "switch", "switch", "root"};
    static const char *const links[] = {"slot0", "slot1", "own", "free"};

    (void)state;
    assert_int_equal(machine->n_links, 6);
    for (uint32_t i = 0; i < machine->n_links; i++)
        assert_true(machine->links[i].parent < (int32_t)i);
    for (uint32_t d = 0; d < machine->n_devices; d++) {
        const struct kvs_link *link = &machine->links[machine->devices[d].link];
        assert_string_equal(link->name, links[d]);
        assert_string_equal(machine->links[link->parent].name, parents[d]);
    }
    assert_string_equal(machine->links[0].name, "root");
    assert_string_equal(machine->links[1].name, "switch");
    assert_int_equal(machine->links[1].mode, KVS_LINK_SHARED);
    check(&machine->links[1].rate[KVS_H2D], 16e9 * 128 / 130 * 0.8, 16e9 * 128 / 130 * 0.8,
          16e9 * 128 / 130 * 0.8, KVS_ORIGIN_STATED);
    kvs_machine_destroy(machine);
}

/* Where parents come first in the file, its order is kept. */
static void test_link_order_is_kept(void **state)
{
    static const char *const names[] = {"a", "a0", "b", "b0", "a1"};
    struct kvs_machine *machine =
        load(HEAD "links: [{name: a, mode: unlimited}, {name: a0, parent: a, h2d: 1GB/s},"
                  " {name: b, mode: unlimited}, {name: b0, parent: b, h2d: 1GB/s},"
                  " {name: a1, parent: a, h2d: 1GB/s}]\n"
                  "devices: [{gpu: big, link: a1}]\n");

    (void)state;
    assert_int_equal(machine->n_links, KVS_COUNT_OF(names));
    for (uint32_t i = 0; i < machine->n_links; i++)
        assert_string_equal(machine->links[i].name, names[i]);
    assert_int_equal(machine->devices[0].link, 4);
    kvs_machine_destroy(machine);
}

/* A measured rate rules over the slot's, which is kept for display; d2h follows h2d. */
static void test_measured_rates(void **state)
{
    struct kvs_machine *machine =
        load(HEAD "devices:\n"
                  "  - gpu: big\n"
                  "    pcie: gen4x16\n"
                  "    h2d: {value: 24.83GB/s, origin: fitted, interval: [24.6GB/s, 25GB/s]}\n"
                  "    opposite_h2d: 12GB/s\n"
                  "    latency: 1us\n"
                  "  - {gpu: big, h2d: 24GB/s, d2h: 25GB/s, opposite_d2h: 20GB/s}\n");
    const struct kvs_link *first = &machine->links[machine->devices[0].link];
    const struct kvs_link *second = &machine->links[machine->devices[1].link];

    (void)state;
    assert_true(first->is_rate_measured && second->is_rate_measured);
    assert_int_equal(first->gen, 4);
    assert_int_equal(first->lanes, 16);
    assert_int_equal(second->gen, 0);
    check(&first->rate[KVS_H2D], 24.83e9, 24.6e9, 25e9, KVS_ORIGIN_FITTED);
    check_default(&first->rate[KVS_D2H], 24.83e9, 24.6e9, 25e9);
    check(&first->opposite[KVS_H2D], 12e9, 12e9, 12e9, KVS_ORIGIN_STATED);
    check_default(&first->opposite[KVS_D2H], 0, 0, 0);
    check(&first->latency, 1e-6, 1e-6, 1e-6, KVS_ORIGIN_STATED);
    check(&second->rate[KVS_D2H], 25e9, 25e9, 25e9, KVS_ORIGIN_STATED);
    check(&second->opposite[KVS_D2H], 20e9, 20e9, 20e9, KVS_ORIGIN_STATED);
    kvs_machine_destroy(machine);
}

/* The slowdown under copies that nobody measured is link rate / memory rate: 24 of 1000 GB/s,
 * and the slowest link on the way counts: 10 of 1000. The upper end is the 7% seen on an H200.
 */
static void test_profiles(void **state)
{
    struct kvs_machine *machine =
        load(HEAD "links: [{name: up, h2d: 10GB/s}]\n"
                  "devices:\n"
                  "  - gpu: big\n"
                  "    h2d: 24GB/s\n"
                  "    profiles:\n"
                  "      - {model: example, weights: IQ2_M, kv_type: q8_0, fixed: 25ms, "
                  "per_row: 0.178us}\n"
                  "      - {model: example, weights: IQ2_M, kv_type: q4_0, head_share: 50%,\n"
                  "         fixed: {value: 14ms, origin: fitted, interval: [13ms, 15ms]},\n"
                  "         per_row: 0.125us, per_query_row: 0.024us, copy_slowdown: 5%,\n"
                  "         busy_slowdown: 0.17, busy_threshold: 0.8}\n"
                  "  - gpu: big\n"
                  "    parent: up\n"
                  "    h2d: 24GB/s\n"
                  "    profiles: [{model: x, kv_type: f16, fixed: 1ms, per_row: 0us}]\n");
    const struct kvs_compute_profile *first = &machine->devices[0].profiles[0];
    const struct kvs_compute_profile *half = &machine->devices[0].profiles[1];

    (void)state;
    assert_int_equal(machine->devices[0].n_profiles, 2);
    assert_string_equal(first->model, "example");
    assert_string_equal(first->weights, "IQ2_M");
    assert_int_equal(first->kv_type, KVS_KV_Q8_0);
    assert_true(first->head_share == 1);
    check(&first->fixed, 25e-3, 25e-3, 25e-3, KVS_ORIGIN_STATED);
    check(&first->per_row, 0.178e-6, 0.178e-6, 0.178e-6, KVS_ORIGIN_STATED);
    check_default(&first->per_query_row, 0, 0, 0);
    check_default(&first->copy_slowdown, 0.024, 0, 0.07);
    check_default(&first->busy_slowdown, 0, 0, 0.17);
    check_default(&first->busy_threshold, 0.70, 0.70, 0.70);
    assert_int_equal(half->kv_type, KVS_KV_Q4_0);
    assert_true(half->head_share == 0.5);
    check(&half->fixed, 14e-3, 13e-3, 15e-3, KVS_ORIGIN_FITTED);
    check(&half->per_query_row, 0.024e-6, 0.024e-6, 0.024e-6, KVS_ORIGIN_STATED);
    check(&half->copy_slowdown, 0.05, 0.05, 0.05, KVS_ORIGIN_STATED);
    check(&half->busy_slowdown, 0.17, 0.17, 0.17, KVS_ORIGIN_STATED);
    check(&half->busy_threshold, 0.8, 0.8, 0.8, KVS_ORIGIN_STATED);
    check_default(&machine->devices[1].profiles[0].copy_slowdown, 0.010, 0, 0.07);
    assert_string_equal(machine->devices[1].profiles[0].weights, "");
    kvs_machine_destroy(machine);
}

/* Every key of host and collective, each read in its own unit. */
static void test_host_keys(void **state)
{
    struct kvs_machine *machine = load(
        FIVE
        "description: a box\nbuild: current\n"
        "host:\n"
        "  {memory_rate: 80GB/s, submit: kernels, kernel_launch: 1us, graph_launch: 2us,\n"
        "   subgraph_launch: 3us, collective_launch: 4us, event_pair: 5us, copy_call: 6us,\n"
        "   sync: 7us, hop: 8us, store: 9us, split_work: 10us, between_tokens: 1ms,\n"
        "   queue_limit: 1024, pageable_rate: 11GB/s, pageable_async_bytes: 12KiB}\n"
        "collective: {backend: host, latency: 13us, trips: 3, rate: 14GB/s}\n");
    const struct kvs_host *host = &machine->host;
    const struct kvs_param *const times[] = {&host->kernel_launch,
                                             &host->graph_launch,
                                             &host->subgraph_launch,
                                             &host->collective_launch,
                                             &host->event_pair,
                                             &host->copy_call,
                                             &host->sync,
                                             &host->hop,
                                             &host->store,
                                             &host->split_work};

    (void)state;
    assert_string_equal(machine->description, "a box");
    assert_string_equal(machine->build, "current");
    assert_int_equal(host->submit, KVS_SUBMIT_KERNELS);
    for (unsigned i = 0; i < KVS_COUNT_OF(times); i++)
        check(times[i], (i + 1) * 1e-6, (i + 1) * 1e-6, (i + 1) * 1e-6, KVS_ORIGIN_STATED);
    check(&host->memory_rate, 80e9, 80e9, 80e9, KVS_ORIGIN_STATED);
    check(&host->between_tokens, 1e-3, 1e-3, 1e-3, KVS_ORIGIN_STATED);
    check(&host->queue_limit, 1024, 1024, 1024, KVS_ORIGIN_STATED);
    check(&host->pageable_rate, 11e9, 11e9, 11e9, KVS_ORIGIN_STATED);
    check(&host->pageable_async_bytes, 12288, 12288, 12288, KVS_ORIGIN_STATED);
    assert_int_equal(machine->collective.backend, KVS_BACKEND_HOST);
    check(&machine->collective.latency, 13e-6, 13e-6, 13e-6, KVS_ORIGIN_STATED);
    check(&machine->collective.trips, 3, 3, 3, KVS_ORIGIN_STATED);
    check(&machine->collective.rate, 14e9, 14e9, 14e9, KVS_ORIGIN_STATED);
    kvs_machine_destroy(machine);
}

/* Peer-to-peer does not read the host: no trips unless the file says so. */
static void test_p2p_has_no_trips(void **state)
{
    struct kvs_machine *machine = load(FIVE "collective: {backend: nccl-p2p}\n");

    (void)state;
    check_default(&machine->collective.trips, 0, 0, 0);
    kvs_machine_destroy(machine);
    machine = load(FIVE "collective: {backend: nccl-p2p, trips: 1}\n");
    check(&machine->collective.trips, 1, 1, 1, KVS_ORIGIN_STATED);
    kvs_machine_destroy(machine);
}

/* Fails the n-th allocation for every n until the load succeeds: an error each time, no leak.
 */
static void test_out_of_memory(void **state)
{
    static const char yaml[] = FIVE "links: [{name: up, mode: unlimited}]\n";
    uint64_t live_bytes = kvs_mem_live_bytes();
    kvs_status status = KVS_ENOMEM;
    uint64_t n = 0;

    (void)state;
    while (status != KVS_OK) {
        struct kvs_machine *machine = NULL;
        struct kvs_diags diags;
        struct kvs_error err = {0};

        kvs_diags_init(&diags);
        kvs_mem_fail_after(++n);
        status = kvs_machine_parse("m.yaml", yaml, strlen(yaml), fake_lookup, NULL, &diags,
                                   &machine, &err);
        kvs_mem_fail_after(0);
        assert_true(status == KVS_OK || status == KVS_ENOMEM);
        assert_int_equal(status == KVS_OK, machine != NULL);
        kvs_machine_destroy(machine);
        kvs_diags_fini(&diags);
        assert_int_equal(kvs_mem_live_bytes(), live_bytes);
        assert_true(n < 10000);
    }
    assert_true(n > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_five_lines),         cmocka_unit_test(test_card_defaults),
        cmocka_unit_test(test_host_defaults),      cmocka_unit_test(test_overrides),
        cmocka_unit_test(test_card_cache),         cmocka_unit_test(test_link_order),
        cmocka_unit_test(test_link_order_is_kept), cmocka_unit_test(test_measured_rates),
        cmocka_unit_test(test_profiles),           cmocka_unit_test(test_host_keys),
        cmocka_unit_test(test_p2p_has_no_trips),   cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
