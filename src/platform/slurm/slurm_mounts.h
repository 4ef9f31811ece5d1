/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_mounts.h - `mounts:` on a cluster: what is made sure of at submit, and what the step gets.
 *
 * Plain folders go to --container-mounts as they are. A repository's commit is known only when the
 * login node has asked, so staging writes the whole list into a file, and the batch script reads it.
 *
 * Pure: no I/O.
 */
#ifndef SW_PLATFORM_SLURM_MOUNTS_H
#define SW_PLATFORM_SLURM_MOUNTS_H

#include "base/buf.h"
#include "core/mount.h"
#include "platform/slurm/slurm_text.h"

struct slurm_mounts_site {
    const char *cache;        /* folder of the clones, shared by all nodes */
    const char *own;          /* folder of this job, for repositories that it may write to; NULL: none */
    const char *list;         /* file that the list is left in, for the batch script */
    bool check;               /* sources of folders must exist on the login node */
    int limit_s;              /* one git command; 0: 600 */
    struct slurm_patience patience;
};

/* What a cluster cannot mount: paths of the client's machine. */
int slurm_mounts_check(const struct sw_mounts *mounts, struct sw_error *err);
/* Shell text for the submit, on the login node, behind sw_text_once(). It ends the
 * script with a sentence when an entry cannot be had; prints "mount TARGET COMMIT PATH" for each
 * repository. */
void slurm_mounts_stage(struct sw_buf *out, const struct sw_mounts *mounts,
                        const struct slurm_mounts_site *site);
/* The entries in words, one line each, for `slipway plan`. */
void slurm_mounts_describe(struct sw_buf *out, const struct sw_mounts *mounts,
                           const struct slurm_mounts_site *site);

#endif
