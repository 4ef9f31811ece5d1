/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_preflight.c - can this job run on this cluster? The quick check before each submit counts GPUs;
 * the report looks at all that the job needs, one by one, and changes nothing.
 */
#include "platform/kubernetes/kubernetes_preflight.h"

#include <string.h>

#include "base/text.h"
#include "core/finding.h"
#include "core/runner_image.h"
#include "platform/kubernetes/kubernetes_submit.h"
#include "storage/image.h"

enum { MINOR_LEAST = 29 };           /* of version 1 */

void k8s_finding(json_t *rows, const char *check, enum k8s_finding what, const char *message,
                 const char *fix)
{
    if (what == K8S_NOT_SET_UP)
        sw_finding_open(rows, check, SW_STATE_NOT_SET_UP, message, fix);
    else
        sw_finding(rows, check, what == K8S_FINE, message, fix);
}

static void found_error(const struct k8s_checks *checks, const char *check, const struct sw_error *why)
{
    k8s_finding(checks->rows, check, K8S_WRONG, why->message, why->hint);
}

/* ---- the server ----------------------------------------------------------------------------------- */

static bool check_server(struct k8s_checks *checks)
{
    static const struct { int since; const char *lacks; } features[] = {
        { 30, "commands in a job get no end of input" }, { 31, "ports cannot be forwarded" },
        { 31, "rules about failed pods are a beta feature" },
    };
    const struct kube_address *at = kube_address(checks->conn->kube);
    sw_auto(sw_buf) struct sw_buf message = SW_BUF_INIT;
    struct sw_error why = { 0 };
    int major = 0;
    bool good;

    if (kube_version(checks->conn->kube, &major, &checks->minor, &why) < 0) {
        found_error(checks, "cluster", &why);
        return false;
    }
    good = major > 1 || checks->minor >= MINOR_LEAST;
    sw_buf_addf(&message, "version %d.%d at %s", major, checks->minor, at->server);
    for (size_t i = 0; good && i < SW_COUNT(features); i++)
        if (checks->minor < features[i].since)
            sw_buf_addf(&message, "; before 1.%d %s", features[i].since, features[i].lacks);
    k8s_finding(checks->rows, "cluster", good ? K8S_FINE : K8S_WRONG, sw_buf_text(&message),
                "Kubernetes 1.29 is the oldest that works");
    return true;
}

/* ---- things that must exist ------------------------------------------------------------------------ */

/* Its object, owned; NULL: not there, or not known. */
static json_t *look(const struct k8s_checks *checks, const char *check, const char *path, const char *fix)
{
    json_t *found = NULL;
    struct sw_error why = { 0 };

    if (k8s_call(checks->conn, NULL, path, NULL, &found, &why) == 0)
        return found;
    if (why.code == SW_E_REFUSED)
        k8s_finding(checks->rows, check, K8S_FINE, "unknown: this user may not read it", NULL);
    else
        k8s_finding(checks->rows, check, K8S_WRONG, why.code == SW_E_NOT_FOUND ? "is not there" : why.message,
                    fix);
    return NULL;
}

static void need(const struct k8s_checks *checks, const char *what, const char *name, const char *path,
                 const char *fix)
{
    sw_autofree char *check = sw_format("%s %s", what, name);
    sw_auto(json) json_t *found = look(checks, check, path, fix);

    if (found)
        k8s_finding(checks->rows, check, K8S_FINE, "is there", NULL);
}

static void check_namespace(const struct k8s_checks *checks)
{
    sw_autofree char *path = kube_path("v1", NULL, "namespaces", checks->conn->namespace), *message = NULL;
    sw_auto(json) json_t *found = look(checks, "namespace", path, "create it with kubectl create "
                                                                  "namespace");
    const char *level = sw_json_str(k8s_at(found, "metadata/labels"), "pod-security.kubernetes.io/enforce");
    bool refuses = sw_text_same(level, "restricted") && checks->options.security == K8S_SECURITY_IMAGE;

    if (!found)
        return;
    message = sw_format("%s, Pod Security level %s%s", checks->conn->namespace, level ? level : "privileged",
                        sw_text_same(level, "restricted") ? ": pods run without root and privileges" : "");
    k8s_finding(checks->rows, "namespace", refuses ? K8S_WRONG : K8S_FINE, message,
                "leave kubernetes.security out, or use another namespace");
}

