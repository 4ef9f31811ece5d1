/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture_lepton.c - jobs of the stand-in tests/sim/lepton, which runs them as containers of the engine that
 * tests/docker/engine started: behaviours become shell text for the busybox of its image. The case's folder is
 * one that all nodes have, so commands see it; results are on the volume of the node group that a job gets when
 * it names none. Each hundredth question for logs is refused for a second, as the service does when it is asked
 * too often.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "fixture.h"
#include "stand_in.h"

static int common(struct sw_request *request, struct sw_error *err)
{
    const char *image = getenv("SLIPWAY_TEST_IMAGE");

    return sw_request_set(request, "image", image ? image : "no-image", err);
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
        "{\"busy_every\": 100, \"node_folders\": [\"%s\"], \"groups\": [{\"id\": \"grp-h100-a1b2\", "
        "\"name\": \"h100\", \"quota_enabled\": false, \"nodes\": {\"node-1\": 1}, \"reservations\": [], "
        "\"volumes\": [{\"name\": \"scratch\", \"from\": \"local\"}, {\"name\": \"team-lustre\", \"from\": \"nfs\"}]}], "
        "\"permissions\": {\"team-lustre\": [{\"path_prefix\": \"/home/ann\"}]}}", dir);

    sw_file_write(path, text, strlen(text), 0600, NULL);
}

/* The part of the volume that its user may mount. */
static void make_home(void)
{
    sw_autofree char *path = sw_path_join(stand_in_folder(), "volumes/team-lustre/home/ann");

    if (sw_mkdirs(path, 0777, NULL) < 0)
        abort();
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
    make_home();
}

const struct fixture fixture_lepton = {
    .name = "lepton",
    .begin = begin,
    .eats_memory = "head -c 400m /dev/zero | tail -n 1 >/dev/shm/x",
    .queue = { { "gpus", "1" } },                                   /* the node group has one */
    .common = common,
    .command_key = "command",
    .disturb = disturb,
    .lacks = {
        [4] = "a service elsewhere does not see this machine's files; data goes through object storage",
        [6] = "Lepton offers no way to run a command beside a job",
    },
};
