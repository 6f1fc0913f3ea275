/*
 * What must hold for any plan: bytes moved are bytes planned, links are never above their
 * capacity, nothing starts before its dependencies end, and the makespan is at least the
 * critical path on an uncontended machine. Over seeded random plans.
 */
#include "tests/sim/toy.h"

#include "base/rng.h"

enum { MAX_OPS = 48, N_QUEUES = 6 };

static struct toy toy;

struct random_plan {
    uint32_t n_ops;
    uint16_t queues[N_QUEUES];     /* three on each of two devices */
    uint64_t bytes[2][KVS_N_DIRS]; /* planned, by device */
    kvs_time least_ps[MAX_OPS];    /* an operation alone on the machine */
};

static uint32_t device_of(uint32_t queue)
{
    return queue < 3 ? 0 : 1;
}

static void random_machine(struct kvs_rng *rng)
{
    toy_begin(&toy, 2);
    for (uint32_t d = 0; d < 2; d++) {
        toy_set_rate(&toy.links[1 + d], 1e9 * (0.5 + kvs_rng_uniform(rng)));
        toy.devices[d].engines.n_engines = 1 + (uint32_t)kvs_rng_below(rng, 2);
        toy.devices[d].engines.arbitration = (kvs_arbitration)kvs_rng_below(rng, 2);
        toy.devices[d].engines.first_overhead = toy_us(0.3);
        toy.devices[d].engines.next_overhead = toy_us(0.1);
        toy.devices[d].engines.commit_lead = toy_us(0.2);
        toy.devices[d].engines.bypass_bytes = toy_figure(200);
        toy.devices[d].engines.bypass_latency = toy_us(0.5);
        toy.profiles[d].copy_slowdown = toy_figure(0.2);
    }
    if (kvs_rng_below(rng, 2) == 0) {
        toy.links[0].mode = (kvs_link_mode)kvs_rng_below(rng, 2);
        toy_set_rate(&toy.links[0], 1e9 * (0.4 + kvs_rng_uniform(rng)));
    }
    if (kvs_rng_below(rng, 2) == 0)
        toy.machine.host.memory_rate = toy_figure(1e9 * (0.6 + kvs_rng_uniform(rng)));
    toy.machine.host.hop = toy_us(kvs_rng_below(rng, 2) ? 0.4 : 0);
    toy.machine.host.copy_call = toy_us(0.05);
}

/* Lowest rate on the way to a device, B per s. */
static double path_Bps(uint32_t d)
{
    double rate = toy.links[1 + d].rate[KVS_H2D].value;
    double root =
        toy.links[0].mode == KVS_LINK_UNLIMITED ? rate : toy.links[0].rate[KVS_H2D].value;
    double memory = toy.machine.host.memory_rate.value;
    rate = root < rate ? root : rate;
    return memory > 0 && memory < rate ? memory : rate;
}

static void random_op(struct kvs_rng *rng, struct random_plan *p)
{
    uint32_t q = (uint32_t)kvs_rng_below(rng, N_QUEUES), d = device_of(q);
    uint32_t id = p->n_ops++;
    if (kvs_rng_below(rng, 3) == 0) {
        uint64_t ns = 100 + kvs_rng_below(rng, 4000);
        toy_compute(&toy, p->queues[q], ns, 1);
        p->least_ps[id] = (kvs_time)ns * TOY_NS;
    } else {
        uint8_t flags = kvs_rng_below(rng, 4) == 0 ? KVS_OP_D2H : 0;
        uint32_t bytes = 20 + (uint32_t)kvs_rng_below(rng, kvs_rng_below(rng, 3) ? 4000 : 150);
        toy_copy(&toy, p->queues[q], bytes, flags);
        p->bytes[d][flags ? KVS_D2H : KVS_H2D] += bytes;
        p->least_ps[id] = (kvs_time)(bytes / path_Bps(d) * 1e12);
        if (bytes <= 200 && p->least_ps[id] > 500 * TOY_NS)
            p->least_ps[id] = 500 * TOY_NS; /* past the engine */
    }
    for (uint32_t earlier = 0; earlier < id; earlier++)
        if (kvs_rng_below(rng, 12) == 0)
            toy_dep(&toy, earlier, 0);
}

static struct random_plan random_plan(struct kvs_rng *rng)
{
    struct random_plan p = {0};
    random_machine(rng);
    for (uint32_t q = 0; q < N_QUEUES; q++) {
        char name[16];
        snprintf(name, sizeof name, "q%u", q);
        p.queues[q] = toy_queue(&toy, (uint16_t)device_of(q), name);
    }
    uint32_t n = 8 + (uint32_t)kvs_rng_below(rng, MAX_OPS - 8);
    while (p.n_ops < n)
        random_op(rng, &p);
    return p;
}

static const struct kvs_op *op_at(kvs_op_id id)
{
    return &toy.plan->segments.items[0].ops.items[id];
}

