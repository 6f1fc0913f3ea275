/* Costs of operations, from the machine of a case. */
#include "sched/cost.h"

#include "models/copy.h"

static kvs_time cost_ps(const struct kvs_param *seconds)
{
    return kvs_ps_from_seconds(seconds->value);
}

static void cost_host(const struct kvs_machine *m, struct kvs_costs *costs)
{
    const struct kvs_host *h = &m->host;
    costs->sync_ps = cost_ps(&h->sync);
    costs->hop_ps = cost_ps(&h->hop);
    costs->event_ps = cost_ps(&h->event_pair);
    costs->launch_ps = cost_ps(&h->kernel_launch);
    costs->copy_call_ps = cost_ps(&h->copy_call);
    costs->graph_ps = cost_ps(&h->graph_launch);
    costs->subgraph_ps = cost_ps(&h->subgraph_launch);
    costs->collective_call_ps = cost_ps(&h->collective_launch);
    costs->store_ps = cost_ps(&h->store);
    costs->split_work_ps = cost_ps(&h->split_work);
    costs->sample_ps = cost_ps(&h->between_tokens);
    costs->collective_ps = cost_ps(&m->collective.latency);
    costs->n_trips = (uint32_t)(m->collective.trips.value + 0.5);
    costs->pageable_async_bytes = h->pageable_async_bytes.value;
    costs->submits_kernels = h->submit == KVS_SUBMIT_KERNELS;
    costs->queue_limit =
        h->queue_limit.value >= 1.0 ? (uint32_t)h->queue_limit.value : UINT32_MAX;
}

static kvs_status cost_device(const struct kvs_case *c, uint32_t d,
                              struct kvs_device_costs *out, struct kvs_error *err)
{
    const struct kvs_device *from = &c->machine->devices[d];
    for (unsigned dir = 0; dir < KVS_N_DIRS; dir++) {
        out->path_Bps[dir] = kvs_path_rate_Bps(c->machine, d, (kvs_dir)dir);
        if (!(out->path_Bps[dir] > 0.0))
            return kvs_error_set(err, KVS_EINVAL, "%s: no link on its path limits a rate",
                                 from->name);
    }
    out->latency_ps = kvs_ps_from_seconds(kvs_path_latency_s(c->machine, d));
    out->first_overhead_ps = cost_ps(&from->engines.first_overhead);
    out->next_overhead_ps = cost_ps(&from->engines.next_overhead);
    out->opposite_overhead_ps = cost_ps(&from->engines.opposite_overhead);
    out->lead_ps = cost_ps(&from->engines.commit_lead);
    out->bypass_ps = cost_ps(&from->engines.bypass_latency);
    out->handoff_ps = cost_ps(&from->engines.handoff);
    out->in_flight_bytes = from->engines.in_flight_bytes.value;
    out->compute = kvs_case_compute_cost(c, d);
    out->gap_ps = kvs_ps_from_seconds(out->compute.s_per_kernel);
    out->operation_ps = kvs_ps_from_seconds(out->compute.s_per_operation);
    out->beside_ps = kvs_ps_from_seconds(out->compute.s_beside);
    out->busy_factor = 1.0;
    out->copy_slowdown = out->compute.copy_slowdown_frac;
    if (!out->compute.is_measured)
        out->copy_slowdown = out->path_Bps[KVS_H2D] / from->memory_rate.value;
    return KVS_OK;
}

kvs_status kvs_costs_create(const struct kvs_case *c, struct kvs_costs *out,
                            struct kvs_error *err)
{
    void *memory;
    *out = (struct kvs_costs){.machine = c->machine, .n_devices = c->machine->n_devices};
    KVS_TRY(kvs_mem_alloc(out->n_devices, sizeof *out->devices, &memory, err));
    out->devices = memory;
    cost_host(c->machine, out);
    kvs_status status = KVS_OK;
    for (uint32_t d = 0; d < out->n_devices && status == KVS_OK; d++) {
        status = cost_device(c, d, &out->devices[d], err);
        out->is_streamed |= out->devices[d].compute.is_streamed;
        if (out->devices[d].handoff_ps > out->longest_handoff_ps)
            out->longest_handoff_ps = out->devices[d].handoff_ps;
    }
    if (status != KVS_OK)
        kvs_costs_fini(out);
    return status;
}

void kvs_costs_fini(struct kvs_costs *costs)
{
    kvs_mem_free(costs->devices);
    costs->devices = NULL;
}

