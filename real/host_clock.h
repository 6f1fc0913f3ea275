/* Wall-clock time as model time, and sleeping until a moment of it. */
#ifndef KVS_REAL_HOST_CLOCK_H
#define KVS_REAL_HOST_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "base/units.h"

#define PACED_NEVER INT64_MAX

struct paced_clock {
    int64_t start_ns; /* CLOCK_MONOTONIC at model time 0 */
    double scale;     /* wall-clock seconds per modelled one */
};

int64_t paced_wall_ns(void); /* CLOCK_MONOTONIC */
/* Model time 0 is now. */
void paced_clock_start(struct paced_clock *clock, double scale);
kvs_time paced_clock_now_ps(const struct paced_clock *clock);
/* A condition that is waited for by this clock. false: none can be made. */
bool paced_cond_init(pthread_cond_t *cond);
/*
 * Waits for cond, but not past until_ps (PACED_NEVER: however long it takes), nor longer than
 * at_most_ns of wall clock (0: no limit). May return early for no reason.
 */
void paced_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
                     const struct paced_clock *clock, kvs_time until_ps, int64_t at_most_ns);

/*
 * The system may let a sleeping thread sleep on for its timer slack, 50 us by default. Sets the
 * calling thread's to 1 ns and returns what it was; -1 where there is none.
 */
long paced_slack_remove(void);
void paced_slack_restore(long slack_ns);

#endif
