/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_nvml.c - the GPUs of this machine, seen through NVML.
 *
 * The library is loaded at run time and only when GPUs are asked for: no driver, no NVML, no
 * GPUs, and no error. The few functions used are declared here, as NVIDIA's header is not free to
 * copy and the interface has been stable for a decade.
 */
#include "core/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

typedef struct nvml_device *nvml_device_t;

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_utilization {
    unsigned int gpu, memory;
};

struct nvml_pci {
    char bus_id_legacy[16];            /* "0000:3B:00.0" */
    unsigned int domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

enum { NVML_GPU_IS_LOST = 15, NVML_UNCORRECTED = 1, NVML_SINCE_BOOT = 0 };

struct nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned int *count);
    int (*handle)(unsigned int index, nvml_device_t *device);
    int (*uuid)(nvml_device_t device, char *text, unsigned int size);
    int (*name)(nvml_device_t device, char *text, unsigned int size);
    int (*memory)(nvml_device_t device, struct nvml_memory *memory);
    int (*utilization)(nvml_device_t device, struct nvml_utilization *utilization);
    /* These two may be NULL. */
    int (*pci)(nvml_device_t device, struct nvml_pci *pci);
    int (*ecc)(nvml_device_t device, int kind, int since, unsigned long long *count);
};

static bool load(struct nvml *nvml)
{
    const struct {
        const char *name;
        void *slot;
        bool optional;
    } symbols[] = {
        { "nvmlInit_v2", &nvml->init },
        { "nvmlShutdown", &nvml->shutdown },
        { "nvmlDeviceGetCount_v2", &nvml->count },
        { "nvmlDeviceGetHandleByIndex_v2", &nvml->handle },
        { "nvmlDeviceGetUUID", &nvml->uuid },
        { "nvmlDeviceGetName", &nvml->name },
        { "nvmlDeviceGetMemoryInfo", &nvml->memory },
        { "nvmlDeviceGetUtilizationRates", &nvml->utilization },
        { "nvmlDeviceGetPciInfo_v3", &nvml->pci, true },
        { "nvmlDeviceGetTotalEccErrors", &nvml->ecc, true },
    };

    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library)
        return false;
    for (size_t i = 0; i < SW_COUNT(symbols); i++) {
        void *symbol = dlsym(nvml->library, symbols[i].name);

        if (!symbol && !symbols[i].optional) {
            dlclose(nvml->library);
            return false;
        }
        memcpy(symbols[i].slot, &symbol, sizeof symbol);
    }
    return true;
}

static bool describe(const struct nvml *nvml, int index, struct sw_gpu *out)
{
    nvml_device_t device;
    struct nvml_memory memory = { 0 };
    struct nvml_utilization utilization = { 0 };

    *out = (struct sw_gpu){ .index = index, .busy_percent = -1 };
    if (nvml->handle((unsigned int)index, &device) != 0 ||
        nvml->uuid(device, out->uuid, sizeof out->uuid) != 0)
        return false;
    /* What follows is nice to know; a device without it can still be used. */
    if (nvml->name(device, out->name, sizeof out->name) != 0)
        snprintf(out->name, sizeof out->name, "GPU");
    if (nvml->memory(device, &memory) == 0) {
        out->memory_bytes = (int64_t)memory.total;
        out->memory_used_bytes = (int64_t)memory.used;
    }
    if (nvml->utilization(device, &utilization) == 0)
        out->busy_percent = (int)utilization.gpu;
    return strchr(out->uuid, '/') == NULL;
}

int sw_gpu_list(struct sw_gpu *out, int room)
{
    struct nvml nvml = { 0 };
    unsigned int count = 0;
    int found = 0;

    if (!load(&nvml))
        return 0;
    if (nvml.init() == 0) {
        if (nvml.count(&count) != 0)
            count = 0;
        for (unsigned int i = 0; i < count && found < room; i++)
            if (describe(&nvml, (int)i, &out[found]))
                found++;
        nvml.shutdown();
    }
    dlclose(nvml.library);
    return found;
}

/* ---- the meter ------------------------------------------------------------------------------ */

struct sw_gpu_meter {
    struct nvml nvml;
    int count;
    nvml_device_t devices[SW_GPU_MAX];        /* NULL: could not be opened */
    unsigned long long ecc_before[SW_GPU_MAX];
    bool lost;
};

static unsigned long long ecc_errors(const struct sw_gpu_meter *meter, int i)
{
    unsigned long long count = 0;

    if (!meter->nvml.ecc || !meter->devices[i] ||
        meter->nvml.ecc(meter->devices[i], NVML_UNCORRECTED, NVML_SINCE_BOOT, &count) != 0)
        return 0;                          /* many devices have no ECC */
    return count;
}

struct sw_gpu_meter *sw_gpu_meter_open(const struct sw_gpu *gpus, int count)
{
    struct sw_gpu_meter *meter = sw_new(struct sw_gpu_meter);

    if (!load(&meter->nvml)) {
        free(meter);
        return NULL;
    }
    if (meter->nvml.init() != 0) {
        dlclose(meter->nvml.library);
        free(meter);
        return NULL;
    }
    meter->count = count < SW_GPU_MAX ? count : SW_GPU_MAX;
    for (int i = 0; i < meter->count; i++) {
        if (meter->nvml.handle((unsigned int)gpus[i].index, &meter->devices[i]) != 0)
            meter->devices[i] = NULL;
        meter->ecc_before[i] = ecc_errors(meter, i);
    }
    return meter;
}

void sw_gpu_meter_close(struct sw_gpu_meter *meter)
{
    if (!meter)
        return;
    meter->nvml.shutdown();
    dlclose(meter->nvml.library);
    free(meter);
}

void sw_gpu_meter_read(struct sw_gpu_meter *meter, struct sw_gpu *gpus)
{
    for (int i = 0; i < meter->count; i++) {
        struct nvml_memory memory = { 0 };
        struct nvml_utilization utilization = { 0 };
        int told;

        if (!meter->devices[i])
            continue;
        told = meter->nvml.memory(meter->devices[i], &memory);
        if (told == 0)
            gpus[i].memory_used_bytes = (int64_t)memory.used;
        meter->lost = meter->lost || told == NVML_GPU_IS_LOST;
        gpus[i].busy_percent = -1;
        if (meter->nvml.utilization(meter->devices[i], &utilization) == 0)
            gpus[i].busy_percent = (int)utilization.gpu;
    }
}

void sw_gpu_meter_facts(struct sw_gpu_meter *meter, json_t *facts)
{
    unsigned long long new_errors = 0;

    for (int i = 0; i < meter->count; i++) {
        unsigned long long now = ecc_errors(meter, i);

        new_errors += now > meter->ecc_before[i] ? now - meter->ecc_before[i] : 0;
    }
    if (new_errors > 0)
        json_object_set_new(facts, "ecc_uncorrected", json_integer((json_int_t)new_errors));
    if (meter->lost)
        json_object_set_new(facts, "gpu_lost", json_true());
}

bool sw_gpu_meter_pci(struct sw_gpu_meter *meter, int which, char out[32])
{
    struct nvml_pci pci = { 0 };

    if (!meter->nvml.pci || which >= meter->count || !meter->devices[which] ||
        meter->nvml.pci(meter->devices[which], &pci) != 0)
        return false;
    snprintf(out, 32, "%04x:%02x:%02x", pci.domain, pci.bus, pci.device);
    return true;
}
