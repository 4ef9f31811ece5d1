/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_states.c - what Slurm says about a job, in our words.
 *
 * Slurm has some thirty state names and decorates them: "CANCELLED by 1000", "CANCELLED+". Every
 * spelling is one row here, matched as a word prefix, so a new release costs one line. A word we
 * never saw is SW_UNKNOWN, never an error: calling a healthy job failed would retry it, and then
 * two copies write to the same results.
 *
 * Pure: no I/O, no allocation.
 */
#include "platform/slurm/slurm_internal.h"

#include <string.h>

#include "base/text.h"
#include "core/reason.h"
#include "core/state.h"

static const struct sw_state_word words[] = {
    { "PENDING",       SW_PENDING,  NULL },
    { "CONFIGURING",   SW_PENDING,  "its nodes are being prepared" },
    { "REQUEUED",      SW_PENDING,  "it goes back into the queue" },
    { "REQUEUE_FED",   SW_PENDING,  "it goes back into the queue of another cluster" },
    { "REQUEUE_HOLD",  SW_PENDING,  "it was requeued and is held: `scontrol release` releases it" },
    { "SPECIAL_EXIT",  SW_PENDING,  "it was requeued with a special state and is held: `scontrol release` "
                                    "releases it" },
    { "RESV_DEL_HOLD", SW_PENDING,  "its reservation is gone and it is held" },
    { "RESIZING",      SW_PENDING,  "it changes its size" },
    { "POWER_UP_NODE", SW_PENDING,  "its nodes are being switched on" },
    { "EXPEDITING",    SW_PENDING,  "it goes back into the queue, first in line" },
    { "RUNNING",       SW_RUNNING,  NULL },
    { "COMPLETING",    SW_RUNNING,  "it is being cleaned up" },
    { "SIGNALING",     SW_RUNNING,  "it is being sent a signal" },
    { "STAGE_OUT",     SW_RUNNING,  "its files are being staged out" },
    { "UPDATE_DB",     SW_RUNNING,  "its end is being recorded" },
    { "SUSPENDED",     SW_PAUSED,   "it is suspended; its nodes may be used by others" },
    { "STOPPED",       SW_PAUSED,   "it is stopped and keeps its nodes" },
    { "COMPLETED",     SW_COMPLETE, NULL },
    { "CANCELLED",     SW_CANCELED, NULL },
    { "FAILED",        SW_ERROR,    NULL },
    { "TIMEOUT",       SW_ERROR,    "its time limit passed" },
    { "DEADLINE",      SW_ERROR,    "its deadline passed" },
    { "OUT_OF_MEMORY", SW_ERROR,    "it used more memory than it asked for" },
    { "NODE_FAIL",     SW_ERROR,    "one of its nodes failed" },
    { "BOOT_FAIL",     SW_ERROR,    "its nodes did not start" },
    { "LAUNCH_FAILED", SW_ERROR,    "its nodes could not start it" },
    { "RECONFIG_FAIL", SW_ERROR,    "its nodes could not be prepared" },
    { "PREEMPTED",     SW_ERROR,    "another job took its nodes" },
    { "REVOKED",       SW_UNKNOWN,  "another cluster of the federation took it" },
};

enum sw_state slurm_state(const char *said, const char **note)
{
    if (note)
        *note = NULL;
    return sw_state_lookup(words, SW_COUNT(words), said, note);
}

static const struct {
    const char *said, *reason;
} ends[] = {
    { "TIMEOUT", SW_REASON_TIME },            { "DEADLINE", SW_REASON_TIME },
    { "OUT_OF_MEMORY", SW_REASON_MEMORY },    { "PREEMPTED", SW_REASON_PREEMPTED },
    { "NODE_FAIL", SW_REASON_NODE_LOST },     { "BOOT_FAIL", SW_REASON_NODE_LOST },
    { "LAUNCH_FAILED", SW_REASON_NODE_LOST }, { "RECONFIG_FAIL", SW_REASON_NODE_LOST },
    { "CANCELLED", SW_REASON_CANCELED },      { "FAILED", SW_REASON_EXIT },
};

const char *slurm_end_reason(const char *said)
{
    for (size_t i = 0; i < SW_COUNT(ends); i++)
        if (sw_text_starts(said, ends[i].said))
            return ends[i].reason;
    return "";
}

/* Matched as prefixes: Slurm has dozens of QOS... and Assoc... limits; those "PerJob" and "PerNode" are above
 * what one job may ask for, and no waiting helps. The first row that fits counts. */
