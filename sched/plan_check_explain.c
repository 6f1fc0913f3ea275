/* Why a dependency can go: the chain of operations that implies it, found by walking back. */
#include "sched/plan_check.h"

#include "sched/plan_check_parts.h"

#define EXPLAIN_NONE UINT32_MAX

/* An instance: operation `id` of the k-th token is node tokens[k].first_node + id. */
struct explain_token {
    uint32_t segment;
    uint32_t token;
    uint32_t first_node;
};

/* The tokens from the one that the edge comes from to the one that it leads to. */
struct explain {
    const struct kvs_plan *plan; /* borrowed */
    KVS_ARRAY(struct explain_token) tokens;
    uint32_t n_nodes;
    uint32_t *queue_before; /* owned, [n_nodes]: the operation before it on its queue */
    uint32_t *host_before;  /* owned, [n_nodes]: the last thing the host waited for or did */
    uint32_t *next_member;  /* owned, [n_nodes]: ring through the members of a collective */
    uint32_t *towards; /* owned, [n_nodes]: the next node on the way to the end; NONE: unseen */
    KVS_ARRAY(uint32_t) frontier;
};

static void explain_fini(struct explain *x)
{
    KVS_ARRAY_FREE(&x->tokens);
    KVS_ARRAY_FREE(&x->frontier);
    kvs_mem_free(x->queue_before);
    kvs_mem_free(x->host_before);
    kvs_mem_free(x->next_member);
    kvs_mem_free(x->towards);
}

static const struct explain_token *explain_token_of(const struct explain *x, uint32_t node)
{
    size_t k = x->tokens.n - 1;
    while (x->tokens.items[k].first_node > node)
        k--;
    return &x->tokens.items[k];
}

static struct kvs_op_ref explain_ref(const struct explain *x, uint32_t node)
{
    const struct explain_token *t = explain_token_of(x, node);
    return (struct kvs_op_ref){
        .segment = t->segment, .token = t->token, .op = node - t->first_node};
}

/*
 * Fills the tokens for an edge of `distance` that ends in (segment, token). False when it
 * reaches behind the start or a barrier.
 */
static kvs_status explain_list_tokens(struct explain *x, uint32_t segment, uint32_t token,
                                      uint16_t distance, bool *out_is_real,
                                      struct kvs_error *err)
{
    *out_is_real = false;
    for (uint32_t d = 0; d <= distance; d++) {
        struct explain_token t = {.segment = segment, .token = token};
        KVS_TRY(KVS_ARRAY_PUSH(&x->tokens, t, err));
        if (d == distance)
            break;
        if (token > 0) {
            token--;
            continue;
        }
        if (segment == 0 || x->plan->segments.items[segment].has_barrier)
            return KVS_OK;
        token = x->plan->segments.items[--segment].n_tokens - 1;
    }
    for (size_t i = 0, j = x->tokens.n - 1; i < j; i++, j--) {
        struct explain_token t = x->tokens.items[i];
        x->tokens.items[i] = x->tokens.items[j];
        x->tokens.items[j] = t;
    }
    for (size_t k = 0; k < x->tokens.n; k++) {
        x->tokens.items[k].first_node = x->n_nodes;
        x->n_nodes += (uint32_t)x->plan->segments.items[x->tokens.items[k].segment].ops.n;
    }
    *out_is_real = true;
    return KVS_OK;
}

static kvs_status explain_array(uint32_t **out, size_t n, struct kvs_error *err)
{
    void *memory = NULL;
    KVS_TRY(kvs_mem_alloc(n, sizeof **out, &memory, err));
    *out = memory;
    for (size_t i = 0; i < n; i++)
        (*out)[i] = EXPLAIN_NONE;
    return KVS_OK;
}

/* Links a member with the one of its group that came before it in this token, if any. */
static void explain_join_group(struct explain *x, const struct explain_token *t, uint32_t node)
{
    const struct kvs_op *ops = x->plan->segments.items[t->segment].ops.items;
    const struct kvs_op *op = &ops[node - t->first_node];
    x->next_member[node] = node;
    for (uint32_t other = node; other-- > t->first_node;) {
        const struct kvs_op *o = &ops[other - t->first_node];
        if (x->next_member[other] == EXPLAIN_NONE ||
            o->collective.group != op->collective.group)
            continue;
        x->next_member[node] = x->next_member[other];
        x->next_member[other] = node;
        return;
    }
}

static kvs_status explain_link(struct explain *x, struct kvs_error *err)
{
    uint32_t *last = NULL, host = EXPLAIN_NONE;
    KVS_TRY(explain_array(&x->queue_before, x->n_nodes, err));
    KVS_TRY(explain_array(&x->host_before, x->n_nodes, err));
    KVS_TRY(explain_array(&x->next_member, x->n_nodes, err));
    KVS_TRY(explain_array(&x->towards, x->n_nodes, err));
    KVS_TRY(explain_array(&last, x->plan->queues.n, err));
    for (size_t k = 0; k < x->tokens.n; k++) {
        const struct explain_token *t = &x->tokens.items[k];
        const struct kvs_segment *segment = &x->plan->segments.items[t->segment];
        for (uint32_t id = 0; id < segment->ops.n; id++) {
            const struct kvs_op *op = &segment->ops.items[id];
            uint32_t node = t->first_node + id;
            if (op->phase != t->token % segment->period)
                continue;
            x->queue_before[node] = last[op->queue];
            x->host_before[node] = host;
            last[op->queue] = node;
            if (op->queue == KVS_HOST_QUEUE || op->flags & KVS_OP_BLOCKS)
                host = node;
            if (op->kind == KVS_OP_COLLECTIVE)
                explain_join_group(x, t, node);
        }
    }
    kvs_mem_free(last);
    return KVS_OK;
}

