/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_inventory.c - what the cluster has: nodes, GPU models, queues, storage. What may not be listed
 * or is not installed is left out.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <string.h>

#include "base/text.h"

/* ---- nodes ---------------------------------------------------------------------------------------- */

static int64_t amount(const json_t *node, const char *resource)
{
    int64_t thousandths = k8s_quantity(sw_json_str(k8s_at(node, "status/allocatable"), resource));

    return thousandths > 0 ? thousandths / 1000 : 0;
}

/* The devices of a node: "nvidia.com/gpu", or the first other one; NULL: none. */
static const char *device_of(const json_t *node)
{
    static const char *const makers[] = { "nvidia.com/gpu", "nvidia.com/", "amd.com/", "gpu.intel.com/",
                                          "habana.ai/" };
    const char *name;
    json_t *value;

    for (size_t i = 0; i < SW_COUNT(makers); i++)
        json_object_foreach((json_t *)k8s_at(node, "status/allocatable"), name, value)
            if (sw_text_starts(name, makers[i]) && amount(node, name) > 0)
                return name;
    return NULL;
}

static json_t *taints_of(const json_t *node)
{
    const json_t *taints = k8s_at(node, "spec/taints"), *each;
    json_t *texts = json_array();
    size_t i;

    json_array_foreach(taints, i, each) {
        const char *key = sw_json_str(each, "key"), *value = sw_json_str(each, "value");
        const char *effect = sw_json_str(each, "effect");

        json_array_append_new(texts, json_sprintf("%s%s%s:%s", key ? key : "", value ? "=" : "",
                                                  value ? value : "", effect ? effect : ""));
    }
    return texts;
}

static json_t *node_row(const json_t *node, const json_t *used)
{
    const char *name = json_string_value(k8s_at(node, "metadata/name")), *device = device_of(node);
    const json_t *held = json_object_get(used, name);
    int64_t gpus = device ? amount(node, device) : 0;
    int64_t taken = device ? sw_json_int(held, device, 0) / 1000 : 0;
    enum k8s_match match = k8s_match(json_object_get(node, "none"), node, device);

    return sw_json_object(
        SW_STR("node", name),
        SW_STR("state", json_is_true(k8s_at(node, "spec/unschedulable")) ? "cordoned"
                        : match == K8S_NOT_READY ? "not ready" : "ready"),
        SW_STR_OPT("gpu_type", k8s_gpu_model(node)), SW_INT("gpus_total", gpus),
        SW_SUB("gpus_free", used ? json_integer(gpus > taken ? gpus - taken : 0) : NULL),
        SW_STR_OPT("gpu_resource", device && strcmp(device, "nvidia.com/gpu") != 0 ? device : NULL),
        SW_INT("cpus", amount(node, "cpu")), SW_INT("memory_bytes", amount(node, "memory")),
        SW_STR_OPT("arch", sw_json_str(k8s_at(node, "metadata/labels"), "kubernetes.io/arch")),
        SW_SUB("taints", taints_of(node)));
}

static void more(json_t *object, const char *key, int64_t added)
{
    json_object_set_new(object, key, json_integer(sw_json_int(object, key, 0) + added));
}

/* {"gpu_type","nodes","gpus_total","gpus_free"} for each model, in the order in which they were met. */
static json_t *models_of(const json_t *rows)
{
    sw_auto(json) json_t *models = json_object();
    json_t *list = json_array(), *model;
    const json_t *row;
    const char *name;
    size_t i;

    json_array_foreach(rows, i, row) {
        const char *type = sw_json_str(row, "gpu_type");

        if (sw_json_int(row, "gpus_total", 0) == 0)
            continue;
        type = type ? type : "unnamed";
        if (!json_object_get(models, type))
            json_object_set_new(models, type, sw_json_object(SW_STR("gpu_type", type)));
        model = json_object_get(models, type);
        more(model, "nodes", 1);
        more(model, "gpus_total", sw_json_int(row, "gpus_total", 0));
        if (json_object_get(row, "gpus_free"))
            more(model, "gpus_free", sw_json_int(row, "gpus_free", 0));
    }
    json_object_foreach(models, name, model)
        json_array_append(list, model);
    return list;
}

static int add_nodes(struct sw_connection *conn, json_t *out, struct sw_error *err)
{
    sw_auto(json) json_t *nodes = NULL, *used = NULL;
    json_t *rows;
    const json_t *node;
    size_t i;

    if (k8s_capacity_lists(conn, NULL, &nodes, &used, err) < 0)
        return -1;
    if (!nodes) {
        json_object_set_new(out, "note", sw_json_text("this user may not list nodes; `slipway preflight "
                                                      "-p kubernetes` prints the role for it"));
        return 0;
    }
    rows = json_array();
    json_array_foreach(nodes, i, node) {
        json_t *row = node_row(node, used);

        more(out, "gpus_total", sw_json_int(row, "gpus_total", 0));
        if (used)
            more(out, "gpus_free", sw_json_int(row, "gpus_free", 0));
        json_array_append_new(rows, row);
    }
    json_object_set_new(out, "gpu_models", models_of(rows));
    json_object_set_new(out, "nodes", rows);
    return 0;
}

