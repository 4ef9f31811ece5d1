/* SPDX-License-Identifier: Apache-2.0 */
/*
 * together.c - many changes in one transaction: what would be one disk flush for each job is one for all.
 *
 * Inside, every function of the store is a step of its own: one that fails is undone alone.
 */
#include "store/store_internal.h"

int sw_store_together(struct sw_store *store, int (*fn)(void *context, struct sw_error *err),
                      void *context, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;

    if (store_begin(&work, store, STORE_DURABLE, err) < 0 || fn(context, err) < 0)
        return -1;
    return store_commit(&work, err);
}

void store_mutex_init(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t again;

    pthread_mutexattr_init(&again);
    pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(mutex, &again);
    pthread_mutexattr_destroy(&again);
}
