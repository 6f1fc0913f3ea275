/*
 * Exact detection of a repeating state. When no size depends on the token, the future depends
 * only on the state at the host's arrival at a token; if that state, relative to now, equals
 * the one some tokens ago, everything in between repeats, and whole repetitions are skipped at
 * once. States are compared byte by byte, never by hash alone.
 */
#include <string.h>

#include "base/hash.h"
#include "sim/sim.h"

#define REPEAT_HISTORY       16u  /* longest repetition looked for, tokens */
#define REPEAT_MAX_IN_FLIGHT 256u /* instances per queue; with more nothing is skipped */

struct repeat_state {
    uint32_t token; /* global */
    kvs_time now_ps;
    uint64_t hash;
    KVS_ARRAY(int64_t) words;
    struct kvs_device_totals *devices; /* owned, [n_devices] totals so far */
    struct kvs_host_totals host;
};

struct sim_repeat {
    struct repeat_state history[REPEAT_HISTORY];
    uint32_t n; /* states kept since the segment began */
    uint32_t segment;
    bool is_settled; /* skipped in this segment already, or not to be looked for */
};

kvs_status sim_repeat_create(struct sim *sim)
{
    void *memory;
    sim->run->repeat_from = sim->run->n_tokens;
    if (sim->options->no_repeat_detection || sim->timeline)
        return KVS_OK;
    KVS_TRY(kvs_mem_alloc(1, sizeof *sim->repeat, &memory, sim->err));
    sim->repeat = memory;
    sim->repeat->segment = SIM_NONE;
    return KVS_OK;
}

void sim_repeat_destroy(struct sim *sim)
{
    if (!sim->repeat)
        return;
    for (uint32_t i = 0; i < REPEAT_HISTORY; i++) {
        KVS_ARRAY_FREE(&sim->repeat->history[i].words);
        kvs_mem_free(sim->repeat->history[i].devices);
    }
    kvs_mem_free(sim->repeat);
    sim->repeat = NULL;
}

static void repeat_put(struct sim *sim, struct repeat_state *state, int64_t word)
{
    if (sim->status == KVS_OK)
        sim->status = KVS_ARRAY_PUSH(&state->words, word, sim->err);
}

