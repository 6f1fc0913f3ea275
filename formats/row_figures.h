/*
 * The figures of a machine as a list: name, value, origin. For results that say where the
 * numbers come from, and for `kvsim check`.
 */
#ifndef KVS_FORMATS_ROW_FIGURES_H
#define KVS_FORMATS_ROW_FIGURES_H

#include "base/array.h"
#include "base/text.h"
#include "models/machine.h"

struct kvs_figure {
    char name[112];                /* "gpu0.h2d", "host.sync", "gpu0.qwen3.8-27b.q8_0.fixed" */
    const struct kvs_param *param; /* borrowed from the machine */
    kvs_unit unit;
    const char *zero; /* what 0 stands for where it is no amount, or NULL */
    bool is_major;    /* usually decides a result: rates, compute, sampling */
};

/* Zero-initialise; release with KVS_ARRAY_FREE. */
struct kvs_figures {
    struct kvs_figure *items; /* owned, [n] */
    size_t n;
    size_t capacity;
};

/* Is the link some device's own? Then it is called as the device (docs/machine-format.md). */
bool kvs_link_is_of_device(const struct kvs_machine *machine, const struct kvs_link *link);

/* Appends the figures of one device: its link, card and profiles. */
kvs_status kvs_figures_add_device(struct kvs_figures *figures,
                                  const struct kvs_machine *machine, uint32_t device,
                                  struct kvs_error *err) KVS_MUST_USE;
/* Of a link that is no device's own (a switch), of the host, and of the collectives. */
kvs_status kvs_figures_add_link(struct kvs_figures *figures, const struct kvs_link *link,
                                struct kvs_error *err) KVS_MUST_USE;
kvs_status kvs_figures_add_host(struct kvs_figures *figures, const struct kvs_machine *machine,
                                struct kvs_error *err) KVS_MUST_USE;

#define KVS_FIGURE_DIGITS 4 /* shown of a figure: kvs_figure_format */
/* "B/s", "s", "B", "FLOP/s", "": the unit of param.value. */
const char *kvs_figure_unit(kvs_unit unit);

#endif
