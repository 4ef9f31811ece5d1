/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_known.c - what an object says of itself, what is kept of it, and which job it belongs to.
 *
 * Objects are trimmed as soon as they arrive: of a pod's 10 kB some 1 kB are read here, and a thousand of
 * them shall take little memory (parsed, each key takes some 150 bytes). Pure.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* ---- what an object says of itself ------------------------------------------------------------------ */

const char *k8s_meta(const json_t *object, const char *key)
{
    return sw_json_str(json_object_get(object, "metadata"), key);
}

const char *k8s_label(const json_t *object, const char *label)
{
    return sw_json_str(k8s_at(object, "metadata/labels"), label);
}

const char *k8s_note(const json_t *object, const char *annotation)
{
    return sw_json_str(k8s_at(object, "metadata/annotations"), annotation);
}

const char *k8s_pod_node(const json_t *pod)
{
    return json_string_value(k8s_at(pod, "spec/nodeName"));
}

const char *k8s_pod_phase(const json_t *pod)
{
    return json_string_value(k8s_at(pod, "status/phase"));
}

const json_t *k8s_condition(const json_t *object, const char *type)
{
    const json_t *conditions = k8s_at(object, "status/conditions"), *one;
    size_t i;

    json_array_foreach(conditions, i, one)
        if (sw_text_same(sw_json_str(one, "type"), type))
            return one;
    return NULL;
}

bool k8s_is_true(const json_t *condition)
{
    return sw_text_same(sw_json_str(condition, "status"), "True");
}

struct k8s_workload k8s_read(const struct k8s_seen *known)
{
    struct k8s_workload workload = { 0 };

    if (known->object && known->engine)
        known->engine->read(known->object, &workload);
    return workload;
}

/* ---- trimmed objects ------------------------------------------------------------------------------ */

/* All that this platform reads, of any kind of object and at any depth. */
static const char *const kept_keys[] = {
    "metadata", "spec", "status", "name", "uid", "creationTimestamp", "deletionTimestamp", "labels",
    "annotations", "ownerReferences", "controller", "nodeName", "suspend", "parallelism", "runPolicy",
    "phase", "reason", "message", "conditions", "type", "lastTransitionTime", "containerStatuses",
    "initContainerStatuses", "state", "lastState", "restartCount", "waiting", "running", "terminated",
    "exitCode", "signal", "startedAt", "finishedAt", "startTime", "completionTime", "ready", "succeeded",
    "failed", "restarts", "retryCount", "jobsStatus", "replicatedJobsStatus", "imageID",
    "jobDeploymentStatus", "jobStatus", "endTime", "clusterSelector", "rayClusterName", "rayClusterStatus",
};
static const char *const kept_labels[] = {
    K8S_LABEL_ID, K8S_LABEL_ATTEMPT, K8S_NOTE_SENT, K8S_NOTE_NODES,
    "batch.kubernetes.io/job-completion-index", "jobset.sigs.k8s.io/restart-attempt",
    "training.kubeflow.org/", "volcano.sh/task-index", "ray.io/node-type", "ray.io/cluster", K8S_LABEL_ROLE,
    "kueue.x-k8s.io/queue-name",
};
/* Conditions of a pod that say nothing which its phase does not say. */
static const char *const dull_conditions[] = {
    "Initialized", "ContainersReady", "PodReadyToStartContainers",
};

static bool is_kept(const char *key, bool labels)
{
    for (size_t i = 0; labels && i < SW_COUNT(kept_labels); i++)
        if (sw_text_starts(key, kept_labels[i]))
            return true;
    for (size_t i = 0; !labels && i < SW_COUNT(kept_keys); i++)
        if (strcmp(key, kept_keys[i]) == 0)
            return true;
    return false;
}

static bool is_dull(const json_t *one)
{
    const char *type = sw_json_str(one, "type");

    for (size_t i = 0; type && i < SW_COUNT(dull_conditions); i++)
        if (strcmp(type, dull_conditions[i]) == 0)
            return true;
    return false;
}

