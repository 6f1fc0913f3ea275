/* The grammar of cli/sweep.h. Good cases follow the examples of llama-bench's README. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cli/sweep.h"

static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n;
        uint64_t values[8];
    } cases[] = {
        {"4096", 1, {4096}},
        {"4096,16384", 2, {4096, 16384}},
        {"16384,4096,4096", 3, {16384, 4096, 4096}}, /* written order, repeats kept */
        {"0-4", 5, {0, 1, 2, 3, 4}},
        {"7-7", 1, {7}},
        {"0-8+2", 5, {0, 2, 4, 6, 8}},
        {"0-8+3", 3, {0, 3, 6}}, /* 9 is beyond the end */
        {"4096-65536*2", 5, {4096, 8192, 16384, 32768, 65536}},
        {"3-20*3", 2, {3, 9}}, /* 27 is beyond the end */
        {"1,4-6,10-30+10", 7, {1, 4, 5, 6, 10, 20, 30}},
        /* near 2^64 - 1 = 18446744073709551615 nothing wraps */
        {"18446744073709551614-18446744073709551615", 2, {UINT64_MAX - 1, UINT64_MAX}},
        {"9223372036854775808-18446744073709551615*2", 1, {UINT64_MAX / 2 + 1}},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(cases); i++) {
        struct kvs_sweep sweep = {0};
        struct kvs_error err;
        assert_int_equal(kvs_sweep_add(&sweep, "-d", cases[i].text, &err), KVS_OK);
        if (sweep.n != cases[i].n ||
            memcmp(sweep.items, cases[i].values, sweep.n * sizeof(uint64_t)) != 0)
            fail_msg("%s: %zu values, first %llu", cases[i].text, sweep.n,
                     (unsigned long long)sweep.items[0]);
        kvs_sweep_fini(&sweep);
    }
}

static void test_repeats_append(void **state)
{
    (void)state;
    struct kvs_sweep sweep = {0};
    assert_int_equal(kvs_sweep_add(&sweep, "-d", "1", NULL), KVS_OK);
    assert_int_equal(kvs_sweep_add(&sweep, "-d", "2-3", NULL), KVS_OK);
    const uint64_t want[] = {1, 2, 3};
    assert_int_equal(sweep.n, 3);
    assert_memory_equal(sweep.items, want, sizeof(want));
    kvs_sweep_fini(&sweep);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        kvs_status status;
    } cases[] = {
        {"", "invalid value: \"\" ends where a number is expected", KVS_EINVAL},
        {"4096-x", "invalid range: \"x\" is not a whole number", KVS_EINVAL},
        {"4096x", "invalid value: \"x\" is trailing text", KVS_EINVAL},
        {"4096,", "invalid value: \"4096,\" ends where a number is expected", KVS_EINVAL},
        {"1,,2", "invalid value: \",2\" is not a whole number", KVS_EINVAL},
        {" 1", "invalid value: \" 1\" is not a whole number", KVS_EINVAL},
        {"1 ", "invalid value: \" \" is trailing text", KVS_EINVAL},
        {"-1", "invalid value: \"-1\" is not a whole number", KVS_EINVAL},
        {"1.5", "invalid value: \".5\" is trailing text", KVS_EINVAL},
        {"1+2", "invalid value: \"+2\" is trailing text", KVS_EINVAL},
        {"0-8+", "invalid range: \"0-8+\" ends where a number is expected", KVS_EINVAL},
        {"0-8+2-", "invalid value: \"-\" is trailing text", KVS_EINVAL},
        {"1,8-4", "invalid range: \"8-4\" goes down", KVS_EINVAL},
        {"0-8+0", "invalid range: \"0-8+0\" does not advance by +0", KVS_EINVAL},
        {"1-8*1", "invalid range: \"1-8*1\" does not advance; a factor is 2 or more",
         KVS_EINVAL},
        {"0-8*2", "invalid range: \"0-8*2\" does not advance from 0", KVS_EINVAL},
        {"18446744073709551616", "invalid value: \"18446744073709551616\" is too large",
         KVS_ERANGE},
        {"0-65536", "too many values: \"0-65536\" exceeds the limit of 65536", KVS_ERANGE},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(cases); i++) {
        struct kvs_sweep sweep = {0};
        struct kvs_error err = {0};
        char place[64];
        snprintf(place, sizeof(place), "-d %s", cases[i].text);
        kvs_status status = kvs_sweep_add(&sweep, "-d", cases[i].text, &err);
        if (status != cases[i].status || strstr(err.text, cases[i].message) != err.text)
            fail_msg("%s: status %d: %s", cases[i].text, (int)status, err.text);
        assert_string_equal(err.file, place);
        kvs_sweep_fini(&sweep);
    }
    assert_int_equal(kvs_mem_live_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_repeats_append),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
