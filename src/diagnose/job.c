/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.c - the verdict about one job, from its evidence and its stored plan.
 *
 * One function for the monitor, for `why` and for a platform that judges its own failures, so that all of
 * them give the same answer. A file of its own: the runner, which knows no plan, does not carry it.
 *
 * Pure: no I/O.
 */
#include "diagnose/diagnose.h"

#include <stdio.h>

/* What the job asked for, where the platform does not say. */
static void add_requested(const json_t *plan, json_t *facts)
{
    if (!plan)
        return;
    if (!json_object_get(facts, "gpus_requested"))
        json_object_set_new(facts, "gpus_requested", json_integer(sw_json_int(plan, "gpus", 0)));
    json_object_set_new(facts, "nodes", json_integer(sw_json_int(plan, "nodes", 1)));
}

json_t *sw_diagnose_job(struct sw_evidence *evidence, const json_t *plan, const json_t *user_rules)
{
    sw_auto(json) json_t *rules = sw_diagnose_rules(json_object_get(plan, "rules"), user_rules);
    sw_autofree char *headline = NULL;
    json_t *verdict;
    bool from_log;

    if (!evidence->facts)
        evidence->facts = json_object();
    add_requested(plan, evidence->facts);
    verdict = sw_diagnose_with(evidence, rules);
    headline = sw_diagnose_headline(evidence, verdict, &from_log);
    json_object_set_new(verdict, "headline", sw_json_text(headline));
    json_object_set_new(verdict, "from_log", json_boolean(from_log));
    return verdict;
}

void sw_verdict_message(const json_t *verdict, char message[256])
{
    if (sw_json_bool(verdict, "from_log", false))
        snprintf(message, 256, "%.255s", sw_json_str(verdict, "headline"));
}
