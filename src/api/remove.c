/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remove.c - forget finished jobs and remove their files: those of one place together.
 */
#include <string.h>

#include "api/batch.h"
#include "base/clock.h"
#include "base/text.h"
#include "core/state.h"

enum { REMOVE_LOOK_MS = 30000, EXPIRED_AT_ONCE = 1000 };

struct api_removal {                   /* of sw_remove_many() */
    bool keep_results;
};

static int still_there(const struct sw_job *row, const json_t *unreachable, struct sw_error *err)
{
    const json_t *first = json_array_get(unreachable, 0);

    if (first) {
        sw_fail(err, SW_E_UNREACHABLE, "it is unknown whether job '%s' has finished: %s: %s", row->id,
                sw_json_str(first, "platform"), sw_json_str(first, "message"));
        return sw_hint(err, "try again when %s answers", sw_json_str(first, "platform"));
    }
    sw_fail(err, SW_E_CONFLICT, "job '%s' is still %s", row->id, sw_state_name(row->state));
    return sw_hint(err, "cancel it first: slipway cancel %s", row->id);
}

/* The disk is so full that even the job's end cannot be written: it is removed on its platform's word,
 * which makes room, and written down afterwards. */
static int remove_unwritten(struct sw_session *session, const char *id, bool keep_results,
                            struct sw_error *err)
{
    sw_auto(api_job) struct api_job job = { 0 };
    struct sw_observation seen = { .exit_code = SW_NO_EXIT_CODE, .failed_replica = -1 };
    int result;

    if (api_job_reach(session, id, &job, err) < 0)
        return -1;
    seen.job = job.ref;
    if (job.row.phase != SW_PHASE_OVER && job.platform->observe(job.conn, &seen, 1, err) < 0)
        return -1;
    sw_observation_done(&seen);
    if (job.row.phase != SW_PHASE_OVER &&
        (seen.presence != SW_PRESENT || !sw_state_is_final(seen.state)))
        return still_there(&job.row, NULL, err);
    result = sw_platform_cleanup(job.platform, job.conn, &job.ref, keep_results, err);
    if (result == 0 && job.row.phase != SW_PHASE_OVER)
        result = sw_store_saw(session->store, &seen, NULL, sw_now_ms(), NULL, err);
    return result < 0 ? sw_wrap(err, "cannot remove job '%s'", id)
                      : sw_store_remove(session->store, id, err);
}

/* What is not over stays; the rest is open. */
static void refuse_unfinished(struct api_batch *batch, const json_t *unreachable)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct api_one *one = &batch->jobs[i];
        struct sw_error why = { 0 };

        if (one->done || one->row.phase == SW_PHASE_OVER)
            continue;
        still_there(&one->row, unreachable, &why);
        api_one_fail(one, &why);
    }
}

/* Their files on the platform; those that cannot be removed are done. */
static void clean_up(struct api_batch *batch, bool keep_results)
{
    sw_autofree struct sw_batch_job *jobs = sw_alloc((batch->count + 1) * sizeof *jobs);
    sw_autofree struct sw_jobref *refs = sw_alloc((batch->count + 1) * sizeof *refs);
    sw_autofree size_t *which = sw_alloc((batch->count + 1) * sizeof *which);
    struct sw_error why = { 0 };
    size_t count = 0;

    for (size_t i = 0; i < batch->count; i++) {
        if (batch->jobs[i].done)
            continue;
        refs[count] = sw_job_ref(&batch->jobs[i].row);
        jobs[count].job = &refs[count];
        which[count++] = i;
    }
    if (count == 0)
        return;
    if (api_verify_place(batch->session, batch->platform, batch->profile, batch->place, &why) != 0)
        sw_batch_fail(jobs, count, &why);
    else
        batch->platform->cleanup(batch->conn, jobs, count, keep_results, SW_NO_DEADLINE);
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].result == 0)
            continue;
        sw_wrap(&jobs[i].err, "cannot remove job '%s'", jobs[i].job->id);
        api_one_fail(&batch->jobs[which[i]], &jobs[i].err);
    }
}

