/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - see pool.h. Threads are made when there is work for them, at most POOL_THREADS: on a
 * network file system each rename takes a round trip, and eight of them at once take one too.
 *
 * A light job on a local disk is over before another thread would have been woken. With two processors
 * or fewer, where that thread would only take the place of the server or of the loop, it is done at
 * once; two in a row that took long (a network file system, a full queue of the disk) send the next
 * few hundred to threads. One alone may just have lost its processor to another program. Elsewhere a thread
 * is woken only when those awake fall behind.
 */
#include "storage/pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <time.h>

#include "base/auto.h"
#include "base/thread.h"

#define POOL_THREADS 8
#define POOL_STACK   (256 * 1024)
#define BEHIND       4                     /* jobs that may wait for each thread awake */
#define QUICK_NS     2000000               /* a light job that took longer was not light */
#define DISTRUST     256                   /* ... nor will be this many more */

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t work, ready;
    struct pool_job *todo, **todo_end;
    struct pool_job *finished, **finished_end;
    pthread_t threads[POOL_THREADS];
    size_t thread_count, idle, queued;
    size_t busy;                           /* threads at jobs that are not heavy, or on their way */
    size_t distrust;                       /* light jobs that go to threads; touched by the loop only */
    bool was_slow;                         /* the last light job took long; likewise */
    size_t pending;                        /* touched by the loop only */
    bool closing, poked, few_processors;
    void (*wake)(void *context);
    void *wake_context;
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct pool *pool_new(void)
{
    struct pool *pool = sw_new(struct pool);
    cpu_set_t ours;

    CPU_ZERO(&ours);
    pool->few_processors = sched_getaffinity(0, sizeof ours, &ours) == 0 && CPU_COUNT(&ours) <= 2;

    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    sw_cond_init_monotonic(&pool->ready);
    pool->todo_end = &pool->todo;
    pool->finished_end = &pool->finished;
    return pool;
}

void pool_on_ready(struct pool *pool, void (*wake)(void *context), void *context)
{
    pthread_mutex_lock(&pool->lock);
    pool->wake = wake;
    pool->wake_context = context;
    pthread_mutex_unlock(&pool->lock);
}

static struct pool_job *next_job(struct pool *pool)
{
    struct pool_job *job;

    while (!pool->todo && !pool->closing) {
        pool->idle++;
        pool->busy--;
        pthread_cond_wait(&pool->work, &pool->lock);
    }
    if (pool->closing)
        return NULL;
    job = pool->todo;
    pool->todo = job->next;
    pool->queued--;
    if (!pool->todo)
        pool->todo_end = &pool->todo;
    return job;
}

static void hand_back(struct pool *pool, struct pool_job *job)
{
    bool first = !pool->finished;

    job->next = NULL;
    *pool->finished_end = job;
    pool->finished_end = &job->next;
    if (!first)
        return;
    pthread_cond_signal(&pool->ready);
    if (pool->wake)
        pool->wake(pool->wake_context);
}

static void *thread_main(void *context)
{
    struct pool *pool = context;
    struct pool_job *job;

    pthread_mutex_lock(&pool->lock);
    while ((job = next_job(pool))) {
        bool heavy = job->weight == POOL_HEAVY;

        pool->busy -= heavy;
        pthread_mutex_unlock(&pool->lock);
        job->work(job);
        pthread_mutex_lock(&pool->lock);
        pool->busy += heavy;
        hand_back(pool, job);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static bool add_thread(struct pool *pool)
{
    bool made = sw_thread_start(&pool->threads[pool->thread_count], POOL_STACK, thread_main,
                                pool) == 0;

    pool->thread_count += made;
    return made;
}

/* A thread on its way counts as busy, or every job of a volley would wake another. */
static void wake_one(struct pool *pool)
{
    if (pool->idle) {
        pool->idle--;
        pool->busy++;
        pthread_cond_signal(&pool->work);
    } else if (pool->thread_count < POOL_THREADS) {
        pool->busy += add_thread(pool);
    }
}

static void do_here(struct pool *pool, struct pool_job *job)
{
    int64_t began = now_ns();
    bool slow;

    job->work(job);
    slow = now_ns() - began > QUICK_NS;
    if (slow && pool->was_slow)
        pool->distrust = DISTRUST;
    pool->was_slow = slow;
    pthread_mutex_lock(&pool->lock);
    hand_back(pool, job);
    pthread_mutex_unlock(&pool->lock);
}

void pool_run(struct pool *pool, struct pool_job *job)
{
    bool alone;

    job->next = NULL;
    pool->pending++;
    if (pool->few_processors && job->weight == POOL_LIGHT && !pool->distrust) {
        do_here(pool, job);
        return;
    }
    pool->distrust -= pool->distrust > 0;
    pthread_mutex_lock(&pool->lock);
    if (job->weight == POOL_HEAVY || pool->queued >= BEHIND * pool->busy)
        wake_one(pool);
    alone = !pool->thread_count;
    if (!alone) {
        *pool->todo_end = job;
        pool->todo_end = &job->next;
        pool->queued++;
    }
    pthread_mutex_unlock(&pool->lock);
    if (alone)
        do_here(pool, job);                /* no thread to be had: slower, but it works */
}

size_t pool_collect(struct pool *pool)
{
    struct pool_job *job;
    size_t count = 0;

    pthread_mutex_lock(&pool->lock);
    job = pool->finished;
    pool->finished = NULL;
    pool->finished_end = &pool->finished;
    pool->poked = false;
    pthread_mutex_unlock(&pool->lock);
    for (struct pool_job *next; job; job = next, count++) {
        next = job->next;
        pool->pending--;
        job->done(job);
    }
    return count;
}

size_t pool_pending(const struct pool *pool)
{
    return pool->pending;
}

void pool_poke(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->poked = true;
    pthread_cond_signal(&pool->ready);
    if (pool->wake)
        pool->wake(pool->wake_context);
    pthread_mutex_unlock(&pool->lock);
}

void pool_wait(struct pool *pool, int64_t wait_ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += wait_ms % 1000 * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&pool->lock);
    while (!pool->finished && !pool->poked &&
           pthread_cond_timedwait(&pool->ready, &pool->lock, &until) != ETIMEDOUT) {
    }
    pthread_mutex_unlock(&pool->lock);
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->ready);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}
