/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runai_states.c - what run:ai says about a workload, in our words.
 *
 * A workload has one of 14 phases; only Completed and Failed are the end (Degraded goes on). run:ai
 * tells no exit code: that is in the runner's report at the end of the log, where the log can be read. A
 * workload that was suspended is paused, unless this machine canceled the job. Pure.
 */
#include "platform/runai/runai_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/reason.h"
#include "core/state.h"
#include "platform/kit/log_lines.h"

enum { RANKS_MAX = 65536 };

static const struct sw_state_word phases[] = {
    { "Creating",     SW_PENDING,  "run:ai is creating the workload" },
    { "Initializing", SW_PENDING,  "its pods are being started" },
    { "Pending",      SW_PENDING,  "it is waiting for resources" },
    { "Resuming",     SW_PENDING,  "it is being resumed" },
    { "Running",      SW_RUNNING,  NULL },
    { "Updating",     SW_RUNNING,  "run:ai is updating the workload" },
    { "Degraded",     SW_RUNNING,  "some of its pods do not run" },
    { "Completed",    SW_COMPLETE, NULL },
    { "Failed",       SW_ERROR,    NULL },
    { "Stopping",     SW_PAUSED,   "it is being suspended" },
    { "Stopped",      SW_PAUSED,   "it is suspended in run:ai; `slipway retry` resumes it" },
    { "Deleting",     SW_CANCELED, "it is being deleted in run:ai" },
    { "Terminating",  SW_CANCELED, "it is being stopped in run:ai" },
    { "Unknown",      SW_UNKNOWN,  "run:ai does not know its phase: the cluster may be unreachable" },
};

enum sw_state runai_state(const char *phase, const char **note)
{
    return sw_state_lookup(phases, SW_COUNT(phases), phase, note);
}

/* ---- parts of an answer ---------------------------------------------------------------------------- */

static const char *either(const json_t *object, const char *first, const char *second)
{
    const char *text = sw_json_str(object, first);

    return text ? text : sw_json_str(object, second) ? sw_json_str(object, second) : "";
}

const char *runai_phase(const json_t *workload)
{
    return either(workload, "phase", "actualPhase");
}

const char *runai_id(const json_t *workload)
{
    return either(workload, "id", "workloadId");
}

int64_t runai_time_ms(const json_t *object, const char *key)
{
    const char *text = sw_json_str(object, key);
    int64_t at_ns = 0;

    return text && sw_log_stamp(text, strlen(text), &at_ns) ? at_ns / 1000000 : 0;
}

/* NAME-worker-3 is rank 3; the pod of a training, NAME-0-0, is rank 0. */
int runai_rank_of(const json_t *pod, int count)
{
    const char *name = sw_json_str(pod, "name"), *dash = name ? strrchr(name, '-') : NULL;
    long rank = dash && isdigit((unsigned char)dash[1]) ? strtol(dash + 1, NULL, 10) : -1;

    return count == 1 ? 0 : rank >= 0 && rank < count ? (int)rank : -1;
}

/* ---- why it waits ---------------------------------------------------------------------------------- */

/* Of `phaseReason`, of conditions and of events; the first that matches counts. */
static const struct { const char *said, *reason; } waits[] = {
    { "NonPreemptibleOverQuota", SW_REASON_QUOTA },
    { "OverLimit",               SW_REASON_LIMIT },
    { "ErrImagePull",            SW_REASON_IMAGE_ERROR },
    { "ImagePullBackOff",        SW_REASON_IMAGE_ERROR },
    { "InvalidImageName",        SW_REASON_IMAGE_ERROR },
    { "Failed",                  SW_REASON_IMAGE_ERROR },    /* a kubelet's, while nothing runs yet */
    { "BackOff",                 SW_REASON_IMAGE_ERROR },
    { "FailedMount",             SW_REASON_MOUNT },
    { "FailedAttachVolume",      SW_REASON_MOUNT },
    { "FailedScheduling",        SW_REASON_RESOURCES },
    { "Unschedulable",           SW_REASON_RESOURCES },
    { "NotTriggerScaleUp",       SW_REASON_RESOURCES },
    { "Preempted",               SW_REASON_PREEMPTED },
    { "Evict",                   SW_REASON_EVICTED },
};

static const char *wait_of(const char *said)
{
    for (size_t i = 0; said && i < SW_COUNT(waits); i++)
        if (strcmp(said, waits[i].said) == 0)
            return waits[i].reason;
    return NULL;
}

/* The newest of a list of conditions or events that tells why. */
static const json_t *newest_why(const json_t *list, const char *time)
{
    const json_t *newest = NULL;
    size_t i;
    json_t *one;

    json_array_foreach((json_t *)list, i, one)
        if (wait_of(sw_json_str(one, "reason")) &&
            (!newest || runai_time_ms(one, time) >= runai_time_ms(newest, time)))
            newest = one;
    return newest;
}

static void read_waiting(const json_t *workload, const char *note, struct sw_observation *seen)
{
    const json_t *why = newest_why(json_object_get(workload, "events"), "createdAt");
    const char *words = sw_json_str(workload, "phaseMessage"), *said = sw_json_str(workload, "phaseReason");

    if (!why)
        why = newest_why(json_object_get(workload, "conditions"), "lastTransitionTime");
    if (wait_of(said))
        sw_jobs_say(seen, SW_PENDING, wait_of(said), sw_text_empty(words) ? said : words);
    else if (why)
        sw_jobs_say(seen, SW_PENDING, wait_of(sw_json_str(why, "reason")), either(why, "message", "reason"));
    else
        sw_jobs_say(seen, SW_PENDING,
                    sw_text_same(runai_phase(workload), "Pending") ? SW_REASON_QUEUE : SW_REASON_STARTING,
                    sw_text_empty(words) ? note : words);
}

