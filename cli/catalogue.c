/* Looks names up in a folder, then among the embedded files. */
#define _POSIX_C_SOURCE 200809L
#include "cli/catalogue.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/yaml.h"

const char *kvs_checkout_root(void)
{
    const char *root = getenv("KVSIM_ROOT");
    return root != NULL && root[0] != '\0' ? root : NULL;
}

static const char *catalogue_word(const char *kind)
{
    return strcmp(kind, "llm") == 0 ? "model" : kind;
}

static bool catalogue_is_experiment(const char *kind)
{
    return strcmp(kind, "experiment") == 0;
}

void kvs_catalogue_fini(struct kvs_catalogue *catalogue)
{
    for (size_t i = 0; i < catalogue->owned.n; i++)
        kvs_mem_free(catalogue->owned.items[i]);
    KVS_ARRAY_FREE(&catalogue->owned);
}

/* Takes text over, also on failure. */
static kvs_status catalogue_own(struct kvs_catalogue *catalogue, char *text,
                                struct kvs_error *err)
{
    kvs_status status = KVS_ARRAY_PUSH(&catalogue->owned, text, err);
    if (status != KVS_OK)
        kvs_mem_free(text);
    return status;
}

/* DIR/models/llm, or for a name the file in it. Returns to caller through *out: owned by the
 * catalogue. */
static kvs_status catalogue_path(struct kvs_catalogue *catalogue, const char *kind,
                                 const char *name, const char **out, struct kvs_error *err)
{
    struct kvs_text path = {0};
    bool is_experiment = catalogue_is_experiment(kind);
    kvs_text_printf(&path, is_experiment ? "%s/experiments" : "%s/models/", catalogue->dir);
    kvs_text_puts(&path, is_experiment ? "" : kind);
    if (name != NULL)
        kvs_text_printf(&path, is_experiment ? "/%s/experiment.yaml" : "/%s.yaml", name);
    if (path.status != KVS_OK)
        return kvs_error_set(err, path.status, "out of memory");
    *out = path.data;
    return catalogue_own(catalogue, path.data, err);
}

kvs_status kvs_catalogue_read_file(const char *path, size_t max_bytes, char **out_data,
                                   size_t *out_n, struct kvs_error *err)
{
    struct kvs_text inside = {0};
    size_t n = strlen(path);
    kvs_status status = kvs_file_read(path, max_bytes, out_data, out_n, err);
    if (status == KVS_OK)
        return KVS_OK;
    kvs_text_printf(&inside, "%s%sexperiment.yaml", path,
                    n > 0 && path[n - 1] == '/' ? "" : "/");
    if (inside.status == KVS_OK && access(inside.data, R_OK) == 0)
        kvs_error_hint(err, "the experiment in it is %s", inside.data);
    kvs_text_fini(&inside);
    return status;
}

static kvs_status catalogue_read(struct kvs_catalogue *catalogue, const char *kind,
                                 const char *name, const char *path,
                                 struct kvs_catalogue_entry *out, struct kvs_error *err)
{
    char *data;
    size_t n;
    KVS_TRY(kvs_catalogue_read_file(path, KVS_YAML_MAX_BYTES, &data, &n, err));
    KVS_TRY(catalogue_own(catalogue, data, err));
    *out = (struct kvs_catalogue_entry){kind, name, path, data, n};
    return KVS_OK;
}

static bool catalogue_embedded(const char *kind, const char *name,
                               struct kvs_catalogue_entry *out)
{
    for (size_t i = 0; i < kvs_catalogue_n; i++) {
        const struct kvs_catalogue_entry *entry = &kvs_catalogue_entries[i];
        if (strcmp(entry->kind, kind) == 0 && strcmp(entry->name, name) == 0) {
            *out = *entry;
            return true;
        }
    }
    return false;
}

static bool catalogue_is_path(const char *name)
{
    size_t n = strlen(name);
    return strchr(name, '/') != NULL || strcmp(name, "-") == 0 ||
           (n > 5 && strcmp(name + n - 5, ".yaml") == 0);
}

static kvs_status catalogue_unknown(struct kvs_catalogue *catalogue, const char *kind,
                                    const char *name, struct kvs_error *err)
{
    struct kvs_catalogue_names names = {0};
    const char *word = catalogue_word(kind);
    KVS_TRY(kvs_catalogue_list(catalogue, kind, &names, err));
    const char *nearest = kvs_nearest(name, names.items, names.n);
    if (nearest != NULL)
        kvs_error_set(err, KVS_ENOTFOUND, "unknown %s \"%.60s\"; did you mean %s?", word, name,
                      nearest);
    else
        kvs_error_set(err, KVS_ENOTFOUND, "unknown %s \"%.60s\"", word, name);
    kvs_error_hint(err, "kvsim list %ss shows them; a file is given by its path, ./%.60s.yaml",
                   word, name);
    KVS_ARRAY_FREE(&names);
    return KVS_ENOTFOUND;
}

kvs_status kvs_catalogue_find(struct kvs_catalogue *catalogue, const char *kind,
                              const char *name, struct kvs_catalogue_entry *out,
                              struct kvs_error *err)
{
    if (catalogue_is_path(name))
        return catalogue_read(catalogue, kind, name, name, out, err);
    if (catalogue->dir != NULL) {
        const char *path = NULL;
        KVS_TRY(catalogue_path(catalogue, kind, name, &path, err));
        kvs_status status = catalogue_read(catalogue, kind, name, path, out, err);
        if (status != KVS_ENOTFOUND)
            return status;
    }
    if (catalogue_embedded(kind, name, out))
        return KVS_OK;
    return catalogue_unknown(catalogue, kind, name, err);
}

