/* SPDX-License-Identifier: Apache-2.0 */
/*
 * berth_local.c - this machine: wishes become shell text.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "berth.h"

#define NUMBERED "'rehearsal line %%012.0f ...................................'"

static int ask(struct sw_request *request, enum wish wish, int64_t number, struct sw_error *err)
{
    long long n = (long long)number;
    char command[256];

    switch (wish) {
    case EXITS:
        snprintf(command, sizeof command, "exit %lld", n);
        break;
    case SLEEPS:
        snprintf(command, sizeof command, "sleep %lld.%03lld", n / 1000, n % 1000);
        break;
    case DIES:
        snprintf(command, sizeof command, "kill -%lld $$", n);
        break;
    case EATS_MEMORY:      /* tail keeps a line without end in memory, and nobody takes it */
        snprintf(command, sizeof command, "head -c 400M /dev/zero | tail | sleep 30");
        if (sw_request_set(request, "memory", "64MiB", err) < 0)
            return -1;
        break;
    case PRINTS:
        snprintf(command, sizeof command, "seq -f " NUMBERED " 1 %lld", n);
        break;
    case PRINTS_SLOWLY:
        snprintf(command, sizeof command,
                 "seq -f " NUMBERED " 1 %lld | while read -r l; do echo \"$l\"; sleep 0.003; done",
                 n);
        break;
    case HOLDS_THE_QUEUE:
    case WAITS_IN_QUEUE:   /* there is one GPU */
        snprintf(command, sizeof command, "sleep 60");
        if (sw_request_set(request, "gpus", "1", err) < 0)
            return -1;
        break;
    }
    return sw_request_set(request, "command", command, err);
}

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

const struct berth berth_local = {
    .name = "local",
    .begin = begin,
    .missing = missing,
    .ask = ask,
    .command_key = "command",
    .lacks = {
        [3] = "there is no network between us and this machine that could be cut",
    },
};
