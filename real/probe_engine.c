/*
 * Which copy the host-to-device engine serves next, and how long before the end of one it decides.
 * The copies here are issued as a program issues them, without a gate; a round in which the host was
 * held up is done again. docs/copy-engine.md has the rules.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "real/probe_internal.h"

#define ENGINE_ROUNDS    21
#define ENGINE_TRIES     60 /* until that many rounds count */
#define ENGINE_MAX_LEADS 600
#define ENGINE_LEAD_STEP 2e-6
#define ENGINE_STEADY_S  15e-6 /* a round counts when it went as foreseen within this */
#define ENGINE_LEAD_SIDE 8     /* steps to either side of the edge */
#define ENGINE_HELD_UP   0.4   /* of a big copy: the host issued too slowly */

enum { E_FIRST = PROBE_ROUND_EVENT, E_SMALL, E_SECOND }; /* ends of A1, b and A2 */

struct engine_round {
    double first_s, small_s, second_s; /* device time: ends of A1, b and A2 */
    double issued_s;                   /* host time from the start to the end of A2's call */
};

uint64_t probe_big_bytes(const struct kvs_probe *p, const struct probe_gpu *g)
{
    return probe_amount(p, g, KVS_H2D, PROBE_BIG_S, p->pinned_bytes / 8);
}

double probe_big_s(const struct kvs_probe *p, const struct probe_gpu *g)
{
    return (double)probe_big_bytes(p, g) / g->rate_Bps[KVS_H2D];
}

kvs_status probe_start_round(struct kvs_probe *p, struct probe_gpu *g, double *out_start_s)
{
    KVS_TRY(probe_sync(p, g));
    KVS_TRY(probe_record(p, g, 0, g->streams[0])); /* wakes the device up */
    KVS_TRY(probe_record(p, g, PROBE_START, g->streams[0]));
    *out_start_s = probe_now_s();
    return KVS_OK;
}

/* A1 on the first stream and b on the second; A2 on the first one at second_at_s after the start,
 * or at once. */
static kvs_status engine_round(struct kvs_probe *p, struct probe_gpu *g, double second_at_s,
                               struct engine_round *out)
{
    uint64_t big = probe_big_bytes(p, g);
    cudaStream_t a = g->streams[0], b = g->streams[1];
    double start_s;
    KVS_TRY(probe_start_round(p, g, &start_s));
    KVS_TRY(probe_copy(p, g, KVS_H2D, 0, 0, big, a));
    KVS_TRY(probe_record(p, g, E_FIRST, a));
    KVS_TRY(probe_copy(p, g, KVS_H2D, 2 * big, 2 * big, PROBE_SMALL_BYTES, b));
    KVS_TRY(probe_record(p, g, E_SMALL, b));
    while (probe_now_s() - start_s < second_at_s) {
    }
    KVS_TRY(probe_copy(p, g, KVS_H2D, big, big, big, a));
    out->issued_s = probe_now_s() - start_s;
    KVS_TRY(probe_record(p, g, E_SECOND, a));
    KVS_TRY(probe_sync(p, g));
    KVS_TRY(probe_elapsed(p, g, PROBE_START, E_FIRST, &out->first_s));
    KVS_TRY(probe_elapsed(p, g, PROBE_START, E_SMALL, &out->small_s));
    return probe_elapsed(p, g, PROBE_START, E_SECOND, &out->second_s);
}

kvs_status probe_arbitration(struct kvs_probe *p, struct probe_gpu *g)
{
    static const char *const names[] = {"sticky", "fifo"}; /* as enum kvs_arbitration */
    struct kvs_engines *engines = &g->device->engines;
    struct probe_samples small = {0}, second = {0};
    double big_s = probe_big_s(p, g);
    unsigned n_second = 0;
    for (int i = 0; i < ENGINE_TRIES && small.n < ENGINE_ROUNDS; i++) {
        struct engine_round round;
        KVS_TRY(engine_round(p, g, 0, &round));
        if (i == 0 || round.issued_s > ENGINE_HELD_UP * big_s)
            continue;
        probe_add(&small, round.small_s);
        probe_add(&second, round.second_s);
        n_second += round.second_s < round.small_s;
    }
    engines->n_engines = g->facts->n_engines > 0 ? g->facts->n_engines : 1;
    KVS_TRY(probe_set(p, &engines->count,
                      kvs_probe_exact(engines->n_engines, engines->n_engines,
                                      engines->n_engines, "asyncEngineCount")));
    probe_note(p,
               "%s: of two copies that wait, one on the engine's stream and issued later, that "
               "one was served first in %u of %zu rounds",
               probe_name(g), n_second, small.n);
    if (kvs_probe_arbitration(small.x, second.x, small.n, &engines->arbitration))
        return probe_mark(p, &engines->arbitration);
    probe_warn(p,
               "%s: the copy engine is neither sticky nor first come first served (%u of %zu "
               "rounds stayed on the stream); the file says %s, try --only engines again",
               probe_name(g), n_second, small.n, names[engines->arbitration]);
    return KVS_OK;
}

