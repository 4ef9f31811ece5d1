/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.c - see thread.h.
 */
#include "base/thread.h"

#include <signal.h>

int sw_thread_start(pthread_t *thread, size_t stack, void *(*body)(void *), void *context)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_t unwatched;
    int result;

    pthread_attr_init(&attributes);
    if (!thread)
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (stack)
        pthread_attr_setstacksize(&attributes, stack);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    result = pthread_create(thread ? thread : &unwatched, &attributes, body, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return result == 0 ? 0 : -1;
}
