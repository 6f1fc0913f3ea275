/* Turns, memory, stops and digests with an executor that only writes down what it is asked. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "study/replay.h"

#define N_ARMS 3

/* "oA" opened, "!A" refused, "rA" ran, "tA" ran and was recorded, "cA" closed. */
static struct fake {
    struct kvs_text log;
    size_t n_open;
    size_t max_open;          /* sessions that memory holds */
    char refused;             /* arm that is never opened */
    kvs_status refusal;       /* why */
    size_t n_runs;            /* of all arms */
    size_t stop_at;           /* run in which the flag is raised; 0: never */
    size_t fail_at;           /* run that ends with a device failure; 0: never */
    uint64_t digests[N_ARMS]; /* of each arm */
    bool wavers;              /* the second arm's digest changes with every run */
    volatile sig_atomic_t stop;
} fake;

static char fake_name(const struct kvs_plan *plan)
{
    return plan->policy[0];
}

static kvs_status fake_open(const struct kvs_plan *plan, const struct kvs_case *c,
                            const struct kvs_exec_options *options, void **session,
                            struct kvs_error *err)
{
    char name = fake_name(plan);
    void *memory;
    (void)c;
    assert_non_null(options->busy_factors);
    assert_true(options->busy_factors[0] == name - 'A');
    if (fake.n_open >= fake.max_open || fake.refused == name) {
        kvs_status why = fake.refused == name ? fake.refusal : KVS_ENOMEM;
        kvs_text_printf(&fake.log, "!%c ", name);
        return kvs_error_set(err, why, "refused");
    }
    KVS_TRY(kvs_mem_alloc(1, sizeof plan, &memory, err));
    *(const struct kvs_plan **)memory = plan;
    *session = memory;
    fake.n_open++;
    kvs_text_printf(&fake.log, "o%c ", name);
    return KVS_OK;
}

/* Run k of all takes 1000 + k ps for A, 2000 + k for B, ... */
static kvs_status fake_run(void *session, struct kvs_run *run, struct kvs_timeline *timeline,
                           struct kvs_error *err)
{
    char name = fake_name(*(const struct kvs_plan **)session);
    fake.n_runs++;
    kvs_text_printf(&fake.log, "%c%c ", timeline != NULL ? 't' : 'r', name);
    if (fake.n_runs == fake.fail_at)
        return kvs_error_set(err, KVS_EDEVICE, "broken");
    if (fake.n_runs == fake.stop_at) {
        fake.stop = 1;
        return kvs_error_set(err, KVS_ESTOPPED, "stopped");
    }
    *run = (struct kvs_run){.total_ps = (name - 'A' + 1) * 1000 + (kvs_time)fake.n_runs,
                            .has_digest = true,
                            .digest = fake.digests[name - 'A'] +
                                      (fake.wavers && name == 'B' ? fake.n_runs : 0)};
    return KVS_OK;
}

static void fake_close(void *session)
{
    if (session == NULL)
        return;
    kvs_text_printf(&fake.log, "c%c ", fake_name(*(const struct kvs_plan **)session));
    fake.n_open--;
    kvs_mem_free(session);
}

static const struct kvs_exec_ops timed = {.abi_version = KVS_EXEC_ABI,
                                          .name = "fake",
                                          .summary = "",
                                          .is_measured = true,
                                          .open = fake_open,
                                          .run = fake_run,
                                          .close = fake_close};

static struct kvs_plan *plans[N_ARMS];
static struct kvs_replay_arm arms[N_ARMS];
static struct kvs_replay_result results[N_ARMS];
static struct kvs_replay_options options;
static size_t n_alone, n_told;
static char why_alone[512];

static void told_alone(void *context, const struct kvs_error *why)
{
    assert_ptr_equal(context, &fake);
    n_alone++;
    (void)snprintf(why_alone, sizeof why_alone, "%s", why->text);
}

static void told_run(void *context, size_t done, size_t n_runs)
{
    assert_ptr_equal(context, &fake);
    assert_true(done <= n_runs);
    n_told++;
}