static int64_t repeat_bits(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Devices, collectives half arrived, flows, and ends so recent that their hop is not over. */
static void repeat_capture_rest(struct sim *sim, struct repeat_state *state)
{
    kvs_time now = sim->host.now_ps;
    for (uint32_t d = 0; d < sim->n_devices; d++) {
        repeat_put(sim, state, sim->devices[d].heavy);
        repeat_put(sim, state, repeat_bits(sim->devices[d].read_bytes));
        for (size_t i = 0; i < sim->devices[d].heavy_waiting.n; i++)
            repeat_put(sim, state, sim->devices[d].heavy_waiting.items[i]);
        for (size_t i = 0; i < sim->devices[d].reading.n; i++)
            repeat_put(sim, state, sim->devices[d].reading.items[i]);
    }
    for (uint32_t g = 0; g < sim->n_groups; g++)
        repeat_put(sim, state, sim->groups[g].n_arrived);
    for (uint32_t f = 0; f < sim->n_flows; f++) {
        const struct sim_flow *flow = &sim->flows[f];
        repeat_put(sim, state, flow->rate_Bps > 0.0 ? repeat_bits(flow->left_bytes) : 0);
        repeat_put(sim, state, flow->rate_Bps > 0.0 ? flow->updated_ps - now : 0);
    }
    const struct sim_segment *segment = &sim->segments[sim->host.segment];
    kvs_time hop = sim->cost.hop_ps + sim->cost.longest_handoff_ps;
    for (size_t i = 0; i < segment->n_ops; i++) {
        kvs_time done = segment->ops[i].done_ps;
        repeat_put(sim, state, done >= 0 && done + hop > sim->now_ps ? done - now : 1);
    }
}

/* How far a head has come that runs, and since when one is held back. */
static void repeat_capture_head(struct sim *sim, const struct sim_queue *q,
                                struct repeat_state *state)
{
    kvs_time now = sim->host.now_ps;
    if (q->head == SIM_HEAD_RUNNING || q->head == SIM_HEAD_OVERHEAD || q->head == SIM_HEAD_TRIP)
        repeat_put(sim, state, q->start_ps - now);
    bool is_compute = q->op->cls == KVS_CLASS_HEAVY;
    if (q->head == SIM_HEAD_RUNNING && (is_compute || q->op->cls == KVS_CLASS_KERNEL_COPY)) {
        repeat_put(sim, state, repeat_bits(q->left_ps));
        repeat_put(sim, state, q->updated_ps - now);
    }
    if (q->head == SIM_HEAD_RUNNING && is_compute) {
        repeat_put(sim, state, q->floor_ps > now ? q->floor_ps - now : 0);
        repeat_put(sim, state, q->is_early);
    }
    if (q->head == SIM_HEAD_BLOCKED && q->op->tag == KVS_TAG_DELIVER) {
        const struct sim_engine *engine = sim_engine_of(q);
        kvs_time since =
            engine->end_ps > q->blocked_since_ps ? engine->end_ps : q->blocked_since_ps;
        repeat_put(sim, state, since - now);
    }
}

/* Everything that the future depends on, times relative to now. */
static void repeat_capture(struct sim *sim, struct repeat_state *state)
{
    state->words.n = 0;
    repeat_put(sim, state, sim->now_ps - sim->host.now_ps);
    for (uint32_t i = 1; i < sim->n_queues; i++) {
        const struct sim_queue *q = &sim->queues[i];
        repeat_put(sim, state, (int64_t)(q->n_issued - q->n_done));
        repeat_put(sim, state, q->head_index);
        if (q->n_issued == q->n_done)
            continue;
        kvs_time event = kvs_event_tree_time_of(&sim->events, i);
        repeat_put(sim, state, q->head);
        repeat_put(sim, state, event == KVS_NEVER ? -1 : event - sim->host.now_ps);
        repeat_put(sim, state, q->ready_ps - sim->host.now_ps);
        repeat_put(sim, state, q->next_dep);
        repeat_put(sim, state, q->trips_left);
        repeat_put(sim, state, q->bypasses);
        repeat_capture_head(sim, q, state);
        for (uint64_t k = q->n_done; k < q->n_issued; k++)
            repeat_put(sim, state, q->issue_ps[k & q->issue_mask] - sim->host.now_ps);
    }
    for (uint32_t e = 0; e < sim->n_engines; e++) {
        const struct sim_engine *engine = &sim->engines[e];
        repeat_put(sim, state, engine->running);
        bool is_recent = engine->running != SIM_NONE || engine->end_ps == sim->now_ps;
        repeat_put(sim, state, engine->end_ps == sim->now_ps);
        repeat_put(sim, state, is_recent ? engine->current : 0);
        repeat_put(sim, state, is_recent && engine->is_first);
        repeat_put(sim, state, engine->reserved);
        repeat_put(sim, state, engine->n_waiting);
        for (uint32_t i = 0; i < engine->n_waiting; i++)
            repeat_put(sim, state, engine->waiting[i]);
    }
    repeat_capture_rest(sim, state);
    state->hash = kvs_hash(state->words.items, state->words.n * sizeof(int64_t), 0);
}

static void repeat_keep_totals(struct sim *sim, struct repeat_state *state)
{
    size_t size = sim->n_devices * sizeof *state->devices;
    if (!state->devices) {
        void *memory;
        kvs_status status = kvs_mem_alloc(1, size, &memory, sim->err);
        if (status != KVS_OK) {
            sim->status = status;
            return;
        }
        state->devices = memory;
    }
    memcpy(state->devices, sim->run->devices, size);
    state->host = sim->run->host;
}

/* now += times x (now - then), for structures that hold nothing but 64-bit counts. */
static void repeat_extrapolate(void *now, const void *then, size_t size_bytes, int64_t times)
{
    for (size_t at = 0; at < size_bytes; at += sizeof(int64_t)) {
        int64_t a, b;
        memcpy(&a, (const char *)then + at, sizeof a);
        memcpy(&b, (const char *)now + at, sizeof b);
        b += times * (b - a);
        memcpy((char *)now + at, &b, sizeof b);
    }
}

/* Instances in flight keep their issue times under their new numbers. */
static void repeat_shift_queue(struct sim_queue *q, uint32_t n_skipped, uint32_t period)
{
    uint64_t by = (uint64_t)n_skipped / period * q->n_order;
    kvs_time kept[REPEAT_MAX_IN_FLIGHT];
    uint32_t n = (uint32_t)(q->n_issued - q->n_done);
    for (uint32_t k = 0; k < n; k++)
        kept[k] = q->issue_ps[(q->n_done + k) & q->issue_mask];
    q->n_done += by;
    q->n_issued += by;
    q->head_token += n_skipped;
    q->period_end += n_skipped;
    for (uint32_t k = 0; k < n; k++)
        q->issue_ps[(q->n_done + k) & q->issue_mask] = kept[k];
}

static bool repeat_can_skip(const struct sim *sim)
{
    for (uint32_t q = 1; q < sim->n_queues; q++)
        if (sim->queues[q].n_issued - sim->queues[q].n_done > REPEAT_MAX_IN_FLIGHT)
            return false;
    return true;
}

static void repeat_skip(struct sim *sim, const struct repeat_state *then, uint32_t token)
{
    struct sim_segment *segment = &sim->segments[sim->host.segment];
    uint32_t length = token - then->token;
    /* the token at hand is carried out in any case */
    uint32_t times = (segment->end_token - 1 - token) / length;
    sim->repeat->is_settled = true;
    if (sim->run->repeat_length == 0) {
        sim->run->repeat_from = then->token;
        sim->run->repeat_length = length;
    }
    if (times == 0 || !repeat_can_skip(sim))
        return;
    if ((double)times * (double)(sim->host.now_ps - then->now_ps) > (double)(INT64_MAX / 4)) {
        sim->status = kvs_error_set(sim->err, KVS_ERANGE,
                                    "plan: takes more than the 26 days that can be simulated");
        return;
    }
    sim->skipped_ps += (kvs_time)times * (sim->host.now_ps - then->now_ps);
    repeat_extrapolate(sim->run->devices, then->devices,
                       sim->n_devices * sizeof *sim->run->devices, times);
    repeat_extrapolate(&sim->run->host, &then->host, sizeof then->host, times);
    uint32_t n_skipped = times * length;
    sim->host.token += n_skipped;
    for (uint32_t i = 0; i < segment->n_ops; i++)
        segment->ops[i].done_before += n_skipped;
    for (uint32_t q = 1; q < sim->n_queues; q++)
        repeat_shift_queue(&sim->queues[q], n_skipped, segment->period);
}

/* Everything under way, and all that it and the next token wait for, belongs to this segment.
 */
static bool repeat_is_warm(const struct sim *sim)
{
    const struct sim_segment *s = &sim->segments[sim->host.segment];
    if (sim->host.token < s->first_token + s->longest_distance)
        return false;
    for (uint32_t i = 1; i < sim->n_queues; i++)
        if (sim->queues[i].n_issued != sim->queues[i].n_done && sim->queues[i].segment != s)
            return false;
    return true;
}

void sim_repeat_token(struct sim *sim)
{
    struct sim_repeat *r = sim->repeat;
    const struct sim_segment *segment = &sim->segments[sim->host.segment];
    if (!r || !segment->is_steady)
        return;
    if (r->segment != sim->host.segment) {
        r->segment = sim->host.segment;
        r->n = 0;
        r->is_settled = false;
    }
    uint32_t token = sim->host.token;
    bool begins_period = (token - segment->first_token) % segment->period == 0;
    if (r->is_settled || !begins_period || !repeat_is_warm(sim))
        return;
    struct repeat_state *now = &r->history[r->n % REPEAT_HISTORY];
    now->token = token;
    now->now_ps = sim->host.now_ps;
    repeat_capture(sim, now);
    uint32_t n_kept = r->n < REPEAT_HISTORY - 1 ? r->n : REPEAT_HISTORY - 1;
    for (uint32_t back = 1; back <= n_kept; back++) {
        const struct repeat_state *then = &r->history[(r->n - back) % REPEAT_HISTORY];
        if (then->hash == now->hash && then->words.n == now->words.n &&
            memcmp(then->words.items, now->words.items, now->words.n * sizeof(int64_t)) == 0) {
            repeat_skip(sim, then, token);
            return;
        }
    }
    repeat_keep_totals(sim, now);
    r->n++;
}
