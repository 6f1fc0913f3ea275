/*
 * Plans as JSON Lines: a header line, then a line per queue, buffer, ring, segment and
 * operation, so that every error has a line. The format is versioned (KVS_PLAN_VERSION) and
 * described in docs/plan-format.md.
 */
#ifndef KVS_FORMATS_PLAN_LINES_H
#define KVS_FORMATS_PLAN_LINES_H

#include "base/text.h"
#include "sched/plan.h"

#define KVS_PLAN_LINES_MAX_BYTES ((size_t)256 << 20) /* of a file */

/* Appends the whole plan. The text's status tells of a failure to allocate. */
void kvs_plan_lines_write(const struct kvs_plan *plan, struct kvs_text *out);

/* Reads what kvs_plan_lines_write wrote, or what a script in any language wrote. Errors name
 * file and line. Returns to caller: kvs_plan_destroy. */
kvs_status kvs_plan_lines_read(const char *name, const char *bytes, size_t n,
                               struct kvs_plan **out, struct kvs_error *err) KVS_MUST_USE;

#endif
