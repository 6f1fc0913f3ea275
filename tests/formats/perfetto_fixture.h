/* A hand-made run of one card: plan, timeline, machine. */
#ifndef KVS_TESTS_FORMATS_PERFETTO_FIXTURE_H
#define KVS_TESTS_FORMATS_PERFETTO_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sched/plan.h"
#include "sched/timeline.h"

/*
 * One card, one staged layer, two tokens 1,600 us apart. The slot holds 2,000 B of K and of V;
 * early grows and late shrinks by 34 B a token. All in us:
 *
 *     input    0.5 .. 20.5    16 KiB on an idle stream: beside the engine
 *     deliver  1   .. 101     K, 100,000 B
 *     deliver  101 .. 201.000001   V, 100,000 B; the last early copy
 *     yield    201.000001 .. 205   a light kernel on the transfer queue
 *     late     205 .. 210     100,000 B of K, issued at 3, waits for the engine
 *     compute  210 .. 910     reads the slot
 *     store    912 .. 914     device to host, blocked until 911
 *     sample   914 .. 1514    host
 */
enum {
    OP_DELIVER_K,
    OP_DELIVER_V,
    OP_YIELD,
    OP_LATE,
    OP_COMPUTE,
    OP_STORE,
    OP_SAMPLE,
    OP_INPUT
};
enum { QUEUE_HOST, QUEUE_COMPUTE, QUEUE_TRANSFER, QUEUE_BLOCKING };
enum { BUFFER_CACHE, BUFFER_SLOT, BUFFER_ROWS };

#define US(x) ((kvs_time)((x)*1000000))

struct fixture {
    struct kvs_plan *plan;
    struct kvs_timeline timeline;
    struct kvs_device device;
    struct kvs_machine machine;
};

static void add_op(struct kvs_plan *plan, uint8_t kind, kvs_tag tag, uint8_t flags,
                   uint16_t queue, uint16_t layer)
{
    struct kvs_op op = {
        .kind = kind, .tag = (uint8_t)tag, .flags = flags, .queue = queue, .layer = layer};
    if (kind == KVS_OP_COMPUTE)
        op.compute.n_kernels = 1;
    assert_int_equal(kvs_plan_add_op(plan, &op, NULL, NULL), KVS_OK);
}

static void add_range(struct kvs_plan *plan, kvs_access_mode mode, uint32_t buffer,
                      uint64_t offset, int32_t offset_step, uint64_t width, int32_t width_step)
{
    struct kvs_range range = {.buffer = (uint16_t)buffer,
                              .offset = offset,
                              .offset_step = offset_step,
                              .width = (uint32_t)width,
                              .pitch = (uint32_t)width,
                              .rows = 1};
    kvs_range_set_width_step(&range, width_step);
    assert_int_equal(kvs_plan_add_access(plan, &range, mode, NULL), KVS_OK);
}

/* A copy of the same bytes of the cache and the slot. */
static void add_window_copy(struct kvs_plan *plan, kvs_tag tag, uint16_t queue, uint64_t offset,
                            int32_t offset_step, int32_t width_step)
{
    add_op(plan, KVS_OP_COPY, tag, tag == KVS_TAG_LATE ? KVS_OP_2D : 0, queue, 3);
    add_range(plan, KVS_ACCESS_READ, BUFFER_CACHE, offset, offset_step, 100000, width_step);
    add_range(plan, KVS_ACCESS_WRITE, BUFFER_SLOT, offset, offset_step, 100000, width_step);
}

