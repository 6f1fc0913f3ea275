/* Walking two lists of ranges side by side. */
#include "real/pieces.h"

/* Moves on to the next range that has bytes; false at the end. */
static bool pieces_open(struct kvs_piece_end *end, uint32_t token)
{
    for (; end->index < end->n; end->index++) {
        end->now = kvs_range_at(&end->ranges[end->index], token);
        if (end->ranges[end->index].mode != end->mode || end->now.rows == 0 ||
            end->now.width == 0)
            continue;
        /* rows without gaps are one long row, as far as 32 bits go */
        uint64_t whole = kvs_range_bytes(&end->now);
        if (end->now.width == end->now.pitch && whole <= UINT32_MAX) {
            end->now.width = end->now.pitch = (uint32_t)whole;
            end->now.rows = 1;
        }
        return true;
    }
    return false;
}

static struct kvs_pieces pieces_begin(struct kvs_piece_end a, struct kvs_piece_end b,
                                      uint32_t token)
{
    struct kvs_pieces pieces = {.token = token, .a = a, .b = b};
    pieces_open(&pieces.a, token);
    pieces_open(&pieces.b, token);
    return pieces;
}

struct kvs_pieces kvs_pieces_copy(const struct kvs_range *ranges, uint32_t n, uint32_t token)
{
    struct kvs_piece_end reads = {.ranges = ranges, .n = n, .mode = KVS_ACCESS_READ};
    struct kvs_piece_end writes = {.ranges = ranges, .n = n, .mode = KVS_ACCESS_WRITE};
    return pieces_begin(reads, writes, token);
}

struct kvs_pieces kvs_pieces_cells(const struct kvs_range *range, const struct kvs_range *cells,
                                   uint32_t n_cells, uint32_t token)
{
    struct kvs_piece_end bytes = {.ranges = range, .n = 1, .mode = range->mode};
    struct kvs_piece_end as = {.ranges = cells, .n = n_cells, .mode = cells->mode};
    return pieces_begin(bytes, as, token);
}

static uint64_t pieces_offset(const struct kvs_piece_end *end)
{
    return end->now.offset + (uint64_t)end->row * end->now.pitch + end->at;
}

static void pieces_advance(struct kvs_piece_end *end, uint32_t n_bytes, uint32_t token)
{
    end->at += n_bytes;
    if (end->at < end->now.width)
        return;
    end->at = 0;
    if (++end->row < end->now.rows)
        return;
    end->row = 0;
    end->index++;
    pieces_open(end, token);
}

bool kvs_pieces_next(struct kvs_pieces *pieces, struct kvs_piece_pair *out)
{
    struct kvs_piece_end *a = &pieces->a, *b = &pieces->b;
    if (a->index >= a->n || b->index >= b->n)
        return false;
    uint32_t left_a = a->now.width - a->at, left_b = b->now.width - b->at;
    uint32_t n = left_a < left_b ? left_a : left_b;
    *out = (struct kvs_piece_pair){.buffer_a = a->now.buffer,
                                   .buffer_b = b->now.buffer,
                                   .offset_a = pieces_offset(a),
                                   .offset_b = pieces_offset(b),
                                   .n_bytes = n};
    pieces_advance(a, n, pieces->token);
    pieces_advance(b, n, pieces->token);
    return true;
}
