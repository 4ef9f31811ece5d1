/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_ref.h - image references: registry, repository, tag, digest. Pure.
 *
 *     written                            registry           repository       tag, digest
 *     ubuntu                             docker.io          library/ubuntu   latest
 *     host:5000/team/app:1               host:5000          team/app         1
 *     name@sha256:...                    docker.io          library/name     sha256:...
 *     registry#team/app:1                registry           team/app         1
 *     docker://nvcr.io/nvidia/app:1      nvcr.io            nvidia/app       1
 *     sha256:...                         none: the id of an image that one engine has
 */
#ifndef SW_CORE_IMAGE_REF_H
#define SW_CORE_IMAGE_REF_H

#include <stdbool.h>

#include "base/error.h"

#define SW_REGISTRY_HUB "docker.io"       /* the registry of a reference that names none */

struct sw_image_ref {
    char *registry;          /* "docker.io", "localhost:5000"; NULL: a bare image id */
    char *repository;        /* "library/ubuntu"; NULL: a bare image id */
    char *tag;               /* NULL: none given, and a digest is */
    char *digest;            /* "sha256:..."; NULL: none */
};
/* -1 SW_E_SPEC with the reason. `out` is zeroed by the caller, who releases it in any case. */
int sw_image_ref_parse(const char *text, struct sw_image_ref *out, struct sw_error *err);
void sw_image_ref_done(struct sw_image_ref *ref);
static inline void sw_image_ref_auto(struct sw_image_ref *ref) { sw_image_ref_done(ref); }

/* As Docker and Kubernetes read it: "ubuntu:latest", "host:5000/a/b@sha256:..." (a digest wins). Owned. */
char *sw_image_ref_text(const struct sw_image_ref *ref);
char *sw_image_ref_name(const struct sw_image_ref *ref);           /* without tag and digest; owned */
/* The repository as people write it, without "library/" on Docker Hub; borrowed. */
const char *sw_image_ref_short(const struct sw_image_ref *ref);
/* Docker Hub's hosts are one registry: "docker.io". Others are as written. Owned. */
char *sw_registry_host(const char *text, size_t length);
/* Does the first part of "FIRST/..." name a registry? It holds a dot or a colon, or is "localhost". */
bool sw_image_ref_names_host(const char *name);

#endif