static void make_plan(struct fixture *f)
{
    static const struct kvs_buffer buffers[] = {
        {.name = "cache", .size_bytes = 500000, .device = KVS_HOST_DEVICE},
        {.name = "slot", .size_bytes = 400000, .place = KVS_PLACE_DEVICE},
        {.name = "rows", .size_bytes = 65536, .place = KVS_PLACE_DEVICE}};
    struct kvs_plan *plan = NULL;
    uint16_t queue;
    uint32_t buffer;
    assert_int_equal(kvs_plan_create("test", 1, &plan, NULL), KVS_OK);
    assert_int_equal(kvs_plan_add_queue(plan, 0, "d0.compute", &queue, NULL), KVS_OK);
    assert_int_equal(kvs_plan_add_queue(plan, 0, "d0.transfer", &queue, NULL), KVS_OK);
    assert_int_equal(kvs_plan_add_queue(plan, 0, "d0.blocking", &queue, NULL), KVS_OK);
    for (size_t i = 0; i < KVS_COUNT_OF(buffers); i++)
        assert_int_equal(kvs_plan_add_buffer(plan, &buffers[i], &buffer, NULL), KVS_OK);
    assert_int_equal(kvs_plan_add_segment(plan, 2, false, NULL), KVS_OK);
    add_window_copy(plan, KVS_TAG_DELIVER, QUEUE_TRANSFER, 0, 0, 34);
    add_window_copy(plan, KVS_TAG_DELIVER, QUEUE_TRANSFER, 200000, 0, 34);
    add_op(plan, KVS_OP_COMPUTE, KVS_TAG_YIELD, KVS_OP_LIGHT, QUEUE_TRANSFER, 3);
    add_window_copy(plan, KVS_TAG_LATE, QUEUE_COMPUTE, 100000, 34, -34);
    add_op(plan, KVS_OP_COMPUTE, KVS_TAG_ATTENTION, 0, QUEUE_COMPUTE, 3);
    add_range(plan, KVS_ACCESS_READ, BUFFER_SLOT, 0, 0, 400000, 0);
    add_op(plan, KVS_OP_COPY, KVS_TAG_STORE, KVS_OP_BLOCKS | KVS_OP_D2H, QUEUE_BLOCKING, 3);
    add_range(plan, KVS_ACCESS_READ, BUFFER_ROWS, 0, 0, 34, 0);
    add_range(plan, KVS_ACCESS_WRITE, BUFFER_CACHE, 100000, 34, 34, 0);
    add_op(plan, KVS_OP_HOST, KVS_TAG_SAMPLE, 0, QUEUE_HOST, KVS_NO_LAYER);
    add_op(plan, KVS_OP_COPY, KVS_TAG_INPUT, KVS_OP_BLOCKS, QUEUE_BLOCKING, KVS_NO_LAYER);
    add_range(plan, KVS_ACCESS_READ, BUFFER_CACHE, 450000, 0, 16384, 0);
    add_range(plan, KVS_ACCESS_WRITE, BUFFER_ROWS, 8192, 0, 16384, 0);
    f->plan = plan;
}

static void make_timeline(struct fixture *f)
{
    static const struct kvs_span spans[] = {
        {.op = OP_INPUT, .queue = QUEUE_BLOCKING, .start_ps = US(0.5), .end_ps = US(20.5)},
        {.op = OP_DELIVER_K,
         .queue = QUEUE_TRANSFER,
         .issue_ps = US(1),
         .ready_ps = US(1),
         .start_ps = US(1),
         .end_ps = US(101)},
        {.op = OP_DELIVER_V,
         .queue = QUEUE_TRANSFER,
         .issue_ps = US(2),
         .ready_ps = US(101),
         .start_ps = US(101),
         .end_ps = US(201) + 1},
        {.op = OP_YIELD,
         .queue = QUEUE_TRANSFER,
         .issue_ps = US(2),
         .ready_ps = US(201) + 1,
         .start_ps = US(201) + 1,
         .end_ps = US(205)},
        {.op = OP_LATE,
         .queue = QUEUE_COMPUTE,
         .issue_ps = US(3),
         .ready_ps = US(3),
         .start_ps = US(205),
         .end_ps = US(210)},
        {.op = OP_COMPUTE,
         .queue = QUEUE_COMPUTE,
         .issue_ps = US(4),
         .ready_ps = US(210),
         .start_ps = US(210),
         .end_ps = US(910)},
        {.op = OP_STORE,
         .queue = QUEUE_BLOCKING,
         .issue_ps = US(5),
         .ready_ps = US(911),
         .start_ps = US(912),
         .end_ps = US(914)},
        {.op = OP_SAMPLE,
         .queue = QUEUE_HOST,
         .issue_ps = US(914),
         .ready_ps = US(914),
         .start_ps = US(914),
         .end_ps = US(1514)},
    };
    for (uint32_t token = 0; token < 2; token++) {
        for (size_t i = 0; i < KVS_COUNT_OF(spans); i++) {
            struct kvs_span span = spans[i];
            span.token = token;
            span.issue_ps += US(1600) * token;
            span.ready_ps += US(1600) * token;
            span.start_ps += US(1600) * token;
            span.end_ps += US(1600) * token;
            assert_int_equal(KVS_ARRAY_PUSH(&f->timeline.spans, span, NULL), KVS_OK);
        }
    }
}

static int setup(void **state)
{
    void *memory;
    assert_int_equal(kvs_mem_alloc(1, sizeof(struct fixture), &memory, NULL), KVS_OK);
    struct fixture *f = memory;
    f->device = (struct kvs_device){.name = "fast", .gpu = "rtx4070"};
    f->device.engines.n_engines = 2;
    f->device.engines.bypass_bytes.value = 24576;
    f->machine = (struct kvs_machine){.devices = &f->device, .n_devices = 1};
    make_plan(f);
    make_timeline(f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    kvs_plan_destroy(f->plan);
    KVS_ARRAY_FREE(&f->timeline.spans);
    kvs_mem_free(f);
    return 0;
}

#endif
