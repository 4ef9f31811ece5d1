/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h - a thread that gets no signals: those are for the threads of the program itself, whose
 * handlers expect to run there.
 */
#ifndef SW_BASE_THREAD_H
#define SW_BASE_THREAD_H

#include <pthread.h>
#include <stddef.h>

/* `thread` NULL: nobody will join it. `stack` 0: the usual size. 0, or -1: there can be no more. */
int sw_thread_start(pthread_t *thread, size_t stack, void *(*body)(void *), void *context);

#endif
