/* Reads a command line against option tables. */
#include "cli/options.h"

#include <string.h>

#include "base/array.h"
#include "cli/options_value.h"

#define SPELLING_MAX 64

struct kvs_options {
    const struct kvs_options_spec *spec; /* borrowed */
    struct kvs_option_value *values;     /* owned, [n_values] */
    size_t n_values;
    KVS_ARRAY(const char *) operands; /* items borrowed from argv */
    kvs_help help;
};

/* Long names compare with _ read as -, as llama.cpp does. */
static bool options_same(const char *arg, size_t n, const char *name, size_t name_n,
                         bool is_long)
{
    if (n != name_n)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = is_long && arg[i] == '_' ? '-' : arg[i];
        if (c != name[i])
            return false;
    }
    return true;
}

static bool options_is_spelled(const struct kvs_option *option, const char *arg, size_t n)
{
    bool is_long = n > 2 && arg[0] == '-' && arg[1] == '-';
    if (is_long && options_same(arg + 2, n - 2, option->name, strlen(option->name), true))
        return true;
    for (const char *a = option->alias; a != NULL && *a != '\0';) {
        size_t alias_n = strcspn(a, " ");
        if (options_same(arg, n, a, alias_n, is_long))
            return true;
        a += alias_n + strspn(a + alias_n, " ");
    }
    return false;
}

static struct kvs_option_value *options_find(const struct kvs_options *o, const char *arg,
                                             size_t n)
{
    for (size_t i = 0; i < o->n_values; i++) {
        if (options_is_spelled(o->values[i].option, arg, n))
            return &o->values[i];
    }
    return NULL;
}

/* Spelling i of an option with its dashes, 0 the long name; false past the last. */
static bool options_spelling(const struct kvs_option *option, size_t i, char buf[SPELLING_MAX])
{
    if (i == 0) {
        snprintf(buf, SPELLING_MAX, "--%s", option->name);
        return true;
    }
    const char *a = option->alias != NULL ? option->alias : "";
    for (; i > 1 && *a != '\0'; i--) {
        a += strcspn(a, " ");
        a += strspn(a, " ");
    }
    snprintf(buf, SPELLING_MAX, "%.*s", (int)strcspn(a, " "), a);
    return *a != '\0';
}

static kvs_status options_unknown(const struct kvs_options *o, const char *flag,
                                  struct kvs_error *err)
{
    KVS_ARRAY(char *) known = {0};
    kvs_status status = KVS_OK;
    char buf[SPELLING_MAX];
    for (size_t i = 0; i < o->n_values; i++) {
        for (size_t k = 0; options_spelling(o->values[i].option, k, buf); k++) {
            char *copy;
            KVS_TRY_GOTO(kvs_mem_strdup(buf, &copy, err), out);
            status = KVS_ARRAY_PUSH(&known, copy, err);
            if (status != KVS_OK) {
                kvs_mem_free(copy);
                goto out;
            }
        }
    }
    const char *nearest = kvs_nearest(flag, (const char *const *)known.items, known.n);
    size_t n = strcspn(flag, "0123456789");
    if (flag[n] != '\0' && options_find(o, flag, n) != NULL)
        status = kvs_error_at(err, KVS_EINVAL, flag, 0, 0,
                              "unknown flag; did you mean %.*s %s?", (int)n, flag, flag + n);
    else if (nearest != NULL)
        status = kvs_error_at(err, KVS_EINVAL, flag, 0, 0, "unknown flag; did you mean %s?",
                              nearest);
    else
        status = kvs_error_at(err, KVS_EINVAL, flag, 0, 0, "unknown flag");
    kvs_error_hint(err, "%s --help lists the flags", o->spec->program);
out:
    for (size_t i = 0; i < known.n; i++)
        kvs_mem_free(known.items[i]);
    KVS_ARRAY_FREE(&known);
    return status;
}

static kvs_status options_create(const struct kvs_options_spec *spec, struct kvs_options **out,
                                 struct kvs_error *err)
{
    void *memory;
    KVS_TRY(kvs_mem_alloc(1, sizeof(struct kvs_options), &memory, err));
    struct kvs_options *o = memory;
    o->spec = spec;
    size_t n = 0;
    for (size_t g = 0; g < spec->n_groups; g++)
        n += spec->groups[g]->n;
    kvs_status status = kvs_mem_alloc(n, sizeof(*o->values), &memory, err);
    if (status != KVS_OK) {
        kvs_mem_free(o);
        return status;
    }
    o->values = memory;
    for (size_t g = 0; g < spec->n_groups; g++) {
        for (size_t i = 0; i < spec->groups[g]->n; i++)
            o->values[o->n_values++].option = &spec->groups[g]->options[i];
    }
    *out = o;
    return KVS_OK;
}

