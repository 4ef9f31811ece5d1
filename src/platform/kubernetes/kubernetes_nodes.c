/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_nodes.c - the lists of nodes and of what pods hold on them, asked for.
 *
 * Only what is counted is kept: of a node the labels that this job asks about, of all pods of a node the sum
 * of their requests. So the memory that it takes does not depend on the number of pods.
 *
 * A submit asks for the nodes twice, before it and within it, and many submits ask again and again: the list
 * is kept for a few seconds.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

enum { RECENT_MS = 5000 };

struct reading {
    json_t *into;
    const char *asked;           /* the job's options as text; NULL: no job */
};

static bool is_one_of(const char *const *names, const char *label)
{
    for (; *names; names++)
        if (strcmp(*names, label) == 0)
            return true;
    return false;
}

/* The labels that say the GPU's model and architecture, the processor and the node's name, and those that the
 * job asks about. */
static bool is_kept(const struct reading *reading, const char *label)
{
    sw_autofree char *quoted = sw_format("\"%s\"", label);

    return is_one_of(k8s_model_labels, label) || is_one_of(k8s_compute_labels, label) ||
           strcmp(label, "kubernetes.io/arch") == 0 || strcmp(label, "kubernetes.io/hostname") == 0 ||
           (reading->asked && strstr(reading->asked, quoted));
}

/* What is kept is not copied. */
static int take_node(void *context, json_t *node)
{
    struct reading *reading = context;
    json_t *labels = json_object(), *value;
    const char *name;

    json_object_foreach((json_t *)k8s_at(node, "metadata/labels"), name, value)
        if (is_kept(reading, name))
            json_object_set(labels, name, value);
    json_array_append_new(reading->into, json_pack(
        "{s:{s:O*,s:o}, s:{s:O*,s:O*}, s:{s:O*,s:O*,s:[{s:s,s:O*}]}}",
        "metadata", "name", k8s_at(node, "metadata/name"), "labels", labels,
        "spec", "taints", k8s_at(node, "spec/taints"), "unschedulable", k8s_at(node, "spec/unschedulable"),
        "status", "allocatable", k8s_at(node, "status/allocatable"),
        "capacity", k8s_at(node, "status/capacity"), "conditions",
        "type", "Ready", "status", json_object_get(k8s_condition(node, "Ready"), "status")));
    return 0;
}

static int take_pod(void *context, json_t *pod)
{
    k8s_capacity_use(context, pod);
    return 0;
}

int k8s_capacity_lists(struct sw_connection *conn, const struct sw_plan *plan, json_t **nodes, json_t **used,
                       struct sw_error *err)
{
    static const struct k8s_listing all_nodes = { .path = "/api/v1/nodes", .limit = "250" };
    static const struct k8s_listing held = {
        .path = "/api/v1/pods", .limit = "250",
        .fields = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!=" };
    sw_autofree char *asked = plan && plan->options ? sw_json_dump(plan->options) : NULL;
    sw_auto(json) json_t *list = json_array(), *sums = json_object();
    struct sw_error why = { 0 };
    int forbidden = k8s_list_pages(conn, &all_nodes, take_node, &(struct reading){ list, asked }, &why);

    *nodes = NULL;
    if (used)
        *used = NULL;
    if (forbidden)
        return forbidden < 0 ? sw_pass(err, &why) : 0;
    *nodes = sw_take(list);
    forbidden = used ? k8s_list_pages(conn, &held, take_pod, sums, &why) : 1;
    if (forbidden == 0)
        *used = sw_take(sums);
    return forbidden < 0 ? sw_pass(err, &why) : 0;
}

/* Labels of GPU models that `gpus: TYPE:COUNT` means, as the nodes have them. */
static json_t *products_like(const json_t *nodes, const char *type)
{
    sw_auto(json) json_t *found = json_object();
    json_t *names = json_array(), *value;
    const json_t *node;
    const char *name;
    size_t i;

    json_array_foreach(nodes, i, node) {
        const char *product = sw_json_str(k8s_at(node, "metadata/labels"), k8s_model_labels[0]);

        if (product && k8s_gpu_is(type, product))
            json_object_set_new(found, product, json_true());
    }
    json_object_foreach(found, name, value)
        json_array_append_new(names, sw_json_text(name));
    return names;
}

/* ---- kept for a moment --------------------------------------------------------------------------- */

void k8s_recent_forget(struct sw_connection *conn)
{
    struct k8s_recent_nodes old;

    pthread_mutex_lock(&conn->lock);
    old = conn->recent;
    conn->recent = (struct k8s_recent_nodes){ 0 };
    pthread_mutex_unlock(&conn->lock);
    json_decref(old.nodes);
    free(old.asked);
}

static bool recall(struct sw_connection *conn, const char *asked, json_t **nodes)
{
    const struct k8s_recent_nodes *recent = &conn->recent;
    bool known;

    pthread_mutex_lock(&conn->lock);
    known = sw_monotonic_ms() < recent->until_ms && sw_text_same(recent->asked, asked);
    *nodes = known ? json_incref(recent->nodes) : NULL;
    pthread_mutex_unlock(&conn->lock);
    return known;
}

static int recent_nodes(struct sw_connection *conn, const struct sw_plan *plan, json_t **nodes,
                        struct sw_error *err)
{
    sw_autofree char *asked = plan->options ? sw_json_dump(plan->options) : sw_strdup("");

    if (recall(conn, asked, nodes))
        return 0;
    if (k8s_capacity_lists(conn, plan, nodes, NULL, err) < 0)
        return -1;
    k8s_recent_forget(conn);
    pthread_mutex_lock(&conn->lock);
    if (!conn->recent.until_ms)          /* another thread may have been faster */
        conn->recent = (struct k8s_recent_nodes){ json_incref(*nodes), sw_take(asked),
                                                  sw_monotonic_ms() + RECENT_MS };
    pthread_mutex_unlock(&conn->lock);
    return 0;
}

int k8s_capacity_of(struct sw_connection *conn, const struct sw_plan *plan, bool with_pods, json_t **products,
                    struct k8s_capacity *out, struct sw_error *err)
{
    sw_auto(json) json_t *nodes = NULL, *used = NULL, *like = NULL, *pod = NULL;
    struct k8s_site site = { .attempt = 1, .namespace = conn->namespace };

    if ((with_pods ? k8s_capacity_lists(conn, plan, &nodes, &used, err)
                   : recent_nodes(conn, plan, &nodes, err)) < 0)
        return -1;
    if (!nodes)
        return 1;
    like = plan->gpu_type ? products_like(nodes, plan->gpu_type) : NULL;
    site.gpu_products = json_array_size(like) ? like : NULL;
    pod = k8s_render_pod(plan, &site, k8s_engine_named("job"), err);
    if (!pod)
        return -1;
    k8s_capacity_count(plan, pod, nodes, used, out);
    if (products)
        *products = site.gpu_products ? sw_take(like) : NULL;
    return 0;
}
