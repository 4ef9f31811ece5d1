/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict.c - why a job failed: the platform's evidence, judged by the rules.
 *
 * What was seen is what the store says or will say; evidence may only add to it. One function for the
 * refresh (look.c) and for `why` (api/explain.c), so that both give the same answer.
 */
#include "monitor/verdict.h"

#include <string.h>

#include "core/evidence.h"
#include "core/report.h"
#include "diagnose/diagnose.h"

/* What the job asked for, where the platform does not say. */
static void add_wishes(const json_t *plan, json_t *facts)
{
    if (!plan)
        return;
    if (!json_object_get(facts, "gpus_requested"))
        json_object_set_new(facts, "gpus_requested", json_integer(sw_json_int(plan, "gpus", 0)));
    json_object_set_new(facts, "nodes", json_integer(sw_json_int(plan, "nodes", 1)));
}

static void gather(const struct sw_platform *platform, struct sw_link *link, struct sw_sighting *seen,
                   const json_t *report, struct sw_evidence *evidence)
{
    if (!platform->evidence || platform->evidence(link, &seen->job, evidence, NULL) < 0) {
        sw_evidence_done(evidence);
        *evidence = (struct sw_evidence){ 0 };
    }
    if (!evidence->facts)
        evidence->facts = json_object();
    if (!json_object_get(evidence->facts, "runner"))
        sw_report_facts(report, evidence->facts);
    add_wishes(seen->job.plan, evidence->facts);
    evidence->state = seen->state;
    memcpy(evidence->reason, seen->reason, sizeof evidence->reason);
    memcpy(evidence->message, seen->message, sizeof evidence->message);
    evidence->exit_code = seen->exit_code;
    evidence->signal = seen->signal;
    evidence->failed_replica = seen->failed_replica;
}

json_t *sw_verdict(const struct sw_platform *platform, struct sw_link *link, struct sw_sighting *seen,
                   const json_t *report, const json_t *user_rules)
{
    struct sw_evidence evidence = { 0 };
    sw_auto(json) json_t *rules = NULL;
    sw_autofree char *headline = NULL;
    json_t *verdict;
    bool from_log;

    if (seen->state != SW_ERROR)
        return NULL;
    gather(platform, link, seen, report, &evidence);
    rules = sw_diagnose_rules(json_object_get(seen->job.plan, "rules"), user_rules);
    verdict = sw_diagnose_with(&evidence, rules);
    headline = sw_diagnose_headline(&evidence, verdict, &from_log);
    json_object_set_new(verdict, "headline", sw_json_text(headline));
    json_object_set_new(verdict, "from_log", json_boolean(from_log));
    if (!seen->runner)
        seen->runner = json_incref(json_object_get(evidence.facts, "runner"));
    sw_evidence_done(&evidence);
    return verdict;
}
