/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h - a thread that gets no signals: those are for the threads of the program itself, whose
 * handlers expect to run there.
 *
 * A thread is not gone when its function has returned: what libraries keep for each thread is freed after
 * that, and at the exit of the program the same libraries take themselves apart (OpenSSL does). Threads
 * that are never waited for are therefore joined here, once their function is through.
 */
#ifndef SW_BASE_THREAD_H
#define SW_BASE_THREAD_H

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

/* `thread` NULL: the caller never joins it. `stack` 0: the usual size. 0, or -1: there can be no more. */
int sw_thread_start(pthread_t *thread, size_t stack, void *(*body)(void *), void *context);

/* Join the threads started with NULL that have ended. Returns how many still work: a program that ends
 * meanwhile must do so with _exit(). */
int sw_thread_settle(void);

/* The caller holds this lock: said in code, not in a comment. */
#define SW_ASSERT_HELD(mutex) assert(pthread_mutex_trylock(mutex) == EBUSY)

/* A condition whose timed waits count by CLOCK_MONOTONIC, as sw_monotonic_ms() does: setting the wall clock
 * moves no deadline. */
void sw_cond_init_monotonic(pthread_cond_t *cond);

#endif
