/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spares.h - blocks of one size that are handed on from item to item, since some allocators ask the kernel
 * for each.
 */
#ifndef SW_STORAGE_SPARES_H
#define SW_STORAGE_SPARES_H

#include <stddef.h>

struct spares {
    size_t size;
    struct spare *first;                 /* those that nobody uses now */
};

void *spares_take(struct spares *spares);            /* its content is whatever was in it */
void spares_give(struct spares *spares, void *block);    /* NULL: nothing */
void spares_done(struct spares *spares);             /* those that are out are not its business */

#endif