kvs_status kvs_catalogue_find_any(struct kvs_catalogue *catalogue, const char *name,
                                  struct kvs_catalogue_entry *out, struct kvs_error *err)
{
    static const char *const kinds[] = {"machine", "llm", "experiment", "gpu"};
    struct kvs_catalogue_names names = {0};
    kvs_status status = KVS_OK;
    if (catalogue_is_path(name))
        return catalogue_read(catalogue, "", name, name, out, err);
    for (size_t i = 0; i < KVS_COUNT_OF(kinds); i++) {
        status = kvs_catalogue_find(catalogue, kinds[i], name, out, NULL);
        if (status != KVS_ENOTFOUND)
            return status == KVS_OK ? KVS_OK
                                    : kvs_catalogue_find(catalogue, kinds[i], name, out, err);
    }
    status = KVS_OK;
    for (size_t i = 0; i < KVS_COUNT_OF(kinds) && status == KVS_OK; i++)
        status = kvs_catalogue_list(catalogue, kinds[i], &names, err);
    const char *nearest = kvs_nearest(name, names.items, names.n);
    if (status == KVS_OK) {
        status = kvs_error_at(err, KVS_ENOTFOUND, name, 0, 0,
                              "no such file, and nothing in the catalogue has this name");
        kvs_error_hint(err,
                       nearest != NULL ? "did you mean %s? kvsim list shows all names"
                                       : "kvsim list shows all names%s",
                       nearest != NULL ? nearest : "");
    }
    KVS_ARRAY_FREE(&names);
    return status;
}

const char *kvs_catalogue_gpu(void *context, const char *name, size_t *out_n,
                              const char **out_file, const char **out_nearest)
{
    struct kvs_catalogue_entry entry;
    struct kvs_catalogue_names names = {0};
    if (strchr(name, '/') == NULL &&
        kvs_catalogue_find(context, "gpu", name, &entry, NULL) == KVS_OK) {
        *out_n = entry.n;
        *out_file = entry.path;
        return entry.data;
    }
    if (kvs_catalogue_list(context, "gpu", &names, NULL) == KVS_OK)
        *out_nearest = kvs_nearest(name, names.items, names.n);
    KVS_ARRAY_FREE(&names);
    return NULL;
}

/* Inserts in order, once. */
static kvs_status names_insert(struct kvs_catalogue_names *names, const char *name,
                               struct kvs_error *err)
{
    size_t at = 0;
    while (at < names->n && strcmp(names->items[at], name) < 0)
        at++;
    if (at < names->n && strcmp(names->items[at], name) == 0)
        return KVS_OK;
    KVS_TRY(KVS_ARRAY_RESERVE(names, names->n + 1, err));
    memmove(names->items + at + 1, names->items + at, (names->n - at) * sizeof *names->items);
    names->items[at] = name;
    names->n++;
    return KVS_OK;
}

/* The name in the folder's entry: NAME.yaml, or for experiments any folder. */
static kvs_status names_add_file(struct kvs_catalogue *catalogue, const char *kind,
                                 const char *file, struct kvs_catalogue_names *names,
                                 struct kvs_error *err)
{
    char *copy;
    size_t n = strlen(file);
    if (file[0] == '.')
        return KVS_OK;
    if (!catalogue_is_experiment(kind)) {
        if (n <= 5 || strcmp(file + n - 5, ".yaml") != 0)
            return KVS_OK;
        n -= 5;
    }
    KVS_TRY(kvs_mem_strdup(file, &copy, err));
    copy[n] = '\0';
    KVS_TRY(catalogue_own(catalogue, copy, err));
    return names_insert(names, copy, err);
}

static kvs_status names_add_folder(struct kvs_catalogue *catalogue, const char *kind,
                                   struct kvs_catalogue_names *names, struct kvs_error *err)
{
    const char *path = NULL;
    kvs_status status = KVS_OK;
    KVS_TRY(catalogue_path(catalogue, kind, NULL, &path, err));
    DIR *dir = opendir(path);
    if (dir == NULL)
        return errno == ENOENT
                   ? KVS_OK
                   : kvs_error_at(err, KVS_EIO, path, 0, 0, "cannot open: %s", strerror(errno));
    for (struct dirent *entry = readdir(dir); entry != NULL && status == KVS_OK;
         entry = readdir(dir))
        status = names_add_file(catalogue, kind, entry->d_name, names, err);
    closedir(dir);
    return status;
}

kvs_status kvs_catalogue_list(struct kvs_catalogue *catalogue, const char *kind,
                              struct kvs_catalogue_names *names, struct kvs_error *err)
{
    if (catalogue->dir != NULL)
        KVS_TRY(names_add_folder(catalogue, kind, names, err));
    for (size_t i = 0; i < kvs_catalogue_n; i++)
        if (strcmp(kvs_catalogue_entries[i].kind, kind) == 0)
            KVS_TRY(names_insert(names, kvs_catalogue_entries[i].name, err));
    return KVS_OK;
}
