/*
 * Cases for digests: every policy with all its options, look-aheads, budgets, devices, splits and
 * layouts of the cache, on a small machine. They are numbered from 0 to DIGEST_CASES - 1; a case is
 * the digits of its number, one for each axis.
 *
 * A program runs every DIGEST_STRIDE-th of them, or all with the argument `whole`.
 */
#ifndef KVS_TESTS_REAL_DIGEST_CASE_H
#define KVS_TESTS_REAL_DIGEST_CASE_H

#include "real/exec_serial.h"
#include "tests/sim/toy.h"

static struct toy toy;

enum {
    DIGEST_LAYERS = 7, /* a ring of six slots goes round within a token */
    DIGEST_N_GEN = 6,
    DIGEST_SEED = 3
};

enum digest_budget {
    DIGEST_UNLIMITED,
    DIGEST_EXACT,    /* what the ring takes in the last token */
    DIGEST_OUTGROWN, /* what it takes in the first one: declined once the window has grown */
    DIGEST_DECLINED
};

/* The window grows on the way: it is pad_rows a sequence at first, and one pad_rows more at last. */
struct digest_workload {
    const char *name;
    uint32_t pad_rows, n_parallel, n_rows;
    bool is_unified, is_pinned, is_sliding;
};
enum {
    DIGEST_ONE_SEQUENCE,
    DIGEST_STREAMS,
    DIGEST_UNIFIED,
    DIGEST_ROWS,
    DIGEST_PAGEABLE,
    DIGEST_SLIDING,
    DIGEST_WORKLOADS
};
static const struct digest_workload digest_workloads[DIGEST_WORKLOADS] = {
    [DIGEST_ONE_SEQUENCE] = {"one sequence", 256, 1, 1, false, true, false},
    [DIGEST_STREAMS] = {"three streams", 32, 3, 1, false, true, false},
    [DIGEST_UNIFIED] = {"three unified", 32, 3, 1, true, true, false},
    [DIGEST_ROWS] = {"two streams of three rows", 32, 2, 3, false, true, false},
    [DIGEST_PAGEABLE] = {"two unified of two rows, pageable", 32, 2, 2, true, false, false},
    [DIGEST_SLIDING] = {"sliding windows", 256, 1, 2, false, true, true}};

struct digest_case {
    const struct kvs_policy *policy;
    struct kvs_transport transport; /* but for its budget_bytes */
    enum digest_budget budget;
    uint32_t n_devices;
    kvs_split_mode mode;
    const struct digest_workload *workload;
};

/* Three policies without options, then pipelined with all of its own. */
enum {
    DIGEST_RESIDENT,
    DIGEST_ORDERED,
    DIGEST_CONTINUOUS,
    DIGEST_PIPELINED,                       /* one stream, no yield, late bytes by copy */
    DIGEST_PER_SLOT = DIGEST_PIPELINED + 3, /* a stream per slot, late bytes by a kernel */
    DIGEST_ARMS = DIGEST_PIPELINED + 2 * 3 * 2
};

enum {
    DIGEST_AXIS_ARM,
    DIGEST_AXIS_DEVICES,   /* 1 to 4 */
    DIGEST_AXIS_LOOKAHEAD, /* 1, 2, 4 */
    DIGEST_AXIS_SPLIT,
    DIGEST_AXIS_BUDGET,
    DIGEST_AXIS_WORKLOAD,
    DIGEST_AXES
};
static const uint32_t digest_axes[DIGEST_AXES] = {
    DIGEST_ARMS, 4, 3, KVS_SPLIT_TENSOR + 1, DIGEST_DECLINED + 1, DIGEST_WORKLOADS};
enum {
    DIGEST_CASES =
        DIGEST_ARMS * 4 * 3 * (KVS_SPLIT_TENSOR + 1) * (DIGEST_DECLINED + 1) * DIGEST_WORKLOADS,
    DIGEST_STRIDE = 53 /* every so many have each two values of two axes together somewhere */
};

static inline void digest_digits(uint32_t number, uint32_t digits[DIGEST_AXES])
{
    for (unsigned axis = 0; axis < DIGEST_AXES; axis++) {
        digits[axis] = number % digest_axes[axis];
        number /= digest_axes[axis];
    }
}

