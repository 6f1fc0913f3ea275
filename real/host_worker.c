/* The threads of the devices: each moves the bytes of its lane, and sleeps until it is time. */
#define _POSIX_C_SOURCE 200809L /* pthread_sigmask */
#include <signal.h>

#include "real/host_paced.h"

#define WORKER_WAKE_NS INT64_C(500000) /* a thread that comes later than this is not usual */

static struct paced_queue *worker_next_job(const struct paced_worker *w)
{
    struct paced *p = w->paced;
    kvs_time now_ps = p->is_running ? paced_clock_now_ps(&p->clock) : 0;
    for (uint32_t i = 1; p->is_running && !p->is_over && i < p->n_queues; i++) {
        struct paced_queue *q = &p->queues[i];
        if (q->worker == w && (q->bytes == PACED_BYTES_WAITING ||
                               (q->bytes == PACED_BYTES_HALF && paced_wake_ps(q) <= now_ps)))
            return q;
    }
    return NULL;
}

/* Outside of the lock. */
static void worker_apply(struct paced *p, const struct paced_instance *instance, bool is_rest)
{
    uint32_t token = instance->token - p->segments[instance->segment].first_token;
    if (paced_plan_op(p, instance)->kind == KVS_OP_COLLECTIVE)
        kvs_memory_reduce(p->memory, instance->segment, paced_first_member(p, instance));
    else if (is_rest)
        kvs_memory_end(p->memory, instance->segment, token, instance->op);
    else
        kvs_memory_begin(p->memory, instance->segment, token, instance->op);
}

/*
 * The rest of a window is read as late as is safe: in the last quarter of the time, but leaving
 * twice as long as the first part took, and some wall clock for waking up.
 */
static kvs_time worker_rest_ps(const struct paced *p, const struct paced_queue *q,
                               kvs_time first_ps)
{
    kvs_time rest_ps = (q->deadline_ps - q->start_ps) / 4;
    kvs_time least_ps = 2 * first_ps + (kvs_time)((double)WORKER_WAKE_NS *
                                                  (double)KVS_PS_PER_NS / p->clock.scale);
    return rest_ps > least_ps ? rest_ps : least_ps;
}

static void worker_move(struct paced *p, struct paced_queue *q)
{
    struct paced_instance instance = *paced_head_of(q);
    bool is_rest = q->bytes == PACED_BYTES_HALF;
    bool is_all = is_rest || !paced_op_of(p, &instance)->has_end;
    kvs_time begin_ps = paced_clock_now_ps(&p->clock);
    q->bytes = PACED_BYTES_MOVING;
    p->n_moving++;
    (void)pthread_mutex_unlock(&p->lock);
    worker_apply(p, &instance, is_rest);
    (void)pthread_mutex_lock(&p->lock);
    p->n_moving--;
    if (is_all) {
        paced_moved(p, q);
    } else {
        q->bytes = PACED_BYTES_HALF;
        q->rest_ps = worker_rest_ps(p, q, paced_clock_now_ps(&p->clock) - begin_ps);
    }
    if (p->is_over)
        (void)pthread_cond_signal(&p->host.wakes);
}

/*
 * Sleeps until the first event of its own. One that is due and has not happened waits for the host
 * thread, which carries it out when it acts; or it has become due just now: no sleep then.
 */
static void worker_sleep(struct paced_worker *w)
{
    struct paced *p = w->paced;
    kvs_time until_ps = PACED_NEVER, now_ps = p->is_running ? paced_clock_now_ps(&p->clock) : 0;
    for (uint32_t i = 1; p->is_running && !p->is_over && i < p->n_queues; i++) {
        const struct paced_queue *q = &p->queues[i];
        kvs_time wake_ps = paced_wake_ps(q);
        bool is_held =
            q->bytes != PACED_BYTES_HALF && wake_ps <= now_ps && paced_is_held(p, wake_ps);
        if (q->worker == w && !is_held && wake_ps < until_ps)
            until_ps = wake_ps;
    }
    if (until_ps <= now_ps)
        return;
    w->until_ps = until_ps;
    paced_cond_wait(&w->wakes, &p->lock, &p->clock, until_ps, 0);
    w->until_ps = 0;
}

static void *worker_main(void *context)
{
    struct paced_worker *w = context;
    struct paced *p = w->paced;
    (void)paced_slack_remove();
    (void)pthread_mutex_lock(&p->lock);
    w->is_up = true;
    (void)pthread_cond_signal(&p->host.wakes);
    while (!p->is_closing) {
        paced_advance(p);
        struct paced_queue *q = worker_next_job(w);
        if (q)
            worker_move(p, q);
        else
            worker_sleep(w);
    }
    (void)pthread_mutex_unlock(&p->lock);
    return NULL;
}

static kvs_status worker_start(struct paced *p, struct paced_worker *w, struct kvs_error *err)
{
    w->paced = p;
    w->has_cond = paced_cond_init(&w->wakes);
    w->has_thread = w->has_cond && pthread_create(&w->thread, NULL, worker_main, w) == 0;
    if (!w->has_thread)
        return kvs_error_set(err, KVS_ENOMEM, "no thread can be started for a device");
    return KVS_OK;
}

/* A thread may take longer to come up than an operation lasts. */
static void worker_await(struct paced *p, const struct paced_worker *w)
{
    (void)pthread_mutex_lock(&p->lock);
    while (w->has_thread && !w->is_up)
        paced_cond_wait(&p->host.wakes, &p->lock, &p->clock, PACED_NEVER, 0);
    (void)pthread_mutex_unlock(&p->lock);
}

static kvs_status workers_start_all(struct paced *p, struct kvs_error *err)
{
    for (uint32_t d = 0; d < p->n_devices; d++) {
        bool is_used = false;
        for (uint32_t i = 1; i < p->n_queues; i++)
            is_used = is_used || p->queues[i].device == d;
        for (unsigned lane = 0; is_used && lane < PACED_N_LANES; lane++)
            KVS_TRY(worker_start(p, paced_worker(p, d, (paced_lane)lane), err));
    }
    return KVS_OK;
}

/* Signals are for the threads of the program. */
kvs_status paced_workers_start(struct paced *p, struct kvs_error *err)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    kvs_status status = workers_start_all(p, err);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (size_t i = 0; i < (size_t)p->n_devices * PACED_N_LANES; i++)
        worker_await(p, &p->workers[i]);
    return status;
}

void paced_workers_wake(struct paced *p)
{
    size_t n = p->workers ? (size_t)p->n_devices * PACED_N_LANES : 0;
    for (size_t i = 0; i < n; i++)
        if (p->workers[i].has_thread)
            (void)pthread_cond_signal(&p->workers[i].wakes);
}

void paced_workers_stop(struct paced *p)
{
    size_t n = p->workers ? (size_t)p->n_devices * PACED_N_LANES : 0;
    if (p->has_lock)
        (void)pthread_mutex_lock(&p->lock);
    p->is_closing = true;
    paced_workers_wake(p);
    if (p->has_lock)
        (void)pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < n; i++) {
        if (p->workers[i].has_thread)
            (void)pthread_join(p->workers[i].thread, NULL);
        if (p->workers[i].has_cond)
            (void)pthread_cond_destroy(&p->workers[i].wakes);
    }
}
