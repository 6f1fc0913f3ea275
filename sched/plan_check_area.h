/*
 * Exact arithmetic on the bytes of a buffer that an access touches. Private to the checker.
 *
 * An area is rows x width bytes, pitch apart, at one token. Its bytes are numbered in row-major
 * order: position 0 is the first byte of the first row. Areas are kept in normal form: without
 * gaps between the rows there is one row, and an empty area has no rows.
 */
#ifndef KVS_SCHED_PLAN_CHECK_AREA_H
#define KVS_SCHED_PLAN_CHECK_AREA_H

#include "sched/plan.h"

#define KVS_NO_BUFFER UINT32_MAX

struct kvs_area {
    uint64_t offset; /* bytes */
    uint64_t width;
    uint64_t pitch; /* at least width */
    uint32_t rows;
    uint32_t buffer;
};

/* The area of range at a token of its segment; range must have passed kvs_area_fault there. */
struct kvs_area kvs_area_at(const struct kvs_range *range, uint32_t token);

typedef enum kvs_area_fault_kind {
    KVS_AREA_GOOD,
    KVS_AREA_NEGATIVE, /* a step takes offset, width or rows below zero or beyond their type */
    KVS_AREA_PITCH,    /* rows overlap */
    KVS_AREA_OUTSIDE   /* reaches beyond the buffer */
} kvs_area_fault_kind;

/* What is wrong with range at this token in a buffer of size_bytes. */
kvs_area_fault_kind kvs_area_fault(const struct kvs_range *range, uint32_t token,
                                   uint64_t size_bytes);

static inline uint64_t kvs_area_bytes(const struct kvs_area *area)
{
    return (uint64_t)area->rows * area->width;
}

/* One past the last byte; the offset when the area is empty. */
static inline uint64_t kvs_area_end(const struct kvs_area *area)
{
    return area->rows == 0 ? area->offset
                           : area->offset + (area->rows - 1) * area->pitch + area->width;
}

static inline uint64_t kvs_area_address(const struct kvs_area *area, uint64_t position)
{
    return area->offset + position / area->width * area->pitch + position % area->width;
}

/*
 * The first byte of positions [position, position + n) of a non-empty area that lies in [lo,
 * hi): its address in *out (may be NULL). False when there is none.
 */
bool kvs_area_meets(const struct kvs_area *area, uint64_t position, uint64_t n, uint64_t lo,
                    uint64_t hi, uint64_t *out);

/* Whether two areas share a byte; constant time unless both are strided with different pitches.
 */
bool kvs_area_overlaps(const struct kvs_area *a, const struct kvs_area *b);

/* True only when every byte of b is in a; may say false for differently strided areas. */
bool kvs_area_covers(const struct kvs_area *a, const struct kvs_area *b);

/* Whether n bytes from position a_position of a are the bytes from b_position of b, in order.
 */
bool kvs_area_is_same(const struct kvs_area *a, uint64_t a_position, const struct kvs_area *b,
                      uint64_t b_position, uint64_t n);

#endif
