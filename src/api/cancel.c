/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel.c - stop jobs, and take that back.
 *
 * Cancel is a fence: the intent is stored first, so that it survives us; success is reported only when
 * the platform confirms that nothing of a job runs any more. A platform that does not answer holds up
 * no caller: the intent is stored, every later refresh carries it out, and until then it can be
 * taken back. A store that cannot be written (a full disk) keeps no job from being canceled: then the
 * platform is asked on what can be read.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "api/batch.h"
#include "base/clock.h"
#include "base/text.h"
#include "core/reason.h"

enum {
    LOOK_FOR_MS = 5000,            /* whether the platform answers at all */
    SILENT_MS = 10000,             /* how long one that did not is asked to cancel */
    SLACK_MS = 60000,              /* beyond the jobs' own grace */
    SLACK_MS_EACH = 300,           /* and for each job more than one */
};

/* ---- the platform is asked --------------------------------------------------------------------- */

struct api_canceling {             /* cancels under way at one place; may outlive their caller */
    atomic_int references;         /* the caller's and the call's */
    struct sw_session *session;
    const struct sw_platform *platform;
    struct sw_connection *conn;
    char *profile;
    int64_t place;
    int owners;                    /* holds the locks: no other process repeats it meanwhile */
    struct sw_job *rows;
    struct sw_jobref *refs;
    struct sw_batch_job *jobs;
    size_t count;
    int64_t deadline_ms;
};

static int ask_platform(void *context, struct sw_error *err)
{
    struct api_canceling *what = context;

    if (api_verify_place(what->session, what->platform, what->profile, what->place, err) != 0)
        return -1;
    what->platform->cancel(what->conn, what->jobs, what->count, what->deadline_ms);
    return 0;
}

static void release(void *context)
{
    struct api_canceling *what = context;

    if (atomic_fetch_sub(&what->references, 1) > 1)
        return;
    if (what->owners >= 0)
        close(what->owners);
    for (size_t i = 0; i < what->count; i++)
        sw_job_done(&what->rows[i]);
    free(what->rows);
    free(what->refs);
    free(what->jobs);
    free(what->profile);
    free(what);
}

/* Rows of its own, each with its lock. */
static struct api_canceling *prepare(const struct api_batch *batch, struct sw_error *err)
{
    struct api_canceling *what = sw_new(struct api_canceling);
    sw_autofree char (*ids)[SW_ID_SIZE] = sw_alloc((batch->count + 1) * sizeof *ids);
    size_t open = 0;

    *what = (struct api_canceling){ .references = 1, .session = batch->session, .platform = batch->platform,
                                .conn = batch->conn, .profile = sw_strdup(batch->profile),
                                .place = batch->place };
    what->owners = sw_owner_open(batch->session->store);
    for (size_t i = 0; i < batch->count; i++)
        if (!batch->jobs[i].done)
            memcpy(ids[open++], batch->jobs[i].row.id, SW_ID_SIZE);
    what->rows = sw_alloc((open + 1) * sizeof *what->rows);
    what->refs = sw_alloc((open + 1) * sizeof *what->refs);
    what->jobs = sw_alloc((open + 1) * sizeof *what->jobs);
    if (sw_store_get_many(batch->session->store, (const char (*)[SW_ID_SIZE])ids, open,
                          sw_plan_keep_watched, what->rows, &what->count, err) < 0) {
        release(what);
        return NULL;
    }
    for (size_t i = 0; i < what->count; i++) {
        sw_autofree char *lock = sw_format(SW_OWNER_CANCEL "%s", what->rows[i].id);

        sw_owner_take(what->owners, lock);
        what->refs[i] = sw_job_ref(&what->rows[i]);
        what->jobs[i].job = &what->refs[i];
    }
    return what;
}

/* As platform->cancel(), for so long. *out: what came of each; NULL: it is still under way. */
static int cancel_within(const struct api_batch *batch, int64_t patience_ms, struct api_canceling **out,
                         struct sw_error *err)
{
    struct api_canceling *what = prepare(batch, err);
    bool late;

