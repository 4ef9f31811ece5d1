/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture_ray.c - the real Ray head that tests/ray/head started, on this machine: behaviours become shell
 * text, which sees the case's folder. What a case waits for is a custom resource of its own, so that cases
 * do not wait for each other. For faults a proxy stands before the dashboard.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fault_proxy.h"
#include "fixture.h"

enum { SLOTS = 64 };

static char slot[48], listen[16];

static const char *real_port(void)
{
    const char *url = getenv("SLIPWAY_TEST_RAY"), *colon = url ? strrchr(url, ':') : NULL;

    return colon ? colon + 1 : "1";
}

static void lead(const char *port)
{
    char url[64];

    snprintf(url, sizeof url, "http://127.0.0.1:%s", port);
    setenv("RAY_ADDRESS", url, 1);
}

/* Every case goes through the proxy: a place that changes its address is another place. */
static void disturb(const char *dir, const char *api)
{
    (void)dir;
    fault_proxy_end();
    fault_proxy_begin(&(struct fault_proxy){ .listen = listen, .real = real_port(), .list = "GET /api/jobs/ ",
                                             .start = "POST /api/jobs/ ", .empty = "[]" }, api ? api : "");
    lead(listen);
}

/* Groups run side by side, each a process of its own. */
static void begin(const char *dir)
{
    static int cases;

    snprintf(slot, sizeof slot, "ray.resources.slot%d", (int)((getpid() + cases++) % SLOTS));
    snprintf(listen, sizeof listen, "%d", 10000 + (int)(getpid() % 1000));
    disturb(dir, NULL);
}

static char *results(const char *job)
{
    return sw_format("/tmp/slipway-%s/results", job);
}

/* The supervisor, and the loop with which it has the driver killed when it dies itself. */
static bool is_own(const char *line)
{
    return sw_text_starts(line, "ray::") || strstr(line, "-c while kill -s 0 ") ||
           strcmp(line, "sleep 1") == 0;
}

const struct fixture fixture_ray = {
    .name = "ray",
    .begin = begin,
    .queue = { { slot, "1" } },
    .command_key = "command",
    .disturb = disturb,
    .results = results,
    .is_own = is_own,
    .lacks = {
        [2] = "Ray reserves memory and limits no process to it",
        [4] = "a cluster elsewhere does not see this machine's files; data goes through object storage",
        [5] = "jobs of a Ray cluster have no container",
        [6] = "Ray offers no way to run a command beside a job",
        [7] = "Ray reads its logs as text, and every carriage return as the end of a line",
        [8] = "Ray reads its logs as UTF-8 text: the runner replaces other bytes",
        [9] = "Ray has no way to read a node's files; results come back through object storage (`outputs:`)",
        [10] = "Ray has no way to read a node's files",
        [11] = "a Ray job is one driver; other nodes run its tasks and actors",
        [12] = "Ray keeps no time of the lines of a log",
    },
};
