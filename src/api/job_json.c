/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_json.c - a job as the outside sees it.
 *
 * The first fields are the seed's (id, status, message, backend_type, backend_job_id,
 * backend_details, results_dir, timestamps), so that scripts written for the Python SDK read on.
 * Times are texts in the contract's form; "not yet" is null. "version" of the enclosing document
 * changes only when a field changes its meaning.
 */
#include "api/api_internal.h"

#include "base/clock.h"

static json_t *time_or_null(int64_t at_ms)
{
    char text[40];

    if (!at_ms)
        return json_null();
    sw_time_format(at_ms, text);
    return json_string(text);
}

static json_t *number_or_null(int value, int none)
{
    return value == none ? json_null() : json_integer(value);
}

static const char *phase_name(enum sw_phase phase)
{
    static const char *const names[] = {
        [SW_PHASE_SUBMITTING] = "submitting", [SW_PHASE_ACTIVE] = "active",
        [SW_PHASE_OVER] = "over",
    };

    return names[phase];
}

/* A clock that was set back makes nothing younger than new. */
static int64_t age(int64_t now_ms, int64_t then_ms)
{
    return now_ms > then_ms ? now_ms - then_ms : 0;
}

/* How far it is; null before anything was read. What else watchers keep there is not for show. */
static json_t *progress_json(const json_t *stored)
{
    static const char *const shown[] = { "epoch", "epochs", "step", "steps", "fraction", "rate",
                                         "fraction_of_epoch", "seen_ms" };
    json_t *progress = json_object();

    for (size_t i = 0; i < SW_COUNT(shown); i++)
        if (json_object_get(stored, shown[i]))
            json_object_set(progress, shown[i], json_object_get(stored, shown[i]));
    if (sw_json_int(stored, "seen_ms", 0) > 0)
        return progress;
    json_decref(progress);
    return json_null();
}

json_t *api_job_json(const struct sw_job *job, json_t *attempts)
{
    int64_t now = sw_now_ms();
    int64_t end = job->ended_ms ? job->ended_ms : now;

    return sw_json_object(
        SW_STR("id", job->id),
        SW_STR("name", job->name),
        SW_STR("status", sw_state_name(job->state)),
        SW_STR("reason", job->reason ? job->reason : ""),
        SW_STR("message", job->message ? job->message : ""),
        SW_STR("backend_type", job->platform),
        SW_STR("backend_job_id", job->remote_id ? job->remote_id : ""),
        SW_SUB("backend_details", job->details ? json_incref(job->details) : json_object()),
        SW_STR("results_dir", job->results_dir ? job->results_dir : ""),
        SW_SUB("nodes", job->plan ? json_integer(sw_json_int(job->plan, "nodes", 1)) : NULL),
        SW_STR("phase", phase_name(job->phase)),
        SW_BOOL("canceling", job->canceling),
        SW_INT("attempt", job->attempt),
        SW_SUB("exit_code", number_or_null(job->exit_code, SW_NO_EXIT_CODE)),
        SW_SUB("signal", number_or_null(job->signal, 0)),
        SW_SUB("failed_replica", number_or_null(job->failed_replica, -1)),
        SW_STR("node", job->node),
        SW_STR("err_class", job->err_class),
        SW_STR("cause", job->cause),
        SW_STR("suggestion", job->suggestion),
        SW_SUB("created_at", time_or_null(job->created_ms)),
        SW_SUB("submitted_at", time_or_null(job->submitted_ms)),
        SW_SUB("started_at", time_or_null(job->started_ms)),
        SW_SUB("ended_at", time_or_null(job->ended_ms)),
        SW_SUB("updated_at", time_or_null(job->updated_ms)),
        SW_SUB("seen_at", time_or_null(job->seen_ms)),
        SW_SUB("next_attempt_at",
               time_or_null(job->phase == SW_PHASE_SUBMITTING ? job->not_before_ms : 0)),
        SW_SUB("progress", progress_json(job->progress)),
        SW_SUB("last_line", json_incref(json_object_get(job->progress, "last_line"))),
        SW_SUB("last_output_at", time_or_null(sw_json_int(job->progress, "last_output_ms", 0))),
        SW_SUB("live", json_incref(json_object_get(job->progress, "live"))),
        SW_SUB("runner", json_incref(json_object_get(job->progress, "runner"))),
        SW_INT("age_ms", age(now, job->created_ms)),
        SW_SUB("seen_age_ms", job->seen_ms ? json_integer(age(now, job->seen_ms)) : json_null()),
        SW_SUB("duration_ms",
               job->started_ms ? json_integer(age(end, job->started_ms)) : json_null()),
        SW_SUB("labels", job->labels ? json_incref(job->labels) : NULL),
        SW_SUB("attempts", attempts));
}