static int forget_rows(void *context, struct sw_error *err)
{
    struct api_batch *batch = context;

    (void)err;
    for (size_t i = 0; i < batch->count; i++) {
        struct api_one *one = &batch->jobs[i];
        struct sw_error why = { 0 };

        if (!one->done && sw_store_remove(batch->session->store, one->row.id, &why) < 0 &&
            why.code != SW_E_NOT_FOUND)
            api_one_fail(one, &why);
    }
    return 0;
}

static void remove_one_by_one(struct api_batch *batch, bool keep_results)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct api_one *one = &batch->jobs[i];
        struct sw_error why = { 0 };

        if (!one->done && remove_unwritten(batch->session, one->row.id, keep_results, &why) < 0)
            api_one_fail(one, &why);
    }
}

static void remove_place(struct api_batch *batch)
{
    const struct api_removal *options = batch->options;
    sw_auto(json) json_t *unreachable = json_array();
    struct sw_error why = { 0 };

    if (api_batch_refresh(batch, REMOVE_LOOK_MS, unreachable, &why) < 0) {
        if (why.code == SW_E_STORE && sw_store_is_full(batch->session->store))
            remove_one_by_one(batch, options->keep_results);
        else
            api_batch_fail(batch, &why);
        return;
    }
    if (api_batch_reload(batch, &why) < 0) {
        api_batch_fail(batch, &why);
        return;
    }
    refuse_unfinished(batch, unreachable);
    clean_up(batch, options->keep_results);
    if (sw_store_together(batch->session->store, forget_rows, batch, &why) < 0)
        api_batch_fail(batch, &why);
}

int sw_remove_many(struct sw_session *session, const char *const *ids, size_t count, bool keep_results,
                   sw_outcome_fn *tell, void *context, struct sw_error *err)
{
    const struct api_removal options = { keep_results };

    return api_batch_run(session, ids, count, remove_place, &options, tell, context, err);
}

int sw_remove(struct sw_session *session, const char *id, bool keep_results, struct sw_error *err)
{
    return sw_remove_many(session, &id, 1, keep_results, NULL, NULL, err);
}

int sw_forget(struct sw_session *session, const char *id, struct sw_error *err)
{
    return sw_store_forget(session->store, id, err);
}

/* ---- those whose time has passed --------------------------------------------------------------- */

static int append_expired(void *context, const struct sw_job *row)
{
    json_array_append_new(context, sw_json_object(
        SW_STR("what", "a job past its keep time"),
        SW_STR("where", row->results_dir ? row->results_dir : ""), SW_STR("job", row->id),
        SW_STR("platform", row->platform), SW_BOOL("removed", false)));
    return 0;
}

struct expiry {
    struct sw_session *session;
    json_t *rows;
};

static void note_removed(void *context, const struct sw_outcome *outcome)
{
    const struct expiry *expiry = context;

    if (outcome->err)
        api_warn(expiry->session, outcome->err->message);
    else
        json_object_set_new(json_array_get(expiry->rows, outcome->index), "removed", json_true());
}

json_t *api_expired(struct sw_session *session, bool remove, struct sw_error *err)
{
    sw_auto(json) json_t *rows = json_array();
    sw_autofree const char **ids = NULL;
    json_t *row;
    size_t i;

    if (sw_store_expired(session->store, sw_now_ms(), EXPIRED_AT_ONCE, append_expired, rows,
                         err) < 0)
        return NULL;
    ids = sw_alloc((json_array_size(rows) + 1) * sizeof *ids);
    json_array_foreach(rows, i, row)
        ids[i] = sw_json_str(row, "job");
    if (remove)
        sw_remove_many(session, ids, json_array_size(rows), false, note_removed,
                       &(struct expiry){ session, rows }, err);
    return sw_take(rows);
}

char *sw_remove_expired(struct sw_session *session, struct sw_error *err)
{
    struct sw_error why = { 0 };
    sw_auto(json) json_t *rows = api_expired(session, true, &why), *removed = json_array();
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
        if (sw_json_bool(row, "removed", false))
            json_array_append(removed, json_object_get(row, "job"));
    if (why.code && json_array_size(removed) == 0)
        return sw_null(sw_pass(err, &why));
    return api_text(sw_take(removed));
}
