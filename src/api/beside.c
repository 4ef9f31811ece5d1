/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beside.c - what people do about a job: try it again, run something beside it, sweep up.
 */
#include <string.h>

#include "api/api_internal.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "core/report.h"

static int avoid_its_node(struct sw_session *session, const struct sw_job *row,
                          struct sw_error *err)
{
    sw_auto(json) json_t *avoid = json_is_array(row->avoid) ? json_deep_copy(row->avoid)
                                                            : json_array();

    if (sw_text_empty(row->node))
        return sw_fail(err, SW_E_NOT_FOUND, "nobody knows on which node job '%s' failed", row->id);
    json_array_append_new(avoid, sw_json_text(row->node));
    return sw_store_avoid(session->store, row->id, avoid, err);
}

/* All that the next attempt needs is there: what cannot be submitted is refused before the row
 * changes. */
static int check_next(const struct api_job *job, struct sw_error *err)
{
    sw_auto(sw_plan) struct sw_plan *plan = sw_attempt_plan(&job->row, err);
    sw_auto(sw_secrets) struct sw_secrets *secrets =
        plan ? sw_attempt_secrets(plan, NULL, NULL, err) : NULL;

    if (!secrets)
        return -1;
    return job->platform->preflight ? job->platform->preflight(job->link, plan, err) : 0;
}

/* The platform itself said no: then nothing was submitted, whatever the row went through. */
static int was_refused(struct sw_session *session, const char *id, struct sw_error *err)
{
    sw_auto(sw_job) struct sw_job row = { 0 };

    if (sw_store_get(session->store, id, SW_COLUMNS_LIST, &row, err) < 0)
        return -1;
    if (row.phase != SW_PHASE_OVER || !sw_text_same(row.reason, "refused"))
        return 0;
    sw_fail(err, SW_E_REFUSED, "%s", row.message ? row.message : "the platform refused it");
    return row.suggestion ? sw_hint(err, "%s", row.suggestion) : -1;
}

/* A job that is over and may have another attempt. */
static int open_finished(struct sw_session *session, const char *id, struct api_job *job,
                         struct sw_error *err)
{
    if (api_refresh(session, &id, 1, NULL, err) < 0 || api_job_open(session, id, job, err) < 0)
        return -1;
    if (job->row.phase != SW_PHASE_OVER) {
        sw_fail(err, SW_E_CONFLICT, "job '%s' is still %s", id, sw_state_name(job->row.state));
        return sw_hint(err, "wait for its end, or cancel it: slipway cancel %s", id);
    }
    return check_next(job, err);
}

/* The row became "submitting" without an owner; the refresh claims it and sends it, like every
 * retry. Dying in between leaves it to the next one who looks. */
static int send_now(struct sw_session *session, const char *id, struct sw_error *err)
{
    sw_auto(json) json_t *unreachable = json_array();

    if (api_refresh(session, &id, 1, unreachable, err) < 0)
        return -1;
    if (json_array_size(unreachable) > 0)
        api_warn(session, "the platform did not answer; the attempt is sent as soon as it does");
    return was_refused(session, id, err);
}

int sw_retry(struct sw_session *session, const char *id, bool avoid_node, int *attempt,
             struct sw_error *err)
{
    sw_auto(api_job) struct api_job job = { 0 };

    if (open_finished(session, id, &job, err) < 0 ||
        (avoid_node && avoid_its_node(session, &job.row, err) < 0) ||
        sw_store_next_attempt(session->store, id, job.row.attempt, "tried again by hand", attempt,
                              err) < 0)
        return -1;
    return send_now(session, id, err);
}

/* ---- outputs alone ---------------------------------------------------------------------------- */

/* Is there anything to bring? */
static int check_outputs(const struct api_job *job, struct sw_error *err)
{
    const struct sw_job *row = &job->row;

    if (!job->platform->collects) {
        sw_fail(err, SW_E_UNSUPPORTED, "bringing the outputs of a finished job again is not available on "
                "%s", job->platform->name);
        return sw_hint(err, "fetch its results with `slipway get %s`", row->id);
    }
    if (json_array_size(json_object_get(row->plan, "outputs")) == 0 &&
        json_array_size(json_object_get(row->plan, "config_outputs")) == 0) {
        sw_fail(err, SW_E_SPEC, "job '%s' declares no outputs: there is nothing to bring", row->id);
        return sw_hint(err, "fetch its results with `slipway get %s`", row->id);
    }
    if (row->started_ms == 0 && !row->only_collect) {
        sw_fail(err, SW_E_CONFLICT, "the command of job '%s' was never started: it left no outputs",
                row->id);
        return sw_hint(err, "run the whole job again: slipway retry %s", row->id);
    }
    return 0;
}

/* How the command itself ended: "outputs" means that it ended well. */
static int command_exit_of(const struct sw_job *row)
{
    if (row->only_collect)
        return row->command_exit;
    return sw_text_same(row->reason, SW_REASON_OUTPUTS) ? 0 : api_exit_status(row);
}

int sw_collect_again(struct sw_session *session, const char *id, int *attempt,
                     struct sw_error *err)
{
    sw_auto(api_job) struct api_job job = { 0 };

    if (open_finished(session, id, &job, err) < 0 || check_outputs(&job, err) < 0 ||
        sw_store_collect_again(session->store, id, job.row.attempt, command_exit_of(&job.row),
                               "its outputs are brought again by hand", attempt, err) < 0)
        return -1;
    return send_now(session, id, err);
}

