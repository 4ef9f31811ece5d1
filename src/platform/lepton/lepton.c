/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lepton.c - batch jobs of a DGX Cloud Lepton workspace: the descriptor and the connection.
 *
 * Everything goes through the workspace's REST API; no Python client is needed. The server adds a random
 * ending to the name of a job, so a name is no key there: every job carries our id, its attempt and the
 * store's id as labels. Follow submit in lepton_submit.c.
 */
#include "platform/lepton/lepton_internal.h"

#include <stdlib.h>

#include "base/text.h"

enum { PATIENCE_MS = 120000, FACTS_LAST_MS = 10 * 60 * 1000 };

static const struct sw_credential credentials[] = {
    { "LEPTON_WORKSPACE_TOKEN", false, "token of the workspace, or WORKSPACE:TOKEN" },
    { "LEPTON_AUTH_TOKEN", false, "the same, as TAO calls it (else the official client's saved login)" },
    { "NGC_KEY", false, "for images of nvcr.io, when no pull secret is named" },
    { "DOCKER_USERNAME", false, "with DOCKER_PASSWORD, for other registries" },
    { "DOCKER_PASSWORD", false, "see DOCKER_USERNAME" },
    { 0 }
};
static const char *const variables[] = { "LEPTON_CACHE_DIR", "HOME", "DOCKER_CONFIG",
                                         "DOCKER_REGISTRY", NULL };

/* Fields of a job's body that a refusal may name, and the keys that decide them. */
static const struct sw_rest_field fields[] = {
    { "spec.container.image", "image" },
    { "spec.resource_shape", "lepton.resource_shape" },
    { "spec.affinity.allowed_nodes_in_node_group", "lepton.allowed_nodes" },
    { "spec.affinity", "lepton.node_group" },
    { "spec.completions", "nodes" },
    { "spec.parallelism", "nodes" },
    { "spec.shared_memory_size", "shm" },
    { "spec.envs", "env" },
    { "spec.mounts", "lepton.volumes" },
    { "spec.image_pull_secrets", "lepton.image_pull_secret" },
    { "spec.ttl_seconds_after_finished", "lepton.ttl" },
    { "spec.queue_config", "lepton.priority" },
    { "spec.reservation_config", "lepton.reservation" },
    { "metadata.visibility", "lepton.visibility" },
    { "metadata.labels", "labels" },
    { 0 }
};

static void explain(void *context, const struct sw_http_reply *reply, const char *words, struct sw_error *err)
{
    static const struct { int status; const char *hint; } hints[] = {
        { 401, "the token is wrong or has expired (one made in the dashboard lives a day): create a new "
               "one and export LEPTON_WORKSPACE_TOKEN" },
        { 403, "the token may not do that, or the workspace does not have this feature" },
    };

    (void)context, (void)words;
    for (size_t i = 0; i < SW_COUNT(hints); i++)
        if (reply->status == hints[i].status)
            sw_hint(err, "%s", hints[i].hint);
}

/* ---- the connection ------------------------------------------------------------------------- */

static void lepton_close(struct sw_connection *opened)
{
    struct lepton_connection *conn = lepton_of(opened);

    if (!conn)
        return;
    sw_cloud_done(&conn->cloud);
    sw_secret_free(conn->token);
    free(conn->url);
    free(conn->origin);
    free(conn->workspace);
    free(conn);
}

static struct sw_secret *token(void *context, bool refused, struct sw_error *err)
{
    const struct lepton_connection *conn = context;

    if (conn->token && conn->workspace)
        return sw_rest_token_given(conn->token, refused, err);
    if (conn->workspace)
        sw_fail(err, SW_E_CREDENTIAL, "no token for this Lepton workspace");
    else
        sw_fail(err, SW_E_SPEC, "lepton.workspace: no workspace is configured");
    sw_hint(err, "export LEPTON_WORKSPACE_ID and LEPTON_WORKSPACE_TOKEN (dashboard, Settings, Tokens)");
    return NULL;
}

static struct sw_connection *lepton_open(const struct sw_connect_options *config, struct sw_error *err)
{
    struct lepton_connection *conn = sw_new(struct lepton_connection);
    sw_autofree char *file = NULL;

    lepton_login(conn, config);
    sw_cloud_init(&conn->cloud, "lepton", config);
    conn->headers[0] = (struct sw_rest_pair){ "Origin", conn->origin };
    conn->cloud.rest = sw_rest_open(&(struct sw_rest_options){
        .base_url = conn->url, .name = "Lepton", .threads = true, .patience_ms = PATIENCE_MS, .token = token,
        .token_context = conn, .headers = conn->origin ? conn->headers : NULL, .fields = fields,
        .explain = explain }, err);
    file = sw_format("%s/.facts-%s.json", conn->cloud.root, conn->workspace ? conn->workspace : "");
    conn->cloud.facts = sw_facts_open(conn->cloud.rest, file, FACTS_LAST_MS);
    if (!conn->cloud.rest)
        lepton_close((struct sw_connection *)sw_take(conn));
    return (struct sw_connection *)conn;
}

static void lepton_place(struct sw_connection *opened, struct sw_place *out)
{
    const struct lepton_connection *conn = lepton_of(opened);

    out->address = sw_strdup(conn->url);
    out->options = sw_json_object(SW_STR_OPT("workspace", conn->workspace), SW_STR("url", conn->url),
                                  SW_STR_OPT("origin", conn->origin));
}

/* Every address contains the workspace's id, and every answer there is about that workspace: an answer to one
 * of them is all that there is to know, and a submit has few of them to spend. */
static int lepton_identify(struct sw_connection *conn, struct sw_buf *identity, struct sw_error *err)
{
    (void)err;
    if (lepton_of(conn)->workspace)
        sw_buf_addf(identity, "%s workspace at %s", lepton_of(conn)->workspace, lepton_of(conn)->url);
    return 0;
}

static bool lepton_sees_loopback(struct sw_connection *conn, const struct sw_plan *plan)
{
    (void)plan;
    return sw_http_is_loopback(lepton_of(conn)->url);
}

const struct sw_platform sw_platform_lepton = {
    .name = "lepton",
    .summary = "batch jobs of a DGX Cloud Lepton workspace",
    .options = lepton_options,
    .credentials = credentials,
    .variables = variables,
    .collects = true,
    .open = lepton_open,
    .close = lepton_close,
    .place = lepton_place,
    .identify = lepton_identify,
    .sees_loopback = lepton_sees_loopback,
    .render = lepton_render,
    .preflight = lepton_preflight,
    .preflight_report = lepton_preflight_report,
    .submit = lepton_submit,
    .observe = lepton_observe,
    .reconcile = lepton_reconcile,
    .cancel = lepton_cancel,
    .finalize = lepton_finalize,
    .cleanup = lepton_cleanup,
    .replicas = lepton_replicas,
    .evidence = lepton_evidence,
    .log_fetch = lepton_log_fetch,
    .log_spools = sw_cloud_log_spools,
    .adopt = lepton_adopt,
    .jobs = lepton_jobs,
    .orphans = lepton_orphans,
    .inventory = lepton_inventory,
};
