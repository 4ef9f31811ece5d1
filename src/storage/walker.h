/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walker.h - reads a local tree in a thread of its own, at most a few thousand names ahead.
 */
#ifndef SW_STORAGE_WALKER_H
#define SW_STORAGE_WALKER_H

#include "base/error.h"

struct walked {
    struct walked *next;
    int64_t size, mtime_ms;      /* of a file; an empty folder has size 0 and a name ending in '/' */
    char name[];                 /* relative to the root */
};

struct walker;

/* `poke` is called from the thread when there is something to take. */
struct walker *walker_start(const char *root, void (*poke)(void *context), void *context);
/* All that was found so far, a list the caller frees; *over is set when no more will come. */
struct walked *walker_take(struct walker *walker, bool *over, struct sw_error *err);
void walker_stop(struct walker *walker);

#endif
