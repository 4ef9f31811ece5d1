/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_states.c - pods and their owner, as one observation.
 *
 * Whether an attempt is over, the object says alone (a Job, a JobSet): pods come and go under it, and one
 * that failed may be replaced. How it ended, the pod of the rank that failed first says: its container's
 * exit code, and the report that the runner left as termination message. What the cluster did to the pod
 * (evicted, preempted, its node is gone) explains any exit code. Where no pod is left, the object's own
 * condition must do.
 *
 * Pure.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/reason.h"
#include "core/report.h"
#include "core/run_end.h"
#include "core/state.h"
#include "platform/kit/image_digest.h"
#include "platform/kit/log_lines.h"

#define KUEUE_QUEUE     "kueue.x-k8s.io/queue-name"
#define JOBSET_RESTART  "jobset.sigs.k8s.io/restart-attempt"

static void say(struct sw_observation *seen, enum sw_state state, const char *reason, const char *message)
{
    seen->state = state;
    snprintf(seen->reason, sizeof seen->reason, "%s", reason);
    snprintf(seen->message, sizeof seen->message, "%.255s", message);
}

int64_t k8s_time_ms(const char *text)
{
    int64_t at_ns = 0;

    return text && sw_log_stamp(text, strlen(text), &at_ns) && at_ns > 0 ? at_ns / 1000000 : 0;
}

/* ---- one pod ------------------------------------------------------------------------------------- */

static const json_t *part(const json_t *object, const char *first, const char *second)
{
    return json_object_get(json_object_get(object, first), second);
}

static int number_of(const char *text, int missing)
{
    long number = text && *text >= '0' && *text <= '9' ? strtol(text, NULL, 10) : missing;

    return number > 1000000 ? missing : (int)number;
}

int k8s_label_number(const json_t *object, const char *label, int missing)
{
    return number_of(k8s_label(object, label), missing);
}

const json_t *k8s_container(const json_t *pod, const char *name)
{
    const json_t *all = part(pod, "status", "containerStatuses"), *one;
    size_t i;

    json_array_foreach(all, i, one)
        if (sw_text_same(sw_json_str(one, "name"), name))
            return one;
    return NULL;
}

/* The container that runs the job: others (a service mesh) may be beside it. */
static const json_t *container_of(const json_t *pod, const struct k8s_engine *engine)
{
    const json_t *own = k8s_container(pod, engine->container);

    return own ? own : json_array_get(part(pod, "status", "containerStatuses"), 0);
}

/* A container that the kubelet started again has its end in lastState. */
static const json_t *terminated_of(const json_t *pod, const struct k8s_engine *engine)
{
    const json_t *container = container_of(pod, engine);
    const json_t *now = part(container, "state", "terminated");

    return now ? now : part(container, "lastState", "terminated");
}

/* Owned; NULL: the container left none. Any program may write that file: another job's report is none. */
static json_t *report_of(const struct sw_observation *seen, const json_t *terminated)
{
    const char *text = sw_json_str(terminated, "message");
    json_t *report = text ? sw_report_parse(text, strlen(text)) : NULL;
    const char *id = sw_json_str(report, "job_id");

    if (report && id && !sw_text_same(id, seen->job.id))
        json_decref(sw_take(report));
    return report;
}

static enum sw_state state_of(const json_t *pod)
{
    static const struct sw_state_word words[] = {
        { "Pending", SW_PENDING, NULL },    { "Running", SW_RUNNING, NULL },
        { "Failed", SW_ERROR, NULL },       { "Succeeded", SW_COMPLETE, NULL },
        { "Unknown", SW_RUNNING, NULL },                     /* its node is silent */
    };
    const char *phase = k8s_pod_phase(pod);
    char reason[48], message[256];

    if (k8s_pod_waits(pod, NULL, reason, message))
        return SW_PENDING;
    return phase ? sw_state_lookup(words, SW_COUNT(words), phase, NULL) : SW_PENDING;
}

static struct sw_rank rank_of(const struct sw_observation *seen, const struct k8s_engine *engine,
                              const json_t *pod)
{
    const json_t *terminated = terminated_of(pod, engine);
    const json_t *running = part(container_of(pod, engine), "state", "running");
    sw_auto(json) json_t *report = report_of(seen, terminated);

    return (struct sw_rank){
        .presence = pod ? SW_PRESENT : SW_ABSENT,
        .state = pod ? state_of(pod) : SW_UNKNOWN,
        .follows = sw_json_bool(report, "stopped", false) || sw_json_int(report, "failed_peer", -1) >= 0,
        .started_ms = k8s_time_ms(sw_json_str(running ? running : terminated, "startedAt")),
        .ended_ms = k8s_time_ms(sw_json_str(terminated, "finishedAt")),
    };
}

