/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_engine_status.c - what the status of an engine's object says, and the ranks of its pods. Pure.
 *
 * An object counts as active as soon as one of its pods is ready or has ended; kubernetes_states.c says the
 * rest. Words that are not known leave it waiting: a healthy job is never called failed.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static int64_t time_ms(const json_t *object, const char *key)
{
    return k8s_time_ms(sw_json_str(object, key));
}

static void say(struct k8s_workload *out, const json_t *condition)
{
    const char *reason = sw_json_str(condition, "reason"), *message = sw_json_str(condition, "message");

    snprintf(out->reason, sizeof out->reason, "%s", reason ? reason : "");
    snprintf(out->message, sizeof out->message, "%s", message ? message : "");
}

/* What all objects have; and the first of these conditions that is true decides the phase. */
struct condition_row {
    const char *type;
    enum k8s_phase phase;
};

static void begin(const json_t *object, struct k8s_workload *out)
{
    const json_t *metadata = json_object_get(object, "metadata"), *status = json_object_get(object, "status");

    *out = (struct k8s_workload){
        .phase = K8S_WAITING, .created_ms = time_ms(metadata, "creationTimestamp"),
        .started_ms = time_ms(status, "startTime"), .ended_ms = time_ms(status, "completionTime"),
        .sent = k8s_note(object, K8S_NOTE_SENT) != NULL,
        .deleting = sw_json_str(metadata, "deletionTimestamp") != NULL,
    };
}

/* False: none of them is true. */
static bool by_conditions(const json_t *object, const struct condition_row *rows, struct k8s_workload *out)
{
    for (; rows->type; rows++) {
        const json_t *is = k8s_condition(object, rows->type);

        if (!k8s_is_true(is))
            continue;
        out->phase = rows->phase;
        say(out, is);
        if (!out->ended_ms && k8s_is_over(out))
            out->ended_ms = time_ms(is, "lastTransitionTime");
        return true;
    }
    return false;
}

static bool is_suspended(const json_t *object)
{
    return sw_json_bool(json_object_get(object, "spec"), "suspend", false);
}

/* ---- each kind ----------------------------------------------------------------------------------- */

/* FailureTarget: pods are still being ended. It is no end yet. */
void k8s_read_job(const json_t *object, struct k8s_workload *out)
{
    static const struct condition_row rows[] = {
        { "Complete", K8S_SUCCEEDED }, { "Failed", K8S_FAILED }, { "FailureTarget", K8S_ACTIVE },
        { "SuccessCriteriaMet", K8S_ACTIVE }, { "Suspended", K8S_SUSPENDED }, { 0 }
    };
    const json_t *status = json_object_get(object, "status");
    bool alone = sw_json_int(json_object_get(object, "spec"), "parallelism", 1) <= 1;
    int64_t failed = sw_json_int(status, "failed", 0);

    begin(object, out);
    if (!by_conditions(object, rows, out))
        out->phase = is_suspended(object) ? K8S_SUSPENDED
                     : sw_json_int(status, "ready", 0) + sw_json_int(status, "succeeded", 0) > 0 ? K8S_ACTIVE
                                                                                               : K8S_WAITING;
    if (out->phase == K8S_FAILED)
        failed--;                              /* the last one ended it */
    out->restarts = alone && failed > 0 ? (int)failed : 0;
}

/* Of the Jobs below a JobSet or TrainJob. */
static bool any_ready(const json_t *jobs)
{
    size_t i;
    json_t *one;

    json_array_foreach(jobs, i, one)
        if (sw_json_int(one, "ready", 0) + sw_json_int(one, "succeeded", 0) > 0)
            return true;
    return false;
}

static void read_set(const json_t *object, const struct condition_row *rows, const char *jobs,
                     struct k8s_workload *out)
{
    const json_t *status = json_object_get(object, "status");

    begin(object, out);
    if (!by_conditions(object, rows, out))
        out->phase = is_suspended(object) ? K8S_SUSPENDED
                     : any_ready(json_object_get(status, jobs)) ? K8S_ACTIVE : K8S_WAITING;
    out->restarts = (int)sw_json_int(status, "restarts", 0);
}

void k8s_read_jobset(const json_t *object, struct k8s_workload *out)
{
    static const struct condition_row rows[] = {
        { "Completed", K8S_SUCCEEDED }, { "Failed", K8S_FAILED }, { "Suspended", K8S_SUSPENDED }, { 0 }
    };

    read_set(object, rows, "replicatedJobsStatus", out);
}

void k8s_read_trainjob(const json_t *object, struct k8s_workload *out)
{
    static const struct condition_row rows[] = {
        { "Complete", K8S_SUCCEEDED }, { "Failed", K8S_FAILED }, { "Suspended", K8S_SUSPENDED }, { 0 }
    };

    read_set(object, rows, "jobsStatus", out);
}

