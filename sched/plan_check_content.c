/* Runs of bytes and who wrote them. */
#include "sched/plan_check_content.h"

#include <inttypes.h>
#include <string.h>

kvs_status kvs_content_init(struct kvs_content *content, const struct kvs_plan *plan,
                            struct kvs_error *err)
{
    void *memory = NULL;
    *content = (struct kvs_content){.plan = plan};
    KVS_TRY(kvs_mem_alloc(2 * plan->buffers.n, sizeof *content->buffers, &memory, err));
    content->buffers = memory;
    content->made = content->buffers + plan->buffers.n;
    for (size_t i = 0; i < plan->buffers.n; i++) {
        struct kvs_run run = {.hi = plan->buffers.items[i].valid_bytes,
                              .source = {.buffer = KVS_NO_BUFFER}};
        if (run.hi > 0)
            KVS_TRY(KVS_ARRAY_PUSH(&content->buffers[i].runs, run, err));
    }
    for (size_t i = 0; i + 1 < plan->setup.n; i += 2) {
        struct kvs_area source = kvs_area_at(&plan->setup.items[i], 0);
        struct kvs_area target = kvs_area_at(&plan->setup.items[i + 1], 0);
        if (kvs_content_check_read(content, &source, err) != KVS_OK)
            return kvs_error_set(err, KVS_EPLAN,
                                 "plan: setup: access %zu reads bytes of %s that hold nothing "
                                 "yet",
                                 i, plan->buffers.items[source.buffer].name);
        KVS_TRY(kvs_content_write(content, &target, &source, err));
    }
    return KVS_OK;
}

void kvs_content_fini(struct kvs_content *content)
{
    for (size_t i = 0; content->buffers && i < 2 * content->plan->buffers.n; i++)
        KVS_ARRAY_FREE(&content->buffers[i].runs);
    kvs_mem_free(content->buffers);
    KVS_ARRAY_FREE(&content->scratch);
}

uint64_t kvs_content_size_bytes(const struct kvs_content *content)
{
    uint64_t size_bytes = 2 * content->plan->buffers.n * sizeof *content->buffers +
                          content->scratch.capacity * sizeof(struct kvs_run);
    for (size_t i = 0; i < 2 * content->plan->buffers.n; i++)
        size_bytes += content->buffers[i].runs.capacity * sizeof(struct kvs_run);
    return size_bytes;
}

