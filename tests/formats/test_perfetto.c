/* The trace of a small hand-made run is parsed again and checked event by event. */
#include "formats/perfetto.h"

#include "tests/formats/perfetto_fixture.h"
#include "tests/formats/perfetto_trace.h"

static void test_names(void **state)
{
    struct trace t;
    size_t n_process = 0, n_track_names = 0, n_track_indices = 0;
    write_trace(*state, &t);
    for (size_t i = 0; i < t.n; i++) {
        const struct event *e = &t.events[i];
        if (strcmp(e->name, "process_name") == 0) {
            assert_string_equal(e->label, e->pid == 0 ? "host" : "fast: rtx4070");
            n_process++;
        }
        n_track_names += strcmp(e->name, "thread_name") == 0;
        n_track_indices += strcmp(e->name, "thread_sort_index") == 0;
    }
    assert_int_equal(n_process, 2);
    /* host thread; compute, h2d and d2h engine, two tracks beside; three queues */
    assert_int_equal(n_track_names, 9);
    assert_int_equal(n_track_indices, 9);
    assert_true(track_of(&t, 0, "host") > 0);
    assert_true(track_of(&t, 1, "compute") < track_of(&t, 1, "h2d engine"));
    assert_true(track_of(&t, 1, "h2d engine") < track_of(&t, 1, "d2h engine"));
    assert_true(track_of(&t, 1, "d2h engine") < track_of(&t, 1, "d0.compute"));
    assert_true(track_of(&t, 1, "compute, beside") > 0);
    assert_true(track_of(&t, 1, "h2d engine, beside") > 0);
    destroy_trace(&t);
}

static void test_engine_slices(void **state)
{
    struct trace t;
    write_trace(*state, &t);
    for (uint32_t token = 0; token < 2; token++) {
        kvs_time at = US(1600) * token;
        int64_t h2d = track_of(&t, 1, "h2d engine");
        assert_slice(&t, h2d, "deliver L3", at + US(1), at + US(101));
        assert_slice(&t, h2d, "deliver L3", at + US(101), at + US(201) + 1);
        assert_slice(&t, h2d, "late L3", at + US(205), at + US(210));
        assert_slice(&t, track_of(&t, 1, "h2d engine, beside"), "input", at + US(0.5),
                     at + US(20.5));
        assert_slice(&t, track_of(&t, 1, "compute"), "attention L3", at + US(210),
                     at + US(910));
        assert_slice(&t, track_of(&t, 1, "compute, beside"), "yield L3", at + US(201) + 1,
                     at + US(205));
        assert_slice(&t, track_of(&t, 1, "d2h engine"), "store L3", at + US(912), at + US(914));
        assert_slice(&t, track_of(&t, 0, "host"), "sample", at + US(914), at + US(1514));
        /* the store holds the host up from its issue on; a delivery does not */
        assert_slice(&t, track_of(&t, 0, "host"), "blocked: store L3", at + US(5),
                     at + US(914));
        assert_null(find_slice(&t, track_of(&t, 0, "host"), "blocked: deliver L3", at + US(1)));
    }
    /* not through double: 201.000001 us is the first digit that a float would lose */
    assert_non_null(strstr(t.text.data, "\"ts\":101.000000,\"dur\":100.000001,"));
    destroy_trace(&t);
}

static void test_no_overlap_on_engines(void **state)
{
    struct trace t;
    size_t n_checked = 0;
    write_trace(*state, &t);
    for (size_t i = 0; i < t.n; i++) {
        const struct event *a = &t.events[i];
        for (size_t k = 0; a->ph == 'X' && k < i; k++) {
            const struct event *b = &t.events[k];
            if (b->ph != 'X' || strcmp(a->cat, "engine") != 0 ||
                strcmp(b->cat, "engine") != 0 || a->pid != b->pid || a->tid != b->tid)
                continue;
            assert_true(a->ts_ps >= b->ts_ps + b->dur_ps || b->ts_ps >= a->ts_ps + a->dur_ps);
            n_checked++;
        }
    }
    /* pairs on a track of k slices: h2d 6 -> 15, the five others 2 -> 1 each */
    assert_int_equal(n_checked, 15 + 5);
    destroy_trace(&t);
}

