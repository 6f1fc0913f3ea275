/* The steps in order, and what they found. */
#include "real/probe_internal.h"

#include <stdarg.h>
#include <string.h>

typedef enum probe_scope {
    SCOPE_GPU,     /* every GPU */
    SCOPE_PRODUCT, /* one of each product: links do not matter */
    SCOPE_ONCE,
    SCOPE_SEVERAL /* once, where there are several GPUs */
} probe_scope;

static const struct probe_run {
    kvs_status (*run)(struct kvs_probe *p, struct probe_gpu *g);
    probe_scope scope;
} runs[KVS_PROBE_N_STEPS] = {
    [KVS_PROBE_LINK_STATE] = {probe_link_state, SCOPE_GPU},
    [KVS_PROBE_RATES] = {probe_rates, SCOPE_GPU},
    [KVS_PROBE_SIZES] = {probe_sizes, SCOPE_GPU},
    [KVS_PROBE_PIECES] = {probe_pieces, SCOPE_GPU},
    [KVS_PROBE_OPPOSITE] = {probe_opposite, SCOPE_GPU},
    [KVS_PROBE_ROWS] = {probe_rows, SCOPE_GPU},
    [KVS_PROBE_PAGEABLE] = {probe_pageable, SCOPE_ONCE},
    [KVS_PROBE_TOGETHER] = {probe_together, SCOPE_SEVERAL},
    [KVS_PROBE_ARBITRATION] = {probe_arbitration, SCOPE_PRODUCT},
    [KVS_PROBE_LEAD] = {probe_commit_lead, SCOPE_PRODUCT},
    [KVS_PROBE_BYPASS] = {probe_bypass, SCOPE_PRODUCT},
    [KVS_PROBE_FIRST_TURN] = {probe_first_turn, SCOPE_PRODUCT},
    [KVS_PROBE_BESIDE] = {probe_beside, SCOPE_PRODUCT},
    [KVS_PROBE_READ_LATENCY] = {probe_read_latency, SCOPE_PRODUCT},
    [KVS_PROBE_READS] = {probe_reads, SCOPE_PRODUCT},
    [KVS_PROBE_KERNEL_GAP] = {probe_kernel_gap, SCOPE_PRODUCT},
    [KVS_PROBE_MEMORY] = {probe_memory, SCOPE_GPU},
    [KVS_PROBE_STREAM] = {probe_stream, SCOPE_PRODUCT},
    [KVS_PROBE_CALLS] = {probe_calls, SCOPE_ONCE},
    [KVS_PROBE_WAITS] = {probe_waits, SCOPE_ONCE},
    [KVS_PROBE_BLOCKING] = {probe_blocking, SCOPE_GPU},
    [KVS_PROBE_STORE] = {probe_store, SCOPE_ONCE},
    [KVS_PROBE_QUEUE] = {probe_queue, SCOPE_ONCE},
    [KVS_PROBE_ALL_REDUCE] = {probe_all_reduce, SCOPE_SEVERAL},
};

kvs_status probe_mark(struct kvs_probe *p, const void *what)
{
    return kvs_probe_report_has(p->report, what)
               ? KVS_OK
               : KVS_ARRAY_PUSH(&p->report->measured, what, p->err);
}

kvs_status probe_set(struct kvs_probe *p, struct kvs_param *to, struct kvs_param figure)
{
    *to = figure;
    return probe_mark(p, to);
}

void probe_warn(struct kvs_probe *p, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (p->options.warn != NULL)
        p->options.warn(p->options.context, text);
}

void probe_note(struct kvs_probe *p, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    kvs_text_puts(&p->report->notes, text);
    kvs_text_puts(&p->report->notes, "\n");
}

const char *probe_name(const struct probe_gpu *g)
{
    return g->device->name;
}

static bool measure_applies(const struct kvs_probe *p, size_t step, uint32_t i)
{
    switch (runs[step].scope) {
    case SCOPE_GPU:
        return true;
    case SCOPE_PRODUCT:
        return p->gpus[i].twin == NULL;
    case SCOPE_ONCE:
        return i == 0;
    case SCOPE_SEVERAL:
        return i == 0 && p->n_gpus > 1;
    }
    return false;
}

static bool measure_is_asked(const struct kvs_probe *p, size_t step)
{
    return (p->options.parts >> kvs_probe_steps[step].part & 1) != 0;
}

static void measure_bind(struct kvs_probe *p, struct kvs_machine *machine)
{
    p->machine = machine;
    for (uint32_t i = 0; i < p->n_gpus; i++) {
        struct probe_gpu *g = &p->gpus[i];
        g->device = &machine->devices[i];
        g->link = &machine->links[g->device->link];
        g->twin = NULL;
        for (uint32_t j = 0; j < i && g->twin == NULL; j++)
            if (strcmp(p->gpus[j].facts->name, g->facts->name) == 0)
                g->twin = &p->gpus[j];
    }
}