/* The first run that ends beyond address. */
static size_t content_find(const struct kvs_content_buffer *buffer, uint64_t address)
{
    size_t lo = 0, hi = buffer->runs.n;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (buffer->runs.items[middle].hi <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/* Makes items [first, last) of the runs into n_new. */
static kvs_status content_splice(struct kvs_content_buffer *buffer, size_t first, size_t last,
                                 const struct kvs_run *fresh, size_t n_new,
                                 struct kvs_error *err)
{
    size_t n = buffer->runs.n - (last - first) + n_new;
    KVS_TRY(KVS_ARRAY_RESERVE(&buffer->runs, n, err));
    struct kvs_run *items = buffer->runs.items;
    if (last < buffer->runs.n && last != first + n_new)
        memmove(items + first + n_new, items + last,
                (buffer->runs.n - last) * sizeof(struct kvs_run));
    memcpy(items + first, fresh, n_new * sizeof(struct kvs_run));
    buffer->runs.n = n;
    return KVS_OK;
}

/* What is left of a run from address on. */
static struct kvs_run content_tail(struct kvs_run run, uint64_t address)
{
    if (address > run.lo) {
        run.source_position += address - run.lo;
        run.lo = address;
    }
    return run;
}

/* Old runs of the buffer, read from the front: `at` is the rest of items[next - 1]. */
struct content_reader {
    const struct kvs_content_buffer *buffer;
    struct kvs_run at; /* [0, 0) when there is none */
    size_t next;
};

static bool content_reader_fill(struct content_reader *old)
{
    if (old->at.lo == old->at.hi && old->next < old->buffer->runs.n)
        old->at = old->buffer->runs.items[old->next++];
    return old->at.lo < old->at.hi;
}

/* Adds to the scratch what the reader holds before address. */
static kvs_status content_keep(struct kvs_content *content, struct content_reader *old,
                               uint64_t address, struct kvs_error *err)
{
    while (content_reader_fill(old) && old->at.lo < address) {
        struct kvs_run kept = old->at;
        kept.hi = kept.hi < address ? kept.hi : address;
        KVS_TRY(KVS_ARRAY_PUSH(&content->scratch, kept, err));
        old->at = content_tail(old->at, kept.hi);
    }
    return KVS_OK;
}

/* Passes over what the reader holds before address. */
static void content_drop(struct content_reader *old, uint64_t address)
{
    while (content_reader_fill(old) && old->at.lo < address)
        old->at = content_tail(old->at, old->at.hi < address ? old->at.hi : address);
}

/* Puts the rows of area in, each as `run` with its own bytes: one pass over the runs there. */
static kvs_status content_put(struct kvs_content *content, struct kvs_content_buffer *buffer,
                              const struct kvs_area *area, struct kvs_run run,
                              struct kvs_error *err)
{
    size_t first = content_find(buffer, area->offset);
    struct content_reader old = {.buffer = buffer, .next = first};
    content->scratch.n = 0;
    for (uint64_t row = 0; row < area->rows; row++) {
        run.lo = area->offset + row * area->pitch;
        run.hi = run.lo + area->width;
        run.source_position = row * area->width;
        KVS_TRY(content_keep(content, &old, run.lo, err));
        KVS_TRY(KVS_ARRAY_PUSH(&content->scratch, run, err));
        content_drop(&old, run.hi);
    }
    if (old.at.lo < old.at.hi)
        KVS_TRY(KVS_ARRAY_PUSH(&content->scratch, old.at, err));
    content->n_visited += buffer->runs.n - first + area->rows;
    return content_splice(buffer, first, old.next, content->scratch.items, content->scratch.n,
                          err);
}

static struct kvs_run content_run_now(const struct kvs_content *content)
{
    return (struct kvs_run){.source = {.buffer = KVS_NO_BUFFER},
                            .ref = content->now,
                            .serial = content->serial,
                            .token = content->token};
}

kvs_status kvs_content_write(struct kvs_content *content, const struct kvs_area *area,
                             const struct kvs_area *source, struct kvs_error *err)
{
    struct kvs_run run = content_run_now(content);
    if (area->rows > KVS_CONTENT_MAX_ROWS)
        return kvs_plan_fault(content->plan, content->now, err,
                              "writes %s in %" PRIu32
                              " pieces, too finely divided: use a packed "
                              "destination",
                              content->plan->buffers.items[area->buffer].name, area->rows);
    if (source)
        run.source = *source;
    return area->rows == 0
               ? KVS_OK
               : content_put(content, &content->buffers[area->buffer], area, run, err);
}

kvs_status kvs_content_make(struct kvs_content *content, const struct kvs_area *cells,
                            struct kvs_error *err)
{
    return cells->rows == 0 ? KVS_OK
                            : content_put(content, &content->made[cells->buffer], cells,
                                          content_run_now(content), err);
}

/* A byte of area in [lo, hi) that no run holds; its address and the end of the gap. */
static bool content_find_gap(struct kvs_content *content, const struct kvs_area *area,
                             uint64_t *out_lo, uint64_t *out_hi)
{
    const struct kvs_content_buffer *buffer = &content->buffers[area->buffer];
    uint64_t end = kvs_area_end(area), at = area->offset;
    for (size_t i = content_find(buffer, at); at < end; i++) {
        content->n_visited++;
        uint64_t next = i < buffer->runs.n ? buffer->runs.items[i].lo : end;
        if (next > end)
            next = end;
        if (at < next && kvs_area_meets(area, 0, kvs_area_bytes(area), at, next, out_lo)) {
            *out_hi = next;
            return true;
        }
        at = i < buffer->runs.n ? buffer->runs.items[i].hi : end;
    }
    return false;
}

kvs_status kvs_content_check_read(struct kvs_content *content, const struct kvs_area *area,
                                  struct kvs_error *err)
{
    uint64_t lo, hi;
    if (!content_find_gap(content, area, &lo, &hi))
        return KVS_OK;
    return kvs_plan_fault(content->plan, content->now, err,
                          "reads %s bytes [%" PRIu64 ", %" PRIu64 "), which were never written",
                          content->plan->buffers.items[area->buffer].name, lo, hi);
}

kvs_status kvs_content_check_fresh(struct kvs_content *content, const struct kvs_area *area,
                                   struct kvs_error *err)
{
    const struct kvs_content_buffer *buffer = &content->buffers[area->buffer];
    const char *name = content->plan->buffers.items[area->buffer].name;
    uint64_t lo, hi;
    if (content_find_gap(content, area, &lo, &hi))
        return kvs_plan_fault(content->plan, content->now, err,
                              "needs %s bytes [%" PRIu64 ", %" PRIu64
                              ") of this token, they were never written",
                              name, lo, hi);
    for (size_t i = content_find(buffer, area->offset);
         i < buffer->runs.n && buffer->runs.items[i].lo < kvs_area_end(area); i++) {
        const struct kvs_run *run = &buffer->runs.items[i];
        content->n_visited++;
        if (run->token == content->token ||
            !kvs_area_meets(area, 0, kvs_area_bytes(area), run->lo, run->hi, &lo))
            continue;
        return kvs_plan_fault(
            content->plan, content->now, err,
            "needs %s bytes [%" PRIu64 ", %" PRIu64 ") of this token, they are older", name, lo,
            run->hi < kvs_area_end(area) ? run->hi : kvs_area_end(area));
    }
    return KVS_OK;
}

/* n bytes of a read, at address `at` and position `position`, held by one run. */
struct content_piece {
    const struct kvs_run *run;
    uint64_t at;
    uint64_t position;
    uint64_t n;
};

/* How the fault of a piece begins: "expects cache.k.7 bytes [0, 16) in d0.slot1 [32, 48)". */
static void content_print_piece(const struct kvs_content *content, const struct kvs_area *area,
                                const struct kvs_area *expected,
                                const struct content_piece *piece, char out[160])
{
    uint64_t from = kvs_area_address(expected, piece->position);
    uint64_t to = kvs_area_address(expected, piece->position + piece->n - 1) + 1;
    snprintf(out, 160,
             "expects %s bytes [%" PRIu64 ", %" PRIu64 ") in %s [%" PRIu64 ", %" PRIu64 ")",
             content->plan->buffers.items[expected->buffer].name, from, to,
             content->plan->buffers.items[area->buffer].name, piece->at, piece->at + piece->n);
}

static kvs_status content_fault_never(const struct kvs_content *content,
                                      const struct kvs_area *area,
                                      const struct kvs_area *expected,
                                      const struct content_piece *piece, struct kvs_error *err)
{
    char text[160];
    content_print_piece(content, area, expected, piece, text);
    return kvs_plan_fault(content->plan, content->now, err, "%s, which were never delivered",
                          text);
}

static kvs_status content_fault_other(const struct kvs_content *content,
                                      const struct kvs_area *area,
                                      const struct kvs_area *expected,
                                      const struct content_piece *piece, struct kvs_error *err)
{
    const struct kvs_run *run = piece->run;
    char text[160], writer[KVS_OP_TEXT_BYTES] = "the content from before the first token";
    content_print_piece(content, area, expected, piece, text);
    if (run->serial > 0)
        kvs_op_ref_print(content->plan, run->ref, true, writer);
    if (run->source.buffer == KVS_NO_BUFFER)
        return kvs_plan_fault(content->plan, content->now, err,
                              "%s, which %s has overwritten, or never delivered", text, writer);
    uint64_t from = kvs_area_address(&run->source, run->source_position + piece->at - run->lo);
    return kvs_plan_fault(content->plan, content->now, err,
                          "%s, but %s brought %s bytes from %" PRIu64 " on there", text, writer,
                          content->plan->buffers.items[run->source.buffer].name, from);
}

/* Whether the expected bytes of the piece were written after the copy took them. */
static kvs_status content_check_stale(struct kvs_content *content, const struct kvs_area *area,
                                      const struct kvs_area *expected,
                                      const struct content_piece *piece, struct kvs_error *err)
{
    const struct kvs_content_buffer *buffer = &content->buffers[expected->buffer];
    uint64_t from = kvs_area_address(expected, piece->position);
    uint64_t to = kvs_area_address(expected, piece->position + piece->n - 1) + 1;
    for (size_t i = content_find(buffer, from);
         i < buffer->runs.n && buffer->runs.items[i].lo < to; i++) {
        const struct kvs_run *run = &buffer->runs.items[i];
        content->n_visited++;
        if (run->serial <= piece->run->serial ||
            !kvs_area_meets(expected, piece->position, piece->n, run->lo, run->hi, NULL))
            continue;
        char text[160], copy[KVS_OP_TEXT_BYTES], write[KVS_OP_TEXT_BYTES];
        content_print_piece(content, area, expected, piece, text);
        kvs_op_ref_print(content->plan, piece->run->ref, true, copy);
        kvs_op_ref_print(content->plan, run->ref, true, write);
        return kvs_plan_fault(content->plan, content->now, err,
                              "%s, but they are stale: %s took them before %s wrote [%" PRIu64
                              ", %" PRIu64 ")",
                              text, copy, write, run->lo, run->hi);
    }
    return KVS_OK;
}

static kvs_status content_check_piece(struct kvs_content *content, const struct kvs_area *area,
                                      const struct kvs_area *expected,
                                      const struct content_piece *piece, struct kvs_error *err)
{
    const struct kvs_run *run = piece->run;
    if (run->source.buffer != expected->buffer ||
        !kvs_area_is_same(&run->source, run->source_position + piece->at - run->lo, expected,
                          piece->position, piece->n))
        return content_fault_other(content, area, expected, piece, err);
    return content_check_stale(content, area, expected, piece, err);
}

/* Bytes [lo, hi) of area, a row, which begins at `position`. */
static kvs_status content_check_row(struct kvs_content *content, const struct kvs_area *area,
                                    const struct kvs_area *expected, uint64_t lo, uint64_t hi,
                                    uint64_t position, struct kvs_error *err)
{
    const struct kvs_content_buffer *buffer = &content->buffers[area->buffer];
    uint64_t at = lo;
    for (size_t i = content_find(buffer, lo); at < hi; i++) {
        const struct kvs_run *run = i < buffer->runs.n ? &buffer->runs.items[i] : NULL;
        content->n_visited++;
        uint64_t start = run && run->lo < hi ? run->lo : hi;
        struct content_piece piece = {.run = run, .at = at, .position = position + at - lo};
        if (at < start) {
            piece.n = start - at;
            return content_fault_never(content, area, expected, &piece, err);
        }
        piece.n = (run->hi < hi ? run->hi : hi) - at;
        KVS_TRY(content_check_piece(content, area, expected, &piece, err));
        at += piece.n;
    }
    return KVS_OK;
}

static kvs_status content_fault_made(const struct kvs_content *content,
                                     const struct kvs_area *expected, uint64_t at,
                                     const struct kvs_run *made, struct kvs_error *err)
{
    char maker[KVS_OP_TEXT_BYTES];
    kvs_op_ref_print(content->plan, made->ref, true, maker);
    return kvs_plan_fault(content->plan, content->now, err,
                          "expects %s bytes from %" PRIu64
                          " on, which %s made anew: they have not been stored there",
                          content->plan->buffers.items[expected->buffer].name, at, maker);
}

/* Of the cells in [lo, hi), made anew at once, those that are expected have been stored: nothing
 * that the buffer holds there is older. */
static kvs_status content_check_made(struct kvs_content *content,
                                     const struct kvs_area *expected,
                                     const struct kvs_run *made, uint64_t lo, uint64_t hi,
                                     struct kvs_error *err)
{
    const struct kvs_content_buffer *buffer = &content->buffers[expected->buffer];
    for (size_t i = content_find(buffer, lo);
         i < buffer->runs.n && buffer->runs.items[i].lo < hi; i++) {
        const struct kvs_run *run = &buffer->runs.items[i];
        uint64_t from = run->lo > lo ? run->lo : lo, to = run->hi < hi ? run->hi : hi, at;
        content->n_visited++;
        if (run->serial < made->serial &&
            kvs_area_meets(expected, 0, kvs_area_bytes(expected), from, to, &at))
            return content_fault_made(content, expected, at, made, err);
    }
    return KVS_OK;
}

/* Leaps from one piece of the expected area to the next that was made anew: other devices make
 * the other heads of the same rows. */
static kvs_status content_check_stored(struct kvs_content *content,
                                       const struct kvs_area *expected, struct kvs_error *err)
{
    const struct kvs_content_buffer *cells = &content->made[expected->buffer];
    uint64_t end = kvs_area_end(expected), at = expected->offset, next;
    while (at < end) {
        size_t m = content_find(cells, at);
        if (m == cells->runs.n)
            return KVS_OK;
        const struct kvs_run *made = &cells->runs.items[m];
        at = made->lo > at ? made->lo : at;
        content->n_visited++;
        if (at >= end || !kvs_area_meets(expected, 0, kvs_area_bytes(expected), at, end, &next))
            return KVS_OK;
        if (next < made->hi)
            KVS_TRY(content_check_made(content, expected, made, next, made->hi, err));
        at = next < made->hi ? made->hi : next;
    }
    return KVS_OK;
}

kvs_status kvs_content_check_expect(struct kvs_content *content, const struct kvs_area *area,
                                    const struct kvs_area *expected, struct kvs_error *err)
{
    bool is_itself = area->buffer == expected->buffer && area->offset == expected->offset &&
                     area->width == expected->width && area->pitch == expected->pitch;
    KVS_TRY(content_check_stored(content, expected, err));
    if (is_itself)
        return kvs_content_check_read(content, area, err);
    for (uint64_t row = 0; row < area->rows; row++) {
        uint64_t lo = area->offset + row * area->pitch;
        KVS_TRY(content_check_row(content, area, expected, lo, lo + area->width,
                                  row * area->width, err));
    }
    return KVS_OK;
}
