/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - see watch.h.
 *
 * The thread may be blocked in a connect to a dead host. It shares nothing with its owner but this struct,
 * so closing leaves it behind, and the last of the two frees the struct.
 */
#include "platform/kit/watch.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"

enum { CACHE_MAX = 8192, PAUSE_MS = 200, PAUSE_MAX_MS = 5000 };

struct sw_watch {
    const struct sw_watch_source *source;
    void *context;
    pthread_mutex_t lock;            /* guards all that follows */
    pthread_cond_t closing;
    json_t *cache;
    int wake_fd;                     /* an eventfd */
    int references;                  /* the owner's and the thread's */
    bool started, listening, closed, unsupported;
};

static void watch_free(struct sw_watch *watch)
{
    assert(watch->references == 0);
    watch->source->done(watch->context);
    json_decref(watch->cache);
    if (watch->wake_fd >= 0)
        close(watch->wake_fd);
    pthread_cond_destroy(&watch->closing);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}

static void drop_reference(struct sw_watch *watch)
{
    int left;

    pthread_mutex_lock(&watch->lock);
    left = --watch->references;
    pthread_mutex_unlock(&watch->lock);
    if (left == 0)
        watch_free(watch);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void wake(struct sw_watch *watch)
{
    (void)!write(watch->wake_fd, &(uint64_t){ 1 }, sizeof(uint64_t));    /* full: it is readable already */
}

bool sw_watch_event(struct sw_watch *watch, const json_t *event)
{
    bool closed;

    pthread_mutex_lock(&watch->lock);
    if (json_object_size(watch->cache) > CACHE_MAX)
        json_object_clear(watch->cache);
    if (watch->source->note(watch->cache, event))
        wake(watch);
    closed = watch->closed;
    pthread_mutex_unlock(&watch->lock);
    return !closed;
}

bool sw_watch_is_closed(struct sw_watch *watch)
{
    bool closed;

    pthread_mutex_lock(&watch->lock);
    closed = watch->closed;
    pthread_mutex_unlock(&watch->lock);
    return closed;
}

/* What one stream told does not count beside another: events may be lost between them. */
static void set_listening(struct sw_watch *watch, bool listening)
{
    pthread_mutex_lock(&watch->lock);
    watch->listening = listening;
    json_object_clear(watch->cache);
    pthread_mutex_unlock(&watch->lock);
}

static enum sw_watch_end listen_once(struct sw_watch *watch)
{
    enum sw_watch_end end;

    set_listening(watch, true);
    end = watch->source->listen(watch->context, watch);
    set_listening(watch, false);
    wake(watch);
    return end;
}

static void pause_ms(struct sw_watch *watch, int64_t ms)
{
    int64_t until_ms = sw_monotonic_ms() + ms;
    const struct timespec until = { .tv_sec = until_ms / 1000,
                                    .tv_nsec = until_ms % 1000 * 1000000 };

    pthread_mutex_lock(&watch->lock);
    while (!watch->closed && pthread_cond_timedwait(&watch->closing, &watch->lock, &until) == 0)
        ;
    pthread_mutex_unlock(&watch->lock);
}

static void *watch_thread(void *context)
{
    struct sw_watch *watch = context;
    int64_t pause = PAUSE_MS;

    while (!sw_watch_is_closed(watch)) {
        enum sw_watch_end end = listen_once(watch);

        if (end == SW_WATCH_UNSUPPORTED)
            break;
        pause = end == SW_WATCH_STREAM_ENDED ? PAUSE_MS : pause * 2;
        pause = pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS;
        pause_ms(watch, pause);
    }
    pthread_mutex_lock(&watch->lock);
    watch->unsupported = true;
    pthread_mutex_unlock(&watch->lock);
    drop_reference(watch);
    return NULL;
}

static bool start_thread(struct sw_watch *watch)
{
    SW_ASSERT_HELD(&watch->lock);
    assert(!watch->started);
    if (!watch->source->start(watch->context))
        return false;
    watch->references++;
    if (sw_thread_start(NULL, 0, watch_thread, watch) == 0)
        return true;
    watch->references--;
    return false;
}

/* ---- for the owner --------------------------------------------------------------------------- */

struct sw_watch *sw_watch_new(const struct sw_watch_source *source, void *context)
{
    struct sw_watch *watch = sw_new(struct sw_watch);

    assert(source->start && source->listen && source->interrupt && source->note && source->done);
    pthread_mutex_init(&watch->lock, NULL);
    sw_cond_init_monotonic(&watch->closing);
    watch->source = source;
    watch->context = context;
    watch->cache = json_object();
    watch->wake_fd = -1;
    watch->references = 1;
    return watch;
}

void sw_watch_close(struct sw_watch *watch)
{
    if (!watch)
        return;
    pthread_mutex_lock(&watch->lock);
    watch->closed = true;
    if (watch->started)
        watch->source->interrupt(watch->context);
    pthread_cond_signal(&watch->closing);
    pthread_mutex_unlock(&watch->lock);
    drop_reference(watch);
}

int sw_watch_fd(struct sw_watch *watch)
{
    int fd;

    pthread_mutex_lock(&watch->lock);
    if (!watch->started && !watch->unsupported) {
        watch->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        watch->unsupported = watch->wake_fd < 0 || !start_thread(watch);
        watch->started = !watch->unsupported;
    }
    fd = watch->unsupported ? -1 : watch->wake_fd;
    pthread_mutex_unlock(&watch->lock);
    return fd;
}

json_t *sw_watch_lock(struct sw_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    return watch->listening ? watch->cache : NULL;
}

void sw_watch_unlock(struct sw_watch *watch)
{
    pthread_mutex_unlock(&watch->lock);
}
