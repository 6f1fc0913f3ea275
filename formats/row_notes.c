/* Numbered notes under a table: declines, answers that hang on microseconds, failures. */
#include <math.h>
#include <string.h>

#include "formats/row_internal.h"

/* Index + 1 of the note with this text, added when new. */
static size_t notes_add(struct kvs_row_notes *notes, struct kvs_text *text)
{
    char *copy = NULL;
    size_t number = 0;
    for (size_t i = 0; i < notes->items.n && text->status == KVS_OK && number == 0; i++)
        if (strcmp(notes->items.items[i], text->data) == 0)
            number = i + 1;
    if (number == 0 && notes->status == KVS_OK)
        notes->status = text->status;
    if (number == 0 && notes->status == KVS_OK)
        notes->status = kvs_mem_strdup(text->data, &copy, NULL);
    if (number == 0 && notes->status == KVS_OK) {
        notes->status = KVS_ARRAY_PUSH(&notes->items, copy, NULL);
        if (notes->status == KVS_OK)
            number = notes->items.n;
        else
            kvs_mem_free(copy);
    }
    kvs_text_fini(text);
    return number;
}

static double notes_mib(uint64_t bytes)
{
    return (double)bytes / (double)KVS_MIB;
}

size_t kvs_row_note_edge(struct kvs_row_notes *notes, const struct kvs_row *row)
{
    struct kvs_text text = {0};
    if (!isfinite(row->edge_ts))
        return 0;
    kvs_text_printf(&text, "%.2f or %.2f t/s: %s", row->predicted_ts, row->edge_ts,
                    row->edge_reason);
    return notes_add(notes, &text);
}

static void notes_decline_numbers(const struct kvs_row *row, struct kvs_text *text)
{
    const struct kvs_ring_choice *ring = &row->ring;
    kvs_text_printf(text, ": %u slots x %.1f MiB = %.1f MiB", (unsigned)ring->n_slots,
                    notes_mib(ring->need_bytes), notes_mib(ring->ring_bytes));
    if (ring->decline == KVS_DECLINE_BUDGET)
        kvs_text_printf(text, ", budget %.10g MiB", row->kvpb_mib);
    else
        kvs_text_printf(text, ", %s has %.1f MiB free and must keep %.1f MiB",
                        row->c.machine->devices[ring->device].name, notes_mib(ring->free_bytes),
                        notes_mib(row->c.transport.headroom_bytes));
    kvs_text_puts(text, "; would fit: ");
    if (ring->fit_budget_bytes > 0)
        kvs_text_printf(text, "-kvpb %.0f", ceil(notes_mib(ring->fit_budget_bytes)));
    if (ring->fit_lookahead > 0)
        kvs_text_printf(text, "%s-kvpd %u", ring->fit_budget_bytes > 0 ? " or " : "",
                        (unsigned)ring->fit_lookahead);
    if (ring->fit_budget_bytes == 0 && ring->fit_lookahead == 0)
        kvs_text_puts(text, "no ring, with any look-ahead or budget");
}

size_t kvs_row_note_decline(struct kvs_row_notes *notes, const struct kvs_row *row)
{
    struct kvs_text text = {0};
    if (row->n_declined == 0)
        return 0;
    kvs_text_puts(&text, "ran ordered");
    if (row->n_declined < row->n_segments)
        kvs_text_printf(&text, " in %u of %u windows", (unsigned)row->n_declined,
                        (unsigned)row->n_segments);
    kvs_text_printf(&text, ", %s", row->decline_reason);
    if (row->ring.decline == KVS_DECLINE_BUDGET || row->ring.decline == KVS_DECLINE_HEADROOM)
        notes_decline_numbers(row, &text);
    return notes_add(notes, &text);
}

size_t kvs_row_note_error(struct kvs_row_notes *notes, const struct kvs_row *row)
{
    struct kvs_text text = {0};
    if (row->error[0] == '\0')
        return 0;
    kvs_text_puts(&text, row->error);
    return notes_add(notes, &text);
}

void kvs_row_notes_fini(struct kvs_row_notes *notes)
{
    for (size_t i = 0; i < notes->items.n; i++)
        kvs_mem_free(notes->items.items[i]);
    KVS_ARRAY_FREE(&notes->items);
}
