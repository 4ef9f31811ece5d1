/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml.c - a stand-in for libnvidia-ml.so.1: as many GPUs as SIM_GPUS says, alternately
 * "NVIDIA H100 80GB HBM3" and "NVIDIA A100-SXM4-80GB" when SIM_GPU_MIX is set. Their load is the
 * number in the file that SIM_GPU_LOAD_FILE names.
 *
 * Refuses what the real library refuses: calls before init, bad handles, short buffers.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, INSUFFICIENT_SIZE = 7 };

#define EXPORT __attribute__((visibility("default")))

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT int nvmlDeviceGetCount_v2(unsigned int *count);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device);
EXPORT int nvmlDeviceGetUUID(void *device, char *text, unsigned int size);
EXPORT int nvmlDeviceGetName(void *device, char *text, unsigned int size);
EXPORT int nvmlDeviceGetMemoryInfo(void *device, unsigned long long memory[3]);
EXPORT int nvmlDeviceGetUtilizationRates(void *device, unsigned int rates[2]);

static int open_count;

static unsigned int gpus(void)
{
    const char *said = getenv("SIM_GPUS");

    return said ? (unsigned int)atoi(said) : 0;
}

static int check(void *device)
{
    uintptr_t number = (uintptr_t)device;

    return open_count == 0 ? UNINITIALIZED
           : number < 1 || number > gpus() ? INVALID_ARGUMENT : OK;
}

static int give(char *text, unsigned int size, const char *value)
{
    if (strlen(value) + 1 > size)
        return INSUFFICIENT_SIZE;
    strcpy(text, value);
    return OK;
}

int nvmlInit_v2(void)
{
    open_count++;
    return OK;
}

int nvmlShutdown(void)
{
    return open_count-- > 0 ? OK : UNINITIALIZED;
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
    *count = gpus();
    return open_count ? OK : UNINITIALIZED;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device)
{
    if (index >= gpus())
        return INVALID_ARGUMENT;
    *device = (void *)(uintptr_t)(index + 1);
    return check(*device);
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned int size)
{
    char value[64];
    int bad = check(device);

    snprintf(value, sizeof value, "GPU-00000000-0000-0000-0000-%012u",
             (unsigned int)(uintptr_t)device - 1);
    return bad ? bad : give(text, size, value);
}

int nvmlDeviceGetName(void *device, char *text, unsigned int size)
{
    int bad = check(device);
    bool second = getenv("SIM_GPU_MIX") && (uintptr_t)device % 2 == 0;

    return bad ? bad : give(text, size, second ? "NVIDIA A100-SXM4-80GB" : "NVIDIA H100 80GB HBM3");
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long memory[3])
{
    memory[0] = 85899345920ULL;
    memory[2] = (unsigned long long)(uintptr_t)device << 20;
    memory[1] = memory[0] - memory[2];
    return check(device);
}

int nvmlDeviceGetUtilizationRates(void *device, unsigned int rates[2])
{
    const char *path = getenv("SIM_GPU_LOAD_FILE");
    FILE *file = path ? fopen(path, "re") : NULL;

    rates[0] = rates[1] = 0;
    if (file) {
        if (fscanf(file, "%u", &rates[0]) != 1)
            rates[0] = 0;
        fclose(file);
    }
    return check(device);
}
