/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_list.c - our objects and pods, listed for many jobs at once.
 *
 * One list for each kind, whatever the number of jobs, in pages. Where the watch has a kind, its cache
 * answers instead and nothing is asked.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include "base/text.h"

/* ---- lists ---------------------------------------------------------------------------------------- */

struct taking {
    json_t *list;
    const char *kind;
};

static int take(void *context, json_t *object)
{
    const struct taking *taking = context;
    sw_auto(json) json_t *kept = k8s_trim(object);

    k8s_list_add(taking->list, taking->kind, kept);
    return 0;
}

const struct sw_rest_pages k8s_pages = { "items", "metadata.continue", "continue", NULL };

int k8s_list_pages(struct sw_connection *conn, const struct k8s_listing *what,
                   int (*each)(void *context, json_t *object), void *context, struct sw_error *err)
{
    static const struct sw_rest_pair partial[] = {
        { "Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" }, { 0 } };
    const struct sw_rest_pair query[] = { { "labelSelector", what->labels },
                                          { "fieldSelector", what->fields },
                                          { "limit", what->limit ? what->limit : K8S_PAGE }, { 0 } };
    sw_auto(sw_rest_seen) struct sw_rest_seen seen = { 0 };
    const struct sw_rest_call call = { .path = what->path, .query = query, .repeatable = true,
                                       .seen = &seen, .headers = what->names_only ? partial : NULL };

    if (sw_rest_list(conn->rest, &call, &k8s_pages, each, context, err) == 0)
        return 0;
    return seen.status == 403 ? 1 : -1;
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

/* Every job says which engine it has, once its submit is through; before that it may have any. */
static bool is_used(const struct sw_observation *jobs, size_t count, const struct k8s_engine *engine)
{
    for (size_t i = 0; i < count; i++)
        if (k8s_may_be(&jobs[i].job, engine))
            return true;
    return false;
}

/* An engine that was taken out of the cluster has no objects. */
static int list_engine(struct sw_connection *conn, const struct k8s_engine *engine, const char *selector,
                       bool cached, json_t *list, struct sw_error *err)
{
    sw_autofree char *path = k8s_engine_path(conn, engine, NULL);
    struct taking taking = { list, engine->name };
    struct sw_error why = { 0 };
    int there;

    if (cached && k8s_watch_copy(conn, engine->name, list))
        return 0;
    there = k8s_has_engine(conn, engine, err);
    if (there <= 0)
        return there;
    if (k8s_list_pages(conn, &(struct k8s_listing){ .path = path, .labels = selector }, take, &taking,
                       &why) &&
        why.code != SW_E_NOT_FOUND)
        return sw_pass(err, &why);
    return 0;
}

static json_t *list_of(struct sw_connection *conn, const struct sw_observation *jobs, size_t count,
                       bool cached, struct sw_error *err)
{
    sw_autofree char *selector = selector_for(jobs, count), *pods = k8s_path(conn, "v1", K8S_PODS, NULL);
    sw_auto(json) json_t *list = k8s_list_new();

    for (const struct k8s_engine *engine = k8s_engines; engine->name; engine++)
        if (is_used(jobs, count, engine) && list_engine(conn, engine, selector, cached, list, err) < 0)
            return NULL;
    if (!(cached && k8s_watch_copy(conn, K8S_PODS, list)) &&
        k8s_list_pages(conn, &(struct k8s_listing){ .path = pods, .labels = selector }, take,
                       &(struct taking){ list, K8S_PODS }, err))
        return NULL;
    return sw_take(list);
}

json_t *k8s_list(struct sw_connection *conn, const struct sw_observation *jobs, size_t count,
                 struct sw_error *err)
{
    return count ? list_of(conn, jobs, count, true, err) : k8s_list_new();
}

/* One object by its name; that there is none is no failure. */
static int get_named(struct sw_connection *conn, const struct k8s_engine *engine, const char *name,
                     json_t *list, struct sw_error *err)
{
    sw_autofree char *path = k8s_engine_path(conn, engine, name);
    sw_auto(json) json_t *object = NULL, *kept = NULL;
    struct sw_error why = { 0 };
    int there = k8s_has_engine(conn, engine, err);

    if (there <= 0)
        return there;
    if (k8s_call(conn, NULL, path, NULL, &object, &why) < 0)
        return why.code == SW_E_NOT_FOUND ? 0 : sw_pass(err, &why);
    kept = k8s_trim(object);
    k8s_list_add(list, engine->name, kept);
    return 0;
}

/* Lists and the cache of the watch may be wrong for a moment; the object itself is asked for by its name, in
 * each attempt that it may have begun with. */
int k8s_get(struct sw_connection *conn, const struct sw_jobref *job, json_t **list, struct sw_error *err)
{
    const struct sw_observation one = { .job = *job };
    sw_auto(json) json_t *found = list_of(conn, &one, 1, false, err);
    struct k8s_seen known = { 0 };
    char name[K8S_NAME_SIZE];

    if (!found)
        return -1;
    k8s_find(found, job, &known);
    for (int attempt = job->attempt > 1 ? job->attempt : 1; attempt >= 1 && !known.object; attempt--) {
        k8s_name(name, job->id, attempt);
        for (const struct k8s_engine *engine = k8s_engines; engine->name; engine++)
            if (k8s_may_be(job, engine) && get_named(conn, engine, name, found, err) < 0)
                return -1;
        k8s_find(found, job, &known);
    }
    *list = sw_take(found);
    return 0;
}
