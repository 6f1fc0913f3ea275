/* Every machine of the catalogue, written and read again, is the same figure by figure. */
#include "formats/machine_write.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "formats/row_figures.h"
#include "tests/machine_case.h"

#define MACHINE_DIR KVS_SOURCE_DIR "/models/machine/"

static void same_figures(const struct kvs_figures *a, const struct kvs_figures *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        const struct kvs_param *p = a->items[i].param, *q = b->items[i].param;
        assert_string_equal(a->items[i].name, b->items[i].name);
        if (p->value != q->value || p->lo != q->lo || p->hi != q->hi ||
            p->origin != q->origin || strcmp(p->build, q->build) != 0 ||
            strcmp(p->source, q->source) != 0)
            fail_msg("%s: %.17g [%.17g, %.17g] %s \"%s\" became %.17g [%.17g, %.17g] %s \"%s\"",
                     a->items[i].name, p->value, p->lo, p->hi, kvs_origin_name(p->origin),
                     p->source, q->value, q->lo, q->hi, kvs_origin_name(q->origin), q->source);
    }
}

static void list_figures(const struct kvs_machine *machine, struct kvs_figures *out)
{
    for (uint32_t l = 0; l < machine->n_links; l++)
        assert_int_equal(kvs_figures_add_link(out, &machine->links[l], NULL), KVS_OK);
    for (uint32_t d = 0; d < machine->n_devices; d++)
        assert_int_equal(kvs_figures_add_device(out, machine, d, NULL), KVS_OK);
    assert_int_equal(kvs_figures_add_host(out, machine, NULL), KVS_OK);
}

static void same_link(const struct kvs_machine *m, uint32_t l, const struct kvs_machine *n)
{
    const struct kvs_link *a = &m->links[l], *b = &n->links[l];
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->parent, b->parent);
    assert_int_equal(a->mode, b->mode);
    assert_int_equal(a->gen, b->gen);
    assert_int_equal(a->lanes, b->lanes);
    assert_int_equal(a->is_rate_measured, b->is_rate_measured);
    assert_memory_equal(&a->efficiency.value, &b->efficiency.value, sizeof(double));
    assert_string_equal(a->efficiency.source, b->efficiency.source);
}

static void same_device(const struct kvs_device *a, const struct kvs_device *b)
{
    const struct kvs_engines *e = &a->engines, *f = &b->engines;
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->gpu, b->gpu);
    assert_int_equal(a->link, b->link);
    assert_int_equal(a->is_memory_known, b->is_memory_known);
    assert_int_equal(e->n_engines, f->n_engines);
    assert_int_equal(e->arbitration, f->arbitration);
    assert_int_equal(e->first_turn, f->first_turn);
    assert_int_equal(e->row_curve.n, f->row_curve.n);
    assert_string_equal(e->row_curve.source, f->row_curve.source);
    for (uint32_t i = 0; i < e->row_curve.n; i++) {
        assert_int_equal(e->row_curve.width_bytes[i], f->row_curve.width_bytes[i]);
        assert_true(e->row_curve.efficiency[i] == f->row_curve.efficiency[i]);
    }
    assert_int_equal(a->n_profiles, b->n_profiles);
    for (uint32_t p = 0; p < a->n_profiles; p++) {
        assert_string_equal(a->profiles[p].model, b->profiles[p].model);
        assert_string_equal(a->profiles[p].weights, b->profiles[p].weights);
        assert_int_equal(a->profiles[p].kv_type, b->profiles[p].kv_type);
        assert_true(a->profiles[p].head_share == b->profiles[p].head_share);
    }
}

static void same_machine(const struct kvs_machine *a, const struct kvs_machine *b)
{
    struct kvs_figures of_a = {0}, of_b = {0};
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->description, b->description);
    assert_string_equal(a->build, b->build);
    assert_int_equal(a->n_links, b->n_links);
    assert_int_equal(a->n_devices, b->n_devices);
    for (uint32_t l = 0; l < a->n_links; l++)
        same_link(a, l, b);
    for (uint32_t d = 0; d < a->n_devices; d++)
        same_device(&a->devices[d], &b->devices[d]);
    assert_int_equal(a->host.submit, b->host.submit);
    assert_int_equal(a->collective.backend, b->collective.backend);
    assert_true(a->collective.latency.value == b->collective.latency.value);
    assert_string_equal(a->collective.latency.source, b->collective.latency.source);
    list_figures(a, &of_a);
    list_figures(b, &of_b);
    same_figures(&of_a, &of_b);
    KVS_ARRAY_FREE(&of_a);
    KVS_ARRAY_FREE(&of_b);
}

