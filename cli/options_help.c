/* Help of a command from its option tables: 80 columns, flags left, text wrapped on the right.
 */
#include "cli/options.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"

#define HELP_TEXT_COLUMN 28
#define HELP_WIDTH       80

/* Wraps words between HELP_TEXT_COLUMN and HELP_WIDTH, starting at column on the current line.
 */
static void help_wrap(struct kvs_text *out, const char *text, size_t column)
{
    const char *word = text;
    while (*word != '\0') {
        size_t n = strcspn(word, " ");
        if (column > HELP_TEXT_COLUMN && column + 1 + n > HELP_WIDTH) {
            kvs_text_printf(out, "\n%*s", HELP_TEXT_COLUMN, "");
            column = HELP_TEXT_COLUMN;
        } else if (column > HELP_TEXT_COLUMN) {
            kvs_text_puts(out, " ");
            column++;
        }
        kvs_text_append(out, word, n);
        column += n;
        word += n + strspn(word + n, " ");
    }
    kvs_text_puts(out, "\n");
}

/* "-d, --depth N": aliases first, the long name last. */
static size_t help_spelling(struct kvs_text *out, const struct kvs_option *option)
{
    size_t start = out->n;
    kvs_text_puts(out, "  ");
    for (const char *a = option->alias; a != NULL && *a != '\0';) {
        size_t n = strcspn(a, " ");
        kvs_text_append(out, a, n);
        kvs_text_puts(out, ", ");
        a += n + strspn(a + n, " ");
    }
    kvs_text_printf(out, "--%s", option->name);
    if (option->metavar != NULL)
        kvs_text_printf(out, " %s", option->metavar);
    return out->n - start;
}

static void help_limits(struct kvs_text *text, const struct kvs_option *option)
{
    char lo[KVS_UNITS_BUF], hi[KVS_UNITS_BUF];
    if (option->kind == KVS_OPTION_BYTES) {
        kvs_format_bytes(option->min, lo, sizeof(lo));
        kvs_format_bytes(option->max, hi, sizeof(hi));
    } else {
        snprintf(lo, sizeof(lo), "%" PRIu64, option->min);
        snprintf(hi, sizeof(hi), "%" PRIu64, option->max);
    }
    if (option->max != 0)
        kvs_text_printf(text, "; %s to %s", lo, hi);
    else if (option->min != 0)
        kvs_text_printf(text, "; at least %s", lo);
}

/* The sentence, then what the table knows: choices, limits, whether it sweeps, the default. */
static void help_describe(struct kvs_text *text, const struct kvs_option *option)
{
    kvs_text_puts(text, option->help);
    for (size_t i = 0; option->choices != NULL && option->choices[i] != NULL; i++)
        kvs_text_printf(text, "%s%s", i == 0 ? ": " : ", ", option->choices[i]);
    help_limits(text, option);
    if (option->kind == KVS_OPTION_SWEEP)
        kvs_text_puts(text, "; sweeps");
    if (option->kind == KVS_OPTION_LIST)
        kvs_text_puts(text, "; comma list");
    if (option->fallback != NULL)
        kvs_text_printf(text, " (default %s)", option->fallback);
    else if (option->preset != NULL)
        kvs_text_printf(text, " (default %s)", option->preset);
}

static void help_option(struct kvs_text *out, const struct kvs_option *option)
{
    struct kvs_text text = {0};
    help_describe(&text, option);
    size_t column = help_spelling(out, option);
    if (column + 2 > HELP_TEXT_COLUMN) {
        kvs_text_puts(out, "\n");
        column = 0;
    }
    kvs_text_printf(out, "%*s", (int)(HELP_TEXT_COLUMN - column), "");
    help_wrap(out, text.data != NULL ? text.data : "", HELP_TEXT_COLUMN);
    if (text.status != KVS_OK)
        out->status = text.status;
    kvs_text_fini(&text);
}

static void help_group(struct kvs_text *out, const struct kvs_option_group *group,
                       kvs_help form)
{
    bool has_title = false;
    for (size_t i = 0; i < group->n; i++) {
        if (form != KVS_HELP_FULL && !group->options[i].is_common)
            continue;
        if (!has_title)
            kvs_text_printf(out, "\n%s\n", group->title);
        has_title = true;
        help_option(out, &group->options[i]);
    }
}

static void help_foot(const struct kvs_options_spec *spec, kvs_help form, struct kvs_text *out)
{
    static const struct kvs_option help = {
        .name = "help", .alias = "-h", .help = "-h: the common flags; --help: all of them"};
    static const struct kvs_option_group group = {"Help", &help, 1};
    if (form == KVS_HELP_FULL)
        help_group(out, &group, form);
    else
        kvs_text_printf(out, "\nAll flags: %s --help\n", spec->program);

    for (size_t i = 0; spec->examples != NULL && spec->examples[i] != NULL; i++) {
        if (i == 0)
            kvs_text_puts(out, form == KVS_HELP_FULL ? "\nExamples\n" : "\nExample\n");
        kvs_text_printf(out, "  %s\n", spec->examples[i]);
        if (form != KVS_HELP_FULL)
            break;
    }
}

void kvs_options_print_help(const struct kvs_options_spec *spec, kvs_help form,
                            struct kvs_text *out)
{
    kvs_text_printf(out, "Usage: %s [options]", spec->program);
    if (spec->operands != NULL)
        kvs_text_printf(out, " %s", spec->operands);
    kvs_text_printf(out, "\n\n%s\n", spec->summary);
    for (size_t i = 0; i < spec->n_groups; i++)
        help_group(out, spec->groups[i], form);
    help_foot(spec, form, out);
}
