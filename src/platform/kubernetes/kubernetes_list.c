/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_list.c - our objects and pods, listed for many jobs at once.
 *
 * One list for each kind, whatever the number of jobs, in pages. What arrives is trimmed at once: of a pod's 10 kB
 * some 1 kB are read here, and a thousand of them shall take little memory. Where the watch has a kind, its cache
 * answers instead and nothing is asked.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { LONG_NOTE = 256 };

/* ---- trimmed objects, pure ----------------------------------------------------------------------- */

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
    return strcmp(plural, K8S_PODS) == 0 ? sw_format("%s/%d", id, k8s_label_number(object, K8S_LABEL_ATTEMPT, 1))
           : is_child(object)            ? NULL
                                         : sw_format("%s/%s", plural, name);
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

struct taking {
    json_t *list;
    const char *plural;
};

static int take(void *context, json_t *object)
{
    const struct taking *taking = context;

    k8s_trim(object);
    k8s_list_add(taking->list, taking->plural, object);
    return 0;
}

const struct sw_rest_pages k8s_pages = { .items = "items", .next = "metadata.continue", .parameter = "continue" };

int k8s_list_pages(struct sw_connection *conn, const char *api, const char *plural, const char *selector,
                   int (*each)(void *context, json_t *object), void *context, struct sw_error *err)
{
    const struct sw_rest_pair query[] = { { "labelSelector", selector }, { "limit", K8S_PAGE }, { 0 } };
    sw_autofree char *path = k8s_path(conn, api, plural, NULL);

    return sw_rest_list(conn->rest, &(struct sw_rest_call){ .path = path, .query = query, .repeatable = true },
                        &k8s_pages, each, context, err);
}

/* One job: its id. Many of one store: the store's. Else all that carry an id. Owned. */
static char *selector_for(const struct sw_observation *jobs, size_t count)
{
    const char *store = sw_json_str(jobs[0].job.details, "store");

    if (count == 1)
        return sw_format(K8S_LABEL_ID "=%s", jobs[0].job.id);
    for (size_t i = 0; store && i < count; i++)
        if (!sw_text_same(sw_json_str(jobs[i].job.details, "store"), store))
            store = NULL;
    return store ? sw_format(K8S_LABEL_STORE "=%s", store) : sw_strdup(K8S_LABEL_ID);
}

/* ---- which kinds --------------------------------------------------------------------------------- */

static bool may_be(const struct sw_jobref *job, const struct k8s_engine *engine)
{
    const char *name = sw_json_str(job->details, "engine");

    return !name || sw_text_same(name, engine->name);
}

/* Every job says which engine it has, once its submit is through; before that it may have any. */
static bool is_used(const struct sw_observation *jobs, size_t count, const struct k8s_engine *engine)
{
    for (size_t i = 0; i < count; i++)
        if (may_be(&jobs[i].job, engine))
            return true;
    return false;
}

/* An engine that was taken out of the cluster has no objects. */
static int list_engine(struct sw_connection *conn, const struct k8s_engine *engine, const char *selector,
                       bool cached, json_t *list, struct sw_error *err)
{
    sw_autofree char *api = k8s_engine_api(engine);
    struct sw_error why = { 0 };

    if (cached && k8s_watch_copy(conn, engine->plural, list))
        return 0;
    if (!sw_text_same(engine->group, "batch") && !k8s_group(conn, engine->group, &why))
        return why.code == SW_OK ? 0 : sw_pass(err, &why);
    if (k8s_list_pages(conn, api, engine->plural, selector, take, &(struct taking){ list, engine->plural }, &why) < 0 &&
        why.code != SW_E_NOT_FOUND)
        return sw_pass(err, &why);
    return 0;
}

static json_t *list_of(struct sw_connection *conn, const struct sw_observation *jobs, size_t count, bool cached,
                       struct sw_error *err)
{
    sw_autofree char *selector = selector_for(jobs, count);
    sw_auto(json) json_t *list = k8s_list_new();

    for (const struct k8s_engine *engine = k8s_engines; engine->name; engine++)
        if (is_used(jobs, count, engine) && list_engine(conn, engine, selector, cached, list, err) < 0)
            return NULL;
    if (!(cached && k8s_watch_copy(conn, K8S_PODS, list)) &&
        k8s_list_pages(conn, "v1", K8S_PODS, selector, take, &(struct taking){ list, K8S_PODS }, err) < 0)
        return NULL;
    return sw_take(list);
}

json_t *k8s_list(struct sw_connection *conn, const struct sw_observation *jobs, size_t count, struct sw_error *err)
{
    return count ? list_of(conn, jobs, count, true, err) : k8s_list_new();
}

/* ---- one job ------------------------------------------------------------------------------------- */

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

            known->object = may_be(job, engine) ? json_object_get(objects, key) : NULL;
            known->engine = engine;
            known->pods = json_object_get(json_object_get(list, "pods"), pods);
            if (known->object)
                return;
        }
    }
    known->engine = NULL;
}

/* The cache of the watch is not asked. */
int k8s_get(struct sw_connection *conn, const struct sw_jobref *job, json_t **list, struct sw_error *err)
{
    const struct sw_observation one = { .job = *job };

    *list = list_of(conn, &one, 1, false, err);
    return *list ? 0 : -1;
}
