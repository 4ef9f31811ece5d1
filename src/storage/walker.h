/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walker.h - reads a local tree in a thread of its own, at most a few thousand names ahead.
 */
#ifndef SW_STORAGE_WALKER_H
#define SW_STORAGE_WALKER_H

#include "base/error.h"

/* What becomes of links. Those that lead out of the root are left out but for the last. */
enum walker_links {
    WALK_KEEP,                   /* told as links */
    WALK_INSIDE,                 /* stand for what they lead to */
    WALK_ANYWHERE,               /* the same, wherever that is: the user asked for it */
};

struct walked {
    struct walked *next;
    int64_t size, mtime_ms;      /* of a file; an empty folder has size 0 and a name ending in '/' */
    char *target;                /* of a link; NULL: none; owned */
    const char *left_out;        /* why it has no content for us; NULL: it has; static */
    char name[];                 /* relative to the root */
};
void walked_free(struct walked *walked);

struct walker;

/* The folder `root` (shown as `name`) stays the caller's and open. `poke` is called from the thread
 * when there is something to take. */
struct walker *walker_start(int root, const char *name, enum walker_links links,
                            void (*poke)(void *context), void *context);
/* All that was found so far, a list the caller frees; *over is set when no more will come. */
struct walked *walker_take(struct walker *walker, bool *over, struct sw_error *err);
void walker_stop(struct walker *walker);

#endif
