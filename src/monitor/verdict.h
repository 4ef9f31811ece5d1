/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict.h - why a job failed: the platform's evidence, judged by the rules.
 */
#ifndef SW_MONITOR_VERDICT_H
#define SW_MONITOR_VERDICT_H

#include "platform/platform.h"

/* The verdicts of diagnose.h about jobs of one place that were seen to fail, with "headline", what happened
 * in one sentence, and "from_log", whether the program's own words are in it. `report` is the runner's, where
 * it is known already, or NULL. Owned. Where the evidence has a report and the observation has none, the
 * observation gets it. The place is asked once for all of them. */
void sw_verdicts(const struct sw_platform *platform, struct sw_connection *conn, const json_t *user_rules,
                 struct sw_observation *const *failed, const json_t *report, json_t **verdicts, size_t count);

#endif
