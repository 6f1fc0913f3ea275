/* What `kvsim probe --against FILE` found to be different from the file. */
#ifndef KVS_CLI_PROBE_CHANGES_H
#define KVS_CLI_PROBE_CHANGES_H

#include "real/probe.h"

/*
 * Appends a line for each measured figure that has changed (kvs_probe_has_changed), rule, curve
 * and shared link, and one at the end that counts. `is` is a clone of `was` after the probe;
 * *out_n is the number of changes.
 */
kvs_status kvs_probe_changes(const struct kvs_machine *was, const struct kvs_machine *is,
                             const struct kvs_probe_report *report, struct kvs_text *out,
                             size_t *out_n, struct kvs_error *err) KVS_MUST_USE;

#endif
