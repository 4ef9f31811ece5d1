/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_checks.h - is an engine fit for a job? A list of answers, each with what fixes it.
 */
#ifndef SW_PLATFORM_DOCKER_CHECKS_H
#define SW_PLATFORM_DOCKER_CHECKS_H

#include "platform/docker/docker_image.h"

struct docker_needs {                 /* all borrowed */
    const char *image;               /* NULL: none */
    enum docker_pull_policy policy;
    bool gpus;                       /* needed; otherwise only reported */
    const char *runtime;             /* asked for by name; NULL: "nvidia" where GPUs need one */
    const json_t *mounts;            /* array as in HostConfig.Mounts; NULL: none */
};

/* JSON array of {"check","ok","message","fix"}; owned. An engine that does not answer is one row. */
json_t *docker_checks(struct docker_api *api, const struct docker_needs *needs);

/* Does the engine see what this mount (as in HostConfig.Mounts) binds? 1, 0 + err: it is not there; -1
 * + err. Nothing is made. */
int docker_sees(struct docker_api *api, const json_t *mount, struct sw_error *err);

#endif