/* ---- which pod ----------------------------------------------------------------------------------- */

static int64_t made_ms(const json_t *pod)
{
    return k8s_time_ms(k8s_meta(pod, "creationTimestamp"));
}

/* Of two pods of one rank made in the same second the one that goes on is the newer. */
static bool is_newer(const json_t *a, const json_t *b)
{
    int64_t when = made_ms(a), other = made_ms(b);

    return when != other ? when > other : !sw_state_is_final(state_of(a)) && sw_state_is_final(state_of(b));
}

/* Workers of a Ray cluster have no numbers: they follow driver and head in the order of their names. */
static int rank_in(const struct k8s_seen *known, const json_t *pod)
{
    int rank = known->engine->rank(pod), before = 2;
    const char *name = k8s_meta(pod, "name");
    json_t *other;
    size_t i;

    if (rank != K8S_RANK_BY_NAME)
        return rank;
    json_array_foreach((json_t *)known->pods, i, other) {
        const char *its = known->engine->rank(other) == K8S_RANK_BY_NAME ? k8s_meta(other, "name") : NULL;

        before += name && its && strcmp(its, name) < 0;
    }
    return before;
}

/* How many pods of its rank came after it. */
static int pods_after(const struct k8s_seen *known, int rank, const json_t *pod)
{
    int count = 0;
    json_t *other;
    size_t i;

    json_array_foreach((json_t *)known->pods, i, other)
        count += other != pod && rank_in(known, other) == rank && is_newer(other, pod);
    return count;
}

int k8s_nodes(const struct k8s_seen *known, const struct sw_jobref *job)
{
    const char *note = k8s_note(known->object, K8S_NOTE_NODES);
    int64_t nodes = number_of(note, (int)sw_json_int(job->plan, "nodes", 1));

    return nodes < 1 ? 1 : nodes > K8S_NODES_MAX ? K8S_NODES_MAX : (int)nodes;
}

int k8s_inner_rank(const struct sw_jobref *job, int rank)
{
    bool ray = sw_text_same(sw_json_str(job->details, "engine"), "rayjob") &&
               !sw_json_bool(job->details, "guest", false);

    return rank > 0 ? rank : ray ? 1 : 0;
}

/* A Job replaces a pod that the cluster took without counting it: only the pods tell. */
static int restarts_of(const struct k8s_seen *known, const struct k8s_workload *workload, int nodes)
{
    int most = workload->restarts > 0 ? workload->restarts : 0;
    json_t *pod;
    size_t i;

    if (nodes == 1)
        json_array_foreach((json_t *)known->pods, i, pod)
            if (rank_in(known, pod) == 0 && pods_after(known, 0, pod) > most)
                most = pods_after(known, 0, pod);
    return most;
}

const json_t *k8s_pod_of(const struct k8s_seen *known, int rank, int restart)
{
    struct k8s_workload workload = k8s_read(known);
    const json_t *found = NULL;
    int newest = 0;
    json_t *pod;
    size_t i;

    if (restart >= 0 && known->object) {
        newest = restarts_of(known, &workload, 1);
        newest = newest > restart ? newest : restart;        /* earlier pods may be gone */
    }
    json_array_foreach((json_t *)known->pods, i, pod) {
        if (rank_in(known, pod) != rank)
            continue;
        if (restart >= 0 &&
            k8s_label_number(pod, JOBSET_RESTART, newest - pods_after(known, rank, pod)) != restart)
            continue;
        if (!found || is_newer(pod, found))
            found = pod;
    }
    return found;
}

/* ---- what the cluster did to a pod --------------------------------------------------------------- */

