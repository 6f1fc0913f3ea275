/*
 * One digest for a workload, whatever moves its bytes: the cases of digest_case.h on the serial
 * executor, and on the host's threads.
 *
 * A time scale of 1 leaves microseconds to an operation, far less than a thread takes to wake up:
 * all of them are late, and come in another order every time. The bytes are the same.
 */
#include "real/exec_host.h"
#include "tests/real/digest_case.h"

static uint32_t stride;
static struct kvs_run last;

static uint64_t run_once(const struct kvs_exec_ops *exec, bool verifies)
{
    struct kvs_exec_options with = {
        .seed = DIGEST_SEED, .verifies = verifies, .time_scale = 1.0};
    kvs_run_fini(&last);
    TOY_OK(kvs_exec_once(exec, toy.plan, &toy.c, &with, &last, NULL, err));
    assert_true(last.has_digest);
    return last.digest;
}

/* What does not depend on time is exactly what the simulator counts. */
static void expect_totals(const struct kvs_run *run)
{
    struct kvs_exec_options whole = {.no_repeat_detection = true};
    struct kvs_run sim;
    TOY_OK(kvs_exec_once(&kvs_exec_sim, toy.plan, &toy.c, &whole, &sim, NULL, err));
    assert_int_equal(run->n_tokens, sim.n_tokens);
    assert_int_equal(run->n_dispatched, sim.n_dispatched);
    assert_int_equal(run->n_devices, sim.n_devices);
    assert_int_equal(run->n_links, sim.n_links);
    for (uint32_t d = 0; d < sim.n_devices; d++) {
        assert_memory_equal(run->devices[d].moved_bytes, sim.devices[d].moved_bytes,
                            sizeof sim.devices[d].moved_bytes);
        assert_memory_equal(run->devices[d].tag_bytes, sim.devices[d].tag_bytes,
                            sizeof sim.devices[d].tag_bytes);
    }
    for (uint32_t l = 0; l < sim.n_links; l++)
        assert_memory_equal(run->links[l].moved_bytes, sim.links[l].moved_bytes,
                            sizeof sim.links[l].moved_bytes);
    assert_int_equal(run->host.issue_ps, sim.host.issue_ps);
    assert_true(run->total_ps >= sim.host.issue_ps);
    kvs_run_fini(&sim);
}

/* Bytes are destroyed after use on one of the two. */
static bool is_right(uint32_t number, const struct digest_case *c, uint64_t expected)
{
    bool verifies = number % 2 == 1;
    bool serial = run_once(&kvs_exec_serial, !verifies) == expected;
    bool host = run_once(&kvs_exec_host, verifies) == expected;
    expect_totals(&last);
    if (!serial)
        print_message("serial: another digest of %s\n", digest_text(c));
    if (!host)
        print_message("host: another digest of %s\n", digest_text(c));
    return serial && host;
}

static void test_matrix(void **state)
{
    (void)state;
    digest_each(stride, is_right);
}

/* The thinned matrix has each two values of two axes in one of its cases. */
static void test_pairs(void **state)
{
    (void)state;
    static bool is_seen[DIGEST_AXES][DIGEST_AXES][DIGEST_ARMS][DIGEST_ARMS];
    uint32_t digits[DIGEST_AXES];
    for (uint32_t i = 0; i < DIGEST_CASES; i += DIGEST_STRIDE) {
        digest_digits(i, digits);
        for (unsigned a = 0; a < DIGEST_AXES; a++)
            for (unsigned b = 0; b < DIGEST_AXES; b++)
                is_seen[a][b][digits[a]][digits[b]] = true;
    }
    for (unsigned a = 0; a < DIGEST_AXES; a++)
        for (unsigned b = a + 1; b < DIGEST_AXES; b++)
            for (unsigned x = 0; x < digest_axes[a]; x++)
                for (unsigned y = 0; y < digest_axes[b]; y++)
                    if (!is_seen[a][b][x][y])
                        fail_msg("no case with value %u of axis %u and value %u of axis %u", x,
                                 a, y, b);
}

/* And each number of devices, look-ahead and split in one where continuous does not decline. */
static void test_continuous(void **state)
{
    (void)state;
    bool is_seen[DIGEST_AXES][DIGEST_ARMS] = {{false}};
    uint32_t digits[DIGEST_AXES];
    for (uint32_t i = 0; i < DIGEST_CASES; i += DIGEST_STRIDE) {
        struct digest_case c = digest_nth(i);
        digest_digits(i, digits);
        for (unsigned axis = 0; axis < DIGEST_AXES; axis++)
            is_seen[axis][digits[axis]] |= digest_is_continuous(&c);
    }
    for (unsigned axis = DIGEST_AXIS_DEVICES; axis <= DIGEST_AXIS_SPLIT; axis++)
        for (unsigned x = 0; x < digest_axes[axis]; x++)
            if (!is_seen[axis][x])
                fail_msg("continuous declines wherever axis %u has value %u", axis, x);
}

/* Both directions on one engine, a shared link, kernels one by one, chained first turns. */
static void set_machine(unsigned k)
{
    toy.machine.host.submit = k & 1 ? KVS_SUBMIT_KERNELS : KVS_SUBMIT_GRAPH;
    toy.machine.host.kernel_launch = toy_us(0.1);
    toy.machine.host.queue_limit = toy_figure(8);
    for (uint32_t d = 0; d < 2; d++) {
        toy.devices[d].engines.n_engines = k & 2 ? 1 : 2;
        toy.devices[d].engines.first_turn =
            k & 4 ? KVS_FIRST_TURN_CHAINED : KVS_FIRST_TURN_FREE;
        toy.devices[d].engines.bypass_bytes = toy_figure(2048);
        toy.profiles[d].copy_slowdown = toy_figure(0.1);
    }
    toy.links[0].mode = k & 1 ? KVS_LINK_SHARED : KVS_LINK_DUPLEX;
    toy_set_rate(&toy.links[0], TOY_RATE_BPS);
    toy.links[0].opposite[KVS_H2D] = toy_figure(k & 4 ? TOY_RATE_BPS / 2 : 0.0);
}

static void test_machines(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 2 * DIGEST_ARMS; k++) {
        struct digest_case c = digest_plain(k % DIGEST_ARMS, 2);
        c.mode = k < DIGEST_ARMS ? KVS_SPLIT_TENSOR : KVS_SPLIT_LAYER;
        digest_plan(&c);
        set_machine(k % 8);
        uint64_t expected = run_once(&kvs_exec_serial, false);
        if (run_once(&kvs_exec_host, false) != expected)
            fail_msg("machine %u: another digest of %s", k % 8, digest_text(&c));
        expect_totals(&last);
    }
}

static int tear_down(void **state)
{
    (void)state;
    kvs_run_fini(&last);
    toy_fini(&toy);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrix),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_continuous),
        cmocka_unit_test(test_machines),
    };
    stride = digest_stride(argc, argv);
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
