/* Happens-before, built in issue order: what each operation knows when it starts and ends. */
#include "sched/plan_hb.h"

kvs_status kvs_hb_init(struct kvs_hb *hb, const struct kvs_plan *plan, uint16_t longest,
                       struct kvs_error *err)
{
    void *memory = NULL;
    *hb = (struct kvs_hb){.plan = plan, .generation = 1};
    KVS_TRY(kvs_mem_alloc(plan->queues.n, sizeof *hb->queues, &memory, err));
    hb->queues = memory;
    KVS_TRY(kvs_mem_alloc(plan->queues.n, sizeof *hb->host_known, &memory, err));
    hb->host_known = memory;
    KVS_TRY(kvs_mem_alloc(plan->queues.n, sizeof *hb->marks, &memory, err));
    hb->marks = memory;
    KVS_TRY(kvs_mem_alloc(plan->queues.n, sizeof *hb->stamps, &memory, err));
    hb->stamps = memory;
    KVS_TRY(kvs_mem_alloc(plan->n_devices, sizeof *hb->device_serials, &memory, err));
    hb->device_serials = memory;
    KVS_TRY(kvs_mem_alloc(longest + 1u, sizeof *hb->history, &memory, err));
    hb->history = memory;
    hb->n_history = longest + 1u;
    return KVS_OK;
}

void kvs_hb_fini(struct kvs_hb *hb)
{
    for (size_t q = 0; hb->queues && q < hb->plan->queues.n; q++) {
        KVS_ARRAY_FREE(&hb->queues[q].carry);
        KVS_ARRAY_FREE(&hb->queues[q].hub_steps);
    }
    for (uint32_t i = 0; hb->history && i < hb->n_history; i++) {
        KVS_ARRAY_FREE(&hb->history[i].instances);
        KVS_ARRAY_FREE(&hb->history[i].known);
    }
    for (uint32_t i = 0; i < KVS_HB_MAX_OPEN; i++) {
        KVS_ARRAY_FREE(&hb->groups[i].known);
        KVS_ARRAY_FREE(&hb->groups[i].members);
    }
    KVS_ARRAY_FREE(&hb->touched);
    kvs_mem_free(hb->queues);
    kvs_mem_free(hb->host_known);
    kvs_mem_free(hb->marks);
    kvs_mem_free(hb->stamps);
    kvs_mem_free(hb->device_serials);
    kvs_mem_free(hb->history);
}

uint64_t kvs_hb_size_bytes(const struct kvs_hb *hb)
{
    size_t n_queues = hb->plan->queues.n;
    uint64_t size_bytes = n_queues * (sizeof *hb->queues + 3 * sizeof *hb->marks) +
                          hb->touched.capacity * sizeof *hb->touched.items +
                          hb->n_history * sizeof *hb->history;
    for (size_t q = 0; q < n_queues; q++)
        size_bytes += hb->queues[q].carry.capacity * sizeof(struct kvs_hb_known) +
                      hb->queues[q].hub_steps.capacity * sizeof(struct kvs_hb_step);
    for (uint32_t i = 0; i < hb->n_history; i++)
        size_bytes += hb->history[i].instances.capacity * sizeof(struct kvs_hb_instance) +
                      hb->history[i].known.capacity * sizeof(struct kvs_hb_known);
    for (uint32_t i = 0; i < KVS_HB_MAX_OPEN; i++)
        size_bytes += hb->groups[i].known.capacity * sizeof(struct kvs_hb_known) +
                      hb->groups[i].members.capacity * sizeof(kvs_op_id);
    return size_bytes;
}

struct kvs_hb_token *kvs_hb_token_now(struct kvs_hb *hb)
{
    return &hb->history[(hb->n_tokens - 1) % hb->n_history];
}

kvs_status kvs_hb_begin_token(struct kvs_hb *hb, uint32_t segment, uint32_t token,
                              struct kvs_error *err)
{
    hb->n_tokens++;
    hb->n_reachable++;
    struct kvs_hb_token *t = kvs_hb_token_now(hb);
    t->segment = segment;
    t->token = token;
    t->n_ops = (uint32_t)hb->plan->segments.items[segment].ops.n;
    t->known.n = 0;
    KVS_TRY(KVS_ARRAY_RESERVE(&t->instances, t->n_ops, err));
    for (uint32_t i = 0; i < t->n_ops; i++)
        t->instances.items[i].index = KVS_HB_ABSENT;
    hb->now = (struct kvs_op_ref){.segment = segment, .token = token};
    return KVS_OK;
}

void kvs_hb_barrier(struct kvs_hb *hb)
{
    for (size_t q = 0; q < hb->plan->queues.n; q++)
        hb->host_known[q] = hb->queues[q].n_issued;
    hb->host_hub = hb->last_hub;
    hb->n_reachable = 0;
}

void kvs_hb_forget(struct kvs_hb *hb)
{
    hb->stamp++;
    hb->touched.n = 0;
    hb->hub_now = hb->host_hub;
    hb->pending_now = 0;
}