static void test_queue_slices(void **state)
{
    struct trace t;
    write_trace(*state, &t);
    int64_t compute = track_of(&t, 1, "d0.compute");
    int64_t transfer = track_of(&t, 1, "d0.transfer");
    int64_t blocking = track_of(&t, 1, "d0.blocking");
    for (uint32_t token = 0; token < 2; token++) {
        kvs_time at = US(1600) * token;
        assert_slice(&t, compute, "late L3", at + US(3), at + US(210));
        assert_slice(&t, compute, "queued", at + US(3), at + US(205));
        assert_null(find_slice(&t, compute, "blocked", at + US(3)));
        /* issued at 4 behind late, so at the head when that ends: no wait at all */
        assert_slice(&t, compute, "attention L3", at + US(210), at + US(910));
        assert_null(find_slice(&t, compute, "queued", at + US(210)));
        assert_slice(&t, transfer, "deliver L3", at + US(101), at + US(201) + 1);
        /* issued at 5 behind input, at the head from 20.5, dependencies met at 911 */
        assert_slice(&t, blocking, "store L3", at + US(20.5), at + US(914));
        assert_slice(&t, blocking, "blocked", at + US(20.5), at + US(911));
        assert_slice(&t, blocking, "queued", at + US(911), at + US(912));
    }
    destroy_trace(&t);
}

static void test_args(void **state)
{
    struct trace t;
    write_trace(*state, &t);
    const struct event *e =
        find_slice(&t, track_of(&t, 1, "h2d engine"), "deliver L3", US(1601));
    int64_t token = -1, op = -1, bytes = -1;
    double rate_GBps = 0.0;
    const char *kind = NULL;
    assert_non_null(e);
    assert_int_equal(kvs_json_get_i64(t.doc, e->args, "token", true, 0, 9, &token, NULL),
                     KVS_OK);
    assert_int_equal(kvs_json_get_i64(t.doc, e->args, "op", true, 0, 9, &op, NULL), KVS_OK);
    assert_int_equal(kvs_json_get_i64(t.doc, e->args, "bytes", true, 0, 999999, &bytes, NULL),
                     KVS_OK);
    assert_int_equal(kvs_json_get_f64(t.doc, e->args, "GBps", true, 0, 9, &rate_GBps, NULL),
                     KVS_OK);
    assert_int_equal(kvs_json_get_str(t.doc, e->args, "kind", true, &kind, NULL), KVS_OK);
    assert_int_equal(token, 1);
    assert_int_equal(op, OP_DELIVER_K);
    assert_int_equal(bytes, 100034);                /* one row of 34 B more than at token 0 */
    assert_true(fabs(rate_GBps - 1.00034) < 1e-12); /* 100,034 B in 100 us */
    assert_string_equal(kind, "copy");
    destroy_trace(&t);
}

/* The slice that a flow event is tied to: the one on its track that contains its time. */
static const struct event *slice_at(const struct trace *t, const struct event *flow)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct event *e = &t->events[i];
        if (e->ph == 'X' && e->pid == flow->pid && e->tid == flow->tid &&
            e->ts_ps <= flow->ts_ps && flow->ts_ps < e->ts_ps + e->dur_ps)
            return e;
    }
    return NULL;
}

static void test_flows(void **state)
{
    struct trace t;
    size_t n_from[5] = {0}, n_to[5] = {0};
    size_t n_deliver = 0, n_late = 0;
    write_trace(*state, &t);
    for (size_t i = 0; i < t.n; i++) {
        const struct event *e = &t.events[i];
        if (e->ph != 's' && e->ph != 'f')
            continue;
        const struct event *slice = slice_at(&t, e);
        kvs_time in_token_ps = e->ts_ps % US(1600);
        assert_in_range(e->id, 1, 4);
        assert_non_null(slice);
        if (e->ph == 'f') {
            n_to[e->id]++;
            assert_string_equal(slice->name, "attention L3");
            continue;
        }
        n_from[e->id]++;
        if (strcmp(e->name, "deliver") == 0) { /* V, not K */
            assert_int_equal(in_token_ps, US(101));
            n_deliver++;
        } else {
            assert_string_equal(slice->name, "late L3");
            n_late++;
        }
    }
    for (size_t id = 1; id <= 4; id++)
        assert_true(n_from[id] == 1 && n_to[id] == 1);
    assert_int_equal(n_deliver, 2);
    assert_int_equal(n_late, 2);
    destroy_trace(&t);
}

/* All values of a counter in order; returns how many. */
static size_t counter(const struct trace *t, const char *name, kvs_time *out_ps,
                      double *out_value, size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct event *e = &t->events[i];
        if (e->ph != 'C' || strcmp(e->name, name) != 0)
            continue;
        assert_int_equal(e->pid, 1);
        assert_true(n < cap);
        assert_true(n == 0 || out_ps[n - 1] < e->ts_ps);
        out_ps[n] = e->ts_ps;
        out_value[n++] = e->value;
    }
    return n;
}

static void test_ring_counter(void **state)
{
    struct trace t;
    kvs_time at_ps[16];
    double bytes[16];
    /* token 1: 34 B more in both early copies, 34 B fewer late ones */
    static const double want_bytes[] = {100000, 200000, 300000, 0, 100034, 200068, 300034, 0};
    static const kvs_time want_ps[] = {US(101), US(201) + 1, US(210), US(910)};
    write_trace(*state, &t);
    assert_int_equal(counter(&t, "ring", at_ps, bytes, 16), 8);
    for (size_t i = 0; i < 8; i++) {
        assert_true(bytes[i] == want_bytes[i]);
        assert_int_equal(at_ps[i], want_ps[i % 4] + US(1600) * (kvs_time)(i / 4));
    }
    destroy_trace(&t);
}