static kvs_status options_defaults(struct kvs_options *o, struct kvs_error *err)
{
    char flag[SPELLING_MAX];
    for (size_t i = 0; i < o->n_values; i++) {
        const struct kvs_option *option = o->values[i].option;
        options_spelling(option, 0, flag);
        if (option->fallback != NULL && option->kind != KVS_OPTION_FLAG)
            KVS_TRY(kvs_option_value_set(&o->values[i], flag, option->fallback, err));
    }
    return KVS_OK;
}

/* Sets value from text after "=", or else from the next argument. */
static kvs_status options_take(struct kvs_options *o, struct kvs_option_value *value,
                               const char *flag, const char *text, const char *next, int *io_i,
                               struct kvs_error *err)
{
    if (value->option->kind == KVS_OPTION_FLAG) {
        if (text != NULL)
            return kvs_error_at(err, KVS_EINVAL, flag, 0, 0, "takes no value, got \"%s\"",
                                text);
    } else if (text == NULL) {
        if (next == NULL)
            return kvs_error_at(err, KVS_EINVAL, flag, 0, 0, "needs a value (%s)",
                                value->option->metavar);
        if (next[0] == '-' && options_find(o, next, strcspn(next, "=")) != NULL)
            return kvs_error_at(err, KVS_EINVAL, flag, 0, 0,
                                "needs a value (%s), got the flag %s", value->option->metavar,
                                next);
        text = next;
        (*io_i)++;
    }
    if (!value->is_given)
        kvs_option_value_fini(value); /* the fallback of a sweep or list makes room */
    value->is_given = true;
    return kvs_option_value_set(value, flag, text, err);
}

static kvs_status options_flag_arg(struct kvs_options *o, int argc, const char *const *argv,
                                   int *io_i, struct kvs_error *err)
{
    const char *arg = argv[*io_i];
    size_t n = strcspn(arg, "=");
    char flag[256];
    snprintf(flag, sizeof(flag), "%.*s", (int)n, arg);
    struct kvs_option_value *value = options_find(o, arg, n);
    if (value == NULL)
        return options_unknown(o, flag, err);
    const char *next = *io_i + 1 < argc ? argv[*io_i + 1] : NULL;
    return options_take(o, value, flag, arg[n] == '=' ? arg + n + 1 : NULL, next, io_i, err);
}

static kvs_status options_read(struct kvs_options *o, int argc, const char *const *argv,
                               struct kvs_error *err)
{
    bool is_ended = false;
    for (int i = 0; i < argc; i++) {
        const char *arg = argv[i];
        if (is_ended || arg[0] != '-' || arg[1] == '\0') {
            KVS_TRY(KVS_ARRAY_PUSH(&o->operands, arg, err));
        } else if (strcmp(arg, "--") == 0) {
            is_ended = true;
        } else if (strcmp(arg, "-h") == 0 || strcmp(arg, "--help") == 0) {
            o->help = arg[1] == 'h' ? KVS_HELP_SHORT : KVS_HELP_FULL;
            return KVS_OK;
        } else {
            KVS_TRY(options_flag_arg(o, argc, argv, &i, err));
        }
    }
    const struct kvs_options_spec *spec = o->spec;
    if (o->operands.n > spec->max_operands)
        return kvs_error_at(err, KVS_EINVAL, o->operands.items[spec->max_operands], 0, 0,
                            "unexpected argument; %s takes %zu", spec->program,
                            spec->max_operands);
    if (o->operands.n < spec->min_operands)
        return kvs_error_at(err, KVS_EINVAL, spec->program, 0, 0, "missing argument: %s",
                            spec->operands);
    return KVS_OK;
}

kvs_status kvs_options_parse(const struct kvs_options_spec *spec, int argc,
                             const char *const *argv, struct kvs_options **out,
                             struct kvs_error *err)
{
    *out = NULL;
    struct kvs_options *o;
    kvs_status status = kvs_options_check(spec, err);
    KVS_ASSERT(status == KVS_OK || status == KVS_ENOMEM);
    KVS_TRY(status);
    KVS_TRY(options_create(spec, &o, err));
    KVS_TRY_GOTO(options_defaults(o, err), fail);
    KVS_TRY_GOTO(options_read(o, argc, argv, err), fail);
    *out = o;
    return KVS_OK;
fail:
    kvs_options_destroy(o);
    return status;
}

void kvs_options_destroy(struct kvs_options *options)
{
    if (options == NULL)
        return;
    for (size_t i = 0; i < options->n_values; i++)
        kvs_option_value_fini(&options->values[i]);
    kvs_mem_free(options->values);
    KVS_ARRAY_FREE(&options->operands);
    kvs_mem_free(options);
}

