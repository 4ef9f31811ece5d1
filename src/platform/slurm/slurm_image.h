/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_image.h - an image as users write it, as Pyxis and enroot take it, and the flags of a step
 * that runs in it.
 *
 *     written                                 for Pyxis
 *     registry.example/team/app:1             registry.example#team/app:1
 *     registry.example#team/app:1             the same
 *     docker://registry.example/team/app:1    the same
 *     ubuntu:22.04, docker.io/ubuntu:22.04    ubuntu:22.04
 *     app:1@sha256:...                        registry-1.docker.io#library/app@sha256:...
 *     dockerd://app:1                         as it is: the node's own daemon
 *     /lustre/images/app.sqsh                 as it is: a file
 *     none                                    no container
 *
 * Pure: no I/O.
 */
#ifndef SW_PLATFORM_SLURM_IMAGE_H
#define SW_PLATFORM_SLURM_IMAGE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "core/image_ref.h"
#include "platform/slurm/slurm_text.h"

enum slurm_image_kind {
    SLURM_IMAGE_NONE,         /* the job runs on the node itself */
    SLURM_IMAGE_REGISTRY,
    SLURM_IMAGE_FILE,         /* a squashfs file on the shared file system */
    SLURM_IMAGE_DAEMON,       /* dockerd:// or podman:// */
};

struct slurm_image {          /* all owned */
    enum slurm_image_kind kind;
    char *user;               /* login at the registry; NULL: the one of .credentials */
    struct sw_image_ref ref;  /* of SLURM_IMAGE_REGISTRY */
    char *path;               /* of a file, or the daemon's whole URI */
};

/* NULL or "none": no container. -1 SW_E_SPEC: what is wrong. */
int slurm_image_parse(const char *text, struct slurm_image *out, struct sw_error *err);
void slurm_image_done(struct slurm_image *image);
static inline void slurm_image_auto(struct slurm_image *image) { slurm_image_done(image); }

char *slurm_image_pyxis(const struct slurm_image *image);       /* owned; NULL: no container */
char *slurm_image_enroot(const struct slurm_image *image);      /* owned; NULL: nothing to import */
/* The name in the cache, owned; NULL: nothing to convert. Different references have different
 * names. */
char *slurm_image_file_name(const struct slurm_image *image);
/* Has it nothing but letters, digits and `more`? */
bool slurm_has_only(const char *text, const char *more);

/* ---- the conversion ------------------------------------------------------------------------- */

enum slurm_sqsh {
    SLURM_SQSH_AUTO,          /* convert; when that fails, pull on each node */
    SLURM_SQSH_REQUIRED,      /* convert; when that fails, so does the job */
    SLURM_SQSH_OFF,           /* pull on each node */
};
enum slurm_latest {           /* what a converted image with a moving tag is worth */
    SLURM_LATEST_REUSE,       /* whatever is in the cache */
    SLURM_LATEST_REFRESH,     /* converted after the job was submitted */
    SLURM_LATEST_DIGEST,      /* the digest that the tag has when the job starts */
};

struct slurm_cache {
    const char *folder;       /* of the converted images, shared by all nodes */
    enum slurm_sqsh sqsh;
    enum slurm_latest latest;
    const char *submitted;    /* a file that is as old as the submit, for REFRESH */
    const char *temp;         /* where enroot unpacks meanwhile; NULL: TMPDIR of the node */
    bool elsewhere;           /* another job converted it before ours began */
    int limit_s;              /* one import; 0: 1800 */
    struct slurm_patience patience;
};

/* The values of one image and the functions that work on them, sw_image_there and sw_image. False:
 * there is nothing to convert. */
bool slurm_image_text(struct sw_buf *out, const struct slurm_image *image,
                      const struct slurm_cache *cache);
/* Shell text for the batch script: sets SLIPWAY_IMAGE, or runs `or_else` when the image is required
 * and cannot be had. Nothing for a job without a container. */
void slurm_image_prepare(struct sw_buf *out, const struct slurm_image *image,
                         const struct slurm_cache *cache, const char *or_else);

/* ---- registries: slurm_registry.c ------------------------------------------------------------ */

struct slurm_registry {       /* texts are borrowed */
    const char *host;         /* as the image names it */
    const char *machines[3];  /* that .credentials must name; NULL-ended */
};
/* The registry of an image; NULL: the image comes from none. `unknown` is filled in
 * and returned for a registry that has one host only. */
const struct slurm_registry *slurm_registry_of(const struct slurm_image *image,
                                               struct slurm_registry *unknown);
/* Prints a record "credential WORD MACHINE FILE" for each machine: ok, missing, or open to others. */
void slurm_credentials_check(struct sw_buf *out, const struct slurm_registry *registry);
/* Reads the password as one line of standard input and puts it into the file, mode 0600: the line of
 * the same machine and login is replaced, others stay. */
void slurm_credentials_install(struct sw_buf *out, const struct slurm_registry *registry,
                               const char *login);

#endif
