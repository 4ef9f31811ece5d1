/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_ray_cluster.c - Ray clusters that are there: which RayCluster a name means.
 *
 * `ray_cluster.name` is what `slipway ray up NAME` was given, or the name of a RayCluster that others made.
 * KubeRay gives the cluster of a RayJob a name of its own choice and our labels, so the label is asked first.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <string.h>

#include "base/text.h"

#define RAY_API "ray.io/v1"

struct search {
    const char *but;                 /* a job id whose objects do not count; NULL */
    char *name, *job;                /* of the first that was found; owned */
};

static void search_auto(struct search *search)
{
    free(search->name);
    free(search->job);
}

/* A RayJob that is over has no cluster any more. */
static bool is_there(const json_t *object)
{
    struct k8s_workload workload = { 0 };

    if (k8s_meta(object, "deletionTimestamp"))
        return false;
    if (!sw_text_same(sw_json_str(object, "kind"), "RayJob") && !k8s_at(object, "status/jobDeploymentStatus"))
        return true;
    k8s_read_rayjob(object, &workload);
    return !k8s_is_over(&workload);
}

static int take(void *context, json_t *object)
{
    struct search *search = context;
    const char *id = k8s_label(object, K8S_LABEL_ID), *name = k8s_meta(object, "name");

    if (search->name || !name || (search->but && sw_text_same(id, search->but)) || !is_there(object))
        return 0;
    search->name = sw_strdup(name);
    search->job = sw_strdup(id ? id : "");
    return 0;
}

static int find(struct sw_connection *conn, const char *plural, const char *name, struct search *search,
                struct sw_error *err)
{
    sw_autofree char *path = k8s_path(conn, RAY_API, plural, NULL);
    sw_autofree char *labels = sw_format(K8S_LABEL_RAY "=%s", name);

    const struct k8s_listing what = { .path = path, .labels = labels };

    return k8s_list_pages(conn, &what, take, search, err) < 0 ? -1 : 0;
}

char *k8s_ray_find(struct sw_connection *conn, const char *name, struct sw_error *err)
{
    __attribute__((cleanup(search_auto))) struct search search = { 0 };
    sw_autofree char *path = k8s_path(conn, RAY_API, "rayclusters", name);
    sw_auto(json) json_t *found = NULL;
    struct sw_error why = { 0 };

    if (find(conn, "rayclusters", name, &search, err) < 0)
        return NULL;
    if (search.name)
        return sw_take(search.name);
    if (k8s_call(conn, NULL, path, NULL, &found, &why) == 0)
        return sw_strdup(name);
    if (why.code != SW_E_NOT_FOUND)
        return sw_null(sw_pass(err, &why));
    sw_fail(err, SW_E_NOT_FOUND, "there is no Ray cluster '%s' in namespace '%s'", name, conn->namespace);
    return sw_null(sw_hint(err, "start it with 'slipway ray up %s', or leave 'ray_cluster.name' out", name));
}

int k8s_ray_free(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    __attribute__((cleanup(search_auto))) struct search search = { .but = plan->job_id };

    if (find(conn, "rayjobs", plan->name, &search, err) < 0)
        return -1;
    if (!search.name)
        return 0;
    sw_fail(err, SW_E_CONFLICT, "the Ray cluster '%s' is there already (%s)", plan->name, search.job);
    return sw_hint(err, "use it with 'ray_cluster.name: %s', or choose another name", plan->name);
}
