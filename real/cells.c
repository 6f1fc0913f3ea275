/* Folding, making and filling bytes of cells on the host; little endian machines alone. */
#include "real/cells.h"

/* Bytes of the first, incomplete word at offset. */
static size_t cells_head(uint64_t offset, size_t n)
{
    size_t head = (size_t)(-offset & 7u);
    return head < n ? head : n;
}

uint64_t kvs_cells_fold(uint64_t id, uint64_t offset, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    uint64_t word = offset / 8, sum = 0;
    size_t head = cells_head(offset, n);
    if (head > 0)
        sum += kvs_cells_load(at, (unsigned)(offset & 7u), (unsigned)head) *
               kvs_cells_weight(id, word++);
    at += head;
    n -= head;
    uint64_t weight = id + word * KVS_CELLS_GOLDEN;
    for (; n >= 8; n -= 8, at += 8, weight += KVS_CELLS_GOLDEN, word++) {
        uint64_t value;
        memcpy(&value, at, sizeof value);
        sum += value * (weight | 1u);
    }
    if (n > 0)
        sum += kvs_cells_load(at, 0, (unsigned)n) * kvs_cells_weight(id, word);
    return sum;
}

/* Each word by a function of id, state and its number. */
typedef uint64_t (*cells_word_fn)(uint64_t id, uint64_t state, uint64_t word);

static void cells_write(cells_word_fn value, uint64_t id, uint64_t state, uint64_t offset,
                        void *bytes, size_t n)
{
    unsigned char *at = bytes;
    uint64_t word = offset / 8;
    size_t head = cells_head(offset, n);
    if (head > 0)
        kvs_cells_save(value(id, state, word++), (unsigned)(offset & 7u), (unsigned)head, at);
    at += head;
    n -= head;
    for (; n >= 8; n -= 8, at += 8) {
        uint64_t whole = value(id, state, word++);
        memcpy(at, &whole, sizeof whole);
    }
    if (n > 0)
        kvs_cells_save(value(id, state, word), 0, (unsigned)n, at);
}

static uint64_t cells_made(uint64_t id, uint64_t state, uint64_t word)
{
    return kvs_cells_made(id, state, word);
}

static uint64_t cells_initial(uint64_t id, uint64_t state, uint64_t word)
{
    (void)state;
    return kvs_cells_initial(id, word);
}

void kvs_cells_make(uint64_t id, uint64_t state, uint64_t offset, void *bytes, size_t n)
{
    cells_write(cells_made, id, state, offset, bytes, n);
}

void kvs_cells_fill(uint64_t id, uint64_t offset, void *bytes, size_t n)
{
    cells_write(cells_initial, id, 0, offset, bytes, n);
}
