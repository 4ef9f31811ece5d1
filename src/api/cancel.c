/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel.c - stop a job, and take that back.
 *
 * Cancel is a fence: the intent is stored first, so that it survives us; success is reported only when
 * the platform confirms that nothing of the job runs any more. A platform that does not answer holds up
 * no caller: the intent stands, every later refresh carries it out, and until then it can be
 * taken back. A store that cannot be written (a full disk) keeps no job from being canceled: then the
 * platform is asked on what can be read.
 */
#include <stdio.h>
#include <string.h>

#include "api/api_internal.h"
#include "base/clock.h"
#include "base/text.h"

enum {
    LOOK_FOR_MS = 5000,            /* whether the platform answers at all */
    SILENT_MS = 10000,             /* how long one that did not is asked to cancel */
    SLACK_MS = 60000,              /* beyond the job's own grace */
};

struct canceling {                 /* one cancel under way; may outlive its caller's patience */
    struct sw_session *session;
    struct api_job job;
    int owners;                    /* holds the lock: no other process repeats it meanwhile */
};

static int ask_platform(void *context, struct sw_error *err)
{
    struct canceling *what = context;

    if (api_job_verify(what->session, &what->job, err) != 0)
        return -1;
    return what->job.platform->cancel(what->job.link, &what->job.ref, err);
}

static void release(void *context)
{
    struct canceling *what = context;

    if (what->owners >= 0)
        close(what->owners);
    sw_job_done(&what->job.row);
    free(what);
}

/* As platform->cancel(), for so long. */
static int cancel_within(struct sw_session *session, const char *id, int64_t patience_ms,
                         struct sw_error *err)
{
    struct canceling *what = sw_new(struct canceling);
    sw_autofree char *lock = sw_format(SW_OWNER_CANCEL "%s", id);
    bool late;

    what->session = session;
    what->owners = sw_owner_open(session->store);
    if (api_job_open(session, id, &what->job, err) < 0) {
        release(what);
        return -1;
    }
    sw_owner_take(what->owners, lock);
    return api_call_within(session, &(struct api_bounded){ ask_platform, release, what },
                           patience_ms, &late, err);
}

static int record_cancel(struct sw_session *session, const struct api_job *job,
                         struct sw_error *err)
{
    struct sw_sighting seen = {
        .job = job->ref, .presence = SW_PRESENT, .state = SW_CANCELED, .reason = "canceled",
        .exit_code = SW_NO_EXIT_CODE, .failed_replica = -1, .ended_ms = sw_now_ms(),
    };

    snprintf(seen.message, sizeof seen.message, "%s",
             job->row.started_ms ? "canceled" : "canceled before it started");
    if (sw_store_saw(session->store, &seen, NULL, sw_now_ms(), NULL, err) < 0)
        return -1;
    api_run_hooks(session);
    return 0;
}

/* The platform confirmed; if its answer is not final yet, our own knowledge is. */
static int record_end(struct sw_session *session, const struct api_job *job, bool never_began,
                      struct sw_error *err)
{
    const struct sw_refresh_options options = { .deadline_ms = SILENT_MS };
    const char *id = job->row.id;
    sw_auto(sw_job) struct sw_job row = { 0 };

    if (never_began)
        return record_cancel(session, job, err);
    if (api_refresh_within(session, &id, 1, &options, NULL, err) < 0 ||
        sw_store_get(session->store, id, SW_COLUMNS_LIST, &row, err) < 0)
        return -1;
    return row.phase == SW_PHASE_OVER ? 0 : record_cancel(session, job, err);
}

/* The store cannot be written: that is said, and stops nothing. */
static int unless_full(struct sw_session *session, const struct sw_error *why, const char *then,
                       struct sw_error *err)
{
    sw_autofree char *text = sw_format("%s; %s", why->message, then);

    if (why->code != SW_E_STORE) {
        if (err)
            *err = *why;
        return -1;
    }
    api_warn(session, text);
    return 0;
}

static int not_yet(const struct api_job *job, const struct sw_error *why, bool silent, bool written,
                   struct sw_error *err)
{
    bool unreachable = silent || why->code == SW_E_UNREACHABLE;

    if (!written)
        return sw_fail(err, why->code, "job '%s' is not canceled, and nothing is remembered of it: %s",
                       job->row.id, why->message);
    sw_fail(err, unreachable ? SW_E_UNREACHABLE : why->code,
            "job '%s' is not canceled yet: %s; it will be canceled as soon as %s answers",
            job->row.id, why->message, job->platform->name);
    return sw_hint(err, "any later look carries it out; to take it back: slipway cancel --undo %s",
                   job->row.id);
}

/* The row as it was read: a silent platform keeps it as it is. */
static int find_out(struct sw_session *session, const char *id, bool *silent, struct api_job *job,
                    struct sw_error *err)
{
    const struct sw_refresh_options options = { .deadline_ms = LOOK_FOR_MS };
    sw_auto(json) json_t *unreachable = json_array();
    struct sw_error why = { 0 };

    if (api_refresh_within(session, &id, 1, &options, unreachable, &why) < 0 &&
        unless_full(session, &why, "canceling on what it says", err) < 0)
        return -1;
    *silent = json_array_size(unreachable) > 0;
    return api_job_open(session, id, job, err);
}

int sw_cancel(struct sw_session *session, const char *id, struct sw_error *err)
{
    sw_auto(api_job) struct api_job job = { 0 };
    struct sw_error why = { 0 };
    bool silent = false, written;
    int stopped;

    if (find_out(session, id, &silent, &job, err) < 0)
        return -1;
    if (job.row.phase == SW_PHASE_OVER)
        return 0;
    written = sw_store_cancel_intent(session->store, id, &why) == 0;
    if (!written && unless_full(session, &why, "should this cancel fail, say it again", err) < 0)
        return -1;
    stopped = cancel_within(session, id,
                            silent ? SILENT_MS : sw_json_int(job.row.plan, "grace_ms", 0) + SLACK_MS,
                            &why);
    if (stopped < 0)
        return not_yet(&job, &why, silent, written, err);
    why = (struct sw_error){ 0 };
    return record_end(session, &job, stopped == 1, &why) == 0
               ? 0 : unless_full(session, &why, "it is canceled all the same", err);
}

int sw_cancel_undo(struct sw_session *session, const char *id, struct sw_error *err)
{
    bool undone = false;

    if (sw_store_cancel_undo(session->store, id, &undone, err) < 0)
        return -1;
    return undone ? 0 : sw_fail(err, SW_E_CONFLICT, "no cancel of job '%s' waits for its platform", id);
}
