/* Machine files read with the cards of models/gpu/; include after cmocka's headers. */
#ifndef KVS_TESTS_MACHINE_CASE_H
#define KVS_TESTS_MACHINE_CASE_H

#include <stdio.h>

#include "base/mem.h"
#include "base/text.h"
#include "models/machine.h"

#define GPU_DIR KVS_SOURCE_DIR "/models/gpu/"

struct card_file {
    char *data; /* of the last card asked for */
    size_t n;
};

static inline const char *card_lookup(void *context, const char *gpu_name, size_t *out_n,
                                      const char **out_file, const char **out_nearest)
{
    struct card_file *file = context;
    char path[512];
    kvs_mem_free(file->data);
    (void)out_file;
    *out_nearest = NULL;
    (void)snprintf(path, sizeof path, GPU_DIR "%s.yaml", gpu_name);
    assert_int_equal(kvs_file_read(path, 1 << 20, &file->data, &file->n, NULL), KVS_OK);
    *out_n = file->n;
    return file->data;
}

/* A whole machine file, without a fault. Returns to caller: kvs_machine_destroy. */
static inline struct kvs_machine *machine_parse(const char *bytes, size_t n)
{
    struct card_file file = {0};
    struct kvs_diags diags;
    struct kvs_machine *machine = NULL;
    kvs_diags_init(&diags);
    kvs_status status =
        kvs_machine_parse("file.yaml", bytes, n, card_lookup, &file, &diags, &machine, NULL);
    kvs_diags_print(&diags, stderr);
    if (status != KVS_OK)
        fprintf(stderr, "%.*s\n", (int)n, bytes);
    assert_int_equal(status, KVS_OK);
    kvs_mem_free(file.data);
    kvs_diags_fini(&diags);
    return machine;
}

#endif
