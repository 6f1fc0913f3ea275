/*
 * A machine as the YAML that kvs_machine_parse reads (docs/machine-format.md): every figure with
 * its interval, origin, build and source. What a reader fills in by itself is left out, so a
 * written file reads like one made by hand, and reading it gives the same machine.
 */
#ifndef KVS_FORMATS_MACHINE_WRITE_H
#define KVS_FORMATS_MACHINE_WRITE_H

#include "base/text.h"
#include "models/machine.h"

/*
 * Appends the file to out. A device of the catalogue keeps its card's name, and has every figure
 * of the card as its own. Errors: KVS_ENOMEM, which then also stands in out->status.
 */
kvs_status kvs_machine_write(const struct kvs_machine *machine,
                             struct kvs_text *out) KVS_MUST_USE;

/* One figure as its key holds it: `24.8GB/s`, or the map with value, interval and the rest. */
void kvs_machine_write_figure(const struct kvs_param *param, kvs_unit unit,
                              struct kvs_text *out);

#endif
