/* The checker's walk: unrolls tokens and asks for order, races and content in turn. */
#include "sched/plan_check.h"

#include <inttypes.h>

#include "sched/plan_bytes.h"
#include "sched/plan_check_content.h"
#include "sched/plan_check_parts.h"
#include "sched/plan_hb.h"

/* More instances than this are not unrolled: about ten seconds of work. */
#define CHECK_MAX_OPS (UINT64_C(1) << 25)
/* Looking at a piece of a buffer or at a phase costs so much less than an operation. */
#define CHECK_VISITS_PER_OP 256u

struct check {
    const struct kvs_plan *plan;
    struct kvs_plan_check_options options;
    struct kvs_plan_check_report report;
    struct kvs_hb hb;
    struct kvs_bytes bytes;
    struct kvs_content content;
    uint64_t n_scanned; /* operations looked through for those of a token, tokens included */
    uint64_t n_short;   /* operations asked for by short proofs */
    bool is_quiet;      /* warming up after tokens were left out: no faults of bytes */
};

static kvs_status check_read(struct check *c, const struct kvs_range *ranges, uint32_t i,
                             uint32_t token, struct kvs_error *err)
{
    struct kvs_area area = kvs_area_at(&ranges[i], token);
    if (area.rows == 0)
        return KVS_OK;
    if (ranges[i].mode == KVS_ACCESS_FRESH)
        return kvs_content_check_fresh(&c->content, &area, err);
    if (ranges[i].mode == KVS_ACCESS_EXPECT) {
        struct kvs_area read = kvs_area_at(&ranges[i - 1], token);
        return kvs_content_check_expect(&c->content, &read, &area, err);
    }
    KVS_TRY(kvs_bytes_touch(&c->bytes, &c->hb, &area, false, err));
    return kvs_content_check_read(&c->content, &area, err);
}

static kvs_status check_write(struct check *c, const struct kvs_range *ranges, uint32_t i,
                              uint32_t token, bool is_copy, struct kvs_error *err)
{
    struct kvs_area area = kvs_area_at(&ranges[i], token);
    struct kvs_area source = {.buffer = KVS_NO_BUFFER};
    if (area.rows == 0)
        return KVS_OK;
    if (is_copy)
        source = kvs_area_at(&ranges[i - 1], token);
    if (!c->is_quiet)
        KVS_TRY(kvs_bytes_touch(&c->bytes, &c->hb, &area, true, err));
    return kvs_content_write(&c->content, &area, is_copy ? &source : NULL, err);
}

/* What the access before it made, if it is a write: these cells, wherever the bytes lie. */
static kvs_status check_cells(struct check *c, const struct kvs_range *ranges, uint32_t i,
                              uint32_t token, struct kvs_error *err)
{
    uint32_t of = i;
    while (ranges[of].mode == KVS_ACCESS_CELLS)
        of--;
    struct kvs_area area = kvs_area_at(&ranges[i], token);
    return ranges[of].mode == KVS_ACCESS_WRITE ? kvs_content_make(&c->content, &area, err)
                                               : KVS_OK;
}

/* A compute reads and writes in the order of its accesses. Others read first: what they write is
 * not what they read. */
static kvs_status check_accesses(struct check *c, const struct kvs_op *op,
                                 const struct kvs_range *ranges, uint32_t token,
                                 struct kvs_error *err)
{
    unsigned n_passes = op->kind == KVS_OP_COMPUTE ? 1 : 2;
    for (unsigned pass = 0; pass < n_passes; pass++) {
        for (uint32_t i = 0; i < op->n_access; i++) {
            bool is_write = ranges[i].mode == KVS_ACCESS_WRITE;
            bool is_cells = ranges[i].mode == KVS_ACCESS_CELLS;
            if (n_passes == 2 && (is_write || is_cells) != (pass == 1))
                continue;
            if (is_cells)
                KVS_TRY(check_cells(c, ranges, i, token, err));
            else if (is_write)
                KVS_TRY(check_write(c, ranges, i, token, op->kind == KVS_OP_COPY, err));
            else if (!c->is_quiet)
                KVS_TRY(check_read(c, ranges, i, token, err));
        }
    }
    return KVS_OK;
}

static kvs_status check_op(struct check *c, kvs_op_id id, struct kvs_error *err)
{
    struct kvs_op_ref now = c->hb.now;
    const struct kvs_segment *segment = &c->plan->segments.items[now.segment];
    const struct kvs_op *op = &segment->ops.items[id];
    const struct kvs_range *ranges = kvs_segment_accesses(segment, op);
    uint32_t skip = now.segment == c->options.skip_segment ? c->options.skip_dep : UINT32_MAX;
    KVS_TRY(kvs_hb_begin_op(&c->hb, id, skip, err));
    c->content.now = c->hb.now;
    c->content.serial++;
    c->report.n_ops++;
    c->report.n_accesses += op->n_access;
    KVS_TRY(check_accesses(c, op, ranges, now.token, err));
    return kvs_hb_end_op(&c->hb, err);
}

