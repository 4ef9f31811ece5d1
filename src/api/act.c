/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.c - wait, remove, bring results home.
 */
#include <string.h>

#include "api/api_internal.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "core/state.h"

enum {
    TOLD_MS = 1000,                /* between two looks where news come by themselves */
    LOOK_FOR_MS = 5000,            /* one look of a caller that waits for ever */
    FIRST_LOOK_MS = 1000,          /* one look at least, also when there is no time at all */
    REMOVE_LOOK_MS = 30000,
};

int api_exit_status(const struct sw_job *row)
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

/* A look takes no longer than there is time left: a platform may never answer. */
static int look_within(struct sw_session *session, const char *id, int64_t left_ms,
                       struct sw_job *row, struct sw_error *err)
{
    const struct sw_refresh_options options = {
        .deadline_ms = left_ms < LOOK_FOR_MS ? left_ms : LOOK_FOR_MS };

    if (left_ms > 0 && api_refresh_within(session, &id, 1, &options, NULL, err) < 0)
        return -1;
    return sw_store_get(session->store, id, SW_COLUMNS_LIST, row, err);
}

static int64_t time_left(int64_t begun_ms, int64_t timeout_ms)
{
    return timeout_ms < 0 ? INT64_MAX : timeout_ms - (sw_monotonic_ms() - begun_ms);
}

int sw_wait(struct sw_session *session, const char *id, int64_t timeout_ms,
            int (*idle)(void *context), void *context, int *exit_status, struct sw_error *err)
{
    int64_t begun = sw_monotonic_ms(), pause_ms = 10, left_ms = time_left(begun, timeout_ms);
    int64_t look_ms = left_ms > FIRST_LOOK_MS ? left_ms : FIRST_LOOK_MS;

    for (;; look_ms = left_ms) {
        sw_auto(sw_job) struct sw_job row = { 0 };

        if (look_within(session, id, look_ms, &row, err) < 0)
            return -1;
        if (row.phase == SW_PHASE_OVER) {
            *exit_status = api_exit_status(&row);
            return 0;
        }
        left_ms = time_left(begun, timeout_ms);
        if (left_ms <= 0) {
            sw_fail(err, SW_E_TIMEOUT, "job '%s' is still %s", id, sw_state_name(row.state));
            return sw_hint(err, "it goes on: wait again, or look with `slipway status %s`", id);
        }
        if (idle && idle(context))
            return sw_fail(err, SW_E_INTERRUPTED, "stopped by the caller");
        if (api_await(session, pause_ms < left_ms ? pause_ms : left_ms) != API_NOBODY_TELLS)
            pause_ms = TOLD_MS;
        else
            pause_ms = pause_ms < 200 ? pause_ms * 2 : 250;
        left_ms = time_left(begun, timeout_ms);
    }
}

static int still_there(const struct sw_job *row, const json_t *unreachable, struct sw_error *err)
{
    const json_t *first = json_array_get(unreachable, 0);

    if (first) {
        sw_fail(err, SW_E_UNREACHABLE, "whether job '%s' is over is not known: %s: %s", row->id,
                sw_json_str(first, "platform"), sw_json_str(first, "message"));
        return sw_hint(err, "try again when %s answers", sw_json_str(first, "platform"));
    }
    sw_fail(err, SW_E_CONFLICT, "job '%s' is still %s", row->id, sw_state_name(row->state));
    return sw_hint(err, "cancel it first: slipway cancel %s", row->id);
}

static int remove_job(struct sw_session *session, const char *id, bool keep_results,
                      const json_t *unreachable, struct sw_error *err)
{
    sw_auto(api_job) struct api_job job = { 0 };

    if (api_job_open(session, id, &job, err) < 0)
        return -1;
    if (job.row.phase != SW_PHASE_OVER)
        return still_there(&job.row, unreachable, err);
    if (api_job_verify(session, &job, err) != 0 ||
        job.platform->cleanup(job.link, &job.ref, keep_results, err) < 0)
        return sw_wrap(err, "cannot remove job '%s'", id);
    return sw_store_remove(session->store, id, err);
}

/* The disk is so full that even the job's end cannot be written: it is removed on its platform's word,
 * which makes room, and written down afterwards. */
static int remove_unwritten(struct sw_session *session, const char *id, bool keep_results,
                            struct sw_error *err)
{
    sw_auto(api_job) struct api_job job = { 0 };
    struct sw_sighting seen = { .exit_code = SW_NO_EXIT_CODE, .failed_replica = -1 };
    int result;

    if (api_job_reach(session, id, &job, err) < 0)
        return -1;
    seen.job = job.ref;
    if (job.row.phase != SW_PHASE_OVER && job.platform->poll(job.link, &seen, 1, err) < 0)
        return -1;
    json_decref(sw_take(seen.before));
    json_decref(sw_take(seen.live));
    json_decref(sw_take(seen.runner));
    if (job.row.phase != SW_PHASE_OVER &&
        (seen.presence != SW_PRESENT || !sw_state_is_final(seen.state)))
        return still_there(&job.row, NULL, err);
    result = job.platform->cleanup(job.link, &job.ref, keep_results, err);
    if (result == 0 && job.row.phase != SW_PHASE_OVER)
        result = sw_store_saw(session->store, &seen, NULL, sw_now_ms(), NULL, err);
    return result < 0 ? sw_wrap(err, "cannot remove job '%s'", id)
                      : sw_store_remove(session->store, id, err);
}

int sw_remove(struct sw_session *session, const char *id, bool keep_results, struct sw_error *err)
{
    const struct sw_refresh_options options = { .deadline_ms = REMOVE_LOOK_MS };
    sw_auto(json) json_t *unreachable = json_array();
    struct sw_error why = { 0 };

    if (api_refresh_within(session, &id, 1, &options, unreachable, &why) == 0)
        return remove_job(session, id, keep_results, unreachable, err);
    if (why.code == SW_E_STORE && sw_store_is_full(session->store))
        return remove_unwritten(session, id, keep_results, err);
    if (err)
        *err = why;
    return -1;
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
        if (remove_job(session, json_string_value(id), false, NULL, err) < 0)
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
