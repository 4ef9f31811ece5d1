/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount.h - one entry of `mounts:`: a folder, or a git repository at one commit, at a path of the
 * job's place.
 *
 *     /lustre/data:/data:ro                          SOURCE:TARGET[:FLAGS]
 *     /lustre                                        the same path on both sides
 *     git+https://host/team/code.git@v1.2:/opt/code  git+URL[@REF]:TARGET[:FLAGS]
 *
 * Here entries are only read. Where the source must exist, and how a repository gets there, is the
 * platform's business; that an entry which cannot be had stops the submit is everybody's.
 */
#ifndef SW_CORE_MOUNT_H
#define SW_CORE_MOUNT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"

enum sw_mount_kind { SW_MOUNT_PATH, SW_MOUNT_GIT };

struct sw_mount {             /* all owned */
    enum sw_mount_kind kind;
    char *source;             /* a path as it was written, or the repository's URL */
    char *ref;                /* git: branch, tag or commit, "HEAD" when none was said; else NULL */
    char *target;             /* absolute path */
    char *flags;              /* "ro", "ro+rprivate"; NULL: none were said */
};

/* -1 SW_E_SPEC: what is wrong with the entry; then `out` is empty. */
int sw_mount_parse(const char *text, struct sw_mount *out, struct sw_error *err);
void sw_mount_done(struct sw_mount *mount);
static inline void sw_mount_auto(struct sw_mount *mount) { sw_mount_done(mount); }

/* Is the ref a whole commit already, so that its meaning is known without a query? */
bool sw_mount_is_commit(const struct sw_mount *mount);
bool sw_mount_says(const struct sw_mount *mount, const char *flag);
/* May the job write there? Only where "rw" was said, or where it is a plain path without "ro". */
bool sw_mount_is_writable(const struct sw_mount *mount);

struct sw_mounts {
    struct sw_mount *items;
    size_t count;
};

/* An array of texts; NULL: none. Two entries with one target are refused. */
int sw_mounts_parse(const json_t *list, struct sw_mounts *out, struct sw_error *err);
void sw_mounts_done(struct sw_mounts *mounts);
static inline void sw_mounts_auto(struct sw_mounts *mounts) { sw_mounts_done(mounts); }

#endif
