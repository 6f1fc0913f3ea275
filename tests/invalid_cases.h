/*
 * Folders of files that are refused: <folder>/<case>/input.yaml and, in `error`, all that is
 * printed for it. KVS_UPDATE_GOLDEN=1 rewrites the errors; the difference is to be read before
 * it is committed.
 */
#ifndef KVS_TESTS_INVALID_CASES_H
#define KVS_TESTS_INVALID_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/yaml.h"

/* What is printed for bytes that must be refused. Returns to caller: kvs_mem_free. */
typedef char *(*invalid_complaints)(const char *bytes, size_t n);

/* What kvs_diags_print says; ends the diags. Returns to caller: kvs_mem_free. */
static inline char *invalid_printed(struct kvs_diags *diags)
{
    void *text = NULL;
    FILE *out = tmpfile();
    assert_non_null(out);
    kvs_diags_print(diags, out);
    kvs_diags_fini(diags);
    long size_bytes = ftell(out);
    assert_true(size_bytes > 0);
    assert_int_equal(kvs_mem_alloc((size_t)size_bytes + 1, 1, &text, NULL), KVS_OK);
    rewind(out);
    assert_int_equal(fread(text, 1, (size_t)size_bytes, out), size_bytes);
    (void)fclose(out);
    return text;
}

static inline bool invalid_case_is_told(const char *folder, const char *name,
                                        invalid_complaints complaints_of)
{
    char path[512], *input = NULL, *expected = NULL;
    size_t n, n_expected;
    (void)snprintf(path, sizeof path, "%s/%s/input.yaml", folder, name);
    assert_int_equal(kvs_file_read(path, KVS_YAML_MAX_BYTES, &input, &n, NULL), KVS_OK);
    char *found = complaints_of(input, n);
    (void)snprintf(path, sizeof path, "%s/%s/error", folder, name);
    if (getenv("KVS_UPDATE_GOLDEN"))
        assert_int_equal(kvs_file_write(path, found, strlen(found), NULL), KVS_OK);
    assert_int_equal(kvs_file_read(path, KVS_YAML_MAX_BYTES, &expected, &n_expected, NULL),
                     KVS_OK);
    bool is_same = strcmp(found, expected) == 0;
    if (!is_same)
        print_error("%s\n--- expected\n%s--- found\n%s", name, expected, found);
    kvs_mem_free(found);
    kvs_mem_free(expected);
    kvs_mem_free(input);
    return is_same;
}

/* Every case of the folder, which has n_min at least. */
static inline void invalid_cases_run(const char *folder, unsigned n_min,
                                     invalid_complaints complaints_of)
{
    DIR *dir = opendir(folder);
    unsigned n = 0, n_wrong = 0;
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (entry->d_name[0] == '.')
            continue;
        n_wrong += !invalid_case_is_told(folder, entry->d_name, complaints_of);
        n++;
    }
    assert_int_equal(closedir(dir), 0);
    assert_int_equal(n_wrong, 0);
    assert_true(n >= n_min);
}

#endif