static void test_rate_counters(void **state)
{
    struct trace t;
    kvs_time at_ps[32];
    double rate_GBps[32];
    write_trace(*state, &t);
    size_t n = counter(&t, "h2d rate", at_ps, rate_GBps, 32);
    assert_true(n >= 6);
    /* 16,384 B in 20 us; then 100,000 B in 100 us beside it; then that alone */
    assert_int_equal(at_ps[0], US(0.5));
    assert_true(fabs(rate_GBps[0] - 0.8192) < 1e-9);
    assert_int_equal(at_ps[1], US(1));
    assert_true(fabs(rate_GBps[1] - 1.8192) < 1e-9);
    assert_int_equal(at_ps[2], US(20.5));
    assert_true(fabs(rate_GBps[2] - 1.0) < 1e-9);
    assert_int_equal(at_ps[n - 1], US(1810));
    assert_true(rate_GBps[n - 1] == 0.0);
    n = counter(&t, "d2h rate", at_ps, rate_GBps, 32);
    assert_int_equal(n, 4);
    assert_true(fabs(rate_GBps[0] - 0.017) < 1e-9); /* 34 B in 2 us */
    assert_true(rate_GBps[1] == 0.0 && rate_GBps[3] == 0.0);
    destroy_trace(&t);
}

static void test_one_engine(void **state)
{
    struct fixture *f = *state;
    struct trace t;
    f->device.engines.n_engines = 1;
    write_trace(f, &t);
    int64_t engine = track_of(&t, 1, "copy engine");
    assert_int_equal(track_of(&t, 1, "d2h engine"), -1);
    assert_int_equal(track_of(&t, 1, "h2d engine"), -1);
    assert_slice(&t, engine, "deliver L3", US(1), US(101));
    assert_slice(&t, engine, "store L3", US(912), US(914));
    destroy_trace(&t);
}

static void test_copy_by_kernel(void **state)
{
    struct fixture *f = *state;
    struct trace t;
    f->plan->segments.items[0].ops.items[OP_LATE].flags = KVS_OP_VIA_KERNEL;
    write_trace(f, &t);
    assert_slice(&t, track_of(&t, 1, "compute"), "late L3", US(205), US(210));
    destroy_trace(&t);
}

/* Measured times may overlap by a little: the later one moves beside, on as many tracks as
 * needed. */
static void test_overlapping_spans(void **state)
{
    struct fixture *f = *state;
    struct trace t;
    f->plan->segments.items[0].ops.items[OP_INPUT].flags |= KVS_OP_2D; /* now on the engine */
    f->timeline.spans.items[4].start_ps = US(20.5) - 1;                /* late of token 0 */
    write_trace(f, &t);
    assert_slice(&t, track_of(&t, 1, "h2d engine"), "input", US(0.5), US(20.5));
    assert_slice(&t, track_of(&t, 1, "h2d engine, beside"), "deliver L3", US(1), US(101));
    assert_slice(&t, track_of(&t, 1, "h2d engine, beside (2)"), "late L3", US(20.5) - 1,
                 US(210));
    destroy_trace(&t);
}

/* The same small copy is on the engine when nothing else wants the engine before it ends. */
static void test_bypass(void **state)
{
    struct fixture *f = *state;
    struct trace t;
    f->timeline.spans.items[1].start_ps = US(20.5); /* the first delivery of token 0 */
    write_trace(f, &t);
    assert_slice(&t, track_of(&t, 1, "h2d engine"), "input", US(0.5), US(20.5));
    assert_slice(&t, track_of(&t, 1, "h2d engine, beside"), "input", US(1600.5), US(1620.5));
    destroy_trace(&t);
    f->plan->segments.items[0].ops.items[OP_INPUT].flags |= KVS_OP_PAGEABLE; /* limit 0 here */
    write_trace(f, &t);
    assert_slice(&t, track_of(&t, 1, "h2d engine"), "input", US(1600.5), US(1620.5));
    destroy_trace(&t);
}

static void assert_refused(const struct fixture *f, const char *text)
{
    struct kvs_text out = {0};
    struct kvs_error err = {0};
    assert_int_equal(kvs_perfetto_write(f->plan, &f->timeline, &f->machine, &out, &err),
                     KVS_EINVAL);
    assert_string_equal(err.text, text);
    kvs_text_fini(&out);
}

