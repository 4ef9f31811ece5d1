/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - a thread that listens to a platform's stream of events, and a cache of what it heard.
 *
 * The platform supplies one function that opens a stream and hands over its events. The kit supplies the
 * thread, the descriptor that wakes callers, the pauses between two streams, and the cache. Events may be
 * lost between two streams, so the cache counts only while one stream lasts: at its end the cache is
 * emptied and callers are woken to list again.
 *
 *     observe() --- sw_watch_lock(): cache, or NULL: list ---+
 *                                                            |
 *     wake_fd() --- sw_watch_fd(): readable after an event   |
 *                                                            v
 *     thread: listen() -> sw_watch_event() -> note(cache, event)
 */
#ifndef SW_PLATFORM_KIT_WATCH_H
#define SW_PLATFORM_KIT_WATCH_H

#include "base/json.h"

struct sw_watch;

enum sw_watch_end {
    SW_WATCH_NO_STREAM,          /* none began: the next try comes after a longer pause */
    SW_WATCH_STREAM_ENDED,       /* one began and ended: the next try comes soon */
    SW_WATCH_UNSUPPORTED,        /* this server's events are not reliable: no further try */
};

struct sw_watch_source {
    /* Before the thread starts. false: there will be no watch. */
    bool (*start)(void *context);
    /* On the thread: open one stream and give each event to sw_watch_event(), until the stream ends or
     * sw_watch_is_closed(). */
    enum sw_watch_end (*listen)(void *context, struct sw_watch *watch);
    /* From another thread: make listen() return soon. */
    void (*interrupt)(void *context);
    /* Pure: put one event into the cache. true: what observe() says may change, so callers are woken. */
    bool (*note)(json_t *cache, const json_t *event);
    /* The context is used no more: free it. Called on either thread. */
    void (*done)(void *context);
};

/* Starts nothing. `source` must outlive the watch; `context` belongs to the watch from now on. */
struct sw_watch *sw_watch_new(const struct sw_watch_source *source, void *context);
/* Does not wait for the thread: the last of the two frees the watch. NULL is fine. */
void sw_watch_close(struct sw_watch *watch);

/* The descriptor of the slot wake_fd: readable after an event that matters, and after a gap. The first call
 * starts the thread. It stays the watch's. -1: this platform cannot be watched. */
int sw_watch_fd(struct sw_watch *watch);

/* The cache: an object, filled by note(). Locked until sw_watch_unlock(), which must follow in any case.
 * NULL: no stream is open, so only a list tells. */
json_t *sw_watch_lock(struct sw_watch *watch);
void sw_watch_unlock(struct sw_watch *watch);

/* For listen(). Take one event; false: the watch was closed, so listen() shall return. */
bool sw_watch_event(struct sw_watch *watch, const json_t *event);
bool sw_watch_is_closed(struct sw_watch *watch);

#endif
