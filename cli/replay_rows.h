/* What the runs of an arm put into its row. */
#ifndef KVS_CLI_REPLAY_ROWS_H
#define KVS_CLI_REPLAY_ROWS_H

#include "base/arena.h"
#include "cli/command.h"
#include "formats/row.h"
#include "study/replay.h"

/*
 * Digest, samples and their figures. out_ms: [n_samples] time per token of each, filled. The row
 * borrows its samples from the arena. Intervals are bootstrapped with the row's seed.
 */
kvs_status kvs_replay_fill_row(const struct kvs_replay_result *result, struct kvs_arena *arena,
                               double *out_ms, struct kvs_row *row,
                               struct kvs_error *err) KVS_MUST_USE;
/* Against the configuration's first arm: [row->samples.n] times of the same rounds. */
kvs_status kvs_replay_fill_difference(const double *ms, const double *first_ms,
                                      struct kvs_row *row, struct kvs_error *err) KVS_MUST_USE;
void kvs_replay_warn_outliers(const struct kvs_row *row, const struct kvs_console *console);

/* Names on stderr every arm whose bytes are not those of the first; true when there is one. Entry
 * k of results, [n], is the arm of rows[at[k]]. */
bool kvs_replay_tell_digests(const struct kvs_replay_result *results,
                             const struct kvs_row *rows, const size_t *at, size_t n);

#endif
