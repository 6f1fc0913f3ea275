/*
 * What the operations of a plan cost on the machine of a case: worked out once, before a run in
 * virtual or in real time. How costs combine (queues, engines, sharing, slowdowns) is the
 * executor's affair.
 */
#ifndef KVS_SCHED_COST_H
#define KVS_SCHED_COST_H

#include "models/compute.h"
#include "sched/case.h"
#include "sched/plan.h"

/* How an operation is carried out. */
typedef enum kvs_op_class {
    KVS_CLASS_HOST_WORK,
    KVS_CLASS_HOST_WAIT,
    KVS_CLASS_HEAVY,       /* compute that has the device's compute engine to itself */
    KVS_CLASS_LIGHT,       /* a kernel that runs beside */
    KVS_CLASS_MEMBER,      /* of a collective */
    KVS_CLASS_ENGINE_COPY, /* on a copy engine */
    KVS_CLASS_KERNEL_COPY, /* by a kernel over the link */
    KVS_CLASS_COUNT
} kvs_op_class;

kvs_op_class kvs_op_class_of(const struct kvs_op *op);

/* Of one device. */
struct kvs_device_costs {
    double path_Bps[KVS_N_DIRS]; /* of a copy alone on its path */
    kvs_time latency_ps;         /* of the path */
    kvs_time first_overhead_ps, next_overhead_ps, opposite_overhead_ps;
    kvs_time lead_ps;   /* committed when ready so long before the end of the copy under way */
    kvs_time bypass_ps; /* a copy past the engine, whole */
    kvs_time handoff_ps;
    kvs_time gap_ps;       /* of each kernel of a compute operation */
    kvs_time operation_ps; /* of each such operation */
    kvs_time beside_ps;    /* of each that starts while the h2d engine is busy */
    double in_flight_bytes;
    double copy_slowdown; /* of compute: fraction at full path rate */
    double busy_factor;   /* of compute, for being busy most of the time: 1 until set */
    struct kvs_compute_cost compute;
};

/* Of a machine, for the model of a case. */
struct kvs_costs {
    const struct kvs_machine *machine; /* borrowed */
    uint32_t n_devices;
    struct kvs_device_costs *devices; /* owned, [n_devices] */
    /* of the host */
    kvs_time sync_ps, hop_ps, event_ps, launch_ps;
    kvs_time longest_handoff_ps; /* of all devices */
    kvs_time copy_call_ps, graph_ps, subgraph_ps, collective_call_ps;
    kvs_time store_ps, split_work_ps, sample_ps;
    uint32_t queue_limit; /* kernels not finished before a launch blocks; UINT32_MAX: none */
    bool submits_kernels; /* one by one, not as graphs */
    bool is_streamed;     /* kvsim's kernels: those on cells go beside the graph */
    double pageable_async_bytes;
    /* of collectives */
    kvs_time collective_ps;
    uint32_t n_trips; /* dependent reads of host memory */
};

/* Borrows the case's machine and model. Error: a device no link of whose path limits a rate. */
kvs_status kvs_costs_create(const struct kvs_case *c, struct kvs_costs *out,
                            struct kvs_error *err) KVS_MUST_USE;
void kvs_costs_fini(struct kvs_costs *costs);

/* Host time from one call to the moment at which the device can see it, events included. */
kvs_time kvs_op_call_ps(const struct kvs_costs *costs, const struct kvs_op *op);
/* From the end of an operation to the start of one that waited for it on the same device, besides
 * the hop from queue to queue: of a copy on an engine and a kernel, the handoff. */
static inline kvs_time kvs_op_handoff_ps(const struct kvs_costs *costs, uint32_t device,
                                         kvs_op_class from, kvs_op_class to)
{
    bool is_alike = (from == KVS_CLASS_ENGINE_COPY) == (to == KVS_CLASS_ENGINE_COPY);
    return is_alike ? 0 : costs->devices[device].handoff_ps;
}

/* Host time that the same call takes from then on, while the device is at work already; more
 * kernels of a compute operation. */
kvs_time kvs_op_more_ps(const struct kvs_costs *costs, const struct kvs_op *op);
/* Host work, compute without copies beside it and with its kernel gaps, or an idle all-reduce; 0 for others.
 * device: of the operation's queue; unused for host work. */
kvs_time kvs_op_work_ps(const struct kvs_costs *costs, const struct kvs_op *op,
                        uint32_t device);
/* Rate of a copy on an engine, alone: of its path, less what narrow rows and pageable memory
 * cost. source: its first access. */
double kvs_op_copy_Bps(const struct kvs_costs *costs, const struct kvs_op *op,
                       const struct kvs_range *source, uint32_t device);

#endif
