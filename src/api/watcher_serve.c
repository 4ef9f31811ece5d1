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
#include "base/proc.h"
#include "base/text.h"
#include "core/reason.h"
#include "watcher/watcher.h"

static const char REPLACED[] = "its program was replaced";

enum {
    SOONEST_MS = 2000, LATEST_MS = 60 * 1000,
    LINGER_MS = 60 * 1000,           /* after the last duty */
    LOOK_MS = 30 * 1000,             /* one look waits so long for the slowest platform */
    LOCK_MS = 5000,                  /* for one that is about to end */
    SUSPEND_MS = 2000,               /* less is no suspend */
};

struct api_watcher {
    struct sw_watcher_place place;
    struct sw_session *session;
    struct api_kept *kept;           /* the session's, once there is one */
    struct sw_program program;       /* our own file, as it was when we started */
    char host[SW_HOST_SIZE];
    int wake;                        /* an eventfd: a client has something for us */
    int64_t started_ms, looked_ms;
    _Atomic int64_t interval_ms;
    int64_t slept_ms;                /* how long the machine has been suspended since it started */
    atomic_bool stops;
    atomic_bool woken;               /* it shall look now */
    atomic_bool attended;            /* a job was left alone: the next look may come soon */
    const char *why;                 /* it ends */

    pthread_mutex_t lock;            /* guards what follows */
    struct sw_duties due;
    json_t *unreachable;
};

/* ---- what clients say --------------------------------------------------------------------------- */

static void interrupt(const struct api_watcher *watcher)
{
    const uint64_t one = 1;

    (void)!write(watcher->wake, &one, sizeof one);
}

static void on_wake(void *context)
{
    struct api_watcher *watcher = context;

    watcher->woken = true;
    interrupt(watcher);
}

static void on_stop(void *context)
{
    struct api_watcher *watcher = context;

    watcher->stops = true;
    on_wake(watcher);
}

/* A job was left alone. It was sent a moment ago, so the next look may come soon; an attempt that waits for
 * what was given now need not wait any more. */
static void on_secret(void *context, const char *owner, struct sw_secrets *secrets)
{
    struct api_watcher *watcher = context;
    struct sw_store *store = watcher->session->store;
    sw_auto(sw_job) struct sw_job row = { 0 };
    bool due;

    api_kept_give(watcher->kept, owner, secrets);
    sw_secrets_free(secrets);
    if (sw_store_get(store, owner, SW_COLUMNS_ALL, &row, NULL) == 0 && row.phase == SW_PHASE_SUBMITTING &&
        sw_text_same(row.reason, SW_REASON_CREDENTIAL) &&
        sw_store_attempt_now(store, owner, row.attempt, &due, NULL) == 0)
        watcher->woken = true;
    watcher->attended = true;
    interrupt(watcher);
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

static void note(struct api_watcher *watcher, const char *format, const char *text)
{
    sw_auto(sw_secrets) struct sw_secrets *all = api_kept_all(watcher->kept);
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
    text = sw_format("the ssh agent at %s is gone, with its keys; run `slipway watcher stop` and "
                     "`slipway watcher start` from a shell that has one", agent);
    add_error(errors, "ssh", text);
}

static void look(struct api_watcher *watcher, bool act)
{
    const struct sw_refresh_options options = {
        .deadline_ms = LOOK_MS, .progress = true, .act = act,
        .unless_asked_ms = watcher->interval_ms - watcher->interval_ms / 8 };
    json_t *unreachable = json_array();
    struct sw_error err = { 0 };

    if (sw_store_watcher_beat(watcher->session->store, watcher->host, &err) < 0 ||
        api_refresh_within(watcher->session, NULL, 0, &options, unreachable, &err) < 0)
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

static void pause_until_next(struct api_watcher *watcher)
{
    int64_t looked_ms = sw_monotonic_ms();

    if (api_wait_for_wake_or(watcher->session, pause_ms(watcher), watcher->wake) != API_WOKEN)
        return;
    watcher->interval_ms = SOONEST_MS;
    while (atomic_exchange(&watcher->attended, false) && !watcher->woken && !watcher->stops && !told_to_end) {
        int64_t left_ms = looked_ms + pause_ms(watcher) - sw_monotonic_ms();

        if (left_ms <= 0 || api_wait_for_wake_or(watcher->session, left_ms, watcher->wake) != API_WOKEN)
            break;
    }
    watcher->woken = false;
}

static void watch(struct api_watcher *watcher)
{
    int64_t last_duty_ms = sw_monotonic_ms();

    while (!(watcher->why = reason_to_end(watcher))) {
        struct sw_duties before = watcher->due;

        if (has_duty(watcher)) {
            last_duty_ms = sw_monotonic_ms();
            look_with_care(watcher);
            api_kept_forget_ended(watcher->kept, watcher->session->store);
            has_duty(watcher);
        } else if (sw_monotonic_ms() - last_duty_ms > LINGER_MS) {
            watcher->why = "no job needs it";
            return;
        }
        watcher->interval_ms = memcmp(&before, &watcher->due, sizeof before) != 0 ? SOONEST_MS
                               : longer(watcher->interval_ms);
        pause_until_next(watcher);
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
    sw_auto(sw_secrets) struct sw_secrets *all = api_kept_all(watcher->kept);
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
        all = api_kept_all(watcher->kept);
        sw_watcher_close(door, all);
        if (watcher->why == REPLACED)
            become_new(watcher, lock);
        else if (reason_to_end(watcher) || !has_duty(watcher))
            return 0;
    }
}

static int open_and_serve(struct api_watcher *watcher, int lock, struct sw_error *err)
{
    const struct sw_open_options options = { .size = sizeof options, .state_dir = watcher->place.state_dir };
    int result;

    if (sw_watcher_begin(&watcher->place, err) < 0)
        return -1;
    sw_watcher_note_crashes(&watcher->place);
    hear_signals(watcher);
    note(watcher, "started, version ", SW_VERSION);
    watcher->session = sw_open(&options, err);
    if (watcher->session)
        watcher->session->kept = watcher->kept;
    result = watcher->session ? serve(watcher, lock, err) : -1;
    if (watcher->session)
        sw_store_watcher_gone(watcher->session->store, watcher->host);
    if (result < 0)
        note(watcher, "cannot watch: ", err->message);
    sw_watcher_finish(&watcher->place);
    return result;
}

int sw_watcher_serve(const char *state_dir, struct sw_error *err)
{
    struct api_watcher watcher = { .interval_ms = SOONEST_MS, .started_ms = sw_now_ms(),
                                   .slept_ms = suspended_ms(), .unreachable = json_array() };
    struct sw_secrets *inherited = NULL;
    sw_autofd int lock = sw_watcher_inherit(&inherited), wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct sw_error why = { 0 };
    int result = -1;

    watcher.wake = wake;
    sw_host_name(watcher.host);
    watcher.kept = api_kept_new();
    api_kept_take(watcher.kept, inherited);
    pthread_mutex_init(&watcher.lock, NULL);
    sw_program_note(&watcher.program);
    if (sw_watcher_place(state_dir, &watcher.place, &why) == 0 &&
        (lock >= 0 || (lock = take_lock(&watcher.place, &why)) >= 0))
        result = open_and_serve(&watcher, lock, &why);
    if (watcher.session)
        sw_close(watcher.session);
    else
        api_kept_free(watcher.kept);
    json_decref(watcher.unreachable);
    sw_program_done(&watcher.program);
    sw_watcher_place_done(&watcher.place);
    return result < 0 ? sw_pass(err, &why) : 0;
}
