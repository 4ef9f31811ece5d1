/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_seen.c - one line of nvidia-smi's answer. The name of the device comes last in it, as it is the only
 * field that could hold a comma. Pure.
 */
#include "core/gpu_seen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { FIELDS = 7 };

static int64_t number_or(const char *text, int64_t otherwise)
{
    char *end;
    long long value = strtoll(text, &end, 10);

    return end == text || *end || value < 0 ? otherwise : value;      /* "[N/A]" */
}

static void pci_of(const char *text, char out[32])
{
    unsigned int domain, bus, device;

    out[0] = '\0';
    if (sscanf(text, "%x:%x:%x", &domain, &bus, &device) == 3)
        snprintf(out, 32, "%04x:%02x:%02x", domain, bus, device);
}

bool sw_gpu_seen_line(char *line, struct sw_gpu_seen *out)
{
    char *fields[FIELDS], *rest = line;
    int64_t mebibytes;

    for (int i = 0; i < FIELDS; i++) {
        char *comma = strstr(rest, ", ");

        if (!comma)
            return false;
        *comma = '\0';
        fields[i] = rest;
        rest = comma + 2;
    }
    *out = (struct sw_gpu_seen){ .gpu.index = (int)number_or(fields[0], -1) };
    snprintf(out->gpu.uuid, sizeof out->gpu.uuid, "%s", fields[1]);
    snprintf(out->gpu.name, sizeof out->gpu.name, "%s", rest);
    pci_of(fields[2], out->pci);
    mebibytes = number_or(fields[3], 0);
    out->gpu.memory_bytes = mebibytes < INT32_MAX ? mebibytes * 1024 * 1024 : 0;
    mebibytes = number_or(fields[4], 0);
    out->gpu.memory_used_bytes = mebibytes < INT32_MAX ? mebibytes * 1024 * 1024 : 0;
    mebibytes = number_or(fields[5], -1);
    out->gpu.busy_percent = mebibytes <= 100 ? (int)mebibytes : -1;
    out->ecc_errors = number_or(fields[6], 0);
    return out->gpu.index >= 0 && out->gpu.index < 4096 && sw_text_starts(fields[1], "GPU-") &&
           !strpbrk(fields[1], "/?");
}