void k8s_read_kubeflow(const json_t *object, struct k8s_workload *out)
{
    static const struct condition_row rows[] = {
        { "Succeeded", K8S_SUCCEEDED }, { "Failed", K8S_FAILED }, { "Suspended", K8S_SUSPENDED },
        { "Running", K8S_ACTIVE }, { "Restarting", K8S_WAITING }, { "Created", K8S_WAITING }, { 0 }
    };
    const json_t *policy = json_object_get(json_object_get(object, "spec"), "runPolicy");

    begin(object, out);
    if (!by_conditions(object, rows, out) && sw_json_bool(policy, "suspend", false))
        out->phase = K8S_SUSPENDED;
}

void k8s_read_volcano(const json_t *object, struct k8s_workload *out)
{
    static const struct condition_row rows[] = {
        { "Running", K8S_ACTIVE }, { "Restarting", K8S_WAITING }, { "Completing", K8S_ACTIVE },
        { "Completed", K8S_SUCCEEDED }, { "Aborting", K8S_ACTIVE }, { "Aborted", K8S_FAILED },
        { "Terminating", K8S_ACTIVE }, { "Terminated", K8S_FAILED }, { "Failed", K8S_FAILED }, { 0 }
    };
    const json_t *status = json_object_get(object, "status"), *state = json_object_get(status, "state");
    size_t i;
    json_t *past;

    begin(object, out);
    for (const struct condition_row *row = rows; row->type; row++)
        if (sw_text_same(sw_json_str(state, "phase"), row->type))
            out->phase = row->phase;
    say(out, state);
    if (k8s_is_over(out))
        out->ended_ms = time_ms(state, "lastTransitionTime");
    json_array_foreach(json_object_get(status, "conditions"), i, past)
        if (!out->started_ms && sw_text_same(sw_json_str(past, "status"), "Running"))
            out->started_ms = time_ms(past, "lastTransitionTime");
    out->restarts = (int)sw_json_int(status, "retryCount", 0);
}

/* A STOPPED job was stopped through Ray: it did not come to its end. */
void k8s_read_rayjob(const json_t *object, struct k8s_workload *out)
{
    static const struct {
        const char *deployment, *job;            /* NULL: any */
        enum k8s_phase phase;
    } rows[] = {
        { "Suspending", NULL, K8S_SUSPENDED },    { "Suspended", NULL, K8S_SUSPENDED },
        { "Running", "RUNNING", K8S_ACTIVE },     { "Complete", "SUCCEEDED", K8S_SUCCEEDED },
        { "Complete", NULL, K8S_FAILED },         { "Failed", NULL, K8S_FAILED },
        { "ValidationFailed", NULL, K8S_FAILED },
    };
    const json_t *status = json_object_get(object, "status");
    const char *deployment = sw_json_str(status, "jobDeploymentStatus");
    const char *job = sw_json_str(status, "jobStatus");

    begin(object, out);
    for (size_t i = 0; i < SW_COUNT(rows) && out->phase == K8S_WAITING; i++)
        if (sw_text_same(deployment, rows[i].deployment) && (!rows[i].job || sw_text_same(job, rows[i].job)))
            out->phase = rows[i].phase;
    if (out->phase == K8S_WAITING && !k8s_is_over(out) && is_suspended(object))
        out->phase = K8S_SUSPENDED;
    say(out, status);
    out->ended_ms = k8s_is_over(out) ? time_ms(status, "endTime") : 0;
    if (out->phase == K8S_FAILED && sw_text_same(job, "STOPPED"))
        snprintf(out->reason, sizeof out->reason, "Stopped");
}

/* ---- ranks --------------------------------------------------------------------------------------- */

/* The number in a label or annotation; -1: it is none. `missing`: neither is there. */
static int numbered(const json_t *pod, const char *key, int missing)
{
    const char *text = k8s_label(pod, key);
    char *end;
    long number;

    text = text ? text : k8s_note(pod, key);
    if (!text)
        return missing;
    number = strtol(text, &end, 10);
    return end > text && !*end && number >= 0 && number < K8S_NODES_MAX ? (int)number : -1;
}

int k8s_rank_index(const json_t *pod)
{
    return numbered(pod, "batch.kubernetes.io/job-completion-index", 0);       /* the only pod has none */
}

/* PyTorchJob: master, then workers; MPIJob: launcher, then workers. */
int k8s_rank_kubeflow(const json_t *pod)
{
    const char *type = k8s_label(pod, "training.kubeflow.org/replica-type");
    int index = numbered(pod, "training.kubeflow.org/replica-index", -1);

    type = type ? type : k8s_label(pod, "training.kubeflow.org/job-role");
    if (sw_text_same(type, "master") || sw_text_same(type, "launcher"))
        return 0;
    return sw_text_same(type, "worker") && index >= 0 ? index + 1 : -1;
}

int k8s_rank_volcano(const json_t *pod)
{
    return numbered(pod, "volcano.sh/task-index", -1);
}
