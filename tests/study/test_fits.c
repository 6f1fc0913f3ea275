/*
 * The fitted figures of the machine files, recomputed from the tables. Only ordered, resident
 * and probe rows are read here: the builds' pipelined rows play no part.
 */
#include "tests/study/study_case.h"

#include <math.h>

#include "base/stats.h"
#include "models/copy.h"

static const uint64_t depths[] = {4096, 16384, 32768};

static double windows_of(uint64_t depth)
{
    return (double)((depth + 1 + 255) / 256 *
                    256); /* rounded up to 256 rows, padding delivered */
}

/* ms per token over window rows, least squares, of the rows of a build and policy. */
static struct kvs_line_fit fit_table(const char *path, const char *build, const char *policy)
{
    struct kvs_table *table = study_table_load(path);
    double x[64], y[64];
    size_t n = 0;
    struct kvs_line_fit fit;
    for (size_t i = 0; i < kvs_table_n_rows(table) && n < 64; i++) {
        if (strcmp(study_cell(table, i, "build"), build) != 0 ||
            strcmp(study_cell(table, i, "policy"), policy) != 0)
            continue;
        x[n] = windows_of((uint64_t)study_number(table, i, "n_depth"));
        y[n++] = 1e3 / study_number(table, i, "avg_ts");
    }
    assert_int_equal(kvs_fit_line(x, y, n, &fit, NULL), KVS_OK);
    kvs_table_destroy(table);
    return fit;
}

static void assert_near(const char *what, double stated, double recomputed, double tolerance)
{
    print_message("%-44s stated %.6g, recomputed %.6g\n", what, stated, recomputed);
    assert_true(fabs(stated / recomputed - 1.0) < tolerance);
}

/* One row of the example model is 34,816 B at q8_0 over its 16 staged layers. */
static const double row_bytes = 34816.0;

/* rtx4070: attention from resident rows, the link from what ordered rows have on top. */
static void test_one_card_rates(void **state)
{
    (void)state;
    struct study_machine m;
    study_machine_load(&m, "rtx4070");
    const struct kvs_device *d = &m.machine->devices[0];
    double resident_ms =
        fit_table("traces/published/rtx4070-resident.csv", "current", "resident").slope;
    double ordered_ms =
        fit_table("traces/published/rtx4070-ab.csv", "current", "ordered").slope;
    assert_near("attention, s a row", d->profiles[0].per_row.value, resident_ms * 1e-3, 0.002);
    assert_near("link, B/s", m.machine->links[d->link].rate[KVS_H2D].value,
                row_bytes / ((ordered_ms - resident_ms) * 1e-3), 0.002);
    study_machine_free(&m);
}

/* rtx4070-rtx3060: each card takes half of every row; the host sends to one card after the
 * other. */
static void test_two_card_rates(void **state)
{
    (void)state;
    struct study_machine pair, single;
    study_machine_load(&pair, "rtx4070-rtx3060");
    study_machine_load(&single, "rtx4070");
    const struct kvs_device *fast = &pair.machine->devices[0],
                            *slow = &pair.machine->devices[1];
    double ordered_s =
        fit_table("traces/published/x4-bound.csv", "current", "ordered").slope * 1e-3;
    double fast_Bps = kvs_path_rate_Bps(pair.machine, 0, KVS_H2D);
    assert_near("fast link as the single card's, B/s", fast_Bps,
                kvs_path_rate_Bps(single.machine, 0, KVS_H2D), 1e-9);
    /* attention is bound by the cores (195 of 504 GB/s): FP32 29.15 against 12.74 TFLOP/s */
    double attention_s =
        single.machine->devices[0].profiles[0].per_row.value / 2 * 29.15 / 12.74;
    assert_near("attention of half the heads, s a row", slow->profiles[0].per_row.value,
                attention_s, 0.002);
    double slow_Bps = row_bytes / 2 / (ordered_s - row_bytes / 2 / fast_Bps - attention_s);
    double probe_Bps = kvs_path_rate_Bps(pair.machine, 1, KVS_H2D);
    assert_near("slow link at 544 B rows, B/s",
                probe_Bps * kvs_row_efficiency(&slow->engines.row_curve, 544), slow_Bps, 0.002);
    assert_near("fast card, fixed, s", fast->profiles[0].fixed.value,
                single.machine->devices[0].profiles[0].fixed.value / 2, 0.01);
    study_machine_free(&pair);
    study_machine_free(&single);
}

