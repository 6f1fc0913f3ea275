/*
 * Cost of the simulator itself: ns per dispatched operation with repeat detection off, plan
 * building, checking and timeline apart, and bytes per operation; from 1 to 1,024 devices, with
 * links of their own and sharing. Prints a table; asserts nothing.
 *
 *     build/release/kvsim-bench [largest number of devices]
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "sched/plan_check.h"
#include "sched/policy.h"
#include "sim/exec_sim.h"

#define BENCH_LAYERS  32u /* as an 8B model has */
#define BENCH_ROUNDS  5
#define BENCH_MAX_OPS 3000000u /* per run: fewer tokens on larger machines */

struct bench_case {
    const char *name;
    uint32_t n_devices;
    uint32_t per_link; /* devices below one shared link; 1: each has its own */
    kvs_split_mode split;
};

static double bench_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void bench_must(kvs_status status, const struct kvs_error *err)
{
    if (status == KVS_OK)
        return;
    kvs_error_print(err, stderr);
    exit(1);
}

static struct kvs_param bench_param(double value)
{
    return kvs_param_default(value, value, value, "benchmark");
}

static void *bench_alloc(size_t n, size_t size_bytes)
{
    void *memory;
    struct kvs_error err;
    bench_must(kvs_mem_alloc(n, size_bytes, &memory, &err), &err);
    return memory;
}

static void bench_device(struct kvs_device *d, uint32_t link)
{
    d->link = link;
    d->engines.n_engines = 2;
    d->engines.first_overhead = bench_param(3.5e-6);
    d->engines.next_overhead = bench_param(2e-6);
    d->engines.commit_lead = bench_param(10e-6);
    d->engines.bypass_bytes = bench_param(24576);
    d->engines.bypass_latency = bench_param(20e-6);
    d->engines.in_flight_bytes = bench_param(131072);
    d->memory_rate = bench_param(500e9);
    d->memory_efficiency = bench_param(0.7);
    d->read_latency = bench_param(1.2e-6);
    d->read_outstanding_bytes = bench_param(32768);
}

static void bench_link(struct kvs_link *link, int32_t parent, double rate_Bps)
{
    link->parent = parent;
    link->mode = KVS_LINK_DUPLEX;
    link->rate[KVS_H2D] = link->rate[KVS_D2H] = bench_param(rate_Bps);
}

/* Device links below switches of per_link devices each, switches below host memory. */
static void bench_machine(const struct bench_case *b, struct kvs_machine *m)
{
    uint32_t n_switches = b->per_link > 1 ? (b->n_devices + b->per_link - 1) / b->per_link : 0;
    m->n_devices = b->n_devices;
    m->n_links = n_switches + b->n_devices;
    m->links = bench_alloc(m->n_links, sizeof *m->links);
    m->devices = bench_alloc(m->n_devices, sizeof *m->devices);
    for (uint32_t s = 0; s < n_switches; s++)
        bench_link(&m->links[s], -1, 25e9);
    for (uint32_t d = 0; d < b->n_devices; d++) {
        int32_t parent = n_switches ? (int32_t)(d / b->per_link) : -1;
        bench_link(&m->links[n_switches + d], parent, 25e9 * (1.0 - 0.0003 * d));
        bench_device(&m->devices[d], n_switches + d);
        snprintf(m->devices[d].name, sizeof m->devices[d].name, "gpu%" PRIu32, d);
    }
    m->host.submit = KVS_SUBMIT_GRAPH;
    m->host.graph_launch = m->host.subgraph_launch = bench_param(1e-6);
    m->host.copy_call = bench_param(0.3e-6);
    m->host.event_pair = bench_param(0.1e-6);
    m->host.sync = bench_param(2e-6);
    m->host.hop = bench_param(2e-6);
    m->collective.latency = bench_param(20e-6);
    m->collective.trips = bench_param(2);
}

/* One KV head per device, so that every device takes part in every layer. */
static void bench_model(const struct bench_case *b, struct kvs_llm *llm)
{
    uint32_t n_heads = b->n_devices < 8 ? 8 : b->n_devices;
    snprintf(llm->name, sizeof llm->name, "bench");
    llm->n_layer = BENCH_LAYERS;
    llm->layers = bench_alloc(BENCH_LAYERS, sizeof *llm->layers);
    for (uint32_t l = 0; l < BENCH_LAYERS; l++)
        llm->layers[l] = (struct kvs_llm_layer){.kind = KVS_LAYER_FULL,
                                                .kind_index = l,
                                                .n_head = n_heads,
                                                .n_head_kv = n_heads,
                                                .k_dim = 128,
                                                .v_dim = 128,
                                                .kv_source = -1,
                                                .pre_params = 100000000,
                                                .post_params = 300000000,
                                                .pre_kernels = 4,
                                                .post_kernels = 6};
    llm->hidden = 4096;
    llm->head_params = 500000000;
    llm->head_kernels = 2;
    llm->weight_block = 1;
    llm->weight_bytes_per_param = 0.5;
    llm->can_split_tensor = true;
}

struct bench_result {
    uint64_t n_ops;                                /* in the plan */
    uint64_t n_run;                                /* dispatched */
    double plan_ns, check_ns, run_ns, timeline_ns; /* best round, whole */
    uint64_t plan_bytes, sim_bytes, check_bytes;
};

