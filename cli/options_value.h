/* The value of one flag while a command line is read; only for cli/options.c. */
#ifndef KVS_CLI_OPTIONS_VALUE_H
#define KVS_CLI_OPTIONS_VALUE_H

#include "base/array.h"
#include "cli/options.h"
#include "cli/sweep.h"

struct kvs_option_value {
    const struct kvs_option *option; /* borrowed */
    bool is_given;                   /* typed, not the fallback */
    bool is_set;                     /* typed or the fallback */
    uint64_t number; /* U64, BYTES; index in choices for ENUM; 1 for a set FLAG */
    double frac;
    const char *text;       /* borrowed: as typed, or the fallback */
    KVS_ARRAY(char *) list; /* LIST, each owned */
    struct kvs_sweep sweep; /* SWEEP, or the indices of a LIST with choices */
};

/* Converts text by the option's kind; flag is the spelling for messages, text NULL for a FLAG.
 */
kvs_status kvs_option_value_set(struct kvs_option_value *value, const char *flag,
                                const char *text, struct kvs_error *err) KVS_MUST_USE;
/* Empties sweep and list. */
void kvs_option_value_fini(struct kvs_option_value *value);

#endif
