/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partial.h - a file that is arriving: hidden under a name of its own until it is whole.
 *
 * Beside a large one lies a state file: of which version of which object, and which pieces are
 * there. The next copy goes on from it when the version is still the same. The state is believed
 * only by a process of the same boot: after a power cut the pieces it names may not be on the disk.
 * A lock keeps two copies of one file apart: the second works under a name of its own.
 */
#ifndef SW_STORAGE_PARTIAL_H
#define SW_STORAGE_PARTIAL_H

#include "base/error.h"

struct partial {
    char *path;              /* the final one */
    char *part, *state;      /* the hidden ones; state NULL: one unit, or it cannot go
                                on from it */
    int fd;                  /* -1: not open */
    bool empty;              /* as opened: nothing of an earlier copy is in it */
    int64_t size, unit;      /* -1: the size is not known, one unit */
    size_t unit_count;
    unsigned char *have;     /* one bit per unit */
};
#define PARTIAL_INIT { .fd = -1 }
#define PARTIAL_PREFIX ".slipway-"     /* names that a tree walk must leave alone */

/* Open or go on. `version` is the object's etag; empty: never go on. */
int partial_open(struct partial *partial, const char *path, const char *version, int64_t size,
                 int64_t unit, struct sw_error *err);
bool partial_has(const struct partial *partial, size_t unit);
/* A unit is complete: remembered on disk for large files. */
void partial_got(struct partial *partial, size_t unit, const char *version);
/* Whole and verified: give it its modification time and its name. */
int partial_land(struct partial *partial, int64_t mtime_ms, bool flush, struct sw_error *err);
/* Let go of it; `keep`: the pieces stay for the next time. */
void partial_done(struct partial *partial, bool keep);

/* A link in the folder `folder`, in place of what has its name. */
int partial_link(int folder, const char *name, const char *target, struct sw_error *err);
/* A small file at once: hidden name, content, time, rename. */
int partial_write(const char *path, const void *bytes, size_t length, int64_t mtime_ms, bool flush,
                  struct sw_error *err);
int partial_parents(const char *path, struct sw_error *err);       /* make the folders above */

#endif
