/* The catalogue: model, card, machine and experiment files embedded in the binary. */
#ifndef KVS_CLI_CATALOGUE_H
#define KVS_CLI_CATALOGUE_H

#include <stddef.h>

struct kvs_catalogue_entry {
    const char *kind; /* llm, gpu, machine, experiment */
    const char *name; /* file name without .yaml; an experiment's folder name */
    const char *path; /* in the source tree, for messages */
    const char *data; /* zero-terminated */
    size_t n;         /* bytes without the terminator */
};

extern const struct kvs_catalogue_entry kvs_catalogue_entries[]; /* [kvs_catalogue_n], by kind and name */
extern const size_t kvs_catalogue_n;

#endif
