/*
 * Any bytes read as a plan; what the checker proves is run in virtual time, on a machine that the
 * plan's own bytes choose. It ends or says why not, and detecting repeats changes nothing.
 */
#include "tests/sim/toy.h"

#include "formats/plan_lines.h"

#define FUZZ_MAX_OPS 20000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct toy toy;

static void fuzz_machine(const struct kvs_plan *plan)
{
    uint64_t bits = plan->buffers.n + 3 * plan->queues.n + 5 * plan->segments.items[0].ops.n;
    toy_init(&toy, plan->n_devices);
    toy.machine.host.submit = bits & 1 ? KVS_SUBMIT_KERNELS : KVS_SUBMIT_GRAPH;
    toy.machine.host.kernel_launch = toy_us(bits & 2 ? 2 : 0);
    toy.machine.host.hop = toy_us(bits & 4 ? 0.5 : 0);
    for (uint32_t d = 0; d < plan->n_devices; d++) {
        struct kvs_engines *engines = &toy.devices[d].engines;
        engines->arbitration = bits & 8 ? KVS_ARB_STICKY : KVS_ARB_FIFO;
        engines->n_engines = bits & 16 ? 1 : 2;
        engines->in_flight_bytes = toy_figure(bits & 32 ? 4096 : 0);
    }
    if (bits & 64)
        toy.links[0] = (struct kvs_link){.name = "root", .parent = -1};
    toy_set_rate(&toy.links[0], 1.5 * TOY_RATE_BPS);
}

static uint64_t fuzz_n_ops(const struct kvs_plan *plan)
{
    uint64_t n = 0;
    for (size_t s = 0; s < plan->segments.n; s++)
        n += (uint64_t)plan->segments.items[s].n_tokens * plan->segments.items[s].ops.n;
    return n;
}

static kvs_status fuzz_run(const struct kvs_plan *plan, bool no_repeats, kvs_time *total)
{
    struct kvs_exec_options options = {.no_repeat_detection = no_repeats};
    struct kvs_error err = {0};
    kvs_status status =
        kvs_exec_once(&kvs_exec_sim, plan, &toy.c, &options, &toy.run, NULL, &err);
    KVS_ASSERT(status == KVS_OK || err.text[0] != '\0');
    if (status != KVS_OK)
        return status;
    KVS_ASSERT(toy.run.total_ps >= 0);
    *total = toy.run.total_ps;
    kvs_run_fini(&toy.run);
    return KVS_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kvs_plan *plan = NULL;
    struct kvs_plan_check_options all = KVS_PLAN_CHECK_ALL;
    kvs_time with = 0, without = 0;
    all.max_ops = FUZZ_MAX_OPS;
    if (kvs_plan_lines_read("fuzz", (const char *)data, size, &plan, NULL) != KVS_OK)
        return 0;
    if (plan->n_devices <= TOY_DEVICES && plan->segments.n > 0 &&
        fuzz_n_ops(plan) <= FUZZ_MAX_OPS && kvs_plan_check(plan, &all, NULL, NULL) == KVS_OK) {
        fuzz_machine(plan);
        kvs_status a = fuzz_run(plan, false, &with), b = fuzz_run(plan, true, &without);
        KVS_ASSERT(a == b);
        KVS_ASSERT(with == without);
    }
    kvs_plan_destroy(plan);
    return 0;
}
