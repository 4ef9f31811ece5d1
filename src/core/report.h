/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - what the runner says about itself, as others read it.
 *
 * The runner leaves a small JSON document: in a file, as a heartbeat while it works, and as the last line
 * of a container's log; while it brings data into or out of a container it says the heartbeat there too.
 * All of them pass through here before anything is believed, since a log is written by the user's program
 * too and a file may be half of itself. What comes out is clean: only the keys below, each of its type,
 * numbers not negative, texts short and printable.
 *
 *     {"job_id", "rank", "phase", "at", "exit_code", "signal", "message", "failed", "error", "stopped",
 *      "canceled", "timed_out", "failed_peer", "in": {"files", "bytes"}, "out": {"files", "bytes", "empty"},
 *      "ms": {"prepare", "command", "collect"}, "gpu": {"count", "memory_bytes", "memory_peak_bytes",
 *      "busy_percent"}}
 *
 * Every key may be absent. `empty` counts outputs for which no file was there. `failed` is the runner's phase
 * that failed (prepare, probe, run, collect; ray-start; ray: a node of its Ray cluster is gone), `error` why,
 * as sw_code_name() names it: these two steer, the message is for people. Pure.
 */
#ifndef SW_CORE_REPORT_H
#define SW_CORE_REPORT_H

#include <stddef.h>

#include "base/json.h"

#define SW_RUNNER_SAYS "slipway: "              /* every line of its own in a log */
#define SW_REPORT_START SW_RUNNER_SAYS "report "
/* Before a row (core/finding.h) about data that was tried, of a payload with `only_data`. */
#define SW_DATA_WORD "data "
/* A report in this file: a kubelet keeps the log and throws its beginning away at some time. The first line
 * of such a log shows whether that has happened. */
#define SW_REPORT_TO_KUBELET "/dev/termination-log"
#define SW_REPORT_BEGIN SW_REPORT_START "{\"begins\":true}"
#define SW_REPORT_MAX 16384                     /* bytes; a longer one is none */

/* Owned; NULL: that is no report. */
json_t *sw_report_parse(const char *text, size_t length);
json_t *sw_report_clean(const json_t *given);

/* The last report of this job and rank (-1: of any) in a piece of a log; a line that is cut at either end is
 * none. Owned; NULL: there is none. */
json_t *sw_report_in_log(const char *log, size_t length, const char *job_id, int rank);

/* The last one, of a job that is over; not a heartbeat. */
bool sw_report_is_last(const json_t *report);

/* The reason of a job whose runner failed in a phase of its own (core/reason.h); NULL: it did not. Static. */
const char *sw_report_reason(const json_t *report);

/* "1 declared output is empty: nothing was brought for it"; owned; NULL: there is none. */
char *sw_report_warning(const json_t *report);

/* How much of a log is left when the report at its very end is taken away. */
size_t sw_report_begin(const char *log, size_t length);

/* Into the facts of struct sw_evidence: "runner", and "peak_gpu_memory_bytes" where it was not known. The
 * report may be NULL. */
void sw_report_facts(const json_t *report, json_t *facts);

/* Reports of single phases become one: what `more` says and `sum` does not, or has as 0, is taken over. */
void sw_report_add(json_t *sum, const json_t *more);

/* SW_REPORT_BEGIN as a whole line where a log may begin with that of an earlier job: with the number
 * (`length` digits; 0: none) that only this submission has. Owned. */
char *sw_report_begin_by(const char *number, size_t length);

#endif
