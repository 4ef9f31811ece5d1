/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git.h - what the repository around a job says: commit, branch, and what was not committed.
 */
#ifndef SW_PLAN_GIT_H
#define SW_PLAN_GIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum { SW_GIT_DIFF_MAX = 256 * 1024 };

struct sw_git {
    char *root;                      /* folder of the repository; NULL: there is none */
    char *branch;                    /* NULL: none is checked out */
    char *commit;                    /* NULL: nothing is committed yet, or its name cannot be read */
    bool looked;                     /* git answered: what follows is known */
    int64_t untracked;               /* files and folders that git does not know and does not ignore */
    struct sw_buf diff;              /* of tracked files; files of credentials are left out */
    bool cut;                        /* it was longer than SW_GIT_DIFF_MAX, and ends with a whole line */
};

/* Of the repository that `folder` is in; without one no program is started. The folder may come from anyone:
 * nothing of the repository's own configuration is used, so that no program that it names is run.
 * `state_dir` keeps a repository of ours, which is made when it is needed first. Takes a few seconds at
 * most. */
void sw_git_look(const char *folder, const char *state_dir, struct sw_git *out);
void sw_git_copy(const struct sw_git *git, struct sw_git *out);
void sw_git_done(struct sw_git *git);
static inline void sw_git_auto(struct sw_git *git) { sw_git_done(git); }

#endif
