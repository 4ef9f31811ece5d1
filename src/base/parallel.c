/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel.c - the same for each of many, some at a time.
 */
#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/auto.h"
#include "base/thread.h"

struct work {
    void (*fn)(void *context, size_t index);
    void *context;
    size_t count;
    atomic_size_t next;
};

static void *take_turns(void *argument)
{
    struct work *work = argument;

    for (size_t i; (i = atomic_fetch_add(&work->next, 1)) < work->count;)
        work->fn(work->context, i);
    return NULL;
}

void sw_parallel(size_t count, size_t most, void (*fn)(void *context, size_t index), void *context)
{
    struct work work = { .fn = fn, .context = context, .count = count };
    size_t helpers = (count < most ? count : most), started = 0;
    sw_autofree pthread_t *threads = helpers > 1 ? sw_alloc(helpers * sizeof *threads) : NULL;

    while (started + 1 < helpers && sw_thread_start(&threads[started], 0, take_turns, &work) == 0)
        started++;
    take_turns(&work);
    while (started > 0)
        pthread_join(threads[--started], NULL);
}
