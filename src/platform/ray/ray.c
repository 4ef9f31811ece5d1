/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray.c - jobs of a Ray cluster that is there: the descriptor, the connection, and calls to its dashboard.
 *
 * The Jobs API of the dashboard is all that is needed; no Python runs here. A submission id is the job's own
 * id, so a submit that was cut off is found again by its name. A cluster's token is sent only to a cluster
 * that says it wants one. Ray refuses what looks like a browser: no Origin and no Referer is ever sent.
 * Follow submit in ray_submit.c.
 */
#include "platform/ray/ray_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "net/ssh_dialer.h"
#include "platform/kube/kube.h"

enum { PATIENCE_MS = 120000, FACTS_LAST_MS = 10 * 60 * 1000, TOKEN_MAX = 64 * 1024 };
#define MODE_PATH "/api/authentication_mode"

static const struct sw_credential credentials[] = {
    { "RAY_AUTH_TOKEN", false, "token of the cluster (else the file RAY_AUTH_TOKEN_PATH, or "
                               "~/.ray/auth_token)" },
    { 0 }
};
static const char *const variables[] = { KUBE_VARIABLES, NULL };

static const struct sw_rest_field fields[] = {
    { "entrypoint_num_gpus", "gpus" }, { "entrypoint_num_cpus", "cpus" }, { "entrypoint_memory", "memory" },
    { "entrypoint_resources", "ray.resources" }, { "entrypoint_label_selector", "ray.labels" },
    { "runtime_env", "ray.runtime_env" }, { 0 }
};

/* A wrong token is 403, and a request too large 413. */
void ray_explain(void *context, const struct sw_http_reply *reply, const char *words, struct sw_error *err)
{
    struct ray_connection *conn = context;

    (void)words;
    if (reply->status == 0 && conn->dialer) {
        sw_ssh_dialer_why(conn->dialer, err);
    } else if (reply->status == 401) {
        err->code = SW_E_CREDENTIAL;
        sw_hint(err, "the cluster wants a token: export RAY_AUTH_TOKEN, or name its file with "
                     "RAY_AUTH_TOKEN_PATH");
    } else if (reply->status == 403 && conn->token) {
        err->code = SW_E_CREDENTIAL;
        sw_hint(err, "the token of %s is not the cluster's", conn->token_from);
    }
}

/* ---- calls ---------------------------------------------------------------------------------- */

char *ray_path(struct sw_connection *conn, const char *path)
{
    return sw_format("%s%s", ray_of(conn)->prefix, path);
}

const char *ray_mode(struct sw_connection *conn, bool fresh, struct sw_error *err)
{
    sw_autofree char *path = ray_path(conn, MODE_PATH);
    struct sw_error why = { 0 };
    sw_auto(json) json_t *answer = sw_cloud_fact(conn, path, fresh, &why);
    const char *said = sw_json_str(answer, "authentication_mode");

    if (!answer && why.code != SW_E_NOT_FOUND) {             /* before Ray 2.52 there was no such thing */
        sw_pass(err, &why);
        return NULL;
    }
    return !said || strcmp(said, "disabled") == 0 ? "disabled" : "token";
}

struct sw_rest_pair ray_header(struct sw_connection *conn, struct sw_buf *value)
{
    const struct ray_connection *ray = ray_of(conn);
    const char *mode = ray->token ? ray_mode(conn, false, NULL) : NULL;

    if (!sw_text_same(mode, "token"))
        return (struct sw_rest_pair){ 0 };
    sw_buf_reserve_wiping(value, strlen(sw_secret_reveal(ray->token)) + 8);
    sw_buf_add(value, "Bearer ");
    sw_buf_add(value, sw_secret_reveal(ray->token));
    return (struct sw_rest_pair){ ray->kube ? "X-Ray-Authorization" : "Authorization", sw_buf_text(value) };
}

static int ask_once(struct sw_connection *conn, const struct sw_rest_call *call, bool *with_token,
                    json_t **json, struct sw_error *err)
{
    struct sw_buf value = SW_BUF_INIT;
    const struct sw_rest_pair headers[] = { ray_header(conn, &value), { 0 } };
    sw_autofree char *path = ray_path(conn, call->path);
    struct sw_rest_call sent = *call;
    int result;

    sent.path = path;
    sent.headers = headers[0].key ? headers : NULL;
    *with_token = headers[0].key != NULL;
    result = sw_rest_call(sw_cloud_of(conn)->rest, &sent, json, err);
    sw_buf_wipe(&value);
    return result;
}

/* What was remembered about tokens may be older than the cluster. */
int ray_ask(struct sw_connection *conn, const struct sw_rest_call *call, json_t **json, struct sw_error *err)
{
    struct sw_error why = { 0 };
    bool with_token;

    if (!*ray_of(conn)->address) {
        sw_fail(err, SW_E_SPEC, "ray.address: no cluster is configured");
        return sw_hint(err, "set ray.address or RAY_ADDRESS, such as http://HOST:8265");
    }
    if (ask_once(conn, call, &with_token, json, &why) == 0)
        return 0;
    if (why.code != SW_E_CREDENTIAL || with_token || !ray_of(conn)->token)
        return sw_pass(err, &why);
    sw_facts_forget(sw_cloud_of(conn)->facts);
    return ask_once(conn, call, &with_token, json, err);
}

