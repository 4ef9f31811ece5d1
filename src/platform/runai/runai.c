/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runai.c - workloads of NVIDIA Run:ai (DGX Cloud): the descriptor, the connection, its calls.
 *
 * The control plane knows projects, workloads and credentials, and is all that a job needs. It has no
 * logs: those come from the cluster itself (runai_log.c). Follow submit in runai_submit.c.
 */
#include "platform/runai/runai_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

static const struct sw_credential runai_credentials[] = {
    { "RUNAI_CLIENT_ID", false, "access key or service account; or client_id in the profile" },
    { "RUNAI_CLIENT_SECRET", false, "its secret" },
    { "RUNAI_APP_ID", false, "application of an older control plane, instead" },
    { "RUNAI_APP_SECRET", false, "its secret" },
    { "NGC_KEY", false, "for images of nvcr.io, when no pull secret is named" },
    { "DOCKER_USERNAME", false, "with DOCKER_PASSWORD, for other registries" },
    { "DOCKER_PASSWORD", false, "see DOCKER_USERNAME" },
    { 0 }
};

static const char *const variables[] = { KUBE_VARIABLES, "DOCKER_CONFIG", "DOCKER_REGISTRY", NULL };

/* ---- calls -------------------------------------------------------------------------------------- */

int runai_call(struct sw_connection *conn, const char *method, const char *path, const json_t *body,
               json_t **json, struct sw_error *err)
{
    const struct sw_rest_call call = { .method = method, .path = path, .json = body, .repeatable = true };

    return sw_rest_call(runai_of(conn)->rest, &call, json, err);
}

static void explain(void *context, const struct sw_http_reply *reply, const char *words, struct sw_error *err)
{
    const struct runai_connection *conn = context;

    (void)words;
    if (reply->status == 403 && !err->hint[0])
        sw_hint(err, "the access key '%.60s' needs a role in project '%.60s' that allows it",
                conn->account.id ? conn->account.id : "", conn->project ? conn->project : "");
}

struct sw_rest *runai_rest_to(struct sw_connection *conn, const char *url, const char *name,
                              struct sw_error *err)
{
    return sw_rest_open(&(struct sw_rest_options){
        .base_url = url, .name = name, .fields = runai_fields, .threads = true,
        .patience_ms = RUNAI_PATIENCE_MS,
        .authorize = runai_authorize, .authorize_context = &runai_of(conn)->account,
        .explain = explain, .explain_context = conn }, err);
}

void runai_warn(struct sw_connection *conn, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (runai_of(conn)->given.warn)
        runai_of(conn)->given.warn(runai_of(conn)->given.warn_context, text);
}

char *runai_note_path(struct sw_connection *conn, const char *id, int attempt, const char *name)
{
    return sw_format("%s/%s/attempt-%d/%s", runai_of(conn)->root, id, attempt > 1 ? attempt : 1, name);
}

/* ---- the connection ----------------------------------------------------------------------------- */

static void close_all(struct runai_connection *conn)
{
    if (!conn)
        return;
    sw_rest_close(conn->rest);
    sw_rest_close(conn->kube_rest);
    sw_rest_close(conn->cluster_rest);
    kube_close(conn->kube);
    runai_account_close(&conn->account);
    runai_site_free(conn->site);
    sw_log_spools_close(conn->spools);
    pthread_mutex_destroy(&conn->lock);
    free(conn->url);
    free(conn->project);
    free(conn->cluster);
    free(conn->kube_url);
    free(conn->kubeconfig);
    free(conn->kube_context);
    free(conn->root);
    free(conn);
}

static void runai_close(struct sw_connection *conn)
{
    close_all(runai_of(conn));
}

/* "https://company.run.ai" is enough. */
static char *whole_url(const char *said)
{
    size_t length = strlen(said);

    while (length && said[length - 1] == '/')
        length--;
    return sw_format("%.*s%s", (int)length, said, strstr(said, "/api/") ? "" : "/api/v1");
}

static struct sw_connection *runai_open(const struct sw_connect_options *config, struct sw_error *err)
{
    struct runai_connect_options connect = runai_connect_options(config->options);
    struct runai_connection *conn;

    conn = sw_new(struct runai_connection);
    conn->url = connect.base_url ? whole_url(connect.base_url) : sw_strdup("");
    conn->project = sw_strdup(connect.project);
    conn->cluster = sw_strdup(connect.cluster);
    conn->kube_url = sw_strdup(connect.kube_apiserver_url);
    conn->kubeconfig = sw_strdup(connect.kubeconfig);
    conn->kube_context = sw_strdup(connect.kube_context);
    conn->root = sw_path_join(config->state_dir, "runai");
    conn->spools = sw_log_spools_open(conn->root);
    conn->given = *config;
    conn->given.options = NULL;
    pthread_mutex_init(&conn->lock, NULL);
    if (runai_account_open(&conn->account, conn->url, config, err) < 0 ||
        !(conn->rest = runai_rest_to((struct sw_connection *)conn, conn->url, "run:ai", err)))
        close_all(sw_take(conn));
    return (struct sw_connection *)conn;
}

static void runai_place(struct sw_connection *conn, struct sw_place *out)
{
    out->address = sw_format("%s project %s", runai_of(conn)->url,
                             runai_of(conn)->project ? runai_of(conn)->project : "");
    out->options = sw_json_object(
        SW_STR("base_url", runai_of(conn)->url), SW_STR_OPT("project_name", runai_of(conn)->project),
        SW_STR_OPT("cluster", runai_of(conn)->cluster),
        SW_STR_OPT("kube_apiserver_url", runai_of(conn)->kube_url),
        SW_STR_OPT("kubeconfig", runai_of(conn)->kubeconfig),
        SW_STR_OPT("kube_context", runai_of(conn)->kube_context));
}

/* A name may be given to another project some day; its number is not. */
static int runai_identify(struct sw_connection *conn, struct sw_buf *identity, struct sw_error *err)
{
    const struct runai_site *site = runai_site(conn, err);

    if (!site)
        return -1;
    sw_buf_addf(identity, "%s/%s project %s of cluster %s", site->cluster_id, site->project_id,
                runai_of(conn)->project,
                site->cluster_name);
    return 0;
}

static struct sw_log_spools *runai_log_spools(struct sw_connection *conn)
{
    return runai_of(conn)->spools;
}

static void runai_reconcile(struct sw_connection *conn, const struct sw_observation *jobs, size_t count)
{
    sw_jobs_reconcile(&runai_jobs_api, conn, jobs, count);
}

const struct sw_platform sw_platform_runai = {
    .name = "runai",
    .alias = "dgxcloud",
    .summary = "workloads of NVIDIA Run:ai (DGX Cloud)",
    .options = runai_options,
    .credentials = runai_credentials,
    .variables = variables,
    .shares = true,
    .open = runai_open,
    .close = runai_close,
    .place = runai_place,
    .identify = runai_identify,
    .render = runai_render,
    .preflight = runai_preflight,
    .preflight_report = runai_preflight_report,
    .submit = runai_submit,
    .observe = runai_observe,
    .reconcile = runai_reconcile,
    .log_fetch = runai_log_fetch,
    .log_spools = runai_log_spools,
    .cancel = runai_cancel,
    .resume = runai_resume,
    .finalize = runai_finalize,
    .cleanup = runai_cleanup,
    .replicas = runai_replicas,
    .evidence = runai_evidence,
    .adopt = runai_adopt,
    .jobs = runai_jobs,
    .orphans = runai_orphans,
    .inventory = runai_inventory,
};