/* ---- how it ended ---------------------------------------------------------------------------------- */

static int count_of(const json_t *workload, const struct sw_observation *seen)
{
    int64_t count = sw_json_int(seen->job.plan, "nodes",
                                (int64_t)json_array_size(json_object_get(workload, "pods")));

    return count < 1 ? 1 : count > RANKS_MAX ? RANKS_MAX : (int)count;
}

enum sw_state runai_pod_state(const json_t *pod)
{
    static const struct sw_state_word words[] = {
        { "Pending", SW_PENDING, NULL }, { "Running", SW_RUNNING, NULL }, { "Succeeded", SW_COMPLETE, NULL },
        { "Failed", SW_ERROR, NULL },
    };

    return sw_state_lookup(words, SW_COUNT(words), sw_json_str(pod, "k8sPhase"), NULL);
}

/* The pod that failed first; -1: none did, or its rank is not known. */
static int first_failed(const json_t *pods, int count)
{
    int64_t first_ms = INT64_MAX;
    int rank = -1;
    size_t i;
    json_t *pod;

    json_array_foreach((json_t *)pods, i, pod) {
        int64_t ended_ms = runai_time_ms(pod, "completedAt");

        if (runai_pod_state(pod) == SW_ERROR && ended_ms < first_ms) {
            first_ms = ended_ms;
            rank = runai_rank_of(pod, count);
        }
    }
    return rank;
}

/* Where a runner left a word, that one decides. */
static void read_end(const json_t *workload, enum sw_state state, struct sw_observation *seen)
{
    int count = count_of(workload, seen);
    const char *words = sw_json_str(workload, "phaseMessage");

    sw_jobs_read_end(&(struct sw_jobs_end){
        .over = state, .ranks = count, .failed = first_failed(json_object_get(workload, "pods"), count),
        .reports = json_object_get(workload, "tails"),
        .message = sw_text_empty(words) ? "it failed; its log says how it ended" : words,
        .ended_ms = runai_time_ms(workload, "completedAt") }, seen);
}

/* ---- the whole ------------------------------------------------------------------------------------- */

static void read_times(const json_t *workload, struct sw_observation *seen)
{
    const json_t *pods = json_object_get(workload, "pods"), *pod;
    size_t i, k;
    json_t *container;

    json_array_foreach((json_t *)pods, i, pod) {
        const char *node = sw_json_str(pod, "nodeName");

        if (node && !seen->node[0])
            snprintf(seen->node, sizeof seen->node, "%s", node);
        json_array_foreach(json_object_get(pod, "containers"), k, container) {
            int64_t at_ms = runai_time_ms(container, "startedAt");

            if (at_ms && (!seen->started_ms || at_ms < seen->started_ms))
                seen->started_ms = at_ms;
        }
    }
    if (!seen->started_ms && sw_text_same(runai_phase(workload), "Running"))
        seen->started_ms = runai_time_ms(workload, "phaseUpdatedAt");
}

/* One that is gone: how it ended, if it had; else an unknown hand deleted it. */
static void read_deleted(const json_t *workload, enum sw_state state, struct sw_observation *seen)
{
    bool canceled = sw_json_bool(workload, "canceled", false);

    seen->by_absence = true;
    if (state == SW_COMPLETE || state == SW_ERROR) {
        read_end(workload, state, seen);
        return;
    }
    seen->ended_ms = runai_time_ms(workload, "deletedAt");
    if (canceled)
        sw_jobs_say(seen, SW_CANCELED, SW_REASON_CANCELED, "canceled");
    else
        sw_jobs_say(seen, SW_ERROR, SW_REASON_REMOVED, "it was deleted in run:ai before it ended");
}

void runai_read(const json_t *workload, struct sw_observation *seen)
{
    const char *note = NULL, *phase = runai_phase(workload);
    enum sw_state state = runai_state(phase, &note);
    bool canceled = sw_json_bool(workload, "canceled", false);
    char text[128];

    seen->presence = SW_PRESENT;
    seen->state = state;
    seen->exit_code = SW_NO_EXIT_CODE;
    seen->failed_replica = -1;
    snprintf(seen->remote_id, sizeof seen->remote_id, "%s", runai_id(workload));
    read_times(workload, seen);
    if (runai_time_ms(workload, "deletedAt")) {
        read_deleted(workload, state, seen);
        return;
    }
    if (state == SW_PENDING)
        read_waiting(workload, note, seen);
    else if (state == SW_COMPLETE || state == SW_ERROR)
        read_end(workload, state, seen);
    else if (state == SW_PAUSED && canceled && strcmp(phase, "Stopped") == 0)
        sw_jobs_say(seen, SW_CANCELED, SW_REASON_CANCELED, "canceled");
    else if (state == SW_PAUSED && canceled)
        sw_jobs_say(seen, SW_RUNNING, SW_REASON_CANCELING, "it is being stopped");
    else if (state == SW_UNKNOWN && !note) {
        snprintf(text, sizeof text, "run:ai says '%.80s'", phase);
        sw_jobs_say(seen, SW_UNKNOWN, "", text);
    } else
        sw_jobs_say(seen, state, state == SW_PAUSED ? SW_REASON_PAUSED
                                 : state == SW_CANCELED ? SW_REASON_CANCELED : "", note);
}
