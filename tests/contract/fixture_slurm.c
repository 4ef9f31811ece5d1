/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture_slurm.c - a real Slurm that tests/slurm/cluster started: behaviours become shell text.
 * The base folder lies in the case's own folder, which all nodes see.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

static int common(struct sw_request *request, struct sw_error *err)
{
    const char *image = getenv("SLIPWAY_TEST_IMAGE");

    return image ? sw_request_set(request, "image", image, err) : 0;
}

static void begin(const char *dir)
{
    char base[160];

    snprintf(base, sizeof base, "%s/lustre", dir);
    setenv("SLURM_BASE_RESULTS_DIR", base, 1);
    setenv("SLURM_KEEP_CONNECTION", "1s", 1);        /* no process may stay behind */
}

static const char *missing(unsigned bit)
{
    return bit == OWN_ROOT && !getenv("SLIPWAY_TEST_IMAGE") ? "these jobs run without a container" : NULL;
}

const struct fixture fixture_slurm = {
    .name = "slurm",
    .begin = begin,
    .eats_memory = "head -c 400M /dev/zero | tail | sleep 30",
    /* a whole node, and always the same */
    .queue = { { "gpus", "8" }, { "slurm.cpus_per_task", "1" }, { "slurm.nodelist", "n1" } },
    .common = common,
    .missing = missing,
    .command_key = "command",
    .lacks = {
        [2] = "the test cluster has no cgroups, and Slurm limits memory with nothing else",
        [3] = "the cluster is not cut off here: tests/slurm/try_jobs.py does that to a running one",
    },
};
