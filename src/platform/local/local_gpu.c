/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_gpu.c - the GPUs of this machine, seen through NVML.
 *
 * The library is loaded at run time and only when somebody asks for GPUs: no driver, no NVML, no
 * GPUs, and no error. The few functions used are declared here, as NVIDIA's header is not free to
 * copy and the interface has been stable for a decade.
 */
#include "platform/local/local_gpu.h"

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
};

static bool load(struct nvml *nvml)
{
    const struct {
        const char *name;
        void *slot;
    } needed[] = {
        { "nvmlInit_v2", &nvml->init },
        { "nvmlShutdown", &nvml->shutdown },
        { "nvmlDeviceGetCount_v2", &nvml->count },
        { "nvmlDeviceGetHandleByIndex_v2", &nvml->handle },
        { "nvmlDeviceGetUUID", &nvml->uuid },
        { "nvmlDeviceGetName", &nvml->name },
        { "nvmlDeviceGetMemoryInfo", &nvml->memory },
        { "nvmlDeviceGetUtilizationRates", &nvml->utilization },
    };

    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library)
        return false;
    for (size_t i = 0; i < SW_COUNT(needed); i++) {
        void *symbol = dlsym(nvml->library, needed[i].name);

        if (!symbol) {
            dlclose(nvml->library);
            return false;
        }
        memcpy(needed[i].slot, &symbol, sizeof symbol);
    }
    return true;
}

static bool describe(const struct nvml *nvml, int index, struct gpu *out)
{
    nvml_device_t device;
    struct nvml_memory memory = { 0 };
    struct nvml_utilization utilization = { 0 };

    *out = (struct gpu){ .index = index, .busy_percent = -1 };
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

int gpu_list(struct gpu *out, int room)
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

static bool is_among(const struct gpu *gpu, const json_t *ids)
{
    size_t i;
    json_t *id;
    char number[16];

    snprintf(number, sizeof number, "%d", gpu->index);
    json_array_foreach(ids, i, id) {
        if (json_is_integer(id) && json_integer_value(id) == gpu->index)
            return true;
        if (json_is_string(id) && (sw_text_same(json_string_value(id), number) ||
                                   sw_text_same_nocase(json_string_value(id), gpu->uuid)))
            return true;
    }
    return false;
}

bool gpu_fits(const struct gpu *gpu, const char *type, const json_t *ids)
{
    if (!sw_text_empty(type) && !strcasestr(gpu->name, type))
        return false;
    return json_array_size(ids) == 0 || is_among(gpu, ids);
}