static kvs_status check_tokens(struct check *c, uint32_t s, uint32_t first, uint32_t end,
                               struct kvs_error *err)
{
    const struct kvs_segment *segment = &c->plan->segments.items[s];
    for (uint32_t t = first; t < end; t++) {
        KVS_TRY(kvs_hb_begin_token(&c->hb, s, t, err));
        c->content.token++;
        c->report.n_tokens++;
        c->n_scanned += CHECK_VISITS_PER_OP + segment->ops.n;
        for (kvs_op_id id = 0; id < segment->ops.n; id++)
            if (segment->ops.items[id].phase == t % segment->period)
                KVS_TRY(check_op(c, id, err));
        KVS_TRY(kvs_hb_end_token(&c->hb, err));
    }
    return KVS_OK;
}

/*
 * The union of a range's areas at tokens first, first + period, ..., last, when it is again an
 * area: both ends of each row move evenly, and not so far in one step that a gap is left.
 */
static bool check_leap_union(const struct kvs_range *range, uint32_t first, uint32_t last,
                             uint32_t period, struct kvs_area *out)
{
    struct kvs_area a = kvs_area_at(range, first), b = kvs_area_at(range, last);
    uint64_t moved = a.offset < b.offset ? b.offset - a.offset : a.offset - b.offset;
    uint64_t n_steps = (last - first) / period;
    uint64_t width = a.width < b.width ? a.width : b.width;
    bool is_even = range->width_step == 0 || range->rows_step == 0;
    if (!is_even || a.rows == 0 || a.rows != b.rows || (a.rows > 1 && a.pitch != b.pitch) ||
        (n_steps > 0 && moved / n_steps > width))
        return false;
    uint64_t a_end = a.offset + a.width, b_end = b.offset + b.width;
    *out = a;
    out->offset = a.offset < b.offset ? a.offset : b.offset;
    out->width = (a_end > b_end ? a_end : b_end) - out->offset;
    if (out->rows == 1)
        out->pitch = out->width;
    return out->width <= out->pitch;
}

/* What one range writes in tokens first, first + period, ..., last. */
static kvs_status check_leap_range(struct check *c, const struct kvs_range *range,
                                   uint32_t first, uint32_t last, uint32_t period,
                                   struct kvs_error *err)
{
    struct kvs_area area;
    if (check_leap_union(range, first, last, period, &area))
        return kvs_content_write(&c->content, &area, NULL, err);
    uint64_t n_rows = kvs_area_at(range, first).rows;
    if ((last - first) / period * n_rows > KVS_CONTENT_MAX_ROWS)
        return kvs_plan_fault(c->plan, c->content.now, err,
                              "writes %s in pieces over %" PRIu32
                              " tokens: divide the segment to have it checked",
                              c->plan->buffers.items[range->buffer].name, last - first + 1);
    for (uint64_t t = first; t <= last; t += period) {
        area = kvs_area_at(range, (uint32_t)t);
        if (area.rows > 0)
            KVS_TRY(kvs_content_write(&c->content, &area, NULL, err));
    }
    return KVS_OK;
}

/* Tokens [first, end) of a segment are like those before them; only what they write is noted.
 */
static kvs_status check_leap(struct check *c, uint32_t s, uint32_t first, uint32_t end,
                             struct kvs_error *err)
{
    const struct kvs_segment *segment = &c->plan->segments.items[s];
    c->content.token++;
    for (kvs_op_id id = 0; id < segment->ops.n; id++) {
        const struct kvs_op *op = &segment->ops.items[id];
        uint32_t from =
            first + (op->phase + segment->period - first % segment->period) % segment->period;
        if (from >= end)
            continue;
        uint32_t last = end - 1 - (end - 1 - from) % segment->period;
        c->content.now = (struct kvs_op_ref){.segment = s, .token = last, .op = id};
        c->content.serial++;
        for (uint32_t i = op->first_access; i < op->first_access + op->n_access; i++)
            if (segment->accesses.items[i].mode == KVS_ACCESS_WRITE)
                KVS_TRY(check_leap_range(c, &segment->accesses.items[i], from, last,
                                         segment->period, err));
    }
    return KVS_OK;
}

static kvs_status check_size(struct check *c, const struct kvs_segment *segment,
                             uint64_t n_tokens, struct kvs_error *err)
{
    c->n_short += (n_tokens / segment->period + 1) * segment->ops.n;
    if (c->n_short <= CHECK_MAX_OPS)
        return KVS_OK;
    return kvs_error_set(err, KVS_EPLAN,
                         "plan: too large to prove: period and distances ask for %" PRIu64
                         " tokens of %zu operations",
                         n_tokens, segment->ops.n);
}

/* Work done so far, in operations. */
static uint64_t check_spent(const struct check *c)
{
    return c->report.n_ops + c->report.n_accesses + c->n_scanned / CHECK_VISITS_PER_OP +
           (c->content.n_visited + c->bytes.n_visited) / CHECK_VISITS_PER_OP;
}

