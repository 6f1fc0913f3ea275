/* Levels decide what reaches stderr, and in which words. */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/base/base_test.h"

static void test_levels(void **state)
{
    (void)state;
    char buf[256] = "";
    FILE *sink = tmpfile();
    assert_non_null(sink);
    int saved = dup(STDERR_FILENO);
    assert_true(saved >= 0 && dup2(fileno(sink), STDERR_FILENO) >= 0);
    kvs_log(KVS_LOG_WARN, "link", "gpu%d is slow", 1);
    kvs_log(KVS_LOG_INFO, "link", "not shown");
    kvs_log_set_level(KVS_LOG_DEBUG);
    kvs_log(KVS_LOG_DEBUG, "event", "shown");
    kvs_log_set_level(KVS_LOG_ERROR);
    kvs_log(KVS_LOG_WARN, "link", "not shown");
    kvs_log(KVS_LOG_ERROR, "plan", "shown");
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    rewind(sink);
    size_t n = fread(buf, 1, sizeof(buf) - 1, sink);
    fclose(sink);
    buf[n] = '\0';
    assert_string_equal(
        buf, "warning: link: gpu1 is slow\ndebug: event: shown\nerror: plan: shown\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
