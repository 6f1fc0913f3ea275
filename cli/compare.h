/* What the files of `kvsim compare` share. */
#ifndef KVS_CLI_COMPARE_H
#define KVS_CLI_COMPARE_H

#include "base/text.h"
#include "cli/command.h"

/* A file of the command line. */
struct kvs_compared {
    const char *path;  /* borrowed */
    const char *label; /* its name without folders; borrowed */
    char *bytes;       /* owned */
    size_t n;
};

/* What was asked for. */
struct kvs_comparison {
    const struct kvs_options *options; /* borrowed */
    struct kvs_compared files[2];      /* the same one twice when only one was given */
    bool is_one_file;
    bool is_json;          /* else md */
    bool is_outside;       /* out: of --tolerance */
    struct kvs_text *text; /* what goes to stdout */
};

/* Rows of predict and replay: cli/compare_rows.c. */
kvs_status kvs_compare_rows(struct kvs_comparison *c, struct kvs_error *err) KVS_MUST_USE;
/* Two timelines: cli/compare_traces.c. */
kvs_status kvs_compare_traces(struct kvs_comparison *c, struct kvs_error *err) KVS_MUST_USE;

#endif
