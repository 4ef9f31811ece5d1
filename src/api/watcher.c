/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watcher.c - jobs that must be looked after are handed to the watcher of their state folder.
 *
 * It is started by a command that leaves such a job alone, and only then: a verb that reads never starts it.
 * What it is given, it is given through its socket; which jobs it looks after, the store says.
 */
#include "api/api_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/proc.h"
#include "base/text.h"
#include "monitor/attempt.h"
#include "watcher/watcher.h"

enum {
    START_MS = 10000,                /* a busy machine */
    ALIVE_MS = 3000,                 /* but by then a process has its lock */
    FIRST_PAUSE_MS = 2, LONGEST_PAUSE_MS = 50,
};

static const struct {
    enum sw_duty duty;
    const char *name;
    const char *missed;              /* what does not happen without a watcher */
} duties[] = {
    { SW_DUTY_RETRY,  "retry",  "failures are not retried" },
    { SW_DUTY_HOOK,   "hooks",  "hooks and notifications do not run" },
    { SW_DUTY_GUARD,  "guard",  "the guard does not watch" },
    { SW_DUTY_QUEUE,  "queue",  "a waiting job does not start" },
    { SW_DUTY_LOG,    "log",    "the log may be lost" },
    { SW_DUTY_CANCEL, "cancel", "an unconfirmed cancel is not repeated" },
    { SW_DUTY_SECRETS, "secrets", "secrets are not handed over" },
};

int api_duties(const struct sw_plan *plan, const struct sw_platform *platform)
{
    int most = (int)sw_json_int(plan->retry, "max", sw_platform_retries(platform));

    return (most > 0 && !platform->retries ? SW_DUTY_RETRY : 0) |
           (json_object_size(plan->hooks) || json_object_size(plan->notify) ? SW_DUTY_HOOK : 0) |
           (json_object_size(plan->guard) && !platform->guards ? SW_DUTY_GUARD : 0) |
           (platform->queues && (plan->gpus > 0 || plan->nodes > 1) ? SW_DUTY_QUEUE : 0) |
           (platform->log_fetch ? SW_DUTY_LOG : 0) |
           (platform->hand_secrets && json_array_size(plan->secrets) + json_array_size(plan->credentials) +
                                            json_array_size(plan->settings) > 0
                ? SW_DUTY_SECRETS : 0);
}

static json_t *names_of(int kinds)
{
    json_t *names = json_array();

    for (size_t i = 0; i < SW_COUNT(duties); i++)
        if (kinds & (int)duties[i].duty)
            json_array_append_new(names, sw_json_text(duties[i].name));
    return names;
}

/* "failures are not retried, hooks and notifications do not run"; owned. */
static char *missed_without(int kinds)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

    for (size_t i = 0; i < SW_COUNT(duties); i++)
        if (kinds & (int)duties[i].duty)
            sw_buf_addf(&text, "%s%s", text.length ? ", " : "", duties[i].missed);
    return sw_buf_steal(&text);
}

/* ---- start ----------------------------------------------------------------------------------------- */

static bool is_off(struct sw_session *session)
{
    const char *said = api_env(session, "SLIPWAY_WATCHER"), *ci = api_env(session, "CI");

    if (!sw_text_empty(said))
        return strcmp(said, "off") == 0 || strcmp(said, "0") == 0;
    return !sw_text_empty(ci) && strcmp(ci, "false") != 0;
}

static int start(const struct sw_watcher_place *place, enum sw_watcher_kind *kind, struct sw_error *err)
{
    sw_autofree char **environment = api_watcher_environment();
    int64_t began_ms = sw_monotonic_ms(), pause_ms = FIRST_PAUSE_MS;

    if (sw_watcher_may_start(place, err) < 0 || sw_watcher_launch(place, environment, kind, err) < 0)
        return -1;
    while (sw_monotonic_ms() - began_ms < START_MS) {
        if (sw_watcher_wake(place, NULL) > 0)
            return 0;
        if (sw_watcher_may_start(place, err) < 0)
            return -1;
        if (sw_monotonic_ms() - began_ms > ALIVE_MS && !sw_watcher_is_locked(place))
            break;
        sw_sleep_ms(pause_ms);
        pause_ms = pause_ms < LONGEST_PAUSE_MS ? pause_ms * 2 : pause_ms;
    }
    sw_watcher_failed(place);
    return sw_fail(err, SW_E_IO, "the watcher did not start");
}

/* ---- what a job needs of this process -------------------------------------------------------------- */

/* The values of its secrets, as its next attempt needs them, and its platform's credentials. That alone tells
 * the watcher of the job. 1: it has them; 0: no watcher runs; -1. */
static int hand_over(struct sw_session *session, const struct sw_watcher_place *place,
                     const struct sw_plan *plan, struct sw_error *err)
{
    const struct sw_platform *platform = sw_platform_find(plan->platform);
    const struct sw_credential *each = platform ? platform->credentials : NULL;
    sw_auto(sw_secrets) struct sw_secrets *own = sw_attempt_secrets(plan, NULL, NULL, NULL);
    sw_auto(sw_secrets) struct sw_secrets *shared = sw_secrets_new();
    int running = sw_watcher_give(place, plan->job_id, own, err);

    if (running <= 0)
        return running;
    for (; each && each->name; each++)
        sw_secrets_add(shared, each->name, api_env(session, each->name), NULL);
    return sw_secrets_count(shared) ? sw_watcher_give(place, API_KEPT_SHARED, shared, err) : running;
}

