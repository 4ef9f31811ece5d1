/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watcher_serve.c - the watcher: looks after the jobs of one state folder until none needs it.
 *
 * It looks once in a while, sooner where a platform or a client wakes it: 2 s after something happened,
 * growing to 60 s while nothing does. It ends 60 s after its last duty, when the state folder is gone or
 * replaced, or when it is asked to.
 *
 * A client writes its job down before it wakes the watcher. So whether there is a duty is asked once more
 * after the socket was closed: a wake that was answered is never lost.
 */
#include "api/api_internal.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "watcher/watcher.h"

enum {
    SOONEST_MS = 2000, LATEST_MS = 60 * 1000,
    LINGER_MS = 60 * 1000,           /* after the last duty */
    LOOK_MS = 30 * 1000,             /* one look waits so long for the slowest platform */
    LOCK_MS = 5000,                  /* for one that is about to end */
};

struct api_given {                   /* the secrets of a job */
    char id[SW_ID_SIZE];
    struct sw_secrets *secrets;
    struct api_given *next;
};

struct api_watcher {
    struct sw_watcher_place place;
    struct sw_session *session;
    int wake;                        /* an eventfd: a client has something for us */
    int64_t started_ms, interval_ms, looked_ms;
    atomic_bool stops;

    pthread_mutex_t lock;            /* guards what follows */
    struct api_given *given;
    struct sw_duties due;
    json_t *unreachable;
};

/* ---- what clients say --------------------------------------------------------------------------- */

static void on_wake(void *context)
{
    const struct api_watcher *watcher = context;
    const uint64_t one = 1;

    (void)!write(watcher->wake, &one, sizeof one);
}

static void on_stop(void *context)
{
    struct api_watcher *watcher = context;

    watcher->stops = true;
    on_wake(watcher);
}

static void on_secret(void *context, const char *id, struct sw_secrets *secrets)
{
    struct api_watcher *watcher = context;
    struct api_given *given = sw_new(struct api_given);

    snprintf(given->id, sizeof given->id, "%s", id);
    given->secrets = secrets;
    pthread_mutex_lock(&watcher->lock);
    given->next = watcher->given;              /* the newest of a job comes first */
    watcher->given = given;
    pthread_mutex_unlock(&watcher->lock);
}

static json_t *on_hello(void *context)
{
    struct api_watcher *watcher = context;
    json_t *status;

    pthread_mutex_lock(&watcher->lock);
    status = sw_json_object(
        SW_STR("version", SW_VERSION), SW_INT("pid", getpid()), SW_INT("started_ms", watcher->started_ms),
        SW_STR("state_dir", watcher->place.state_dir), SW_INT("jobs", watcher->due.jobs),
        SW_INT("notices", watcher->due.notices), SW_INT("looked_ms", watcher->looked_ms),
        SW_INT("interval_ms", watcher->interval_ms),
        SW_SUB("unreachable", json_deep_copy(watcher->unreachable)));
    pthread_mutex_unlock(&watcher->lock);
    return status;
}

static const struct sw_secrets *secrets_of(void *context, const char *id)
{
    const struct sw_session *session = context;
    struct api_watcher *watcher = session->watcher;
    const struct sw_secrets *found = NULL;

    pthread_mutex_lock(&watcher->lock);
    for (const struct api_given *given = watcher->given; given && !found; given = given->next)
        if (strcmp(given->id, id) == 0)
            found = given->secrets;
    pthread_mutex_unlock(&watcher->lock);
    return found;
}

/* ---- a look ---------------------------------------------------------------------------------------- */

static void look(struct api_watcher *watcher)
{
    const struct sw_refresh_options options = { .deadline_ms = LOOK_MS, .progress = true, .act = true };
    json_t *unreachable = json_array();
    struct sw_error err = { 0 };

    if (api_refresh_within(watcher->session, NULL, 0, &options, unreachable, &err) < 0)
        json_array_append_new(unreachable, sw_json_object(SW_STR("platform", "store"),
                                                          SW_STR("message", err.message)));
    pthread_mutex_lock(&watcher->lock);
    json_decref(watcher->unreachable);
    watcher->unreachable = unreachable;
    watcher->looked_ms = sw_now_ms();
    pthread_mutex_unlock(&watcher->lock);
}

