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

/* Where in `folder` a job that may write to the repository has its own copy, owned. NULL: it may not, or
 * there is no such folder, and it sees the clone that jobs share. */
char *sw_mount_own(const struct sw_mount *mount, const char *folder);

/* Have the repository in `cache` on this machine: the folder of its clone, or of the job's own copy below
 * `folder` (NULL: none is made), owned; NULL + err says which entry and why. Runs sh and git. */
char *sw_mount_clone(const struct sw_mount *mount, const char *cache, const char *folder,
                     struct sw_error *err);

#endif
