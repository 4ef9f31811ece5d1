/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_api.c - calls to the engine over kept connections, its answers in our words.
 *
 * The version is settled once, by /_ping, just before the first call: an engine of another age
 * then still understands every path. Pinging costs one small round trip on a connection that the
 * call itself uses afterwards.
 */
#include "platform/docker/docker_api.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "net/http_stream.h"
#include "platform/docker/docker_internal.h"

#define REPLY_MAX    (64u * 1024 * 1024)     /* a list of many thousand containers */
#define MESSAGE_MAX  400                     /* of the engine's words, in our message */

struct flight {                              /* a call under way */
    struct docker_api *api;
    docker_finished *finished;
    void *context;
    char *body;                              /* owned JSON text */
    bool silence_counts, changes_nothing;    /* as the call says */
    struct flight *next, **link;
};

struct docker_api {
    struct docker_where where;
    struct docker_dialer *dialer;            /* DOCKER_SSH */
    struct sw_http *http;
    char *base;                              /* "http://docker", "https://host:2376" */
    char version[16];                        /* "" until settled */
    bool podman;
    struct flight *flights;
};

/* ---- life --------------------------------------------------------------------------------------- */

static char *base_of(const struct docker_where *where)
{
    bool v6 = where->host && strchr(where->host, ':');

    if (where->way == DOCKER_UNIX || where->way == DOCKER_SSH)
        return sw_strdup("http://127.0.0.1");    /* a number, so that no name is looked up */
    return sw_format("%s://%s%s%s:%d", where->way == DOCKER_TLS ? "https" : "http", v6 ? "[" : "",
                     where->host, v6 ? "]" : "",
                     where->port ? where->port : where->way == DOCKER_TLS ? 2376 : 2375);
}

struct docker_api *docker_api_open(const struct docker_where *where, struct sw_error *err)
{
    sw_auto(docker_api) struct docker_api *api = sw_new(struct docker_api);
    struct sw_http_options options = { .stall_ms = DOCKER_QUESTION_MS };

    docker_where_copy(&api->where, where);
    api->base = base_of(where);
    options.unix_socket = api->where.socket;
    if (where->way == DOCKER_TLS) {
        options.ca_file = api->where.ca;
        options.client_cert = api->where.cert;
        options.client_key = api->where.key;
        options.trust_any = where->trust_any;
    }
    if (where->way == DOCKER_SSH) {
        api->dialer = docker_dialer_open(&api->where, err);
        if (!api->dialer)
            return NULL;
        options.serve = docker_dial;
        options.serve_context = api->dialer;
    }
    api->http = sw_http_open(&options, err);
    return api->http ? sw_take(api) : NULL;
}

static void flight_free(struct flight *flight)
{
    *flight->link = flight->next;
    if (flight->next)
        flight->next->link = flight->link;
    free(flight->body);
    free(flight);
}

void docker_api_close(struct docker_api *api)
{
    if (!api)
        return;
    sw_http_close(api->http);
    docker_dialer_close(api->dialer);
    while (api->flights)
        flight_free(api->flights);
    docker_where_done(&api->where);
    free(api->base);
    free(api);
}

const struct docker_where *docker_api_where(const struct docker_api *api)
{
    return &api->where;
}

struct docker_dialer *docker_api_dialer(const struct docker_api *api)
{
    return api->dialer;
}

bool docker_api_is_local(const struct docker_api *api)
{
    return api->where.way == DOCKER_UNIX;
}

/* ---- answers ------------------------------------------------------------------------------------ */

static const struct {
    int status;
    enum sw_code code;
} refusals[] = {
    { 401, SW_E_CREDENTIAL }, { 403, SW_E_CREDENTIAL }, { 404, SW_E_NOT_FOUND },
    { 409, SW_E_CONFLICT }, { 501, SW_E_UNSUPPORTED },
};

/* Podman answers 500 where Docker has a number of its own. */
static const struct {
    const char *words;
    enum sw_code code;
} podman_refusals[] = {
    { "container state improper", SW_E_CONFLICT },
    { "already in use", SW_E_CONFLICT },
    { "no such container", SW_E_NOT_FOUND },
    { "no container with", SW_E_NOT_FOUND },
};

static json_t *reply_json(const struct sw_http_reply *reply)
{
    sw_autofree char *type = sw_http_header(reply, "Content-Type");

    if (!reply->body.length || !type || !strstr(type, "json"))
        return NULL;
    return sw_json_parse(reply->body.data, reply->body.length, "the engine's answer", NULL);
}