static double bench_run(const struct kvs_plan *plan, const struct kvs_case *c,
                        bool wants_timeline, struct bench_result *r)
{
    struct kvs_run run;
    struct kvs_error err;
    struct kvs_timeline timeline = {0};
    struct kvs_exec_options options = {.no_repeat_detection = true};
    uint64_t before = kvs_mem_live_bytes();
    kvs_mem_peak_reset();
    double start = bench_ns();
    bench_must(kvs_exec_once(&kvs_exec_sim, plan, c, &options, &run,
                             wants_timeline ? &timeline : NULL, &err),
               &err);
    double ns = bench_ns() - start;
    if (!wants_timeline) {
        r->n_run = run.n_dispatched;
        r->sim_bytes = kvs_mem_peak_bytes() - before;
    }
    kvs_timeline_fini(&timeline);
    kvs_run_fini(&run);
    return ns;
}

static void bench_keep(double *best, double ns)
{
    if (*best == 0.0 || ns < *best)
        *best = ns;
}

static void bench_round(const struct kvs_case *c, struct bench_result *r)
{
    struct kvs_plan *plan;
    struct kvs_error err;
    struct kvs_plan_check_report report = {0};
    double start = bench_ns();
    bench_must(kvs_policy_pipelined.plan(c, NULL, &plan, &err), &err);
    bench_keep(&r->plan_ns, bench_ns() - start);
    r->n_ops = plan->segments.items[0].ops.n;
    r->plan_bytes = kvs_plan_size_bytes(plan);
    start = bench_ns();
    bench_must(kvs_plan_check(plan, NULL, &report, &err), &err);
    bench_keep(&r->check_ns, (bench_ns() - start) / (double)report.n_ops * (double)r->n_ops);
    r->check_bytes = report.peak_bytes;
    bench_keep(&r->run_ns, bench_run(plan, c, false, r));
    bench_keep(&r->timeline_ns, bench_run(plan, c, true, r));
    kvs_plan_destroy(plan);
}

static void bench_one(const struct bench_case *b)
{
    struct kvs_machine machine = {0};
    struct kvs_llm llm = {0};
    struct kvs_case c;
    struct bench_result r = {0};
    bench_machine(b, &machine);
    bench_model(b, &llm);
    kvs_case_init(&c);
    c.machine = &machine;
    c.llm = &llm;
    c.placement.mode = b->split;
    c.placement.rule = KVS_SPLIT_EVEN;
    c.workload.depth = 8192;
    c.transport.budget_bytes = UINT64_MAX;
    uint32_t per_token = 200u * b->n_devices;
    c.workload.n_gen = BENCH_MAX_OPS / per_token < 256 ? BENCH_MAX_OPS / per_token : 256;
    for (int round = 0; round < BENCH_ROUNDS; round++)
        bench_round(&c, &r);
    double n = (double)r.n_ops, n_run = (double)r.n_run;
    printf("%-30s %7" PRIu32 " %9" PRIu64 " %8.1f %9.1f %8.1f %8.1f | %7.1f %7.1f %8.1f\n",
           b->name, b->n_devices, r.n_run, r.run_ns / n_run, r.timeline_ns / n_run,
           r.plan_ns / n, r.check_ns / n, (double)r.plan_bytes / n, (double)r.sim_bytes / n,
           (double)r.check_bytes / n);
    fflush(stdout);
    kvs_mem_free(machine.links);
    kvs_mem_free(machine.devices);
    kvs_mem_free(llm.layers);
}

int main(int argc, char **argv)
{
    static const struct bench_case cases[] = {
        {"no split", 1, 1, KVS_SPLIT_NONE},
        {"tensor, own links", 2, 1, KVS_SPLIT_TENSOR},
        {"tensor, own links", 4, 1, KVS_SPLIT_TENSOR},
        {"tensor, own links", 8, 1, KVS_SPLIT_TENSOR},
        {"layer, own links", 8, 1, KVS_SPLIT_LAYER},
        {"tensor, 8 share a link", 8, 8, KVS_SPLIT_TENSOR},
        {"tensor, own links", 64, 1, KVS_SPLIT_TENSOR},
        {"tensor, 16 share a link", 64, 16, KVS_SPLIT_TENSOR},
        {"tensor, own links", 256, 1, KVS_SPLIT_TENSOR},
        {"tensor, own links", 1024, 1, KVS_SPLIT_TENSOR},
        {"tensor, 16 share a link", 1024, 16, KVS_SPLIT_TENSOR},
    };
    long largest = argc > 1 ? atol(argv[1]) : KVS_MACHINE_MAX_DEVICES;
    printf("pipelined, look-ahead 1, best of %d rounds, repeat detection off\n", BENCH_ROUNDS);
    printf("%-30s %7s %9s %8s %9s %8s %8s | %7s %7s %8s\n", "", "", "", "ns/op", "ns/op",
           "ns/op", "ns/op", "B/op", "B/op", "B/op");
    printf("%-30s %7s %9s %8s %9s %8s %8s | %7s %7s %8s\n", "machine", "devices", "ops run",
           "run", "+timeline", "plan", "check", "plan", "run", "check");
    for (size_t i = 0; i < KVS_COUNT_OF(cases); i++)
        if ((long)cases[i].n_devices <= largest)
            bench_one(&cases[i]);
    return 0;
}
