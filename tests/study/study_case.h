/* Test helper: machines and models of the catalogue, published tables, one prediction. */
#ifndef KVS_TESTS_STUDY_STUDY_CASE_H
#define KVS_TESTS_STUDY_STUDY_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/table.h"
#include "sim/exec_sim.h"
#include "study/predict.h"

static inline char *study_read(const char *path, size_t *n)
{
    char full[512];
    char *bytes = NULL;
    struct kvs_error err;
    snprintf(full, sizeof full, "%s/%s", KVS_SOURCE_DIR, path);
    kvs_status status = kvs_file_read(full, (size_t)1 << 22, &bytes, n, &err);
    if (status != KVS_OK)
        kvs_error_print(&err, stderr);
    assert_int_equal(status, KVS_OK);
    return bytes;
}

/* Cards that the lookup handed out, freed with the machine. */
struct study_machine {
    struct kvs_machine *machine;
    char *cards[8];
    size_t n_cards;
};

static inline const char *study_card(void *context, const char *name, size_t *n,
                                     const char **out_file, const char **nearest)
{
    (void)out_file;
    struct study_machine *m = context;
    char path[128];
    snprintf(path, sizeof path, "models/gpu/%s.yaml", name);
    *nearest = NULL;
    assert_true(m->n_cards < 8);
    m->cards[m->n_cards] = study_read(path, n);
    return m->cards[m->n_cards++];
}

static inline void study_machine_load(struct study_machine *m, const char *name)
{
    char path[128];
    size_t n;
    struct kvs_diags diags;
    struct kvs_error err;
    *m = (struct study_machine){0};
    snprintf(path, sizeof path, "models/machine/%s.yaml", name);
    char *bytes = study_read(path, &n);
    kvs_diags_init(&diags);
    kvs_status status =
        kvs_machine_parse(path, bytes, n, study_card, m, &diags, &m->machine, &err);
    kvs_diags_print(&diags, stderr);
    assert_int_equal(status, KVS_OK);
    kvs_diags_fini(&diags);
    kvs_mem_free(bytes);
}

static inline void study_machine_free(struct study_machine *m)
{
    kvs_machine_destroy(m->machine);
    for (size_t i = 0; i < m->n_cards; i++)
        kvs_mem_free(m->cards[i]);
}

static inline struct kvs_llm *study_model_load(const char *name)
{
    char path[512];
    struct kvs_diags diags;
    struct kvs_error err;
    struct kvs_llm *llm = NULL;
    snprintf(path, sizeof path, "%s/models/llm/%s.yaml", KVS_SOURCE_DIR, name);
    kvs_diags_init(&diags);
    kvs_status status = kvs_llm_load(path, &diags, &llm, &err);
    kvs_diags_print(&diags, stderr);
    assert_int_equal(status, KVS_OK);
    kvs_diags_fini(&diags);
    return llm;
}

static inline struct kvs_table *study_table_load(const char *path)
{
    char full[512];
    struct kvs_error err;
    struct kvs_table *table = NULL;
    snprintf(full, sizeof full, "%s/%s", KVS_SOURCE_DIR, path);
    kvs_status status = kvs_table_load(full, &table, &err);
    if (status != KVS_OK)
        kvs_error_print(&err, stderr);
    assert_int_equal(status, KVS_OK);
    return table;
}

static inline const char *study_cell(const struct kvs_table *table, size_t row,
                                     const char *column)
{
    const char *text = "";
    assert_int_equal(kvs_table_str(table, row, column, &text, NULL), KVS_OK);
    return text;
}

static inline double study_number(const struct kvs_table *table, size_t row, const char *column)
{
    double value = 0.0;
    assert_int_equal(kvs_table_f64(table, row, column, &value, NULL), KVS_OK);
    return value;
}

/* Mean t/s of the rows of a build, policy and depth; fails when there is none. */
static inline double study_mean_ts(const struct kvs_table *table, const char *build,
                                   const char *policy, uint64_t depth)
{
    double sum = 0.0;
    size_t n = 0;
    for (size_t i = 0; i < kvs_table_n_rows(table); i++) {
        if (strcmp(study_cell(table, i, "build"), build) != 0 ||
            strcmp(study_cell(table, i, "policy"), policy) != 0 ||
            study_number(table, i, "n_depth") != (double)depth)
            continue;
        sum += study_number(table, i, "avg_ts");
        n++;
    }
    assert_true(n > 0);
    return sum / (double)n;
}

static inline struct kvs_prediction
study_predict(const struct kvs_case *c, const struct kvs_policy *policy, bool wants_edges)
{
    struct kvs_prediction p;
    struct kvs_error err;
    struct kvs_predict_options options = {.exec = &kvs_exec_sim, .wants_edges = wants_edges};
    kvs_status status = kvs_predict(c, policy, &options, &p, &err);
    if (status != KVS_OK)
        kvs_error_print(&err, stderr);
    assert_int_equal(status, KVS_OK);
    return p;
}

/* The origin's settings: q8_0, pinned, 128 tokens, look-ahead 1, budget 512 MiB. */
static inline void study_case_init(struct kvs_case *c, const struct study_machine *m,
                                   const struct kvs_llm *llm)
{
    kvs_case_init(c);
    c->machine = m->machine;
    c->llm = llm;
    c->workload.n_gen = 128;
    c->transport.lookahead = 1;
    c->transport.budget_bytes = 512 * KVS_MIB;
}

#endif