/* {"message": "..."}, or whatever text came instead (a proxy, another kind of server). */
static char *engine_words(const struct sw_http_reply *reply, const json_t *json)
{
    const char *text = sw_json_str(json, "message");
    sw_autofree char *clean = NULL;
    size_t length;

    text = text ? text : sw_json_str(json, "cause");
    text = text ? text : sw_buf_text(&reply->body);
    length = strlen(text);
    while (length && (text[length - 1] == '\n' || text[length - 1] == ' '))
        length--;
    clean = sw_text_printable(text, length < MESSAGE_MAX ? length : MESSAGE_MAX);
    return *clean ? sw_take(clean) : sw_format("status %d without a word", reply->status);
}

static int refused(const struct sw_http_reply *reply, const json_t *json, struct sw_error *err)
{
    sw_autofree char *words = engine_words(reply, json);
    enum sw_code code = reply->status >= 500 ? SW_E_UNREACHABLE : SW_E_REFUSED;

    for (size_t i = 0; i < SW_COUNT(refusals); i++)
        if (refusals[i].status == reply->status)
            code = refusals[i].code;
    for (size_t i = 0; reply->status == 500 && i < SW_COUNT(podman_refusals); i++)
        if (strstr(words, podman_refusals[i].words))
            code = podman_refusals[i].code;
    sw_fail(err, code, "Docker says: %s", words);
    if (strstr(words, "is too new") || strstr(words, "is too old"))
        sw_hint(err, "slipway speaks Docker API 1.%d to 1.%d; use an engine that does, too",
                DOCKER_API_OLDEST, DOCKER_API_NEWEST);
    if (strstr(words, "HTTP request to an HTTPS server"))
        sw_hint(err, "the engine wants TLS: set DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH");
    return -1;
}

static int judge(const struct docker_api *api, struct sw_http_reply *reply, json_t **json,
                 struct sw_error *err)
{
    if (reply->failure == SW_E_INTERRUPTED)
        return sw_fail(err, SW_E_INTERRUPTED, "the answer was not wanted any more");
    if (reply->status == 0) {
        docker_no_answer(&api->where, api->dialer, *api->version != '\0', reply, err);
        if (err && err->code == SW_E_TIMEOUT)
            err->code = SW_E_UNREACHABLE;
        return -1;
    }
    *json = reply_json(reply);
    if ((reply->status >= 200 && reply->status < 300) || reply->status == 304)
        return 0;
    return refused(reply, *json, err);
}

/* ---- the version -------------------------------------------------------------------------------- */

static int settle_version(struct docker_api *api, struct sw_error *err)
{
    sw_auto(sw_http_request) struct sw_http_request request = SW_HTTP_REQUEST_INIT;
    sw_auto(sw_http_reply) struct sw_http_reply reply = { 0 };
    sw_auto(json) json_t *json = NULL;
    sw_autofree char *said = NULL, *podman = NULL;
    int major = 0, minor = 0;

    if (*api->version)
        return 0;
    strcpy(request.method, "GET");
    request.url = sw_format("%s/_ping", api->base);
    sw_http_ask(api->http, &request, &reply, NULL);
    if (judge(api, &reply, &json, err) < 0)
        return -1;
    said = sw_http_header(&reply, "Api-Version");
    if (!said || sscanf(said, "%d.%d", &major, &minor) != 2 || major != 1) {
        sw_fail(err, SW_E_REFUSED, "%s does not answer like a Docker engine", api->where.text);
        return sw_hint(err, "%s names another kind of server", api->where.origin);
    }
    if (minor < DOCKER_API_OLDEST) {
        sw_fail(err, SW_E_UNSUPPORTED, "the engine at %s speaks Docker API 1.%d; 1.%d is the least",
                api->where.text, minor, DOCKER_API_OLDEST);
        return sw_hint(err, "upgrade Docker there to 19.03 or newer");
    }
    podman = sw_http_header(&reply, "Libpod-Api-Version");
    api->podman = podman != NULL;
    snprintf(api->version, sizeof api->version, "1.%d",
             minor < DOCKER_API_NEWEST ? minor : DOCKER_API_NEWEST);
    return 0;
}

bool docker_api_is_podman(const struct docker_api *api)
{
    return api->podman;
}

const char *docker_api_version(struct docker_api *api, struct sw_error *err)
{
    return settle_version(api, err) < 0 ? NULL : api->version;
}

/* ---- calls -------------------------------------------------------------------------------------- */