kvs_op_class kvs_op_class_of(const struct kvs_op *op)
{
    switch ((kvs_op_kind)op->kind) {
    case KVS_OP_HOST:
        return KVS_CLASS_HOST_WORK;
    case KVS_OP_WAIT:
        return KVS_CLASS_HOST_WAIT;
    case KVS_OP_COPY:
        return op->flags & KVS_OP_VIA_KERNEL ? KVS_CLASS_KERNEL_COPY : KVS_CLASS_ENGINE_COPY;
    case KVS_OP_COMPUTE:
        return op->flags & KVS_OP_LIGHT ? KVS_CLASS_LIGHT : KVS_CLASS_HEAVY;
    case KVS_OP_COLLECTIVE:
        return KVS_CLASS_MEMBER;
    case KVS_OP_KIND_COUNT:
        break;
    }
    return KVS_CLASS_HOST_WORK;
}

/* K is folded by a kernel before the graph of the weights; V, and the rows made, behind it. */
static bool cost_has_steps(const struct kvs_costs *costs, const struct kvs_op *op)
{
    return costs->is_streamed && op->kind == KVS_OP_COMPUTE && op->compute.kv_bytes > 0;
}

kvs_time kvs_op_call_ps(const struct kvs_costs *costs, const struct kvs_op *op)
{
    kvs_time events = op->n_dep * costs->event_ps;
    switch (kvs_op_class_of(op)) {
    case KVS_CLASS_ENGINE_COPY:
        return events + costs->copy_call_ps;
    case KVS_CLASS_KERNEL_COPY:
    case KVS_CLASS_LIGHT:
        return events + costs->launch_ps;
    case KVS_CLASS_HEAVY:
        if (op->flags & KVS_OP_SUBGRAPH)
            return events + costs->subgraph_ps;
        return events + (costs->submits_kernels || cost_has_steps(costs, op) ? costs->launch_ps
                                                                             : costs->graph_ps);
    case KVS_CLASS_MEMBER:
        return events + costs->collective_call_ps;
    case KVS_CLASS_HOST_WORK:
    case KVS_CLASS_HOST_WAIT:
    case KVS_CLASS_COUNT:
        break;
    }
    return 0;
}

kvs_time kvs_op_more_ps(const struct kvs_costs *costs, const struct kvs_op *op)
{
    if (kvs_op_class_of(op) != KVS_CLASS_HEAVY || (op->flags & KVS_OP_SUBGRAPH))
        return 0;
    if (costs->submits_kernels)
        return op->compute.n_kernels > 1
                   ? (kvs_time)(op->compute.n_kernels - 1) * costs->launch_ps
                   : 0;
    return cost_has_steps(costs, op) ? costs->graph_ps + 2 * costs->launch_ps : 0;
}

static kvs_time cost_host_work_ps(const struct kvs_costs *costs, const struct kvs_op *op)
{
    if (op->tag == KVS_TAG_STORE)
        return op->host.n_calls * costs->store_ps + costs->split_work_ps;
    return op->tag == KVS_TAG_SAMPLE ? op->host.n_calls * costs->sample_ps : 0;
}

kvs_time kvs_op_work_ps(const struct kvs_costs *costs, const struct kvs_op *op, uint32_t device)
{
    if (op->kind == KVS_OP_HOST)
        return cost_host_work_ps(costs, op);
    if (op->kind == KVS_OP_COLLECTIVE) {
        double rate = costs->machine->collective.rate.value;
        kvs_time bytes =
            rate > 0.0 ? kvs_ps_from_bytes((double)op->collective.size_bytes, rate) : 0;
        return costs->collective_ps + bytes;
    }
    if (op->kind != KVS_OP_COMPUTE)
        return 0;
    const struct kvs_device_costs *d = &costs->devices[device];
    if (op->flags & KVS_OP_LIGHT)
        return (kvs_time)op->compute.n_kernels *
               kvs_ps_from_seconds(costs->machine->devices[device].kernel_gap.value);
    double seconds = kvs_compute_s(&d->compute, op->compute.params, op->compute.kv_bytes,
                                   op->compute.n_queries);
    return kvs_ps_from_seconds(seconds * d->busy_factor) +
           (kvs_time)op->compute.n_kernels * d->gap_ps + d->operation_ps;
}

double kvs_op_copy_Bps(const struct kvs_costs *costs, const struct kvs_op *op,
                       const struct kvs_range *source, uint32_t device)
{
    double rate = costs->devices[device].path_Bps[op->flags & KVS_OP_D2H ? KVS_D2H : KVS_H2D];
    if (op->flags & KVS_OP_PAGEABLE)
        rate = kvs_pageable_rate_Bps(&costs->machine->host, rate);
    uint64_t width = op->flags & KVS_OP_2D ? source->width : 0;
    return rate * kvs_row_efficiency(&costs->machine->devices[device].engines.row_curve, width);
}