    *out = NULL;
    if (!what)
        return -1;
    what->references = 2;
    what->deadline_ms = sw_monotonic_ms() + patience_ms;
    if (api_call_within(batch->session, &(struct api_bounded){ ask_platform, release, what },
                        patience_ms, &late, err) < 0) {
        release(what);
        return -1;
    }
    *out = what;
    return 0;
}

/* ---- what is reported ------------------------------------------------------------------------------ */

/* The store cannot be written: a warning, which stops nothing. */
static int unless_full(struct sw_session *session, const struct sw_error *why, const char *then)
{
    sw_autofree char *text = sw_format("%s; %s", why->message, then);

    if (why->code != SW_E_STORE)
        return -1;
    api_warn(session, text);
    return 0;
}

static void not_yet(struct api_one *one, const char *platform, const struct sw_error *why, bool silent,
                    bool written)
{
    bool unreachable = silent || why->code == SW_E_UNREACHABLE;
    struct sw_error err = { 0 };

    if (!written) {
        sw_fail(&err, why->code, "job '%s' is not canceled, and the cancel was not recorded: %s",
                one->row.id, why->message);
    } else {
        sw_fail(&err, unreachable ? SW_E_UNREACHABLE : why->code,
                "job '%s' is not canceled yet: %s; it will be canceled as soon as %s answers",
                one->row.id, why->message, platform);
        sw_hint(&err, "the next slipway command that reaches it carries it out; to withdraw it: slipway "
                      "cancel --undo %s",
                one->row.id);
    }
    api_one_fail(one, &err);
}

/* ---- the steps --------------------------------------------------------------------------------- */

/* The rows as they were read: a silent platform keeps them as they are. */
static int find_out(struct api_batch *batch, bool *silent)
{
    sw_auto(json) json_t *unreachable = json_array();
    struct sw_error why = { 0 };

    if (api_batch_refresh(batch, LOOK_FOR_MS, unreachable, &why) < 0 &&
        unless_full(batch->session, &why, "canceling by its stored state") < 0) {
        api_batch_fail(batch, &why);
        return -1;
    }
    *silent = json_array_size(unreachable) > 0;
    why = (struct sw_error){ 0 };
    if (api_batch_reload(batch, &why) < 0) {
        api_batch_fail(batch, &why);
        return -1;
    }
    for (size_t i = 0; i < batch->count; i++)
        batch->jobs[i].done |= batch->jobs[i].row.phase == SW_PHASE_OVER;
    return 0;
}

static int write_intents(void *context, struct sw_error *err)
{
    const struct api_batch *batch = context;

    for (size_t i = 0; i < batch->count; i++)
        if (!batch->jobs[i].done &&
            sw_store_cancel_intent(batch->session->store, batch->jobs[i].row.id, err) < 0)
            return -1;
    return 0;
}

static int64_t patience(const struct api_batch *batch)
{
    int64_t longest_ms = 0;

    for (size_t i = 0; i < batch->count; i++) {
        int64_t grace_ms = sw_json_int(batch->jobs[i].row.plan, "grace_ms", 0);

        if (!batch->jobs[i].done && grace_ms > longest_ms)
            longest_ms = grace_ms;
    }
    return longest_ms + SLACK_MS + SLACK_MS_EACH * (int64_t)(api_batch_open(batch) - 1);
}

/* What the platform said of each: those that failed are done. never[i]: it will not begin. */
static void take_answers(struct api_batch *batch, const struct api_canceling *what, bool *never, bool silent,
                         bool written)
{
    size_t next = 0;

    for (size_t i = 0; i < batch->count; i++) {
        struct api_one *one = &batch->jobs[i];

        if (one->done || next == what->count || strcmp(what->rows[next].id, one->row.id) != 0)
            continue;
        if (what->jobs[next].result < 0)
            not_yet(one, batch->platform->name, &what->jobs[next].err, silent, written);
        never[i] = what->jobs[next++].result == 1;
    }
}

