/* SPDX-License-Identifier: Apache-2.0 */
/*
 * orphans.h - what carries our mark on a platform and belongs to no job of this store, as the slot orphans()
 * reports it.
 */
#ifndef SW_PLATFORM_KIT_ORPHANS_H
#define SW_PLATFORM_KIT_ORPHANS_H

#include "platform/platform.h"

struct sw_orphans {                  /* one search */
    const struct sw_sweep *sweep;
    json_t *found;                   /* the answer; owned by the caller */
};

struct sw_orphan {                   /* one thing; all borrowed, NULL: not known */
    const char *what, *where;        /* "container", its name */
    const char *job;                 /* NULL: none's */
    bool marked;                     /* the next three are its marks; false: it is a thing of this machine */
    const char *store, *uid, *owner;
    const char *kept;                /* why it stays although it is ours; NULL: it may go */
};

/* Adds it. True: it shall be removed now. */
bool sw_orphan_add(const struct sw_orphans *search, const struct sw_orphan *orphan);
/* It could not be: the last one that was added stays. */
void sw_orphan_stays(const struct sw_orphans *search);
/* Folders ROOT/ID of this machine; those that hold results are left alone. */
void sw_orphan_folders(const struct sw_orphans *search, const char *root);

#endif
