/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_capacity.c - does it fit? Counted from the list of nodes and what pods on them hold.
 *
 * Only what can never fit is refused: nodes that are away for the moment (not ready, cordoned, their device
 * plugin silent) count as if they were back and empty.
 *
 * Pure; kubernetes_nodes.c asks for the lists.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "base/units.h"

#define PODS "pods"              /* as many pods as a node may have; each is one */

/* ---- what a pod asks for ------------------------------------------------------------------------ */

static void put(json_t *sums, const char *resource, int64_t amount)
{
    json_object_set_new(sums, resource, json_integer(amount));
}

static void add(json_t *sums, const char *resource, int64_t amount)
{
    int64_t before = sw_json_int(sums, resource, 0);

    put(sums, resource, amount > INT64_MAX - before ? INT64_MAX : before + amount);
}

static int64_t quantity_of(const json_t *value)
{
    int64_t amount = json_is_integer(value) && json_integer_value(value) < INT64_MAX / 1000
                         ? json_integer_value(value) * 1000 : k8s_quantity(json_string_value(value));

    return amount < 0 ? 0 : amount;
}

/* A limit without a request is the request, too. */
static void add_requests(json_t *sums, const json_t *resources)
{
    const json_t *requests = json_object_get(resources, "requests");
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)requests, name, value)
        add(sums, name, quantity_of(value));
    json_object_foreach(json_object_get(resources, "limits"), name, value)
        if (!json_object_get(requests, name))
            add(sums, name, quantity_of(value));
}

/* Init containers run one at a time, before the others; those that stay (sidecars) count with the others. */
static void add_init(json_t *sums, const json_t *containers)
{
    const json_t *each;
    size_t i;

    json_array_foreach(containers, i, each) {
        bool stays = sw_text_same(sw_json_str(each, "restartPolicy"), "Always");
        sw_auto(json) json_t *alone = json_object();
        const char *name;
        json_t *value;

        add_requests(stays ? sums : alone, json_object_get(each, "resources"));
        json_object_foreach(alone, name, value)
            if (json_integer_value(value) > sw_json_int(sums, name, 0))
                put(sums, name, json_integer_value(value));
    }
}

/* What a pod with this spec asks for, and one of "pods": resource -> thousandths. Owned. */
static json_t *requests_of(const json_t *spec)
{
    json_t *sums = json_object(), *value;
    const json_t *each;
    const char *name;
    size_t i;

    json_array_foreach(json_object_get(spec, "containers"), i, each)
        add_requests(sums, json_object_get(each, "resources"));
    add_init(sums, json_object_get(spec, "initContainers"));
    json_object_foreach(json_object_get(spec, "overhead"), name, value)
        add(sums, name, quantity_of(value));
    put(sums, PODS, 1000);
    return sums;
}

void k8s_capacity_use(json_t *used, const json_t *pod)
{
    const char *node = k8s_pod_node(pod), *phase = k8s_pod_phase(pod);
    sw_auto(json) json_t *requests = NULL;
    json_t *sums, *value;
    const char *name;

    if (sw_text_empty(node) || sw_text_same(phase, "Succeeded") || sw_text_same(phase, "Failed"))
        return;
    if (!json_object_get(used, node))
        json_object_set_new(used, node, json_object());
    sums = json_object_get(used, node);
    requests = requests_of(json_object_get(pod, "spec"));
    json_object_foreach(requests, name, value)
        add(sums, name, json_integer_value(value));
}

/* ---- how many fit ------------------------------------------------------------------------------- */

/* While a device plugin is silent, its devices are in `capacity` alone. */
static int64_t offered(const json_t *node, const char *resource, bool later)
{
    int64_t now = quantity_of(json_object_get(k8s_at(node, "status/allocatable"), resource));
    int64_t all = later && strchr(resource, '/')
                      ? quantity_of(json_object_get(k8s_at(node, "status/capacity"), resource)) : 0;

    return all > now ? all : now;
}

/* Pods of this size that a node has room for. `used` NULL: an empty node. */
static int room(const json_t *needs, const json_t *node, const json_t *used, bool later, int most)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)needs, name, value) {
        int64_t need = json_integer_value(value);
        int64_t left = offered(node, name, later) - sw_json_int(used, name, 0);

        if (need > 0 && left / need < most && !(strcmp(name, PODS) == 0 && offered(node, name, false) == 0))
            most = left < need ? 0 : (int)(left / need);
    }
    return most;
}

const char *const k8s_model_labels[] = { "nvidia.com/gpu.product", "amd.com/gpu.product-name",
                                         "cloud.google.com/gke-accelerator", NULL };

