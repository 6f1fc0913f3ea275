/*
 * A machine and a model on which times can be added up by hand: a byte takes 1 ns on every
 * device's own link, a weight 1 ns of compute, and nothing else costs anything until a test
 * says so. Plans are put together an operation at a time.
 */
#ifndef KVS_TESTS_SIM_TOY_H
#define KVS_TESTS_SIM_TOY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "models/llm.h"
#include "sched/plan_check.h"
#include "sched/policy.h"
#include "sim/exec_sim.h"

enum { TOY_DEVICES = 16, TOY_LAYERS = 64 };

#define TOY_NS       KVS_PS_PER_NS
#define TOY_US       KVS_PS_PER_US
#define TOY_RATE_BPS 1e9

/* Not to be moved once initialised: its parts point at one another. */
struct toy {
    struct kvs_machine machine;
    struct kvs_link
        links[TOY_DEVICES + 2]; /* [0] root, [1 + d] slot of device d, [last] spare */
    struct kvs_device devices[TOY_DEVICES];
    struct kvs_compute_profile profiles[TOY_DEVICES];
    struct kvs_llm llm;
    struct kvs_llm_layer layers[TOY_LAYERS];
    struct kvs_case c;
    struct kvs_plan *plan;
    uint32_t buffer;
    struct kvs_run run;
    struct kvs_timeline timeline;
    struct kvs_error err;
};

