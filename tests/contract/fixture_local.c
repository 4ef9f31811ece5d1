/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture_local.c - this machine: behaviours become shell text.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"

/* One GPU, by the stand-in for NVML in tests/sim, leased in the case's own folder. */
static void begin(const char *dir)
{
    char leases[128];

    snprintf(leases, sizeof leases, "%s/leases", dir);
    setenv("SIM_GPUS", "1", 1);
    setenv("SLIPWAY_GPU_LEASE_DIR", leases, 1);
}

static const char *missing(unsigned bit)
{
    void *nvml;

    if (bit != QUEUE)
        return NULL;
    nvml = dlopen("libnvidia-ml.so.1", RTLD_LAZY);
    /* A static suite has no dlopen; it sees GPUs as the static program does. */
    if (!nvml && system("command -v nvidia-smi > /dev/null") == 0)
        return NULL;
    if (!nvml)
        return "local jobs wait for GPUs only, and there is no NVML, not even tests/sim's";
    dlclose(nvml);
    return NULL;
}

const struct fixture fixture_local = {
    .name = "local",
    .begin = begin,
    .missing = missing,
    /* tail keeps a line without end in memory, and no reader takes it */
    .eats_memory = "head -c 400M /dev/zero | tail | sleep 30",
    .queue = { { "gpus", "1" } },                                   /* there is one GPU */
    .command_key = "command",
    .lacks = {
        [5] = "jobs of this machine have no container",
        [3] = "there is no network between us and this machine that could be cut",
    },
};