static void hb_join_hub(struct kvs_hb *hb, uint32_t hub)
{
    if (hub > hb->hub_now)
        hb->hub_now = hub;
}

static void hb_join_pending(struct kvs_hb *hb, struct kvs_hb_pending pending)
{
    if (pending.generation == hb->generation)
        hb->pending_now |= pending.mask & hb->live;
}

kvs_status kvs_hb_join(struct kvs_hb *hb, const struct kvs_hb_known *known, size_t n,
                       struct kvs_error *err)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t q = known[i].queue;
        if (known[i].n <= hb->host_known[q])
            continue;
        if (hb->stamps[q] != hb->stamp) {
            KVS_TRY(KVS_ARRAY_PUSH(&hb->touched, q, err));
            hb->stamps[q] = hb->stamp;
            hb->marks[q] = known[i].n;
        } else if (hb->marks[q] < known[i].n) {
            hb->marks[q] = known[i].n;
        }
    }
    return KVS_OK;
}

uint32_t kvs_hb_hub_known(const struct kvs_hb *hb, uint32_t queue, uint32_t epoch)
{
    const struct kvs_hb_step *steps = hb->queues[queue].hub_steps.items;
    size_t lo = 0, hi = hb->queues[queue].hub_steps.n;
    if (hi > 0 && steps[hi - 1].epoch <= epoch)
        return steps[hi - 1].n;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (steps[middle].epoch <= epoch)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo == 0 ? 0 : steps[lo - 1].n;
}

static bool hb_is_news(const struct kvs_hb *hb, uint32_t queue)
{
    return hb->marks[queue] > hb->host_known[queue] &&
           (hb->hub_now == 0 || hb->marks[queue] > kvs_hb_hub_known(hb, queue, hb->hub_now));
}

kvs_status kvs_hb_store(struct kvs_hb *hb, struct kvs_hb_token *token,
                        struct kvs_hb_instance *instance, struct kvs_error *err)
{
    instance->hub = hb->hub_now;
    instance->first = (uint32_t)token->known.n;
    for (size_t i = 0; i < hb->touched.n; i++) {
        uint32_t q = hb->touched.items[i];
        struct kvs_hb_known known = {.queue = q, .n = hb->marks[q]};
        if (hb_is_news(hb, q))
            KVS_TRY(KVS_ARRAY_PUSH(&token->known, known, err));
    }
    instance->n = (uint32_t)token->known.n - instance->first;
    return KVS_OK;
}

kvs_status kvs_hb_carry(struct kvs_hb *hb, struct kvs_hb_queue *queue, struct kvs_error *err)
{
    queue->hub = hb->hub_now;
    queue->carry.n = 0;
    for (size_t i = 0; i < hb->touched.n; i++) {
        uint32_t q = hb->touched.items[i];
        struct kvs_hb_known known = {.queue = q, .n = hb->marks[q]};
        if (hb_is_news(hb, q))
            KVS_TRY(KVS_ARRAY_PUSH(&queue->carry, known, err));
    }
    return KVS_OK;
}

static void hb_host_learn(struct kvs_hb *hb)
{
    for (size_t i = 0; i < hb->touched.n; i++) {
        uint32_t q = hb->touched.items[i];
        if (hb->host_known[q] < hb->marks[q])
            hb->host_known[q] = hb->marks[q];
    }
    if (hb->host_hub < hb->hub_now)
        hb->host_hub = hb->hub_now;
}

/* The host waits for something; it must be able to end. `on` names what it waits for. */
static kvs_status hb_refuse_vain(const struct kvs_hb *hb, struct kvs_op_ref on,
                                 struct kvs_hb_pending pending, struct kvs_error *err)
{
    if (pending.generation != hb->generation || hb->live == 0)
        return KVS_OK;
    uint64_t mask = kvs_hb_blockers(hb, pending.mask);
    if (mask == 0)
        return KVS_OK;
    unsigned slot = 0;
    while (!(mask >> slot & 1))
        slot++;
    char text[KVS_OP_TEXT_BYTES];
    kvs_op_ref_print(hb->plan, on, on.token != hb->now.token, text);
    return kvs_plan_fault(hb->plan, hb->now, err,
                          "waits for %s, which cannot end: collective %u has %zu of %u members "
                          "so far, the others are issued later",
                          text, (unsigned)hb->groups[slot].group, hb->groups[slot].members.n,
                          (unsigned)hb->groups[slot].n_members);
}