/* A copy without the rest: taking it out would leave tables of the old size behind. */
static json_t *kept_of(json_t *value, bool labels)
{
    json_t *out = json_is_object(value) ? json_object() : json_is_array(value) ? json_array() : NULL, *one;
    const char *key;
    size_t i;

    if (json_is_object(value)) {
        json_object_foreach(value, key, one)
            if (is_kept(key, labels) && !(strcmp(key, "lastState") == 0 && json_object_size(one) == 0))
                json_object_set_new(out, key, kept_of(one, strcmp(key, "labels") == 0 ||
                                                               strcmp(key, "annotations") == 0));
    } else if (json_is_array(value)) {
        json_array_foreach(value, i, one)
            if (!is_dull(one))
                json_array_append_new(out, kept_of(one, false));
    }
    return out ? out : json_incref(value);
}

json_t *k8s_trim(json_t *object)
{
    return kept_of(object, false);
}

/* ---- the list ------------------------------------------------------------------------------------ */

json_t *k8s_list_new(void)
{
    return sw_json_object(SW_SUB("objects", json_object()), SW_SUB("pods", json_object()));
}

/* The child of another object (a TrainJob's JobSet of the same name) stands for no attempt. */
static bool is_child(const json_t *object)
{
    json_t *one;
    size_t i;

    json_array_foreach(json_object_get(json_object_get(object, "metadata"), "ownerReferences"), i, one)
        if (sw_json_bool(one, "controller", false))
            return true;
    return false;
}

static char *key_of(const char *kind, const json_t *object)
{
    const char *id = k8s_label(object, K8S_LABEL_ID), *name = k8s_meta(object, "name");

    if (!name || !id)
        return NULL;
    if (strcmp(kind, K8S_PODS) == 0)
        return sw_format("%s/%d", id, k8s_label_number(object, K8S_LABEL_ATTEMPT, 1));
    return is_child(object) ? NULL : sw_format("%s/%s", kind, name);
}

void k8s_list_add(json_t *list, const char *kind, json_t *object)
{
    sw_autofree char *key = key_of(kind, object);
    json_t *pods = json_object_get(list, "pods"), *own;

    if (!key)
        return;
    if (strcmp(kind, K8S_PODS) != 0) {
        json_object_set(json_object_get(list, "objects"), key, object);
        return;
    }
    own = json_object_get(pods, key);
    if (!own) {
        own = json_array();
        json_object_set_new(pods, key, own);
    }
    json_array_append(own, object);
}

/* ---- one job ------------------------------------------------------------------------------------- */

bool k8s_may_be(const struct sw_jobref *job, const struct k8s_engine *engine)
{
    const char *name = sw_json_str(job->details, "engine");

    return !name || sw_text_same(name, engine->name);
}

/* Is the job's attempt part of an object that was submitted as `first`? It is when the cluster began it again
 * so often. A Job does not count all of that, so the UID that submit() saw decides where it is known. */
static bool reaches(const struct k8s_seen *known, int first, const struct sw_jobref *job)
{
    if (!sw_text_empty(job->remote_id) && sw_text_same(job->remote_id, k8s_meta(known->object, "uid")))
        return true;
    return first + k8s_read(known).restarts >= job->attempt;
}

void k8s_find(const json_t *list, const struct sw_jobref *job, struct k8s_seen *known)
{
    const json_t *objects = json_object_get(list, "objects");
    char name[K8S_NAME_SIZE];

    *known = (struct k8s_seen){ 0 };
    for (int attempt = job->attempt > 1 ? job->attempt : 1; attempt >= 1; attempt--) {
        k8s_name(name, job->id, attempt);
        for (const struct k8s_engine *engine = k8s_engines; engine->name; engine++) {
            sw_autofree char *key = sw_format("%s/%s", engine->name, name);
            sw_autofree char *pods = sw_format("%s/%d", job->id, attempt);

            known->object = k8s_may_be(job, engine) ? json_object_get(objects, key) : NULL;
            known->engine = engine;
            known->pods = json_object_get(json_object_get(list, "pods"), pods);
            if (known->object && reaches(known, attempt, job))
                return;
        }
    }
    *known = (struct k8s_seen){ 0 };
}
