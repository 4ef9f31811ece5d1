/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor_host.c - can this machine run GPU containers? Driver, container toolkit and the container runtime,
 * asked by their own programs. Nothing is installed or changed.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_internal.h"
#include "base/buf.h"
#include "base/proc.h"
#include "base/text.h"
#include "core/finding.h"

#define SKIP_VARIABLE "TAO_K8S_SKIP_NODE_RUNTIME_CHECK"
#define MANAGED       "\nwhere the provider of the nodes or the GPU Operator does that, set " \
                      SKIP_VARIABLE "=1"

enum { DRIVER_LEAST = 580, TOOLKIT_MAJOR = 1, TOOLKIT_MINOR = 19 };

/* What a program prints, owned; NULL: it is not there, or fails. */
static char *said_by(const char *program, const char *first, const char *second)
{
    char *const argv[] = { (char *)program, (char *)first, (char *)second, NULL };
    sw_auto(sw_buf) struct sw_buf said = SW_BUF_INIT;
    int status = -1;

    if (sw_proc_ask(argv, "", &said, &status, NULL) < 0 || status != 0)
        return NULL;
    return sw_text_utf8(sw_buf_text(&said), said.length);
}

/* The first "580.65.06" or "1.19.0" of a text; false: it has none. */
static bool version_in(const char *text, int *major, int *minor)
{
    for (; text && *text; text += strspn(text, "0123456789.")) {
        text += strcspn(text, "0123456789");
        if (sscanf(text, "%4d.%4d", major, minor) == 2)
            return true;
    }
    return false;
}

/* What helps, and on nodes of Kubernetes what to do where someone else owns them; commands have lines of
 * their own, so that they can be copied. */
static void add(json_t *rows, const char *check, bool good, const char *message, const char *fix,
                bool kubernetes)
{
    sw_autofree char *both = sw_format("%s%s", fix, kubernetes ? MANAGED : "");

    sw_finding(rows, check, good, message, both);
}

static void check_driver(json_t *rows, bool kubernetes)
{
    sw_autofree char *said = said_by("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader");
    sw_autofree char *message = NULL;
    int major = 0, minor = 0;
    bool good = version_in(said, &major, &minor) && major >= DRIVER_LEAST;

    message = major ? sw_format("version %.*s, %d or newer is needed", (int)strcspn(said, "\r\n"), said,
                                DRIVER_LEAST)
                    : sw_strdup("nvidia-smi does not answer: no driver, or no GPU");
    add(rows, "GPU driver", good, message,
        "install the driver of your system's vendor and restart the machine; on Ubuntu:\n"
        "  sudo apt-get install -y nvidia-driver-580-server", kubernetes);
}

static void check_toolkit(json_t *rows, bool kubernetes)
{
    sw_autofree char *said = said_by("nvidia-ctk", "--version", NULL), *message = NULL;
    int major = 0, minor = 0;
    bool good = version_in(said, &major, &minor) &&
                (major > TOOLKIT_MAJOR || (major == TOOLKIT_MAJOR && minor >= TOOLKIT_MINOR));

    message = major ? sw_format("version %d.%d, %d.%d or newer is needed", major, minor, TOOLKIT_MAJOR,
                                TOOLKIT_MINOR)
                    : sw_strdup("nvidia-ctk does not answer");
    add(rows, "container toolkit", good, message,
        "set up NVIDIA's package repository (libnvidia-container), then the first that is there:\n"
        "  sudo apt-get install -y nvidia-container-toolkit\n"
        "  sudo dnf install -y nvidia-container-toolkit", kubernetes);
}

static const struct runtime {
    const char *backend, *name, *first, *second, *fix;
} runtimes[] = {
    { "kubernetes", "containerd", "config", "dump",
      "run\n  sudo nvidia-ctk runtime configure --runtime=containerd\n  sudo systemctl restart containerd" },
    { "kubernetes", "crio", "config", NULL,
      "run\n  sudo nvidia-ctk runtime configure --runtime=crio\n  sudo systemctl restart crio" },
    { "docker", "docker", "info", "--format={{json .Runtimes}}",
      "run\n  sudo nvidia-ctk runtime configure --runtime=docker\n  sudo systemctl restart docker" },
};

/* The first one of this backend that answers decides. */
static void check_runtime(const char *backend, json_t *rows)
{
    const struct runtime *missing = NULL;
    bool nvidia = false;
    sw_autofree char *said = NULL;
    size_t i;

    for (i = 0; i < SW_COUNT(runtimes) && !said; i++)
        if (strcmp(runtimes[i].backend, backend) == 0) {
            said = said_by(runtimes[i].name, runtimes[i].first, runtimes[i].second);
            missing = said || !missing ? &runtimes[i] : missing;
        }
    nvidia = said && strstr(said, "nvidia");
    add(rows, missing->name, nvidia,
        nvidia ? "has NVIDIA's runtime" : said ? "has no NVIDIA runtime" : "does not answer", missing->fix,
        strcmp(backend, "kubernetes") == 0);
}

char *sw_doctor_gpu_host(struct sw_session *session, const char *backend, struct sw_error *err)
{
    bool kubernetes = sw_text_same(backend, "kubernetes");
    json_t *rows;

    if (!kubernetes && !sw_text_same(backend, "docker"))
        return sw_null(sw_fail(err, SW_E_USAGE, "unknown backend '%s': use docker or kubernetes",
                               backend ? backend : ""));
    rows = json_array();
    if (kubernetes && sw_text_same(api_env(session, SKIP_VARIABLE), "1")) {
        sw_finding_open(rows, "GPU host", SW_STATE_NOT_CHECKED, SKIP_VARIABLE " is 1", NULL);
        return api_checks("doctor", NULL, rows);
    }
    check_driver(rows, kubernetes);
    check_toolkit(rows, kubernetes);
    check_runtime(backend, rows);
    return api_checks("doctor", NULL, rows);
}
