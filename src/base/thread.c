/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.c - see thread.h.
 */
#include "base/thread.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/auto.h"

struct unwatched {
    pthread_t thread;
    void *(*body)(void *);
    void *context;
    bool through;
    struct unwatched *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct unwatched *all;

static int create(pthread_t *thread, size_t stack, void *(*body)(void *), void *context)
{
    pthread_attr_t attributes;
    sigset_t none, before;
    int result;

    pthread_attr_init(&attributes);
    if (stack)
        pthread_attr_setstacksize(&attributes, stack);
    sigfillset(&none);
    pthread_sigmask(SIG_SETMASK, &none, &before);
    result = pthread_create(thread, &attributes, body, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return result == 0 ? 0 : -1;
}

static void *run_unwatched(void *context)
{
    struct unwatched *one = context;

    one->body(one->context);
    pthread_mutex_lock(&lock);
    one->through = true;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int sw_thread_start(pthread_t *thread, size_t stack, void *(*body)(void *), void *context)
{
    struct unwatched *one;

    if (thread)
        return create(thread, stack, body, context);
    sw_thread_settle();
    one = sw_new(struct unwatched);
    *one = (struct unwatched){ .body = body, .context = context };
    pthread_mutex_lock(&lock);
    if (create(&one->thread, stack, run_unwatched, one) < 0) {
        pthread_mutex_unlock(&lock);
        free(one);
        return -1;
    }
    one->next = all;
    all = one;
    pthread_mutex_unlock(&lock);
    return 0;
}

int sw_thread_settle(void)
{
    struct unwatched **at = &all;
    int working = 0;

    pthread_mutex_lock(&lock);
    while (*at) {
        struct unwatched *one = *at;

        if (one->through) {
            *at = one->next;
            pthread_join(one->thread, NULL);
            free(one);
        } else {
            at = &one->next;
            working++;
        }
    }
    pthread_mutex_unlock(&lock);
    return working;
}

void sw_cond_init_monotonic(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}
