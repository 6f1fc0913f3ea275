/*
 * Two lists of ranges of equal size, side by side: the contiguous pieces in which their bytes
 * correspond. A strided copy, a window and its cells, staged rows and where they go are all
 * walked this way.
 */
#ifndef KVS_REAL_PIECES_H
#define KVS_REAL_PIECES_H

#include "sched/plan.h"

struct kvs_piece_end {
    const struct kvs_range *ranges; /* borrowed */
    uint32_t n;
    unsigned mode;        /* others are passed over */
    uint32_t index;       /* of the range at hand */
    uint32_t row;         /* of it */
    uint32_t at;          /* byte of the row */
    struct kvs_range now; /* the range, its steps resolved */
};

struct kvs_pieces {
    uint32_t token; /* of the segment */
    struct kvs_piece_end a, b;
};

/* n_bytes from offset_a of buffer_a correspond to as many from offset_b of buffer_b. */
struct kvs_piece_pair {
    uint16_t buffer_a, buffer_b;
    uint64_t offset_a, offset_b;
    uint64_t n_bytes;
};

/* The reads among an operation's ranges, one after another, and its writes. */
struct kvs_pieces kvs_pieces_copy(const struct kvs_range *ranges, uint32_t n, uint32_t token);
/* One range, and the n_cells ranges that say which cells its bytes are. */
struct kvs_pieces kvs_pieces_cells(const struct kvs_range *range, const struct kvs_range *cells,
                                   uint32_t n_cells, uint32_t token);
/* The next piece; false when either side is used up. */
bool kvs_pieces_next(struct kvs_pieces *pieces, struct kvs_piece_pair *out);

#endif