static void fill_request(struct docker_api *api, const struct docker_call *call, char *body,
                         struct sw_http_request *request)
{
    snprintf(request->method, sizeof request->method, "%s", call->method ? call->method : "GET");
    request->url = sw_format("%s/v%s%s", api->base, api->version, call->path);
    request->reply_limit = REPLY_MAX;
    request->sink = call->sink;
    request->sink_context = call->sink_context;
    request->stall_ms = call->stall_ms        ? call->stall_ms
                        : call->method && strcmp(call->method, "GET") != 0 ? DOCKER_LONG_MS
                                                                            : DOCKER_QUESTION_MS;
    request->body = call->bytes;
    request->body_length = call->length;
    request->body_fd = call->fd > 0 ? call->fd : -1;
    request->large = call->length > 1024 * 1024;
    if (body) {
        request->body = body;
        request->body_length = (int64_t)strlen(body);
    }
    if (body)
        sw_http_request_header(request, "Content-Type", "application/json");
    else if (call->length)
        sw_http_request_header(request, "Content-Type", "application/x-tar");
    if (call->registry_auth)
        sw_http_request_header(request, "X-Registry-Auth", call->registry_auth);
}

static void call_over(void *context, struct sw_http_reply *reply)
{
    struct flight *flight = context;
    struct docker_answer answer = { .status = reply->status };
    docker_finished *finished = flight->finished;
    void *finished_context = flight->context;

    judge(flight->api, reply, &answer.json, &answer.error);
    if (flight->silence_counts && reply->failure == SW_E_TIMEOUT)
        answer.error.code = SW_E_TIMEOUT;
    if (flight->changes_nothing && reply->status >= 500 && answer.error.code == SW_E_UNREACHABLE)
        answer.error.code = SW_E_REFUSED;
    flight_free(flight);
    finished(finished_context, &answer);
    json_decref(answer.json);
}

int docker_send(struct docker_api *api, const struct docker_call *call, docker_finished *finished,
                void *context, struct sw_error *err)
{
    sw_auto(sw_http_request) struct sw_http_request request = SW_HTTP_REQUEST_INIT;
    struct flight *flight;

    if (settle_version(api, err) < 0)
        return -1;
    flight = sw_new(struct flight);
    flight->api = api;
    flight->finished = finished;
    flight->context = context;
    flight->silence_counts = call->silence_counts;
    flight->changes_nothing = call->changes_nothing;
    flight->body = call->json ? sw_json_dump(call->json) : NULL;
    flight->next = api->flights;
    flight->link = &api->flights;
    if (flight->next)
        flight->next->link = &flight->next;
    api->flights = flight;
    fill_request(api, call, flight->body, &request);
    sw_http_send(api->http, &request, call_over, flight);
    return 0;
}

void docker_drop(struct docker_api *api, const void *context)
{
    for (struct flight *flight = api->flights, *next; flight; flight = next) {
        next = flight->next;
        if (flight->context == context) {
            sw_http_drop(api->http, flight);
            flight_free(flight);
        }
    }
}

size_t docker_busy(const struct docker_api *api)
{
    return sw_http_busy(api->http);
}

int docker_work(struct docker_api *api, int64_t wait_ms, struct sw_error *err)
{
    return sw_http_work(api->http, wait_ms, err);
}

void docker_wake(struct docker_api *api)
{
    sw_http_wake(api->http);
}

struct waiting {
    bool over;
    json_t *json;
    struct sw_error error;
};

static void keep_answer(void *context, const struct docker_answer *answer)
{
    struct waiting *wait = context;

    wait->over = true;
    wait->json = json_incref(answer->json);
    wait->error = answer->error;
}

int docker_ask(struct docker_api *api, const struct docker_call *call, json_t **reply,
               struct sw_error *err)
{
    struct waiting wait = { 0 };

    if (docker_send(api, call, keep_answer, &wait, err) < 0)
        return -1;
    while (!wait.over)
        if (docker_work(api, 1000, err) < 0) {
            docker_drop(api, &wait);
            return -1;
        }
    if (wait.error.code != SW_OK) {
        json_decref(wait.json);
        if (err)
            *err = wait.error;
        return -1;
    }
    if (reply)
        *reply = sw_take(wait.json);
    json_decref(wait.json);
    return 0;
}

struct sw_http_stream *docker_hijack(struct docker_api *api, const char *path, const json_t *body,
                                     struct sw_error *err)
{
    sw_auto(sw_http_reply) struct sw_http_reply reply = { 0 };
    sw_auto(json) json_t *said = NULL;
    sw_autofree char *url = NULL, *text = sw_json_dump(body);
    struct sw_http_stream *stream;

    if (settle_version(api, err) < 0)
        return NULL;
    url = sw_format("%s/v%s%s", api->base, api->version, path);
    stream = sw_http_upgrade(api->http, url, text, &reply);
    if (!stream)
        judge(api, &reply, &said, err);
    return stream;
}
