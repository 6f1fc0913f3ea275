/* The same names in a build without CUDA. */
#include "real/exec_cuda.h"
#include "real/probe.h"

kvs_status kvs_probe_open(const struct kvs_probe_options *options, struct kvs_probe **out,
                          struct kvs_error *err)
{
    (void)options;
    *out = NULL;
    kvs_error_set(err, KVS_ENODEVICE, "nothing to measure: %s", kvs_cuda_why_none());
    kvs_error_hint(err, "build where nvcc is on the PATH");
    return KVS_ENODEVICE;
}

const struct kvs_probe_facts *kvs_probe_facts(const struct kvs_probe *probe)
{
    (void)probe;
    return NULL;
}

kvs_status kvs_probe_measure(struct kvs_probe *probe, struct kvs_machine *machine,
                             struct kvs_probe_report *report, struct kvs_error *err)
{
    (void)probe, (void)machine, (void)report;
    return kvs_error_set(err, KVS_ENODEVICE, "nothing to measure: %s", kvs_cuda_why_none());
}

void kvs_probe_close(struct kvs_probe *probe)
{
    (void)probe;
}