static void stop(struct api_batch *batch, bool silent, bool written, bool *never)
{
    struct api_canceling *what;
    struct sw_error why = { 0 };

    if (cancel_within(batch, silent ? SILENT_MS : patience(batch), &what, &why) == 0) {
        take_answers(batch, what, never, silent, written);
        release(what);
        return;
    }
    for (size_t i = 0; i < batch->count; i++)
        if (!batch->jobs[i].done)
            not_yet(&batch->jobs[i], batch->platform->name, &why, silent, written);
}

/* The platform confirmed; where its own answer is not final yet, our own knowledge is. */
static int record_cancels(struct api_batch *batch, struct sw_error *err)
{
    sw_autofree struct sw_observation *seen = sw_alloc((batch->count + 1) * sizeof *seen);
    size_t count = 0;

    for (size_t i = 0; i < batch->count; i++) {
        const struct sw_job *row = &batch->jobs[i].row;

        if (batch->jobs[i].done || row->phase == SW_PHASE_OVER)
            continue;
        seen[count] = (struct sw_observation){
            .job = sw_job_ref(row), .presence = SW_PRESENT, .state = SW_CANCELED,
            .reason = SW_REASON_CANCELED,
            .exit_code = SW_NO_EXIT_CODE, .failed_replica = -1, .ended_ms = sw_now_ms(),
        };
        if (row->started_ms || row->attempt < 2)
            snprintf(seen[count].message, sizeof seen->message, "%s",
                     row->started_ms ? "canceled" : "canceled before it started");
        else
            snprintf(seen[count].message, sizeof seen->message, "canceled while waiting for attempt %d",
                     row->attempt);
        count++;
    }
    return count ? sw_store_saw_many(batch->session->store, seen, count, NULL, sw_now_ms(), NULL, err) : 0;
}

/* Those that ran are observed once more: how they ended is in the answer. */
static int record_ends(struct api_batch *batch, const bool *never, struct sw_error *err)
{
    const struct sw_refresh_options options = { .deadline_ms = SILENT_MS, .act = true };
    sw_autofree const char **ids = sw_alloc((batch->count + 1) * sizeof *ids);
    size_t ran = 0;

    for (size_t i = 0; i < batch->count; i++)
        if (!batch->jobs[i].done && !never[i])
            ids[ran++] = batch->jobs[i].row.id;
    if ((ran && api_refresh_within(batch->session, ids, ran, &options, NULL, err) < 0) ||
        api_batch_reload(batch, err) < 0 || record_cancels(batch, err) < 0)
        return -1;
    api_run_hooks(batch->session);
    return api_batch_reload(batch, err);
}

static void cancel_place(struct api_batch *batch)
{
    sw_autofree bool *never = sw_alloc((batch->count + 1) * sizeof *never);
    bool silent = false, written;
    struct sw_error why = { 0 };

    if (find_out(batch, &silent) < 0 || api_batch_open(batch) == 0)
        return;
    written = sw_store_together(batch->session->store, write_intents, batch, &why) == 0;
    if (!written && unless_full(batch->session, &why, "if this cancel fails, repeat it") < 0) {
        api_batch_fail(batch, &why);
        return;
    }
    stop(batch, silent, written, never);
    why = (struct sw_error){ 0 };
    if (api_batch_open(batch) > 0 && record_ends(batch, never, &why) < 0 &&
        unless_full(batch->session, &why, "it is canceled anyway") < 0)
        api_batch_fail(batch, &why);
}

int sw_cancel_many(struct sw_session *session, const char *const *ids, size_t count, sw_outcome_fn *tell,
                   void *context, struct sw_error *err)
{
    return api_batch_run(session, ids, count, cancel_place, NULL, tell, context, err);
}

int sw_cancel(struct sw_session *session, const char *id, struct sw_error *err)
{
    return sw_cancel_many(session, &id, 1, NULL, NULL, err);
}

int sw_cancel_undo(struct sw_session *session, const char *id, struct sw_error *err)
{
    bool undone = false;

    if (sw_store_cancel_undo(session->store, id, &undone, err) < 0)
        return -1;
    return undone ? 0 : sw_fail(err, SW_E_CONFLICT, "no cancel of job '%s' is pending on its platform", id);
}
