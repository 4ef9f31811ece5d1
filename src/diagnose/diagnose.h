/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnose.h - evidence in, verdict out: one answer for the same failure on every platform.
 *
 * Four questions are asked in this order, and the first answer counts:
 *   1. what the platform states as a cause: evidence.reason (memory, time, preempted, ...)
 *   2. what the runner or supervisor saw itself: evidence.facts, by the names below
 *   3. what the log's tail says: the user's own rules, then the built-in patterns; the
 *      platform's message counts as one more line of the log
 *   4. what only names a symptom: exit code, signal, a vague reason
 * Symptoms come last because signal 6 is how a broken network, a full GPU and a plain bug all
 * end. What no rule explains is cause "unknown", class program, and is not retried.
 *
 * The facts. A fact counts when it is true, a number above 0, or a text or list with something
 * in it; other names are ignored here.
 *   oom_kills          processes of this job that the kernel killed for memory
 *   host_oom_kills     the same for the whole machine; counts only together with signal 9
 *   xid                number, or list of numbers, of NVIDIA's Xid events during the job
 *   ecc_uncorrected    uncorrectable GPU memory errors during the job
 *   gpu_lost           a GPU that was there is gone; text: which
 *   driver_mismatch    driver and image do not fit together; text: which versions
 *   disk_full          a write failed for lack of space; text: the path
 *   quota_exceeded     a write failed for the user's quota; text: the path
 *   shm_full           /dev/shm is full
 *   peer_unreachable   another rank stopped answering; text or list: which
 *   store_unreachable  the object store did not answer; text: its address
 *   node_down          the node went away; text: its name
 *   preempt_notice     the platform announced that it takes the machine back
 *   input_missing      an input does not exist; text: its URI
 *   credential_refused a store or registry refused our credential; text: its name, no value
 *   gpus_requested     how many GPUs the job asked for; 0 changes what "no GPU found" means
 *   nodes              how many nodes the job asked for; with 1 no rank has to be named
 *   array              what failed is a task of an array, not a rank
 *   peak_memory_bytes, peak_gpu_memory_bytes    only shown, with a verdict about memory
 *   runner             what the runner reported (core/report.h); what it moved is shown, its `error` decides
 *                      when inputs or outputs failed
 *
 * Everything here is pure: no I/O, no clock. Safe to call from several threads.
 */
#ifndef SW_DIAGNOSE_DIAGNOSE_H
#define SW_DIAGNOSE_DIAGNOSE_H

#include <stdbool.h>

#include "base/error.h"
#include "core/evidence.h"

/* JSON {"err_class","cause","rule","suggestion","evidence":[],"job_failure_by_node_event":[],
 * "log_streams":[]}; NULL when the job did not fail. "rule" names the row that decided, "" for
 * none. What no rule knows has cause "unknown", and says so. */
json_t *sw_diagnose(const struct sw_evidence *evidence);

/* The same with the user's own rules: an array of {"pattern", "cause", "class", "suggestion"}.
 * The pattern is a POSIX extended regular expression, searched in each line; "class" (default:
 * by cause) and "suggestion" may be absent. Rules that sw_rules_check() refuses are skipped.
 * NULL: none. */
json_t *sw_diagnose_with(const struct sw_evidence *evidence, const json_t *user_rules);

/* What happened, in the sentence that a person needs: the exception that ended the program with its message,
 * or other last words, then rank and exit code: "KeyError: 'x'; rank 0, exit code 1". Where the platform
 * gives a reason of its own, that one's message. Owned, one line; NULL when the job did not fail. `verdict`
 * is sw_diagnose's of the same evidence; `from_log`: these are the program's words, not the platform's. */
char *sw_diagnose_headline(const struct sw_evidence *evidence, const json_t *verdict, bool *from_log);

/* The verdict about one job: what it asked for joins the facts, the rules of its plan come before the user's
 * own, and "headline" and "from_log" of sw_diagnose_headline() are added. `plan` is the stored one. Both may
 * be NULL. */
json_t *sw_diagnose_job(struct sw_evidence *evidence, const json_t *plan, const json_t *user_rules);

/* The program's own words say more than "exit code 1": from now on they are the message of an observation. */
void sw_verdict_message(const json_t *verdict, char message[256]);

/* The rules that a job was submitted with (its plan's) before the user's own: an owned array. Both may
 * be NULL. */
json_t *sw_diagnose_rules(const json_t *of_job, const json_t *of_user);

/* Are these usable as user rules? Call it when the configuration is read: -1 SW_E_SPEC names
 * the first bad one. NULL and null are fine. */
int sw_rules_check(const json_t *user_rules, struct sw_error *err);

/* Is a failure of this cause worth another attempt? `retry_on` is the job's `retry.on` list;
 * NULL or null: node, gpu, network, preempted and image. */
bool sw_cause_is_retriable(const char *cause, const json_t *retry_on);

/* The same for a verdict, and the one to use for deciding: without a list of the user's only
 * failures of class ERR_INFRA count, so that a misspelt image is not pulled ten times. */
bool sw_verdict_is_retriable(const json_t *verdict, const json_t *retry_on);

/* Why a job that has not ended is where it is, in one line for a person; `age_ms` is how long
 * it has been so (below 0: not known). `reason` and `message` may be NULL. Owned; NULL when the
 * job is over. */
char *sw_explain_waiting(enum sw_state state, const char *reason, const char *message,
                         int64_t age_ms);

#endif