/* ---- a command beside it ---------------------------------------------------------------------- */

int sw_exec(struct sw_session *session, const char *id, int replica, int argc,
            const char *const *argv, int *exit_status, struct sw_error *err)
{
    sw_auto(api_job) struct api_job job = { 0 };
    sw_autofree char **words = NULL;

    if (argc < 1)
        return sw_fail(err, SW_E_USAGE, "no command to run beside job '%s'", id);
    if (api_refresh(session, &id, 1, NULL, err) < 0 || api_job_reach(session, id, &job, err) < 0)
        return -1;
    if (!job.platform->exec)
        return sw_fail(err, SW_E_UNSUPPORTED, "running a command beside a job is not available on "
                       "%s", job.platform->name);
    if (job.row.state != SW_RUNNING)
        return sw_fail(err, SW_E_CONFLICT, "job '%s' is %s, not Running", id,
                       sw_state_name(job.row.state));
    if (replica < 0 || replica >= api_replicas(&job.row))
        return sw_fail(err, SW_E_USAGE, "job '%s' has no rank %d", id, replica);
    words = sw_alloc(((size_t)argc + 1) * sizeof *words);
    memcpy(words, argv, (size_t)argc * sizeof *words);
    return job.platform->exec(job.link, &job.ref, replica, words, exit_status, err);
}

/* ---- gc ------------------------------------------------------------------------------------- */

static bool is_known(void *context, const char *id)
{
    struct sw_session *session = context;
    sw_auto(sw_job) struct sw_job row = { 0 };
    struct sw_error why = { 0 };

    /* Only a store that certainly has no such job makes a leftover. */
    return sw_store_get(session->store, id, SW_COLUMNS_LIST, &row, &why) == 0 ||
           why.code != SW_E_NOT_FOUND;
}

static void sweep_platform(struct sw_session *session, const struct sw_platform *platform,
                           const struct sw_sweep *sweep, json_t *rows)
{
    struct sw_error why = { 0 };
    struct sw_link *link = api_link(session, platform, session->profile, &why);
    sw_auto(json) json_t *found = link ? platform->leftovers(link, sweep, &why) : NULL;
    json_t *leftover;
    size_t i;

    if (!found && api_is_idle(session, platform, &why))
        return;
    if (!found) {
        sw_autofree char *text = sw_format("%s was not looked at: %s", platform->name,
                                           why.message);

        api_warn(session, text);
        return;
    }
    json_array_foreach(found, i, leftover) {
        json_object_set_new(leftover, "platform", json_string(platform->name));
        if (!json_object_get(leftover, "removed"))
            json_object_set_new(leftover, "removed", json_boolean(sweep->remove));
        json_array_append(rows, leftover);
    }
}

static int add_expired(void *context, const struct sw_job *row)
{
    json_array_append_new(context, sw_json_object(
        SW_STR("what", "a job past its keep time"),
        SW_STR("where", row->results_dir ? row->results_dir : ""), SW_STR("job", row->id),
        SW_STR("platform", row->platform), SW_BOOL("removed", false)));
    return 0;
}

static int sweep_jobs(struct sw_session *session, bool remove, json_t *rows, struct sw_error *err)
{
    sw_auto(json) json_t *expired = json_array();
    json_t *row;
    size_t i;

    if (sw_store_expired(session->store, sw_now_ms(), 1000, add_expired, expired, err) < 0)
        return -1;
    json_array_foreach(expired, i, row) {
        struct sw_error why = { 0 };

        if (remove && sw_remove(session, sw_json_str(row, "job"), false, &why) == 0)
            json_object_set_new(row, "removed", json_true());
        else if (remove)
            api_warn(session, why.message);
        json_array_append(rows, row);
    }
    return 0;
}

/* Clones of repositories that jobs share; one that is not over may have them mounted. */
static void sweep_clones(struct sw_session *session, bool remove, json_t *rows)
{
    const struct sw_job_filter active = { .active_only = true };
    sw_autofree char *folder = sw_path_join(session->state_dir, "git");
    int64_t count = 0;

    if (!sw_file_exists(folder) ||
        sw_store_count(session->store, &active, &count, NULL) < 0 || count > 0)
        return;
    json_array_append_new(rows, sw_json_object(
        SW_STR("what", "cache"), SW_STR("where", folder), SW_STR("job", ""),
        SW_STR("platform", ""),
        SW_BOOL("removed", remove && sw_remove_tree(folder, NULL) == 0)));
}

char *sw_gc_with(struct sw_session *session, const struct sw_gc_options *options,
                 struct sw_error *err)
{
    sw_auto(json) json_t *rows = json_array();
    const struct sw_sweep sweep = {
        .known = is_known, .context = session, .store_id = sw_store_id(session->store),
        .remove = options->remove, .results = options->results, .caches = options->caches,
    };
    const struct sw_platform *platform;

    if (sweep_jobs(session, options->remove, rows, err) < 0)
        return NULL;
    for (size_t i = 0; (platform = sw_platform_at(i)); i++)
        if (platform->leftovers)
            sweep_platform(session, platform, &sweep, rows);
    if (options->caches)
        sweep_clones(session, options->remove, rows);
    return api_text(sw_take(rows));
}

char *sw_gc(struct sw_session *session, bool remove, struct sw_error *err)
{
    const struct sw_gc_options options = { .size = sizeof options, .remove = remove };

    return sw_gc_with(session, &options, err);
}