static void expect_bytes(const struct random_plan *p)
{
    for (uint32_t d = 0; d < 2; d++)
        for (unsigned dir = 0; dir < KVS_N_DIRS; dir++)
            assert_int_equal(toy.run.devices[d].moved_bytes[dir], p->bytes[d][dir]);
}

/* In queue order, after every dependency, a hop later on another queue; and the end of the last
 * one is no earlier than the longest chain of least times. */
static void expect_order(const struct random_plan *p)
{
    kvs_time path[MAX_OPS], makespan = 0;
    const struct kvs_span *spans[MAX_OPS];
    const struct kvs_segment *s = &toy.plan->segments.items[0];
    kvs_time hop = kvs_ps_from_seconds(toy.machine.host.hop.value);
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const struct kvs_op *op = op_at(i);
        kvs_time begins = 0;
        spans[i] = toy_span(&toy, i);
        assert_true(spans[i]->start_ps >= spans[i]->ready_ps);
        assert_true(spans[i]->ready_ps >= spans[i]->issue_ps);
        for (uint32_t k = 0; k < i; k++)
            if (op_at(k)->queue == op->queue) {
                assert_true(spans[i]->start_ps >= spans[k]->end_ps);
                begins = path[k] > begins ? path[k] : begins;
            }
        for (uint32_t d = op->first_dep; d < op->first_dep + op->n_dep; d++) {
            kvs_op_id on = s->deps.items[d].op;
            bool is_same = op_at(on)->queue == op->queue;
            assert_true(spans[i]->start_ps >= spans[on]->end_ps + (is_same ? 0 : hop));
            begins = path[on] > begins ? path[on] : begins;
        }
        path[i] = begins + p->least_ps[i];
        assert_true(spans[i]->end_ps >= path[i]);
        makespan = spans[i]->end_ps > makespan ? spans[i]->end_ps : makespan;
    }
    TOY_EXPECT_PS(toy.run.total_ps, makespan);
}

/* Does a copy count for this link: its device's own slot, or everyone's root or memory. */
static bool crosses(const struct kvs_op *op, int device, int dir)
{
    uint32_t d = toy.plan->queues.items[op->queue].device;
    int its_dir = op->flags & KVS_OP_D2H ? KVS_D2H : KVS_H2D;
    return op->kind == KVS_OP_COPY && (device < 0 || (uint32_t)device == d) &&
           (dir < 0 || dir == its_dir);
}

/* A copy that takes the engine; smaller ones may go past it, with the command. */
static bool is_on_engine(const struct kvs_op *op)
{
    return toy.plan->segments.items[0].accesses.items[op->first_access].width > 200;
}

/*
 * In any stretch of time a link moves at least the copies that lie wholly in it; so these must
 * fit its rate. device < 0: all; dir < 0: both directions together.
 */
static void expect_capacity(double rate_Bps, int device, int dir)
{
    const struct kvs_segment *s = &toy.plan->segments.items[0];
    for (size_t a = 0; a < toy.timeline.spans.n; a++) {
        const struct kvs_span *first = &toy.timeline.spans.items[a];
        if (!crosses(op_at(first->op), device, dir))
            continue;
        double bytes = 0;
        for (size_t b = 0; b < toy.timeline.spans.n; b++) { /* by end time */
            const struct kvs_span *x = &toy.timeline.spans.items[b];
            const struct kvs_op *op = op_at(x->op);
            if (x->start_ps < first->start_ps || !crosses(op, device, dir) || !is_on_engine(op))
                continue;
            bytes += s->accesses.items[op->first_access].width;
            double seconds = (double)(x->end_ps - first->start_ps) * 1e-12;
            if (bytes > rate_Bps * seconds * (1 + 1e-9) + 0.01)
                fail_msg("%.0f bytes in %.6f us over a link of %.3g B/s", bytes, seconds * 1e6,
                         rate_Bps);
        }
    }
}

static void expect_capacities(void)
{
    for (int d = 0; d < 2; d++)
        for (int dir = 0; dir < KVS_N_DIRS; dir++)
            expect_capacity(toy.links[1 + d].rate[dir].value, d, dir);
    if (toy.links[0].mode == KVS_LINK_SHARED)
        expect_capacity(toy.links[0].rate[KVS_H2D].value, -1, -1);
    for (int dir = 0; toy.links[0].mode == KVS_LINK_DUPLEX && dir < KVS_N_DIRS; dir++)
        expect_capacity(toy.links[0].rate[dir].value, -1, dir);
    if (toy.machine.host.memory_rate.value > 0)
        expect_capacity(toy.machine.host.memory_rate.value, -1, -1);
}

static void test_random_plans(void **state)
{
    (void)state;
    struct kvs_rng *rng;
    assert_int_equal(kvs_rng_create(31337, &rng, NULL), KVS_OK);
    for (unsigned trial = 0; trial < 400; trial++) {
        struct random_plan p = random_plan(rng);
        toy_run(&toy);
        assert_int_equal(toy.timeline.spans.n, p.n_ops);
        expect_bytes(&p);
        expect_order(&p);
        expect_capacities();
        toy_fini(&toy);
    }
    kvs_rng_destroy(rng);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_plans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
