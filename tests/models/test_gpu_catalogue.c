/* Every card of models/gpu/ loads in a one-device machine, with its figures and their sources.
 */
#include "models/machine.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/machine_case.h"

static struct kvs_machine *card_load(const char *gpu_name)
{
    char yaml[512];

    (void)snprintf(yaml, sizeof yaml,
                   "kind: machine\nname: one\ndevices:\n  - {gpu: %s, pcie: gen3x16}\n",
                   gpu_name);
    return machine_parse(yaml, strlen(yaml));
}

static void card_check(const char *gpu_name)
{
    struct kvs_machine *machine = card_load(gpu_name);
    const struct kvs_device *device = &machine->devices[0];

    assert_string_equal(device->gpu, gpu_name);
    assert_true(device->is_memory_known);
    assert_true(device->memory_bytes.value >= 4e9 && device->memory_bytes.value <= 1e12);
    assert_true(device->memory_rate.value >= 100e9 && device->memory_rate.value <= 10e12);
    assert_true(device->flops.value >= 1e12 && device->flops.value <= 5e15);
    assert_true(device->memory_bytes.source[0] && device->memory_rate.source[0] &&
                device->flops.source[0]);
    assert_int_equal(device->memory_rate.origin, KVS_ORIGIN_DATASHEET);
    assert_int_equal(device->flops.origin, KVS_ORIGIN_DATASHEET);
    kvs_machine_destroy(machine);
}

static void test_every_file(void **state)
{
    DIR *dir = opendir(GPU_DIR);
    unsigned n = 0;

    (void)state;
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        char name[256];
        char *dot = strstr(strcpy(name, entry->d_name), ".yaml");

        if (!dot || dot[5])
            continue;
        *dot = '\0';
        card_check(name);
        n++;
    }
    assert_int_equal(closedir(dir), 0);
    assert_true(n >= 14);
}

/* Memory and memory rate as NVIDIA's product pages give them. */
static void test_datasheet_figures(void **state)
{
    static const struct {
        const char *gpu;
        double memory_gib;
        double rate_gbps;
    } cases[] = {{"rtx4070", 12, 504},  {"rtx3060", 12, 360},
                 {"rtx4090", 24, 1008}, {"rtx4060ti-16gb", 16, 288},
                 {"rtx5090", 32, 1792}, {"rtx2070", 8, 448},
                 {"l40s", 48, 864}};
    (void)state;
    for (size_t i = 0; i < KVS_COUNT_OF(cases); i++) {
        struct kvs_machine *machine = card_load(cases[i].gpu);
        const struct kvs_device *device = &machine->devices[0];

        assert_true(device->memory_bytes.value == cases[i].memory_gib * 1024 * 1024 * 1024);
        assert_true(device->memory_rate.value == cases[i].rate_gbps * 1e9);
        kvs_machine_destroy(machine);
    }
}

/* The H200's measurements: three engines; 2D rows of 136 ... 2176 B at 41.1 48.4 55.2 53.1 55.2
 * 54.4 54.9 of 55.4 GB/s; 1.46 us between kernels; 1.19 us per dependent read. */
static void test_h200_is_measured(void **state)
{
    static const uint32_t width_bytes[] = {136, 272, 512, 544, 1024, 1088, 2176};
    static const double rate_gbps[] = {41.1, 48.4, 55.2, 53.1, 55.2, 54.4, 54.9};
    struct kvs_machine *machine = card_load("h200");
    const struct kvs_device *device = &machine->devices[0];
    const struct kvs_row_curve *curve = &device->engines.row_curve;

    (void)state;
    assert_int_equal(device->engines.n_engines, 3);
    assert_int_equal(device->engines.count.origin, KVS_ORIGIN_MEASURED);
    assert_int_equal(curve->n, KVS_COUNT_OF(width_bytes));
    for (uint32_t i = 0; i < curve->n; i++) {
        assert_int_equal(curve->width_bytes[i], width_bytes[i]);
        assert_true(fabs(curve->efficiency[i] - rate_gbps[i] / 55.4) <= 5.1e-4);
    }
    assert_true(fabs(device->kernel_gap.value - 1.46e-6) <= 1e-15);
    assert_true(fabs(device->read_latency.value - 1.19e-6) <= 1e-15);
    assert_true(device->engines.in_flight_bytes.lo == 119000);
    assert_true(device->engines.in_flight_bytes.value == 131072);
    kvs_machine_destroy(machine);
}

/* Eight lanes and one: 15.754 and 0.985 GB/s raw. */
static void test_example_machine(void **state)
{
    char *data = NULL;
    size_t n = 0;

    (void)state;
    assert_int_equal(kvs_file_read(KVS_SOURCE_DIR "/models/machine/two-card-example.yaml",
                                   1 << 20, &data, &n, NULL),
                     KVS_OK);
    struct kvs_machine *machine = machine_parse(data, n);
    assert_string_equal(machine->name, "two-card-example");
    assert_int_equal(machine->n_devices, 2);
    assert_int_equal(machine->links[machine->devices[0].link].lanes, 8);
    assert_int_equal(machine->links[machine->devices[1].link].lanes, 1);
    kvs_machine_destroy(machine);
    kvs_mem_free(data);
}

/* The examples of docs/machine-format.md that start with `kind: machine` load as they stand. */
static void test_documented_examples(void **state)
{
    static const uint32_t n_devices[] = {2, 3};
    char *data = NULL;
    size_t n = 0;
    unsigned n_found = 0;

    (void)state;
    assert_int_equal(
        kvs_file_read(KVS_SOURCE_DIR "/docs/machine-format.md", 1 << 20, &data, &n, NULL),
        KVS_OK);
    for (char *at = strstr(data, "```yaml\nkind: machine"); at;
         at = strstr(at, "```yaml\nkind: machine")) {
        char *start = at + strlen("```yaml\n");
        char *end = strstr(start, "```");

        assert_non_null(end);
        assert_true(n_found < KVS_COUNT_OF(n_devices));
        struct kvs_machine *machine = machine_parse(start, (size_t)(end - start));
        assert_int_equal(machine->n_devices, n_devices[n_found++]);
        kvs_machine_destroy(machine);
        at = end;
    }
    assert_int_equal(n_found, KVS_COUNT_OF(n_devices));
    kvs_mem_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_file),          cmocka_unit_test(test_datasheet_figures),
        cmocka_unit_test(test_h200_is_measured),    cmocka_unit_test(test_example_machine),
        cmocka_unit_test(test_documented_examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
