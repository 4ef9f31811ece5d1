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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "watcher/watcher.h"

static const char REPLACED[] = "its program was replaced";

enum {
    SOONEST_MS = 2000, LATEST_MS = 60 * 1000,
    LINGER_MS = 60 * 1000,           /* after the last duty */
    LOOK_MS = 30 * 1000,             /* one look waits so long for the slowest platform */
    LOCK_MS = 5000,                  /* for one that is about to end */
    SUSPEND_MS = 2000,               /* less is no suspend */
};

struct api_given {                   /* the secrets of a job */
    char id[SW_ID_SIZE];
    struct sw_secrets *secrets;
    struct api_given *next;
};

struct api_watcher {
    struct sw_watcher_place place;
    struct sw_session *session;
    struct sw_program program;       /* our own file, as it was when we started */
    int wake;                        /* an eventfd: a client has something for us */
    int64_t started_ms, interval_ms, looked_ms;
    int64_t slept_ms;                /* how long the machine has been suspended since it started */
    atomic_bool stops;
    const char *why;                 /* it ends */

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

static void on_stream(void *context, const char *line, int fd)
{
    const struct api_watcher *watcher = context;

    api_watcher_share(watcher->session, line, fd);
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

/* All that it was given, in one set; owned. */
static struct sw_secrets *all_secrets(struct api_watcher *watcher)
{
    struct sw_secrets *all = sw_secrets_new();

    pthread_mutex_lock(&watcher->lock);
    for (const struct api_given *given = watcher->given; given; given = given->next)
        sw_secrets_add_owned(all, given->id, given->secrets);
    pthread_mutex_unlock(&watcher->lock);
    return all;
}

/* The other way round, from one that ended. */
static void take_secrets(struct api_watcher *watcher, const struct sw_secrets *all)
{
    for (size_t i = 0; i < sw_secrets_count(all); i++) {
        const char *name = sw_secrets_name(all, i);
        sw_autofree char *id = sw_strndup(name, strcspn(name, "/"));

        if (!secrets_of(watcher->session, id))
            on_secret(watcher, id, sw_secrets_owned(all, id));
    }
}

static void note(struct api_watcher *watcher, const char *format, const char *text)
{
    sw_auto(sw_secrets) struct sw_secrets *all = all_secrets(watcher);
    sw_autofree char *line = sw_format("%s%s", format, text);

    sw_watcher_log(&watcher->place, all, line);
}

/* ---- a look ---------------------------------------------------------------------------------------- */

/* How long this machine was suspended since it started. */
static int64_t suspended_ms(void)
{
    struct timespec with, without;

    clock_gettime(CLOCK_BOOTTIME, &with);
    clock_gettime(CLOCK_MONOTONIC, &without);
    return (with.tv_sec - without.tv_sec) * 1000 + (with.tv_nsec - without.tv_nsec) / 1000000;
}

static void add_error(json_t *errors, const char *platform, const char *message)
{
    json_array_append_new(errors, sw_json_object(SW_STR("platform", platform), SW_STR("message", message)));
}

/* What is new among them goes into the log. */
static void log_errors(struct api_watcher *watcher, const json_t *errors)
{
    const json_t *each, *known;
    size_t i, j;

    json_array_foreach(errors, i, each) {
        bool new = true;

        json_array_foreach(watcher->unreachable, j, known)
            new = new && !json_equal(each, known);
        if (new)
            note(watcher, "cannot look: ", sw_json_str(each, "message"));
    }
}

/* A key that only an agent had is gone with it, and the platform then says no more than "denied". */
static void find_lost_agent(json_t *errors)
{
    const char *agent = getenv("SSH_AUTH_SOCK");
    sw_autofree char *text = NULL;

    if (sw_text_empty(agent) || access(agent, F_OK) == 0 || json_array_size(errors) == 0)
        return;
    text = sw_format("the ssh agent at %s is gone, and the keys that it held; run `slipway watcher stop` and "
                     "`slipway watcher start` from a shell that has one", agent);
    add_error(errors, "ssh", text);
}

static void look(struct api_watcher *watcher, bool act)
{
    const struct sw_refresh_options options = { .deadline_ms = LOOK_MS, .progress = true, .act = act };
    json_t *unreachable = json_array();
    struct sw_error err = { 0 };

    if (api_refresh_within(watcher->session, NULL, 0, &options, unreachable, &err) < 0)
        add_error(unreachable, "store", err.message);
    find_lost_agent(unreachable);
    log_errors(watcher, unreachable);
    pthread_mutex_lock(&watcher->lock);
    json_decref(watcher->unreachable);
    watcher->unreachable = unreachable;
    watcher->looked_ms = sw_now_ms();
    pthread_mutex_unlock(&watcher->lock);
}

/* After a suspend nothing is judged by what was seen before it. */
static void look_with_care(struct api_watcher *watcher)
{
    int64_t slept_ms = suspended_ms();

    if (slept_ms - watcher->slept_ms > SUSPEND_MS)
        look(watcher, false);
    watcher->slept_ms = slept_ms;
    look(watcher, true);
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

static int64_t longer(int64_t interval_ms)
{
    return interval_ms * 3 / 2 < LATEST_MS ? interval_ms * 3 / 2 : LATEST_MS;
}

static volatile sig_atomic_t told_to_end;        /* by a signal */

static const char *reason_to_end(const struct api_watcher *watcher)
{
    return watcher->stops || told_to_end ? "asked to"
         : !sw_watcher_place_holds(&watcher->place) ? "the state folder is gone"
         : sw_program_replaced(&watcher->program) ? REPLACED : NULL;
}

static void watch(struct api_watcher *watcher)
{
    int64_t last_duty_ms = sw_monotonic_ms();

    while (!(watcher->why = reason_to_end(watcher))) {
        struct sw_duties before = watcher->due;

        if (has_duty(watcher)) {
            last_duty_ms = sw_monotonic_ms();
            look_with_care(watcher);
            has_duty(watcher);
        } else if (sw_monotonic_ms() - last_duty_ms > LINGER_MS) {
            watcher->why = "no job needs it";
            return;
        }
        watcher->interval_ms = memcmp(&before, &watcher->due, sizeof before) != 0 ? SOONEST_MS
                               : longer(watcher->interval_ms);
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

/* ---- signals ----------------------------------------------------------------------------------------- */

static int told_through = -1;

static void on_signal(int number)
{
    const uint64_t one = 1;

    told_to_end = number;
    (void)!write(told_through, &one, sizeof one);
}

/* Of a service manager, or of a system that goes down: the same as the word "stop". */
static void hear_signals(const struct api_watcher *watcher)
{
    const struct sigaction action = { .sa_handler = on_signal };

    told_through = watcher->wake;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

/* ---- from start to end ------------------------------------------------------------------------------- */

static void become_new(struct api_watcher *watcher, int lock)
{
    sw_auto(sw_secrets) struct sw_secrets *all = all_secrets(watcher);
    struct sw_error why = { 0 };

    sw_program_become(&watcher->program, &watcher->place, lock, all, &why);
    note(watcher, "stays what it is: ", why.message);
    sw_program_done(&watcher->program);
    watcher->program = (struct sw_program){ 0 };                         /* not tried again */
}

static int serve(struct api_watcher *watcher, int lock, struct sw_error *err)
{
    const struct sw_watcher_service service = { on_hello, on_wake, on_secret, on_stop, on_stream,
                                                     watcher };

    for (;;) {
        struct sw_watcher_door *door = sw_watcher_listen(&watcher->place, &service, err);
        sw_auto(sw_secrets) struct sw_secrets *all = NULL;

        if (!door)
            return -1;
        watch(watcher);
        note(watcher, "ends: ", watcher->why);
        all = all_secrets(watcher);
        sw_watcher_close(door, all);
        if (watcher->why == REPLACED)
            become_new(watcher, lock);
        else if (reason_to_end(watcher) || !has_duty(watcher))
            return 0;
    }
}

static int open_and_serve(struct api_watcher *watcher, int lock, const struct sw_secrets *inherited,
                          struct sw_error *err)
{
    const struct sw_open_options options = { .size = sizeof options, .state_dir = watcher->place.state_dir };
    int result;

    if (sw_watcher_begin(&watcher->place, err) < 0)
        return -1;
    sw_watcher_note_crashes(&watcher->place);
    hear_signals(watcher);
    note(watcher, "started, version ", SW_VERSION);
    watcher->session = sw_open(&options, err);
    if (watcher->session) {
        watcher->session->secrets = secrets_of;
        watcher->session->watcher = watcher;
        take_secrets(watcher, inherited);
    }
    result = watcher->session ? serve(watcher, lock, err) : -1;
    if (result < 0)
        note(watcher, "cannot watch: ", err->message);
    sw_watcher_finish(&watcher->place);
    return result;
}

int sw_watcher_serve(const char *state_dir, struct sw_error *err)
{
    struct api_watcher watcher = { .interval_ms = SOONEST_MS, .started_ms = sw_now_ms(),
                                   .slept_ms = suspended_ms(), .unreachable = json_array() };
    sw_auto(sw_secrets) struct sw_secrets *inherited = NULL;
    sw_autofd int lock = sw_watcher_inherit(&inherited), wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct sw_error why = { 0 };
    int result = -1;

    watcher.wake = wake;
    pthread_mutex_init(&watcher.lock, NULL);
    sw_program_note(&watcher.program);
    if (sw_watcher_place(state_dir, &watcher.place, &why) == 0 &&
        (lock >= 0 || (lock = take_lock(&watcher.place, &why)) >= 0))
        result = open_and_serve(&watcher, lock, inherited, &why);
    sw_close(watcher.session);
    forget_secrets(&watcher);
    json_decref(watcher.unreachable);
    sw_program_done(&watcher.program);
    sw_watcher_place_done(&watcher.place);
    return result < 0 ? sw_pass(err, &why) : 0;
}