/* Goes on from token *at of a segment to its end, or to the end of the budget. */
static kvs_status check_onwards(struct check *c, uint32_t s, uint64_t *at,
                                struct kvs_error *err)
{
    const struct kvs_segment *segment = &c->plan->segments.items[s];
    while (*at < segment->n_tokens && check_spent(c) < c->options.max_ops) {
        KVS_TRY(check_tokens(c, s, (uint32_t)*at, (uint32_t)(*at + 1), err));
        ++*at;
    }
    return KVS_OK;
}

/* The last tokens [n - tail, n) of a segment proved up to `head`, behind a leap and a warm-up
 * that brings queues and buffers into the state of that point. */
static kvs_status check_end(struct check *c, uint32_t s, uint64_t head, uint64_t warm_up,
                            uint64_t tail, struct kvs_error *err)
{
    const struct kvs_segment *segment = &c->plan->segments.items[s];
    uint64_t n = segment->n_tokens;
    uint64_t resume = n - warm_up - tail;
    resume -= (resume - head) % segment->period;
    KVS_TRY(check_leap(c, s, (uint32_t)head, (uint32_t)resume, err));
    c->is_quiet = true;
    KVS_TRY(check_tokens(c, s, (uint32_t)resume, (uint32_t)(n - tail), err));
    c->is_quiet = false;
    return check_tokens(c, s, (uint32_t)(n - tail), (uint32_t)n, err);
}

/*
 * The first tokens of a segment: in the short proof until period and distances have been seen
 * twice (plan_check.h says what that proves). When another segment follows, the last tokens
 * too.
 */
static kvs_status check_segment(struct check *c, uint32_t s, struct kvs_error *err)
{
    const struct kvs_segment *segment = &c->plan->segments.items[s];
    uint64_t period = segment->period, longest = kvs_segment_longest(segment);
    uint64_t n = segment->n_tokens, head = 2 * period + longest + 1;
    uint64_t warm_up = period + longest + 1;
    bool is_last = s + 1 == c->plan->segments.n;
    uint64_t tail = is_last || segment[1].has_barrier ? 0 : warm_up;
    uint64_t rest = is_last ? 0 : warm_up + tail;
    if (n <= head + rest) {
        KVS_TRY(check_size(c, segment, n, err));
        return check_tokens(c, s, 0, (uint32_t)n, err);
    }
    KVS_TRY(check_size(c, segment, head + rest + (is_last ? 0 : period), err));
    KVS_TRY(check_tokens(c, s, 0, (uint32_t)head, err));
    if (c->options.unrolls_all) {
        KVS_TRY(check_onwards(c, s, &head, err));
        if (n - head <= rest)
            return check_tokens(c, s, (uint32_t)head, (uint32_t)n, err);
        c->report.is_cut = true;
    }
    return is_last ? KVS_OK : check_end(c, s, head, warm_up, tail, err);
}

static kvs_status check_walk(struct check *c, struct kvs_error *err)
{
    uint16_t longest = 0;
    for (size_t s = 0; s < c->plan->segments.n; s++) {
        uint16_t d = kvs_segment_longest(&c->plan->segments.items[s]);
        longest = d > longest ? d : longest;
    }
    KVS_TRY(kvs_hb_init(&c->hb, c->plan, longest, err));
    KVS_TRY(kvs_bytes_init(&c->bytes, c->plan, err));
    KVS_TRY(kvs_content_init(&c->content, c->plan, err));
    for (uint32_t s = 0; s < c->plan->segments.n; s++) {
        if (c->plan->segments.items[s].has_barrier)
            kvs_hb_barrier(&c->hb);
        KVS_TRY(check_segment(c, s, err));
    }
    c->report.peak_bytes = sizeof *c + kvs_hb_size_bytes(&c->hb) +
                           kvs_bytes_size_bytes(&c->bytes) +
                           kvs_content_size_bytes(&c->content);
    return KVS_OK;
}

kvs_status kvs_plan_check(const struct kvs_plan *plan,
                          const struct kvs_plan_check_options *options,
                          struct kvs_plan_check_report *report, struct kvs_error *err)
{
    KVS_TRY(kvs_plan_check_structure(plan, err));
    void *memory = NULL;
    KVS_TRY(kvs_mem_alloc(1, sizeof(struct check), &memory, err));
    struct check *c = memory;
    c->plan = plan;
    c->options = options ? *options
                         : (struct kvs_plan_check_options){.skip_segment = UINT32_MAX,
                                                           .skip_dep = UINT32_MAX};
    if (c->options.max_ops == 0)
        c->options.max_ops = KVS_PLAN_CHECK_MAX_OPS;
    if (c->options.max_ops > CHECK_MAX_OPS)
        c->options.max_ops = CHECK_MAX_OPS;
    kvs_status status = check_walk(c, err);
    if (report)
        *report = c->report;
    if (c->content.plan)
        kvs_content_fini(&c->content);
    if (c->bytes.plan)
        kvs_bytes_fini(&c->bytes);
    if (c->hb.plan)
        kvs_hb_fini(&c->hb);
    kvs_mem_free(c);
    return status;
}
