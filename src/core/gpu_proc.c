/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_proc.c - gpu_nvml.c for programs that cannot load NVML: the released, static ones.
 *
 * nvidia-smi tells everything and is where the driver is; it takes a moment, so a meter asks it
 * rarely. Without it the driver's own files name the devices: enough to lease them. Both number
 * devices by their place on the bus, as NVML does, and use the same UUIDs: a static and a dynamic
 * program on one machine respect each other's leases.
 */
#include "core/gpu_seen.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

enum { INFORMATION_MAX = 16 * 1024, ASK_EVERY_MS = 10000 };

/* "Model: \t\t NVIDIA H200" -> "NVIDIA H200", copied; false: no such line. */
static bool field(const char *text, const char *name, char *out, size_t size)
{
    const char *at = strstr(text, name);
    size_t length;

    if (!at)
        return false;
    at += strlen(name);
    at += strspn(at, " \t");
    length = strcspn(at, "\n");
    if (length == 0 || length >= size)
        return false;
    memcpy(out, at, length);
    out[length] = '\0';
    return true;
}

static bool read_information(const char *folder, const char *address, int index,
                             struct sw_gpu_seen *out)
{
    sw_autofree char *path = sw_format("%s/%s/information", folder, address);
    sw_autofree char *text = sw_file_read(path, INFORMATION_MAX, NULL, NULL);

    *out = (struct sw_gpu_seen){ .gpu.index = index, .gpu.busy_percent = -1 };
    if (!text || !field(text, "GPU UUID:", out->gpu.uuid, sizeof out->gpu.uuid))
        return false;
    if (!field(text, "Model:", out->gpu.name, sizeof out->gpu.name))
        snprintf(out->gpu.name, sizeof out->gpu.name, "GPU");
    snprintf(out->pci, sizeof out->pci, "%.*s", (int)strcspn(address, "."), address);
    /* A device that was not used since boot is called "GPU-????????-..." */
    return sw_text_starts(out->gpu.uuid, "GPU-") && !strpbrk(out->gpu.uuid, "/?");
}

int sw_gpu_seen_in_proc(const char *root, struct sw_gpu_seen *out, int room)
{
    sw_autofree char *folder = sw_format("%s/driver/nvidia/gpus", root);
    struct dirent **names;
    int count = scandir(folder, &names, NULL, alphasort), index = 0, found = 0;

    for (int i = 0; i < count; i++) {
        if (names[i]->d_name[0] != '.') {
            if (found < room && read_information(folder, names[i]->d_name, index, &out[found]))
                found++;
            index++;                   /* a nameless device keeps its number */
        }
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return found;
}

static int look(struct sw_gpu_seen *out, int room, bool *lost)
{
    int found = sw_gpu_seen_by_smi(out, room, lost);

    return found >= 0 ? found : sw_gpu_seen_in_proc("/proc", out, room);
}

int sw_gpu_list(struct sw_gpu *out, int room)
{
    struct sw_gpu_seen seen[SW_GPU_MAX];
    bool lost;
    int found = look(seen, room < SW_GPU_MAX ? room : SW_GPU_MAX, &lost);

    for (int i = 0; i < found; i++)
        out[i] = seen[i].gpu;
    return found;
}

/* ---- the meter ------------------------------------------------------------------------------ */

struct sw_gpu_meter {
    struct sw_gpu_seen seen[SW_GPU_MAX];     /* as given to open, found again by UUID */
    int64_t ecc_before[SW_GPU_MAX];
    int count;
    int64_t asked_at;
    bool lost;
};

static void ask_again(struct sw_gpu_meter *meter)
{
    struct sw_gpu_seen now[SW_GPU_MAX];
    bool lost;
    int found = look(now, SW_GPU_MAX, &lost);

    meter->asked_at = sw_monotonic_ms();
    meter->lost = meter->lost || lost;
    for (int i = 0; i < meter->count; i++)
        for (int j = 0; j < found; j++)
            if (strcasecmp(meter->seen[i].gpu.uuid, now[j].gpu.uuid) == 0)
                meter->seen[i] = now[j];
}

struct sw_gpu_meter *sw_gpu_meter_open(const struct sw_gpu *gpus, int count)
{
    struct sw_gpu_meter *meter = sw_new(struct sw_gpu_meter);

    meter->count = count < SW_GPU_MAX ? count : SW_GPU_MAX;
    for (int i = 0; i < meter->count; i++)
        meter->seen[i].gpu = gpus[i];
    ask_again(meter);
    for (int i = 0; i < meter->count; i++)
        meter->ecc_before[i] = meter->seen[i].ecc_errors;
    return meter;
}

void sw_gpu_meter_close(struct sw_gpu_meter *meter)
{
    free(meter);
}

void sw_gpu_meter_read(struct sw_gpu_meter *meter, struct sw_gpu *gpus)
{
    if (sw_monotonic_ms() - meter->asked_at >= ASK_EVERY_MS)
        ask_again(meter);
    for (int i = 0; i < meter->count; i++) {
        gpus[i].memory_used_bytes = meter->seen[i].gpu.memory_used_bytes;
        gpus[i].busy_percent = meter->seen[i].gpu.busy_percent;
    }
}

void sw_gpu_meter_facts(struct sw_gpu_meter *meter, json_t *facts)
{
    int64_t new_errors = 0;

    ask_again(meter);
    for (int i = 0; i < meter->count; i++)
        if (meter->seen[i].ecc_errors > meter->ecc_before[i])
            new_errors += meter->seen[i].ecc_errors - meter->ecc_before[i];
    if (new_errors > 0)
        json_object_set_new(facts, "ecc_uncorrected", json_integer(new_errors));
    if (meter->lost)
        json_object_set_new(facts, "gpu_lost", json_true());
}

bool sw_gpu_meter_pci(struct sw_gpu_meter *meter, int which, char out[32])
{
    if (which >= meter->count || !meter->seen[which].pci[0])
        return false;
    snprintf(out, 32, "%s", meter->seen[which].pci);
    return true;
}
