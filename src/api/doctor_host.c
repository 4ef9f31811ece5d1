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

#define SKIP_VARIABLE "TAO_K8S_SKIP_NODE_RUNTIME_CHECK"

enum { DRIVER_LEAST = 580, TOOLKIT_MAJOR = 1, TOOLKIT_MINOR = 19 };

static void finding(json_t *rows, const char *check, json_t *ok, const char *message, const char *fix)
{
    json_array_append_new(rows, sw_json_object(
        SW_STR("check", check), SW_SUB("ok", ok), SW_STR("message", message),
        SW_STR("fix", json_is_true(ok) ? "" : fix)));
}

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

static void check_driver(json_t *rows)
{
    sw_autofree char *said = said_by("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader");
    sw_autofree char *message = NULL;
    int major = 0, minor = 0;
    bool good = version_in(said, &major, &minor) && major >= DRIVER_LEAST;

    message = major ? sw_format("version %.*s, %d or newer is needed", (int)strcspn(said, "\r\n"), said,
                                DRIVER_LEAST)
                    : sw_strdup("nvidia-smi does not answer: no driver, or no GPU");
    finding(rows, "GPU driver", json_boolean(good), message,
            "install NVIDIA's driver 580 or newer and restart the machine (on Ubuntu: apt install "
            "nvidia-driver-580-server), or let the GPU Operator install it");
}

static void check_toolkit(json_t *rows)
{
    sw_autofree char *said = said_by("nvidia-ctk", "--version", NULL), *message = NULL;
    int major = 0, minor = 0;
    bool good = version_in(said, &major, &minor) &&
                (major > TOOLKIT_MAJOR || (major == TOOLKIT_MAJOR && minor >= TOOLKIT_MINOR));

    message = major ? sw_format("version %d.%d, %d.%d or newer is needed", major, minor, TOOLKIT_MAJOR,
                                TOOLKIT_MINOR)
                    : sw_strdup("nvidia-ctk does not answer");
    finding(rows, "container toolkit", json_boolean(good), message,
            "install nvidia-container-toolkit 1.19.0 or newer from NVIDIA's package repository");
}

static const struct runtime {
    const char *backend, *name, *first, *second, *fix;
} runtimes[] = {
    { "kubernetes", "containerd", "config", "dump",
      "nvidia-ctk runtime configure --runtime=containerd && systemctl restart containerd" },
    { "kubernetes", "crio", "config", NULL,
      "nvidia-ctk runtime configure --runtime=crio && systemctl restart crio" },
    { "docker", "docker", "info", "--format={{json .Runtimes}}",
      "nvidia-ctk runtime configure --runtime=docker && systemctl restart docker" },
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
    finding(rows, missing->name, json_boolean(nvidia),
            nvidia ? "has NVIDIA's runtime" : said ? "has no NVIDIA runtime" : "does not answer",
            missing->fix);
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
        finding(rows, "GPU host", json_null(), "not checked, because " SKIP_VARIABLE " is 1", "");
        return api_checks("doctor", NULL, rows);
    }
    check_driver(rows);
    check_toolkit(rows);
    check_runtime(backend, rows);
    return api_checks("doctor", NULL, rows);
}
