/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain.c - why a job failed, waits, or is tried again: the rules' verdict on what is known.
 *
 * What the store says is the truth the user was told; the platform's view only adds evidence.
 */
#include <stdio.h>

#include "api/api_internal.h"
#include "base/clock.h"
#include "base/text.h"
#include "core/report.h"
#include "diagnose/diagnose.h"
#include "monitor/retry.h"

static json_t *verdict_for(struct sw_session *session, const struct api_job *job)
{
    struct sw_evidence evidence = { 0 };
    sw_auto(json) json_t *rules = NULL;
    json_t *verdict;

    if (!job->platform->evidence ||
        job->platform->evidence(job->link, &job->ref, &evidence, NULL) < 0)
        sw_evidence_done(&evidence);
    if (!evidence.facts)
        evidence.facts = json_object();
    if (!json_object_get(evidence.facts, "runner"))
        sw_report_facts(json_object_get(job->row.progress, "runner"), evidence.facts);
    evidence.state = job->row.state;
    evidence.exit_code = job->row.exit_code;
    evidence.signal = job->row.signal;
    evidence.failed_replica = job->row.failed_replica;
    snprintf(evidence.reason, sizeof evidence.reason, "%s",
             job->row.reason ? job->row.reason : "");
    snprintf(evidence.message, sizeof evidence.message, "%s",
             job->row.message ? job->row.message : "");
    rules = sw_diagnose_rules(json_object_get(job->row.plan, "rules"), api_rules(session));
    verdict = sw_diagnose_with(&evidence, rules);
    sw_evidence_done(&evidence);
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

static const char *message_of(const struct sw_job *row)
{
    if (!sw_text_empty(row->message))
        return row->message;
    return sw_text_empty(row->reason) ? NULL : row->reason;
}

static char *ended_well(const struct sw_job *row)
{
    sw_autofree char *warning = sw_report_warning(json_object_get(row->progress, "runner"));

    return sw_format("it ended well%s%s", warning ? "; warning: " : "", warning ? warning : "");
}

static char *headline_of(const struct sw_job *row, const json_t *verdict, const char *waits)
{
    const char *message = message_of(row), *cause = sw_json_str(verdict, "cause");

    if (waits)
        return sw_strdup(waits);
    if (verdict)
        return sw_format("it failed: %s (cause: %s)", message ? message : "nobody said why",
                         cause ? cause : "unknown");
    if (row->state == SW_COMPLETE)
        return ended_well(row);
    return sw_format("it is %s%s%s", sw_state_name(row->state), message ? ": " : "",
                     message ? message : "");
}

/* What becomes of the failure: the same decision as the monitor's. */
static json_t *retry_json(const struct api_job *job, const json_t *verdict)
{
    struct sw_sighting failed = { .job = job->ref, .state = job->row.state };
    struct sw_retry retry;
    char at[40];

    if (job->row.phase == SW_PHASE_SUBMITTING && job->row.attempt > 1) {
        sw_time_format(job->row.not_before_ms, at);
        return sw_json_object(SW_BOOL("again", true), SW_STR("why", job->row.message),
                              SW_STR("at", at));
    }
    if (!verdict)
        return json_null();
    sw_retry_decide(job->row.plan, job->platform->name, &failed, verdict, 0, &retry);
    if (retry.again)         /* it would be, but the job is over: it was sent and refused, or lost */
        snprintf(retry.why, sizeof retry.why, "not tried again by itself; `slipway retry` does");
    return sw_json_object(SW_BOOL("again", false), SW_STR("why", retry.why));
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
    headline = headline_of(&job.row, verdict, waits);
    return api_text(sw_json_object(
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
        SW_INT("failed_replica", job.row.failed_replica)));
}