/* One product, one set of rules: what was measured on the twin alone. */
static kvs_status measure_copy_twin(struct kvs_probe *p, struct probe_gpu *g)
{
    const struct kvs_device *from = g->twin->device;
    struct kvs_device *to = g->device;
    struct kvs_engines *engines = &to->engines;
    const struct kvs_engines *rules = &from->engines;
    struct {
        struct kvs_param *to;
        const struct kvs_param *from;
    } figures[] = {{&engines->count, &rules->count},
                   {&engines->commit_lead, &rules->commit_lead},
                   {&engines->bypass_bytes, &rules->bypass_bytes},
                   {&engines->bypass_pageable_bytes, &rules->bypass_pageable_bytes},
                   {&engines->bypass_latency, &rules->bypass_latency},
                   {&engines->opposite_overhead, &rules->opposite_overhead},
                   {&engines->handoff, &rules->handoff},
                   {&engines->in_flight_bytes, &rules->in_flight_bytes},
                   {&to->read_latency, &from->read_latency},
                   {&to->read_setup, &from->read_setup},
                   {&to->read_trips, &from->read_trips},
                   {&to->read_outstanding_bytes, &from->read_outstanding_bytes},
                   {&to->kernel_gap, &from->kernel_gap},
                   {&to->stream.rate, &from->stream.rate},
                   {&to->stream.kernel, &from->stream.kernel},
                   {&to->stream.operation, &from->stream.operation},
                   {&to->stream.slowdown, &from->stream.slowdown},
                   {&to->stream.beside, &from->stream.beside},
                   {&to->stream.fold_rate, &from->stream.fold_rate}};
    for (size_t i = 0; i < KVS_COUNT_OF(figures); i++)
        if (kvs_probe_report_has(p->report, figures[i].from))
            KVS_TRY(probe_set(p, figures[i].to, *figures[i].from));
    engines->n_engines = rules->n_engines;
    if (kvs_probe_report_has(p->report, &rules->arbitration)) {
        engines->arbitration = rules->arbitration;
        KVS_TRY(probe_mark(p, &engines->arbitration));
    }
    if (kvs_probe_report_has(p->report, &rules->first_turn)) {
        engines->first_turn = rules->first_turn;
        KVS_TRY(probe_mark(p, &engines->first_turn));
    }
    return KVS_OK;
}

static kvs_status measure_step(struct kvs_probe *p, size_t step, uint32_t i)
{
    if (probe_now_s() > p->end_s) {
        p->report->n_skipped++;
        probe_note(p, "no time was left for: %s, %s", kvs_probe_steps[step].what,
                   probe_name(&p->gpus[i]));
        return KVS_OK;
    }
    KVS_TRY(probe_check(p));
    KVS_TRY(probe_use(p, &p->gpus[i]));
    return runs[step].run(p, &p->gpus[i]);
}

static kvs_status measure_all(struct kvs_probe *p)
{
    size_t n = 0, done = 0;
    for (size_t s = 0; s < KVS_PROBE_N_STEPS; s++)
        for (uint32_t i = 0; i < p->n_gpus; i++)
            n += measure_is_asked(p, s) && measure_applies(p, s, i);
    for (size_t s = 0; s < KVS_PROBE_N_STEPS; s++)
        for (uint32_t i = 0; i < p->n_gpus; i++) {
            char what[96];
            if (!measure_is_asked(p, s) || !measure_applies(p, s, i))
                continue;
            (void)snprintf(what, sizeof what, "%s, %s", kvs_probe_steps[s].what,
                           probe_name(&p->gpus[i]));
            if (p->options.progress != NULL)
                p->options.progress(p->options.context, done, n, what);
            KVS_TRY(measure_step(p, s, i));
            done++;
        }
    for (uint32_t i = 0; i < p->n_gpus; i++)
        if (p->gpus[i].twin != NULL)
            KVS_TRY(measure_copy_twin(p, &p->gpus[i]));
    return p->report->notes.status;
}

kvs_status kvs_probe_measure(struct kvs_probe *probe, struct kvs_machine *machine,
                             struct kvs_probe_report *report, struct kvs_error *err)
{
    KVS_ASSERT(machine->n_devices == probe->n_gpus);
    probe->report = report;
    probe->err = err;
    measure_bind(probe, machine);
    kvs_status status = measure_all(probe);
    if (probe->options.progress != NULL)
        probe->options.progress(probe->options.context, 1, 1, "");
    if (report->n_skipped > 0)
        probe_warn(probe,
                   "%u measurements did not fit into %.0f s; their figures keep what they had; "
                   "--only measures a part",
                   report->n_skipped, probe->options.budget_s);
    return status;
}
