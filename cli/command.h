/* What every command shares: exit codes, streams, and the table that main() walks. */
#ifndef KVS_CLI_COMMAND_H
#define KVS_CLI_COMMAND_H

#include <stdbool.h>

#include "cli/options.h"

/* Exit codes, also in `kvsim --help`. */
enum {
    KVS_EXIT_OK = 0,
    KVS_EXIT_FAILURE = 1,   /* runtime: input/output, memory */
    KVS_EXIT_USAGE = 2,     /* usage or bad input, a refused plan included */
    KVS_EXIT_TOLERANCE = 3, /* outside --tolerance */
    KVS_EXIT_NOFIT = 4,     /* does not fit in device memory */
    KVS_EXIT_DIGEST = 5,    /* digests differ */
    KVS_EXIT_SKIPPED = 77   /* no device to run on */
};

struct kvs_command {
    const char *name;
    const char *summary; /* one line */
    /* argv are the arguments after the command's name. Returns an exit code. */
    int (*run)(int argc, const char *const *argv);
};

int kvs_command_predict(int argc, const char *const *argv);
int kvs_command_replay(int argc, const char *const *argv);
int kvs_command_compare(int argc, const char *const *argv);
int kvs_command_validate(int argc, const char *const *argv);
int kvs_command_probe(int argc, const char *const *argv);
int kvs_command_check(int argc, const char *const *argv);
int kvs_command_plan(int argc, const char *const *argv);
int kvs_command_plot(int argc, const char *const *argv);
int kvs_command_list(int argc, const char *const *argv);

/* Options that every command takes: -q, --progress, --color. */
extern const struct kvs_option_group kvs_common_group;
/* --catalogue alone, for commands that take no machine or model. */
extern const struct kvs_option_group kvs_catalogue_group;

/* How to talk on stderr. */
struct kvs_console {
    bool is_quiet;
    bool has_progress; /* one line, rewritten */
    bool has_color;
};

struct kvs_console kvs_console_of(const struct kvs_options *options);
/* "warning: ..."; says what happened, what it does to the result, what to try. */
void kvs_console_warn(const struct kvs_console *console, const char *fmt, ...) KVS_PRINTF(2, 3);
/* Rewrites the progress line; done = n wipes it. */
void kvs_console_progress(const struct kvs_console *console, size_t done, size_t n,
                          const char *what);

int kvs_exit_code(kvs_status status);
/* Prints all of diags, or else err, to stderr; returns the exit code of status. */
int kvs_fail(kvs_status status, const struct kvs_diags *diags, const struct kvs_error *err);

/* Prints and empties text on stdout. KVS_EIO when that fails. */
kvs_status kvs_print(struct kvs_text *text, FILE *out, struct kvs_error *err) KVS_MUST_USE;

/*
 * Parses the arguments of a command. true: go on, *out is set. false: *out_exit is the exit
 * code, and what there was to say (help, an error) has been said. `help` alone is --help.
 */
bool kvs_command_parse(const struct kvs_options_spec *spec, int argc, const char *const *argv,
                       struct kvs_options **out, int *out_exit);

#endif