/* A claim that waits for its first pod is as good as bound. */
static void check_claim(const struct k8s_checks *checks, const char *name)
{
    sw_autofree char *check = sw_format("volume claim %s", name);
    sw_autofree char *path = k8s_path(checks->conn, "v1", "persistentvolumeclaims", name);
    sw_auto(json) json_t *found = look(checks, check, path, "create it in this namespace, or use another");
    sw_auto(json) json_t *class = NULL;
    const char *phase = json_string_value(k8s_at(found, "status/phase"));
    const char *storage = json_string_value(k8s_at(found, "spec/storageClassName"));
    sw_autofree char *where = !storage ? NULL
                              : kube_path("storage.k8s.io/v1", NULL, "storageclasses", storage);
    bool bound = sw_text_same(phase, "Bound"), waits = false;

    if (!found)
        return;
    if (!bound && where && k8s_call(checks->conn, NULL, where, NULL, &class, NULL) == 0)
        waits = sw_text_same(sw_json_str(class, "volumeBindingMode"), "WaitForFirstConsumer");
    k8s_finding(checks->rows, check, bound || waits ? K8S_FINE : K8S_WRONG,
                waits ? "is bound when the first pod uses it" : phase ? phase : "has no phase",
                storage ? "its storage class has created no volume: see kubectl describe pvc"
                        : "it has no storage class, and no volume fits it");
}

static void check_volumes(struct k8s_checks *checks)
{
    sw_auto(k8s_volumes) struct k8s_volumes volumes = { 0 };
    struct sw_error why = { 0 };

    if (k8s_volumes_read(checks->plan, &volumes, &why) < 0) {
        found_error(checks, "volumes", &why);
        return;
    }
    for (size_t i = 0; i < volumes.count; i++) {
        const struct k8s_volume *volume = &volumes.items[i];
        bool map = volume->kind == K8S_VOLUME_CONFIG_MAP, claim = volume->kind == K8S_VOLUME_PVC;
        sw_autofree char *path = k8s_path(checks->conn, "v1", map ? "configmaps" : "secrets", volume->source);

        checks->has_volumes |= claim || volume->kind == K8S_VOLUME_HOST || volume->kind == K8S_VOLUME_NFS;
        if (claim)
            check_claim(checks, volume->source);
        else if (map || volume->kind == K8S_VOLUME_SECRET)
            need(checks, map ? "ConfigMap" : "Secret", volume->source, path, "create it in this namespace");
    }
}

static void check_queue(const struct k8s_checks *checks)
{
    const char *queue = checks->options.queue;
    bool volcano = checks->engine && checks->engine->choice == K8S_VOLCANO;
    const char *group = volcano ? "scheduling.volcano.sh" : "kueue.x-k8s.io";
    const char *version = k8s_group(checks->conn, group, NULL);
    sw_autofree char *api = sw_format("%s/%s", group, version ? version : "");
    sw_autofree char *path = volcano ? kube_path(api, NULL, "queues", queue)
                                     : k8s_path(checks->conn, api, "localqueues", queue);
    sw_autofree char *missing = sw_format("the cluster has no %s", volcano ? "Volcano" : "Kueue");

    if (!version)
        k8s_finding(checks->rows, "queue", K8S_WRONG, missing, "leave kubernetes.queue out, or install it");
    else
        need(checks, "queue", queue, path, "name one of those that `slipway inventory kubernetes` shows");
}

static void check_named(const struct k8s_checks *checks)
{
    const struct k8s_job_options *options = &checks->options;
    const struct { const char *what, *name, *api, *plural; bool cluster; } named[] = {
        { "pull secret", options->image_pull_secret, "v1", "secrets", false },
        { "service account", options->service_account, "v1", "serviceaccounts", false },
        { "priority class", options->priority_class, "scheduling.k8s.io/v1", "priorityclasses", true },
        { "runtime class", options->runtime_class, "node.k8s.io/v1", "runtimeclasses", true },
    };

    for (size_t i = 0; i < SW_COUNT(named); i++) {
        const char *namespace = named[i].cluster ? NULL : checks->conn->namespace;
        sw_autofree char *path = !named[i].name ? NULL
                                 : kube_path(named[i].api, namespace, named[i].plural, named[i].name);

        if (path)
            need(checks, named[i].what, named[i].name, path, "create it there, or use another");
    }
    if (options->queue)
        check_queue(checks);
}

/* ---- what runs it ----------------------------------------------------------------------------------- */

static bool has_group(void *context, const char *group)
{
    return k8s_group(context, group, NULL) != NULL;
}

static void check_engine(struct k8s_checks *checks)
{
    struct sw_error why = { 0 };
    sw_autofree char *message = NULL;

    checks->engine = k8s_engine_for(checks->plan, has_group, checks->conn, &why);
    if (!checks->engine) {
        found_error(checks, "engine", &why);
        return;
    }
    message = sw_format("%s (%s)", checks->engine->name, checks->engine->group);
    k8s_finding(checks->rows, "engine", K8S_FINE, message, NULL);
}

