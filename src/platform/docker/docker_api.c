/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_api.c - the engine's API as platform/kit/rest.h sees it: addresses, the version, Docker's habits.
 *
 * The version is settled once, by /_ping, just before the first call: an engine of another age
 * then still understands every path. Pinging costs one small round trip on a connection that the
 * call itself uses afterwards.
 */
#include "platform/docker/docker_api.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "net/ssh_dialer.h"

/* ---- what the engine means ---------------------------------------------------------------------- */

/* Docker's own meanings, where they differ from those of platform/kit/rest.h. */
static const struct {
    int status;
    const char *words;                       /* NULL: any */
    enum sw_code code;
} meanings[] = {
    { 403, NULL, SW_E_CREDENTIAL },
    { 501, NULL, SW_E_UNSUPPORTED },
    /* Podman answers 500 where Docker has a number of its own. */
    { 500, "container state improper", SW_E_CONFLICT },
    { 500, "already in use", SW_E_CONFLICT },
    { 500, "no such container", SW_E_NOT_FOUND },
    { 500, "no container with", SW_E_NOT_FOUND },
};

#define NO_BIND_SOURCE "bind source path does not exist"

/* What callers must know of a refusal, and only the engine's words say. The first that matches counts. */
static const struct {
    const char *words;
    enum docker_refusal refusal;
} refusals[] = {
    { "No such container", DOCKER_NO_SUCH_CONTAINER },
    { NO_BIND_SOURCE, DOCKER_NO_BIND_SOURCE },
    { "rlimit", DOCKER_LIMIT_DENIED },
    { "is already in progress", DOCKER_REMOVAL_IN_PROGRESS },
    { "ambiguous", DOCKER_NETWORK_AMBIGUOUS },
    { "could not select device driver", DOCKER_NO_DEVICE_DRIVER },
    { "unknown or invalid runtime", DOCKER_NO_RUNTIME },
    { "nvidia-container-cli", DOCKER_NVIDIA_FAILS },
    { "exec format error", DOCKER_OTHER_PROCESSOR },
    { "permission denied", DOCKER_MAY_NOT_EXECUTE },
    { "network", DOCKER_NO_NETWORK },
};

void docker_api_note_refusal(struct docker_api *api, const char *words)
{
    api->refusal = DOCKER_REFUSED;
    for (size_t i = SW_COUNT(refusals); i-- > 0;)
        if (strstr(words, refusals[i].words))
            api->refusal = refusals[i].refusal;
    free(api->refused_words);
    api->refused_words = sw_strdup(words);
}

const char *docker_api_refused_path(const struct docker_api *api)
{
    const char *found = api->refusal == DOCKER_NO_BIND_SOURCE
                            ? strstr(api->refused_words, NO_BIND_SOURCE ": ") : NULL;

    return found ? found + strlen(NO_BIND_SOURCE ": ") : NULL;
}

static void explain(void *context, const struct sw_http_reply *reply, const char *words,
                    struct sw_error *err)
{
    struct docker_api *api = context;

    if (reply->status == 0)
        docker_no_answer(&api->endpoint, api->dialer, *api->version != '\0', reply, err);
    else
        docker_api_note_refusal(api, words);
    for (size_t i = 0; i < SW_COUNT(meanings); i++)
        if (meanings[i].status == reply->status &&
            (!meanings[i].words || strstr(words, meanings[i].words)))
            err->code = meanings[i].code;
    if (strstr(words, "is too new") || strstr(words, "is too old"))
        sw_hint(err, "slipway supports Docker API 1.%d to 1.%d; use an engine that does, too",
                DOCKER_API_OLDEST, DOCKER_API_NEWEST);
    if (strstr(words, "HTTP request to an HTTPS server"))
        sw_hint(err, "the engine requires TLS: set DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH");
}

/* ---- open and close ----------------------------------------------------------------------------- */

static char *base_of(const struct docker_endpoint *endpoint)
{
    bool v6 = endpoint->host && strchr(endpoint->host, ':');

    if (endpoint->way == DOCKER_UNIX || endpoint->way == DOCKER_SSH)
        return sw_strdup("http://127.0.0.1");    /* a number, so that no name is looked up */
    return sw_format("%s://%s%s%s:%d", endpoint->way == DOCKER_TLS ? "https" : "http", v6 ? "[" : "",
                     endpoint->host, v6 ? "]" : "",
                     endpoint->port ? endpoint->port : endpoint->way == DOCKER_TLS ? 2376 : 2375);
}

struct docker_api *docker_api_open(const struct docker_endpoint *endpoint, struct sw_error *err)
{
    sw_auto(docker_api) struct docker_api *api = sw_new(struct docker_api);
    struct sw_rest_options options = { .name = "Docker", .explain = explain, .explain_context = api,
                                       .http.stall_ms = DOCKER_QUESTION_MS };

    docker_endpoint_copy(&api->endpoint, endpoint);
    api->base = base_of(endpoint);
    options.base_url = api->base;
    options.http.unix_socket = api->endpoint.socket;
    if (endpoint->way == DOCKER_TLS) {
        options.http.ca_file = api->endpoint.ca;
        options.http.client_cert = api->endpoint.cert;
        options.http.client_key = api->endpoint.key;
        options.http.trust_any = endpoint->trust_any;
    }
    if (endpoint->way == DOCKER_SSH) {
        api->dialer = docker_dialer_open(&api->endpoint, err);
        if (!api->dialer)
            return NULL;
        options.http.serve = sw_ssh_dial;
        options.http.serve_context = api->dialer;
    }
    api->rest = sw_rest_open(&options, err);
    return api->rest ? sw_take(api) : NULL;
}