static int setup(void **state)
{
    static const double factors[N_ARMS] = {0.0, 1.0, 2.0};
    static const char *const names[N_ARMS] = {"A", "B", "C"};
    (void)state;
    fake = (struct fake){.max_open = N_ARMS};
    n_alone = n_told = 0;
    for (size_t a = 0; a < N_ARMS; a++) {
        fake.digests[a] = 7;
        if (kvs_plan_create(names[a], 1, &plans[a], NULL) != KVS_OK)
            return -1;
        arms[a] = (struct kvs_replay_arm){
            .name = names[a], .plan = plans[a], .busy_factors = &factors[a]};
    }
    options = (struct kvs_replay_options){.exec = &timed,
                                          .run.stop = &fake.stop,
                                          .n_repetitions = 2,
                                          .n_warmup = 1,
                                          .told_run = told_run,
                                          .told_alone = told_alone,
                                          .context = &fake};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kvs_text_fini(&fake.log);
    for (size_t a = 0; a < N_ARMS; a++)
        kvs_plan_destroy(plans[a]);
    return 0;
}

static kvs_status replay(struct kvs_error *err)
{
    return kvs_replay(arms, N_ARMS, &options, results, err);
}

static void fini(void)
{
    kvs_replay_fini(results, N_ARMS);
    assert_int_equal(fake.n_open, 0);
}

/* One warm-up, two rounds, in turn. */
static void test_turns(void **state)
{
    (void)state;
    assert_int_equal(replay(NULL), KVS_OK);
    assert_string_equal(fake.log.data, "oA oB oC rA rB rC rA rB rC rA rB rC cA cB cC ");
    assert_int_equal(n_told, 9);
    assert_int_equal(n_alone, 0);
    for (size_t a = 0; a < N_ARMS; a++) { /* runs 4 to 9 count */
        assert_int_equal(results[a].status, KVS_OK);
        assert_int_equal(results[a].n_samples, 2);
        assert_int_equal(results[a].samples_ps[0], (a + 1) * 1000 + 4 + a);
        assert_int_equal(results[a].samples_ps[1], (a + 1) * 1000 + 7 + a);
        assert_true(results[a].has_digest && results[a].is_steady);
        assert_int_equal(results[a].digest, 7);
    }
    assert_true(kvs_replay_is_exact(results, N_ARMS));
    fini();
}

static void test_no_warmup_and_traces(void **state)
{
    struct kvs_timeline timelines[N_ARMS] = {0};
    (void)state;
    options.n_warmup = 0;
    options.n_repetitions = 1;
    options.timelines = timelines;
    assert_int_equal(replay(NULL), KVS_OK);
    assert_string_equal(fake.log.data, "oA oB oC rA rB rC tA tB tC cA cB cC ");
    assert_int_equal(results[1].n_samples, 1); /* the recorded run is no sample */
    fini();
}

/* An executor without time gives digests and no samples. */
static void test_untimed(void **state)
{
    struct kvs_exec_ops untimed = timed;
    (void)state;
    untimed.is_measured = false;
    options.exec = &untimed;
    assert_int_equal(replay(NULL), KVS_OK);
    assert_int_equal(results[0].n_samples, 0);
    assert_true(kvs_replay_is_exact(results, N_ARMS));
    fini();
}

/* Room for two sessions of three: each run opens its own, and warms it up. */
static void test_alone(void **state)
{
    (void)state;
    fake.max_open = 2;
    options.n_repetitions = 2;
    assert_int_equal(replay(NULL), KVS_OK);
    assert_string_equal(fake.log.data, "oA oB !C cA cB "
                                       "oA rA rA cA oB rB rB cB oC rC rC cC "
                                       "oA rA rA cA oB rB rB cB oC rC rC cC ");
    assert_int_equal(n_alone, 1);
    assert_string_equal(why_alone, "the executor fake has no room for it: refused");
    for (size_t a = 0; a < N_ARMS; a++)
        assert_int_equal(results[a].n_samples, 2);
    assert_int_equal(results[0].samples_ps[0], 1002);
    fini();
}

/* An arm that does not fit even alone says so; the others run. */
static void test_one_never_fits(void **state)
{
    (void)state;
    fake.refused = 'B';
    fake.refusal = KVS_ENOMEM;
    options.n_warmup = 0;
    options.n_repetitions = 2;
    assert_int_equal(replay(NULL), KVS_OK);
    assert_string_equal(fake.log.data, "oA !B cA oA rA cA !B oC rC cC oA rA cA oC rC cC ");
    assert_int_equal(results[1].status, KVS_ENOFIT);
    assert_string_equal(results[1].err.text, "the executor fake has no room for it: refused");
    assert_int_equal(results[1].n_samples, 0);
    assert_int_equal(results[2].n_samples, 2);
    fini();
}