static kvs_status explain_reach(struct explain *x, uint32_t node, uint32_t from,
                                struct kvs_error *err)
{
    if (node == EXPLAIN_NONE || x->towards[node] != EXPLAIN_NONE)
        return KVS_OK;
    x->towards[node] = from;
    return KVS_ARRAY_PUSH(&x->frontier, node, err);
}

/* Everything that has ended when `node` starts, in one step; skip_dep is left out. */
static kvs_status explain_step(struct explain *x, uint32_t node, uint32_t from,
                               uint32_t skip_dep, struct kvs_error *err)
{
    struct kvs_op_ref ref = explain_ref(x, node);
    const struct explain_token *t = explain_token_of(x, node);
    const struct kvs_segment *segment = &x->plan->segments.items[ref.segment];
    const struct kvs_op *op = &segment->ops.items[ref.op];
    KVS_TRY(explain_reach(x, x->queue_before[node], from, err));
    KVS_TRY(explain_reach(x, x->host_before[node], from, err));
    for (uint32_t i = op->first_dep; i < op->first_dep + op->n_dep; i++) {
        const struct kvs_dep *dep = &segment->deps.items[i];
        if (i == skip_dep || dep->distance > (size_t)(t - x->tokens.items))
            continue;
        KVS_TRY(explain_reach(x, (t - dep->distance)->first_node + dep->op, from, err));
    }
    return KVS_OK;
}

/* Breadth first from `end` back to `start`. */
static kvs_status explain_search(struct explain *x, uint32_t start, uint32_t end,
                                 uint32_t segment, uint32_t skip_dep, struct kvs_error *err)
{
    x->towards[end] = end;
    uint32_t member = end;
    do {
        KVS_TRY(explain_step(x, member, end, skip_dep, err));
        member = x->next_member[member];
    } while (member != EXPLAIN_NONE && member != end);
    for (size_t i = 0; i < x->frontier.n && x->towards[start] == EXPLAIN_NONE; i++) {
        uint32_t node = x->frontier.items[i];
        uint32_t skip = explain_ref(x, node).segment == segment ? skip_dep : EXPLAIN_NONE;
        KVS_TRY(explain_step(x, node, node, skip, err));
        if (x->next_member[node] != EXPLAIN_NONE)
            KVS_TRY(explain_reach(x, x->next_member[node], node, err));
    }
    return KVS_OK;
}

static void explain_print(const struct explain *x, uint32_t start, uint32_t end,
                          struct kvs_text *path)
{
    if (x->towards[start] == EXPLAIN_NONE) {
        kvs_text_puts(path, "nothing implies this order, and no bytes need it");
        return;
    }
    for (uint32_t node = start;; node = x->towards[node]) {
        char text[KVS_OP_TEXT_BYTES];
        kvs_op_ref_print(x->plan, explain_ref(x, node), true, text);
        kvs_text_printf(path, "%s%s", node == start ? "" : " -> ", text);
        if (node == end)
            return;
    }
}

static kvs_status explain_edge(struct explain *x, uint32_t s, kvs_op_id id, uint32_t dep_index,
                               struct kvs_text *path, struct kvs_error *err)
{
    const struct kvs_segment *segment = &x->plan->segments.items[s];
    const struct kvs_dep *dep = &segment->deps.items[dep_index];
    uint32_t token = segment->ops.items[id].phase;
    while (token < dep->distance && segment->n_tokens - token > segment->period)
        token += segment->period;
    bool is_real = false;
    if (token < segment->n_tokens)
        KVS_TRY(explain_list_tokens(x, s, token, dep->distance, &is_real, err));
    if (!is_real) {
        kvs_text_puts(path,
                      "never waits: what it names lies before the first token or a barrier");
        return KVS_OK;
    }
    uint32_t start = x->tokens.items[0].first_node + dep->op;
    uint32_t end = x->tokens.items[x->tokens.n - 1].first_node + id;
    KVS_TRY(explain_link(x, err));
    KVS_TRY(explain_search(x, start, end, s, dep_index, err));
    explain_print(x, start, end, path);
    return path->status == KVS_OK ? KVS_OK
                                  : kvs_error_set(err, path->status, "no memory for the path");
}

kvs_status kvs_plan_explain_dep(const struct kvs_plan *plan, uint32_t segment, uint32_t dep,
                                struct kvs_text *path, struct kvs_error *err)
{
    if (segment >= plan->segments.n || dep >= plan->segments.items[segment].deps.n)
        return kvs_error_set(err, KVS_EINVAL, "plan: no dependency %u in segment %u",
                             (unsigned)dep, (unsigned)segment);
    struct kvs_plan_check_options options = {.skip_segment = segment, .skip_dep = dep};
    KVS_TRY(kvs_plan_check(plan, &options, NULL, err));
    if (!path)
        return KVS_OK;
    const struct kvs_segment *s = &plan->segments.items[segment];
    kvs_op_id id = 0;
    while (id < s->ops.n && (dep < s->ops.items[id].first_dep ||
                             dep - s->ops.items[id].first_dep >= s->ops.items[id].n_dep))
        id++;
    if (id == s->ops.n)
        return kvs_error_set(err, KVS_EINVAL, "plan: dependency %u belongs to no operation",
                             (unsigned)dep);
    struct explain x = {.plan = plan};
    kvs_status status = explain_edge(&x, segment, id, dep, path, err);
    explain_fini(&x);
    return status;
}