static void check_capacity(const struct k8s_checks *checks, struct k8s_capacity *capacity)
{
    sw_auto(sw_buf) struct sw_buf message = SW_BUF_INIT;
    struct sw_error why = { 0 };
    int result = k8s_capacity_of(checks->conn, checks->plan, true, NULL, capacity, &why);

    if (result > 0)
        return;                      /* the permissions say it */
    if (result < 0 || k8s_capacity_check(checks->plan, capacity, &why) < 0) {
        found_error(checks, "capacity", &why);
        return;
    }
    k8s_capacity_words(capacity, &message);
    if (capacity->asks_gpus)
        sw_buf_addf(&message, "; GPUs: %lld", (long long)capacity->allocatable);
    if (capacity->asks_gpus && capacity->free >= 0)
        sw_buf_addf(&message, ", %lld free", (long long)capacity->free);
    if (capacity->fit_free >= checks->plan->nodes)
        sw_buf_add(&message, "; fits now");
    else if (capacity->fit_free >= 0)
        sw_buf_addf(&message, "; must wait: %d of %d pods fit now", capacity->fit_free,
                    checks->plan->nodes);
    if (capacity->fit_later < checks->plan->nodes)
        sw_buf_add(&message, "; needs nodes that the autoscaler adds");
    k8s_finding(checks->rows, "capacity", K8S_FINE, sw_buf_text(&message), NULL);
}

static void check_runner(const struct k8s_checks *checks, const struct k8s_capacity *capacity)
{
    const char *arch = checks->options.arch != K8S_ARCH_AUTO ? k8s_arch_name(checks->options.arch)
                       : *capacity->arch ? capacity->arch : "amd64";
    enum k8s_runner_way way = checks->options.runner;
    const char *from = checks->options.runner_image;
    sw_autofree char *message = NULL;
    struct sw_error why = { 0 };
    size_t size = 0;

    if (way == K8S_RUNNER_IMAGE)
        message = sw_format("from image %s", from ? from : "(none is named)");
    else if (!sw_embedded_runner(k8s_uname(arch), &size, &why))
        found_error(checks, "runner", &why);
    else
        message = sw_format("%s, %zu kB in a %s", arch, size / 1000,
                            way == K8S_RUNNER_SECRET ? "Secret" : "ConfigMap");
    if (message)
        k8s_finding(checks->rows, "runner", way == K8S_RUNNER_IMAGE && !from ? K8S_WRONG : K8S_FINE, message,
                    "name an image that has /slipway-runner: kubernetes.runner_image");
}

/* ---- slots ------------------------------------------------------------------------------------------ */

static int may_fit(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    struct k8s_capacity capacity = { 0 };
    int forbidden = k8s_capacity_of(conn, plan, false, NULL, &capacity, err);

    return forbidden ? (forbidden < 0 ? -1 : 0) : k8s_capacity_check(plan, &capacity, err);
}

/* Jobs without GPUs are left to the scheduler: the lists of a large cluster take their time. */
int kubernetes_preflight(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    struct sw_error why = { 0 };

    if (sw_text_empty(plan->image)) {
        sw_fail(err, SW_E_SPEC, "a job on kubernetes needs an image");
        return sw_hint(err, "add `image: NAME:TAG` to the job file, or --image");
    }
    if (plan->gpus <= 0 || k8s_job_options(plan->options).autoscaler || may_fit(conn, plan, &why) == 0)
        return 0;
    if (why.code != SW_E_REFUSED)
        return sw_pass(err, &why);
    k8s_recent_forget(conn);         /* a node may just have come */
    return may_fit(conn, plan, err);
}

json_t *kubernetes_preflight_report(struct sw_connection *conn, const struct sw_plan *plan,
                                    struct sw_error *err)
{
    struct k8s_checks checks = { .conn = conn, .plan = plan, .rows = json_array(),
                                 .options = k8s_job_options(plan ? plan->options : NULL) };
    struct k8s_capacity capacity = { 0 };

    (void)err;
    if (!check_server(&checks))
        return checks.rows;
    sw_rest_clock(kube_rest(conn->kube), checks.rows);
    check_namespace(&checks);
    if (plan) {
        check_engine(&checks);
        check_volumes(&checks);
        check_named(&checks);
        check_capacity(&checks, &capacity);
        check_runner(&checks, &capacity);
        if (!sw_text_empty(plan->image))
            sw_image_rows(checks.rows, &(struct sw_image_query){
                .image = plan->image, .machine = *capacity.arch ? capacity.arch : NULL,
                .gpus = capacity.asks_gpus ? &capacity.gpu_archs : NULL,
                .gpus_unseen = "no node has the labels nvidia.com/gpu.compute.major and .minor",
                .env = conn->given.env, .env_context = conn->given.env_context });
    }
    k8s_check_permissions(&checks);
    return checks.rows;
}
