/* What commands that judge predictions share: --tolerance and the format of what they print. */
#ifndef KVS_CLI_JUDGE_H
#define KVS_CLI_JUDGE_H

#include "cli/options.h"
#include "study/compare.h"

extern const struct kvs_option_group kvs_judge_group;

/* Refuses a tolerance above 100%: a bare 3 means 300%. */
kvs_status kvs_judge_check(const struct kvs_options *options,
                           struct kvs_error *err) KVS_MUST_USE;
bool kvs_judge_is_json(const struct kvs_options *options);
/* True, and said on stderr, when a tolerance was given and the mean error is larger. of: "", or
 * what was judged, with a colon and a space behind it. */
bool kvs_judge_is_outside(const struct kvs_options *options, const char *of,
                          const struct kvs_accuracy *accuracy);

struct kvs_json_writer;
/* The figures of an accuracy as an object. */
void kvs_judge_json(struct kvs_json_writer *w, const char *key,
                    const struct kvs_accuracy *accuracy);

#endif
