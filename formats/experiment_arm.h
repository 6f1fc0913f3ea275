/*
 * Arms of an experiment: a policy with its options, written in one word.
 *
 *     ordered                      a policy alone
 *     pipelined                    look-ahead 1, one transfer stream, late bytes copied
 *     pipelined+n4+yield           options joined by '+', in any order
 *     continuous+n2                look-ahead is its one option
 *
 * Options of `pipelined`: nN look-ahead N; per-slot, a transfer stream per ring slot; yield and
 * yield-kv, a tiny kernel between deliveries, or also between K and V; late-kernel, late bytes
 * read by a kernel. docs/transports.md explains them.
 */
#ifndef KVS_FORMATS_EXPERIMENT_ARM_H
#define KVS_FORMATS_EXPERIMENT_ARM_H

#include "sched/policy.h"

#define KVS_ARM_MAX_LOOKAHEAD (KVS_RING_MAX_SLOTS - 2)

struct kvs_arm {
    char name[64]; /* canonical: options in fixed order, defaults left out */
    const struct kvs_policy *policy;
    uint32_t lookahead; /* 0 for policies without a ring */
    kvs_streams streams;
    kvs_yield yield;
    kvs_late late;
};

/* Every policy there is, in the order of `kvsim list policies`. */
extern const struct kvs_policy *const kvs_policies[];
extern const size_t kvs_n_policies;

/* Options of pipelined, and nN of continuous too: the word and what it does. */
struct kvs_arm_option {
    const char *name;
    const char *summary;
};
extern const struct kvs_arm_option kvs_arm_options[];
extern const size_t kvs_n_arm_options;

/* Errors: KVS_ENOTFOUND for an unknown word, with the nearest; KVS_EINVAL for an option twice,
 * or of a policy that has none; KVS_ERANGE for a look-ahead outside 1..KVS_ARM_MAX_LOOKAHEAD.
 */
kvs_status kvs_arm_parse(const char *text, struct kvs_arm *out,
                         struct kvs_error *err) KVS_MUST_USE;

/* What llama.cpp's -kvpd N runs: ordered for 0, else pipelined with that look-ahead. */
kvs_status kvs_arm_from_lookahead(uint64_t lookahead, struct kvs_arm *out,
                                  struct kvs_error *err) KVS_MUST_USE;

/* Sets the transport of a case; budget and headroom stay. */
void kvs_arm_apply(const struct kvs_arm *arm, struct kvs_transport *transport);

#endif