/* The first one that does not fit is alone already. */
static void test_first_never_fits(void **state)
{
    (void)state;
    fake.refused = 'A';
    fake.refusal = KVS_ENOFIT;
    options.n_warmup = 0;
    options.n_repetitions = 1;
    assert_int_equal(replay(NULL), KVS_OK);
    assert_string_equal(fake.log.data, "!A oB oC rB rC cB cC ");
    assert_int_equal(results[0].status, KVS_ENOFIT);
    assert_int_equal(n_alone, 0);
    fini();
}

static void test_unsupported(void **state)
{
    (void)state;
    fake.refused = 'B';
    fake.refusal = KVS_EUNSUPPORTED;
    options.n_warmup = 0;
    options.n_repetitions = 1;
    assert_int_equal(replay(NULL), KVS_OK);
    assert_string_equal(fake.log.data, "oA !B oC rA rC cA cC ");
    assert_int_equal(results[1].status, KVS_EUNSUPPORTED);
    assert_string_equal(results[1].err.text, "refused");
    assert_true(kvs_replay_is_exact(results, N_ARMS)); /* of those that ran */
    fini();
}

static void test_no_device(void **state)
{
    struct kvs_error err;
    (void)state;
    fake.refused = 'C';
    fake.refusal = KVS_ENODEVICE;
    assert_int_equal(replay(&err), KVS_ENODEVICE);
    assert_string_equal(err.text, "refused");
    assert_string_equal(fake.log.data, "oA oB !C cA cB ");
    fini();
}

static void test_digests(void **state)
{
    (void)state;
    fake.digests[2] = 8;
    assert_int_equal(replay(NULL), KVS_OK);
    assert_false(kvs_replay_is_exact(results, N_ARMS));
    assert_int_equal(results[2].digest, 8);
    assert_true(results[2].is_steady);
    fini();
}

static void test_digest_of_one_wavers(void **state)
{
    (void)state;
    fake.wavers = true;
    assert_int_equal(replay(NULL), KVS_OK);
    assert_true(results[0].is_steady);
    assert_false(results[1].is_steady);
    assert_false(kvs_replay_is_exact(results, N_ARMS));
    fini();
}

/* Whatever run is told to stop: nothing runs after it, and every session is closed. */
static void test_stop(void **state)
{
    (void)state;
    for (size_t max_open = 2; max_open <= N_ARMS; max_open++) {
        for (size_t k = 1; k <= 9; k++) {
            struct kvs_error err;
            kvs_text_fini(&fake.log);
            fake = (struct fake){.max_open = max_open, .stop_at = k};
            assert_int_equal(replay(&err), KVS_ESTOPPED);
            assert_int_equal(fake.n_runs, k);
            fini();
        }
    }
}

/* A flag raised between runs: the next one does not begin. */
static void test_stop_before(void **state)
{
    (void)state;
    fake.stop = 1;
    assert_int_equal(replay(NULL), KVS_ESTOPPED);
    assert_int_equal(fake.n_runs, 0);
    fini();
}

static void test_failure(void **state)
{
    struct kvs_error err;
    (void)state;
    fake.fail_at = 5;
    assert_int_equal(replay(&err), KVS_EDEVICE);
    assert_string_equal(err.text, "broken");
    assert_string_equal(fake.log.data, "oA oB oC rA rB rC rA rB cA cB cC ");
    fini();
}

static void test_no_memory(void **state)
{
    (void)state;
    kvs_status status = KVS_ENOMEM;
    kvs_text_printf(&fake.log, "%*s", 1000, ""); /* room for what is written down */
    uint64_t before = kvs_mem_live_bytes();
    for (uint64_t n = 1; status != KVS_OK; n++) {
        assert_true(n < 100);
        fake.log.n = 0;
        fake.n_runs = 0;
        kvs_mem_fail_after(n);
        status = replay(NULL);
        kvs_mem_fail_after(0);
        if (status == KVS_OK && results[0].n_samples < 2)
            status = KVS_ENOMEM; /* a session that had no room */
        fini();
        assert_int_equal(kvs_mem_live_bytes(), before);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_turns),          TEST(test_no_warmup_and_traces),
        TEST(test_untimed),        TEST(test_alone),
        TEST(test_one_never_fits), TEST(test_first_never_fits),
        TEST(test_unsupported),    TEST(test_no_device),
        TEST(test_digests),        TEST(test_digest_of_one_wavers),
        TEST(test_stop),           TEST(test_stop_before),
        TEST(test_failure),        TEST(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
