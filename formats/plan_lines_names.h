/* Names to numbers, for readers of plan lines: names are added in order, then sealed, then
 * found. */
#ifndef KVS_FORMATS_PLAN_LINES_NAMES_H
#define KVS_FORMATS_PLAN_LINES_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

struct kvs_plan_name {
    char text[24];
    uint32_t id;
    unsigned line; /* where it was declared; 0 for the host's queue */
};

struct kvs_plan_names {
    KVS_ARRAY(struct kvs_plan_name) items; /* sorted by text once sealed */
};

/* Sorts. The first name that occurs twice goes to *first and *second in the order declared;
 * returns false. */
bool kvs_plan_names_seal(struct kvs_plan_names *names, const struct kvs_plan_name **first,
                         const struct kvs_plan_name **second);
bool kvs_plan_names_find(const struct kvs_plan_names *names, const char *text,
                         uint32_t *out_id);
/* The nearest name, or NULL; allocates for the while, and says nothing when it cannot. */
const char *kvs_plan_names_nearest(const struct kvs_plan_names *names, const char *text);

#endif
