/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.c - cancel, wait, remove, bring results home, adopt.
 *
 * Cancel is a fence: the intent is stored first, so that it survives us; success is reported
 * only when the platform confirms that nothing of the job runs any more.
 */
#include <string.h>

#include "api/api_internal.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "core/id.h"

static int job_row(struct sw_session *session, const char *id, struct sw_job *row,
                   struct sw_error *err)
{
    if (api_refresh(session, &id, 1, NULL, err) < 0)
        return -1;
    return sw_store_get(session->store, id, SW_COLUMNS_ALL, row, err);
}

static int record_cancel(struct sw_session *session, const struct api_job *job,
                         struct sw_error *err)
{
    struct sw_sighting seen = {
        .job = job->ref, .presence = SW_PRESENT, .state = SW_CANCELED, .reason = "canceled",
        .message = "canceled before it started", .exit_code = SW_NO_EXIT_CODE,
        .failed_replica = -1, .ended_ms = sw_now_ms(),
    };

    if (sw_store_saw(session->store, &seen, NULL, sw_now_ms(), NULL, err) < 0)
        return -1;
    api_run_hooks(session);
    return 0;
}

/* The platform confirmed; if its answer is not final yet, our own knowledge is. */
static int record_end(struct sw_session *session, const struct api_job *job, struct sw_error *err)
{
    sw_auto(sw_job) struct sw_job row = { 0 };

    if (job_row(session, job->row.id, &row, err) < 0)
        return -1;
    return row.phase == SW_PHASE_OVER ? 0 : record_cancel(session, job, err);
}

int sw_cancel(struct sw_session *session, const char *id, struct sw_error *err)
{
    sw_auto(api_job) struct api_job job = { 0 };
    int stopped;

    if (api_refresh(session, &id, 1, NULL, err) < 0 || api_job_open(session, id, &job, err) < 0)
        return -1;
    if (job.row.phase == SW_PHASE_OVER)
        return 0;
    if (sw_store_cancel_intent(session->store, id, err) < 0)
        return -1;
    stopped = api_job_verify(session, &job, err) == 0 ? job.platform->cancel(job.link, &job.ref, err)
                                                      : -1;
    if (stopped < 0)
        return sw_wrap(err, "job '%s' is not canceled yet", id);
    return stopped == 1 ? record_cancel(session, &job, err) : record_end(session, &job, err);
}

enum { TOLD_MS = 1000 };          /* between two looks where news come by themselves */

/* The job's own answer as a shell would give it. */
static int exit_status_of(const struct sw_job *row)
{
    if (row->state == SW_COMPLETE)
        return 0;
    if (row->state == SW_CANCELED)
        return 130;
    if (sw_text_same(row->reason, "time"))
        return 124;
    if (row->signal > 0)
        return 128 + row->signal;
    return row->exit_code > 0 && row->exit_code < 256 ? row->exit_code : 1;
}

int sw_wait(struct sw_session *session, const char *id, int64_t timeout_ms,
            int (*idle)(void *context), void *context, int *exit_status, struct sw_error *err)
{
    int64_t begun = sw_monotonic_ms();
    int64_t pause_ms = 10, left_ms = INT64_MAX;

    for (;;) {
        sw_auto(sw_job) struct sw_job row = { 0 };

        if (job_row(session, id, &row, err) < 0)
            return -1;
        if (row.phase == SW_PHASE_OVER) {
            *exit_status = exit_status_of(&row);
            return 0;
        }
        if (timeout_ms >= 0 && sw_monotonic_ms() - begun >= timeout_ms) {
            sw_fail(err, SW_E_TIMEOUT, "job '%s' is still %s", id, sw_state_name(row.state));
            return sw_hint(err, "it goes on: wait again, or look with `slipway status %s`", id);
        }
        if (idle && idle(context))
            return sw_fail(err, SW_E_INTERRUPTED, "stopped by the caller");
        if (timeout_ms >= 0)
            left_ms = timeout_ms - (sw_monotonic_ms() - begun);
        if (api_await(session, pause_ms < left_ms ? pause_ms : left_ms) != API_NOBODY_TELLS)
            pause_ms = TOLD_MS;
        else
            pause_ms = pause_ms < 200 ? pause_ms * 2 : 250;
    }
}

static int remove_job(struct sw_session *session, const char *id, bool keep_results,
                      struct sw_error *err)
{
    sw_auto(api_job) struct api_job job = { 0 };

