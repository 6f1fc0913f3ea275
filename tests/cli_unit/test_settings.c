/* The defaults that help names are those that an experiment gets. */
#include "cli/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static const char *preset_of(const char *name)
{
    const struct kvs_option_group *const groups[] = {&kvs_workload_group, &kvs_placement_group,
                                                     &kvs_transport_group};
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (size_t i = 0; i < groups[g]->n; i++)
            if (strcmp(groups[g]->options[i].name, name) == 0)
                return groups[g]->options[i].preset;
    fail_msg("no option %s", name);
    return NULL;
}

static void test_presets(void **state)
{
    (void)state;
    static const struct {
        const char *option;
        kvs_setting setting;
    } pairs[] = {{"n-depth", KVS_SETTING_DEPTH},
                 {"n-gen", KVS_SETTING_N_GEN},
                 {"parallel", KVS_SETTING_N_PARALLEL},
                 {"n-rows", KVS_SETTING_N_ROWS},
                 {"ctx-size", KVS_SETTING_N_CTX},
                 {"cache-type-k", KVS_SETTING_TYPE_K},
                 {"cache-type-v", KVS_SETTING_TYPE_V},
                 {"head-split", KVS_SETTING_HEAD_SPLIT},
                 {"kv-gpu-layers", KVS_SETTING_KV_GPU_LAYERS},
                 {"kvpb", KVS_SETTING_KVPB},
                 {"arbitration", KVS_SETTING_ARBITRATION}};
    struct kvs_experiment e = {0};
    struct kvs_error err;
    assert_int_equal(kvs_experiment_complete(&e, 2, &err), KVS_OK);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct kvs_text text = {0};
        assert_int_equal(e.values[pairs[i].setting].n, 1);
        kvs_experiment_print_value(&e, pairs[i].setting, e.values[pairs[i].setting].items[0],
                                   &text);
        assert_string_equal(text.data, preset_of(pairs[i].option));
        kvs_text_fini(&text);
    }
    assert_int_equal(e.values[KVS_SETTING_SPLIT_MODE].items[0], KVS_SPLIT_LAYER);
    assert_string_equal(preset_of("split-mode"), "layer, none on one device");
    assert_int_equal(e.arms.n, 2);
    assert_string_equal(e.arms.items[0].name, "ordered");
    assert_string_equal(e.arms.items[1].name, "pipelined");
    assert_string_equal(preset_of("policy"), "ordered,pipelined");
    kvs_experiment_fini(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_presets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
