/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture_docker.c - containers of the engine that tests/docker/engine started: behaviours become shell text
 * for the busybox of its image. The case's folder is mounted at its own place, so commands see it. The
 * engine is reached as DOCKER_HOST says: by its socket, or over ssh, where the disturbance is on
 * the far side.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "fault_proxy.h"

static char mount[192];

static int common(struct sw_request *request, struct sw_error *err)
{
    const char *image = getenv("SLIPWAY_TEST_IMAGE");

    if (sw_request_set(request, "image", image ? image : "no-image", err) < 0)
        return -1;
    return sw_request_set(request, "docker.mounts", mount, err);
}

static bool is_far(const char *host)
{
    return strncmp(host, "ssh://", strlen("ssh://")) == 0;
}

/* The engine's own socket, on its side. */
static void real_socket(const char *host, char *path, size_t size)
{
    if (is_far(host))
        snprintf(path, size, "%s/docker.sock", getenv("SLIPWAY_TEST_ENGINE"));
    else
        snprintf(path, size, "%s", host + strlen("unix://"));
}

/* Jobs are looked for where they were sent, so the address stays and what it leads to is turned. It is beside
 * the engine, not in the case's folder: a process that names that folder counts as one of the case. */
static void lead_to(const char *dir, const char *target, char *link, size_t size)
{
    char beside[256];

    snprintf(link, size, "%s%s.sock", getenv("SLIPWAY_TEST_ENGINE"), strrchr(dir, '/'));
    snprintf(beside, sizeof beside, "%s.new", link);
    if (symlink(target, beside) < 0 || rename(beside, link) < 0)
        abort();
}

void docker_fixture_lead(const char *dir, const char *api, char *link, size_t size)
{
    static char real[256];
    char path[128], engine[256];

    if (!*real)
        snprintf(real, sizeof real, "%s", getenv("DOCKER_HOST"));
    real_socket(real, engine, sizeof engine);
    snprintf(path, sizeof path, "%s/fault_proxy.sock", dir);
    fault_proxy_end();
    if (api)
        fault_proxy_begin(&(struct fault_proxy){ .listen = path, .real = engine, .list = "/containers/json",
                                                 .start = "/start", .empty = "[]" }, api);
    lead_to(dir, api ? path : engine, link, size);
}

void docker_fixture_own_gpu(const char *dir)
{
    char gpu[160];

    /* Other cases' containers stay on the engine. */
    snprintf(gpu, sizeof gpu, "GPU%s", strrchr(dir, '-'));
    setenv("SLIPWAY_DOCKER_GPUS", gpu, 1);
}

static void disturb(const char *dir, const char *api)
{
    static char real[256];
    char host[600], link[240];

    if (!*real)
        snprintf(real, sizeof real, "%s", getenv("DOCKER_HOST"));
    docker_fixture_lead(dir, api, link, sizeof link);
    snprintf(host, sizeof host, "%s%s", is_far(real) ? real : "unix://", link);
    setenv("DOCKER_HOST", host, 1);
}

static void begin(const char *dir)
{
    disturb(dir, NULL);
    snprintf(mount, sizeof mount, "%s:%s", dir, dir);
    docker_fixture_own_gpu(dir);
    setenv("DOCKER_KEEP_CONNECTION", "1s", 1);       /* no process may stay behind */
}

/* docs/use/platforms/docker.md says so of `inputs` and `outputs`. */
static const char *missing(unsigned bit)
{
    return bit == OWN_FILES && is_far(getenv("DOCKER_HOST"))
               ? "paths of this machine mean nothing to an engine elsewhere; they are refused" : NULL;
}

const struct fixture fixture_docker = {
    .name = "docker",
    .begin = begin,
    .eats_memory = "head -c 400m /dev/zero | tail -n 1 >/dev/shm/x",
    .queue = { { "gpus", "1" }, { "docker.runtime", "nvidia" } },   /* the engine has one GPU */
    .common = common,
    .command_key = "command",
    .disturb = disturb,
    .missing = missing,
};
