/*
 * Answers that hang on microseconds. A schedule can tip from one order of copies to another:
 * whether late bytes wait for one delivery or for two is decided within the commit lead of the
 * engine. A case near such an edge has two answers, and both are given.
 *
 * The same plan is run on neighbours of the machine: links 5% slower and 5% faster, and the
 * other first turn of idle engines. Away from an edge a token changes by no more than the links
 * did; where it changes by clearly more, the case is on an edge, and the neighbour's time, with
 * the smooth part of the change taken off, is the other answer. A few tokens of each segment
 * are enough to see that.
 */
#ifndef KVS_STUDY_EDGE_H
#define KVS_STUDY_EDGE_H

#include "study/predict.h"

#define KVS_EDGE_STEP   0.05 /* of the link rates: "within about 5% of the edge" */
#define KVS_EDGE_JUMP   0.02 /* of the token time, beyond what the links explain */
#define KVS_EDGE_TOKENS 8u   /* of each segment */

/* plan is the case's own, already checked; token_ms its time on the machine as it is. */
kvs_status kvs_find_edge(const struct kvs_case *c, const struct kvs_plan *plan,
                         const struct kvs_exec_ops *exec, double token_ms, struct kvs_edge *out,
                         struct kvs_error *err) KVS_MUST_USE;

#endif
