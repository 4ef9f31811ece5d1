/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_credentials.h - what enroot on the cluster needs to know about a private registry.
 *
 * Which lines of .credentials an image needs, the text that checks for them, and the text that puts
 * one in. The password itself is never part of a text: it follows on standard input.
 *
 * Pure: no I/O.
 */
#ifndef SW_PLATFORM_SLURM_CREDENTIALS_H
#define SW_PLATFORM_SLURM_CREDENTIALS_H

#include "platform/slurm/slurm_image.h"

struct slurm_registry {
    const char *host;              /* as struct sw_image_ref has it */
    const char *machines[3];       /* that .credentials must name; NULL-ended */
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
