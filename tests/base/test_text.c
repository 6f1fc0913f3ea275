/* Growing strings, UTF-8, nearest names, whole files. */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tests/base/base_test.h"

static void test_append(void **state)
{
    (void)state;
    struct kvs_text text = {0};
    for (int i = 0; i < 300; i++)
        kvs_text_printf(&text, "%d,", i);
    kvs_text_puts(&text, "end");
    kvs_text_append(&text, "!x", 1);
    assert_int_equal(text.status, KVS_OK);
    /* 10 x 2 + 90 x 3 + 200 x 4 bytes, then 4 */
    assert_int_equal(text.n, 1094);
    assert_int_equal(strlen(text.data), text.n);
    assert_string_equal(text.data + text.n - 9, ",299,end!");
    kvs_text_fini(&text);
}

static void test_failure_sticks(void **state)
{
    (void)state;
    struct kvs_text text = {0};
    kvs_text_puts(&text, "a");
    kvs_mem_fail_after(1);
    kvs_text_printf(&text, "%100d", 1);
    assert_int_equal(text.status, KVS_ENOMEM);
    kvs_text_puts(&text, "b");
    assert_string_equal(text.data, "a");
    kvs_text_fini(&text);
}

static void test_utf8(void **state)
{
    (void)state;
    /* Unicode 15, table 3-7 and its edges */
    static const struct {
        const char *bytes;
        size_t len;
    } rows[] = {
        {"a", 1},
        {"\xc3\xa9", 2},
        {"\xe2\x82\xac", 3},
        {"\xf0\x9f\x98\x80", 4},
        {"\xf4\x8f\xbf\xbf", 4}, /* U+10FFFF */
        {"\xf4\x90\x80\x80", 0}, /* U+110000 */
        {"\xc0\x80", 0},         /* overlong */
        {"\xe0\x9f\xbf", 0},     /* overlong */
        {"\xf0\x8f\xbf\xbf", 0}, /* overlong */
        {"\xed\xa0\x80", 0},     /* surrogate */
        {"\xed\x9f\xbf", 3},
        {"\x80", 0},
        {"\xe2\x82", 0},
        {"\xff", 0},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(rows); i++)
        assert_int_equal(kvs_utf8_len(rows[i].bytes, strlen(rows[i].bytes)), rows[i].len);
}

static void test_nearest(void **state)
{
    (void)state;
    static const char *const known[] = {"memory", "links", "devices", "device"};
    static const struct {
        const char *word;
        const char *nearest;
    } rows[] = {
        {"memry", "memory"},                  /* 1 inserted, 5 letters */
        {"mmeory", "memory"},                 /* 1 swapped */
        {"devics", "devices"},                /* 1 away from both: the first */
        {"link", "links"},     {"lin", NULL}, /* 2 away, 1 allowed */
        {"DE-VICE", "device"},                /* case and separators do not count */
        {"xyzzy", NULL},       {"", NULL},    {"memory", "memory"},
    };
    for (size_t i = 0; i < KVS_COUNT_OF(rows); i++) {
        const char *got = kvs_nearest(rows[i].word, known, KVS_COUNT_OF(known));
        if (rows[i].nearest == NULL)
            assert_null(got);
        else
            assert_string_equal(got, rows[i].nearest);
    }
}

static void test_file_round_trip(void **state)
{
    (void)state;
    char dir[] = "/tmp/kvs-text-XXXXXX";
    char path[64];
    struct kvs_error err;
    char *data;
    size_t n;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/a.txt", dir);
    assert_int_equal(kvs_file_write(path, "one\0two", 7, &err), KVS_OK);
    assert_int_equal(kvs_file_write(path, "three\0!", 7, &err), KVS_OK);
    assert_int_equal(kvs_file_read(path, 7, &data, &n, &err), KVS_OK);
    assert_int_equal(n, 7);
    assert_memory_equal(data, "three\0!\0", 8);
    kvs_mem_free(data);
    assert_int_equal(kvs_file_read(path, 6, &data, &n, &err), KVS_ERANGE);
    assert_string_equal(err.file, path);
    assert_int_equal(kvs_file_check_writable(path, &err), KVS_OK);
    assert_int_equal(kvs_file_read(path, 7, &data, &n, &err), KVS_OK);
    assert_memory_equal(data, "three\0!\0", 8); /* as it was */
    kvs_mem_free(data);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(kvs_file_check_writable(path, &err), KVS_OK);
    assert_int_equal(rmdir(dir), 0); /* no temporary file left */
}

static void test_file_faults(void **state)
{
    (void)state;
    struct kvs_error err;
    char *data;
    size_t n;
    assert_int_equal(kvs_file_read("/tmp", 99, &data, &n, &err), KVS_EINVAL);
    assert_string_equal(err.text, "is a directory, expected a file");
    assert_int_equal(kvs_file_read("/nonexistent/x", 99, &data, &n, &err), KVS_ENOTFOUND);
    assert_string_equal(err.file, "/nonexistent/x");
    assert_int_equal(kvs_file_write("/nonexistent/x", "", 0, &err), KVS_EIO);
    assert_int_equal(kvs_file_write("/tmp", "a", 1, &err), KVS_EIO);
    assert_int_equal(kvs_file_check_writable("/nonexistent/x", &err), KVS_EIO);
    assert_string_equal(err.file, "/nonexistent/x");
    assert_int_equal(kvs_file_check_writable("/tmp", &err), KVS_EIO);
    assert_int_equal(kvs_file_check_writable("/dev/null", &err), KVS_OK);
    assert_int_equal(kvs_file_write("/dev/null", "a", 1, &err), KVS_OK);
    struct stat info;
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode)); /* not replaced by a file */
    assert_int_equal(kvs_file_read("/dev/null", 0, &data, &n, &err), KVS_OK);
    assert_int_equal(n, 0);
    assert_string_equal(data, "");
    kvs_mem_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_failure_sticks),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_file_round_trip),
        cmocka_unit_test(test_file_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
