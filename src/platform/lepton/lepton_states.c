/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lepton_states.c - what Lepton says about a job, in our words.
 *
 * A job's own state says little: "Running" comes before all replicas are ready, "Stopped" does not say who
 * stopped it, and "Archived" only that the record was put away. So the replicas' readiness, the runner's
 * reports (in the log), the job's events and what this machine asked for are read with it. A word that is not
 * in the table is SW_UNKNOWN, never an error. Pure.
 */
#include "platform/lepton/lepton_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/reason.h"
#include "core/state.h"

static const struct sw_state_word words[] = {
    { "Queueing",     SW_PENDING,  "it is in the queue of its node group" },
    { "Awaiting",     SW_PENDING,  "it is waiting to start" },
    { "Starting",     SW_PENDING,  "its replicas are being started" },
    { "PendingRetry", SW_PENDING,  "it will be restarted" },
    { "Restarting",   SW_PENDING,  "it is being restarted" },
    { "Running",      SW_RUNNING,  NULL },
    { "Completed",    SW_COMPLETE, NULL },
    { "Failed",       SW_ERROR,    NULL },
    { "Stopping",     SW_RUNNING,  "it is being stopped" },
    { "Stopped",      SW_PAUSED,   "it was stopped on the platform" },
    { "Deleting",     SW_CANCELED, NULL },
    { "Terminating",  SW_CANCELED, NULL },
    { "Deleted",      SW_CANCELED, NULL },
};

/* A replica that is not ready: reason, words in its message (NULL: any), our reason. The first row that fits
 * counts; a failed pull and a missing mount both come as ConfigError, and only their words tell them apart.
 * */
static const struct { const char *said, *words, *reason; } readiness[] = {
    { "NoCapacity",  NULL,       SW_REASON_NO_CAPACITY },
    { "Queueing",    NULL,       SW_REASON_QUEUE },
    { "ConfigError", "image",    SW_REASON_IMAGE_ERROR },
    { "ConfigError", "pull",     SW_REASON_IMAGE_ERROR },
    { "ConfigError", "mount",    SW_REASON_MOUNT },
    { "ConfigError", "volume",   SW_REASON_MOUNT },
    { "ConfigError", NULL,       SW_REASON_START },
    { "SystemError", NULL,       SW_REASON_NODE_REFUSED },
    { "Failed",      NULL,       SW_REASON_NODE_REFUSED },
    { "InProgress",  "image",    SW_REASON_IMAGE },
    { "InProgress",  "capacity", SW_REASON_NODE_BOOT },
    { "InProgress",  NULL,       SW_REASON_STARTING },
    { "RequireReadinessApproval", NULL, SW_REASON_HELD },
};

/* Events of a job that ended without a word of its runner: how their reason begins, ours. */
static const struct { const char *begins, *reason; } endings[] = {
    { "Preempt",      SW_REASON_PREEMPTED },
    { "Evict",        SW_REASON_PREEMPTED },     /* of shared machines: their owner took them back */
    { "TaintManager", SW_REASON_NODE_LOST },
    { "NodeNotReady", SW_REASON_NODE_LOST },
    { "NodeLost",     SW_REASON_NODE_LOST },
    { "OOM",          SW_REASON_MEMORY },
    { "ErrImagePull", SW_REASON_IMAGE_ERROR },
    { "ImagePullBackOff", SW_REASON_IMAGE_ERROR },
    { "FailedMount",  SW_REASON_MOUNT },
};

/* Reasons of a job that waits for something that may never come. */
static const char *const stuck[] = { SW_REASON_NO_CAPACITY, SW_REASON_MOUNT, SW_REASON_NODE_REFUSED,
                                     SW_REASON_IMAGE_ERROR };

const char *lepton_meta(const json_t *object, const char *key)
{
    return sw_json_str(json_object_get(object, "metadata"), key);
}

const char *lepton_label(const json_t *object, const char *key)
{
    return sw_json_str(sw_at(object, "metadata.labels"), key);
}

/* Seconds, milli-, micro- or nanoseconds: the size of a number tells which, as in the official client. */
int64_t lepton_time_ms(const json_t *status, const char *key)
{
    int64_t at = sw_json_int(status, key, 0);

    if (at <= 0)
        return 0;
    return at < INT64_C(100000000000) ? at * 1000 : at < INT64_C(100000000000000) ? at
           : at < INT64_C(100000000000000000) ? at / 1000 : at / 1000000;
}

