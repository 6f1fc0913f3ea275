/*
 * Threads take the next piece from a counter; the caller waits for each in turn. They are never
 * further ahead of it than there is room for results.
 */
#include "base/parallel.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define PARALLEL_DEFAULT_THREADS 16
#define PARALLEL_AHEAD           4 /* results that each thread may be ahead */

struct parallel_result {
    bool is_done;
    kvs_status status;
    struct kvs_error err;
};

struct parallel_crew {
    const struct kvs_parallel *parallel;
    struct parallel_result
        *results; /* owned, [n_results]; that of piece i at i mod n_results */
    size_t n_results;
    pthread_mutex_t lock; /* of what follows, and of results[].is_done */
    pthread_cond_t is_done;
    pthread_cond_t has_room;
    size_t next;
    size_t n_taken;
    bool is_over;
};

static unsigned parallel_threads(const struct kvs_parallel *parallel)
{
    size_t n = parallel->n_threads;
    if (n == 0) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        n = processors < 1 ? 1 : (size_t)processors;
        n = n > PARALLEL_DEFAULT_THREADS ? PARALLEL_DEFAULT_THREADS : n;
    }
    n = n > KVS_PARALLEL_MAX_THREADS ? KVS_PARALLEL_MAX_THREADS : n;
    return (unsigned)(n > parallel->n ? parallel->n : n);
}

static struct parallel_result *crew_result(struct parallel_crew *crew, size_t i)
{
    return &crew->results[i % crew->n_results];
}

/* The next piece once its result has room, or n when there is none. */
static size_t crew_next(struct parallel_crew *crew)
{
    size_t n = crew->parallel->n;
    (void)pthread_mutex_lock(&crew->lock);
    while (!crew->is_over && crew->next < n && crew->next - crew->n_taken >= crew->n_results)
        (void)pthread_cond_wait(&crew->has_room, &crew->lock);
    size_t i = crew->is_over || crew->next == n ? n : crew->next++;
    (void)pthread_mutex_unlock(&crew->lock);
    return i;
}

static void *crew_work(void *context)
{
    struct parallel_crew *crew = context;
    const struct kvs_parallel *p = crew->parallel;
    for (size_t i = crew_next(crew); i < p->n; i = crew_next(crew)) {
        struct parallel_result *result = crew_result(crew, i);
        result->err = (struct kvs_error){0};
        result->status = p->work(p->context, i, &result->err);
        (void)pthread_mutex_lock(&crew->lock);
        result->is_done = true;
        (void)pthread_cond_signal(&crew->is_done);
        (void)pthread_mutex_unlock(&crew->lock);
    }
    return NULL;
}

static void crew_await(struct parallel_crew *crew, struct parallel_result *result)
{
    (void)pthread_mutex_lock(&crew->lock);
    while (!result->is_done)
        (void)pthread_cond_wait(&crew->is_done, &crew->lock);
    (void)pthread_mutex_unlock(&crew->lock);
}

/* The result is free for another piece; after a fault no thread takes one more. */
static void crew_release(struct parallel_crew *crew, struct parallel_result *result,
                         bool is_over)
{
    (void)pthread_mutex_lock(&crew->lock);
    result->is_done = false;
    crew->n_taken++;
    crew->is_over = is_over;
    (void)pthread_cond_broadcast(&crew->has_room);
    (void)pthread_mutex_unlock(&crew->lock);
}

static kvs_status crew_take(struct parallel_crew *crew, struct kvs_error *err)
{
    const struct kvs_parallel *p = crew->parallel;
    kvs_status status = KVS_OK;
    for (size_t i = 0; i < p->n && status == KVS_OK; i++) {
        struct parallel_result *result = crew_result(crew, i);
        crew_await(crew, result);
        status = p->take(p->context, i, result->status, &result->err);
        if (status != KVS_OK && err != NULL)
            *err = result->err;
        crew_release(crew, result, status != KVS_OK);
    }
    return status;
}

static kvs_status parallel_alone(const struct kvs_parallel *p, struct kvs_error *err)
{
    for (size_t i = 0; i < p->n; i++) {
        struct kvs_error fault = {0};
        kvs_status status = p->work(p->context, i, &fault);
        status = p->take(p->context, i, status, &fault);
        if (status == KVS_OK)
            continue;
        if (err != NULL)
            *err = fault;
        return status;
    }
    return KVS_OK;
}

kvs_status kvs_parallel_run(const struct kvs_parallel *parallel, struct kvs_error *err)
{
    struct parallel_crew crew = {.parallel = parallel,
                                 .lock = PTHREAD_MUTEX_INITIALIZER,
                                 .is_done = PTHREAD_COND_INITIALIZER,
                                 .has_room = PTHREAD_COND_INITIALIZER};
    pthread_t threads[KVS_PARALLEL_MAX_THREADS];
    unsigned n_wanted = parallel_threads(parallel), n_threads = 0;
    void *memory;
    if (n_wanted <= 1)
        return parallel_alone(parallel, err);
    crew.n_results = (size_t)n_wanted * PARALLEL_AHEAD;
    KVS_TRY(kvs_mem_alloc(crew.n_results, sizeof *crew.results, &memory, err));
    crew.results = memory;
    while (n_threads < n_wanted &&
           pthread_create(&threads[n_threads], NULL, crew_work, &crew) == 0)
        n_threads++;
    kvs_status status = n_threads > 0 ? crew_take(&crew, err) : parallel_alone(parallel, err);
    for (unsigned t = 0; t < n_threads; t++)
        (void)pthread_join(threads[t], NULL);
    kvs_mem_free(crew.results);
    return status;
}
