/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beneath.h - open what lies below a folder, and never anything else.
 *
 * Results and code trees are written by others, perhaps at this moment: a link in them may lead
 * anywhere, and a folder may become a link while we look. The kernel decides at the moment of
 * opening (openat2); one that cannot is replaced by opening step by step.
 */
#ifndef SW_BASE_BENEATH_H
#define SW_BASE_BENEATH_H

#include <stdbool.h>

/* `path` is relative to the folder `root`. With `follow` links are followed as long as they stay
 * below it; without, no part of the path may be one. A descriptor, or -1 with errno: EXDEV it leads
 * out, ELOOP a link (or too many), else as open(2). O_CLOEXEC is added. */
int sw_open_beneath(int root, const char *path, int flags, bool follow);
/* The same without openat2(), for old kernels. */
int sw_open_by_steps(int root, const char *path, int flags, bool follow);

#endif