static inline void digest_set_arm(struct digest_case *c, uint32_t arm)
{
    static const struct kvs_policy *const policies[] = {
        &kvs_policy_resident, &kvs_policy_ordered, &kvs_policy_continuous};
    uint32_t options = arm < DIGEST_PIPELINED ? 0 : arm - DIGEST_PIPELINED;
    c->policy = arm < DIGEST_PIPELINED ? policies[arm] : &kvs_policy_pipelined;
    c->transport.streams = (kvs_streams)(options % 2);
    c->transport.late = (kvs_late)(options / 2 % 2);
    c->transport.yield = (kvs_yield)(options / 4);
}

static inline struct digest_case digest_nth(uint32_t number)
{
    uint32_t digits[DIGEST_AXES];
    struct digest_case c = {0};
    digest_digits(number, digits);
    digest_set_arm(&c, digits[DIGEST_AXIS_ARM]);
    c.transport.lookahead = 1u << digits[DIGEST_AXIS_LOOKAHEAD];
    c.budget = (enum digest_budget)digits[DIGEST_AXIS_BUDGET];
    c.n_devices = 1 + digits[DIGEST_AXIS_DEVICES];
    c.mode = (kvs_split_mode)digits[DIGEST_AXIS_SPLIT];
    c.workload = &digest_workloads[digits[DIGEST_AXIS_WORKLOAD]];
    return c;
}

/* One sequence, look-ahead 1, no limit, tensor split of several devices. */
static inline struct digest_case digest_plain(uint32_t arm, uint32_t n_devices)
{
    struct digest_case c = digest_nth(arm);
    c.n_devices = n_devices;
    c.mode = n_devices > 1 ? KVS_SPLIT_TENSOR : KVS_SPLIT_NONE;
    return c;
}

static inline const char *digest_text(const struct digest_case *c)
{
    static const char *const yields[] = {"no yield", "a yield per layer",
                                         "yields after K and V"};
    static const char *const budgets[] = {"no limit", "just enough", "outgrown", "declined"};
    static const char *const splits[] = {"none", "layer", "tensor"};
    static char text[256];
    snprintf(text, sizeof text,
             "%s (%s, %s, late by %s), look-ahead %u, budget %s, %u devices, split %s, %s",
             c->policy->name,
             c->transport.streams == KVS_STREAMS_ONE ? "one stream" : "a stream per slot",
             yields[c->transport.yield], c->transport.late == KVS_LATE_COPY ? "copy" : "kernel",
             c->transport.lookahead, budgets[c->budget], c->n_devices, splits[c->mode],
             c->workload->name);
    return text;
}

/* Layers 1, 3 and 5 keep 256 cells, which come round when the other windows grow. */
static inline void digest_set_sliding(void)
{
    toy.llm.swa_window = 200;
    toy.c.workload.n_ubatch = 8;
    for (uint32_t l = 1; l < DIGEST_LAYERS; l += 2)
        toy.layers[l].kind = KVS_LAYER_SWA;
}

/* The machine's host has costs, so that its calls, hops and synchronisations take part. */
static inline void digest_set_toy(const struct digest_case *c)
{
    const struct digest_workload *w = c->workload;
    toy_fini(&toy);
    toy_init(&toy, c->n_devices);
    toy_set_layers(&toy, DIGEST_LAYERS);
    toy.llm.hidden = 8;
    toy.llm.rotation_k_bytes = 64;
    toy.machine.host.sync = toy_us(0.5);
    toy.machine.host.hop = toy_us(0.2);
    toy.machine.host.copy_call = toy_us(0.1);
    toy.machine.host.graph_launch = toy_us(0.1);
    toy.machine.collective.latency = toy_us(1);
    toy.machine.collective.trips = toy_figure(2);
    toy.c.workload.depth = w->pad_rows - 3;
    toy.c.workload.pad_rows = w->pad_rows;
    toy.c.workload.n_gen = DIGEST_N_GEN;
    toy.c.workload.n_parallel = w->n_parallel;
    toy.c.workload.n_rows = w->n_rows;
    toy.c.workload.is_unified = w->is_unified;
    toy.c.workload.is_pinned = w->is_pinned;
    toy.c.placement.mode = c->mode;
    toy.c.transport = c->transport;
    if (w->is_sliding)
        digest_set_sliding();
}

