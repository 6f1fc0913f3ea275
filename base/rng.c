/* GSL's Mersenne twister (Matsumoto and Nishimura 1998), with its state in our own memory. */
#include "base/rng.h"

#include <gsl/gsl_rng.h>
#include <stdbool.h>

#include "base/gsl_quiet.h"
#include "base/mem.h"

struct kvs_rng {
    gsl_rng gsl;
};

kvs_status kvs_rng_create(uint64_t seed, struct kvs_rng **out, struct kvs_error *err)
{
    kvs_gsl_quiet();
    void *fresh = NULL;
    void *state = NULL;
    KVS_TRY(kvs_mem_alloc(1, sizeof(struct kvs_rng), &fresh, err));
    kvs_status status = kvs_mem_alloc(1, gsl_rng_mt19937->size, &state, err);
    if (status != KVS_OK) {
        kvs_mem_free(fresh);
        return status;
    }
    struct kvs_rng *rng = fresh;
    rng->gsl.type = gsl_rng_mt19937;
    rng->gsl.state = state;
    gsl_rng_set(&rng->gsl, (unsigned long)((seed ^ (seed >> 32)) & UINT32_MAX));
    *out = rng;
    return KVS_OK;
}

void kvs_rng_destroy(struct kvs_rng *rng)
{
    if (rng == NULL)
        return;
    kvs_mem_free(rng->gsl.state);
    kvs_mem_free(rng);
}

static uint64_t rng_word(struct kvs_rng *rng)
{
    return gsl_rng_get(&rng->gsl) & UINT32_MAX;
}

/* Draws beyond the largest multiple of n are thrown away, so every result is as likely. */
uint64_t kvs_rng_below(struct kvs_rng *rng, uint64_t n)
{
    KVS_ASSERT(n >= 1);
    bool is_narrow = n <= UINT32_MAX;
    uint64_t last = is_narrow ? UINT32_MAX : UINT64_MAX;
    uint64_t surplus = (last % n + 1) % n;
    uint64_t draw;
    do {
        draw = rng_word(rng);
        if (!is_narrow)
            draw = draw << 32 | rng_word(rng);
    } while (draw > last - surplus);
    return draw % n;
}

double kvs_rng_uniform(struct kvs_rng *rng)
{
    return gsl_rng_uniform(&rng->gsl);
}