/* Read, written, read: the same machine. Written again: the same bytes. */
static void round_trip(const char *bytes, size_t n)
{
    struct kvs_text first = {0}, second = {0};
    struct kvs_machine *machine = machine_parse(bytes, n);
    assert_int_equal(kvs_machine_write(machine, &first), KVS_OK);
    struct kvs_machine *again = machine_parse(first.data, first.n);
    same_machine(machine, again);
    assert_int_equal(kvs_machine_write(again, &second), KVS_OK);
    assert_string_equal(first.data, second.data);
    kvs_machine_destroy(machine);
    kvs_machine_destroy(again);
    kvs_text_fini(&first);
    kvs_text_fini(&second);
}

static void test_catalogue(void **state)
{
    (void)state;
    DIR *dir = opendir(MACHINE_DIR);
    unsigned n_machines = 0;
    assert_non_null(dir);
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        char path[512], *bytes;
        size_t n;
        if (strstr(entry->d_name, ".yaml") == NULL)
            continue;
        (void)snprintf(path, sizeof path, MACHINE_DIR "%s", entry->d_name);
        assert_int_equal(kvs_file_read(path, 1 << 20, &bytes, &n, NULL), KVS_OK);
        round_trip(bytes, n);
        kvs_mem_free(bytes);
        n_machines++;
    }
    closedir(dir);
    assert_true(n_machines >= 5);
}

static void round_trip_text(const char *yaml)
{
    round_trip(yaml, strlen(yaml));
}

/* Links above links, an explicit root, slots with an efficiency of their own, both directions on
 * one rate, overridden cards, every section of the format. */
static void test_whole_format(void **state)
{
    (void)state;
    round_trip_text(
        "kind: machine\nname: 7th+box:1\ndescription: \"a \\\\ b \\\" c, # d: 90 \xc2\xb5s\"\n"
        "links:\n"
        "  - {name: root, mode: unlimited, latency: 0.3us}\n"
        "  - {name: slot0, parent: root, pcie: gen4x16, h2d: {value: 24.8GB/s, origin: "
        "measured, source: \"256 MiB, pinned\"}, d2h: 25.6GB/s, opposite_h2d: 12.4GB/s}\n"
        "  - {name: switch, parent: root, pcie: gen3x8, efficiency: {value: 0.82, origin: "
        "fitted, interval: [0.8, 85%]}}\n"
        "  - {name: hub, mode: shared, h2d: 1.23456789GB/s, latency: 123456ps}\n"
        "devices:\n"
        "  - name: fast\n    gpu: rtx4070\n    link: slot0\n    reserved: 900MiB\n"
        "    engines: {commit_lead: {value: 22us, origin: measured, interval: [20us, 25us]}, "
        "arbitration: fifo, first_turn: chained, count: 1, bypass_bytes: 0B, row_curve: "
        "{points: [[100B, 0.1], [544B, 1]]}}\n"
        "    profiles:\n"
        "      - {model: qwen3.8-27b, weights: UD-IQ2_M, kv_type: q8_0, fixed: {value: 25.1ms, "
        "origin: fitted, build: current}, per_row: 0.178us, copy_slowdown: 5%}\n"
        "      - {model: x, kv_type: f16, head_share: 0.333333, fixed: 1s, per_row: 0us}\n"
        "  - {name: left, gpu: rtx3060, parent: switch, pcie: gen3x8, d2h: 1GB/s}\n"
        "  - {name: right, gpu: {memory_rate: 1.5TB/s, flops: 100GFLOP/s}, link: hub}\n"
        "  - {name: none, gpu: p40, link: hub, memory_efficiency: 0.1}\n"
        "host: {submit: kernels, kernel_launch: 1.8us, queue_limit: 512.5, memory_rate: "
        "80GB/s, "
        "between_tokens: {value: 0.5ms, interval: [0.3ms, 0.8ms]}}\n"
        "collective: {backend: nccl-p2p, latency: 34us, rate: 1.1GB/s}\n");
}

