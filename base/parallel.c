/* Threads take the next piece from a counter; the caller waits for each in turn. */
#include "base/parallel.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define PARALLEL_DEFAULT_THREADS 16

struct parallel_result {
    bool is_done;
    kvs_status status;
    struct kvs_error err;
};

struct parallel_crew {
    const struct kvs_parallel *parallel;
    struct parallel_result *results; /* owned, [n] */
    pthread_mutex_t lock;            /* of what follows, and of results[].is_done */
    pthread_cond_t is_done;
    size_t next;
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

/* The next piece, or n when there is none. */
static size_t crew_next(struct parallel_crew *crew)
{
    (void)pthread_mutex_lock(&crew->lock);
    size_t i = crew->is_over ? crew->parallel->n : crew->next;
    if (i < crew->parallel->n)
        crew->next++;
    (void)pthread_mutex_unlock(&crew->lock);
    return i;
}

static void *crew_work(void *context)
{
    struct parallel_crew *crew = context;
    const struct kvs_parallel *p = crew->parallel;
    for (size_t i = crew_next(crew); i < p->n; i = crew_next(crew)) {
        struct parallel_result *result = &crew->results[i];
        result->status = p->work(p->context, i, &result->err);
        (void)pthread_mutex_lock(&crew->lock);
        result->is_done = true;
        (void)pthread_cond_signal(&crew->is_done);
        (void)pthread_mutex_unlock(&crew->lock);
    }
    return NULL;
}

static kvs_status crew_take(struct parallel_crew *crew, struct kvs_error *err)
{
    const struct kvs_parallel *p = crew->parallel;
    kvs_status status = KVS_OK;
    for (size_t i = 0; i < p->n && status == KVS_OK; i++) {
        struct parallel_result *result = &crew->results[i];
        (void)pthread_mutex_lock(&crew->lock);
        while (!result->is_done)
            (void)pthread_cond_wait(&crew->is_done, &crew->lock);
        (void)pthread_mutex_unlock(&crew->lock);
        status = p->take(p->context, i, result->status, &result->err);
        if (status != KVS_OK && err != NULL)
            *err = result->err;
    }
    (void)pthread_mutex_lock(&crew->lock);
    crew->is_over = true;
    (void)pthread_mutex_unlock(&crew->lock);
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
                                 .is_done = PTHREAD_COND_INITIALIZER};
    pthread_t threads[KVS_PARALLEL_MAX_THREADS];
    unsigned n_wanted = parallel_threads(parallel), n_threads = 0;
    void *memory;
    if (n_wanted <= 1)
        return parallel_alone(parallel, err);
    KVS_TRY(kvs_mem_alloc(parallel->n, sizeof *crew.results, &memory, err));
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