struct engine_leads {
    struct kvs_probe_lead items[ENGINE_MAX_LEADS];
    size_t n;
    double first_s; /* when A1 ends, by the rounds that counted */
    double call_s;  /* of A2 */
};

/* When A1 ends and how long A2's call takes, from rounds without a lead. */
static kvs_status engine_expect(struct kvs_probe *p, struct probe_gpu *g,
                                struct engine_leads *leads)
{
    struct probe_samples ends = {0}, calls = {0};
    for (int i = 0; i < ENGINE_ROUNDS; i++) {
        struct engine_round round;
        double at_s = probe_big_s(p, g) / 2;
        KVS_TRY(engine_round(p, g, at_s, &round));
        probe_add(&ends, round.first_s);
        probe_add(&calls, fmax(0, round.issued_s - at_s));
    }
    leads->first_s = probe_median(&ends);
    leads->call_s = probe_median(&calls);
    return KVS_OK;
}

/* Rounds with A2 issued so long before the end of A1. A round in which A1 ended at another time,
 * or A2's call took long, tells nothing: the host was interrupted. */
static kvs_status engine_lead_rounds(struct kvs_probe *p, struct probe_gpu *g, double lead_s,
                                     unsigned n, struct engine_leads *leads)
{
    size_t full = leads->n + n < ENGINE_MAX_LEADS ? leads->n + n : ENGINE_MAX_LEADS;
    for (unsigned tries = 0; leads->n < full && tries < 3 * n; tries++) {
        struct engine_round round;
        double at_s = leads->first_s - lead_s - leads->call_s;
        KVS_TRY(engine_round(p, g, at_s, &round));
        if (fabs(round.first_s - leads->first_s) > ENGINE_STEADY_S ||
            round.issued_s - at_s > leads->call_s + ENGINE_STEADY_S)
            continue;
        leads->first_s += 0.1 * (round.first_s - leads->first_s);
        leads->items[leads->n++] =
            (struct kvs_probe_lead){.lead_s = round.first_s - round.issued_s,
                                    .is_small_first = round.small_s < round.second_s};
    }
    return KVS_OK;
}

static kvs_status engine_find_lead(struct kvs_probe *p, struct probe_gpu *g,
                                   struct engine_leads *leads)
{
    static const double coarse_us[] = {300, 150, 75, 40, 20, 10, 5, 0, -10, -20};
    struct kvs_param edge;
    KVS_TRY(engine_expect(p, g, leads));
    for (size_t i = 0; i < KVS_COUNT_OF(coarse_us); i++)
        KVS_TRY(engine_lead_rounds(p, g, coarse_us[i] * 1e-6, 7, leads));
    bool is_found = kvs_probe_commit_lead(leads->items, leads->n, &edge);
    for (int step = -ENGINE_LEAD_SIDE; step <= ENGINE_LEAD_SIDE && is_found; step++)
        KVS_TRY(engine_lead_rounds(p, g, edge.value + step * ENGINE_LEAD_STEP, ENGINE_ROUNDS,
                                   leads));
    if (is_found && kvs_probe_commit_lead(leads->items, leads->n, &edge))
        return probe_set(p, &g->device->engines.commit_lead, edge);
    unsigned n_small = 0;
    for (size_t i = 0; i < leads->n; i++)
        n_small += leads->items[i].is_small_first;
    probe_warn(p,
               "%s: no commit lead: another stream's copy came first in %u of %zu rounds, "
               "however early the next one was issued; commit_lead keeps its value",
               probe_name(g), n_small, leads->n);
    return KVS_OK;
}

kvs_status probe_commit_lead(struct kvs_probe *p, struct probe_gpu *g)
{
    void *leads;
    if (kvs_probe_report_has(p->report, &g->device->engines.arbitration) &&
        g->device->engines.arbitration == KVS_ARB_FIFO)
        return KVS_OK; /* there is nothing to be in time for */
    KVS_TRY(kvs_mem_alloc(1, sizeof(struct engine_leads), &leads, p->err));
    kvs_status status = engine_find_lead(p, g, leads);
    kvs_mem_free(leads);
    return status;
}