/* ---- other lists ----------------------------------------------------------------------------------- */

static const char *name_of(const json_t *object)
{
    return json_string_value(k8s_at(object, "metadata/name"));
}

static int take_local_queue(void *rows, json_t *queue)
{
    return json_array_append_new(rows, sw_json_object(
        SW_STR("queue", name_of(queue)), SW_STR("kind", "Kueue"),
        SW_STR_OPT("of", json_string_value(k8s_at(queue, "spec/clusterQueue"))),
        SW_INT("pending", sw_json_int(k8s_at(queue, "status"), "pendingWorkloads", 0)),
        SW_INT("admitted", sw_json_int(k8s_at(queue, "status"), "admittedWorkloads", 0))));
}

static int take_volcano_queue(void *rows, json_t *queue)
{
    return json_array_append_new(rows, sw_json_object(
        SW_STR("queue", name_of(queue)), SW_STR("kind", "Volcano"),
        SW_INT("pending", sw_json_int(k8s_at(queue, "status"), "pending", 0)),
        SW_INT("admitted", sw_json_int(k8s_at(queue, "status"), "running", 0))));
}

static int take_class(void *rows, json_t *class)
{
    const json_t *notes = k8s_at(class, "metadata/annotations");
    const char *initial = sw_json_str(notes, "storageclass.kubernetes.io/is-default-class");

    return json_array_append_new(rows, sw_json_object(
        SW_STR("storage_class", name_of(class)), SW_STR_OPT("provisioner", sw_json_str(class, "provisioner")),
        SW_BOOL("default", sw_text_same(initial, "true"))));
}

static int take_claim(void *rows, json_t *claim)
{
    int64_t bytes = k8s_quantity(json_string_value(k8s_at(claim, "status/capacity/storage")));

    return json_array_append_new(rows, sw_json_object(
        SW_STR("claim", name_of(claim)),
        SW_STR_OPT("status", json_string_value(k8s_at(claim, "status/phase"))),
        SW_SUB("size_bytes", bytes > 0 ? json_integer(bytes / 1000) : NULL),
        SW_STR_OPT("storage_class", json_string_value(k8s_at(claim, "spec/storageClassName"))),
        SW_SUB_COPY("access", (json_t *)k8s_at(claim, "spec/accessModes"))));
}

/* `group` NULL: of Kubernetes itself. */
static void add_list(struct sw_connection *conn, json_t *out, const char *key, const char *group,
                     const char *api, const char *plural, bool cluster, int (*take)(void *rows, json_t *item))
{
    const char *version = group ? k8s_group(conn, group, NULL) : "";
    sw_autofree char *full = group ? sw_format("%s/%s", group, version ? version : "") : sw_strdup(api);
    sw_autofree char *path = kube_path(full, cluster ? NULL : conn->namespace, plural, NULL);
    sw_auto(json) json_t *rows = json_array();

    if (version && k8s_list_pages(conn, &(struct k8s_listing){ .path = path }, take, rows, NULL) == 0 &&
        json_array_size(rows)) {
        if (!json_object_get(out, key))
            json_object_set_new(out, key, json_array());
        json_array_extend(json_object_get(out, key), rows);
    }
}

json_t *kubernetes_inventory(struct sw_connection *conn, struct sw_error *err)
{
    const struct kube_address *at = kube_address(conn->kube);
    sw_auto(json) json_t *out = NULL;
    int major, minor;

    if (kube_version(conn->kube, &major, &minor, err) < 0)
        return NULL;
    out = sw_json_object(SW_STR("server", at->server), SW_STR_OPT("context", at->context),
                         SW_STR("namespace", at->namespace),
                         SW_SUB("version", json_sprintf("%d.%d", major, minor)));
    if (add_nodes(conn, out, err) < 0)
        return NULL;
    add_list(conn, out, "queues", "kueue.x-k8s.io", NULL, "localqueues", false, take_local_queue);
    add_list(conn, out, "queues", "scheduling.volcano.sh", NULL, "queues", true, take_volcano_queue);
    add_list(conn, out, "storage_classes", NULL, "storage.k8s.io/v1", "storageclasses", true, take_class);
    add_list(conn, out, "volume_claims", NULL, "v1", "persistentvolumeclaims", false, take_claim);
    return sw_take(out);
}
