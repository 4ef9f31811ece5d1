/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture_runai.c - workloads of the stand-in tests/sim/runai, which runs them as containers of the engine
 * that tests/docker/engine started: behaviours become shell text for the busybox of its image. The case's
 * folder is a folder of the node, mounted at its own place, so commands see it; results are in another one.
 * Logs come from the log route of the cluster's Kubernetes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "fixture.h"
#include "stand_in.h"

static char mount[320], results[340];

static int common(struct sw_request *request, struct sw_error *err)
{
    const char *image = getenv("SLIPWAY_TEST_IMAGE");

    if (sw_request_set(request, "image", image ? image : "no-image", err) < 0 ||
        sw_request_set(request, "runai.volumes", mount, err) < 0)
        return -1;
    return sw_request_set(request, "runai.volumes", results, err);
}

static void disturb(const char *dir, const char *api)
{
    (void)dir;
    stand_in_disturb(api);
}

/* A job takes the certificates along that this machine's variables name; they are no part of the case. */
static void forget_certificates(void)
{
    static const char *const names[] = { "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
                                         "AWS_CA_BUNDLE" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
}

static void begin(const char *dir)
{
    const char *port = stand_in_begin("runai/server");
    char url[64], folder[320];

    forget_certificates();
    snprintf(url, sizeof url, "http://127.0.0.1:%s", port);
    setenv("RUNAI_BASE_URL", url, 1);
    setenv("RUNAI_KUBE_APISERVER_URL", url, 1);
    setenv("RUNAI_PROJECT", "suite", 1);
    setenv("RUNAI_CLIENT_ID", "client-of-the-suite", 1);
    setenv("RUNAI_CLIENT_SECRET", "secret-of-the-suite", 1);
    snprintf(mount, sizeof mount, "%s=%s", dir, dir);
    snprintf(folder, sizeof folder, "%s/shared", stand_in_folder());
    mkdir(folder, 0777);
    snprintf(results, sizeof results, "/results=%s", folder);
}

const struct fixture fixture_runai = {
    .name = "runai",
    .begin = begin,
    .eats_memory = "head -c 400m /dev/zero | tail -n 1 >/dev/shm/x",
    .queue = { { "gpus", "5" } },                                   /* the node has eight */
    .common = common,
    .command_key = "command",
    .disturb = disturb,
    .lacks = {
        [4] = "paths of this machine mean nothing to a cluster; they are refused",
        [6] = "a control plane runs no command beside a job",
        [10] = "its API has no way to the files of a volume",
    },
};