static bool has_duty(struct api_watcher *watcher)
{
    struct sw_duties due = { 0 };

    if (sw_store_duties(watcher->session->store, &due, NULL) < 0)
        return true;                 /* a store that cannot be read now is no reason to leave */
    pthread_mutex_lock(&watcher->lock);
    watcher->due = due;
    pthread_mutex_unlock(&watcher->lock);
    return due.jobs > 0 || due.notices > 0;
}

/* Until the next look, or an attempt's time. */
static int64_t pause_ms(const struct api_watcher *watcher)
{
    int64_t until_attempt = watcher->due.next_ms ? watcher->due.next_ms - sw_now_ms() : watcher->interval_ms;

    if (until_attempt < 0)
        until_attempt = 0;
    return until_attempt < watcher->interval_ms ? until_attempt + 1 : watcher->interval_ms;
}

static void watch(struct api_watcher *watcher)
{
    int64_t last_duty_ms = sw_monotonic_ms();

    while (!watcher->stops && sw_watcher_place_holds(&watcher->place)) {
        struct sw_duties before = watcher->due;

        if (has_duty(watcher)) {
            last_duty_ms = sw_monotonic_ms();
            look(watcher);
            has_duty(watcher);
        } else if (sw_monotonic_ms() - last_duty_ms > LINGER_MS) {
            return;
        }
        watcher->interval_ms = memcmp(&before, &watcher->due, sizeof before) != 0 ? SOONEST_MS
                               : watcher->interval_ms * 3 / 2 < LATEST_MS ? watcher->interval_ms * 3 / 2 : LATEST_MS;
        if (api_wait_for_wake_or(watcher->session, pause_ms(watcher), watcher->wake) == API_WOKEN)
            watcher->interval_ms = SOONEST_MS;
    }
}

/* ---- the process ----------------------------------------------------------------------------------- */

static int take_lock(const struct sw_watcher_place *place, struct sw_error *err)
{
    int64_t until_ms = sw_monotonic_ms() + LOCK_MS;

    for (;;) {
        struct sw_error why = { 0 };
        int lock = sw_watcher_lock(place, &why);

        if (lock >= 0)
            return lock;
        if (why.code != SW_E_CONFLICT || sw_watcher_wake(place, NULL) > 0 || sw_monotonic_ms() > until_ms)
            return sw_pass(err, &why);
        sw_sleep_ms(5);              /* one that is about to end answers no more */
    }
}

static void forget_secrets(struct api_watcher *watcher)
{
    while (watcher->given) {
        struct api_given *given = watcher->given;

        watcher->given = given->next;
        sw_secrets_free(given->secrets);
        free(given);
    }
}

static int serve(struct api_watcher *watcher, struct sw_error *err)
{
    const struct sw_watcher_service service = { on_hello, on_wake, on_secret, on_stop, watcher };

    do {
        struct sw_watcher_door *door = sw_watcher_listen(&watcher->place, &service, err);

        if (!door)
            return -1;
        watch(watcher);
        sw_watcher_close(door, NULL);
    } while (!watcher->stops && sw_watcher_place_holds(&watcher->place) && has_duty(watcher));
    return 0;
}

int sw_watcher_serve(const char *state_dir, struct sw_error *err)
{
    struct api_watcher watcher = { .interval_ms = SOONEST_MS, .started_ms = sw_now_ms(),
                                   .unreachable = json_array() };
    const struct sw_open_options options = { .size = sizeof options, .state_dir = state_dir };
    sw_autofd int lock = -1, wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int result = -1;

    watcher.wake = wake;
    pthread_mutex_init(&watcher.lock, NULL);
    if (sw_watcher_place(state_dir, &watcher.place, err) == 0 &&
        (lock = take_lock(&watcher.place, err)) >= 0 && (watcher.session = sw_open(&options, err))) {
        watcher.session->secrets = secrets_of;
        watcher.session->watcher = &watcher;
        result = serve(&watcher, err);
    }
    sw_close(watcher.session);
    forget_secrets(&watcher);
    json_decref(watcher.unreachable);
    sw_watcher_place_done(&watcher.place);
    return result;
}
