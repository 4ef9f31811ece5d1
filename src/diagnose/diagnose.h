/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnose.h - evidence in, verdict out: one answer for the same failure on every platform.
 */
#ifndef SW_DIAGNOSE_DIAGNOSE_H
#define SW_DIAGNOSE_DIAGNOSE_H

#include "core/evidence.h"

/* JSON {"err_class","cause","suggestion","evidence":[],"job_failure_by_node_event":[],
 * "log_streams":[]}; NULL when the job did not fail. What no rule knows has cause "unknown",
 * and says so. */
json_t *sw_diagnose(const struct sw_evidence *evidence);

#endif
