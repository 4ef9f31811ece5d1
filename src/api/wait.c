/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.c - wait until jobs are over. Those that are over already cost one question to the store, whatever
 * their number; only the others are refreshed.
 */
#include "api/api_internal.h"
#include "base/clock.h"
#include "base/text.h"
#include "core/reason.h"
#include "core/state.h"

enum {
    WOKEN_MS = 1000,               /* between two refreshes where platforms wake us */
    REFRESH_MS = 5000,             /* one refresh of a caller that waits for ever */
    FIRST_REFRESH_MS = 1000,       /* the first one, also when there is no time at all */
};

struct api_waiting {
    const char **ids;              /* those that are not over, as far as is known */
    size_t *places;                /* among those that were given */
    size_t count;
    sw_outcome_fn *tell;
    void *context;
    enum sw_state state;           /* of the first that is not over */
    struct sw_error first;         /* of the first that is gone */
};

int api_exit_status(enum sw_state state, const char *reason, int exit_code, int signal)
{
    if (state == SW_COMPLETE)
        return 0;
    if (state == SW_CANCELED)
        return 130;
    if (sw_text_same(reason, SW_REASON_TIME))
        return 124;
    if (signal > 0)
        return 128 + signal;
    return exit_code > 0 && exit_code < 256 ? exit_code : 1;
}

/* A job is over, or gone: report it, and wait for it no more. */
static void tell_ending(struct api_waiting *waiting, size_t at, const struct sw_ending *ending)
{
    const char *id = waiting->ids[at];
    struct sw_error gone = { 0 };
    struct sw_outcome outcome = {
        .size = sizeof outcome, .id = id, .index = waiting->places[at], .state = ending->state,
        .attempt = ending->attempt, .exit_code = ending->exit_code,
        .exit_status = api_exit_status(ending->state, ending->reason, ending->exit_code, ending->signal),
        .signal = ending->signal, .duration_ms = -1,
    };

    if (ending->started_ms && ending->ended_ms)
        outcome.duration_ms = ending->ended_ms - ending->started_ms;
    if (!ending->there) {
        sw_fail(&gone, SW_E_NOT_FOUND, "no job '%s'", id);
        outcome.err = &gone;
        if (!waiting->first.code)
            waiting->first = gone;
    }
    if (waiting->tell)
        waiting->tell(waiting->context, &outcome);
}

static int read_endings(struct sw_session *session, struct api_waiting *waiting, struct sw_error *err)
{
    sw_autofree struct sw_ending *endings = sw_alloc((waiting->count + 1) * sizeof *endings);
    size_t kept = 0;

    if (sw_store_endings(session->store, waiting->ids, waiting->count, endings, err) < 0)
        return -1;
    for (size_t i = 0; i < waiting->count; i++) {
        if (!endings[i].there || endings[i].over) {
            tell_ending(waiting, i, &endings[i]);
            continue;
        }
        if (kept == 0)
            waiting->state = endings[i].state;
        waiting->places[kept] = waiting->places[i];
        waiting->ids[kept++] = waiting->ids[i];
    }
    waiting->count = kept;
    return 0;
}

/* A refresh takes no longer than there is time left: a platform may never answer. */
static int look_within(struct sw_session *session, struct api_waiting *waiting, int64_t left_ms,
                       struct sw_error *err)
{
    const struct sw_refresh_options options = {
        .deadline_ms = left_ms < REFRESH_MS ? left_ms : REFRESH_MS, .act = true };

    if (left_ms > 0 &&
        api_refresh_within(session, waiting->ids, waiting->count, &options, NULL, err) < 0)
        return -1;
    return read_endings(session, waiting, err);
}

static int64_t time_left(int64_t begun_ms, int64_t timeout_ms)
{
    return timeout_ms < 0 ? INT64_MAX : timeout_ms - (sw_monotonic_ms() - begun_ms);
}

static int took_too_long(const struct api_waiting *waiting, struct sw_error *err)
{
    const char *id = waiting->ids[0];

    sw_fail(err, SW_E_TIMEOUT, "job '%s' is still %s", id, sw_state_name(waiting->state));
    return sw_hint(err, "it continues: wait again, or see `slipway status %s`", id);
}

static int wait_for(struct sw_session *session, struct api_waiting *waiting, int64_t timeout_ms,
                    int (*idle)(void *context), struct sw_error *err)
{
    int64_t begun = sw_monotonic_ms(), pause_ms = 10, left_ms = time_left(begun, timeout_ms);
    int64_t look_ms = left_ms > FIRST_REFRESH_MS ? left_ms : FIRST_REFRESH_MS;

    for (;; look_ms = left_ms) {
        if (look_within(session, waiting, look_ms, err) < 0)
            return -1;
        if (waiting->count == 0)
            return 0;
        left_ms = time_left(begun, timeout_ms);
        if (left_ms <= 0)
            return took_too_long(waiting, err);
        if (idle && idle(waiting->context))
            return sw_fail(err, SW_E_INTERRUPTED, "stopped by the caller");
        if (api_wait_for_wake(session, pause_ms < left_ms ? pause_ms : left_ms) != API_NO_WAKE)
            pause_ms = WOKEN_MS;
        else
            pause_ms = pause_ms < 200 ? pause_ms * 2 : 250;
        left_ms = time_left(begun, timeout_ms);
    }
}

int sw_wait_many(struct sw_session *session, const char *const *ids, size_t count, int64_t timeout_ms,
                 int (*idle)(void *context), sw_outcome_fn *tell, void *context, struct sw_error *err)
{
    sw_autofree const char **open = sw_alloc((count + 1) * sizeof *open);
    sw_autofree size_t *places = sw_alloc((count + 1) * sizeof *places);
    struct api_waiting waiting = { .ids = open, .places = places, .count = count, .tell = tell,
                               .context = context };

    for (size_t i = 0; i < count; i++) {
        open[i] = ids[i];
        places[i] = i;
    }
    if (read_endings(session, &waiting, err) < 0 ||
        (waiting.count > 0 && wait_for(session, &waiting, timeout_ms, idle, err) < 0))
        return -1;
    if (!waiting.first.code)
        return 0;
    return sw_pass(err, &waiting.first);
}

/* ---- one alone --------------------------------------------------------------------------------- */

struct alone {
    int (*idle)(void *context);
    void *context;
    int *exit_status;
};

static int idle_alone(void *context)
{
    const struct alone *alone = context;

    return alone->idle ? alone->idle(alone->context) : 0;
}

static void take_status(void *context, const struct sw_outcome *outcome)
{
    const struct alone *alone = context;

    if (!outcome->err)
        *alone->exit_status = outcome->exit_status;
}

int sw_wait(struct sw_session *session, const char *id, int64_t timeout_ms,
            int (*idle)(void *context), void *context, int *exit_status, struct sw_error *err)
{
    return sw_wait_many(session, &id, 1, timeout_ms, idle_alone, take_status,
                        &(struct alone){ idle, context, exit_status }, err);
}
