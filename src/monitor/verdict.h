/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict.h - why a job failed: the platform's evidence, judged by the rules.
 */
#ifndef SW_MONITOR_VERDICT_H
#define SW_MONITOR_VERDICT_H

#include "platform/platform.h"

/* The verdict of diagnose.h about a job that was seen to fail, with "headline", what happened in one
 * sentence, and "from_log", whether the program's own words are in it. `report` is the runner's, where it is
 * known already, or NULL. NULL: it did not fail. Owned. Where the evidence has a report and the sighting has
 * none, the sighting gets it. */
json_t *sw_verdict(const struct sw_platform *platform, struct sw_link *link, struct sw_sighting *seen,
                   const json_t *report, const json_t *user_rules);

#endif