void docker_api_close(struct docker_api *api)
{
    if (!api)
        return;
    sw_rest_close(api->rest);
    sw_ssh_dialer_close(api->dialer);
    docker_endpoint_done(&api->endpoint);
    free(api->base);
    free(api->refused_words);
    free(api);
}

/* ---- clients, lent one at a time ------------------------------------------------------------- */

struct docker_pool {
    const struct docker_endpoint *endpoint;
    pthread_mutex_t lock;
    struct docker_api *idle[DOCKER_AT_ONCE];
    size_t count;
};

struct docker_pool *docker_pool_new(const struct docker_endpoint *endpoint)
{
    struct docker_pool *pool = sw_new(struct docker_pool);

    pthread_mutex_init(&pool->lock, NULL);
    pool->endpoint = endpoint;
    return pool;
}

void docker_pool_free(struct docker_pool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        docker_api_close(pool->idle[i]);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

struct docker_api *docker_pool_borrow(struct docker_pool *pool, struct sw_error *err)
{
    struct docker_api *api = NULL;

    pthread_mutex_lock(&pool->lock);
    if (pool->count)
        api = pool->idle[--pool->count];
    pthread_mutex_unlock(&pool->lock);
    if (!api && (api = docker_api_open(pool->endpoint, err)))
        api->pool = pool;
    return api;
}

void docker_give_back(struct docker_api *api)
{
    struct docker_pool *pool = api ? api->pool : NULL;

    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    if (pool->count < DOCKER_AT_ONCE)
        pool->idle[pool->count++] = sw_take(api);
    pthread_mutex_unlock(&pool->lock);
    docker_api_close(api);
}

/* ---- the version -------------------------------------------------------------------------------- */

static int settle_version(struct docker_api *api, struct sw_error *err)
{
    sw_auto(sw_rest_seen) struct sw_rest_seen seen = { 0 };
    sw_autofree char *said = NULL, *podman = NULL;
    int major = 0, minor = 0;

    if (*api->version)
        return 0;
    if (sw_rest_call(api->rest, &(struct sw_rest_call){ .path = "/_ping", .seen = &seen }, NULL, err) < 0)
        return -1;
    said = sw_rest_header(&seen, "Api-Version");
    if (!said || sscanf(said, "%d.%d", &major, &minor) != 2 || major != 1) {
        sw_fail(err, SW_E_REFUSED, "%s is not a Docker engine", api->endpoint.text);
        return sw_hint(err, "%s points to another kind of server", api->endpoint.origin);
    }
    if (minor < DOCKER_API_OLDEST) {
        sw_fail(err, SW_E_UNSUPPORTED, "the engine at %s supports Docker API 1.%d; at least 1.%d is needed",
                api->endpoint.text, minor, DOCKER_API_OLDEST);
        return sw_hint(err, "upgrade Docker there to 19.03 or newer");
    }
    podman = sw_rest_header(&seen, "Libpod-Api-Version");
    api->podman = podman != NULL;
    snprintf(api->version, sizeof api->version, "1.%d",
             minor < DOCKER_API_NEWEST ? minor : DOCKER_API_NEWEST);
    return 0;
}

const char *docker_api_version(struct docker_api *api, struct sw_error *err)
{
    return settle_version(api, err) < 0 ? NULL : api->version;
}

/* ---- calls -------------------------------------------------------------------------------------- */

/* The call as this engine takes it; *path is its own, owned. */
static int prepare(struct docker_api *api, struct sw_rest_call *call, char **path,
                   struct sw_error *err)
{
    bool changes = call->method && strcmp(call->method, "GET") != 0;

    if (!api)
        return -1;
    api->refusal = DOCKER_NOT_REFUSED;
    free(sw_take(api->refused_words));
    if (settle_version(api, err) < 0)
        return -1;
    call->path = *path = sw_format("/v%s%s", api->version, call->path);
    if (!call->content_type)
        call->content_type = "application/x-tar";
    if (!call->stall_ms)
        call->stall_ms = changes ? DOCKER_LONG_MS : DOCKER_QUESTION_MS;
    return 0;
}

int docker_ask(struct docker_api *api, const struct sw_rest_call *given, json_t **reply,
               struct sw_error *err)
{
    struct sw_rest_call call = *given;
    sw_autofree char *path = NULL;

    return prepare(api, &call, &path, err) < 0 ? -1 : sw_rest_call(api->rest, &call, reply, err);
}

int docker_send(struct docker_api *api, const struct sw_rest_call *given,
                sw_rest_finished *finished, void *context, struct sw_error *err)
{
    struct sw_rest_call call = *given;
    sw_autofree char *path = NULL;

    return prepare(api, &call, &path, err) < 0 ? -1
               : sw_rest_send(api->rest, &call, finished, context, err);
}

struct sw_http_stream *docker_hijack(struct docker_api *api, const char *path, const json_t *body,
                                     struct sw_error *err)
{
    sw_autofree char *versioned = NULL;

    if (settle_version(api, err) < 0)
        return NULL;
    versioned = sw_format("/v%s%s", api->version, path);
    return sw_rest_upgrade(api->rest, &(struct sw_rest_call){ .method = "POST", .path = versioned,
                                                              .json = body }, "tcp", err);
}

/* ---- paths -------------------------------------------------------------------------------------- */

char *docker_filtered(const char *path, json_t *filters)
{
    sw_auto(json) json_t *owned = filters;
    sw_autofree char *text = sw_json_dump(owned);
    struct sw_buf out = SW_BUF_INIT;

    sw_buf_add(&out, path);
    sw_rest_query(&out, "filters", text);
    return sw_buf_steal(&out);
}
