/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes.c - Jobs of a Kubernetes cluster: the descriptor and the connection.
 *
 * No kubectl: the client (platform/kube) finds cluster and credentials as kubectl does, and everything
 * else is calls to the API server. Everything about a job is in the cluster, in one namespace, and
 * carries its id; this machine only keeps a copy of its log. Follow submit in kubernetes_submit.c.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "platform/kit/log.h"

static const struct sw_credential kubernetes_credentials[] = {
    { "NGC_KEY", false, "for images of nvcr.io, when no pull secret is named" },
    { "DOCKER_USERNAME", false, "with DOCKER_PASSWORD, for other registries" },
    { "DOCKER_PASSWORD", false, "see DOCKER_USERNAME" },
    { 0 }
};

static const char *const variables[] = { KUBE_VARIABLES, "DOCKER_CONFIG", "DOCKER_REGISTRY", NULL };

/* ---- the connection ----------------------------------------------------------------------------- */

static void kubernetes_close(struct sw_connection *conn)
{
    if (!conn)
        return;
    sw_watch_close(conn->watch);
    sw_log_spools_close(conn->spools);
    kube_close(conn->kube);
    json_decref(conn->runners);
    json_decref(conn->groups);
    k8s_recent_forget(conn);
    pthread_mutex_destroy(&conn->lock);
    free(conn->helper_image);
    free(conn->root);
    free(conn);
}

static struct sw_connection *kubernetes_open(const struct sw_connect_options *config, struct sw_error *err)
{
    struct k8s_connect_options connect = k8s_connect_options(config->options);
    const struct kube_options to = {
        .kubeconfig = connect.kubeconfig, .context = connect.context, .namespace = connect.namespace,
        .env = config->env, .env_context = config->env_context, .warn = config->warn,
        .warn_context = config->warn_context, .fields = k8s_fields, .patience_ms = K8S_PATIENCE_MS,
    };
    struct sw_connection *conn;
    struct kube *kube;

    if (!config->state_dir) {
        sw_fail(err, SW_E_USAGE, "the kubernetes platform needs a state folder");
        return NULL;
    }
    kube = kube_open(&to, err);
    if (!kube)
        return NULL;
    conn = sw_new(struct sw_connection);
    conn->kube = kube;
    conn->rest = kube_rest(kube);
    conn->namespace = kube_address(kube)->namespace;
    conn->root = sw_path_join(config->state_dir, "kubernetes");
    conn->spools = sw_log_spools_open(conn->root);
    conn->given = *config;
    conn->given.options = NULL;
    conn->helper_image = sw_strdup(connect.helper_image);
    conn->runners = json_object();
    pthread_mutex_init(&conn->lock, NULL);
    conn->watch = sw_watch_new(&k8s_watch_source, k8s_watch_context(conn));
    return conn;
}

static void kubernetes_place(struct sw_connection *conn, struct sw_place *out)
{
    out->address = kube_place_address(conn->kube);
    out->options = kube_place_options(conn->kube);
}

static int kubernetes_identify(struct sw_connection *conn, struct sw_buf *identity, struct sw_error *err)
{
    const struct kube_address *at = kube_address(conn->kube);

    if (kube_identity(conn->kube, identity, err) < 0)
        return -1;
    if (identity->length)
        sw_buf_addf(identity, " %s", at->cluster ? at->cluster : at->server);
    return 0;
}

static bool kubernetes_sees_loopback(struct sw_connection *conn, const struct sw_plan *plan)
{
    return k8s_job_options(plan->options).host_network &&
    sw_http_is_loopback(kube_address(conn->kube)->server);
}

static struct sw_log_spools *kubernetes_log_spools(struct sw_connection *conn)
{
    return conn->spools;
}

/* ---- calls -------------------------------------------------------------------------------------- */

int k8s_call(struct sw_connection *conn, const char *method, const char *path, const json_t *body,
             json_t **json, struct sw_error *err)
{
    const struct sw_rest_pair merge[] = { { "Content-Type", "application/merge-patch+json" }, { 0 } };
    const struct sw_rest_call call = {
        .method = method, .path = path, .json = body, .repeatable = true,
        .headers = sw_text_same(method, "PATCH") ? merge : NULL,
    };

    return sw_rest_call(conn->rest, &call, json, err);
}

char *k8s_path(struct sw_connection *conn, const char *group_version, const char *plural, const char *name)
{
    return kube_path(group_version, conn->namespace, plural, name);
}

/* {"apps": "v1", "jobset.x-k8s.io": "v1alpha2"} from an APIGroupList. */
static json_t *groups_of(const json_t *answer)
{
    json_t *groups = json_object(), *group;
    size_t i;

    json_array_foreach(json_object_get(answer, "groups"), i, group) {
        const char *name = sw_json_str(group, "name");
        const char *version = sw_json_str(json_object_get(group, "preferredVersion"), "version");

        if (name && version)
            json_object_set_new(groups, name, sw_json_text(version));
    }
    return groups;
}

const char *k8s_group(struct sw_connection *conn, const char *group, struct sw_error *err)
{
    sw_auto(json) json_t *answer = NULL;
    const char *version;

    pthread_mutex_lock(&conn->lock);
    if (!conn->groups && k8s_call(conn, NULL, "/apis", NULL, &answer, err) == 0)
        conn->groups = groups_of(answer);
    version = sw_json_str(conn->groups, group);
    pthread_mutex_unlock(&conn->lock);
    return version;
}

int k8s_has_engine(struct sw_connection *conn, const struct k8s_engine *engine, struct sw_error *err)
{
    struct sw_error why = { 0 };

    if (sw_text_same(engine->group, "batch") || k8s_group(conn, engine->group, &why))
        return 1;
    return why.code ? sw_pass(err, &why) : 0;
}

void k8s_warn(struct sw_connection *conn, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (conn->given.warn)
        conn->given.warn(conn->given.warn_context, text);
}

const struct sw_platform sw_platform_kubernetes = {
    .name = "kubernetes",
    .summary = "Jobs of a Kubernetes cluster, as kubectl reaches it",
    .options = kubernetes_options,
    .credentials = kubernetes_credentials,
    .variables = variables,
    .shares = true,
    .collects = true,
    .own_ray = true,
    .open = kubernetes_open,
    .close = kubernetes_close,
    .place = kubernetes_place,
    .identify = kubernetes_identify,
    .sees_loopback = kubernetes_sees_loopback,
    .render = kubernetes_render,
    .preflight = kubernetes_preflight,
    .preflight_report = kubernetes_preflight_report,
    .submit = kubernetes_submit,
    .observe = kubernetes_observe,
    .reconcile = kubernetes_reconcile,
    .wake_fd = kubernetes_wake_fd,
    .log_fetch = kubernetes_log_fetch,
    .log_spools = kubernetes_log_spools,
    .cancel = kubernetes_cancel,
    .finalize = kubernetes_finalize,
    .cleanup = kubernetes_cleanup,
    .replicas = kubernetes_replicas,
    .evidence = kubernetes_evidence,
    .results_dir = kubernetes_results_dir,
    .fetch_results = kubernetes_fetch_results,
    .check_path = kubernetes_check_path,
    .list_path = kubernetes_list_path,
    .adopt = kubernetes_adopt,
    .jobs = kubernetes_jobs,
    .terminals = true,
    .exec_open = kubernetes_exec_open,
    .port_open = kubernetes_port_open,
    .orphans = kubernetes_orphans,
    .inventory = kubernetes_inventory,
};
