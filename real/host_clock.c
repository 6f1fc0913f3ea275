/* CLOCK_MONOTONIC and absolute deadlines: a thread that wakes up late has not moved the next one. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, pthread_condattr_setclock */
#include "real/host_clock.h"

#ifdef __linux__
#include <sys/prctl.h>
#endif

#define CLOCK_NS_PER_S   INT64_C(1000000000)
#define CLOCK_LONGEST_NS (3600 * CLOCK_NS_PER_S) /* of one sleep: whatever the model time is */

int64_t paced_wall_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * CLOCK_NS_PER_S + t.tv_nsec;
}

void paced_clock_start(struct paced_clock *clock, double scale)
{
    *clock = (struct paced_clock){.start_ns = paced_wall_ns(), .scale = scale};
}

kvs_time paced_clock_now_ps(const struct paced_clock *clock)
{
    double ns = (double)(paced_wall_ns() - clock->start_ns);
    return (kvs_time)(ns * (double)KVS_PS_PER_NS / clock->scale);
}

bool paced_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    if (pthread_condattr_init(&attr) != 0)
        return false;
    bool is_made = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 &&
                   pthread_cond_init(cond, &attr) == 0;
    (void)pthread_condattr_destroy(&attr);
    return is_made;
}

/* Late enough that model time has reached ps: rounding must not make a sleeper come back early. */
static int64_t clock_sleep_ns(const struct paced_clock *clock, kvs_time ps, int64_t now_ns)
{
    double ns = (double)ps * clock->scale / (double)KVS_PS_PER_NS;
    double left_ns = ns - (double)(now_ns - clock->start_ns);
    if (!(left_ns < (double)CLOCK_LONGEST_NS))
        return CLOCK_LONGEST_NS;
    return left_ns > 0.0 ? (int64_t)left_ns + 2 : 1;
}

void paced_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
                     const struct paced_clock *clock, kvs_time until_ps, int64_t at_most_ns)
{
    if (until_ps == PACED_NEVER && at_most_ns == 0) {
        (void)pthread_cond_wait(cond, lock);
        return;
    }
    int64_t now_ns = paced_wall_ns();
    int64_t ns =
        until_ps == PACED_NEVER ? CLOCK_LONGEST_NS : clock_sleep_ns(clock, until_ps, now_ns);
    int64_t wall_ns = now_ns + (at_most_ns > 0 && at_most_ns < ns ? at_most_ns : ns);
    struct timespec wall = {.tv_sec = (time_t)(wall_ns / CLOCK_NS_PER_S),
                            .tv_nsec = (long)(wall_ns % CLOCK_NS_PER_S)};
    (void)pthread_cond_timedwait(cond, lock, &wall);
}

long paced_slack_remove(void)
{
#ifdef __linux__
    int slack_ns = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
    return slack_ns;
#else
    return -1;
#endif
}

void paced_slack_restore(long slack_ns)
{
#ifdef __linux__
    if (slack_ns > 0)
        (void)prctl(PR_SET_TIMERSLACK, (unsigned long)slack_ns, 0, 0, 0);
#else
    (void)slack_ns;
#endif
}