static int tell(struct sw_session *session, const struct sw_watcher_place *place, const struct sw_plan *plan,
                struct sw_error *err)
{
    return plan ? hand_over(session, place, plan, err) : sw_watcher_wake(place, err);
}

static char *say_started(enum sw_watcher_kind kind)
{
    return sw_strdup(kind == SW_WATCHER_UNIT && !sw_watcher_lingers()
                         ? "started a watcher; it stops when you log out, unless: loginctl enable-linger"
                         : "started a watcher: it watches detached jobs and exits with them");
}

static char *say_none(int kinds)
{
    sw_autofree char *missed = missed_without(kinds);

    return sw_format("no watcher: %s until the next slipway command", missed);
}

/* 1: a watcher is needed for this job; `plan` NULL: for any. 0: it is not, or none may be started, as *said
 * tells. */
static int is_needed(struct sw_session *session, const struct sw_plan *plan, char **said,
                     struct sw_error *err)
{
    struct sw_duties due = { 0 };

    if (plan)
        due.kinds = api_duties(plan, sw_platform_find(plan->platform));
    else if (sw_store_duties(session->store, &due, err) < 0)
        return -1;
    if (due.kinds == 0 && due.notices == 0)
        return 0;
    if (!is_off(session) && !(plan && json_is_false(plan->watcher)))
        return 1;
    *said = due.kinds ? say_none(due.kinds) : NULL;
    return 0;
}

/* The one that runs hears of the job; without one, one is started. */
static int find_or_start(struct sw_session *session, const struct sw_plan *plan, char **said,
                         struct sw_error *err)
{
    sw_auto(sw_watcher_place) struct sw_watcher_place place = { 0 };
    enum sw_watcher_kind kind = SW_WATCHER_DETACHED;
    int told;

    if (sw_watcher_place(session->state_dir, &place, err) < 0 ||
        (told = tell(session, &place, plan, err)) < 0)
        return -1;
    if (told)
        return 0;
    if (start(&place, &kind, err) < 0)
        return -1;
    *said = say_started(kind);
    return tell(session, &place, plan, err) < 0 ? -1 : 0;
}

int sw_attend(struct sw_session *session, const char *id, char **said, struct sw_error *err)
{
    sw_auto(sw_job) struct sw_job row = { 0 };
    sw_auto(sw_plan) struct sw_plan *plan = NULL;
    char host[SW_HOST_SIZE];
    int needed;

    *said = NULL;
    if (api_need(session, err) < 0 ||
        (id && sw_store_get(session->store, id, SW_COLUMNS_ALL, &row, err) < 0))
        return -1;
    plan = id ? sw_attempt_plan(&row, NULL) : NULL;
    if (id && !plan)
        return 0;                    /* one that cannot be read is not tried again either */
    needed = is_needed(session, plan, said, err);
    if (needed <= 0)
        return needed;
    sw_host_name(host);
    if (plan && !sw_text_same(row.host, host) && sw_store_left_on(session->store, id, host, err) < 0)
        return -1;
    return find_or_start(session, plan, said, err);
}

/* ---- status and end ------------------------------------------------------------------------------- */

char *sw_watcher(struct sw_session *session, struct sw_error *err)
{
    sw_auto(sw_watcher_place) struct sw_watcher_place place = { 0 };
    sw_auto(json) json_t *hello = NULL;
    sw_autofree char *missed = NULL, *log = NULL;
    struct sw_error why = { 0 };
    struct sw_duties due = { 0 };

    if (api_need(session, err) < 0 || sw_store_duties(session->store, &due, err) < 0 ||
        sw_watcher_place(session->state_dir, &place, err) < 0)
        return NULL;
    hello = sw_watcher_hello(&place, &why);
    if (!hello && !why.code)
        sw_watcher_may_start(&place, &why);
    missed = missed_without(due.kinds);
    log = sw_watcher_log_path(&place);
    return api_document("watcher", sw_json_object(
        SW_BOOL("running", hello != NULL), SW_BOOL("off", is_off(session)),
        SW_INT("jobs", due.jobs), SW_SUB("places", sw_store_jobs_by_place(session->store)),
        SW_INT("notices", due.notices), SW_SUB("duties", names_of(due.kinds)), SW_STR("missed", missed),
        SW_STR("problem", why.code ? why.message : ""), SW_STR("log", log),
        SW_SUB("watcher", hello ? json_incref(hello) : json_null())));
}

int sw_watcher_start(struct sw_session *session, bool *started, struct sw_error *err)
{
    sw_auto(sw_watcher_place) struct sw_watcher_place place = { 0 };
    enum sw_watcher_kind kind;
    int running;

    if (api_need(session, err) < 0 || sw_watcher_place(session->state_dir, &place, err) < 0 ||
        (running = sw_watcher_wake(&place, err)) < 0)
        return -1;
    *started = !running;
    if (running)
        return 0;
    sw_watcher_forgive(&place);
    return start(&place, &kind, err);
}

int sw_watcher_once(struct sw_session *session, struct sw_error *err)
{
    const struct sw_refresh_options options = { .deadline_ms = SW_REFRESH_PATIENT, .progress = true,
                                                .act = true };

    return api_need(session, err) < 0 ? -1 : api_refresh_within(session, NULL, 0, &options, NULL, err);
}

int sw_watcher_end(struct sw_session *session, bool *ended, struct sw_error *err)
{
    sw_auto(sw_watcher_place) struct sw_watcher_place place = { 0 };
    int said;

    if (api_need(session, err) < 0 || sw_watcher_place(session->state_dir, &place, err) < 0 ||
        (said = sw_watcher_stop(&place, err)) < 0)
        return -1;
    *ended = said > 0;
    return 0;
}
