/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_image.h - image references, and images brought to the engine.
 *
 *     sw_autofree char *use = NULL;
 *     struct docker_pull pull = { .image = plan->image, .policy = DOCKER_PULL_MISSING };
 *     if (docker_image_ensure(api, &pull, &use, err) < 0)      // `use` goes into the create call
 *         return -1;
 */
#ifndef SW_PLATFORM_DOCKER_IMAGE_H
#define SW_PLATFORM_DOCKER_IMAGE_H

#include "platform/docker/docker_api.h"

/* ---- references, pure ------------------------------------------------------------------------- */

struct docker_image {
    char *registry;          /* "docker.io", "localhost:5000"; NULL: a bare image id */
    char *repository;        /* "library/ubuntu"; NULL: a bare image id */
    char *tag;               /* NULL: none given, and a digest is */
    char *digest;            /* "sha256:..."; NULL: none */
};
/* "ubuntu", "host:5000/a/b:tag@sha256:...", an id "sha256:...", enroot's "host#a/b:tag" and
 * "docker://..." too. SW_E_SPEC. `out` is zeroed by the caller. */
int docker_image_parse(const char *text, struct docker_image *out, struct sw_error *err);
/* As the engine likes it: "ubuntu:latest", "host:5000/a/b@sha256:..." (a digest wins). Owned. */
char *docker_image_text(const struct docker_image *image);
char *docker_image_name(const struct docker_image *image);      /* without tag and digest; owned */
void docker_image_done(struct docker_image *image);
static inline void docker_image_auto(struct docker_image *image) { docker_image_done(image); }

/* ---- credentials ------------------------------------------------------------------------------ */

/* Never formatted; wiped when done. */
struct docker_login {
    char *header;            /* X-Registry-Auth; NULL: nobody */
    char *user;              /* may be shown */
    char *origin;            /* where it comes from: "NGC_KEY", "docker-credential-x"; may be shown */
    char *trouble;           /* why a credential that seems to be there cannot be used; or NULL */
};
/* For this registry, in this order: DOCKER_USERNAME + DOCKER_PASSWORD (of DOCKER_REGISTRY, else
 * docker.io), NGC_KEY (nvcr.io), docker's configuration (credHelpers, credsStore, auths). */
struct docker_where;      /* whose values of variables count; NULL: the environment's */
void docker_login_find(const struct docker_where *where, const char *registry,
                       struct docker_login *out);
void docker_login_done(struct docker_login *login);
static inline void docker_login_auto(struct docker_login *login) { docker_login_done(login); }

/* ---- pulling ---------------------------------------------------------------------------------- */

enum docker_pull_policy { DOCKER_PULL_MISSING, DOCKER_PULL_ALWAYS, DOCKER_PULL_NEVER };

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