/* What a file says with the origin default is kept, and so is a section for one device alone. */
static void test_said_defaults(void **state)
{
    (void)state;
    round_trip_text("kind: machine\nname: a\ndevices: [{gpu: rtx4090, pcie: gen4x16}]\n"
                    "host: {sync: {value: 9us, origin: default, source: mine}}\n"
                    "collective: {latency: 77us}\n");
    round_trip_text("kind: machine\nname: b\ndevices: [{name: x, gpu: v100, h2d: 3GB/s}, "
                    "{name: y, gpu: v100, mode: shared, h2d: 3GB/s}]\n"
                    "collective: {backend: host, trips: 0}\n");
}

/* One figure and the text it must give, from the rules of docs/machine-format.md. */
static void test_figures(void **state)
{
    (void)state;
    const struct {
        struct kvs_param param;
        kvs_unit unit;
        const char *text;
    } cases[] = {
        {{.value = 3.6e-6, .lo = 3.6e-6, .hi = 3.6e-6, .origin = KVS_ORIGIN_STATED},
         KVS_UNIT_TIME,
         "3.6us"},
        {{.origin = KVS_ORIGIN_STATED}, KVS_UNIT_TIME, "0us"},
        {{.value = 1.000001, .lo = 1.000001, .hi = 1.000001, .origin = KVS_ORIGIN_STATED},
         KVS_UNIT_TIME,
         "1.000001s"},
        {{.value = 55.4e9, .lo = 55.3e9, .hi = 55.5e9, .origin = KVS_ORIGIN_MEASURED},
         KVS_UNIT_RATE,
         "{value: 55.4GB/s, origin: measured, interval: [55.3GB/s, 55.5GB/s]}"},
        {{.origin = KVS_ORIGIN_STATED}, KVS_UNIT_RATE, "0B/s"},
        {{.value = 24576, .lo = 24576, .hi = 24576, .origin = KVS_ORIGIN_STATED},
         KVS_UNIT_BYTES,
         "24KiB"},
        {{.value = 119000, .lo = 119000, .hi = 119000, .origin = KVS_ORIGIN_STATED},
         KVS_UNIT_BYTES,
         "119000B"},
        {{.value = 0.07,
          .lo = 0.07,
          .hi = 0.07,
          .origin = KVS_ORIGIN_INFERRED,
          .build = "b1",
          .source = "say \"so\""},
         KVS_UNIT_FRAC,
         "{value: 0.07, origin: inferred, build: \"b1\", source: \"say \\\"so\\\"\"}"},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(cases); i++) {
        struct kvs_text text = {0};
        kvs_machine_write_figure(&cases[i].param, cases[i].unit, &text);
        assert_string_equal(text.data, cases[i].text);
        kvs_text_fini(&text);
    }
}

/* No failed allocation loses memory or passes unnoticed. */
static void test_no_memory(void **state)
{
    (void)state;
    static const char *const yaml =
        "{kind: machine, name: a, devices: [{gpu: {memory_rate: 1TB/s, flops: 1TFLOP/s}, pcie: "
        "gen4x16, profiles: [{model: x, kv_type: f16, fixed: 1s, per_row: 0us}]}]}";
    struct kvs_machine *machine = machine_parse(yaml, strlen(yaml));
    uint64_t before = kvs_mem_live_bytes();
    kvs_status status = KVS_ENOMEM;
    for (uint64_t n = 1; status != KVS_OK; n++) {
        struct kvs_text text = {0};
        kvs_mem_fail_after(n);
        status = kvs_machine_write(machine, &text);
        kvs_mem_fail_after(0);
        if (status != KVS_OK)
            assert_int_equal(text.status, KVS_ENOMEM);
        kvs_text_fini(&text);
        assert_int_equal(kvs_mem_live_bytes(), before);
        assert_true(n < 10000);
    }
    kvs_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_catalogue),     cmocka_unit_test(test_whole_format),
        cmocka_unit_test(test_said_defaults), cmocka_unit_test(test_figures),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
