/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mounts.h - `mounts:` where the files have to be: shell texts that any machine with a shell runs, and
 * the same thing done on this one.
 *
 * A repository is cloned once for each commit into a cache; ten who ask together make one clone.
 */
#ifndef SW_PLAN_MOUNTS_H
#define SW_PLAN_MOUNTS_H

#include "base/buf.h"
#include "core/mount.h"

/* once.sh: sw_say, sw_once. mounts.sh: sw_mount, sw_mount_git, sw_mounts_keep; after once.sh. Pure. */
void sw_text_once(struct sw_buf *out);
void sw_text_mounts(struct sw_buf *out);

/* The readable part of a clone's name, different for two repositories: "code-1a2b3c4d". Owned. */
char *sw_mount_clone_name(const struct sw_mount *mount);

/* Have the repository in `cache` on this machine: the folder of its clone, owned; NULL + err says
 * which entry and why. Runs sh and git. */
char *sw_mount_clone(const struct sw_mount *mount, const char *cache, struct sw_error *err);

#endif
