/* Collectives: members that meet, share what they know, and must not wait for one another in
 * vain. */
#include "sched/plan_hb.h"

/* Up to this many members a list for each costs less than a hub epoch. */
enum { HB_SMALL_GROUP = 8 };

uint64_t kvs_hb_blockers(const struct kvs_hb *hb, uint64_t mask)
{
    uint64_t all = mask & hb->live, before;
    do {
        before = all;
        for (uint32_t i = 0; i < hb->n_groups; i++)
            if (all >> i & 1)
                all |= hb->groups[i].pending & hb->live;
    } while (all != before);
    return all;
}

static kvs_status group_open(struct kvs_hb *hb, const struct kvs_op *op,
                             struct kvs_hb_group **out, struct kvs_error *err)
{
    for (uint32_t i = 0; i < hb->n_groups; i++) {
        if (hb->groups[i].group == op->collective.group && !hb->groups[i].is_complete) {
            *out = &hb->groups[i];
            return KVS_OK;
        }
    }
    if (hb->n_groups == KVS_HB_MAX_OPEN)
        return kvs_plan_fault(
            hb->plan, hb->now, err,
            "is a member of one collective too many: %d others were begun and "
            "have not all their members yet",
            KVS_HB_MAX_OPEN);
    struct kvs_hb_group *group = &hb->groups[hb->n_groups];
    group->group = op->collective.group;
    group->n_members = op->collective.n_members;
    group->hub = 0;
    group->serial = ++hb->n_serials;
    group->pending = 0;
    group->is_complete = false;
    group->known.n = 0;
    group->members.n = 0;
    hb->live |= UINT64_C(1) << hb->n_groups++;
    *out = group;
    return KVS_OK;
}

kvs_status kvs_hb_group_add(struct kvs_hb *hb, struct kvs_hb_group **out, struct kvs_error *err)
{
    const struct kvs_op *op = kvs_op_ref_op(hb->plan, hb->now);
    struct kvs_hb_group *group = NULL;
    KVS_TRY(group_open(hb, op, &group, err));
    uint64_t bit = UINT64_C(1) << (group - hb->groups);
    if (op->collective.n_members != group->n_members)
        return kvs_plan_fault(hb->plan, hb->now, err,
                              "is a member of collective %u and says it has %u members, op %u "
                              "says %u",
                              (unsigned)group->group, (unsigned)op->collective.n_members,
                              (unsigned)group->members.items[0], (unsigned)group->n_members);
    uint16_t device = hb->plan->queues.items[op->queue].device;
    if (hb->device_serials[device] == group->serial)
        return kvs_plan_fault(hb->plan, hb->now, err,
                              "is a second member of collective %u on device %u",
                              (unsigned)group->group, (unsigned)device);
    hb->device_serials[device] = group->serial;
    if (kvs_hb_blockers(hb, hb->pending_now) & bit)
        return kvs_plan_fault(
            hb->plan, hb->now, err,
            "is a member of collective %u and stands behind another member of "
            "it (cycle): all devices must issue collectives in the same order",
            (unsigned)group->group);
    group->pending |= hb->pending_now;
    hb->pending_now |= bit;
    if (hb->hub_now > group->hub)
        group->hub = hb->hub_now;
    for (size_t i = 0; i < hb->touched.n; i++) {
        uint32_t q = hb->touched.items[i];
        struct kvs_hb_known known = {.queue = q, .n = hb->marks[q]};
        KVS_TRY(KVS_ARRAY_PUSH(&group->known, known, err));
    }
    *out = group;
    return KVS_ARRAY_PUSH(&group->members, hb->now.op, err);
}

/* The marks become the next hub epoch, and nothing is left to list. */
static kvs_status group_make_epoch(struct kvs_hb *hb, struct kvs_error *err)
{
    hb->last_hub++;
    for (size_t i = 0; i < hb->touched.n; i++) {
        uint32_t q = hb->touched.items[i];
        struct kvs_hb_step step = {.epoch = hb->last_hub, .n = hb->marks[q]};
        size_t n = hb->queues[q].hub_steps.n;
        if (n == 0 || hb->queues[q].hub_steps.items[n - 1].n < step.n)
            KVS_TRY(KVS_ARRAY_PUSH(&hb->queues[q].hub_steps, step, err));
    }
    hb->hub_now = hb->last_hub;
    hb->touched.n = 0;
    return KVS_OK;
}

/* Gives every member, and the queue behind it, what all members knew. */
static kvs_status group_share(struct kvs_hb *hb, const struct kvs_hb_group *group,
                              struct kvs_error *err)
{
    struct kvs_hb_token *token = kvs_hb_token_now(hb);
    struct kvs_hb_instance joint = {0};
    kvs_hb_forget(hb);
    KVS_TRY(kvs_hb_join(hb, group->known.items, group->known.n, err));
    if (group->hub > hb->hub_now)
        hb->hub_now = group->hub;
    if (group->n_members > HB_SMALL_GROUP && hb->hub_now == hb->last_hub)
        KVS_TRY(group_make_epoch(hb, err));
    KVS_TRY(kvs_hb_store(hb, token, &joint, err));
    for (size_t i = 0; i < group->members.n; i++) {
        struct kvs_op_ref member = hb->now;
        member.op = group->members.items[i];
        struct kvs_hb_queue *queue = &hb->queues[kvs_op_ref_op(hb->plan, member)->queue];
        struct kvs_hb_instance *instance = &token->instances.items[member.op];
        instance->hub = joint.hub;
        instance->first = joint.first;
        instance->n = joint.n;
        kvs_hb_forget(hb);
        hb->hub_now = joint.hub > queue->hub ? joint.hub : queue->hub;
        KVS_TRY(kvs_hb_join(hb, queue->carry.items, queue->carry.n, err));
        KVS_TRY(kvs_hb_join(hb, token->known.items + joint.first, joint.n, err));
        KVS_TRY(kvs_hb_carry(hb, queue, err));
    }
    return KVS_OK;
}

/* Complete collectives that wait for no incomplete one are done with. */
static void group_settle(struct kvs_hb *hb)
{
    bool is_changed = true;
    while (is_changed && hb->live != 0) {
        is_changed = false;
        for (uint32_t i = 0; i < hb->n_groups; i++) {
            uint64_t bit = UINT64_C(1) << i;
            if (!(hb->live & bit) || !hb->groups[i].is_complete)
                continue;
            if (kvs_hb_blockers(hb, hb->groups[i].pending) != 0)
                continue;
            hb->live &= ~bit;
            is_changed = true;
        }
    }
    if (hb->live == 0) {
        hb->n_groups = 0;
        hb->generation++;
    }
}

kvs_status kvs_hb_group_end(struct kvs_hb *hb, struct kvs_hb_group *group,
                            struct kvs_error *err)
{
    if (group->members.n < group->n_members)
        return KVS_OK;
    KVS_TRY(group_share(hb, group, err));
    group->is_complete = true;
    group_settle(hb);
    return KVS_OK;
}

kvs_status kvs_hb_end_token(struct kvs_hb *hb, struct kvs_error *err)
{
    for (uint32_t i = 0; i < hb->n_groups; i++) {
        const struct kvs_hb_group *group = &hb->groups[i];
        if (group->is_complete)
            continue;
        hb->now.op = group->members.items[0];
        return kvs_plan_fault(
            hb->plan, hb->now, err,
            "is a member of collective %u, of which only %zu of %u members are "
            "issued in this token",
            (unsigned)group->group, group->members.n, (unsigned)group->n_members);
    }
    return KVS_OK;
}
