/* NVML by name: the few calls needed, with the types of its stable interface. */
#include "real/nvml.h"

#include <dlfcn.h>
#include <string.h>

#include "base/mem.h"

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 }; /* nvmlClockType_t */

typedef void *nvml_device;
typedef int (*nvml_call)(void);
typedef int (*nvml_driver_call)(char *text, unsigned n);
typedef int (*nvml_find_call)(const char *pci, nvml_device *out);
typedef int (*nvml_number_call)(nvml_device device, unsigned *out);
typedef int (*nvml_clock_call)(nvml_device device, int type, unsigned *out);

struct kvs_nvml {
    void *library;
    nvml_call init, shutdown;
    nvml_driver_call driver;
    nvml_find_call find;
    nvml_number_call gen, lanes, max_gen, max_lanes, power_mW;
    nvml_clock_call clock_MHz;
};

/* The address of a call, into a pointer of its type. */
static kvs_status nvml_load(const struct kvs_nvml *nvml, const char *name, void *out,
                            struct kvs_error *err)
{
    void *address = dlsym(nvml->library, name);
    if (address == NULL)
        return kvs_error_set(err, KVS_ENOTFOUND, "nvml: no %s in libnvidia-ml.so.1", name);
    memcpy(out, &address, sizeof address);
    return KVS_OK;
}

static kvs_status nvml_load_all(struct kvs_nvml *nvml, struct kvs_error *err)
{
    const struct {
        const char *name;
        void *call;
    } calls[] = {
        {"nvmlInit_v2", &nvml->init},
        {"nvmlShutdown", &nvml->shutdown},
        {"nvmlSystemGetDriverVersion", &nvml->driver},
        {"nvmlDeviceGetHandleByPciBusId_v2", &nvml->find},
        {"nvmlDeviceGetCurrPcieLinkGeneration", &nvml->gen},
        {"nvmlDeviceGetCurrPcieLinkWidth", &nvml->lanes},
        {"nvmlDeviceGetMaxPcieLinkGeneration", &nvml->max_gen},
        {"nvmlDeviceGetMaxPcieLinkWidth", &nvml->max_lanes},
        {"nvmlDeviceGetPowerManagementLimit", &nvml->power_mW},
        {"nvmlDeviceGetClockInfo", &nvml->clock_MHz},
    };
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (nvml->library == NULL)
        return kvs_error_set(err, KVS_ENOTFOUND, "nvml: %.200s", dlerror());
    for (size_t i = 0; i < KVS_COUNT_OF(calls); i++)
        KVS_TRY(nvml_load(nvml, calls[i].name, calls[i].call, err));
    return KVS_OK;
}

kvs_status kvs_nvml_open(struct kvs_nvml **out, struct kvs_error *err)
{
    void *memory;
    *out = NULL;
    KVS_TRY(kvs_mem_alloc(1, sizeof **out, &memory, err));
    struct kvs_nvml *nvml = memory;
    kvs_status status = nvml_load_all(nvml, err);
    int result = status == KVS_OK ? nvml->init() : 0;
    if (result != 0)
        status = kvs_error_set(err, KVS_EDEVICE, "nvml: nvmlInit_v2: error %d", result);
    if (status == KVS_OK) {
        *out = nvml;
        return KVS_OK;
    }
    if (nvml->library != NULL)
        (void)dlclose(nvml->library);
    kvs_mem_free(nvml);
    return status;
}

void kvs_nvml_close(struct kvs_nvml *nvml)
{
    if (nvml == NULL)
        return;
    (void)nvml->shutdown();
    (void)dlclose(nvml->library);
    kvs_mem_free(nvml);
}

void kvs_nvml_driver(const struct kvs_nvml *nvml, char *buf, size_t cap)
{
    if (nvml->driver(buf, (unsigned)cap) != 0)
        buf[0] = '\0';
    buf[cap - 1] = '\0';
}

static unsigned nvml_number(nvml_number_call call, nvml_device device)
{
    unsigned value = 0;
    return call(device, &value) == 0 ? value : 0;
}

static unsigned nvml_clock(const struct kvs_nvml *nvml, nvml_device device, int type)
{
    unsigned value = 0;
    return nvml->clock_MHz(device, type, &value) == 0 ? value : 0;
}

kvs_status kvs_nvml_look(const struct kvs_nvml *nvml, const char *pci, struct kvs_nvml_gpu *out,
                         struct kvs_error *err)
{
    nvml_device device = NULL;
    int result = nvml->find(pci, &device);
    if (result != 0)
        return kvs_error_set(err, KVS_ENOTFOUND, "nvml: GPU %.30s: error %d", pci, result);
    *out = (struct kvs_nvml_gpu){.gen = nvml_number(nvml->gen, device),
                                 .lanes = nvml_number(nvml->lanes, device),
                                 .max_gen = nvml_number(nvml->max_gen, device),
                                 .max_lanes = nvml_number(nvml->max_lanes, device),
                                 .sm_clock_MHz = nvml_clock(nvml, device, NVML_CLOCK_SM),
                                 .memory_clock_MHz = nvml_clock(nvml, device, NVML_CLOCK_MEM),
                                 .power_limit_W = nvml_number(nvml->power_mW, device) / 1000};
    return KVS_OK;
}
