/*
 * What the files of the machine reader share; private to models/machine*.c.
 *
 * Every figure stands in a table: key, unit, limits, default and the default's source. One
 * table thus gives the defaults of a struct and the reading of a map into it.
 *
 * Functions return a status only for lack of memory; faults of the file go to the document's
 * diags.
 */
#ifndef KVS_MODELS_MACHINE_YAML_H
#define KVS_MODELS_MACHINE_YAML_H

#include "base/array.h"
#include "models/machine.h"

/* A kvs_param of a struct. Limits as in param.h. */
struct kvs_machine_field {
    const char *key;
    size_t offset; /* of the kvs_param in its struct */
    kvs_unit unit;
    double min;
    double max;
    double value; /* default */
    double lo;
    double hi;
    const char *source;
};

/* Upper limits that only catch slips: a day, 1 PB/s, 1 PB. */
#define KVS_MACHINE_MAX_S     86400.0
#define KVS_MACHINE_MAX_BPS   1e15
#define KVS_MACHINE_MAX_BYTES 1e15
#define KVS_MACHINE_MAX_FLOPS 1e18

void kvs_machine_fields_default(const struct kvs_machine_field *fields, size_t n, void *base);
void kvs_machine_fields_read(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                             const struct kvs_machine_field *fields, size_t n, void *base);

/* A link as read: its parent is still a name. */
struct kvs_link_draft {
    struct kvs_link link;
    const struct kvs_yaml_node *node;        /* borrowed; NULL for the implicit root */
    const struct kvs_yaml_node *parent_node; /* NULL: none given */
    bool is_of_device;                       /* written inside a device */
};

struct kvs_machine_reader {
    struct kvs_yaml *doc;
    struct kvs_diags *diags;
    kvs_gpu_lookup lookup;
    void *context;
    struct kvs_machine *machine; /* owned until the parse succeeds */
    KVS_ARRAY(struct kvs_link_draft)
    drafts;                 /* device.link is an index into these until the end */
    struct kvs_device card; /* the card read last: fleets repeat it */
    char card_name[32];
};

/* A name of letters, digits and ._-+: into buf[cap]. */
bool kvs_machine_get_name(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                          kvs_presence presence, char *buf, size_t cap);
/* kvs_yaml_parse whose syntax error also stands in diags. */
kvs_status kvs_machine_yaml_parse(const char *name, const char *bytes, size_t n,
                                  struct kvs_diags *diags, struct kvs_yaml **out,
                                  struct kvs_error *err) KVS_MUST_USE;
/* `kind: expected`; complains otherwise. */
bool kvs_machine_check_kind(struct kvs_yaml *doc, const char *expected);

/* machine_link.c: the list, and the link that a device names or carries. */
kvs_status kvs_machine_links_read(struct kvs_machine_reader *reader,
                                  const struct kvs_yaml_node *root,
                                  struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_machine_link_of_device(struct kvs_machine_reader *reader,
                                      const struct kvs_yaml_node *map,
                                      struct kvs_device *device,
                                      struct kvs_error *err) KVS_MUST_USE;
/* No rate of its own ever counts; the same whether the file says so or nothing at all. */
void kvs_machine_link_set_unlimited(struct kvs_link *link);
/* Position of the draft of this name, or -1. */
int64_t kvs_machine_link_find(const struct kvs_machine_reader *reader, const char *name);
/* Complains that no link has the name in node, and names the nearest that is there. */
kvs_status kvs_machine_link_complain(struct kvs_machine_reader *reader,
                                     const struct kvs_yaml_node *node, const char *what,
                                     struct kvs_error *err) KVS_MUST_USE;

/* machine_tree.c: parents and order; device.link becomes an index into machine->links. */
kvs_status kvs_machine_links_finish(struct kvs_machine_reader *reader,
                                    struct kvs_error *err) KVS_MUST_USE;

/* machine_device.c, machine_card.c, machine_profile.c */
kvs_status kvs_machine_devices_read(struct kvs_machine_reader *reader,
                                    const struct kvs_yaml_node *root,
                                    struct kvs_error *err) KVS_MUST_USE;
void kvs_machine_card_default(struct kvs_device *device);
/* Reads the keys a card may have from a card file, an inline card or a device. */
void kvs_machine_card_read(struct kvs_yaml *doc, const struct kvs_yaml_node *map,
                           struct kvs_device *device);
kvs_status kvs_machine_profiles_read(struct kvs_machine_reader *reader,
                                     const struct kvs_yaml_node *map, struct kvs_device *device,
                                     struct kvs_error *err) KVS_MUST_USE;
/* Fills what a profile derives from its device's link; links are final. */
void kvs_machine_profiles_finish(struct kvs_machine *machine);

/* machine_host.c */
void kvs_machine_host_read(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                           struct kvs_host *host);
void kvs_machine_collective_read(struct kvs_yaml *doc, const struct kvs_yaml_node *root,
                                 struct kvs_collective *collective);

#endif