static void test_foreign_timelines(void **state)
{
    struct fixture *f = *state;
    struct kvs_span *span = &f->timeline.spans.items[3];
    struct kvs_span good = *span;
    span->op = 8;
    assert_refused(f, "timeline: spans[3]: no such operation in the plan");
    *span = good;
    span->segment = 1;
    assert_refused(f, "timeline: spans[3]: no such operation in the plan");
    *span = good;
    span->queue = QUEUE_COMPUTE;
    assert_refused(f, "timeline: spans[3]: no such operation in the plan");
    *span = good;
    span->token = 2;
    assert_refused(f, "timeline: spans[3]: token outside its segment");
    *span = good;
    span->end_ps = span->start_ps - 1;
    assert_refused(f, "timeline: spans[3]: must start at 0 or later and end after that");
    *span = good;
    f->machine.n_devices = 0;
    assert_refused(f, "trace: the plan has 1 devices, the machine 0");
}

static void test_empty_and_stable(void **state)
{
    struct fixture *f = *state;
    struct kvs_text a = {0}, b = {0};
    struct kvs_timeline empty = {0};
    struct trace t;
    assert_int_equal(kvs_perfetto_write(f->plan, &f->timeline, &f->machine, &a, NULL), KVS_OK);
    assert_int_equal(kvs_perfetto_write(f->plan, &f->timeline, &f->machine, &b, NULL), KVS_OK);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.data, b.data, a.n);
    kvs_text_fini(&a);
    kvs_text_fini(&b);
    struct kvs_timeline full = f->timeline;
    f->timeline = empty;
    write_trace(f, &t);
    for (size_t i = 0; i < t.n; i++)
        assert_int_equal(t.events[i].ph, 'M');
    destroy_trace(&t);
    f->timeline = full;
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)) != NULL; text++)
        n++;
    return n;
}

/* Two runs in one trace: processes 0, 1 and 2, 3; the arrows of the second count on. */
static void test_parts(void **state)
{
    struct fixture *f = *state;
    struct kvs_text alone = {0}, both = {0};
    struct kvs_json_doc *doc;
    const struct kvs_perfetto_part parts[] = {{"a", f->plan, &f->timeline},
                                              {"b", f->plan, &f->timeline}};
    assert_int_equal(kvs_perfetto_write(f->plan, &f->timeline, &f->machine, &alone, NULL),
                     KVS_OK);
    assert_int_equal(kvs_perfetto_write_parts(parts, 2, &f->machine, &both, NULL), KVS_OK);
    assert_int_equal(kvs_json_parse("both", both.data, both.n, 0, &doc, NULL), KVS_OK);
    kvs_json_destroy(doc);
    for (int process = 0; process < 2; process++) {
        char first[16], second[16];
        snprintf(first, sizeof first, "\"pid\":%d,", process);
        snprintf(second, sizeof second, "\"pid\":%d,", process + 2);
        assert_true(count(alone.data, first) > 0);
        assert_int_equal(count(both.data, first), count(alone.data, first));
        assert_int_equal(count(both.data, second), count(alone.data, first));
    }
    assert_int_equal(count(both.data, "{\"name\":\"a: host\"}"), 1);
    assert_int_equal(count(both.data, "{\"name\":\"b: host\"}"), 1);
    size_t n_arrows = count(alone.data, "\"ph\":\"s\"");
    assert_true(n_arrows > 0);
    for (size_t id = 1; id <= 2 * n_arrows; id++) {
        char arrow[32];
        snprintf(arrow, sizeof arrow, "\"id\":%zu,", id);
        assert_int_equal(count(both.data, arrow), 2);
    }
    kvs_text_fini(&alone);
    kvs_text_fini(&both);
}

static void test_allocation_failures(void **state)
{
    struct fixture *f = *state;
    uint64_t live_bytes = kvs_mem_live_bytes();
    kvs_status status = KVS_ENOMEM;
    for (uint64_t n = 1; status != KVS_OK; n++) {
        struct kvs_text out = {0};
        struct kvs_error err = {0};
        kvs_mem_fail_after(n);
        status = kvs_perfetto_write(f->plan, &f->timeline, &f->machine, &out, &err);
        kvs_mem_fail_after(0);
        assert_true(status == KVS_OK || (status == KVS_ENOMEM && err.status == KVS_ENOMEM));
        assert_true(status != KVS_OK || n > 8);
        kvs_text_fini(&out);
        assert_int_equal(kvs_mem_live_bytes(), live_bytes);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names),
        TEST(test_engine_slices),
        TEST(test_no_overlap_on_engines),
        TEST(test_queue_slices),
        TEST(test_args),
        TEST(test_flows),
        TEST(test_ring_counter),
        TEST(test_rate_counters),
        TEST(test_one_engine),
        TEST(test_copy_by_kernel),
        TEST(test_overlapping_spans),
        TEST(test_bypass),
        TEST(test_foreign_timelines),
        TEST(test_empty_and_stable),
        TEST(test_parts),
        TEST(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
