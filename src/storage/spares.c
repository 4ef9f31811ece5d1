/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spares.c - see spares.h. There are never more than were in use at once, so nothing is counted.
 */
#include "storage/spares.h"

#include "base/auto.h"

struct spare {
    struct spare *next;                  /* in the block itself */
};

void *spares_take(struct spares *spares)
{
    struct spare *spare = spares->first;

    if (!spare)
        return sw_realloc_array(NULL, spares->size, 1);      /* pages that nobody fills cost nothing */
    spares->first = spare->next;
    return spare;
}

void spares_give(struct spares *spares, void *block)
{
    struct spare *spare = block;

    if (!spare)
        return;
    spare->next = spares->first;
    spares->first = spare;
}

void spares_done(struct spares *spares)
{
    while (spares->first)
        free(spares_take(spares));
}