/* Words of status.reason and of the condition DisruptionTarget. */
static const struct {
    const char *said, *reason, *ours;
} disruptions[] = {
    { "PreemptionByScheduler",    SW_REASON_PREEMPTED,    "a pod of higher priority took its place" },
    { "Preempting",               SW_REASON_PREEMPTED,    "a pod of higher priority took its place" },
    { "PreemptionByKubeScheduler", SW_REASON_PREEMPTED,   "a pod of higher priority took its place" },
    { "EvictionByEvictionAPI",    SW_REASON_EVICTED,      "it was evicted: its node is being emptied" },
    { "Evicted",                  SW_REASON_EVICTED,      "its node evicted it" },
    { "TerminationByKubelet",     SW_REASON_EVICTED,      "its node stopped it" },
    { "DeletionByTaintManager",   SW_REASON_NODE_LOST,    "its node failed" },
    { "DeletionByPodGC",          SW_REASON_NODE_LOST,    "its node is gone" },
    { "NodeLost",                 SW_REASON_NODE_LOST,    "its node does not answer" },
    { "NodeShutdown",             SW_REASON_RESTART,      "its node was shut down" },
    { "Terminated",               SW_REASON_RESTART,      "its node was shut down" },
    { "ContainerStatusUnknown",   SW_REASON_NODE_LOST,    "its node lost the container" },
    { "UnexpectedAdmissionError", SW_REASON_NODE_REFUSED, "its node refused it" },
    { "OutOf",                    SW_REASON_NODE_REFUSED, "its node had no room for it" },
    { "NodeAffinity",             SW_REASON_NODE_REFUSED, "its node refused it" },
    { "TopologyAffinityError",    SW_REASON_NODE_REFUSED, "its node refused it" },
};

/* The status itself, the condition or the container, whichever has such a word; `row`: its number above.
 * NULL: the cluster did nothing to it. */
static const json_t *disruption_of(const json_t *pod, const struct k8s_engine *engine, size_t *row)
{
    const json_t *target = k8s_condition(pod, "DisruptionTarget");
    const json_t *at[] = { json_object_get(pod, "status"), k8s_is_true(target) ? target : NULL,
                           terminated_of(pod, engine) };

    for (size_t i = 0; i < SW_COUNT(at); i++) {
        const char *said = sw_json_str(at[i], "reason");

        for (size_t j = 0; said && j < SW_COUNT(disruptions); j++)
            if (sw_text_starts(said, disruptions[j].said)) {
                *row = j;
                return at[i];
            }
    }
    return NULL;
}

static void say_disruption(const json_t *pod, const struct k8s_engine *engine, int rank,
                           struct sw_observation *seen)
{
    const char *node = k8s_pod_node(pod), *words;
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    size_t row = 0;
    const json_t *said = disruption_of(pod, engine, &row);

    if (!said)
        return;
    words = sw_json_str(said, "message");
    if (rank >= 0)
        sw_buf_addf(&text, "rank %d: ", rank);
    sw_buf_add(&text, disruptions[row].ours);
    if (node)
        sw_buf_addf(&text, " (%.80s)", node);
    if (!sw_text_empty(words) && !sw_report_is_last(seen->runner))
        sw_buf_addf(&text, ": %.140s", words);
    say(seen, SW_ERROR, disruptions[row].reason, sw_buf_text(&text));
}

/* ---- how it ended -------------------------------------------------------------------------------- */

static json_t *facts_of(const json_t *pod, const struct k8s_engine *engine,
                        const struct k8s_workload *workload)
{
    const json_t *status = json_object_get(pod, "status"), *target = k8s_condition(pod, "DisruptionTarget");
    const json_t *terminated = terminated_of(pod, engine);
    bool oom = sw_text_same(sw_json_str(terminated, "reason"), "OOMKilled");

    return sw_json_object(
        SW_STR_OPT("pod", k8s_meta(pod, "name")),
        SW_STR_OPT("node", k8s_pod_node(pod)),
        SW_STR_OPT("pod_reason", sw_json_str(status, "reason")),
        SW_STR_OPT("pod_message", sw_json_str(status, "message")),
        SW_STR_OPT("container_reason", sw_json_str(terminated, "reason")),
        SW_SUB_COPY("exit_code", json_object_get(terminated, "exitCode")),
        SW_STR_OPT("disruption", k8s_is_true(target) ? sw_json_str(target, "reason") : NULL),
        SW_STR_OPT("disruption_message", k8s_is_true(target) ? sw_json_str(target, "message") : NULL),
        SW_SUB("oom_kills", oom ? json_integer(1) : NULL),
        SW_STR_OPT("workload_reason", *workload->reason ? workload->reason : NULL),
        SW_STR_OPT("workload_message", *workload->message ? workload->message : NULL));
}

static int exit_code_of(const json_t *terminated)
{
    int64_t code = sw_json_int(terminated, "exitCode", SW_NO_EXIT_CODE);

    return code >= 0 && code <= 255 ? (int)code : SW_NO_EXIT_CODE;
}

