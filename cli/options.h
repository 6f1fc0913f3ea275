/*
 * The command line from tables: one entry per flag gives parsing, range, default and help; a
 * manual page or a completion script is another walk over the same entries.
 *
 * Flags that belong together (machine, model, workload, output) form a group; a command lists
 * the groups it takes, so a flag has one meaning everywhere:
 *
 *     static const struct kvs_option workload[] = {
 *         {.name = "depth", .alias = "-d", .kind = KVS_OPTION_SWEEP, .metavar = "N",
 *          .fallback = "4096", .min = 1, .max = 1 << 20, .is_common = true,
 *          .help = "rows already in the cache"},
 *     };
 *     static const struct kvs_option_group workload_group = {"Workload", workload,
 *                                                            KVS_COUNT_OF(workload)};
 *
 * Spellings: --name, and what alias lists, which may be a single dash with several letters
 * (-ctk, -nkvo) as in llama.cpp. A value follows as the next argument or after "=". "--" ends
 * the flags, a lone "-" is an operand. In long names _ reads as -. A flag given twice: sweeps
 * and lists grow, otherwise the last one counts. -h and --help are known to every command.
 */
#ifndef KVS_CLI_OPTIONS_H
#define KVS_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

typedef enum kvs_option_kind {
    KVS_OPTION_FLAG,   /* no value */
    KVS_OPTION_STRING, /* any text, not empty */
    KVS_OPTION_U64,    /* a whole number within min..max */
    KVS_OPTION_BYTES,  /* "512MiB", within min..max bytes */
    KVS_OPTION_FRAC,   /* "3%" or 0.03 */
    KVS_OPTION_ENUM,   /* one of choices */
    KVS_OPTION_LIST,   /* comma list, of choices when there are any, else of any text */
    KVS_OPTION_SWEEP,  /* whole numbers within min..max, cli/sweep.h */
} kvs_option_kind;

struct kvs_option {
    const char *name;  /* long name without dashes; also the key of the getters below */
    const char *alias; /* other spellings with their dashes: "-d --n-depth"; or NULL */
    kvs_option_kind kind;
    const char *metavar;  /* "N", "FILE"; not for flags */
    const char *fallback; /* default, as it would be typed; NULL: unset */
    const char *preset; /* what holds where it is unset and nothing else says more; for help */
    uint64_t min, max;  /* inclusive; max 0: no upper limit */
    const char *const *choices; /* NULL-terminated, or NULL */
    bool is_common;             /* shown by -h, not only by --help */
    const char *help;           /* one sentence without a full stop; wrapped when printed */
};

struct kvs_option_group {
    const char *title;
    const struct kvs_option *options; /* [n] */
    size_t n;
};

/* A command. All borrowed, all constant. */
struct kvs_options_spec {
    const char *program;  /* "kvsim predict" */
    const char *summary;  /* one or two sentences */
    const char *operands; /* "[FILE...]" for the usage line, NULL when there are none */
    size_t min_operands, max_operands;
    const struct kvs_option_group *const *groups; /* [n_groups] */
    size_t n_groups;
    const char *const *examples; /* NULL-terminated whole command lines, or NULL */
};

typedef enum kvs_help { KVS_HELP_NONE, KVS_HELP_SHORT, KVS_HELP_FULL } kvs_help;

struct kvs_options; /* parsed values; owns copies of list items, borrows spec and argv */

/*
 * Parses argv[0..argc): the arguments after the command's name. At -h or --help parsing ends
 * with KVS_OK and kvs_options_help says so; nothing else is checked then.
 * Errors: KVS_EINVAL, KVS_ERANGE, with file = the flag as typed; an unknown flag or choice
 * names the nearest. *out is NULL on failure. Returns to caller: kvs_options_destroy.
 */
kvs_status kvs_options_parse(const struct kvs_options_spec *spec, int argc,
                             const char *const *argv, struct kvs_options **out,
                             struct kvs_error *err) KVS_MUST_USE;
void kvs_options_destroy(struct kvs_options *options); /* NULL is fine */

/*
 * Refuses a table with a spelling used twice, choices missing where the kind needs them, or a
 * fallback its own kind would refuse. Parsing asserts this; a test may ask.
 */
kvs_status kvs_options_check(const struct kvs_options_spec *spec,
                             struct kvs_error *err) KVS_MUST_USE;

/*
 * Getters. name is a long name of the right kind (asserted). Results are borrowed until
 * destroy. A value never given has its fallback; without one: false, NULL, min, 0.0, choice 0,
 * n = 0.
 */
bool kvs_options_is_given(const struct kvs_options *options,
                          const char *name); /* typed by the user */
bool kvs_options_flag(const struct kvs_options *options, const char *name);
const char *kvs_options_str(const struct kvs_options *options, const char *name);
uint64_t kvs_options_u64(const struct kvs_options *options,
                         const char *name); /* U64 and BYTES */
double kvs_options_frac(const struct kvs_options *options, const char *name);
unsigned kvs_options_enum(const struct kvs_options *options,
                          const char *name); /* index in choices */
const uint64_t *kvs_options_sweep(const struct kvs_options *options, const char *name,
                                  size_t *out_n);
const char *const *kvs_options_list(const struct kvs_options *options, const char *name,
                                    size_t *out_n);
/* A list's items as indices in choices; asserts that there are choices. */
const uint64_t *kvs_options_list_choices(const struct kvs_options *options, const char *name,
                                         size_t *out_n);

const char *const *kvs_options_operands(const struct kvs_options *options, size_t *out_n);
kvs_help kvs_options_help(const struct kvs_options *options);

/* Appends the help of a command: common flags alone, or all by group with every example. */
void kvs_options_print_help(const struct kvs_options_spec *spec, kvs_help form,
                            struct kvs_text *out);

#endif