enum sw_state lepton_state(const char *said, const char **note)
{
    return sw_state_lookup(words, SW_COUNT(words), said, note);
}

/* ---- before it runs ------------------------------------------------------------------------- */

static const char *reason_of(const char *said, const char *message)
{
    for (size_t i = 0; said && i < SW_COUNT(readiness); i++)
        if (strcmp(said, readiness[i].said) == 0 &&
            (!readiness[i].words || (message && strcasestr(message, readiness[i].words))))
            return readiness[i].reason;
    return NULL;
}

static bool is_stuck(const char *reason)
{
    for (size_t i = 0; i < SW_COUNT(stuck); i++)
        if (sw_text_same(reason, stuck[i]))
            return true;
    return false;
}

static const json_t *issue_of(const json_t *replica)
{
    return json_object_get(json_object_get(replica, "status"), "readiness_issue");
}

const json_t *lepton_waits_for(const json_t *replicas, bool *bad)
{
    const json_t *first = NULL;
    json_t *replica;
    size_t i;

    *bad = false;
    json_array_foreach(replicas, i, replica) {
        const json_t *issue = issue_of(replica);
        const char *reason = reason_of(sw_json_str(issue, "reason"), sw_json_str(issue, "message"));

        if (reason && is_stuck(reason)) {
            *bad = true;
            return replica;
        }
        first = first || !reason ? first : replica;
    }
    return first;
}

static const char *node_of(const json_t *replica)
{
    const char *node = sw_json_str(json_object_get(json_object_get(replica, "status"), "node"), "name");

    return node ? node : "";
}

static void read_waiting(const json_t *job, struct sw_observation *seen)
{
    bool bad;
    const json_t *replica = lepton_waits_for(json_object_get(job, "replicas"), &bad);
    const json_t *issue = issue_of(replica);
    const char *said = sw_json_str(issue, "reason"), *message = sw_json_str(issue, "message");

    if (!replica)
        return;
    sw_jobs_say(seen, SW_PENDING, reason_of(said, message), sw_text_empty(message) ? said : message);
    snprintf(seen->node, sizeof seen->node, "%s", node_of(replica));
}

const char *lepton_stuck_reason(const struct sw_observation *seen, int64_t after_ms, int64_t now_ms)
{
    int64_t since_ms = sw_json_int(seen->facts, "pending_since_ms", 0);

    if (seen->state != SW_PENDING || !since_ms || now_ms - since_ms < after_ms)
        return NULL;
    return is_stuck(seen->reason) ? seen->reason : NULL;
}

/* ---- after it ran --------------------------------------------------------------------------- */

static const char *ending_of(const json_t *events, const char **said)
{
    json_t *event;
    size_t i;

    json_array_foreach(events, i, event) {
        const char *reason = sw_json_str(event, "reason");

        for (size_t k = 0; reason && k < SW_COUNT(endings); k++)
            if (sw_text_starts(reason, endings[k].begins)) {
                *said = reason;
                return endings[k].reason;
            }
    }
    return NULL;
}

const json_t *lepton_replica(const json_t *replicas, const char *job_id, int rank)
{
    sw_autofree char *begins = sw_format("%s-%d-", job_id ? job_id : "", rank);
    json_t *replica;
    size_t i;

    json_array_foreach(replicas, i, replica) {
        const char *id = lepton_meta(replica, "id");

        id = id ? id : lepton_meta(replica, "name") ? lepton_meta(replica, "name")
            : sw_json_str(replica, "id");
        if (id && sw_text_starts(id, begins))
            return replica;
    }
    return NULL;
}

static void name_node(const json_t *job, struct sw_observation *seen)
{
    int rank = seen->failed_replica > 0 ? seen->failed_replica : 0;
    const json_t *waited_for = json_object_get(job, "waited_for");
    const json_t *replica = waited_for ? waited_for : lepton_replica(json_object_get(job, "replicas"),
                                                                     lepton_meta(job, "id"), rank);

    snprintf(seen->node, sizeof seen->node, "%s", node_of(replica));
}

/* Where the runner left a word, that one decides. In a job that failed, a runner that had to stop was stopped
 * by the platform: a person's stop ends as "Stopped". */
