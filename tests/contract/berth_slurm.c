/* SPDX-License-Identifier: Apache-2.0 */
/*
 * berth_slurm.c - a real Slurm that tests/slurm/cluster started: wishes become shell text. The base folder
 * lies in the case's own folder, which all nodes see.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "berth.h"

#define NUMBERED "'rehearsal line %%012.0f ...................................'"

static int common(struct sw_request *request, struct sw_error *err)
{
    const char *image = getenv("SLIPWAY_TEST_IMAGE");

    return image ? sw_request_set(request, "image", image, err) : 0;
}

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
    case EATS_MEMORY:
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
    case WAITS_IN_QUEUE:   /* a whole node, and always the same */
        snprintf(command, sizeof command, "sleep 60");
        if (sw_request_set(request, "gpus", "8", err) < 0 ||
            sw_request_set(request, "slurm.cpus_per_task", "1", err) < 0 ||
            sw_request_set(request, "slurm.nodelist", "n1", err) < 0)
            return -1;
        break;
    }
    return sw_request_set(request, "command", command, err);
}

static void begin(const char *dir)
{
    char base[160];

    snprintf(base, sizeof base, "%s/lustre", dir);
    setenv("SLURM_BASE_RESULTS_DIR", base, 1);
    setenv("SLURM_KEEP_CONNECTION", "1s", 1);        /* no process may stay behind */
}

const struct berth berth_slurm = {
    .name = "slurm",
    .begin = begin,
    .ask = ask,
    .common = common,
    .command_key = "command",
    .lacks = {
        [2] = "the test cluster has no cgroups, and Slurm limits memory with nothing else",
        [3] = "the cluster is not cut off here: tests/slurm/try_jobs.py does that to a running one",
    },
};
