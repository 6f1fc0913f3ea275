/*
 * The catalogue: model, card, machine and experiment files. They are embedded in the binary; a
 * folder given with --catalogue, laid out as the source tree (models/llm, models/gpu,
 * models/machine, experiments/NAME/experiment.yaml), comes first.
 */
#ifndef KVS_CLI_CATALOGUE_H
#define KVS_CLI_CATALOGUE_H

#include <stddef.h>

#include "base/array.h"
#include "base/status.h"

/* The checkout that ./kvsim runs in, or NULL: the last place to look for files that are not
 * embedded (measured tables, plot.gp). From the environment, KVSIM_ROOT. */
const char *kvs_checkout_root(void);

struct kvs_catalogue_entry {
    const char *kind; /* llm, gpu, machine, experiment */
    const char *name; /* file name without .yaml; an experiment's folder name */
    const char *path; /* in the source tree, for messages */
    const char *data; /* zero-terminated */
    size_t n;         /* bytes without the terminator */
};

extern const struct kvs_catalogue_entry
    kvs_catalogue_entries[]; /* [kvs_catalogue_n], by kind and name */
extern const size_t kvs_catalogue_n;

/* Zero-initialise but for dir; release with kvs_catalogue_fini. */
struct kvs_catalogue {
    const char *dir;         /* borrowed; NULL: embedded files alone */
    KVS_ARRAY(char *) owned; /* what was read or copied, until fini */
};

void kvs_catalogue_fini(struct kvs_catalogue *catalogue);

/*
 * Finds what a user named: a path (with a '/', ending in .yaml, or "-" for stdin) is read,
 * another word is looked up. *out is borrowed until fini. Errors: KVS_ENOTFOUND with the
 * nearest name, and those of reading a file.
 */
kvs_status kvs_catalogue_find(struct kvs_catalogue *catalogue, const char *kind,
                              const char *name, struct kvs_catalogue_entry *out,
                              struct kvs_error *err) KVS_MUST_USE;

/* kvs_file_read with a hint when path is a folder that holds an experiment. */
kvs_status kvs_catalogue_read_file(const char *path, size_t max_bytes, char **out_data,
                                   size_t *out_n, struct kvs_error *err) KVS_MUST_USE;

/*
 * The entry of this name of any kind: machine, model, experiment, then card. Errors:
 * KVS_ENOTFOUND with the nearest of all names.
 */
kvs_status kvs_catalogue_find_any(struct kvs_catalogue *catalogue, const char *name,
                                  struct kvs_catalogue_entry *out,
                                  struct kvs_error *err) KVS_MUST_USE;

/* A kvs_gpu_lookup; context is the catalogue. */
const char *kvs_catalogue_gpu(void *context, const char *name, size_t *out_n,
                              const char **out_file, const char **out_nearest);

/* Zero-initialise; release items with KVS_ARRAY_FREE. */
struct kvs_catalogue_names {
    const char **items; /* [n]; strings borrowed until the catalogue's fini */
    size_t n;
    size_t capacity;
};
/* Appends every name of a kind, sorted, each once. */
kvs_status kvs_catalogue_list(struct kvs_catalogue *catalogue, const char *kind,
                              struct kvs_catalogue_names *names,
                              struct kvs_error *err) KVS_MUST_USE;

#endif
