/* Test helper: a model of the catalogue, which must load without a complaint. */
#ifndef KVS_TESTS_MODELS_CATALOGUE_H
#define KVS_TESTS_MODELS_CATALOGUE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "models/llm.h"

/* Returns to caller: kvs_llm_destroy. */
static inline struct kvs_llm *catalogue_load(const char *name)
{
    char path[512];
    struct kvs_diags diags;
    struct kvs_error err;
    struct kvs_llm *llm = NULL;
    (void)snprintf(path, sizeof(path), "%s/models/llm/%s.yaml", KVS_SOURCE_DIR, name);
    kvs_diags_init(&diags);
    const kvs_status status = kvs_llm_load(path, &diags, &llm, &err);
    kvs_diags_print(&diags, stderr);
    assert_int_equal(status, KVS_OK);
    assert_int_equal(diags.n_errors, 0);
    kvs_diags_fini(&diags);
    return llm;
}

#endif
