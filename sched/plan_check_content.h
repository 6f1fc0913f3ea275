/*
 * What the bytes of each buffer hold when the operations run in issue order. Private to the
 * checker.
 *
 * A buffer is a list of runs, ascending and apart: bytes [lo, hi) were last written by one
 * operation. A run written by a copy remembers which bytes of which buffer it came from. A read
 * that expects certain bytes is proved run by run: the run was copied from exactly those bytes,
 * and they have not been written since. Bytes of cells that an operation made elsewhere are kept
 * in lists of their own: nobody may expect the cells before they have been stored.
 */
#ifndef KVS_SCHED_PLAN_CHECK_CONTENT_H
#define KVS_SCHED_PLAN_CHECK_CONTENT_H

#include "sched/plan_check_area.h"
#include "sched/plan_check_text.h"

/* A copy whose destination has more rows than this is refused. */
#define KVS_CONTENT_MAX_ROWS 65536u

struct kvs_run {
    uint64_t lo;
    uint64_t hi;
    uint64_t source_position; /* of byte lo in source */
    struct kvs_area source;   /* buffer is KVS_NO_BUFFER unless a copy wrote the run */
    struct kvs_op_ref ref;    /* who wrote it; void when serial is 0 */
    uint32_t serial;          /* when, 1 is the first operation; 0 = valid from the start */
    uint32_t token;           /* serial of the token, 0 = before the first */
};

struct kvs_content_buffer {
    KVS_ARRAY(struct kvs_run) runs;
};

struct kvs_content {
    const struct kvs_plan *plan;        /* borrowed */
    struct kvs_content_buffer *buffers; /* owned, [plan->buffers.n] */
    struct kvs_content_buffer *made;    /* the same of cells, where they were made last */
    KVS_ARRAY(struct kvs_run) scratch;  /* a write under way */
    struct kvs_op_ref now;              /* set by the caller before each call */
    uint32_t serial;
    uint32_t token;
    uint64_t n_visited; /* runs looked at or moved so far: the work done */
};

/* Even after a failure kvs_content_fini is due. */
kvs_status kvs_content_init(struct kvs_content *content, const struct kvs_plan *plan,
                            struct kvs_error *err) KVS_MUST_USE;
void kvs_content_fini(struct kvs_content *content);

/* `now` writes area; source is what a copy reads, or NULL. KVS_EPLAN: too finely divided. */
kvs_status kvs_content_write(struct kvs_content *content, const struct kvs_area *area,
                             const struct kvs_area *source, struct kvs_error *err) KVS_MUST_USE;
/* `now` makes, somewhere, bytes that are these cells. */
kvs_status kvs_content_make(struct kvs_content *content, const struct kvs_area *cells,
                            struct kvs_error *err) KVS_MUST_USE;
/* KVS_EPLAN unless every byte of area was written, or is valid from the start. */
kvs_status kvs_content_check_read(struct kvs_content *content, const struct kvs_area *area,
                                  struct kvs_error *err) KVS_MUST_USE;
/* KVS_EPLAN unless the bytes of area are those of expected, which has as many. */
kvs_status kvs_content_check_expect(struct kvs_content *content, const struct kvs_area *area,
                                    const struct kvs_area *expected,
                                    struct kvs_error *err) KVS_MUST_USE;
/* KVS_EPLAN unless every byte of area was written in this token. */
kvs_status kvs_content_check_fresh(struct kvs_content *content, const struct kvs_area *area,
                                   struct kvs_error *err) KVS_MUST_USE;

uint64_t kvs_content_size_bytes(const struct kvs_content *content);

#endif
