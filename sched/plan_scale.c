/* Multiplying the bytes of a plan. */
#include "sched/plan_scale.h"

#include <math.h>

struct scale {
    struct kvs_plan *plan;
    bool *is_scaled; /* [n_buffers] */
    uint64_t unit;   /* bytes that all ranges have in common */
    uint64_t to;     /* what a unit becomes */
    bool is_fault;
};

static uint64_t scale_gcd(uint64_t a, uint64_t b)
{
    while (b > 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void scale_find_buffers(struct scale *s)
{
    for (size_t g = 0; g < s->plan->segments.n; g++) {
        const struct kvs_segment *segment = &s->plan->segments.items[g];
        for (size_t i = 0; i < segment->ops.n; i++) {
            const struct kvs_op *op = &segment->ops.items[i];
            bool is_copy = op->kind == KVS_OP_COPY || op->kind == KVS_OP_HOST;
            for (uint32_t a = 0; is_copy && a < op->n_access; a++) {
                const struct kvs_range *range = &segment->accesses.items[op->first_access + a];
                if (range->mode == KVS_ACCESS_WRITE || op->kind == KVS_OP_COPY)
                    s->is_scaled[range->buffer] = true;
            }
        }
    }
    for (size_t i = 0; i < s->plan->setup.n; i++)
        s->is_scaled[s->plan->setup.items[i].buffer] = true;
}

typedef void (*scale_range_fn)(struct scale *s, struct kvs_range *range);

static void scale_each(struct scale *s, scale_range_fn visit)
{
    for (size_t g = 0; g < s->plan->segments.n; g++) {
        struct kvs_segment *segment = &s->plan->segments.items[g];
        for (size_t i = 0; i < segment->accesses.n; i++)
            if (s->is_scaled[segment->accesses.items[i].buffer])
                visit(s, &segment->accesses.items[i]);
    }
    for (size_t i = 0; i < s->plan->setup.n; i++)
        visit(s, &s->plan->setup.items[i]);
}

static uint64_t scale_abs(int64_t x)
{
    return x < 0 ? (uint64_t)-x : (uint64_t)x;
}

static void scale_measure(struct scale *s, struct kvs_range *range)
{
    s->unit = scale_gcd(s->unit, range->offset);
    s->unit = scale_gcd(s->unit, range->width);
    s->unit = scale_gcd(s->unit, range->rows > 1 ? range->pitch : 0);
    s->unit = scale_gcd(s->unit, scale_abs(range->offset_step));
    s->unit = scale_gcd(s->unit, scale_abs(range->width_step));
}

static int64_t scale_signed(const struct scale *s, int64_t bytes)
{
    return bytes / (int64_t)s->unit * (int64_t)s->to;
}

/* Would a range fit its types? */
static void scale_try(struct scale *s, struct kvs_range *range)
{
    uint64_t units = (range->width > range->pitch ? range->width : range->pitch) / s->unit;
    s->is_fault = s->is_fault || units > UINT32_MAX / s->to ||
                  range->offset / s->unit > (uint64_t)INT64_MAX / s->to ||
                  scale_abs(scale_signed(s, range->offset_step)) > INT32_MAX ||
                  scale_abs(scale_signed(s, range->width_step)) > KVS_RANGE_MAX_WIDTH_STEP;
}

static void scale_range(struct scale *s, struct kvs_range *range)
{
    bool is_run = range->pitch == range->width || range->rows <= 1;
    range->offset = range->offset / s->unit * s->to;
    range->width = (uint32_t)(range->width / s->unit * s->to);
    range->pitch = is_run ? range->width : (uint32_t)(range->pitch / s->unit * s->to);
    range->offset_step = (int32_t)scale_signed(s, range->offset_step);
    kvs_range_set_width_step(range, scale_signed(s, range->width_step));
}

/* Sizes need not be whole units: rounded up. */
static uint64_t scale_size(const struct scale *s, uint64_t bytes)
{
    return bytes / s->unit * s->to + (bytes % s->unit * s->to + s->unit - 1) / s->unit;
}

static void scale_buffers(struct scale *s)
{
    for (size_t i = 0; i < s->plan->buffers.n; i++) {
        struct kvs_buffer *buffer = &s->plan->buffers.items[i];
        if (!s->is_scaled[i])
            continue;
        buffer->size_bytes = scale_size(s, buffer->size_bytes);
        buffer->valid_bytes = scale_size(s, buffer->valid_bytes);
        buffer->run_bytes = scale_size(s, buffer->run_bytes);
        buffer->filled_bytes = scale_size(s, buffer->filled_bytes);
        if (buffer->valid_bytes > buffer->size_bytes)
            buffer->valid_bytes = buffer->size_bytes;
    }
    for (size_t i = 0; i < s->plan->rings.n; i++)
        s->plan->rings.items[i].slot_bytes = scale_size(s, s->plan->rings.items[i].slot_bytes);
}

kvs_status kvs_plan_scale(struct kvs_plan *plan, double factor, double *out_factor,
                          struct kvs_error *err)
{
    struct scale s = {.plan = plan};
    void *memory;
    KVS_ASSERT(factor > 0.0);
    KVS_TRY(kvs_mem_alloc(plan->buffers.n, sizeof *s.is_scaled, &memory, err));
    s.is_scaled = memory;
    scale_find_buffers(&s);
    scale_each(&s, scale_measure);
    if (s.unit == 0)
        s.unit = 1;
    /* as aligned as it was, up to 16 bytes */
    uint64_t quantum = scale_gcd(s.unit, 16);
    double quanta = floor((double)s.unit * factor / (double)quantum + 0.5);
    s.to = quanta < 1.0 ? quantum : (uint64_t)quanta * quantum;
    scale_each(&s, scale_try);
    kvs_status status = KVS_OK;
    if (s.is_fault) {
        status =
            kvs_error_set(err, KVS_ERANGE, "plan: %.3g times the bytes do not fit", factor);
    } else {
        scale_each(&s, scale_range);
        scale_buffers(&s);
        *out_factor = (double)s.to / (double)s.unit;
    }
    kvs_mem_free(s.is_scaled);
    return status;
}
