/* Arithmetic on strided areas: no loops over rows unless two pitches differ. */
#include "sched/plan_check_area.h"

struct kvs_area kvs_area_at(const struct kvs_range *range, uint32_t token)
{
    struct kvs_area area = {
        .offset = range->offset + (uint64_t)((int64_t)range->offset_step * (int64_t)token),
        .width = range->width + (uint64_t)((int64_t)range->width_step * (int64_t)token),
        .pitch = range->pitch,
        .rows = (uint32_t)((int64_t)range->rows + (int64_t)range->rows_step * (int64_t)token),
        .buffer = range->buffer};
    if (area.width == 0)
        area.rows = 0;
    if (area.rows > 1 && area.pitch == area.width) {
        area.width *= area.rows;
        area.rows = 1;
    }
    if (area.rows <= 1)
        area.pitch = area.width;
    return area;
}

/* value + step x token, or -1 below zero and beyond max. */
static int64_t area_step(uint64_t value, int64_t step, uint32_t token, uint64_t max)
{
    if (value > INT64_MAX / 2)
        return -1;
    int64_t at = (int64_t)value + step * (int64_t)token;
    return at >= 0 && (uint64_t)at <= max ? at : -1;
}

kvs_area_fault_kind kvs_area_fault(const struct kvs_range *range, uint32_t token,
                                   uint64_t size_bytes)
{
    int64_t offset = area_step(range->offset, range->offset_step, token, INT64_MAX);
    int64_t width = area_step(range->width, range->width_step, token, INT64_MAX);
    int64_t rows = area_step(range->rows, range->rows_step, token, UINT32_MAX);
    if (offset < 0 || width < 0 || rows < 0)
        return range->offset > INT64_MAX / 2 ? KVS_AREA_OUTSIDE : KVS_AREA_NEGATIVE;
    if (rows == 0 || width == 0)
        return KVS_AREA_GOOD;
    if (rows > 1 && range->pitch < (uint64_t)width)
        return KVS_AREA_PITCH;
    if ((uint64_t)width > size_bytes || (uint64_t)offset > size_bytes - (uint64_t)width)
        return KVS_AREA_OUTSIDE;
    uint64_t left = size_bytes - (uint64_t)width - (uint64_t)offset;
    return rows > 1 && (uint64_t)(rows - 1) > left / range->pitch ? KVS_AREA_OUTSIDE
                                                                  : KVS_AREA_GOOD;
}

bool kvs_area_meets(const struct kvs_area *area, uint64_t position, uint64_t n, uint64_t lo,
                    uint64_t hi, uint64_t *out)
{
    uint64_t at = 0;
    if (lo > area->offset) {
        uint64_t row = (lo - area->offset) / area->pitch;
        uint64_t column = (lo - area->offset) % area->pitch;
        at = row * area->width + (column < area->width ? column : area->width);
    }
    if (at < position)
        at = position;
    uint64_t end = kvs_area_bytes(area);
    if (end > position + n)
        end = position + n;
    if (at >= end)
        return false;
    uint64_t address = kvs_area_address(area, at);
    if (out)
        *out = address;
    return address < hi;
}

static bool area_overlaps_equal_pitch(const struct kvs_area *a, const struct kvs_area *b)
{
    if (a->offset > b->offset)
        return area_overlaps_equal_pitch(b, a);
    /* Row 0 of b begins in row k of a, or in the gap behind it, where only row k + 1 is near.
     */
    uint64_t k = (b->offset - a->offset) / a->pitch;
    uint64_t column = (b->offset - a->offset) % a->pitch;
    if (k < a->rows && column < a->width)
        return true;
    if (k + 1 < a->rows && column + b->width > a->pitch)
        return true;
    return false;
}

bool kvs_area_overlaps(const struct kvs_area *a, const struct kvs_area *b)
{
    if (a->rows == 0 || b->rows == 0 || kvs_area_end(a) <= b->offset ||
        kvs_area_end(b) <= a->offset)
        return false;
    if (a->rows > 1 && b->rows > 1 && a->pitch == b->pitch)
        return area_overlaps_equal_pitch(a, b);
    const struct kvs_area *few = a->rows <= b->rows ? a : b;
    const struct kvs_area *many = few == a ? b : a;
    for (uint64_t row = 0; row < few->rows; row++) {
        uint64_t lo = few->offset + row * few->pitch;
        if (kvs_area_meets(many, 0, kvs_area_bytes(many), lo, lo + few->width, NULL))
            return true;
    }
    return false;
}

bool kvs_area_covers(const struct kvs_area *a, const struct kvs_area *b)
{
    if (b->rows == 0)
        return true;
    if (a->rows == 0 || b->offset < a->offset || kvs_area_end(b) > kvs_area_end(a))
        return false;
    if (a->rows == 1)
        return true;
    if (b->rows > 1 && b->pitch != a->pitch)
        return false;
    uint64_t row = (b->offset - a->offset) / a->pitch;
    uint64_t column = (b->offset - a->offset) % a->pitch;
    return column + b->width <= a->width && row + b->rows <= a->rows;
}

bool kvs_area_is_same(const struct kvs_area *a, uint64_t a_position, const struct kvs_area *b,
                      uint64_t b_position, uint64_t n)
{
    if (a->width == b->width && a->pitch == b->pitch &&
        a_position % a->width == b_position % b->width)
        return kvs_area_address(a, a_position) == kvs_area_address(b, b_position);
    while (n > 0) {
        uint64_t a_left = a->width - a_position % a->width;
        uint64_t b_left = b->width - b_position % b->width;
        uint64_t step = a_left < b_left ? a_left : b_left;
        if (step > n)
            step = n;
        if (kvs_area_address(a, a_position) != kvs_area_address(b, b_position))
            return false;
        a_position += step;
        b_position += step;
        n -= step;
    }
    return true;
}
