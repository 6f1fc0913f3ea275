/* Cache types: block layouts, names, rounding to blocks. */
#include "models/kv_type.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/*
 * ggml block layouts: a 2-byte scale (and a 2-byte minimum for _1 types) in front of 32 values
 * of b bits: q8_0 2 + 32, q6_1 4 + 24, q6_0 2 + 24, q5_1 4 + 20, q5_0 2 + 20, q4_1 4 + 16, q4_0
 * and iq4_nl 2 + 16.
 */
static const struct {
    const char *name;
    uint32_t values;
    uint32_t bytes;
} blocks[] = {{"f32", 1, 4},    {"f16", 1, 2},    {"bf16", 1, 2},    {"q8_0", 32, 34},
              {"q6_1", 32, 28}, {"q6_0", 32, 26}, {"q5_1", 32, 24},  {"q5_0", 32, 22},
              {"q4_1", 32, 20}, {"q4_0", 32, 18}, {"iq4_nl", 32, 18}};

static void test_every_block(void **state)
{
    (void)state;
    assert_int_equal(KVS_COUNT_OF(blocks), KVS_KV_TYPE_COUNT);
    for (size_t i = 0; i < KVS_COUNT_OF(blocks); i++) {
        kvs_kv_type type;
        assert_int_equal(kvs_kv_type_parse(blocks[i].name, &type, NULL), KVS_OK);
        assert_string_equal(kvs_kv_type_name(type), blocks[i].name);
        assert_int_equal(kvs_kv_type_block_values(type), blocks[i].values);
        assert_int_equal(kvs_kv_type_block_bytes(type), blocks[i].bytes);
    }
}

static void test_bytes_round_up_to_blocks(void **state)
{
    (void)state;
    assert_int_equal(kvs_kv_type_bytes(KVS_KV_Q8_0, 0), 0);
    assert_int_equal(kvs_kv_type_bytes(KVS_KV_Q8_0, 1), 34);
    assert_int_equal(kvs_kv_type_bytes(KVS_KV_Q8_0, 32), 34);
    assert_int_equal(kvs_kv_type_bytes(KVS_KV_Q8_0, 33), 68);
    assert_int_equal(kvs_kv_type_bytes(KVS_KV_F16, 33), 66);
    /* 4 heads x 256 values: 1,088 bytes at q8_0, 576 at q4_0. */
    assert_int_equal(kvs_kv_type_bytes(KVS_KV_Q8_0, 1024), 1088);
    assert_int_equal(kvs_kv_type_bytes(KVS_KV_Q4_0, 1024), 576);
}

static void test_unknown_name_says_what_is_known(void **state)
{
    (void)state;
    kvs_kv_type type = KVS_KV_F16;
    struct kvs_error err = {0};
    assert_int_equal(kvs_kv_type_parse("q8_O", &type, &err), KVS_ENOTFOUND);
    assert_int_equal(type, KVS_KV_F16);
    assert_string_equal(err.text,
                        "unknown KV type \"q8_O\"; known: f32 f16 bf16 q8_0 q6_1 q6_0 "
                        "q5_1 q5_0 q4_1 q4_0 iq4_nl");
    assert_string_equal(err.hint, "did you mean q8_0?");
    assert_int_equal(kvs_kv_type_parse("", &type, &err), KVS_ENOTFOUND);
    assert_int_equal(kvs_kv_type_parse("nothing-like-it", &type, &err), KVS_ENOTFOUND);
    assert_string_equal(err.hint, "");
    assert_int_equal(kvs_kv_type_parse("Q8_0", &type, NULL), KVS_ENOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_block),
        cmocka_unit_test(test_bytes_round_up_to_blocks),
        cmocka_unit_test(test_unknown_name_says_what_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