/* `rank`: to be named, -1: not. */
static void judge_pod(const json_t *pod, const struct k8s_engine *engine, int rank, bool timed_out,
                      struct sw_observation *seen)
{
    const json_t *terminated = terminated_of(pod, engine), *status = json_object_get(pod, "status");
    const char *why = sw_json_str(terminated, "reason");
    struct sw_run_end end = SW_RUN_END_INIT;
    int64_t signal = sw_json_int(terminated, "signal", 0);

    json_decref(sw_take(seen->runner));
    seen->runner = report_of(seen, terminated);
    end.exit_code = exit_code_of(terminated);
    end.signal = signal > 0 && signal < 64 ? (int)signal : 0;
    end.rank = rank;
    sw_run_end_report(&end, seen->runner);
    end.oom |= sw_text_same(why, "OOMKilled");
    end.timed_out |= timed_out || sw_text_same(why, "DeadlineExceeded") ||
                     sw_text_same(sw_json_str(status, "reason"), "DeadlineExceeded");
    if (sw_text_same(why, "StartError") || sw_text_same(why, "ContainerCannotRun"))
        end.error = sw_json_str(terminated, "message");
    end.time_limit_ms = sw_json_int(seen->job.plan, "time_ms", 0);
    end.memory_limit_bytes = sw_json_int(seen->job.plan, "memory_bytes", 0);
    sw_run_end_judge(&end, seen);
    if (seen->state == SW_ERROR && !end.oom && !end.timed_out)
        say_disruption(pod, engine, rank, seen);
}

void k8s_pod_end(const json_t *pod, const struct k8s_engine *engine, struct sw_observation *seen)
{
    seen->exit_code = SW_NO_EXIT_CODE;
    seen->state = pod ? state_of(pod) : SW_UNKNOWN;
    if (sw_state_is_final(seen->state))
        judge_pod(pod, engine, -1, false, seen);
}

/* No pod of a failed object is left: the last word of its controller. */
static void judge_object(const struct k8s_workload *workload, struct sw_observation *seen)
{
    struct sw_run_end end = SW_RUN_END_INIT;

    end.timed_out = sw_text_same(workload->reason, "DeadlineExceeded");
    end.time_limit_ms = sw_json_int(seen->job.plan, "time_ms", 0);
    end.exit_code = workload->phase == K8S_SUCCEEDED ? 0 : SW_NO_EXIT_CODE;
    sw_run_end_judge(&end, seen);
    if (seen->state == SW_COMPLETE || end.timed_out)
        return;
    snprintf(seen->reason, sizeof seen->reason, "%s", SW_REASON_LOST);
    snprintf(seen->message, sizeof seen->message, "it failed and none of its pods is left (%.60s: %.120s)",
             *workload->reason ? workload->reason : "no reason", workload->message);
}

static void judge_end(const struct k8s_seen *known, const struct k8s_workload *workload,
                      const struct sw_ranks *ranks, const json_t *const *pods, struct sw_observation *seen)
{
    bool failed = workload->phase == K8S_FAILED;
    int rank = failed && ranks->first_failed >= 0 ? ranks->first_failed : 0;
    const json_t *pod = pods[rank];
    bool timed_out = failed && sw_text_same(workload->reason, "DeadlineExceeded");
    bool one = ranks->count == 1 || (rank == 0 && known->engine->choice == K8S_RAYJOB);

    if (failed ? pod && (ranks->first_failed >= 0 || timed_out)
               : pod && state_of(pod) == SW_COMPLETE)
        judge_pod(pod, known->engine, failed && !one ? rank : -1, timed_out, seen);
    else
        judge_object(workload, seen);
    if (failed && seen->state == SW_COMPLETE)                    /* this pod ended well; the object did not */
        judge_object(workload, seen);
    seen->ended_ms = workload->ended_ms ? workload->ended_ms : ranks->ended_ms;
    seen->failed_replica = seen->state == SW_ERROR && ranks->first_failed >= 0 ? rank : -1;
    if (known->engine->choice == K8S_RAYJOB)
        k8s_ray_end(workload, seen);
    seen->facts = facts_of(pod, known->engine, workload);
}

/* ---- while it goes on ---------------------------------------------------------------------------- */

/* The condition of an object that was released just now is a moment behind. */
static bool is_held(const json_t *object)
{
    const json_t *spec = json_object_get(object, "spec");

    return sw_json_bool(spec, "suspend", sw_json_bool(json_object_get(spec, "runPolicy"), "suspend", true));
}

static void judge_suspended(const struct k8s_seen *known, const struct k8s_workload *workload,
                            struct sw_observation *seen)
{
    char reason[48], message[256];