/* Device 0 has a layer with a full window, and no device one that takes more. */
static inline uint64_t digest_budget_bytes(enum digest_budget budget)
{
    struct kvs_ring_choice fits;
    uint32_t step = budget == DIGEST_OUTGROWN ? 0 : DIGEST_N_GEN - 1;
    if (budget == DIGEST_DECLINED)
        return 1;
    toy.c.transport.budget_bytes = UINT64_MAX;
    TOY_OK(kvs_case_ring(&toy.c, 0, step, &fits, err));
    return budget == DIGEST_UNLIMITED ? UINT64_MAX : fits.fit_budget_bytes;
}

static inline bool digest_fits(const struct digest_case *c)
{
    return c->budget == DIGEST_UNLIMITED || c->budget == DIGEST_EXACT;
}

/* Continuous has one ring for all windows, and rows that stay on the devices. */
static inline bool digest_is_continuous(const struct digest_case *c)
{
    return c->policy == &kvs_policy_continuous && digest_fits(c) && c->workload->is_pinned &&
           !c->workload->is_sliding;
}

/* A case is what its name says: with a ring, or without one, or with one at first. */
static inline bool digest_is_as_named(const struct digest_case *c,
                                      const struct kvs_decision *made)
{
    if (c->policy == &kvs_policy_continuous)
        return made->n_declined == (digest_is_continuous(c) ? 0 : made->n_segments);
    if (c->policy != &kvs_policy_pipelined || digest_fits(c))
        return made->n_declined == 0;
    return c->budget == DIGEST_DECLINED
               ? made->n_declined == made->n_segments
               : made->n_declined > 0 && made->n_declined < made->n_segments;
}

/* Makes the toy's plan, checked. */
static inline void digest_plan(const struct digest_case *c)
{
    struct kvs_error err = {0};
    struct kvs_decision made;
    digest_set_toy(c);
    toy.c.transport.budget_bytes = digest_budget_bytes(c->budget);
    if (c->policy->plan(&toy.c, &made, &toy.plan, &err) != KVS_OK ||
        kvs_plan_check(toy.plan, NULL, NULL, &err) != KVS_OK)
        fail_msg("%s: %s", digest_text(c), err.text);
    if (!digest_is_as_named(c, &made))
        fail_msg("%s: %u of %u segments declined", digest_text(c), made.n_declined,
                 made.n_segments);
}

static inline void digest_plan_plain(uint32_t arm, uint32_t n_devices)
{
    struct digest_case c = digest_plain(arm, n_devices);
    digest_plan(&c);
}

/* What all others of a workload are compared with: ordered on one device, one after another. */
static inline uint64_t digest_reference(const struct digest_workload *workload)
{
    struct kvs_exec_options with = {.seed = DIGEST_SEED};
    struct digest_case c = digest_plain(DIGEST_ORDERED, 1);
    struct kvs_run run;
    c.workload = workload;
    digest_plan(&c);
    TOY_OK(kvs_exec_once(&kvs_exec_serial, toy.plan, &toy.c, &with, &run, NULL, err));
    assert_true(run.has_digest);
    kvs_run_fini(&run);
    return run.digest;
}

static inline uint32_t digest_stride(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[1], "whole") == 0 ? 1 : DIGEST_STRIDE;
}

/* Every stride-th case, its plan made: fails when one of them is not right. */
static inline void digest_each(uint32_t stride,
                               bool (*is_right)(uint32_t number, const struct digest_case *c,
                                                uint64_t expected))
{
    const struct digest_workload *workload = NULL;
    uint64_t expected = 0;
    unsigned n_wrong = 0;
    for (uint32_t i = 0; i < DIGEST_CASES; i += stride) {
        struct digest_case c = digest_nth(i);
        if (c.workload != workload)
            expected = digest_reference(workload = c.workload);
        digest_plan(&c);
        n_wrong += !is_right(i, &c, expected);
    }
    assert_int_equal(n_wrong, 0);
}

#endif
