/* Exit codes, messages, progress and help: the same for every command. */
#define _POSIX_C_SOURCE 200809L
#include "cli/command.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const when_choices[] = {"auto", "always", "never", NULL};
enum { WHEN_AUTO, WHEN_ALWAYS, WHEN_NEVER };

static const struct kvs_option common_options[] = {
    {.name = "quiet",
     .alias = "-q",
     .kind = KVS_OPTION_FLAG,
     .help = "no progress, no warnings"},
    {.name = "progress",
     .kind = KVS_OPTION_ENUM,
     .metavar = "WHEN",
     .fallback = "auto",
     .choices = when_choices,
     .help = "progress line on stderr; auto: on a terminal"},
    {.name = "color",
     .kind = KVS_OPTION_ENUM,
     .metavar = "WHEN",
     .fallback = "auto",
     .choices = when_choices,
     .help = "colour on stderr; auto: on a terminal, unless NO_COLOR is set or TERM=dumb"},
};
const struct kvs_option_group kvs_common_group = {"Messages", common_options,
                                                  KVS_COUNT_OF(common_options)};

static const struct kvs_option catalogue_options[] = {
    {.name = "catalogue",
     .kind = KVS_OPTION_STRING,
     .metavar = "DIR",
     .is_common = true,
     .help = "folder that comes before the built-in catalogue"},
};
const struct kvs_option_group kvs_catalogue_group = {"Catalogue", catalogue_options,
                                                     KVS_COUNT_OF(catalogue_options)};

static bool console_is_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && (term == NULL || strcmp(term, "dumb") != 0);
}

struct kvs_console kvs_console_of(const struct kvs_options *options)
{
    const char *no_color = getenv("NO_COLOR");
    unsigned progress = kvs_options_enum(options, "progress");
    unsigned color = kvs_options_enum(options, "color");
    bool is_terminal = console_is_terminal();
    bool may_color = is_terminal && (no_color == NULL || no_color[0] == '\0');
    struct kvs_console console = {.is_quiet = kvs_options_flag(options, "quiet")};
    console.has_progress =
        !console.is_quiet && (progress == WHEN_AUTO ? is_terminal : progress == WHEN_ALWAYS);
    console.has_color = color == WHEN_AUTO ? may_color : color == WHEN_ALWAYS;
    return console;
}

void kvs_console_warn(const struct kvs_console *console, const char *fmt, ...)
{
    if (console->is_quiet)
        return;
    va_list args;
    va_start(args, fmt);
    fputs(console->has_color ? "\033[33mwarning:\033[0m " : "warning: ", stderr);
    (void)vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
}

void kvs_console_progress(const struct kvs_console *console, size_t done, size_t n,
                          const char *what)
{
    if (!console->has_progress)
        return;
    if (done < n)
        fprintf(stderr, "\r%zu/%zu %.60s\033[K", done, n, what);
    else
        fputs("\r\033[K", stderr);
}

int kvs_exit_code(kvs_status status)
{
    switch (status) {
    case KVS_OK:
        return KVS_EXIT_OK;
    case KVS_ENOFIT:
        return KVS_EXIT_NOFIT;
    case KVS_ESYNTAX:
    case KVS_EINVAL:
    case KVS_ERANGE:
    case KVS_ENOTFOUND:
    case KVS_EUNSUPPORTED:
    case KVS_EPLAN:
        return KVS_EXIT_USAGE;
    case KVS_ENOMEM:
    case KVS_EIO:
    case KVS_ENUMERIC:
    case KVS_ESTOPPED:
    case KVS_EDEVICE:
        return KVS_EXIT_FAILURE;
    case KVS_ENODEVICE:
        return KVS_EXIT_SKIPPED;
    }
    return KVS_EXIT_FAILURE;
}

int kvs_fail(kvs_status status, const struct kvs_diags *diags, const struct kvs_error *err)
{
    if (diags != NULL && diags->n_errors > 0)
        kvs_diags_print(diags, stderr);
    else
        kvs_error_print(err, stderr);
    return kvs_exit_code(status);
}

kvs_status kvs_print(struct kvs_text *text, FILE *out, struct kvs_error *err)
{
    if (text->status != KVS_OK)
        return kvs_error_set(err, text->status, "out of memory while writing results");
    if (text->n > 0 && fwrite(text->data, 1, text->n, out) != text->n)
        return kvs_error_set(err, KVS_EIO, "cannot write the results");
    text->n = 0;
    if (fflush(out) != 0)
        return kvs_error_set(err, KVS_EIO, "cannot write the results");
    return KVS_OK;
}

static bool command_takes(const struct kvs_options_spec *spec, const char *name)
{
    for (size_t g = 0; g < spec->n_groups; g++)
        for (size_t i = 0; i < spec->groups[g]->n; i++)
            if (strcmp(spec->groups[g]->options[i].name, name) == 0)
                return true;
    return false;
}

/* A folder that is not there would leave the built-in catalogue in its place, unnoticed. */
static kvs_status command_check_catalogue(const struct kvs_options_spec *spec,
                                          const struct kvs_options *options,
                                          struct kvs_error *err)
{
    const char *dir =
        command_takes(spec, "catalogue") ? kvs_options_str(options, "catalogue") : NULL;
    struct stat info;
    if (dir == NULL || (stat(dir, &info) == 0 && S_ISDIR(info.st_mode)))
        return KVS_OK;
    return kvs_error_at(err, KVS_ENOTFOUND, "--catalogue", 0, 0, "no such folder: \"%s\"", dir);
}

bool kvs_command_parse(const struct kvs_options_spec *spec, int argc, const char *const *argv,
                       struct kvs_options **out, int *out_exit)
{
    static const char *const help_argv[] = {"--help"};
    struct kvs_error err = {0};
    bool asks_help = argc == 1 && strcmp(argv[0], "help") == 0;
    kvs_status status = kvs_options_parse(spec, argc, asks_help ? help_argv : argv, out, &err);
    if (status != KVS_OK) {
        *out_exit = kvs_fail(status, NULL, &err);
        return false;
    }
    kvs_help help = kvs_options_help(*out);
    if (help == KVS_HELP_NONE) {
        status = command_check_catalogue(spec, *out, &err);
        if (status == KVS_OK)
            return true;
    } else {
        struct kvs_text text = {0};
        kvs_options_print_help(spec, help, &text);
        status = kvs_print(&text, stdout, &err);
        kvs_text_fini(&text);
    }
    kvs_options_destroy(*out);
    *out = NULL;
    *out_exit = status == KVS_OK ? KVS_EXIT_OK : kvs_fail(status, NULL, &err);
    return false;
}