const char *k8s_gpu_model(const json_t *node)
{
    const char *model = NULL;

    for (size_t i = 0; !model && k8s_model_labels[i]; i++)
        model = sw_json_str(k8s_at(node, "metadata/labels"), k8s_model_labels[i]);
    return model;
}

/* "H100 80GB" is in "NVIDIA-H100-80GB-HBM3". */
bool k8s_gpu_is(const char *type, const char *model)
{
    sw_autofree char *wanted = sw_strdup(type ? type : ""), *there = sw_strdup(model ? model : "");

    for (char *at = wanted; *at; at++)
        *at = *at == ' ' || *at == '_' ? '-' : *at;
    for (char *at = there; *at; at++)
        *at = *at == ' ' || *at == '_' ? '-' : *at;
    return strcasestr(there, wanted) != NULL;
}

/* Names of other devices that may be meant. */
static void note_others(const json_t *node, const char *gpu, struct k8s_capacity *out)
{
    static const char *const devices[] = { "nvidia.com/", "amd.com/", "gpu.intel.com/", "habana.ai/" };
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)k8s_at(node, "status/allocatable"), name, value)
        for (size_t i = 0; i < SW_COUNT(devices); i++) {
            size_t used = strlen(out->others);

            if (sw_text_starts(name, devices[i]) && !sw_text_same(name, gpu) && quantity_of(value) > 0 &&
                !strstr(out->others, name) && used + strlen(name) + 3 < sizeof out->others)
                snprintf(out->others + used, sizeof out->others - used, "%s%s", used ? ", " : "", name);
        }
}

static void note_arch(const json_t *node, struct k8s_capacity *out, bool first)
{
    const char *arch = sw_json_str(k8s_at(node, "metadata/labels"), "kubernetes.io/arch");

    if (first)
        snprintf(out->arch, sizeof out->arch, "%s", arch ? arch : "");
    else if (!sw_text_same(arch, out->arch))
        out->arch[0] = '\0';
}

const char *const k8s_compute_labels[] = { "nvidia.com/gpu.compute.major", "nvidia.com/gpu.compute.minor",
                                           NULL };

static void note_gpu_arch(const json_t *node, struct k8s_capacity *out)
{
    const json_t *labels = k8s_at(node, "metadata/labels");
    const char *major = sw_json_str(labels, k8s_compute_labels[0]);
    const char *minor = sw_json_str(labels, k8s_compute_labels[1]);
    sw_autofree char *arch = sw_format("%s.%s", major ? major : "", minor ? minor : "0");

    sw_gpu_archs_add(&out->gpu_archs, major ? arch : NULL);
}

struct count {                   /* all borrowed */
    const struct sw_plan *plan;
    const json_t *spec, *needs;
    const char *gpu;             /* NULL: none is asked for */
    const json_t *used;          /* NULL: not known */
    json_t *most;                /* of each resource, on the largest node that matches */
};

static void count_matching(const struct count *with, const json_t *node, bool ready, struct k8s_capacity *out)
{
    const json_t *used = json_object_get(with->used, json_string_value(k8s_at(node, "metadata/name")));
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)with->needs, name, value)
        if (offered(node, name, true) > sw_json_int(with->most, name, -1))
            put(with->most, name, offered(node, name, true));
    out->fit_later += room(with->needs, node, NULL, true, K8S_NODES_MAX);
    if (!ready)
        return;
    note_arch(node, out, out->matching++ == 0);
    out->fit += room(with->needs, node, NULL, false, K8S_NODES_MAX);
    out->fit_free += with->used ? room(with->needs, node, used, false, K8S_NODES_MAX) : 0;
    if (with->gpu) {
        int64_t gpus = offered(node, with->gpu, false);

        note_gpu_arch(node, out);
        out->allocatable += gpus / 1000;
        out->free += with->used ? (gpus - sw_json_int(used, with->gpu, 0)) / 1000 : 0;
    }
}

static void count_node(const struct count *with, const json_t *node, struct k8s_capacity *out)
{
    enum k8s_match match = k8s_match(with->spec, node, with->gpu);

    if (with->gpu && with->plan->gpu_type && match != K8S_UNSELECTED &&
        !k8s_gpu_is(with->plan->gpu_type, k8s_gpu_model(node)))
        match = K8S_UNSELECTED;
    out->nodes++;
    out->tainted += match == K8S_TAINTED;
    out->unselected += match == K8S_UNSELECTED;
    out->not_ready += match == K8S_NOT_READY;
    out->has_gpus |= with->gpu && offered(node, with->gpu, true) > 0;
    note_others(node, with->gpu, out);
    if (match == K8S_MATCHES || match == K8S_NOT_READY)
        count_matching(with, node, match == K8S_MATCHES, out);
}

