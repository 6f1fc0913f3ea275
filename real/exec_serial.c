/* The smallest executor: what a plan means (sched/plan.h), without engines, links or time. */
#include "real/exec_serial.h"

#include "real/memory.h"

struct serial {
    const struct kvs_plan *plan;
    struct kvs_exec_options options;
    struct kvs_program *program;
    struct kvs_memory *memory;
};

static void serial_close(void *session)
{
    struct serial *s = session;
    if (!s)
        return;
    kvs_memory_destroy(s->memory);
    kvs_program_destroy(s->program);
    kvs_mem_free(s);
}

static kvs_status serial_open(const struct kvs_plan *plan, const struct kvs_case *c,
                              const struct kvs_exec_options *options, void **session,
                              struct kvs_error *err)
{
    void *memory;
    (void)c;
    KVS_TRY(kvs_mem_alloc(1, sizeof(struct serial), &memory, err));
    struct serial *s = memory;
    s->plan = plan;
    s->options = *options;
    kvs_status status =
        kvs_program_create(plan, options->seed, options->verifies, &s->program, err);
    if (status == KVS_OK)
        status = kvs_memory_create(s->program, options->seed, &s->memory, err);
    if (status == KVS_OK)
        *session = s;
    else
        serial_close(s);
    return status;
}

static void serial_token(struct serial *s, uint32_t segment, uint32_t token,
                         struct kvs_run *run)
{
    const struct kvs_segment *plan = &s->plan->segments.items[segment];
    for (kvs_op_id id = 0; id < plan->ops.n; id++) {
        const struct kvs_op *op = &plan->ops.items[id];
        if (op->phase != token % plan->period)
            continue;
        run->n_dispatched++;
        bool is_first = id == 0 || op[-1].kind != KVS_OP_COLLECTIVE ||
                        op[-1].collective.group != op->collective.group;
        if (op->kind != KVS_OP_COLLECTIVE)
            kvs_memory_apply(s->memory, segment, token, id);
        else if (is_first)
            kvs_memory_reduce(s->memory, segment, id);
    }
}

static kvs_status serial_run(void *session, struct kvs_run *run, struct kvs_timeline *timeline,
                             struct kvs_error *err)
{
    struct serial *s = session;
    *run = (struct kvs_run){.n_tokens = kvs_plan_n_tokens(s->plan)};
    if (timeline)
        timeline->spans.n = 0;
    kvs_memory_reset(s->memory);
    for (uint32_t segment = 0; segment < s->plan->segments.n; segment++) {
        for (uint32_t t = 0; t < s->plan->segments.items[segment].n_tokens; t++) {
            if (s->options.stop && *s->options.stop)
                return kvs_error_set(err, KVS_ESTOPPED, "stopped");
            serial_token(s, segment, t, run);
        }
    }
    run->digest = kvs_memory_digest(s->memory);
    run->has_digest = true;
    return KVS_OK;
}

const struct kvs_exec_ops kvs_exec_serial = {
    .abi_version = KVS_EXEC_ABI,
    .name = "serial",
    .summary = "one operation after another in host memory: the plan's meaning, without time",
    .open = serial_open,
    .run = serial_run,
    .close = serial_close,
};
