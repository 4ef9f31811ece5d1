/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - a few threads for what may stall: opening, hashing, writing and renaming files.
 *
 * The network loop hands over a job and goes on; the job's answer is picked up in the loop again,
 * so that nothing but work() runs beside it and nothing else needs a lock.
 */
#ifndef SW_STORAGE_POOL_H
#define SW_STORAGE_POOL_H

#include <stddef.h>
#include <stdint.h>

struct pool_job {
    struct pool_job *next;
    void (*work)(struct pool_job *job);      /* in some thread */
    void (*done)(struct pool_job *job);      /* in the loop, from pool_collect() */
    enum { POOL_USUAL, POOL_LIGHT, POOL_HEAVY } weight;    /* light: a small file; heavy: hashing */
};

struct pool;

struct pool *pool_new(void);
void pool_free(struct pool *pool);           /* waits for the jobs at work; drops their done() */

/* Called from a thread of the pool when there is something to collect. */
void pool_on_ready(struct pool *pool, void (*wake)(void *context), void *context);

void pool_run(struct pool *pool, struct pool_job *job);
size_t pool_collect(struct pool *pool);      /* how many were done */
size_t pool_pending(const struct pool *pool);
void pool_wait(struct pool *pool, int64_t wait_ms);      /* until something is ready to collect */
void pool_poke(struct pool *pool);           /* from any thread: what pool_wait() waits for is here */

#endif