#define TOY_OK(call)                                                                           \
    do {                                                                                       \
        struct kvs_error toy_err_ = {0};                                                       \
        struct kvs_error *err = &toy_err_;                                                     \
        if ((call) != KVS_OK)                                                                  \
            fail_msg("%s: %s", #call, toy_err_.text);                                          \
    } while (0)

static inline struct kvs_param toy_figure(double value)
{
    return (struct kvs_param){.value = value, .lo = value, .hi = value};
}

static inline struct kvs_param toy_us(double us)
{
    return toy_figure(us * 1e-6);
}

static inline void toy_set_rate(struct kvs_link *link, double rate_Bps)
{
    link->rate[KVS_H2D] = link->rate[KVS_D2H] = toy_figure(rate_Bps);
}

/* A weight takes 1 ns again after the model changed. */
static inline void toy_price_weights(struct toy *t)
{
    for (uint32_t d = 0; d < TOY_DEVICES; d++)
        t->profiles[d].fixed = toy_figure(1e-9 * (double)kvs_llm_active_params(&t->llm));
}

/* n full layers of 4 KV heads x 32 values: K and V rows of 136 B at q8_0. */
static inline void toy_set_layers(struct toy *t, uint32_t n)
{
    t->llm.n_layer = n;
    for (uint32_t l = 0; l < n; l++)
        t->layers[l] = (struct kvs_llm_layer){.kind = KVS_LAYER_FULL,
                                              .kind_index = l,
                                              .n_head = 4,
                                              .n_head_kv = 4,
                                              .k_dim = 32,
                                              .v_dim = 32,
                                              .kv_source = -1,
                                              .pre_params = 3000,
                                              .post_params = 5000,
                                              .pre_kernels = 3,
                                              .post_kernels = 4};
    toy_price_weights(t);
}

static inline void toy_init(struct toy *t, uint32_t n_devices)
{
    memset(t, 0, sizeof *t);
    strcpy(t->llm.name, "toy");
    t->llm.layers = t->layers;
    t->llm.head_params = 2000;
    t->llm.head_kernels = 1;
    t->llm.weight_block = 32;
    t->llm.weight_bytes_per_param = 1.0;
    t->llm.can_split_tensor = true;
    t->links[0] = (struct kvs_link){.name = "root", .parent = -1, .mode = KVS_LINK_UNLIMITED};
    for (uint32_t d = 0; d < TOY_DEVICES; d++) {
        t->links[1 + d] = (struct kvs_link){.parent = 0};
        snprintf(t->links[1 + d].name, sizeof t->links->name, "gpu%u", d);
        toy_set_rate(&t->links[1 + d], TOY_RATE_BPS);
        t->profiles[d] = (struct kvs_compute_profile){
            .model = "toy", .kv_type = KVS_KV_Q8_0, .head_share = 1.0};
        t->devices[d] = (struct kvs_device){.link = 1 + d,
                                            .engines = {.n_engines = 2},
                                            .memory_rate = toy_figure(1e12),
                                            .read_outstanding_bytes = toy_figure(1e9),
                                            .profiles = &t->profiles[d],
                                            .n_profiles = 1};
        snprintf(t->devices[d].name, sizeof t->devices->name, "gpu%u", d);
    }
    t->machine = (struct kvs_machine){.links = t->links,
                                      .n_links = 1 + n_devices,
                                      .devices = t->devices,
                                      .n_devices = n_devices,
                                      .host = {.submit = KVS_SUBMIT_GRAPH}};
    toy_set_layers(t, 2);
    kvs_case_init(&t->c);
    t->c.machine = &t->machine;
    t->c.llm = &t->llm;
}

static inline void toy_new_plan(struct toy *t)
{
    struct kvs_buffer buffer = {.name = "any", .size_bytes = UINT64_C(1) << 40};
    kvs_plan_destroy(t->plan);
    t->plan = NULL;
    TOY_OK(kvs_plan_create("by hand", (uint16_t)t->machine.n_devices, &t->plan, err));
    TOY_OK(kvs_plan_add_buffer(t->plan, &buffer, &t->buffer, err));
}

static inline struct kvs_segment *toy_segment(struct toy *t, uint32_t n_tokens,
                                              bool has_barrier)
{
    TOY_OK(kvs_plan_add_segment(t->plan, n_tokens, has_barrier, err));
    return &t->plan->segments.items[t->plan->segments.n - 1];
}

/* A machine of one device and an open segment of one token. */
static inline void toy_begin(struct toy *t, uint32_t n_devices)
{
    toy_init(t, n_devices);
    toy_new_plan(t);
    toy_segment(t, 1, false);
}

static inline uint16_t toy_queue(struct toy *t, uint16_t device, const char *name)
{
    uint16_t queue = 0;
    TOY_OK(kvs_plan_add_queue(t->plan, device, name, &queue, err));
    return queue;
}

static inline kvs_op_id toy_op(struct toy *t, struct kvs_op op)
{
    kvs_op_id id = 0;
    TOY_OK(kvs_plan_add_op(t->plan, &op, &id, err));
    return id;
}

static inline void toy_dep(struct toy *t, kvs_op_id op, uint16_t distance)
{
    TOY_OK(kvs_plan_add_dep(t->plan, op, distance, KVS_DEP_HAZARD, err));
}

/* rows x width bytes; both sides alike. */
static inline kvs_op_id toy_copy_rows(struct toy *t, uint16_t queue, uint32_t rows,
                                      uint32_t width, uint8_t flags)
{
    kvs_op_id id = toy_op(
        t, (struct kvs_op){
               .kind = KVS_OP_COPY, .tag = KVS_TAG_DELIVER, .flags = flags, .queue = queue});
    struct kvs_range range = {
        .buffer = (uint16_t)t->buffer, .width = width, .pitch = width, .rows = rows};
    TOY_OK(kvs_plan_add_access(t->plan, &range, KVS_ACCESS_READ, err));
    TOY_OK(kvs_plan_add_access(t->plan, &range, KVS_ACCESS_WRITE, err));
    return id;
}

static inline kvs_op_id toy_copy(struct toy *t, uint16_t queue, uint32_t bytes, uint8_t flags)
{
    return toy_copy_rows(t, queue, 1, bytes, flags);
}

/* Compute of ns nanoseconds in n_kernels. */
static inline kvs_op_id toy_compute(struct toy *t, uint16_t queue, uint64_t ns,
                                    uint32_t n_kernels)
{
    return toy_op(
        t, (struct kvs_op){.kind = KVS_OP_COMPUTE,
                           .tag = KVS_TAG_ATTENTION,
                           .queue = queue,
                           .compute = {.params = ns, .n_kernels = n_kernels, .n_queries = 1}});
}

static inline kvs_op_id toy_light(struct toy *t, uint16_t queue)
{
    return toy_op(t, (struct kvs_op){.kind = KVS_OP_COMPUTE,
                                     .tag = KVS_TAG_YIELD,
                                     .flags = KVS_OP_LIGHT,
                                     .queue = queue,
                                     .compute = {.n_kernels = 1, .n_queries = 1}});
}

static inline kvs_op_id toy_member(struct toy *t, uint16_t queue, uint32_t group,
                                   uint32_t n_members)
{
    return toy_op(
        t, (struct kvs_op){
               .kind = KVS_OP_COLLECTIVE,
               .tag = KVS_TAG_REDUCE,
               .queue = queue,
               .collective = {.size_bytes = 500, .group = group, .n_members = n_members}});
}

/* Host work of n times host.between_tokens. */
static inline kvs_op_id toy_host(struct toy *t, uint32_t n)
{
    return toy_op(t, (struct kvs_op){.kind = KVS_OP_HOST,
                                     .tag = KVS_TAG_SAMPLE,
                                     .queue = KVS_HOST_QUEUE,
                                     .host = {.n_calls = n}});
}

static inline kvs_op_id toy_wait(struct toy *t, kvs_op_id on)
{
    kvs_op_id id = toy_op(
        t,
        (struct kvs_op){.kind = KVS_OP_WAIT, .tag = KVS_TAG_BOUNDARY, .queue = KVS_HOST_QUEUE});
    toy_dep(t, on, 0);
    return id;
}

/* Without a timeline. */
static inline void toy_run_with(struct toy *t, struct kvs_exec_options options)
{
    kvs_run_fini(&t->run);
    kvs_timeline_fini(&t->timeline);
    TOY_OK(kvs_exec_once(&kvs_exec_sim, t->plan, &t->c, &options, &t->run, NULL, err));
}

static inline void toy_run(struct toy *t)
{
    struct kvs_exec_options options = {0};
    kvs_run_fini(&t->run);
    kvs_timeline_fini(&t->timeline);
    TOY_OK(kvs_exec_once(&kvs_exec_sim, t->plan, &t->c, &options, &t->run, &t->timeline, err));
}

static inline void toy_fini(struct toy *t)
{
    kvs_run_fini(&t->run);
    kvs_timeline_fini(&t->timeline);
    kvs_plan_destroy(t->plan);
    t->plan = NULL;
}

/* token counts over all segments */
static inline const struct kvs_span *toy_span_of(const struct toy *t, uint32_t token,
                                                 kvs_op_id op)
{
    for (size_t i = 0; i < t->timeline.spans.n; i++)
        if (t->timeline.spans.items[i].token == token && t->timeline.spans.items[i].op == op)
            return &t->timeline.spans.items[i];
    fail_msg("token %u: op %u never ran", token, op);
    return NULL;
}

static inline const struct kvs_span *toy_span(const struct toy *t, kvs_op_id op)
{
    return toy_span_of(t, 0, op);
}

static inline void toy_expect_ps(kvs_time value, kvs_time expected, const char *what, int line)
{
    if (value != expected)
        fail_msg("line %d: %s: %.6f us, expected %.6f us", line, what, (double)value * 1e-6,
                 (double)expected * 1e-6);
}

#define TOY_EXPECT_START(t, op, ps)                                                            \
    toy_expect_ps(toy_span((t), (op))->start_ps, (ps), #op " starts", __LINE__)
#define TOY_EXPECT_END(t, op, ps)                                                              \
    toy_expect_ps(toy_span((t), (op))->end_ps, (ps), #op " ends", __LINE__)
#define TOY_EXPECT_PS(value, ps) toy_expect_ps((value), (ps), #value, __LINE__)

/* The plan of a policy for the toy's case, checked. */
static inline void toy_plan_by(struct toy *t, const struct kvs_policy *policy)
{
    kvs_plan_destroy(t->plan);
    t->plan = NULL;
    TOY_OK(policy->plan(&t->c, NULL, &t->plan, err));
    TOY_OK(kvs_plan_check(t->plan, NULL, NULL, err));
}

#endif