static kvs_status options_check_one(const struct kvs_options *o, size_t i,
                                    struct kvs_error *err)
{
    const struct kvs_option *option = o->values[i].option;
    bool is_flag = option->kind == KVS_OPTION_FLAG;
    char buf[SPELLING_MAX];
    for (size_t k = 0; options_spelling(option, k, buf); k++) {
        if (options_find(o, buf, strlen(buf)) != &o->values[i] || strcmp(buf, "-h") == 0 ||
            strcmp(buf, "--help") == 0)
            return kvs_error_at(err, KVS_EINVAL, buf, 0, 0, "spelling used twice");
        if (buf[0] != '-' || strcspn(buf, "=_") != strlen(buf))
            return kvs_error_at(err, KVS_EINVAL, buf, 0, 0,
                                "spelling without a dash, or with = or _");
    }
    options_spelling(option, 0, buf);
    if (is_flag != (option->metavar == NULL) || (is_flag && option->fallback != NULL))
        return kvs_error_at(
            err, KVS_EINVAL, buf, 0, 0,
            "a metavar belongs to every kind but flags, a fallback never to flags");
    if (option->kind == KVS_OPTION_ENUM && option->choices == NULL)
        return kvs_error_at(err, KVS_EINVAL, buf, 0, 0, "an enum needs choices");
    if (option->help == NULL)
        return kvs_error_at(err, KVS_EINVAL, buf, 0, 0, "no help");
    return KVS_OK;
}

kvs_status kvs_options_check(const struct kvs_options_spec *spec, struct kvs_error *err)
{
    struct kvs_options *o;
    KVS_TRY(options_create(spec, &o, err));
    kvs_status status = KVS_OK;
    for (size_t i = 0; i < o->n_values && status == KVS_OK; i++)
        status = options_check_one(o, i, err);
    if (status == KVS_OK)
        status = options_defaults(o, err);
    kvs_options_destroy(o);
    return status;
}

static const struct kvs_option_value *options_value(const struct kvs_options *o,
                                                    const char *name)
{
    size_t i = 0;
    while (i < o->n_values && strcmp(o->values[i].option->name, name) != 0)
        i++;
    KVS_ASSERT(i < o->n_values);
    return &o->values[i];
}

static const struct kvs_option_value *options_kind(const struct kvs_options *o,
                                                   const char *name, kvs_option_kind kind)
{
    const struct kvs_option_value *value = options_value(o, name);
    KVS_ASSERT(value->option->kind == kind);
    return value;
}

bool kvs_options_is_given(const struct kvs_options *options, const char *name)
{
    return options_value(options, name)->is_given;
}

bool kvs_options_flag(const struct kvs_options *options, const char *name)
{
    return options_kind(options, name, KVS_OPTION_FLAG)->is_set;
}

const char *kvs_options_str(const struct kvs_options *options, const char *name)
{
    return options_kind(options, name, KVS_OPTION_STRING)->text;
}

uint64_t kvs_options_u64(const struct kvs_options *options, const char *name)
{
    const struct kvs_option_value *value = options_value(options, name);
    KVS_ASSERT(value->option->kind == KVS_OPTION_U64 ||
               value->option->kind == KVS_OPTION_BYTES);
    return value->is_set ? value->number : value->option->min;
}

double kvs_options_frac(const struct kvs_options *options, const char *name)
{
    return options_kind(options, name, KVS_OPTION_FRAC)->frac;
}

unsigned kvs_options_enum(const struct kvs_options *options, const char *name)
{
    return (unsigned)options_kind(options, name, KVS_OPTION_ENUM)->number;
}

const uint64_t *kvs_options_sweep(const struct kvs_options *options, const char *name,
                                  size_t *out_n)
{
    const struct kvs_option_value *value = options_kind(options, name, KVS_OPTION_SWEEP);
    *out_n = value->sweep.n;
    return value->sweep.items;
}

const char *const *kvs_options_list(const struct kvs_options *options, const char *name,
                                    size_t *out_n)
{
    const struct kvs_option_value *value = options_kind(options, name, KVS_OPTION_LIST);
    *out_n = value->list.n;
    return (const char *const *)value->list.items;
}

const uint64_t *kvs_options_list_choices(const struct kvs_options *options, const char *name,
                                         size_t *out_n)
{
    const struct kvs_option_value *value = options_kind(options, name, KVS_OPTION_LIST);
    KVS_ASSERT(value->option->choices != NULL);
    *out_n = value->sweep.n;
    return value->sweep.items;
}

const char *const *kvs_options_operands(const struct kvs_options *options, size_t *out_n)
{
    *out_n = options->operands.n;
    return options->operands.items;
}

kvs_help kvs_options_help(const struct kvs_options *options)
{
    return options->help;
}