static kvs_status hb_join_dep(struct kvs_hb *hb, const struct kvs_dep *dep,
                              struct kvs_error *err)
{
    if (dep->distance >= hb->n_reachable)
        return KVS_OK;
    const struct kvs_hb_token *token =
        &hb->history[(hb->n_tokens - 1 - dep->distance) % hb->n_history];
    struct kvs_op_ref on = {.segment = token->segment, .token = token->token, .op = dep->op};
    const struct kvs_hb_instance *instance = &token->instances.items[dep->op];
    if (instance->index == KVS_HB_ABSENT)
        return kvs_plan_fault(
            hb->plan, hb->now, err,
            "waits for op %u of token %u of segment %u, which does not run there",
            (unsigned)dep->op, (unsigned)token->token, (unsigned)token->segment);
    if (hb->now_queue == KVS_HOST_QUEUE)
        KVS_TRY(hb_refuse_vain(hb, on, instance->pending, err));
    struct kvs_hb_known self = {.queue = kvs_op_ref_op(hb->plan, on)->queue,
                                .n = instance->index + 1};
    KVS_TRY(kvs_hb_join(hb, &self, 1, err));
    if (instance->n > 0)
        KVS_TRY(kvs_hb_join(hb, &token->known.items[instance->first], instance->n, err));
    hb_join_hub(hb, instance->hub);
    hb_join_pending(hb, instance->pending);
    return KVS_OK;
}

kvs_status kvs_hb_begin_op(struct kvs_hb *hb, kvs_op_id id, uint32_t skip_dep,
                           struct kvs_error *err)
{
    const struct kvs_segment *segment = &hb->plan->segments.items[hb->now.segment];
    const struct kvs_op *op = &segment->ops.items[id];
    const struct kvs_hb_queue *queue = &hb->queues[op->queue];
    hb->now.op = id;
    hb->now_queue = op->queue;
    kvs_hb_forget(hb);
    if (op->queue != KVS_HOST_QUEUE) {
        KVS_TRY(kvs_hb_join(hb, queue->carry.items, queue->carry.n, err));
        hb_join_hub(hb, queue->hub);
        hb_join_pending(hb, queue->pending);
    }
    for (uint32_t i = op->first_dep; i < op->first_dep + op->n_dep; i++)
        if (i != skip_dep)
            KVS_TRY(hb_join_dep(hb, &segment->deps.items[i], err));
    if (op->queue == KVS_HOST_QUEUE)
        hb_host_learn(hb);
    return KVS_OK;
}

bool kvs_hb_precedes(const struct kvs_hb *hb, uint32_t queue, uint32_t index)
{
    if (queue == KVS_HOST_QUEUE || queue == hb->now_queue || kvs_hb_is_past(hb, queue, index))
        return true;
    if (hb->stamps[queue] == hb->stamp && hb->marks[queue] > index)
        return true;
    return hb->hub_now > 0 && kvs_hb_hub_known(hb, queue, hb->hub_now) > index;
}

static kvs_status hb_end_host_op(struct kvs_hb *hb)
{
    struct kvs_hb_instance *instance = &kvs_hb_token_now(hb)->instances.items[hb->now.op];
    struct kvs_hb_queue *queue = &hb->queues[KVS_HOST_QUEUE];
    *instance = (struct kvs_hb_instance){.index = queue->n_issued++, .hub = hb->host_hub};
    hb->host_known[KVS_HOST_QUEUE] = queue->n_issued;
    return KVS_OK;
}

kvs_status kvs_hb_end_op(struct kvs_hb *hb, struct kvs_error *err)
{
    const struct kvs_op *op = kvs_op_ref_op(hb->plan, hb->now);
    hb->n_issued++;
    if (op->queue == KVS_HOST_QUEUE)
        return hb_end_host_op(hb);
    struct kvs_hb_token *token = kvs_hb_token_now(hb);
    struct kvs_hb_instance *instance = &token->instances.items[hb->now.op];
    struct kvs_hb_queue *queue = &hb->queues[op->queue];
    struct kvs_hb_group *group = NULL;
    instance->index = queue->n_issued++;
    struct kvs_hb_known self = {.queue = op->queue, .n = queue->n_issued};
    KVS_TRY(kvs_hb_join(hb, &self, 1, err));
    if (op->kind == KVS_OP_COLLECTIVE)
        KVS_TRY(kvs_hb_group_add(hb, &group, err));
    instance->pending =
        (struct kvs_hb_pending){.mask = hb->pending_now, .generation = hb->generation};
    queue->pending = instance->pending;
    if (op->flags & KVS_OP_BLOCKS && !group) {
        KVS_TRY(hb_refuse_vain(hb, hb->now, instance->pending, err));
        hb_host_learn(hb);
    }
    KVS_TRY(kvs_hb_store(hb, token, instance, err));
    KVS_TRY(kvs_hb_carry(hb, queue, err));
    if (!group)
        return KVS_OK;
    KVS_TRY(kvs_hb_group_end(hb, group, err));
    if (!(op->flags & KVS_OP_BLOCKS))
        return KVS_OK;
    KVS_TRY(hb_refuse_vain(hb, hb->now, instance->pending, err));
    kvs_hb_forget(hb);
    if (instance->n > 0)
        KVS_TRY(kvs_hb_join(hb, &token->known.items[instance->first], instance->n, err));
    hb_join_hub(hb, instance->hub);
    hb_host_learn(hb);
    return KVS_OK;
}
