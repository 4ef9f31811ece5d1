/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain.c - why a job failed, waits, or is tried again: the rules' verdict on what is known.
 *
 * The store has what the user saw; the platform only adds evidence.
 */
#include <stdio.h>

#include "api/api_internal.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "core/reason.h"
#include "core/report.h"
#include "diagnose/diagnose.h"
#include "diagnose/retry.h"
#include "monitor/verdict.h"

static json_t *verdict_for(struct sw_session *session, const struct api_job *job)
{
    const struct sw_job *row = &job->row;
    struct sw_observation seen = {
        .job = job->ref, .presence = SW_PRESENT, .state = row->state, .exit_code = row->exit_code,
        .signal = row->signal, .failed_replica = row->failed_replica,
    };
    json_t *verdict = NULL;

    if (row->state != SW_ERROR)
        return NULL;
    snprintf(seen.reason, sizeof seen.reason, "%s", row->reason ? row->reason : "");
    snprintf(seen.message, sizeof seen.message, "%s", row->message ? row->message : "");
    snprintf(seen.node, sizeof seen.node, "%s", row->node ? row->node : "");
    sw_verdicts(job->platform, job->conn, api_rules(session), &(struct sw_observation *){ &seen },
                json_object_get(row->progress, "runner"), &verdict, 1);
    json_decref(seen.runner);
    /* What was refused came with a hint, and nothing on the platform knows it. */
    if (verdict && sw_text_same(row->reason, SW_REASON_REFUSED) && !sw_text_empty(row->suggestion))
        json_object_set_new(verdict, "suggestion", sw_json_text(row->suggestion));
    return verdict;
}

char *sw_failure_analysis(struct sw_session *session, const char *id, struct sw_error *err)
{
    sw_auto(api_job) struct api_job job = { 0 };
    json_t *verdict;

    if (api_refresh(session, &id, 1, NULL, err) < 0 || api_job_open(session, id, &job, err) < 0)
        return NULL;
    verdict = verdict_for(session, &job);
    return api_text(verdict ? verdict : json_null());
}

/* "Canceled by you", or what is known of the cause. */
static char *how_canceled(const struct sw_job *row)
{
    if (row->canceling && !row->started_ms && row->attempt > 1)
        return sw_format("Canceled by you while waiting for attempt %d", row->attempt);
    if (row->canceling)
        return sw_strdup(row->started_ms ? "Canceled by you" : "Canceled by you before it started");
    return sw_text_empty(row->message) ? sw_strdup("Canceled from outside Slipway")
                                       : sw_format("Canceled: %s", row->message);
}

static char *ended_well(const struct sw_job *row)
{
    sw_autofree char *warning = sw_report_warning(json_object_get(row->progress, "runner"));

    return sw_format("Complete (exit code 0)%s%s", warning ? "; warning: " : "", warning ? warning : "");
}

static char *headline_of(const struct sw_job *row, const json_t *verdict, const char *waits)
{
    if (waits)
        return sw_strdup(waits);
    if (verdict)
        return sw_strdup(sw_json_str(verdict, "headline"));
    return row->state == SW_COMPLETE ? ended_well(row) : how_canceled(row);
}

/* What becomes of the failure: the same decision as the monitor's. */
static json_t *retry_json(const struct api_job *job, const json_t *verdict)
{
    struct sw_observation failed = { .job = job->ref, .state = job->row.state };
    struct sw_retry retry;
    char at[40];

    if (api_awaits_attempt(&job->row) && job->row.attempt > 1) {
        sw_time_format(job->row.not_before_ms, at);
        return sw_json_object(SW_BOOL("again", true), SW_STR("why", job->row.message),
                              SW_STR("at", at));
    }
    if (!verdict)
        return json_null();
    sw_retry_decide(job->row.plan, sw_platform_retries(job->platform), &failed, verdict, 0, &retry);
    if (retry.again)         /* it would be, but the job is over: it was sent and refused, or lost */
        snprintf(retry.why, sizeof retry.why, "not retried automatically; use `slipway retry`");
    return sw_json_object(SW_BOOL("again", false), SW_STR("why", retry.why));
}

/* "...; expected to start in 5m". Takes and returns an owned text, or NULL. */
static char *with_start(char *waits, const struct sw_job *row, int64_t now_ms)
{
    sw_autofree char *before = waits;
    char until[24];

    if (!before || row->phase != SW_PHASE_ACTIVE || api_awaits_attempt(row) || row->not_before_ms <= now_ms)
        return sw_take(before);
    sw_age_format(row->not_before_ms - now_ms, until);
    return sw_format("%s; expected to start in %s", before, until);
}

char *sw_why(struct sw_session *session, const char *id, struct sw_error *err)
{
    sw_auto(api_job) struct api_job job = { 0 };
    sw_auto(json) json_t *verdict = NULL;
    sw_autofree char *waits = NULL;
    sw_autofree char *headline = NULL;

    if (api_refresh(session, &id, 1, NULL, err) < 0 || api_job_open(session, id, &job, err) < 0)
        return NULL;
    verdict = verdict_for(session, &job);
    waits = sw_explain_waiting(job.row.state, job.row.reason, job.row.message,
                               sw_now_ms() - job.row.updated_ms);
    waits = with_start(sw_take(waits), &job.row, sw_now_ms());
    headline = headline_of(&job.row, verdict, waits);
    return api_document("why", sw_json_object(
        SW_STR("id", job.row.id),
        SW_STR("status", sw_state_name(job.row.state)),
        SW_STR("headline", headline),
        SW_STR("waits", waits),
        SW_STR("err_class", sw_json_str(verdict, "err_class")),
        SW_STR("cause", sw_json_str(verdict, "cause")),
        SW_STR("suggestion", sw_json_str(verdict, "suggestion")),
        SW_SUB("evidence", verdict ? json_incref(json_object_get(verdict, "evidence"))
                                   : json_array()),
        SW_SUB("retry", retry_json(&job, verdict)),
        SW_INT("attempt", job.row.attempt),
        SW_SUB("failed_replica", job.row.failed_replica < 0 ? NULL : json_integer(job.row.failed_replica))));
}