static void amount_text(const char *resource, int64_t thousandths, char out[96])
{
    const char *name = strcmp(resource, "cpu") == 0 ? "CPUs" : resource;
    char size[32];

    if (strcmp(name, "memory") == 0 || strstr(name, "storage") || sw_text_starts(name, "hugepages-")) {
        sw_size_format(thousandths / 1000, size);
        snprintf(out, 96, "%s of %.50s", size, name);
    } else {
        snprintf(out, 96, "%g %.50s", (double)thousandths / 1000, name);
    }
}

static void note_needs(const struct count *with, struct k8s_capacity *out)
{
    const char *name;
    json_t *value;
    char text[96];

    json_object_foreach((json_t *)with->needs, name, value) {
        int64_t most = sw_json_int(with->most, name, 0);
        size_t used = strlen(out->needs), lacks = strlen(out->lacks);

        if (strcmp(name, PODS) == 0)
            continue;
        amount_text(name, json_integer_value(value), text);
        snprintf(out->needs + used, sizeof out->needs - used, "%s%s", used ? " + " : "", text);
        amount_text(name, most, text);
        if (most < json_integer_value(value))
            snprintf(out->lacks + lacks, sizeof out->lacks - lacks, "%s%s", lacks ? " and " : "", text);
    }
}

void k8s_capacity_count(const struct sw_plan *plan, const json_t *pod, const json_t *nodes,
                        const json_t *used, struct k8s_capacity *out)
{
    struct k8s_job_options options = k8s_job_options(plan->options);
    const json_t *spec = json_object_get(pod, "spec"), *node;
    sw_auto(json) json_t *needs = requests_of(spec), *most = json_object();
    struct count with = { plan, spec, needs, options.gpu_resource, used, most };
    size_t i;

    *out = (struct k8s_capacity){ .free = used ? 0 : -1, .fit_free = used ? 0 : -1 };
    if (json_array_size(options.resource_claims))        /* devices come from the claims */
        json_object_del(needs, with.gpu);
    if (!json_object_get(needs, with.gpu))
        with.gpu = NULL;
    json_array_foreach(nodes, i, node)
        count_node(&with, node, out);
    out->most = with.gpu ? sw_json_int(most, with.gpu, 0) / 1000 : 0;
    out->asks_gpus = with.gpu != NULL;
    note_needs(&with, out);
}

/* ---- the answer ---------------------------------------------------------------------------------- */

static int no_gpus(const struct sw_plan *plan, const struct k8s_capacity *capacity, struct sw_error *err)
{
    const char *gpu = k8s_job_options(plan->options).gpu_resource;

    sw_fail(err, SW_E_REFUSED, "the job needs %d x %s; none of the cluster's %d nodes has %s",
            plan->nodes, capacity->needs, capacity->nodes, gpu);
    if (capacity->others[0])
        return sw_hint(err, "the cluster has %s; set kubernetes.gpu_resource", capacity->others);
    return sw_hint(err, "install NVIDIA's GPU Operator, or the device plugin of these GPUs; where an "
                        "autoscaler adds GPU nodes, set kubernetes.autoscaler: true");
}

void k8s_capacity_words(const struct k8s_capacity *capacity, struct sw_buf *out)
{
    sw_buf_addf(out, "%d of %d nodes match", capacity->matching, capacity->nodes);
    if (capacity->unselected)
        sw_buf_addf(out, ", %d not selected", capacity->unselected);
    if (capacity->tainted)
        sw_buf_addf(out, ", %d tainted", capacity->tainted);
    if (capacity->not_ready)
        sw_buf_addf(out, ", %d not ready", capacity->not_ready);
}

int k8s_capacity_check(const struct sw_plan *plan, const struct k8s_capacity *capacity, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf words = SW_BUF_INIT;
    int candidates = capacity->matching + capacity->not_ready;

    if (capacity->fit_later >= plan->nodes || k8s_job_options(plan->options).autoscaler)
        return 0;
    if (capacity->asks_gpus && !capacity->has_gpus)
        return no_gpus(plan, capacity, err);
    k8s_capacity_words(capacity, &words);
    if (candidates && capacity->lacks[0])
        sw_fail(err, SW_E_REFUSED, "the job needs %d x %s; the largest matching node has %s (%s)",
                plan->nodes, capacity->needs, capacity->lacks, sw_buf_text(&words));
    else
        sw_fail(err, SW_E_REFUSED, "the job needs %d x %s; %d fit if all nodes were empty (%s)",
                plan->nodes, capacity->needs, capacity->fit_later, sw_buf_text(&words));
    return sw_hint(err, "ask for less, change node_selector, affinity or tolerations, or set "
                        "kubernetes.autoscaler: true where nodes are added on demand; "
                        "`slipway inventory kubernetes` shows the nodes");
}