    if (k8s_queue_waits(known->workload, reason, message))
        say(seen, SW_PENDING, reason, message);
    else if (!is_held(known->object))
        say(seen, SW_PENDING, SW_REASON_STARTING, "it was released; its pods are not created yet");
    else if (k8s_label(known->object, KUEUE_QUEUE))
        say(seen, SW_PENDING, SW_REASON_QUEUE, "it is waiting for Kueue to admit it");
    else if (!workload->sent)
        say(seen, SW_PENDING, SW_REASON_STARTING, "it is created but not released yet");
    else
        say(seen, SW_PAUSED, SW_REASON_PAUSED, "it is suspended on the cluster");
}

/* The first rank that waits says for what. False: none waits. */
static bool judge_waiting(const struct k8s_seen *known, const struct sw_ranks *ranks,
                          const json_t *const *pods, struct sw_observation *seen)
{
    char reason[48], message[256];

    for (int rank = 0; ranks->pending && rank < ranks->count; rank++) {
        if (!pods[rank] || !k8s_pod_waits(pods[rank], known->events, reason, message))
            continue;
        say(seen, SW_PENDING, reason, message);
        if (ranks->count > 1)
            snprintf(seen->message, sizeof seen->message, "rank %d: %.230s", rank, message);
        return true;
    }
    return false;
}

/* Its pod was taken, and the next one is not there yet. */
static bool judge_replaced(const struct k8s_seen *known, const struct sw_ranks *ranks, const json_t *pod,
                           struct sw_observation *seen)
{
    size_t row = 0;

    if (ranks->count != 1 || ranks->first_failed != 0 || !disruption_of(pod, known->engine, &row))
        return false;
    say(seen, SW_PENDING, SW_REASON_PREEMPTED, "");
    snprintf(seen->message, sizeof seen->message, "%s; it is being restarted", disruptions[row].ours);
    return true;
}

static void judge_going(const struct k8s_seen *known, const struct k8s_workload *workload,
                        const struct sw_ranks *ranks, const json_t *const *pods, struct sw_observation *seen)
{
    char reason[48], message[256];

    seen->state = SW_RUNNING;
    if (workload->deleting)
        say(seen, SW_RUNNING, SW_REASON_ENDING, "it was deleted on the cluster and is being stopped");
    else if (workload->phase == K8S_SUSPENDED)
        judge_suspended(known, workload, seen);
    else if (ranks->missing == ranks->count) {
        if (k8s_refused(known->events, reason, message) || k8s_queue_waits(known->workload, reason, message))
            say(seen, SW_PENDING, reason, message);
        else
            say(seen, SW_PENDING, SW_REASON_STARTING, "its pods are not created yet");
    } else if (judge_replaced(known, ranks, pods[0], seen) ||
               (ranks->first_failed < 0 && judge_waiting(known, ranks, pods, seen))) {
        return;
    } else if (ranks->phase == SW_RANKS_OVER) {
        say(seen, SW_RUNNING, SW_REASON_ENDING, "its pods have finished; the cluster is recording it");
    } else if (ranks->phase == SW_RANKS_INCOMPLETE && ranks->first_failed < 0 && !pods[0] &&
               known->engine->choice == K8S_RAYJOB) {
        say(seen, SW_PENDING, SW_REASON_STARTING, "its driver starts when its Ray cluster is complete");
    } else if (ranks->phase == SW_RANKS_INCOMPLETE && ranks->first_failed < 0) {
        snprintf(message, sizeof message, "the pod of rank %d does not exist yet", ranks->first_missing);
        say(seen, SW_PENDING, SW_REASON_STARTING, message);
    } else {
        sw_ranks_observe(ranks, seen);
    }
}

/* ---- attempts that the cluster made by itself ----------------------------------------------------- */

static json_t *story(const struct k8s_seen *known, const struct sw_observation *seen, int number, int restart)
{
    const json_t *pod = k8s_pod_of(known, 0, restart);
    struct sw_observation was = { .job = seen->job, .exit_code = SW_NO_EXIT_CODE };
    const json_t *terminated = terminated_of(pod, known->engine);
    json_t *out;

    say(&was, SW_ERROR, SW_REASON_RESTARTED, "the cluster restarted it");
    if (pod)
        judge_pod(pod, known->engine, -1, false, &was);
    out = sw_json_object(
        SW_INT("number", number), SW_STR("state", sw_state_name(SW_ERROR)), SW_STR("reason", was.reason),
        SW_STR("message", was.message),
        SW_SUB("exit_code", was.exit_code == SW_NO_EXIT_CODE ? json_null() : json_integer(was.exit_code)),
        SW_INT("signal", was.signal), SW_STR("node", k8s_pod_node(pod)),
        SW_STR("remote_id", seen->remote_id),
        SW_INT("started_ms", k8s_time_ms(sw_json_str(terminated, "startedAt"))),
        SW_INT("ended_ms", k8s_time_ms(sw_json_str(terminated, "finishedAt"))),
        SW_STR("why", "the cluster restarted it"));
    sw_observation_done(&was);
    return out;
}

