/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture_lepton.c - jobs of the stand-in tests/sim/lepton, which runs them as containers of the engine that
 * tests/docker/engine started: behaviours become shell text for the busybox of its image. The case's folder
 * is a volume of the node group, mounted at its own place, so commands see it; results are on another one.
 * Each hundredth question for logs is refused for a second, as the service does when it is asked too often.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "fixture.h"
#include "stand_in.h"

static char mounted_at[256];

static int common(struct sw_request *request, struct sw_error *err)
{
    const char *image = getenv("SLIPWAY_TEST_IMAGE");

    if (sw_request_set(request, "image", image ? image : "no-image", err) < 0)
        return -1;
    return sw_request_set(request, "lepton.volumes./mnt/lustre", "lustre", err) < 0
               ? -1 : sw_request_set(request, mounted_at, "case", err);
}

static void disturb(const char *dir, const char *api)
{
    (void)dir;
    stand_in_disturb(api);
}

static void write_settings(const char *dir)
{
    sw_autofree char *path = sw_path_join(stand_in_folder(), "settings.json");
    sw_autofree char *text = sw_format(
        "{\"busy_every\": 100, \"folders\": {\"case\": \"%s\"}, \"groups\": [{\"id\": \"grp-h100-a1b2\", "
        "\"name\": \"h100\", \"quota_enabled\": false, \"nodes\": {\"node-1\": 1}, \"reservations\": [], "
        "\"volumes\": [{\"name\": \"lustre\", \"from\": \"nfs\"}, "
        "{\"name\": \"case\", \"from\": \"nfs\"}]}]}",
        dir);

    sw_file_write(path, text, strlen(text), 0600, NULL);
}

static void begin(const char *dir)
{
    const char *port = stand_in_begin("lepton/server");
    char url[96];

    write_settings(dir);
    snprintf(url, sizeof url, "http://127.0.0.1:%s/api/v2/workspaces/wsp1", port);
    setenv("LEPTON_WORKSPACE_URL", url, 1);
    setenv("LEPTON_WORKSPACE_ID", "wsp1", 1);
    setenv("LEPTON_WORKSPACE_TOKEN", "token-of-the-suite", 1);
    setenv("LEPTON_NODE_GROUP", "h100", 1);
    snprintf(mounted_at, sizeof mounted_at, "lepton.volumes.%s", dir);
}

static char *results(const char *job)
{
    return sw_format("%s/volumes/lustre/results/%s", stand_in_folder(), job);
}

const struct fixture fixture_lepton = {
    .name = "lepton",
    .begin = begin,
    .eats_memory = "head -c 400m /dev/zero | tail -n 1 >/dev/shm/x",
    .queue = { { "gpus", "1" } },                                   /* the node group has one */
    .common = common,
    .command_key = "command",
    .disturb = disturb,
    .results = results,
    .lacks = {
        [4] = "a service elsewhere does not see this machine's files; data goes through object storage",
        [6] = "Lepton offers no way to run a command beside a job",
        [8] = "Lepton keeps lines of UTF-8 text: other bytes are replaced, and every line has an end",
        [9] = "Lepton has no way to read a volume; results come back through object storage (`outputs:`)",
        [10] = "Lepton has no way to read a volume",
    },
};
