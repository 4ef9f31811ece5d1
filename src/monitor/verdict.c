/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict.c - why a job failed: the platform's evidence, judged by the rules.
 *
 * What was seen is what the store says or will say; evidence may only add to it. One function for the
 * refresh (reconcile.c) and for `why` (api/explain.c), so that both give the same answer.
 */
#include "monitor/verdict.h"

#include "core/evidence.h"
#include "core/report.h"
#include "diagnose/diagnose.h"

/* What the job asked for, where the platform does not say. */
static void add_requested(const json_t *plan, json_t *facts)
{
    if (!plan)
        return;
    if (!json_object_get(facts, "gpus_requested"))
        json_object_set_new(facts, "gpus_requested", json_integer(sw_json_int(plan, "gpus", 0)));
    json_object_set_new(facts, "nodes", json_integer(sw_json_int(plan, "nodes", 1)));
}

static json_t *verdict_of(struct sw_observation *seen, struct sw_evidence *evidence, const json_t *report,
                          const json_t *user_rules)
{
    sw_auto(json) json_t *rules = sw_diagnose_rules(json_object_get(seen->job.plan, "rules"), user_rules);
    sw_autofree char *headline = NULL;
    json_t *verdict;
    bool from_log;

    if (!evidence->facts)
        evidence->facts = json_object();
    if (!json_object_get(evidence->facts, "runner"))
        sw_report_facts(report, evidence->facts);
    add_requested(seen->job.plan, evidence->facts);
    verdict = sw_diagnose_with(evidence, rules);
    headline = sw_diagnose_headline(evidence, verdict, &from_log);
    json_object_set_new(verdict, "headline", sw_json_text(headline));
    json_object_set_new(verdict, "from_log", json_boolean(from_log));
    if (!seen->runner)
        seen->runner = json_incref(json_object_get(evidence->facts, "runner"));
    return verdict;
}

void sw_verdicts(const struct sw_platform *platform, struct sw_connection *conn, const json_t *user_rules,
                 struct sw_observation *const *failed, const json_t *report, json_t **verdicts, size_t count)
{
    sw_autofree struct sw_evidence *all = count ? sw_alloc(count * sizeof *all) : NULL;

    for (size_t i = 0; i < count; i++)
        all[i] = sw_evidence_of(failed[i]);
    if (platform->evidence && count > 0)
        platform->evidence(conn, (const struct sw_observation *const *)failed, all, count,
                           SW_NO_DEADLINE);
    for (size_t i = 0; i < count; i++) {
        verdicts[i] = verdict_of(failed[i], &all[i], report, user_rules);
        sw_evidence_done(&all[i]);
    }
}
