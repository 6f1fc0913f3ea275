/* The machine that `kvsim probe` fills in, and the file that it writes of it. */
#ifndef KVS_CLI_PROBE_MACHINE_H
#define KVS_CLI_PROBE_MACHINE_H

#include "cli/catalogue.h"
#include "real/probe.h"

/*
 * A machine with a device for each GPU: the catalogue's card where there is one of this name and
 * memory, else its memory and an estimate of its rates. Every other figure is the format's
 * default. Returns to caller: kvs_machine_destroy.
 */
kvs_status kvs_probe_skeleton(const struct kvs_probe_facts *facts, const char *name,
                              struct kvs_catalogue *catalogue, struct kvs_machine **out,
                              struct kvs_error *err) KVS_MUST_USE;

/* Says in description and build what the machine is, in a line. */
void kvs_probe_describe(const struct kvs_probe_facts *facts, struct kvs_machine *machine);

/* The file: facts and notes as comments, then the machine. */
kvs_status kvs_probe_file(const struct kvs_probe_facts *facts,
                          const struct kvs_probe_report *report,
                          const struct kvs_machine *machine, struct kvs_text *out) KVS_MUST_USE;

#endif
