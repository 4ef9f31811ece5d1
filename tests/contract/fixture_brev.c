/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture_brev.c - jobs on the instance `bench` of the stand-in for Brev (tests/sim/brev/scene). Its Docker
 * engine is the one of fixture_docker.c, reached over ssh; the disturbance is on the far side.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"

static char mount[192];

static int common(struct sw_request *request, struct sw_error *err)
{
    const char *image = getenv("SLIPWAY_TEST_IMAGE");

    if (sw_request_set(request, "image", image ? image : "no-image", err) < 0)
        return -1;
    return sw_request_set(request, "brev.mounts", mount, err);
}

static void disturb(const char *dir, const char *api)
{
    char link[240];

    docker_fixture_lead(dir, api, link, sizeof link);
    setenv("BREV_DOCKER_SOCKET", link, 1);
}

static void begin(const char *dir)
{
    disturb(dir, NULL);
    snprintf(mount, sizeof mount, "%s:%s", dir, dir);
    docker_fixture_own_gpu(dir);
    setenv("BREV_INSTANCE_ID", "bench", 1);
}

/* docs/use/platforms/brev.md says so of `inputs` and `outputs`. */
static const char *missing(unsigned bit)
{
    return bit == OWN_FILES ? "paths of this machine mean nothing to an instance; they are refused" : NULL;
}

const struct fixture fixture_brev = {
    .name = "brev",
    .begin = begin,
    .eats_memory = "head -c 400m /dev/zero | tail -n 1 >/dev/shm/x",
    .queue = { { "gpus", "1" }, { "brev.runtime", "nvidia" } },
    .common = common,
    .command_key = "command",
    .disturb = disturb,
    .missing = missing,
};
