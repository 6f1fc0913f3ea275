/* Pieces of work on threads, results in order. */
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "tests/base/base_test.h"

enum { N = 500 };

struct sums {
    atomic_uint n_worked;
    uint64_t worked[N]; /* by any thread */
    uint64_t taken[N];  /* in order */
    size_t n_taken;
    size_t bad;  /* the piece that fails; N: none */
    size_t last; /* the piece whose taking fails; N: none */
};

static kvs_status work(void *context, size_t i, struct kvs_error *err)
{
    struct sums *s = context;
    uint64_t sum = i;
    for (size_t k = 0; k < (i % 7) * 1000; k++) /* pieces end out of order */
        sum = sum * 6364136223846793005u + 1442695040888963407u;
    s->worked[i] = sum;
    atomic_fetch_add(&s->n_worked, 1);
    return i == s->bad ? kvs_error_set(err, KVS_ENOFIT, "piece %zu", i) : KVS_OK;
}

static kvs_status take(void *context, size_t i, kvs_status status, struct kvs_error *err)
{
    struct sums *s = context;
    assert_int_equal(i, s->n_taken);
    s->taken[s->n_taken++] = s->worked[i];
    if (status != KVS_OK) {
        assert_int_equal(i, s->bad);
        assert_string_equal(err->text, "piece 123");
        return s->last == N ? KVS_OK : status;
    }
    return i == s->last ? kvs_error_set(err, KVS_EIO, "taking %zu", i) : KVS_OK;
}

static const unsigned n_threads[] = {0, 1, 2, 3, 16, 1000};

static kvs_status run(struct sums *s, unsigned threads, size_t n, struct kvs_error *err)
{
    struct kvs_parallel parallel = {
        .n = n, .n_threads = threads, .context = s, .work = work, .take = take};
    return kvs_parallel_run(&parallel, err);
}

static void test_order(void **state)
{
    (void)state;
    static struct sums alone, s;
    alone = (struct sums){.bad = N, .last = N};
    assert_int_equal(run(&alone, 1, N, NULL), KVS_OK);
    for (size_t t = 0; t < KVS_COUNT_OF(n_threads); t++) {
        s = (struct sums){.bad = 123, .last = N}; /* a fault that is taken goes no further */
        assert_int_equal(run(&s, n_threads[t], N, NULL), KVS_OK);
        assert_int_equal(s.n_taken, N);
        assert_int_equal(s.n_worked, N);
        assert_memory_equal(s.taken, alone.taken, sizeof s.taken);
    }
    assert_int_equal(run(&alone, 0, 0, NULL), KVS_OK);
}

static void test_fault(void **state)
{
    (void)state;
    static struct sums s;
    for (size_t t = 0; t < KVS_COUNT_OF(n_threads); t++) {
        struct kvs_error err = {0};
        s = (struct sums){.bad = 123, .last = 200}; /* work's own fault comes first */
        assert_int_equal(run(&s, n_threads[t], N, &err), KVS_ENOFIT);
        assert_string_equal(err.text, "piece 123");
        assert_int_equal(s.n_taken, 124);
        s = (struct sums){.bad = N, .last = 77};
        assert_int_equal(run(&s, n_threads[t], N, &err), KVS_EIO);
        assert_string_equal(err.text, "taking 77");
        assert_int_equal(s.n_taken, 78);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    static struct sums s;
    struct kvs_error err = {0};
    s = (struct sums){.bad = N, .last = N};
    kvs_mem_fail_after(1);
    assert_int_equal(run(&s, 4, N, &err), KVS_ENOMEM);
    assert_int_equal(s.n_worked, 0);
    kvs_mem_fail_after(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_fault),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
