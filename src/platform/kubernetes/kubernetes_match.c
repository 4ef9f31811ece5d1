/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_match.c - may this node take this pod? As the scheduler decides it: node selector, the required
 * terms of the node affinity, taints and tolerations. What is not understood here counts as fitting, so that
 * no job is refused by mistake.
 *
 * Pure.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

const json_t *k8s_at(const json_t *object, const char *path)
{
    for (; object && *path; path += *path == '/') {
        size_t length = strcspn(path, "/");

        object = json_object_getn(object, path, length);
        path += length;
    }
    return object;
}

/* ---- labels ------------------------------------------------------------------------------------- */

static bool is_among(const char *value, const json_t *values)
{
    size_t i;
    const json_t *each;

    json_array_foreach(values, i, each)
        if (sw_text_same(json_string_value(each), value))
            return true;
    return false;
}

static bool is_compared(const char *value, const json_t *values, int sign)
{
    const char *limit = json_string_value(json_array_get(values, 0));
    char *end = NULL, *limit_end = NULL;
    long long left = value ? strtoll(value, &end, 10) : 0, right = limit ? strtoll(limit, &limit_end, 10) : 0;

    if (!value || !limit || end == value || *end || limit_end == limit || *limit_end)
        return false;
    return sign > 0 ? left > right : left < right;
}

/* One of matchExpressions, or of matchFields; `value` NULL: the node has no such label. */
static bool holds(const json_t *expression, const char *value)
{
    const char *op = sw_json_str(expression, "operator");
    const json_t *values = json_object_get(expression, "values");

    if (sw_text_same(op, "In"))
        return value && is_among(value, values);
    if (sw_text_same(op, "NotIn"))
        return !value || !is_among(value, values);
    if (sw_text_same(op, "Exists") || sw_text_same(op, "DoesNotExist"))
        return (value != NULL) == (*op == 'E');
    if (sw_text_same(op, "Gt") || sw_text_same(op, "Lt"))
        return is_compared(value, values, *op == 'G' ? 1 : -1);
    return true;
}

static bool all_hold(const json_t *expressions, const json_t *from)
{
    size_t i;
    const json_t *each;

    json_array_foreach(expressions, i, each) {
        const char *key = sw_json_str(each, "key");

        if (sw_text_same(key, "metadata.name"))
            key = "name";
        if (key && !holds(each, sw_json_str(from, key)))
            return false;
    }
    return true;
}

/* One of the terms is enough; a term without conditions matches nothing. */
static bool is_near(const json_t *affinity, const json_t *metadata)
{
    const json_t *terms = k8s_at(affinity, "nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/"
                                           "nodeSelectorTerms"), *term;
    size_t i;

    json_array_foreach(terms, i, term) {
        const json_t *labels = json_object_get(term, "matchExpressions");
        const json_t *fields = json_object_get(term, "matchFields");

        if (json_array_size(labels) + json_array_size(fields) && all_hold(fields, metadata) &&
            all_hold(labels, json_object_get(metadata, "labels")))
            return true;
    }
    return json_array_size(terms) == 0;
}

static bool is_selected(const json_t *selector, const json_t *labels)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)selector, key, value)
        if (!sw_text_same(json_string_value(value), sw_json_str(labels, key)))
            return false;
    return true;
}

/* ---- taints ------------------------------------------------------------------------------------- */

static bool tolerates(const json_t *toleration, const json_t *taint)
{
    const char *key = sw_json_str(toleration, "key"), *op = sw_json_str(toleration, "operator");
    const char *effect = sw_json_str(toleration, "effect"), *value = sw_json_str(toleration, "value");
    const char *tainted = sw_json_str(taint, "value");
    bool any_value = !sw_text_empty(op) && strcmp(op, "Equal") != 0;

    if (!sw_text_empty(effect) && !sw_text_same(effect, sw_json_str(taint, "effect")))
        return false;
    if (sw_text_empty(key) ? !sw_text_same(op, "Exists") : !sw_text_same(key, sw_json_str(taint, "key")))
        return false;
    return any_value || sw_text_same(value ? value : "", tainted ? tainted : "");
}

/* Set and taken away as the node's condition changes. */
static bool passes_by(const char *key)
{
    return key && (sw_text_starts(key, "node.kubernetes.io/") ||
                   sw_text_starts(key, "node.cloudprovider.kubernetes.io/") ||
                   strcmp(key, "ToBeDeletedByClusterAutoscaler") == 0);
}

/* Many clusters let pods that ask for a device tolerate the taint of its name. */
static enum k8s_match taints_of(const json_t *spec, const json_t *taints, const char *gpu)
{
    enum k8s_match worst = K8S_MATCHES;
    const json_t *taint, *toleration;
    size_t i, at;

    json_array_foreach(taints, i, taint) {
        const char *key = sw_json_str(taint, "key"), *effect = sw_json_str(taint, "effect");
        bool tolerated = sw_text_same(effect, "PreferNoSchedule") || (gpu && sw_text_same(key, gpu));

        json_array_foreach(json_object_get(spec, "tolerations"), at, toleration)
            tolerated |= tolerates(toleration, taint);
        if (!tolerated && !passes_by(key))
            return K8S_TAINTED;
        if (!tolerated)
            worst = K8S_NOT_READY;
    }
    return worst;
}

enum k8s_match k8s_match(const json_t *spec, const json_t *node, const char *gpu)
{
    const json_t *metadata = json_object_get(node, "metadata");
    enum k8s_match taints;

    if (!is_selected(json_object_get(spec, "nodeSelector"), json_object_get(metadata, "labels")) ||
        !is_near(json_object_get(spec, "affinity"), metadata))
        return K8S_UNSELECTED;
    taints = taints_of(spec, k8s_at(node, "spec/taints"), gpu);
    if (taints != K8S_MATCHES)
        return taints;
    return k8s_is_true(k8s_condition(node, "Ready")) &&
    !json_is_true(k8s_at(node, "spec/unschedulable")) ? K8S_MATCHES : K8S_NOT_READY;
}
