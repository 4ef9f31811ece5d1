/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runai.c - workloads of NVIDIA Run:ai (DGX Cloud): the descriptor, the connection, its calls.
 *
 * The control plane knows projects, workloads and credentials, and is all that a job needs. It has no
 * logs: those come from the cluster itself (runai_log.c). Follow submit in runai_submit.c.
 */
#include "platform/runai/runai_internal.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- the connection ----------------------------------------------------------------------------- */

static void runai_close(struct sw_connection *opened)
{
    struct runai_connection *conn = runai_of(opened);

    if (!conn)
        return;
    sw_cloud_done(&conn->cloud);
    sw_rest_close(conn->kube_rest);
    sw_rest_close(conn->cluster_rest);
    kube_close(conn->kube);
    runai_account_close(&conn->account);
    runai_site_free(conn->site);
    pthread_mutex_destroy(&conn->lock);
    free(conn->url);
    free(conn->project);
    free(conn->cluster);
    free(conn->kube_url);
    free(conn->kubeconfig);
    free(conn->kube_context);
    free(conn);
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
    struct runai_connection *conn = sw_new(struct runai_connection);
    struct sw_connection *opened = (struct sw_connection *)conn;

    conn->url = connect.base_url ? whole_url(connect.base_url) : sw_strdup("");
    conn->project = sw_strdup(connect.project);
    conn->cluster = sw_strdup(connect.cluster);
    conn->kube_url = sw_strdup(connect.kube_apiserver_url);
    conn->kubeconfig = sw_strdup(connect.kubeconfig);
    conn->kube_context = sw_strdup(connect.kube_context);
    sw_cloud_init(&conn->cloud, "runai", config);
    pthread_mutex_init(&conn->lock, NULL);
    if (runai_account_open(&conn->account, conn->url, config, err) < 0 ||
        !(conn->cloud.rest = runai_rest_to(opened, conn->url, "run:ai", err)))
        runai_close(sw_take(opened));
    return opened;
}

static void runai_place(struct sw_connection *opened, struct sw_place *out)
{
    const struct runai_connection *conn = runai_of(opened);

    out->address = sw_format("%s project %s", conn->url, conn->project ? conn->project : "");
    out->options = sw_json_object(
        SW_STR("base_url", conn->url), SW_STR_OPT("project_name", conn->project),
        SW_STR_OPT("cluster", conn->cluster), SW_STR_OPT("kube_apiserver_url", conn->kube_url),
        SW_STR_OPT("kubeconfig", conn->kubeconfig), SW_STR_OPT("kube_context", conn->kube_context));
}

/* A name may be given to another project some day; its number is not. */
static int runai_identify(struct sw_connection *conn, struct sw_buf *identity, struct sw_error *err)
{
    const struct runai_site *site = runai_site(conn, err);

    if (!site)
        return -1;
    sw_buf_addf(identity, "%s/%s project %s of cluster %s", site->cluster_id, site->project_id,
                runai_of(conn)->project, site->cluster_name);
    return 0;
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
    .log_spools = sw_cloud_log_spools,
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
