/* Plan, check, run, and read the totals. */
#include "study/predict.h"

#include <math.h>
#include <stdio.h>

#include "sched/plan_check.h"
#include "study/edge.h"

static double predict_ms(kvs_time ps, uint32_t n_tokens)
{
    return kvs_ms_from_ps(ps) / (double)n_tokens;
}

static void predict_offer(struct kvs_prediction *p, const struct kvs_run *run, kvs_time busy_ps,
                          const char *part, const char *name)
{
    struct kvs_busy busy = {
        .busy_frac = run->total_ps > 0 ? (double)busy_ps / (double)run->total_ps : 0.0};
    if (busy_ps <= 0)
        return;
    snprintf(busy.name, sizeof busy.name, "%s%s", name, part);
    if (busy.busy_frac > p->bottleneck.busy_frac) {
        p->runner_up = p->bottleneck;
        p->bottleneck = busy;
    } else if (busy.busy_frac > p->runner_up.busy_frac) {
        p->runner_up = busy;
    }
}

static kvs_time predict_longest_reduce(const struct kvs_run *run)
{
    kvs_time longest = 0;
    for (uint32_t d = 0; d < run->n_devices; d++)
        if (run->devices[d].collective_ps > longest)
            longest = run->devices[d].collective_ps;
    return longest;
}

/* Every resource is offered once; a device's own link stands for its engine too. */
static void predict_bottleneck(struct kvs_prediction *p, const struct kvs_run *run,
                               const struct kvs_machine *m)
{
    for (uint32_t l = 0; l < m->n_links; l++) {
        if (m->links[l].mode == KVS_LINK_UNLIMITED)
            continue;
        predict_offer(p, run, run->links[l].busy_ps[KVS_H2D], ".h2d", m->links[l].name);
        predict_offer(p, run, run->links[l].busy_ps[KVS_D2H], ".d2h", m->links[l].name);
    }
    for (uint32_t d = 0; d < run->n_devices; d++) {
        predict_offer(p, run, run->devices[d].compute_ps, ".compute", m->devices[d].name);
        predict_offer(p, run, run->devices[d].ring_wait_ps, ".ring", m->devices[d].name);
    }
    predict_offer(p, run, predict_longest_reduce(run), "", "all-reduce");
    predict_offer(p, run, run->host.issue_ps + run->host.work_ps, "", "host");
}

static void predict_breakdown(struct kvs_prediction *p, const struct kvs_run *run)
{
    const kvs_time *blocked = run->host.blocked_ps;
    kvs_time copies = blocked[KVS_TAG_INPUT] + blocked[KVS_TAG_ROTATION] +
                      blocked[KVS_TAG_STORE] + blocked[KVS_TAG_WINDOW] + blocked[KVS_TAG_HOP];
    kvs_time after = blocked[KVS_TAG_SAMPLE] + blocked[KVS_TAG_BOUNDARY];
    uint64_t early = 0, late = 0;
    for (uint32_t d = 0; d < run->n_devices; d++) {
        early += run->devices[d].tag_bytes[KVS_TAG_DELIVER];
        late += run->devices[d].tag_bytes[KVS_TAG_LATE];
    }
    double n = (double)run->n_tokens;
    p->breakdown = (struct kvs_breakdown){
        .total_ms = p->token_ms - predict_ms(after + run->host.sample_ps, run->n_tokens),
        .copy_ms = predict_ms(copies, run->n_tokens),
        .wait_ms = predict_ms(blocked[KVS_TAG_CONSUMER], run->n_tokens),
        .issue_ms = predict_ms(run->host.issue_ps, run->n_tokens),
        .early_mib = (double)early / n / (double)KVS_MIB,
        .late_mib = (double)late / n / (double)KVS_MIB,
    };
}

static void predict_copies(struct kvs_prediction *p, const struct kvs_run *run,
                           const struct kvs_machine *m)
{
    double sum_s = 0.0, longest_s = 0.0;
    bool is_in_turn = false;
    for (uint32_t d = 0; d < run->n_devices; d++) {
        const struct kvs_link *link = &m->links[m->devices[d].link];
        double seconds =
            link->mode == KVS_LINK_UNLIMITED
                ? 0.0
                : (double)run->devices[d].moved_bytes[KVS_H2D] / link->rate[KVS_H2D].value;
        sum_s += seconds;
        longest_s = fmax(longest_s, seconds);
        is_in_turn |= run->devices[d].tag_bytes[KVS_TAG_WINDOW] > 0;
    }
    p->copies_ms = (is_in_turn ? sum_s : longest_s) * 1e3 / (double)run->n_tokens;
}

static void predict_fill(struct kvs_prediction *p, const struct kvs_run *run,
                         const struct kvs_case *c)
{
    p->token_ms = predict_ms(run->total_ps, run->n_tokens);
    p->ts = 1e3 / p->token_ms * (double)c->workload.n_parallel;
    p->n_ops = run->n_dispatched;
    p->repeat_length = run->repeat_length;
    predict_bottleneck(p, run, c->machine);
    p->exposed_ms = p->token_ms * (1.0 - fmin(1.0, p->bottleneck.busy_frac));
    predict_breakdown(p, run);
    predict_copies(p, run, c->machine);
    p->compute_ms = kvs_ms_from_ps(p->bound.chain_ps);
}

static kvs_status predict_run(const struct kvs_plan *plan, const struct kvs_case *c,
                              const struct kvs_predict_options *options,
                              struct kvs_prediction *out, struct kvs_error *err)
{
    struct kvs_run run;
    struct kvs_exec_options exec = {0};
    KVS_TRY(kvs_exec_once(options->exec, plan, c, &exec, &run, options->timeline, err));
    predict_fill(out, &run, c);
    if (options->busy_factors != NULL) {
        *options->busy_factors = run.busy_factors;
        run.busy_factors = NULL;
    }
    kvs_run_fini(&run);
    return KVS_OK;
}

kvs_status kvs_predict_plan(const struct kvs_plan *plan, const struct kvs_case *c,
                            const struct kvs_predict_options *options,
                            struct kvs_prediction *out, struct kvs_error *err)
{
    *out = (struct kvs_prediction){0};
    KVS_TRY(kvs_bound_of(c, &out->bound, err));
    KVS_TRY(predict_run(plan, c, options, out, err));
    out->share = kvs_ms_from_ps(out->bound.total_ps) / out->token_ms;
    return KVS_OK;
}

kvs_status kvs_predict(const struct kvs_case *c, const struct kvs_policy *policy,
                       const struct kvs_predict_options *options, struct kvs_prediction *out,
                       struct kvs_error *err)
{
    struct kvs_decision decision = {0};
    struct kvs_plan *plan;
    *out = (struct kvs_prediction){0};
    KVS_ASSERT(policy->abi_version == KVS_POLICY_ABI && policy->plan);
    KVS_TRY(policy->plan(c, &decision, &plan, err));
    kvs_status status = kvs_plan_check(plan, NULL, NULL, err);
    if (status == KVS_OK)
        status = kvs_predict_plan(plan, c, options, out, err);
    out->decision = decision;
    if (status == KVS_OK && options->wants_edges)
        status = kvs_find_edge(c, plan, options->exec, out->token_ms, &out->edge, err);
    if (status == KVS_OK && options->plan)
        *options->plan = plan;
    else
        kvs_plan_destroy(plan);
    return status;
}
