/*
 * The probe on this machine's GPUs: every step runs within its minute, every figure is one that a
 * machine file may hold, and a second look at the host finds the first one's figures. Exits 77
 * where there is no GPU.
 */
#include "real/probe.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "formats/machine_write.h"
#include "formats/row_figures.h"
#include "real/exec_cuda.h"

#define OK(call)                                                                               \
    do {                                                                                       \
        if ((call) != KVS_OK)                                                                  \
            fail_msg("%s: %s", #call, err.text);                                               \
    } while (0)

static struct kvs_error err;

static void say(void *context, const char *text)
{
    (void)context;
    print_message("warning: %s\n", text);
}

static void step(void *context, size_t done, size_t n, const char *what)
{
    (void)context;
    print_message("%zu/%zu %s\n", done, n, what);
}

static struct kvs_machine *machine_parse(const struct kvs_text *yaml)
{
    struct kvs_diags diags;
    struct kvs_machine *machine = NULL;
    kvs_diags_init(&diags);
    kvs_status status = kvs_machine_parse("probed.yaml", yaml->data, yaml->n, NULL, NULL,
                                          &diags, &machine, &err);
    kvs_diags_print(&diags, stderr);
    assert_int_equal(status, KVS_OK);
    kvs_diags_fini(&diags);
    return machine;
}

/* A machine of placeholders, a device for each GPU. */
static struct kvs_machine *machine_make(const struct kvs_probe *probe)
{
    struct kvs_text yaml = {0};
    kvs_text_puts(&yaml, "kind: machine\nname: here\ndevices:\n");
    for (uint32_t i = 0; i < kvs_probe_facts(probe)->n_gpus; i++)
        kvs_text_puts(&yaml, "  - {gpu: {memory_rate: 1TB/s, flops: 1TFLOP/s}, h2d: 1GB/s}\n");
    struct kvs_machine *machine = machine_parse(&yaml);
    kvs_text_fini(&yaml);
    return machine;
}

static struct kvs_probe *probe_open(unsigned parts)
{
    struct kvs_probe_options options = {
        .parts = parts, .budget_s = 60, .warn = say, .progress = step};
    struct kvs_probe *probe;
    OK(kvs_probe_open(&options, &probe, &err));
    return probe;
}

static void check_figures(const struct kvs_machine *machine,
                          const struct kvs_probe_report *report)
{
    struct kvs_figures figures = {0};
    size_t n = 0;
    for (uint32_t d = 0; d < machine->n_devices; d++)
        OK(kvs_figures_add_device(&figures, machine, d, &err));
    OK(kvs_figures_add_host(&figures, machine, &err));
    for (size_t i = 0; i < figures.n; i++) {
        const struct kvs_param *p = figures.items[i].param;
        if (!kvs_probe_report_has(report, p))
            continue;
        n++;
        if (!(isfinite(p->value) && p->lo <= p->value && p->value <= p->hi && p->lo >= 0) ||
            p->origin != KVS_ORIGIN_MEASURED || p->source[0] == '\0')
            fail_msg("%s: %g, %g to %g: %s", figures.items[i].name, p->value, p->lo, p->hi,
                     p->source);
    }
    assert_true(n >= 30);
    KVS_ARRAY_FREE(&figures);
}

static void test_all(void **state)
{
    (void)state;
    struct kvs_probe *probe = probe_open(KVS_PROBE_ALL);
    struct kvs_machine *machine = machine_make(probe);
    struct kvs_probe_report report = {0};
    struct kvs_text yaml = {0};
    OK(kvs_probe_measure(probe, machine, &report, &err));
    assert_int_equal(report.n_skipped, 0);
    check_figures(machine, &report);
    assert_true(machine->devices[0].engines.row_curve.n > 0);
    for (size_t i = 0; i < report.groups.n; i++)
        OK(kvs_probe_add_group(machine, &report.groups.items[i], &err));
    assert_int_equal(kvs_machine_write(machine, &yaml), KVS_OK);
    printf("%s%s", report.notes.data, yaml.data);
    kvs_machine_destroy(machine_parse(&yaml));
    kvs_text_fini(&yaml);
    kvs_probe_report_fini(&report);
    kvs_machine_destroy(machine);
    kvs_probe_close(probe);
}

static void test_stop(void **state)
{
    (void)state;
    volatile sig_atomic_t stop = 1;
    struct kvs_probe_options options = {.parts = KVS_PROBE_ALL, .budget_s = 60, .stop = &stop};
    struct kvs_probe *probe;
    assert_int_equal(kvs_probe_open(&options, &probe, &err), KVS_ESTOPPED);
    assert_null(probe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_stop)};
    if (kvs_cuda_n_gpus() == 0) {
        printf("skipped: %s\n", kvs_cuda_why_none());
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
