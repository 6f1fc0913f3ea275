/* Counters, zeroing, overflow checks and injected failures; arenas and arrays on top. */
#include <stdalign.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/mem.h"
#include "tests/base/base_test.h"

static void test_counters(void **state)
{
    (void)state;
    void *a;
    void *b;
    uint64_t start_bytes = kvs_mem_live_bytes();
    kvs_mem_peak_reset();
    assert_int_equal(kvs_mem_alloc(10, 8, &a, NULL), KVS_OK);
    assert_int_equal(kvs_mem_alloc(0, 8, &b, NULL), KVS_OK);
    assert_non_null(b);
    assert_int_equal((uintptr_t)a % alignof(max_align_t), 0);
    assert_int_equal(kvs_mem_live_bytes() - start_bytes, 80);
    assert_int_equal(kvs_mem_resize(&a, 3, 8, NULL), KVS_OK);
    assert_int_equal(kvs_mem_live_bytes() - start_bytes, 24);
    assert_int_equal(kvs_mem_peak_bytes() - start_bytes, 80);
    kvs_mem_free(a);
    kvs_mem_free(b);
    kvs_mem_free(NULL);
    assert_int_equal(kvs_mem_live_bytes(), start_bytes);
}

static void test_zeroed(void **state)
{
    (void)state;
    void *ptr;
    assert_int_equal(kvs_mem_alloc(4, 1, &ptr, NULL), KVS_OK);
    assert_memory_equal(ptr, "\0\0\0\0", 4);
    memcpy(ptr, "abcd", 4);
    assert_int_equal(kvs_mem_resize(&ptr, 8, 1, NULL), KVS_OK);
    assert_memory_equal(ptr, "abcd\0\0\0\0", 8);
    kvs_mem_free(ptr);
}

static void test_overflow(void **state)
{
    (void)state;
    struct kvs_error err;
    void *ptr = NULL;
    assert_int_equal(kvs_mem_alloc(SIZE_MAX / 2, 3, &ptr, &err), KVS_ENOMEM);
    assert_int_equal(kvs_mem_alloc(SIZE_MAX, 1, &ptr, &err), KVS_ENOMEM);
    assert_int_equal(err.status, KVS_ENOMEM);
    assert_null(ptr);
}

static void test_fail_after(void **state)
{
    (void)state;
    void *ptr[3] = {NULL, NULL, NULL};
    kvs_mem_fail_after(2);
    assert_int_equal(kvs_mem_alloc(1, 1, &ptr[0], NULL), KVS_OK);
    assert_int_equal(kvs_mem_alloc(1, 1, &ptr[1], NULL), KVS_ENOMEM);
    assert_int_equal(kvs_mem_alloc(1, 1, &ptr[2], NULL), KVS_OK);
    assert_null(ptr[1]);
    kvs_mem_fail_after(1);
    void *before = ptr[0];
    assert_int_equal(kvs_mem_resize(&ptr[0], 99, 1, NULL), KVS_ENOMEM);
    assert_ptr_equal(ptr[0], before);
    kvs_mem_free(ptr[0]);
    kvs_mem_free(ptr[2]);
}

static void test_strdup(void **state)
{
    (void)state;
    char *copy;
    assert_int_equal(kvs_mem_strdup("abc", &copy, NULL), KVS_OK);
    assert_string_equal(copy, "abc");
    kvs_mem_free(copy);
}

static void test_array(void **state)
{
    (void)state;
    uint64_t start_bytes = kvs_mem_live_bytes();
    struct kvs_error err;
    KVS_ARRAY(int) ids = {0};
    for (int i = 0; i < 1000; i++)
        assert_int_equal(KVS_ARRAY_PUSH(&ids, i * i, &err), KVS_OK);
    assert_int_equal(ids.n, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(ids.items[i], i * i);
    while (ids.n < ids.capacity)
        assert_int_equal(KVS_ARRAY_PUSH(&ids, 0, &err), KVS_OK);
    size_t full_n = ids.n;
    kvs_mem_fail_after(1);
    assert_int_equal(KVS_ARRAY_PUSH(&ids, 0, &err), KVS_ENOMEM);
    assert_int_equal(ids.n, full_n);
    assert_int_equal(KVS_ARRAY_RESERVE(&ids, SIZE_MAX, &err), KVS_ENOMEM);
    KVS_ARRAY_FREE(&ids);
    assert_int_equal(kvs_mem_live_bytes(), start_bytes);
}

static void test_arena(void **state)
{
    (void)state;
    uint64_t start_bytes = kvs_mem_live_bytes();
    struct kvs_arena arena = {0};
    unsigned char *blocks[600];
    for (size_t i = 0; i < KVS_COUNT_OF(blocks); i++) {
        void *ptr;
        size_t n = i == 300 ? 100000 : i;
        assert_int_equal(kvs_arena_alloc(&arena, n, 1, &ptr, NULL), KVS_OK);
        assert_int_equal((uintptr_t)ptr % alignof(max_align_t), 0);
        blocks[i] = ptr;
        for (size_t j = 0; j < n; j++)
            assert_int_equal(blocks[i][j], 0);
        memset(ptr, (int)(i & 0xFF), n);
    }
    for (size_t i = 1; i < KVS_COUNT_OF(blocks); i++) {
        assert_int_equal(blocks[i][0], i & 0xFF);
        assert_int_equal(blocks[i][i - 1], i & 0xFF);
    }
    kvs_arena_fini(&arena);
    assert_int_equal(kvs_mem_live_bytes(), start_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counters), cmocka_unit_test(test_zeroed),
        cmocka_unit_test(test_overflow), cmocka_unit_test(test_fail_after),
        cmocka_unit_test(test_strdup),   cmocka_unit_test(test_array),
        cmocka_unit_test(test_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