    if (api_job_open(session, id, &job, err) < 0)
        return -1;
    if (job.row.phase != SW_PHASE_OVER) {
        sw_fail(err, SW_E_CONFLICT, "job '%s' is still %s", id, sw_state_name(job.row.state));
        return sw_hint(err, "cancel it first: slipway cancel %s", id);
    }
    if (api_job_verify(session, &job, err) != 0 ||
        job.platform->cleanup(job.link, &job.ref, keep_results, err) < 0)
        return sw_wrap(err, "cannot remove job '%s'", id);
    return sw_store_remove(session->store, id, err);
}

int sw_remove(struct sw_session *session, const char *id, bool keep_results, struct sw_error *err)
{
    return api_refresh(session, &id, 1, NULL, err) < 0 ? -1
                                                       : remove_job(session, id, keep_results, err);
}

int sw_forget(struct sw_session *session, const char *id, struct sw_error *err)
{
    return sw_store_forget(session->store, id, err);
}

static int append_id(void *context, const struct sw_job *row)
{
    json_array_append_new(context, json_string(row->id));
    return 0;
}

char *sw_remove_expired(struct sw_session *session, struct sw_error *err)
{
    sw_auto(json) json_t *ids = json_array();
    size_t i;
    json_t *id;

    if (sw_store_expired(session->store, sw_now_ms(), 1000, append_id, ids, err) < 0)
        return NULL;
    json_array_foreach(ids, i, id)
        if (remove_job(session, json_string_value(id), false, err) < 0)
            return NULL;
    return api_text(sw_take(ids));
}

char *sw_get_results(struct sw_session *session, const char *id, const char *to,
                     struct sw_error *err)
{
    sw_autofree char *where = sw_results_dir(session, id, err);
    struct sw_copy_options options = { .size = sizeof options, .recursive = true };
    sw_auto(api_job) struct api_job job = { 0 };
    char *copied;

    if (!where || api_job_open(session, id, &job, err) < 0 ||
        (job.platform->bring && api_job_verify(session, &job, err) != 0))
        return NULL;
    copied = job.platform->bring ? api_text(job.platform->bring(job.link, &job.ref, to, err))
                                 : sw_copy(session, where, to, &options, NULL, NULL, err);
    if (!copied)
        sw_wrap(err, "cannot bring home the results of '%s'", id);
    return copied;
}

/* Write the row of a job that exists already: it goes through the same phases as our own. */
static int record_adopted(struct sw_session *session, const struct sw_platform *platform,
                          const char *id, int64_t place, json_t *plan,
                          const struct sw_receipt *receipt, struct sw_error *err)
{
    struct sw_job row = {
        .name = (char *)(sw_json_str(plan, "name") ? sw_json_str(plan, "name") : id),
        .platform = (char *)platform->name, .profile = session->profile, .place = place, .plan = plan,
        .labels = json_object_get(plan, "labels"), .keep_ms = sw_json_int(plan, "keep_ms", 0),
    };

    memcpy(row.id, id, strlen(id) + 1);
    if (sw_store_add(session->store, &row, err) < 0 ||
        sw_store_submitted(session->store, id, receipt->remote_id, receipt->details,
                           receipt->results_dir, err) < 0)
        return -1;
    sw_store_event(session->store, id, "adopted", NULL, NULL);
    return api_refresh(session, &id, 1, NULL, err);
}

int sw_adopt(struct sw_session *session, const char *platform_name, const char *id,
             struct sw_error *err)
{
    const struct sw_platform *platform = sw_platform_need(platform_name, err);
    struct sw_receipt receipt = { 0 };
    sw_auto(sw_job) struct sw_job known = { 0 };
    json_t *plan = NULL;
    struct sw_link *link;
    int64_t place = 0;
    int result;

    if (!platform || sw_id_check(id, err) < 0)
        return -1;
    if (sw_store_get(session->store, id, SW_COLUMNS_LIST, &known, NULL) == 0)
        return 0;
    if (!platform->adopt)
        return sw_fail(err, SW_E_UNSUPPORTED, "adopting jobs is not available on %s",
                       platform->name);
    link = api_link(session, platform, session->profile, err);
    if (!link || api_settle_place(session, platform, link, &place, err) < 0 ||
        platform->adopt(link, id, &plan, &receipt, err) < 0)
        return -1;
    result = record_adopted(session, platform, id, place, plan, &receipt, err);
    json_decref(plan);
    json_decref(receipt.details);
    free(receipt.results_dir);
    return result;
}
