/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel.h - the same for each of many, some at a time.
 */
#ifndef SW_BASE_PARALLEL_H
#define SW_BASE_PARALLEL_H

#include <stddef.h>

/* Call fn(context, i) for every i below `count`, at most `most` of them at a time, and return when all are
 * done. The caller works, too: where no thread can be started it does all of them. */
void sw_parallel(size_t count, size_t most, void (*fn)(void *context, size_t index), void *context);

#endif
