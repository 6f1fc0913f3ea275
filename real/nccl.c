/* NCCL by name: the few calls needed, with the types of its stable interface. */
#include "real/nccl.h"

#include <dlfcn.h>
#include <string.h>

#include "base/mem.h"

enum { NCCL_FLOAT = 7, NCCL_SUM = 0 }; /* ncclDataType_t, ncclRedOp_t */

typedef void *nccl_comm;
typedef int (*nccl_version_call)(int *out);
typedef const char *(*nccl_text_call)(int result);
typedef int (*nccl_init_call)(nccl_comm *comms, int n, const int *gpus);
typedef int (*nccl_reduce_call)(const void *from, void *to, size_t n, int type, int operation,
                                nccl_comm comm, cudaStream_t stream);
typedef int (*nccl_comm_call)(nccl_comm comm);
typedef int (*nccl_call)(void);

struct kvs_nccl {
    void *library;
    nccl_version_call get_version;
    nccl_text_call text;
    nccl_init_call init;
    nccl_reduce_call all_reduce;
    nccl_comm_call destroy;
    nccl_call group_start, group_end;
    nccl_comm *comms; /* owned, [n]; NULL until made */
    uint32_t n;
    int version;
};

static kvs_status nccl_load(const struct kvs_nccl *nccl, const char *name, void *out,
                            struct kvs_error *err)
{
    void *address = dlsym(nccl->library, name);
    if (address == NULL)
        return kvs_error_set(err, KVS_ENOTFOUND, "nccl: no %s in libnccl.so.2", name);
    memcpy(out, &address, sizeof address);
    return KVS_OK;
}

static kvs_status nccl_load_all(struct kvs_nccl *nccl, struct kvs_error *err)
{
    const struct {
        const char *name;
        void *call;
    } calls[] = {
        {"ncclGetVersion", &nccl->get_version}, {"ncclGetErrorString", &nccl->text},
        {"ncclCommInitAll", &nccl->init},       {"ncclAllReduce", &nccl->all_reduce},
        {"ncclCommDestroy", &nccl->destroy},    {"ncclGroupStart", &nccl->group_start},
        {"ncclGroupEnd", &nccl->group_end},
    };
    nccl->library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (nccl->library == NULL)
        return kvs_error_set(err, KVS_ENOTFOUND, "nccl: %.200s", dlerror());
    for (size_t i = 0; i < KVS_COUNT_OF(calls); i++)
        KVS_TRY(nccl_load(nccl, calls[i].name, calls[i].call, err));
    return KVS_OK;
}

static kvs_status nccl_status(const struct kvs_nccl *nccl, int result, const char *call,
                              struct kvs_error *err)
{
    if (result == 0)
        return KVS_OK;
    return kvs_error_set(err, KVS_EDEVICE, "nccl: %s (%u GPUs): %s", call, (unsigned)nccl->n,
                         nccl->text(result));
}

static kvs_status nccl_make(struct kvs_nccl *nccl, const int *gpus, uint32_t n,
                            struct kvs_error *err)
{
    void *comms;
    KVS_TRY(nccl_load_all(nccl, err));
    (void)nccl->get_version(&nccl->version);
    KVS_TRY(kvs_mem_alloc(n, sizeof *nccl->comms, &comms, err));
    nccl->n = n;
    kvs_status status =
        nccl_status(nccl, nccl->init(comms, (int)n, gpus), "ncclCommInitAll", err);
    if (status == KVS_OK)
        nccl->comms = comms;
    else
        kvs_mem_free(comms);
    return status;
}

kvs_status kvs_nccl_open(const int *gpus, uint32_t n, struct kvs_nccl **out,
                         struct kvs_error *err)
{
    void *memory;
    *out = NULL;
    KVS_TRY(kvs_mem_alloc(1, sizeof **out, &memory, err));
    struct kvs_nccl *nccl = memory;
    kvs_status status = nccl_make(nccl, gpus, n, err);
    if (status == KVS_OK)
        *out = nccl;
    else
        kvs_nccl_close(nccl);
    return status;
}

void kvs_nccl_close(struct kvs_nccl *nccl)
{
    if (nccl == NULL)
        return;
    for (uint32_t i = 0; nccl->comms != NULL && i < nccl->n; i++)
        (void)nccl->destroy(nccl->comms[i]);
    /* The library stays loaded: it may still have threads of its own. */
    kvs_mem_free(nccl->comms);
    kvs_mem_free(nccl);
}

int kvs_nccl_version(const struct kvs_nccl *nccl)
{
    return nccl->version;
}

kvs_status kvs_nccl_all_reduce(const struct kvs_nccl *nccl, void *const *buffers,
                               size_t n_floats, const cudaStream_t *streams,
                               struct kvs_error *err)
{
    KVS_TRY(nccl_status(nccl, nccl->group_start(), "ncclGroupStart", err));
    for (uint32_t i = 0; i < nccl->n; i++)
        KVS_TRY(nccl_status(nccl,
                            nccl->all_reduce(buffers[i], buffers[i], n_floats, NCCL_FLOAT,
                                             NCCL_SUM, nccl->comms[i], streams[i]),
                            "ncclAllReduce", err));
    return nccl_status(nccl, nccl->group_end(), "ncclGroupEnd", err);
}