static const struct {
    const char *said, *reason;
    const char *sentence;             /* NULL: the reason's own */
    const char *within;               /* and this is somewhere behind; NULL: anything */
} waits[] = {
    { "Priority", SW_REASON_PRIORITY, NULL },
    { "Resources", SW_REASON_RESOURCES, NULL },
    { "DependencyNeverSatisfied", SW_REASON_DEPENDENCY_FAILED,
      "the job it depends on did not finish as required: it will never start" },
    { "Dependency", SW_REASON_DEPENDENCY, NULL },
    { "BeginTime", SW_REASON_BEGIN_TIME, "its start time has not been reached (after a requeue: two "
                                         "minutes)" },
    { "JobHeldUser", SW_REASON_HELD, "it is held by its user: `scontrol release` releases it" },
    { "JobHeldAdmin", SW_REASON_HELD, "it is held by an administrator" },
    { "launch_failed_requeued_held", SW_REASON_HELD,
      "it failed to start several times and is held: check the node, then `scontrol release`" },
    { "job_requeued_in_held_state", SW_REASON_HELD, "it was requeued and is held" },
    { "QOSMax", SW_REASON_UNSCHEDULABLE, "it is above the quality of service's limit for one job", "PerJob" },
    { "QOSMax", SW_REASON_UNSCHEDULABLE, "it is above the quality of service's limit for one node",
      "PerNode" },
    { "QOSMin", SW_REASON_UNSCHEDULABLE, "it asks for less than the quality of service requires" },
    { "QOSMax", SW_REASON_LIMIT, "a limit of the quality of service is reached" },
    { "QOSGrp", SW_REASON_QUOTA, "the quality of service's share is in use" },
    { "QOSNotAllowed", SW_REASON_UNSCHEDULABLE, "the partition does not allow this quality of service" },
    { "AssocMax", SW_REASON_UNSCHEDULABLE, "it is above the account's limit for one job", "PerJob" },
    { "AssocMax", SW_REASON_UNSCHEDULABLE, "it is above the account's limit for one node", "PerNode" },
    { "AssocMax", SW_REASON_LIMIT, "a limit of the account is reached" },
    { "AssocGrp", SW_REASON_QUOTA, "the account's share is in use" },
    { "MaxMem", SW_REASON_UNSCHEDULABLE, "it asks for more memory than the limit allows" },
    { "PartitionTimeLimit", SW_REASON_UNSCHEDULABLE, "its time is above the partition's limit" },
    { "PartitionNodeLimit", SW_REASON_UNSCHEDULABLE, "it asks for more nodes than the partition allows" },
    { "PartitionDown", SW_REASON_RESOURCES, "the partition is down" },
    { "PartitionInactive", SW_REASON_RESOURCES, "the partition is switched off" },
    { "PartitionConfig", SW_REASON_UNSCHEDULABLE, "the partition cannot give what it asks for" },
    { "ReqNodeNotAvail", SW_REASON_RESOURCES,
      "a node it needs is not available (down, drained or reserved)" },
    { "NodeDown", SW_REASON_RESOURCES, "a node it needs is down" },
    { "BadConstraints", SW_REASON_UNSCHEDULABLE, "no node has what it asks for" },
    { "InvalidAccount", SW_REASON_UNSCHEDULABLE, "the account does not exist or is not yours" },
    { "InvalidQOS", SW_REASON_UNSCHEDULABLE, "the quality of service does not exist or is not yours" },
    { "Reservation", SW_REASON_RESERVATION, NULL },
    { "Licenses", SW_REASON_RESOURCES, "a license it needs is in use" },
    { "JobArrayTaskLimit", SW_REASON_LIMIT, "as many tasks of the array run as it allows" },
    { "Prolog", SW_REASON_NODE_BOOT, "its nodes are being prepared" },
    { "Cleaning", SW_REASON_RETRY, "its last run is still being cleaned up" },
    { "AccountingPolicy", SW_REASON_LIMIT, "a limit of the account is reached" },
    { "None", SW_REASON_QUEUE, "it is in the queue" },
};

void slurm_waiting(const char *said, const char **reason, const char **sentence)
{
    for (size_t i = 0; i < SW_COUNT(waits); i++)
        if (sw_text_starts(said, waits[i].said) && (!waits[i].within || strstr(said, waits[i].within))) {
            *reason = waits[i].reason;
            *sentence = waits[i].sentence ? waits[i].sentence : sw_reason_find(waits[i].reason)->waiting.what;
            return;
        }
    *reason = SW_REASON_QUEUE;
    *sentence = NULL;
}