/* The slow link's probe, and the pageable rate, are rows of links.csv. */
static void test_probe_rows(void **state)
{
    (void)state;
    struct study_machine pair;
    struct kvs_table *table = study_table_load("traces/published/links.csv");
    size_t n_found = 0;
    study_machine_load(&pair, "rtx4070-rtx3060");
    for (size_t i = 0; i < kvs_table_n_rows(table); i++) {
        double gb_s = study_number(table, i, "rate_GBps");
        n_found += strcmp(study_cell(table, i, "method"), "start-up probe") == 0 &&
                   gb_s * 1e9 == kvs_path_rate_Bps(pair.machine, 1, KVS_H2D);
        n_found += gb_s * 1e9 == pair.machine->host.pageable_rate.value;
    }
    assert_int_equal(n_found, 2);
    kvs_table_destroy(table);
    study_machine_free(&pair);
}

/* `fixed` is what makes the simulated ordered rows equal the measured ones in the mean. */
static double mean_residual_ms(const char *machine, const char *path, kvs_split_mode mode)
{
    struct study_machine m;
    struct kvs_case c;
    struct kvs_llm *llm = study_model_load("qwen3.8-27b");
    struct kvs_table *table = study_table_load(path);
    double sum = 0.0;
    study_machine_load(&m, machine);
    study_case_init(&c, &m, llm);
    c.placement.mode = mode;
    for (size_t i = 0; i < KVS_COUNT_OF(depths); i++) {
        c.workload.depth = depths[i];
        sum += study_predict(&c, &kvs_policy_ordered, false).token_ms -
               1e3 / study_mean_ts(table, "current", "ordered", depths[i]);
    }
    kvs_table_destroy(table);
    study_machine_free(&m);
    kvs_llm_destroy(llm);
    print_message("%s: mean residual of the ordered rows %+.4f ms\n", machine,
                  sum / KVS_COUNT_OF(depths));
    return sum / KVS_COUNT_OF(depths);
}

static void test_fixed_compute(void **state)
{
    (void)state;
    assert_true(fabs(mean_residual_ms("rtx4070", "traces/published/rtx4070-ab.csv",
                                      KVS_SPLIT_NONE)) < 0.01);
    assert_true(fabs(mean_residual_ms("rtx4070-rtx3060", "traces/published/x4-bound.csv",
                                      KVS_SPLIT_TENSOR)) < 0.01);
}

/* h200: every measured figure is a cell of the tables of that machine. */
static void test_h200_costs(void **state)
{
    (void)state;
    struct study_machine m;
    struct kvs_table *table = study_table_load("traces/h200/host-costs.csv");
    study_machine_load(&m, "h200");
    const struct {
        const char *what;
        double us;
    } costs[] = {{"kernel_launch_us", m.machine->host.kernel_launch.value * 1e6},
                 {"event_pair_us", m.machine->host.event_pair.value * 1e6},
                 {"copy_call_us", m.machine->host.copy_call.value * 1e6},
                 {"kernel_gap_us", m.machine->devices[0].kernel_gap.value * 1e6}};
    size_t n_found = 0;
    for (size_t i = 0; i < kvs_table_n_rows(table); i++)
        for (size_t k = 0; k < KVS_COUNT_OF(costs); k++) {
            if (strcmp(study_cell(table, i, "field"), costs[k].what) != 0)
                continue;
            assert_near(costs[k].what, costs[k].us, study_number(table, i, "value"), 0.05);
            n_found++;
        }
    assert_int_equal(n_found, KVS_COUNT_OF(costs));
    kvs_table_destroy(table);
    study_machine_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_card_rates), cmocka_unit_test(test_two_card_rates),
        cmocka_unit_test(test_probe_rows),     cmocka_unit_test(test_fixed_compute),
        cmocka_unit_test(test_h200_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
