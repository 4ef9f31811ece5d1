/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_known.c - what is kept of our objects and pods, and which of them belong to a job.
 *
 * Objects are trimmed as soon as they arrive: of a pod's 10 kB some 1 kB are read here, and a thousand of
 * them shall take little memory. Pure.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { LONG_NOTE = 256 };

/* ---- trimmed objects ------------------------------------------------------------------------------ */

/* Leaves texts, numbers and booleans, and those parts that `keep` names. */
static void drop_parts(json_t *object, const char *const *keep)
{
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe(object, next, key, value) {
        bool kept = !json_is_object(value) && !json_is_array(value);

        for (size_t i = 0; !kept && keep[i]; i++)
            kept = strcmp(key, keep[i]) == 0;
        if (!kept)
            json_object_del(object, key);
    }
}

static void drop_long_notes(json_t *notes)
{
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe(notes, next, key, value)
        if (!json_is_string(value) || json_string_length(value) > LONG_NOTE)
            json_object_del(notes, key);
}

void k8s_trim(json_t *object)
{
    static const char *const of_metadata[] = { "labels", "annotations", "ownerReferences", NULL };
    static const char *const of_spec[] = { "runPolicy", NULL };
    static const char *const of_policy[] = { NULL };
    static const char *const of_status[] = {
        "conditions", "containerStatuses", "initContainerStatuses", "replicaStatuses", "jobsStatus",
        "replicatedJobsStatus", "state", NULL,
    };
    static const char *const of_container[] = { "state", "lastState", NULL };
    static const char *const lists[] = { "containerStatuses", "initContainerStatuses" };
    json_t *spec = json_object_get(object, "spec"), *status = json_object_get(object, "status"), *one;
    size_t i;

    drop_parts(json_object_get(object, "metadata"), of_metadata);
    drop_long_notes(json_object_get(json_object_get(object, "metadata"), "annotations"));
    drop_parts(spec, of_spec);
    drop_parts(json_object_get(spec, "runPolicy"), of_policy);
    drop_parts(status, of_status);
    for (size_t at = 0; at < SW_COUNT(lists); at++)
        json_array_foreach(json_object_get(status, lists[at]), i, one)
            drop_parts(one, of_container);
}

/* ---- the list ------------------------------------------------------------------------------------ */

json_t *k8s_list_new(void)
{
    return sw_json_object(SW_SUB("objects", json_object()), SW_SUB("pods", json_object()));
}

static const char *text_of(const json_t *object, const char *key)
{
    return sw_json_str(json_object_get(object, "metadata"), key);
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

static char *key_of(const char *plural, const json_t *object)
{
    const json_t *labels = json_object_get(json_object_get(object, "metadata"), "labels");
    const char *id = sw_json_str(labels, K8S_LABEL_ID), *name = text_of(object, "name");

    if (!name || !id)
        return NULL;
    if (strcmp(plural, K8S_PODS) == 0)
        return sw_format("%s/%d", id, k8s_label_number(object, K8S_LABEL_ATTEMPT, 1));
    return is_child(object) ? NULL : sw_format("%s/%s", plural, name);
}

void k8s_list_add(json_t *list, const char *plural, json_t *object)
{
    sw_autofree char *key = key_of(plural, object);
    json_t *pods = json_object_get(list, "pods"), *own;

    if (!key)
        return;
    if (strcmp(plural, K8S_PODS) != 0) {
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

/* Is the attempt `wanted` part of an object that was submitted as `first`? It is when the cluster began it again so
 * often. */
static bool reaches(const struct k8s_seen *known, int first, int wanted)
{
    struct k8s_workload workload = { 0 };

    known->engine->read(known->object, &workload);
    return first + workload.restarts >= wanted;
}

void k8s_find(const json_t *list, const struct sw_jobref *job, struct k8s_seen *known)
{
    const json_t *objects = json_object_get(list, "objects");
    char name[K8S_NAME_SIZE];

    *known = (struct k8s_seen){ 0 };
    for (int attempt = job->attempt > 1 ? job->attempt : 1; attempt >= 1; attempt--) {
        k8s_name(name, job->id, attempt);
        for (const struct k8s_engine *engine = k8s_engines; engine->name; engine++) {
            sw_autofree char *key = sw_format("%s/%s", engine->plural, name);
            sw_autofree char *pods = sw_format("%s/%d", job->id, attempt);

            known->object = k8s_may_be(job, engine) ? json_object_get(objects, key) : NULL;
            known->engine = engine;
            known->pods = json_object_get(json_object_get(list, "pods"), pods);
            if (known->object && reaches(known, attempt, job->attempt))
                return;
        }
    }
    *known = (struct k8s_seen){ 0 };
}