int ray_call(struct sw_connection *conn, const char *method, const char *path, const json_t *body,
             json_t **json, struct sw_error *err)
{
    return ray_ask(conn, &(struct sw_rest_call){ .method = method, .path = path, .json = body,
                                                 .repeatable = true }, json, err);
}

/* ---- the connection ------------------------------------------------------------------------- */

static void ray_close(struct sw_connection *opened)
{
    struct ray_connection *conn = ray_of(opened);

    if (!conn)
        return;
    if (conn->kube)
        conn->cloud.rest = NULL;             /* it is the API server's, and closed with it */
    sw_cloud_done(&conn->cloud);
    kube_close(conn->kube);
    sw_ssh_dialer_close(conn->dialer);
    sw_secret_free(conn->token);
    sw_secrets_free(conn->kept);
    pthread_mutex_destroy(&conn->kept_lock);
    json_decref(conn->way);
    free(conn->address);
    free(conn->url);
    free(conn->prefix);
    free(conn->token_from);
    free(conn);
}

/* As Ray's own client looks for it. */
static void find_token(struct ray_connection *conn, const struct sw_connect_options *config)
{
    const char *value = sw_cloud_variable(config, credentials[0].name);
    const char *named = ray_connect_options(config->options).token_file;
    sw_autofree char *file = named ? sw_strdup(named) : sw_path_home(".ray/auth_token");
    sw_auto(sw_text_wipe) char *text = value ? sw_strdup(value) : sw_file_read(file, TOKEN_MAX, NULL, NULL);

    if (!text)
        return;
    text[strcspn(text, "\r\n")] = '\0';
    if (!*text)
        return;
    conn->token = sw_secret_new(text);
    conn->token_from = sw_strdup(value ? credentials[0].name : file);
}

static struct sw_rest *open_rest(struct ray_connection *conn, const struct sw_http_options *http,
                                 struct sw_error *err)
{
    return conn->kube ? kube_rest(conn->kube) : sw_rest_open(&(struct sw_rest_options){
        .base_url = conn->url, .name = "Ray", .threads = true, .patience_ms = PATIENCE_MS, .http = *http,
        .fields = fields, .explain = ray_explain, .explain_context = conn }, err);
}

static struct sw_connection *ray_open(const struct sw_connect_options *config, struct sw_error *err)
{
    struct ray_connection *conn = sw_new(struct ray_connection);
    struct sw_http_options http = { 0 };
    sw_autofree char *file = NULL, *key = NULL;

    sw_cloud_init(&conn->cloud, "ray", config);
    pthread_mutex_init(&conn->kept_lock, NULL);
    conn->kept = sw_secrets_new();
    find_token(conn, config);
    if (ray_find_way(conn, config, &http, err) == 0)
        conn->cloud.rest = open_rest(conn, &http, err);
    if (!conn->cloud.rest) {
        ray_close((struct sw_connection *)conn);
        return NULL;
    }
    key = sw_label_text(conn->address);
    file = sw_format("%s/.facts-%s.json", conn->cloud.root, key);
    conn->cloud.facts = sw_facts_open(conn->cloud.rest, file, FACTS_LAST_MS);
    return (struct sw_connection *)conn;
}

static void ray_place(struct sw_connection *opened, struct sw_place *out)
{
    const struct ray_connection *conn = ray_of(opened);

    out->address = sw_strdup(conn->address);
    out->options = json_deep_copy(conn->way);
}

/* A head that restarts has a new session and the same address, and its jobs are gone for certain. So the
 * address is the identity: with the session's name every job of before would be "unreachable" for ever. */
static int ray_identify(struct sw_connection *conn, struct sw_buf *identity, struct sw_error *err)
{
    sw_autofree char *key = sw_label_text(ray_of(conn)->address);

    (void)err;
    sw_buf_addf(identity, "%s the Ray cluster at %s", key, ray_of(conn)->address);
    return 0;
}

static bool ray_sees_loopback(struct sw_connection *conn, const struct sw_plan *plan)
{
    (void)plan;
    return !ray_of(conn)->kube && !ray_of(conn)->dialer && sw_http_is_loopback(ray_of(conn)->url);
}

static bool ray_rewrites_paths(const struct sw_plan *plan)
{
    (void)plan;
    return true;
}

const struct sw_platform sw_platform_ray = {
    .name = "ray",
    .summary = "jobs of a Ray cluster that is there",
    .options = ray_options,
    .credentials = credentials,
    .variables = variables,
    .own_ray = true,
    .open = ray_open,
    .close = ray_close,
    .place = ray_place,
    .identify = ray_identify,
    .rewrites_paths = ray_rewrites_paths,
    .sees_loopback = ray_sees_loopback,
    .render = ray_render,
    .preflight = ray_preflight,
    .preflight_report = ray_preflight_report,
    .submit = ray_submit,
    .observe = ray_observe,
    .reconcile = ray_reconcile,
    .hand_secrets = ray_hand_secrets,
    .cancel = ray_cancel,
    .finalize = ray_finalize,
    .cleanup = ray_cleanup,
    .replicas = ray_replicas,
    .evidence = ray_evidence,
    .log_fetch = ray_log_fetch,
    .log_spools = sw_cloud_log_spools,
    .adopt = ray_adopt,
    .jobs = ray_jobs,
    .orphans = ray_orphans,
    .inventory = ray_inventory,
};