static void read_end(const json_t *job, enum sw_state over, struct sw_observation *seen)
{
    const char *said = NULL, *reason = ending_of(json_object_get(job, "events"), &said);
    sw_autofree char *message = said ? sw_format("Lepton says: %s", said) : NULL;

    sw_jobs_read_end(&(struct sw_jobs_end){
        .over = over, .failed = -1, .ranks = (int)sw_json_int(json_object_get(job, "spec"), "completions", 1),
        .reports = json_object_get(job, "reports"), .reason = reason, .message = message,
        .ended_ms = lepton_time_ms(json_object_get(job, "status"), "completion_time") }, seen);
    if (over == SW_ERROR && sw_text_same(seen->reason, SW_REASON_STOPPED))
        sw_jobs_say(seen, SW_ERROR, reason ? reason : SW_REASON_PREEMPTED,
            message ? message : "Lepton stopped it without a reason");
}

/* The record was put away: what is known of the outcome, from the best source to the weakest. */
static enum sw_state archived_outcome(const json_t *job, enum sw_state last_known)
{
    const json_t *status = json_object_get(job, "status"), *history = json_object_get(status, "job_history");
    const json_t *newest = json_array_get(history, json_array_size(history) - 1);

    if (sw_state_is_final(last_known))
        return last_known;
    if (sw_json_int(status, "failed", 0) > 0)
        return SW_ERROR;
    if (sw_json_int(status, "succeeded", 0) > 0)
        return SW_COMPLETE;
    return newest ? lepton_state(sw_json_str(newest, "state"), NULL) : SW_UNKNOWN;
}

/* ---- one job -------------------------------------------------------------------------------- */

static void say_stuck(struct sw_observation *seen, const char *reason)
{
    sw_jobs_say(seen, SW_ERROR, reason, "it could not start and was stopped (lepton.stuck)");
    seen->exit_code = SW_NO_EXIT_CODE;
    seen->bad_node = *seen->node != '\0';
}

void lepton_read(const json_t *job, struct sw_observation *seen)
{
    const json_t *status = json_object_get(job, "status");
    const char *said = sw_json_str(status, "state"), *asked = sw_json_str(job, "asked"), *note = NULL;
    const char *id = lepton_meta(job, "id");
    bool archived = sw_text_same(said, "Archived");
    enum sw_state state = archived ? archived_outcome(job, seen->job.state) : lepton_state(said, &note);
    int64_t created_ms = lepton_time_ms(status, "creation_time");
    bool ran = seen->job.state == SW_RUNNING;

    seen->presence = SW_PRESENT;
    seen->exit_code = SW_NO_EXIT_CODE;
    seen->failed_replica = -1;
    snprintf(seen->remote_id, sizeof seen->remote_id, "%s", id ? id : "");
    if (state == SW_PAUSED && asked)
        state = sw_text_same(asked, SW_REASON_CANCELED) ? SW_CANCELED : SW_ERROR;
    if (state == SW_RUNNING && !note && !ran &&
        sw_json_int(status, "ready", 0) < sw_json_int(status, "active", 0))
        state = SW_PENDING;
    if (sw_state_is_final(state) && json_object_get(job, "late")) {
        sw_jobs_say(seen, SW_RUNNING, SW_REASON_OUTPUTS, "it has finished; the end of its log is not "
                                                         "stored yet");
        seen->started_ms = created_ms;
        return;
    }
    if (state == SW_RUNNING || sw_state_is_final(state))
        seen->started_ms = created_ms;
    if (sw_state_is_final(state)) {
        read_end(job, state, seen);
        name_node(job, seen);
        if (asked && !sw_text_same(asked, SW_REASON_CANCELED) && !sw_text_same(asked, SW_REASON_ENDING))
            say_stuck(seen, asked);
        return;
    }
    sw_jobs_say(seen, state, state == SW_PAUSED ? SW_REASON_PAUSED : "",
                state == SW_UNKNOWN && said ? said : note);
    if (state == SW_PENDING) {
        seen->facts = created_ms ? sw_json_object(SW_INT("pending_since_ms", created_ms),
                                                  SW_SUB_COPY("kept", json_object_get(job, "kept"))) : NULL;
        snprintf(seen->reason, sizeof seen->reason, "%s",
                 sw_text_same(said, "Queueing") ? SW_REASON_QUEUE : SW_REASON_STARTING);
        read_waiting(job, seen);
    }
}
