/* The same names in a build without CUDA. */
#include "real/exec_cuda.h"

static kvs_status none_open(const struct kvs_plan *plan, const struct kvs_case *c,
                            const struct kvs_exec_options *options, void **session,
                            struct kvs_error *err)
{
    (void)plan, (void)c, (void)options, (void)session;
    kvs_error_set(err, KVS_ENODEVICE, "cuda: %s", kvs_cuda_why_none());
    kvs_error_hint(err, "build where nvcc is on the PATH, or use --executor host");
    return KVS_ENODEVICE;
}

static kvs_status none_run(void *session, struct kvs_run *run, struct kvs_timeline *timeline,
                           struct kvs_error *err)
{
    (void)session, (void)run, (void)timeline;
    return kvs_error_set(err, KVS_ENODEVICE, "cuda: %s", kvs_cuda_why_none());
}

static void none_close(void *session)
{
    (void)session;
}

int kvs_cuda_n_gpus(void)
{
    return 0;
}

kvs_status kvs_cuda_link_Bps(int gpu, double *out_Bps, struct kvs_error *err)
{
    (void)gpu, (void)out_Bps;
    return kvs_error_set(err, KVS_ENODEVICE, "cuda: %s", kvs_cuda_why_none());
}

void kvs_cuda_name(int gpu, char *out_name, size_t size_bytes)
{
    (void)gpu, (void)size_bytes;
    out_name[0] = '\0';
}

const char *kvs_cuda_why_none(void)
{
    return "this program was built without CUDA";
}

const struct kvs_exec_ops kvs_exec_cuda = {
    .abi_version = KVS_EXEC_ABI,
    .name = "cuda",
    .summary = "GPUs (this program was built without CUDA)",
    .is_measured = true,
    .open = none_open,
    .run = none_run,
    .close = none_close,
};