static void note_restarts(const struct k8s_seen *known, int base, int restarts, struct sw_observation *seen)
{
    if (restarts == 0)
        return;
    seen->attempt = base + restarts;
    seen->before = json_array();
    for (int i = restarts > 32 ? restarts - 32 : 0; i < restarts; i++)
        json_array_append_new(seen->before, story(known, seen, base + i, i));
}

/* ---- one job ------------------------------------------------------------------------------------- */

/* Another object of this name, or the attempt that is asked for was never sent. */
static bool is_another(const struct k8s_seen *known, const struct sw_observation *seen, const char *uid,
                       const struct k8s_workload *workload)
{
    int base = k8s_label_number(known->object, K8S_LABEL_ATTEMPT, 1);

    if (!sw_text_empty(seen->job.remote_id))
        return !sw_text_same(seen->job.remote_id, uid);
    return base + restarts_of(known, workload, k8s_nodes(known, &seen->job)) < seen->job.attempt;
}

bool k8s_is_half_made(const struct k8s_seen *known, const struct sw_jobref *job)
{
    struct k8s_workload workload = k8s_read(known);

    if (!known->object || !sw_text_empty(job->remote_id))
        return false;
    return !workload.sent && (workload.phase == K8S_SUSPENDED || !known->engine->suspend ||
                              k8s_at(known->object, "spec/clusterSelector"));
}

/* The newest pod of each rank. */
static void find_pods(const struct k8s_seen *known, const json_t **out, int count)
{
    json_t *pod;
    size_t i;

    json_array_foreach((json_t *)known->pods, i, pod) {
        int rank = rank_in(known, pod);

        if (rank >= 0 && rank < count && (!out[rank] || is_newer(pod, out[rank])))
            out[rank] = pod;
    }
}

static void judge_ranks(const struct k8s_seen *known, const struct k8s_workload *workload,
                        struct sw_observation *seen)
{
    int count = k8s_nodes(known, &seen->job), base = k8s_label_number(known->object, K8S_LABEL_ATTEMPT, 1);
    sw_autofree struct sw_rank *all = sw_alloc((size_t)count * sizeof *all);
    sw_autofree const json_t **pods = sw_alloc((size_t)count * sizeof *pods);
    struct sw_ranks ranks;
    const json_t *pod;
    const char *node;

    find_pods(known, pods, count);
    for (int i = 0; i < count; i++)
        all[i] = rank_of(seen, known->engine, pods[i]);
    sw_ranks_count(&ranks, all, count);
    seen->started_ms = ranks.started_ms;
    if (k8s_is_over(workload))
        judge_end(known, workload, &ranks, pods, seen);
    else
        judge_going(known, workload, &ranks, pods, seen);
    pod = pods[seen->failed_replica > 0 ? seen->failed_replica : 0];
    node = k8s_pod_node(pod);
    snprintf(seen->node, sizeof seen->node, "%s", node ? node : "");
    sw_image_digest(sw_json_str(container_of(pod, known->engine), "imageID"), seen->image_digest);
    note_restarts(known, base, restarts_of(known, workload, count), seen);
}

void k8s_judge(const struct k8s_seen *known, struct sw_observation *seen)
{
    const char *uid = k8s_meta(known->object, "uid");
    struct k8s_workload workload = k8s_read(known);

    seen->presence = SW_ABSENT;
    seen->exit_code = SW_NO_EXIT_CODE;
    seen->failed_replica = -1;
    if (!known->object || !known->engine)
        return;
    if (is_another(known, seen, uid ? uid : "", &workload))
        return;
    if (k8s_is_half_made(known, &seen->job)) {
        seen->presence = SW_UNSEEN;
        seen->needs_reconcile = true;
        return;
    }
    seen->presence = SW_PRESENT;
    snprintf(seen->remote_id, sizeof seen->remote_id, "%s", uid ? uid : "");
    judge_ranks(known, &workload, seen);
}
