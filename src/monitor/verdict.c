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

static json_t *verdict_of(struct sw_observation *seen, struct sw_evidence *evidence, const json_t *report,
                          const json_t *user_rules)
{
    json_t *verdict;

    if (!evidence->facts)
        evidence->facts = json_object();
    if (!json_object_get(evidence->facts, "runner"))
        sw_report_facts(report, evidence->facts);
    verdict = sw_diagnose_job(evidence, seen->job.plan, user_rules);
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
