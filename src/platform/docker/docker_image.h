/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_image.h - images pulled by the engine.
 *
 *     sw_autofree char *use = NULL;
 *     struct docker_pull pull = { .image = plan->image, .policy = DOCKER_PULL_MISSING };
 *     if (docker_image_ensure(api, &pull, &use, err) < 0)      // `use` goes into the create call
 *         return -1;
 */
#ifndef SW_PLATFORM_DOCKER_IMAGE_H
#define SW_PLATFORM_DOCKER_IMAGE_H

#include "core/image_ref.h"
#include "core/registry_login.h"
#include "platform/docker/docker_api.h"
#include "platform/docker/docker_options.h"


/* How far a pull is: layers are "files". `what` is "pulling IMAGE". Non-zero cancels it. */
typedef int docker_pull_progress(void *context, const char *what,
                                 const struct sw_copy_progress *progress);

struct docker_pull {
    const char *image;
    enum docker_pull_policy policy;
    const char *platform;                    /* "linux/arm64"; NULL: the engine's own */
    docker_pull_progress *progress;          /* may be NULL */
    void *progress_context;
};

/* See that the engine has the image. *use: how to name it in a create call, owned.
 * SW_E_SPEC (no reference), SW_E_NOT_FOUND (no such image or tag; policy never), SW_E_CREDENTIAL
 * (refused; the message says which credential was used), SW_E_REFUSED (disk full, registry out of
 * reach), SW_E_UNREACHABLE (the engine), SW_E_INTERRUPTED. */
int docker_image_ensure(struct docker_api *api, const struct docker_pull *pull, char **use,
                        struct sw_error *err);
/* Is it there? 0 with *there; -1: the engine did not answer. */
int docker_image_there(struct docker_api *api, const char *use, bool *there, struct sw_error *err);
/* Could it be pulled: asks the registry through the engine, moves no layer. Same errors. */
int docker_image_reachable(struct docker_api *api, const char *image, struct sw_error *err);

#endif
